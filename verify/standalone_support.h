// What every standalone file holds besides its own case; CUDA C++ text behind that of verify/element.h.
#ifndef KB_VERIFY_STANDALONE_SUPPORT_H
#define KB_VERIFY_STANDALONE_SUPPORT_H

extern const char kb_standalone_support[];

#endif
