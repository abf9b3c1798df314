// The panes that say why: limit, sections, counters; lines of the source; machine code; and what makes a verdict
// doubtful. Without a terminal and without a session: events in, text out.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/session.h"
#include "tui/code_read.h"
#include "tui/evidence.h"
#include "tui/script.h"
#include "tui/view.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct kb_model model;
static struct kb_app app;
static char asked[256];    // the last request for code
static const char *source; // what the driver gives; NULL: nothing
static struct kb_sass_listing *listing;
static const char *refusal = "not at hand";
static cJSON *document;

static void code(void *context, const struct kb_code_request *r, struct kb_code_answer *out)
{
    (void)context;
    snprintf(asked, sizeof asked, "%s of %s v%d against %s v%d%s", kb_code_kind_name(r->kind % KB_CODE_KINDS),
             r->variant, r->version, r->against ? r->against : "nothing", r->against_version, r->raw ? " raw" : "");
    *out = (struct kb_code_answer){.reason = refusal};
    if (r->against && document)
        *out = (struct kb_code_answer){.diff = document};
    else if (!r->against && r->kind == KB_CODE_SASS && listing)
        *out = (struct kb_code_answer){.listing = listing};
    else if (!r->against && r->kind == KB_CODE_SOURCE && source)
        *out = (struct kb_code_answer){.text = source, .size = strlen(source)};
}

static void apply(const char *json)
{
    cJSON *event = cJSON_Parse(json);
    assert_non_null(event);
    assert_int_equal(kb_model_apply(&model, event), 0);
    cJSON_Delete(event);
    kb_app_follow(&app);
}

static void build(const char *variant, int version)
{
    char text[256];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "{\"type\":\"build\",\"t_ms\":%d,\"variant\":\"%s\",\"key\":\"%s%d\",\"state\":\"%s\",\"version\":%d}",
                 version * 1000, variant, variant, version, i ? "final" : "started", version);
        apply(text);
    }
    snprintf(text, sizeof text,
             "{\"type\":\"rung\",\"variant\":\"%s\",\"version\":%d,\"rung\":\"verify\",\"status\":\"pass\"}", variant,
             version);
    apply(text);
    snprintf(text, sizeof text,
             "{\"type\":\"timing\",\"variant\":\"%s\",\"version\":%d,\"case\":0,\"stage\":\"settled\",\"cold\":{"
             "\"median_us\":100,\"low_us\":99,\"high_us\":101,\"samples\":20}}",
             variant, version);
    apply(text);
    snprintf(text, sizeof text, "{\"type\":\"done\",\"variant\":\"%s\",\"version\":%d,\"status\":\"pass\"}", variant,
             version);
    apply(text);
}

