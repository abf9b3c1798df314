// The program without its screen: tables, documents, streams and exit codes, with the scripted worker.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "support_schema.h"
#include "support_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kb_capture ran; // of the last run

static int run(struct bed *b, const char *const *args)
{
    char *argv[20] = {KB_BUILD_DIR "/kbench-tui"};
    struct kb_error error = {0};
    int n = 1;
    for (; args[n - 1]; n++)
        argv[n] = (char *)args[n - 1];
    argv[n] = NULL;
    kb_capture_free(&ran);
    ran = (struct kb_capture){0};
    if (kb_capture(argv, b->dir, 60000, 16 << 20, &ran, &error))
        fail_msg("%s", kb_error_line(&error));
    assert_false(ran.timed_out);
    return ran.exit_code;
}
#define RUN(b, ...) run(b, (const char *const[]){__VA_ARGS__, NULL})

static const char *out(void)
{
    return ran.out.data ? ran.out.data : "";
}

static const char *err(void)
{
    return ran.err.data ? ran.err.data : "";
}

static void contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static cJSON *schema(void)
{
    char *text = NULL;
    size_t size;
    assert_int_equal(kb_file_read(KB_SOURCE_DIR "/docs/once.schema.json", 1 << 20, &text, &size, NULL), 0);
    cJSON *document = cJSON_Parse(text);
    assert_non_null(document);
    free(text);
    return document;
}

// Parses what was printed as one document and checks it; owned by the caller.
static cJSON *checked_document(void)
{
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithOpts(out(), &end, false), *s = schema();
    struct kb_text why = {0};
    if (!document)
        fail_msg("no document: %s%s", out(), err());
    assert_string_equal(end, "\n");
    int bad = schema_check(s, document, &why) | schema_check_reasons(document, &why);
    if (bad)
        fail_msg("%s", why.data);
    kb_text_free(&why);
    cJSON_Delete(s);
    return document;
}

static void the_table_shows_all(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--once", "--ascii", "--baseline", "a", "--seed", "5"), 0);
    contains(out(), "fake on Fake GPU (sm_90)   seed 5");
    contains(out(), "++++++");
    contains(out(), "FASTER -50.0% against a v1");
    for (const char *c = out(); *c; c++)
        assert_in_range((unsigned char)*c, 0x0a, 0x7e);
    bed_free(b);
}

static void stdout_that_is_no_terminal_means_once(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--device", "cuda"), 0);
    contains(out(), "variant");
    bed_free(b);
}

static void failures_are_below_the_table(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 0);
    bed_kernel(b, "b.cu", "b", "//fake: verify=fail", 0);
    assert_int_equal(RUN(b, "--once", "--ascii"), 1);
    contains(out(), "a: compile failed: 1 error\n    a.cu:3:5: expected a \";\"");
    contains(out(), "b: verify failed: it was told to\n    case 64: 7 of 64 elements are wrong");
    bed_free(b);
}

static void the_document_fits_its_schema(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--json", "--baseline", "a"), 0);
    cJSON *document = checked_document();
    const cJSON *second = cJSON_GetArrayItem(kb_json_get(document, "variants"), 1),
                *timing = kb_json_get(second, "timing");
    assert_string_equal(kb_json_text(second, "name", ""), "b");
    assert_float_equal(kb_json_number(kb_json_get(timing, "cold"), "median_us", 0), 10, 1e-9);
    assert_string_equal(kb_json_text(kb_json_get(timing, "versus"), "verdict", ""), "FASTER");
    assert_int_equal(kb_json_int(kb_json_get(second, "resources"), "registers", 0), 32);
    cJSON_Delete(document);
    bed_free(b);
}

static void documents_of_failures_fit_too(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    bed_kernel(b, "a.cu", "a", "//fake: compile=fail", 0);
    bed_kernel(b, "b.cu", "b", "//fake: verify=fail", 0);
    assert_int_equal(RUN(b, "--once", "--json"), 1);
    cJSON *document = checked_document();
    const cJSON *first = cJSON_GetArrayItem(kb_json_get(document, "variants"), 0);
    assert_string_equal(kb_json_text(first, "status", ""), "fail");
    assert_int_equal(cJSON_GetArraySize(kb_json_get(first, "errors")), 1);
    assert_true(cJSON_IsNull(kb_json_get(first, "timing")));
    cJSON_Delete(document);
    setenv("KB_FAKE_HELLO", "run:no_device", 1);
    assert_int_equal(RUN(b, "--once", "--json"), 3);
    document = checked_document();
    assert_string_equal(kb_json_text(kb_json_get(document, "device"), "kind", ""), "none");
    cJSON_Delete(document);
    setenv("KB_FAKE_HELLO", "compile:no_compiler", 1);
    assert_int_equal(RUN(b, "--once", "--json"), 3);
    cJSON_Delete(checked_document());
    unsetenv("KB_FAKE_HELLO");
    unlink(b->log);
    char *path = bed_path(b, "b.cu");
    unlink(path);
    free(path);
    assert_int_equal(RUN(b, "--once", "--json"), 1);
    cJSON_Delete(checked_document());
    bed_free(b);
}

