// The parameter types that an Itanium-mangled symbol names ("_Z4copyPK6__halfPS_i"): what the compiler saw, typedefs
// and macros resolved.
#ifndef KB_JIT_MANGLED_H
#define KB_JIT_MANGLED_H
#include <stdbool.h>

enum { KB_MANGLED_PARAMS = 64 };

struct kb_mangled_type {
    int pointers;  // levels; references count as one
    char name[64]; // of what is behind them, without const: "float", "__half", "ns::pair"; "" if it is not understood
};

// The parameters in order. Returns how many, -1 if the symbol is not mangled (extern "C") or holds what this does not
// understand (function types, packs).
int kb_mangled_params(const char *symbol, struct kb_mangled_type out[KB_MANGLED_PARAMS]);

#endif