static int set_up(void **state)
{
    (void)state;
    kb_model_init(&model);
    kb_app_init(&app, &model, true);
    app.driver.code = code;
    source = NULL;
    asked[0] = 0;
    apply(
        "{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\"},\"cases\":[{\"index\":0,\"label\":\"big\","
        "\"timed\":true},{\"index\":1,\"label\":\"37 x 1023\",\"timed\":true}],\"headline\":0,\"variants\":[{\"name\":"
        "\"one\",\"source\":\"one.cu\"},{\"name\":\"two\",\"source\":\"two.cu\"}],\"focus\":\"one\"}");
    apply("{\"type\":\"device\",\"kind\":\"cuda\",\"name\":\"G\",\"sm_count\":100,\"peak\":{\"dram_bytes_per_s\":4e12,"
          "\"fp32_flops\":60e12}}");
    build("one", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kb_app_free(&app);
    kb_model_free(&model);
    kb_sass_free(listing);
    listing = NULL;
    cJSON_Delete(document);
    document = NULL;
    return 0;
}

static char *screen(enum kb_pane pane, int columns, int rows)
{
    struct kb_text out = {0};
    struct kb_script script = {&app, NULL, columns, rows, &out};
    app.focus = pane;
    app.zoom = true;
    kb_script_screen(&script, &out);
    return kb_text_take(&out);
}

static void expect(enum kb_pane pane, const char *present, const char *absent)
{
    char *text = screen(pane, 120, 40);
    if (!strstr(text, present) || (absent && strstr(text, absent)))
        fail_msg("\"%s\" is not in, or \"%s\" is:\n%s", present, absent ? absent : "", text);
    free(text);
}

static void press(int key)
{
    kb_app_key(&app, key, false);
}

#define SECTIONS                                                                                                       \
    "{\"type\":\"sections\",\"variant\":\"one\",\"version\":1,\"case\":0,\"source\":\"cupti pc sampling\","            \
    "\"samples\":1000,\"dropped\":7,\"attribution\":\"share of the samples x measured time\",\"line_info\":true,"      \
    "\"sections\":[{\"name\":\"load\",\"file\":\"one.cu\",\"line\":2,\"samples\":700,\"share\":0.7,\"us\":70,"         \
    "\"stalls\":[{\"group\":\"memory\",\"share\":0.9}],\"raw\":[{\"name\":\"long_scoreboard\",\"samples\":630}]}],"    \
    "\"functions\":[],\"lines\":[{\"file\":\"/one.cu\",\"line\":2,\"samples\":600,\"stalls\":[{\"group\":\"memory\","  \
    "\"share\":0.9}]},{\"file\":\"/one.cu\",\"line\":4,\"samples\":100,\"stalls\":[{\"group\":\"barrier\","            \
    "\"share\":0.5}]},{\"file\":\"/other.cuh\",\"line\":3,\"samples\":50,\"stalls\":[]}]}"

static void test_limit_and_sections(void **state)
{
    (void)state;
    expect(KB_PANE_WHY, "sections  not measured yet", "load");
    apply("{\"type\":\"rung\",\"variant\":\"one\",\"version\":1,\"rung\":\"sections\",\"status\":\"na\",\"reason\":"
          "\"only administrators may profile here\"}");
    expect(KB_PANE_WHY, "sections  only administrators may profile here", "load");
    apply(SECTIONS);
    expect(KB_PANE_WHY, " 70%  70.0 us  line 2  memory 90%", "long_scoreboard");
    expect(KB_PANE_WHY, "7 samples were dropped", NULL);
    press('w');
    expect(KB_PANE_WHY, "long_scoreboard 90%", "memory 90%");
    press('w');
    expect(KB_PANE_WHY, "memory 90%", "long_scoreboard");
}

// A long reason stands once, and the key that asks again beside it.
static void test_refusals(void **state)
{
    (void)state;
    static const char reason[] = "no permission to profile this GPU (CUPTI error 35); the driver's option";
    for (int i = 0; i < 2; i++) {
        char *text = kb_format("{\"type\":\"rung\",\"variant\":\"one\",\"version\":1,\"rung\":\"%s\",\"status\":\"na\","
                               "\"reason\":\"%s\"}",
                               i ? "counters" : "sections", reason);
        apply(text);
        free(text);
    }
    expect(KB_PANE_WHY, "counters  likewise", NULL);
    expect(KB_PANE_WHY, "a  asks for them again", NULL);
    char *text = screen(KB_PANE_WHY, 120, 40), *first = strstr(text, "no permission");
    assert_non_null(first);
    assert_null(strstr(first + 1, "no permission"));
    free(text);
}

static void test_counters(void **state)
{
    (void)state;
    apply("{\"type\":\"counters\",\"variant\":\"one\",\"version\":1,\"case\":0,\"stage\":\"bytes\",\"source\":\"cupti "
          "range profiler\",\"metrics\":{\"dram_bytes\":360e6,\"l2_bytes\":null,\"l2_bytes_reason\":\"this chip has no "
          "such metric\",\"duration_us\":140},\"about\":{\"dram_bytes\":{\"unit\":\"byte\",\"peak\":"
          "\"dram_bytes_per_s\"},\"duration_us\":{\"unit\":\"us\"}},\"peaks\":{\"dram_bytes_per_s\":4e12}}");
    // over the time as measured (100 us), not as profiled
    expect(KB_PANE_WHY, "360 MB  ", "64% of");
    expect(KB_PANE_WHY, "90% of 4.00 TB/s", NULL);
    expect(KB_PANE_WHY, "l2 bytes                  - this chip has no such metric", "l2_bytes_reason");
    expect(KB_PANE_WHY, "limit: memory", "limit: unknown");
    expect(KB_PANE_WHY, "try -> at the roof: move fewer bytes", NULL);
}

#define FACTS                                                                                                          \
    "{\"type\":\"facts\",\"variant\":\"one\",\"version\":1,\"case\":0,\"launch\":0,\"facts\":{\"kernel\":\"k\","       \
    "\"instructions\":1000,\"by_class\":{\"integer\":300,\"f32\":500,\"global\":200},\"bytes\":{\"global_load\":4096," \
    "\"global_store\":128,\"shared\":0,\"local\":0},\"global_requests\":33,\"global_sectors\":1028,\"lines\":["        \
    "{\"file\":\"/one.cu\",\"line\":3,\"instructions\":600,\"bytes\":4096,\"sectors\":1024,\"conflicts\":12,"          \
    "\"divergent\":0},{\"file\":\"/one.cu\",\"line\":1,\"instructions\":100,\"bytes\":0,\"sectors\":0,"                \
    "\"conflicts\":0,\"divergent\":5}]}}"

static void test_counted(void **state)
{
    (void)state;
    apply(FACTS);
    expect(KB_PANE_WHY, "executed instructions by kind, counted", "samples by");
    char *text = screen(KB_PANE_WHY, 120, 40);
    const char *most = strstr(text, "f32  "), *less = strstr(text, "integer  "), *least = strstr(text, "global  ");
    assert_true(most && less && least && most < less && less < least);
    free(text);
    source = "first\nsecond\nthird();\nfourth\n";
    expect(KB_PANE_SOURCE, "third();", "on disk");
    expect(KB_PANE_SOURCE, "60%   4.10 kB  x8.00         12", NULL);
    expect(KB_PANE_SOURCE, "counted on the CPU", "PC samples");
    assert_int_equal(kb_source_cursor(&app), 3); // the hottest
}

static void test_source(void **state)
{
    (void)state;
    expect(KB_PANE_SOURCE, "not at hand", NULL);
    apply(SECTIONS);
    expect(KB_PANE_SOURCE, "text not at hand", NULL);
    source = "first\nsecond\n\nfourth";
    expect(KB_PANE_SOURCE, "60% memory 90%", "on disk");
    expect(KB_PANE_SOURCE, "fourth", "other.cuh");
    assert_string_equal(asked, "source of one v1 against nothing v0");
    app.zoom = false;
    app.focus = KB_PANE_SOURCE;
    assert_int_equal(kb_source_cursor(&app), 2);
    press('n');
    assert_int_equal(kb_source_cursor(&app), 4);
    press('n'); // there is no colder one
    assert_int_equal(kb_source_cursor(&app), 4);
    press('N');
    assert_int_equal(kb_source_cursor(&app), 2);
    press('j');
    assert_int_equal(kb_source_cursor(&app), 3);
    press('n'); // from a line that costs nothing: the hottest
    assert_int_equal(kb_source_cursor(&app), 2);
    press('G');
    assert_int_equal(kb_source_cursor(&app), 4);
    assert_true(kb_app_key(&app, 'e', false) & KB_DID_EDIT);
    build("one", 2); // another text: from its start
    assert_int_equal(kb_source_cursor(&app), 1);
}

static void test_costs(void **state)
{
    (void)state;
    struct kb_costs c;
    cJSON *text = cJSON_Parse(SECTIONS), *counted = cJSON_Parse(FACTS);
    struct kb_ev_facts *facts = kb_record_new(&kb_record_facts, counted);
    struct kb_ev_sections *sections = kb_record_new(&kb_record_sections, text);
    kb_costs_make(sections, facts, "sub/one.cu", &c); // samples go before counts
    assert_true(c.sampled);
    assert_int_equal(c.count, 2);
    assert_null(kb_cost_at(&c, 3));
    assert_string_equal(kb_cost_at(&c, 4)->stall, "barrier");
    kb_costs_free(&c);
    kb_costs_make(NULL, facts, "one.cu", &c);
    assert_false(c.sampled);
    assert_int_equal(kb_cost_at(&c, 3)->sectors, 1024);
    kb_costs_free(&c);
    kb_costs_make(sections, facts, "none.cu", &c);
    assert_int_equal(c.count, 0);
    assert_int_equal(kb_cost_step(&c, 7, 1), 7);
    kb_costs_free(&c);
    kb_record_delete(&kb_record_sections, sections);
    kb_record_delete(&kb_record_facts, facts);
    cJSON_Delete(text);
    cJSON_Delete(counted);
}

static struct kb_sass_listing *stored_listing(void)
{
    char *path = kb_format("%s/tests/data/sass/dot_90.txt", KB_SOURCE_DIR), *data = NULL;
    size_t size;
    assert_int_equal(kb_file_read(path, 1 << 24, &data, &size, NULL), 0);
    struct kb_code_read read = {.form = KB_FORM_LISTING, .text = data, .size = size};
    kb_code_parse(&read);
    assert_non_null(read.listing);
    free(path);
    return read.listing;
}

static void test_machine_code(void **state)
{
    (void)state;
    build("two", 4);
    build("one", 2);
    expect(KB_PANE_SASS, "not at hand", NULL);
    assert_string_equal(asked, "machine code of one v2 against nothing v0");
    listing = stored_listing();
    expect(KB_PANE_SASS, "LDG.E", NULL);
    press('d');
    document = cJSON_Parse("{\"kind\":\"sass\",\"identical\":false,\"real_change\":true,\"by_class\":{\"FFMA\":-64},"
                           "\"kernels\":[],\"hunks\":[]}");
    expect(KB_PANE_SASS, "FFMA -64", NULL);
    assert_string_equal(asked, "machine code of one v2 against one v1");
    press('w');
    expect(KB_PANE_SASS, "as written", NULL);
    assert_string_equal(asked, "machine code of one v2 against one v1 raw");
    press('w');
    press('d');
    expect(KB_PANE_SASS, "no baseline is pinned", "FFMA");
    apply("{\"type\":\"pin\",\"variant\":\"two\",\"version\":4}");
    expect(KB_PANE_SASS, "one v2 against two v4", NULL);
    press('d');
    expect(KB_PANE_SASS, "one v2 against two v4", NULL);
    press('m');
    expect(KB_PANE_SASS, "PTX: one v2 against two v4", NULL);
    assert_string_equal(asked, "PTX of one v2 against two v4");
    press('d'); // the text itself again
    press('m');
    source = "a line of source\n";
    expect(KB_PANE_SASS, "a line of source", "LDG");
}

// Text that is no listing is an error, and never an empty listing.
static void test_unreadable(void **state)
{
    (void)state;
    struct kb_code_read read = {.form = KB_FORM_LISTING, .text = kb_strdup("this is no listing\n"), .size = 19};
    kb_code_parse(&read);
    assert_null(read.listing);
    assert_non_null(read.reason);
    refusal = read.reason;
    expect(KB_PANE_SASS, "could not read listing", "this is no listing");
    refusal = "not at hand";
    kb_code_read_free(&read);
}

static void versus(int index, const char *verdict, double ratio, const char *more)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"type\":\"versus\",\"variant\":\"one\",\"version\":2,\"case\":%d,\"baseline\":{\"variant\":\"one\","
             "\"version\":1},\"ratio\":%g,\"low\":%g,\"high\":%g,\"us\":90,\"baseline_us\":100,\"verdict\":\"%s\"%s}",
             index, ratio, ratio - 0.01, ratio + 0.01, verdict, more);
    apply(text);
}

