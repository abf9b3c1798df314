// SIMD video instructions: four bytes or two halves at once (vadd4, vabsdiff2, ...), whole registers only.
#include "base/memory.h"
#include "jit/ptx/decode.h"
#include "jit/ptx/lanes.h"

#include <stdio.h>
#include <string.h>

enum video { VADD, VSUB, VAVRG, VABSDIFF, VMIN, VMAX, VIDEO_OPS };
static const char *const video_names[VIDEO_OPS] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
// sub: operation | 4 lanes << 3 | signed: d << 4, a << 5, b << 6 | sat << 7 | add << 8

static int32_t lane_of(uint32_t x, int k, int bits, bool is_signed)
{
    uint32_t v = x >> (k * bits) & ((1u << bits) - 1);
    return is_signed && v >> (bits - 1) ? (int32_t)v - (1 << bits) : (int32_t)v;
}

static int32_t video_step(unsigned op, int32_t a, int32_t b)
{
    switch (op) {
    case VADD:
        return a + b;
    case VSUB:
        return a - b;
    case VAVRG:
        return (a + b + (a + b >= 0)) >> 1;
    case VABSDIFF:
        return a > b ? a - b : b - a;
    case VMIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static void video(struct ptx_warp *w, const struct ptx_op *o, uint32_t mask)
{
    int n = o->sub >> 3 & 1 ? 4 : 2, bits = 32 / n;
    bool sd = o->sub >> 4 & 1, sa = o->sub >> 5 & 1, sb = o->sub >> 6 & 1;
    int32_t most = (1 << (sd ? bits - 1 : bits)) - 1, least = sd ? -most - 1 : 0;
    PTX_ACTIVE (mask, i) {
        uint32_t r = 0, sum = ptx_u32(w, o->r[3])[i];
        for (int k = 0; k < n; k++) {
            int32_t v = video_step(o->sub & 7, lane_of(ptx_u32(w, o->r[1])[i], k, bits, sa),
                                   lane_of(ptx_u32(w, o->r[2])[i], k, bits, sb));
            if (o->sub >> 7 & 1)
                v = v > most ? most : v < least ? least : v;
            r |= ((uint32_t)v & ((1u << bits) - 1)) << (k * bits);
            sum += (uint32_t)v;
        }
        ptx_u32(w, o->r[0])[i] = o->sub >> 8 & 1 ? sum : r;
    }
}

static void decode_video(struct ptx_decoder *d)
{
    size_t length = strlen(d->root);
    unsigned op = VIDEO_OPS;
    for (unsigned k = 0; k < VIDEO_OPS; k++)
        if (strlen(video_names[k]) == length - 1 && !strncmp(d->root, video_names[k], length - 1))
            op = k;
    struct ptx_type t[3];
    for (int i = 0; i < 3; i++)
        t[i] = ptx_take_type(d);
    bool sat = ptx_mod(d, "sat"), add = ptx_mod(d, "add");
    uint32_t r = ptx_result(d, ptx_arg(d, 0), 32), a = ptx_source(d, ptx_arg(d, 1), 32);
    uint32_t b = ptx_source(d, ptx_arg(d, 2), 32), c = ptx_source(d, ptx_arg(d, 3), 32);
    ptx_emit(d, "video", 4, r, a, b, c)->sub =
        (uint16_t)(op | (d->root[length - 1] == '4') << 3 | (t[0].kind == 's') << 4 | (t[1].kind == 's') << 5 |
                   (t[2].kind == 's') << 6 | sat << 7 | add << 8);
}

#define BOTH(name)                                                                                                     \
    {name "2", decode_video, PTX_CLASS_INTEGER},                                                                       \
    {                                                                                                                  \
        name "4", decode_video, PTX_CLASS_INTEGER                                                                      \
    }
const struct ptx_decode_entry ptx_decode_video[] = {
    BOTH("vadd"), BOTH("vsub"), BOTH("vavrg"), BOTH("vabsdiff"), BOTH("vmin"), BOTH("vmax"), {NULL, NULL, 0},
};

const struct ptx_handler_entry ptx_video_handlers[] = {{"video", video}, {NULL, NULL}};
