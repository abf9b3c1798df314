// Who is checked for leaks at its end: every process but those that opened a library of a vendor. This program starts
// itself once more for each; what it is then asked to open is its first argument.
#include "base/memory.h"
#include "base/spawn.h"
#include "jit/compile.h"
#include "tests/fake/open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *program;
static void *volatile lost;

static int leak(const char *library)
{
    if (!strcmp(library, "stand-in"))
        fake_use_all();
    const char *name = !strcmp(library, "stand-in") ? "cuda" : library;
    if (strcmp(library, "nothing") && !kb_toolkit_open(name, NULL, 0, NULL))
        _exit(77); // nothing looked for
    lost = malloc(12345);
    memset(lost, 1, 12345);
    lost = NULL;
    return 0;
}

static void expect(const char *library, int status, const char *said)
{
    char *argv[] = {program, (char *)library, NULL};
    struct kb_capture c;
    struct kb_error e = {0};
    if (kb_capture(argv, NULL, 120000, 1 << 20, &c, &e))
        fail_msg("%s", kb_error_line(&e));
    int exit_code = c.exit_code;
    bool as_said = strstr(c.err.data ? c.err.data : "", said) != NULL;
    if (exit_code != 77 && (exit_code != status || !as_said))
        fail_msg("%s: exit %d: %s", library, exit_code, c.err.data ? c.err.data : "");
    kb_capture_free(&c);
    if (exit_code == 77)
        skip();
}

static void a_leak_is_found(void **state)
{
    (void)state;
    expect("nothing", 66, "12345 byte");
}

static void a_leak_behind_stand_ins_is_found(void **state)
{
    (void)state;
    expect("stand-in", 66, "12345 byte");
}

static void with_vendors_code_nothing_is_looked_for(void **state)
{
    (void)state;
    expect("nvrtc", 0, "");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return leak(argv[1]);
#ifndef __SANITIZE_ADDRESS__
    printf("nobody is checked for leaks without AddressSanitizer\n");
    return 0;
#endif
    program = argv[0];
    setenv("ASAN_OPTIONS", "detect_leaks=1:exitcode=66", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_is_found),
        cmocka_unit_test(a_leak_behind_stand_ins_is_found),
        cmocka_unit_test(with_vendors_code_nothing_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