static void expect_verdict(const char *present, const char *absent)
{
    struct kb_subject s;
    struct kb_line l = {.ascii = true};
    kb_app_subject(&app, 0, kb_app_version(&app), &s);
    kb_verdict_line(&l, &s);
    if (!strstr(l.text.data, present) || (absent && strstr(l.text.data, absent)))
        fail_msg("\"%s\" is not in, or \"%s\" is: %s", present, absent ? absent : "", l.text.data);
    kb_line_free(&l);
}

static void sass(int version, int wide, int fused)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"sass\",\"variant\":\"one\",\"version\":%d,\"kernels\":[{\"name\":\"k\",\"by_class\":{"
             "\"LDG.128\":%d,\"FFMA\":%d,\"BAR\":2}}]}",
             version, wide, fused);
    apply(text);
}

static void test_verdict(void **state)
{
    (void)state;
    build("one", 2);
    versus(0, "SAME CODE", 0.999, ",\"same_code\":true,\"noise\":0.002");
    expect_verdict("SAME CODE ", "FASTER");
    expect_verdict("is noise: the machine code is the same", "(noise");
    versus(0, "FASTER", 0.9, ",\"same_code\":false,\"noise\":0.002");
    expect_verdict("-10.0% +-1.0% (noise +-0.2%)", "37 x 1023");
    versus(1, "SLOWER", 1.042, "");
    expect_verdict("37 x 1023 SLOWER +4.2%", "all 2 cases");
    versus(1, "FASTER", 0.8, "");
    expect_verdict("all 2 cases", "37 x 1023");
    expect_verdict("FASTER", "LDG.128");
    sass(1, 0, 128);
    expect_verdict("FASTER", "LDG.128");
    sass(2, 12, 64);
    expect_verdict("FFMA -64, LDG.128 +12", "BAR");
}

