// What belongs to a version's key and to the contract: headers by options, by macros, by the environment; what a
// reference's command reads. The worker is the scripted one.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void write_bench(struct bed *b, const char *reference, const char *variant)
{
    char *text =
        kb_format("{ \"kbench\": 1, \"name\": \"copy\", \"params\": { \"n\": 64 },\n"
                  "  \"args\": [ { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f64\", \"shape\": [\"n\"] } ],\n"
                  "  \"reference\": %s,\n"
                  "  \"variants\": [ { \"name\": \"a\", \"source\": \"a.cu\", \"kernel\": \"a\", %s\n"
                  "    \"launch\": { \"grid\": [1], \"block\": [64] } } ] }\n",
                  reference, variant);
    bed_write(b, "bench.json", text);
    free(text);
}

static void write_below(struct bed *b, const char *name, const char *text)
{
    char *path = bed_path(b, name), *folder = kb_path_dir(path);
    assert_int_equal(kb_make_dirs(folder, NULL), 0);
    bed_write(b, name, text);
    free(folder);
    free(path);
}

static const char kernel_reference[] =
    "{ \"source\": \"reference.cu\", \"kernel\": \"r\", %s \"launch\": { \"grid\": [1], \"block\": [64] } }";

// A save of a header makes a new version of a, without a touch of a.cu.
static void expect_new_version(struct bed *b, const char *header)
{
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=pass");
    bed_mark(b);
    bed_write(b, header, "#define ONE 2\n");
    bed_until_event(b, "build variant=a state=started");
    bed_until_event(b, "verdict variant=a status=pass version=2");
}

static void headers_by_options_make_versions(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *reference = kb_format(kernel_reference, "");
    write_bench(b, reference, "\"options\": [\"-Iinc\", \"-include=first.h\"],");
    write_below(b, "inc/x.h", "#define ONE 1\n");
    bed_write(b, "first.h", "#include <x.h>\n");
    expect_new_version(b, "inc/x.h");
    free(reference);
    bed_free(b);
}

static void headers_by_defines_make_versions(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *reference = kb_format(kernel_reference, "");
    write_bench(b, reference, "\"defines\": {\"HEADER\": \"\\\"x.h\\\"\"},");
    bed_write(b, "x.h", "#define ONE 1\n");
    bed_write(b, "a.cu", "#include HEADER\n__global__ void a(double *y) {}\n");
    expect_new_version(b, "x.h");
    free(reference);
    bed_free(b);
}

static void headers_of_the_environment_make_versions(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *reference = kb_format(kernel_reference, ""), *dir = bed_path(b, "env");
    write_bench(b, reference, "");
    setenv("CPATH", dir, 1);
    write_below(b, "env/x.h", "#define ONE 1\n");
    bed_write(b, "a.cu", "#include <x.h>\n__global__ void a(double *y) {}\n");
    expect_new_version(b, "env/x.h");
    unsetenv("CPATH");
    free(dir);
    free(reference);
    bed_free(b);
}

static char *contract_of(struct bed *b)
{
    return kb_strdup(kb_model_bench(&b->model)->contract ?: "");
}

static void expect_new_contract(struct bed *b, const char *file, const char *text)
{
    bed_start(b);
    bed_until_event(b, "verdict variant=a");
    char *before = contract_of(b);
    bed_mark(b);
    bed_write(b, file, text);
    bed_until_event(b, "bench");
    char *after = contract_of(b);
    assert_string_not_equal(before, after);
    free(before);
    free(after);
}

static void headers_of_the_reference_are_its_contract(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *reference = kb_format(kernel_reference, "\"options\": [\"-Iinc\"],");
    write_bench(b, reference, "");
    write_below(b, "inc/x.h", "#define ONE 1\n");
    bed_write(b, "reference.cu", "#include <x.h>\n__global__ void r(double *y) {}\n");
    expect_new_contract(b, "inc/x.h", "#define ONE 2\n");
    free(reference);
    bed_free(b);
}

static void what_a_command_reads_is_its_contract(void **state)
{
    (void)state;
    static const char *const files[] = {"helper.py", "table.bin"};
    for (size_t i = 0; i < KB_COUNT(files); i++) {
        struct bed *b = bed_new();
        write_bench(b, "{ \"command\": [\"python3\", \"ref.py\"] }", "");
        bed_write(b, "ref.py", "import helper\nopen('table.bin')\n");
        bed_write(b, "helper.py", "1\n");
        bed_write(b, "table.bin", "1\n");
        expect_new_contract(b, files[i], "2\n");
        bed_free(b);
    }
}

static char *contract_under_nvcc(const char *version)
{
    struct bed *b = bed_new();
    char *reference = kb_format(kernel_reference, ""), *contract;
    write_bench(b, reference, "");
    setenv("KB_FAKE_NVCC", version, 1);
    bed_start(b);
    bed_until_event(b, "verdict variant=a status=pass");
    contract = contract_of(b);
    assert_int_equal(bed_count(b, "bench"), 1); // the contract changes once: as compiled
    assert_int_equal(bed_log_count(b, "compile compile reference"), 1);
    unsetenv("KB_FAKE_NVCC");
    free(reference);
    bed_free(b);
    return contract;
}

static void the_version_of_nvcc_is_its_contract(void **state)
{
    (void)state;
    char *old = contract_under_nvcc("13.0"), *same = contract_under_nvcc("13.0"), *new = contract_under_nvcc("13.1");
    assert_string_equal(old, same);
    assert_string_not_equal(old, new);
    free(old);
    free(same);
    free(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_by_options_make_versions),
        cmocka_unit_test(headers_by_defines_make_versions),
        cmocka_unit_test(headers_of_the_environment_make_versions),
        cmocka_unit_test(headers_of_the_reference_are_its_contract),
        cmocka_unit_test(what_a_command_reads_is_its_contract),
        cmocka_unit_test(the_version_of_nvcc_is_its_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
