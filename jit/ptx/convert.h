// What decode_convert.c and convert.c agree on: how a conversion is packed into ptx_op.sub.
#ifndef KB_JIT_PTX_CONVERT_H
#define KB_JIT_PTX_CONVERT_H

enum ptx_narrow_format { PTX_TO_F16, PTX_TO_BF16, PTX_TO_E4M3, PTX_TO_E5M2, PTX_TO_TF32 };
// narrow_*: format | rounding << 4 | satfinite << 8 | relu << 9
#define PTX_NARROW(format, rounding, satfinite, relu)                                                                  \
    ((uint16_t)((format) | (rounding) << 4 | (satfinite) << 8 | (relu) << 9))
// toint_*, satint: destination bits | signed << 7 | rounding << 8 | source signed << 12
#define PTX_TO_INT(bits, is_signed, rounding, source_signed)                                                           \
    ((uint16_t)((bits) | (is_signed) << 7 | (rounding) << 8 | (source_signed) << 12))

#endif