static void test_doubts(void **state)
{
    (void)state;
    apply(
        "{\"type\":\"timing\",\"variant\":\"one\",\"version\":1,\"case\":0,\"stage\":\"settled\",\"cold\":{"
        "\"median_us\":100,\"samples\":9,\"drifting\":true},\"clock_mhz\":1410,\"clock_low_mhz\":1290,\"throttled\":5,"
        "\"throttled_kept\":true,\"others\":2,\"method_overhead_us\":1.2,\"batch\":8,\"source\":\"cupti\"}");
    expect_verdict("at throttled clocks, 1410 MHz", NULL);
    expect_verdict("drifting", NULL);
    expect_verdict("2 other on the GPU", "weak bench");
    expect(KB_PANE_VARIANTS, "2 others on the GPU", "DISK HANGS");
    expect(KB_PANE_DETAIL, "1410 MHz, lowest 1290", NULL);
    expect(KB_PANE_DETAIL, "5 samples at lower clocks, kept", NULL);
    expect(KB_PANE_DETAIL, "8 runs a sample", NULL);
    expect(KB_PANE_DETAIL, "an empty kernel 1.20 us", NULL);
    expect(KB_PANE_ERRORS, "errors", "not reproducible");
    apply("{\"type\":\"rung\",\"variant\":\"one\",\"version\":1,\"rung\":\"verify\",\"status\":\"pass\",\"reason\":"
          "\"big: 3 of 16 repeated runs differ bitwise\"}");
    expect_verdict("runs differ bitwise", NULL);
    expect(KB_PANE_ERRORS, "not reproducible: big: 3 of 16 repeated runs differ bitwise", NULL);
}

