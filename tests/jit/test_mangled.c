// Parameter types from mangled symbols.
#include "jit/mangled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

// "float*, int" of a symbol.
static void is(const char *symbol, const char *types)
{
    struct kb_mangled_type t[KB_MANGLED_PARAMS];
    char text[512] = "";
    int n = kb_mangled_params(symbol, t);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s%.*s", i ? ", " : "", t[i].name, t[i].pointers, "*****");
    }
    if (n < 0)
        snprintf(text, sizeof text, "unknown");
    assert_string_equal(text, types);
}

static void types_are_read(void **state)
{
    (void)state;
    is("_Z4copyPK6__halfPS_i", "__half*, __half*, int");
    is("_Z1kv", "");
    is("_Z1kPfS_S_", "float*, float*, float*");
    is("_Z1kPVKfPKS_", "float*, float*");
    is("_ZL1kPKhPvb", "unsigned char*, void*, bool");
    is("_Z1kPK13__nv_bfloat16PS_PKP6float4", "__nv_bfloat16*, __nv_bfloat16*, float4**");
    is("_Z1kILi256EEvPKfPfi", "float*, float*, int");
    is("_Z1kIfLi4EEvPKT_PS0_i", "float*, float*, int");
    is("_Z1kI6__halfEvPKT_PS1_i", "__half*, __half*, int");
    is("_ZN2ns1kEPKfPf", "float*, float*");
    is("_ZN2ns4kinEEPKf", "float*");
    is("_ZN2ns1kIdEEvPKT_PS1_", "double*, double*");
    is("_ZN2ns1kENS_4pairEPS0_PKS0_", "ns::pair, ns::pair*, ns::pair*");
    is("_Z1k4vec4IfLi2EEPKS0_PS_IdLi3EE", "vec4, vec4*, vec4*");
    is("_Z1kRKfxy", "float*, long long, unsigned long long");
}

static void what_is_not_understood_is_unknown(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "k",
        "",
        "_Z",
        "_Z1k",
        "_Z1kPFvvE",
        "_Z1kSt4pairIffE",
        "_Z1kIJifEEvDpT_",
        "_Z9kPf",
        "_Z1kPS_",
        "_Z1kPS9_",
        "_Z1kIT0_EvT",
        "_Z1kP3abc\xff",
        "_ZN",
        "_ZN2ns",
        "_Z1kI",
        "_Z1kILi",
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        struct kb_mangled_type t[KB_MANGLED_PARAMS];
        if (!strcmp(symbols[i], "_Z1k")) // a function without any: nothing to compare
            assert_int_equal(kb_mangled_params(symbols[i], t), 0);
        else if (kb_mangled_params(symbols[i], t) != -1)
            fail_msg("%s", symbols[i]);
    }
    char deep[400] = "_Z1k";
    memset(deep + 4, 'P', 300);
    is(deep, "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_read),
        cmocka_unit_test(what_is_not_understood_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
