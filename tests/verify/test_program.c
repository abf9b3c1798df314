// What a module can keep from one launch to the next, read from its PTX.
#include "base/memory.h"
#include "verify/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void globals_are_those_that_code_uses(void **state)
{
    (void)state;
    static const struct {
        const char *ptx;
        bool has;
    } rows[] = {
        {".visible .entry k()\n{\n\tret;\n}\n", false},
        {".global .align 4 .u32 calls;\n.visible .entry k()\n{\n\tld.volatile.global.u32 %r1, [calls];\n}\n", true},
        {".visible .global .align 4 .b8 kept[64];\n\tmov.u64 %rd1, kept;\n", true},
        {".weak .global .align 4 .u32 ticket = 7;\n\tatom.global.add.u32 %r1, [ticket+4], 1;\n", true},
        {".global .align 4 .u32 THREADS = 256;\n\tmov.u32 %r1, 256;\n", false},  // a constexpr that nothing touches
        {".global .align 4 .u32 call;\n\tld.global.u32 %r1, [calls];\n", false}, // another name
        {".global .align 1 .b8 $str[3] = {37, 100};\n\tmov.u64 %rd1, $str;\n", false}, // text of printf
        {".global .align 4 .b8 __cudart_i2opi_f[24];\n\tmov.u64 %rd1, __cudart_i2opi_f;\n", false},
        {"\tld.global.u32 %r1, [%rd1];\n", false},
        {".extern .func (.param .b64 retval) malloc\n(\n\t.param .b64 p\n)\n;\n", true},
    };
    for (size_t i = 0; i < KB_COUNT(rows); i++) {
        struct kb_image image = {0};
        kb_image_set(&image, rows[i].ptx, strlen(rows[i].ptx), NULL, 0);
        if (kb_image_has_globals(&image) != rows[i].has)
            fail_msg("%s", rows[i].ptx);
        kb_image_free(&image);
    }
    assert_true(kb_image_has_globals(&(struct kb_image){0})); // nothing to tell from
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(globals_are_those_that_code_uses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