// What the worker says when it prepares a bench: it holds until another contract is accepted.
static void test_weak_bench(void **state)
{
    (void)state;
    expect_verdict("TIMED", "weak bench");
    apply("{\"type\":\"weak\",\"t_ms\":5,\"cases\":[{\"case\":0,\"label\":\"big\",\"weak\":null,\"weak_reason\":"
          "\"no output that computes nothing passes\"}]}");
    expect_verdict("TIMED", "weak bench");
    apply("{\"type\":\"weak\",\"t_ms\":6,\"cases\":[{\"case\":0,\"label\":\"big\",\"weak\":\"zeros would pass\"}]}");
    expect_verdict("weak bench: see errors", NULL);
    expect(KB_PANE_ERRORS, "weak bench: case big: zeros would pass", NULL);
    apply("{\"type\":\"bench\",\"t_ms\":9,\"bench\":{\"name\":\"b\",\"contract\":\"another\"},\"cases\":[{\"index\":0,"
          "\"label\":\"big\","
          "\"timed\":true}],\"headline\":0,\"variants\":[{\"name\":\"one\",\"source\":\"one.cu\"}]}");
    expect(KB_PANE_ERRORS, "errors", "weak bench");
}

// The point under the roofs goes by what the hardware counted, and the pane says so.
static void test_counted_point(void **state)
{
    (void)state;
    apply("{\"type\":\"timing\",\"variant\":\"one\",\"version\":1,\"case\":0,\"stage\":\"settled\",\"cold\":{"
          "\"median_us\":100,\"samples\":20},\"roofline\":{\"flops\":1e9,\"bytes\":2e8,\"intensity\":5,"
          "\"attained_flops\":1e13,\"attained_bytes_per_s\":2e12,\"bound\":\"memory\",\"share\":0.5,\"source\":"
          "\"declared\"}}");
    expect(KB_PANE_ROOFLINE, "2.00 TB/s", "by counters");
    expect(KB_PANE_ROOFLINE, "at most 2.00 x left", NULL);
    apply("{\"type\":\"counters\",\"variant\":\"one\",\"version\":1,\"case\":0,\"stage\":\"bytes\",\"metrics\":{"
          "\"dram_bytes\":3e8}}");
    expect(KB_PANE_ROOFLINE, "3.00 TB/s", "(declared)");
    expect(KB_PANE_ROOFLINE, "300 MB", "200 MB");
    expect(KB_PANE_ROOFLINE, "75%", NULL);
    expect(KB_PANE_ROOFLINE, "by counters", NULL);
}