static void the_checker_finds_what_is_wrong(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--json"), 0);
    cJSON *document = checked_document(), *s = schema();
    struct kb_text why = {0};
    cJSON_DeleteItemFromObjectCaseSensitive(document, "seed");
    assert_int_equal(schema_check(s, document, &why), -1);
    contains(why.data, "lacks seed");
    kb_json_set_text(document, "seed", "0x12");
    assert_int_equal(schema_check(s, document, &why), -1);
    kb_json_set_text(document, "seed", "12");
    assert_int_equal(schema_check(s, document, &why), 0);
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(document, "variants"), 0);
    kb_json_set_number(cJSON_GetObjectItemCaseSensitive(first, "resources"), "surprise", 1);
    assert_int_equal(schema_check(s, document, &why), -1);
    contains(why.data, "/variants/0/resources: has an unknown member surprise");
    kb_text_free(&why);
    cJSON_Delete(document);
    cJSON_Delete(s);
    bed_free(b);
}

static void usage_and_bench_errors_are_exit_2(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--onec"), 2);
    contains(err(), "did you mean --once?");
    assert_int_equal(RUN(b, "--once", "nowhere"), 2);
    assert_int_equal(RUN(b, "--once", "--variant", "c"), 2);
    contains(err(), "no variant is called \"c\"");
    bed_write(b, "bench.json", "{ \"kbench\": 1,\n  \"naem\": \"x\" }\n");
    assert_int_equal(RUN(b, "--once"), 2);
    contains(err(), "bench.json:2");
    contains(err(), "naem");
    assert_string_equal(out(), "");
    bed_free(b);
}

static void a_bare_source_runs_without_a_reference(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    char *path = bed_path(b, "bench.json");
    unlink(path);
    free(path);
    assert_int_equal(RUN(b, "--once", "--json", "a.cu"), 0);
    cJSON *document = checked_document();
    assert_int_equal(cJSON_GetArraySize(kb_json_get(document, "variants")), 1);
    assert_int_equal(bed_log_count(b, "compile compile reference"), 0);
    cJSON_Delete(document);
    bed_free(b);
}

static void a_listed_source_opens_its_bench(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--json", "b.cu"), 0);
    cJSON *document = checked_document();
    assert_int_equal(cJSON_GetArraySize(kb_json_get(document, "variants")), 2);
    cJSON_Delete(document);
    bed_free(b);
}

static void follow_is_one_event_a_line(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    int in[2], stream[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(stream, O_CLOEXEC), 0);
    char *argv[] = {KB_BUILD_DIR "/kbench-tui", "--follow", b->dir, NULL};
    pid_t pid = kb_spawn(argv, NULL, (int[]){in[0], stream[1], -1}, 3, NULL);
    assert_true(pid > 0);
    close(in[0]);
    close(stream[1]);
    FILE *lines = fdopen(stream[0], "r");
    char *line = NULL;
    size_t capacity = 0;
    int done = 0, count = 0;
    while (done < 2 && getline(&line, &capacity, lines) > 0) {
        cJSON *event = cJSON_Parse(line);
        assert_non_null(event);
        if (count++ == 0)
            assert_string_equal(kb_json_text(event, "type", ""), "session");
        done += !strcmp(kb_json_text(event, "type", ""), "done");
        cJSON_Delete(event);
    }
    assert_int_equal(done, 2);
    close(in[1]); // the one who started it has gone
    int status = -1;
    while (getline(&line, &capacity, lines) > 0)
        ;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    free(line);
    fclose(lines);
    bed_free(b);
}

static void doctor_reads_well(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "doctor"), 0);
    contains(out(), "nvrtc  13.0   /x");
    contains(out(), "cuda   missing: no driver");
    contains(out(), "--device cpu");
    setenv("KB_WORKER", "/nowhere/kbench-worker", 1);
    assert_int_equal(RUN(b, "doctor"), 3);
    bed_free(b);
}

static void help_and_version(void **state)
{
    (void)state;
    struct bed *b = bed_new();
    assert_int_equal(RUN(b, "--help"), 0);
    contains(out(), "--once");
    assert_int_equal(RUN(b, "--version"), 0);
    contains(out(), "kbench-tui ");
    bed_free(b);
}

static int free_capture(void **state)
{
    (void)state;
    kb_capture_free(&ran);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_shows_all),
        cmocka_unit_test(stdout_that_is_no_terminal_means_once),
        cmocka_unit_test(failures_are_below_the_table),
        cmocka_unit_test(the_document_fits_its_schema),
        cmocka_unit_test(documents_of_failures_fit_too),
        cmocka_unit_test(the_checker_finds_what_is_wrong),
        cmocka_unit_test(usage_and_bench_errors_are_exit_2),
        cmocka_unit_test(a_bare_source_runs_without_a_reference),
        cmocka_unit_test(a_listed_source_opens_its_bench),
        cmocka_unit_test(follow_is_one_event_a_line),
        cmocka_unit_test(doctor_reads_well),
        cmocka_unit_test(help_and_version),
    };
    return cmocka_run_group_tests(tests, NULL, free_capture);
}