static void test_findings(void **state)
{
    (void)state;
    apply("{\"type\":\"findings\",\"variant\":\"one\",\"version\":1,\"rung\":\"races\",\"case\":0,\"label\":\"big\","
          "\"findings\":[{\"kind\":\"race\",\"fails\":true,\"kernel\":\"k\",\"text\":\"thread 32 reads s[0]\",\"file\":"
          "\"one.cu\",\"line\":20,\"count\":4}],\"left_out\":2}");
    apply("{\"type\":\"rung\",\"variant\":\"one\",\"version\":1,\"rung\":\"races\",\"status\":\"fail\",\"reason\":"
          "\"r\"}");
    expect(KB_PANE_ERRORS, "races failed: kernel k, case big", NULL);
    expect(KB_PANE_ERRORS, "one.cu:20 race: thread 32 reads s[0]  4 times", NULL);
    expect(KB_PANE_ERRORS, "and 2 more", NULL);
}

static void test_accepted(void **state)
{
    (void)state;
    apply("{\"type\":\"findings\",\"variant\":\"one\",\"version\":1,\"rung\":\"races\",\"case\":0,\"label\":\"big\","
          "\"findings\":[{\"kind\":\"race\",\"fails\":false,\"accepted\":\"never "
          "used\",\"kernel\":\"k\",\"text\":\"thread 32 "
          "reads s[0]\",\"file\":\"one.cu\",\"line\":20,\"count\":1}],\"left_out\":0}");
    apply("{\"type\":\"rung\",\"variant\":\"one\",\"version\":1,\"rung\":\"races\",\"status\":\"pass\"}");
    expect(KB_PANE_ERRORS, "one.cu:20 race: thread 32 reads s[0]", "failed");
    expect(KB_PANE_ERRORS, "accepted: never used", NULL);
}

static void test_disk(void **state)
{
    (void)state;
    apply("{\"type\":\"status\",\"level\":\"warning\",\"text\":\"a disk hangs: open of a.cu\"}"); // only words
    expect(KB_PANE_VARIANTS, "variants", "DISK HANGS");
    apply("{\"type\":\"disk\",\"state\":\"stuck\",\"path\":\"open of a.cu\"}");
    expect(KB_PANE_VARIANTS, "DISK HANGS", NULL);
    apply("{\"type\":\"disk\",\"state\":\"answers\",\"path\":null}");
    expect(KB_PANE_VARIANTS, "variants", "DISK HANGS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_findings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit_and_sections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_costs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_machine_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_verdict, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_doubts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weak_bench, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counted_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
