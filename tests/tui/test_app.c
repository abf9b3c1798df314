// What the screen says about a session, and what keys do, without a terminal.
#include "base/memory.h"
#include "base/text.h"
#include "loop/session.h"
#include "tui/app.h"
#include "tui/script.h"

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
static char commands[512];

static void on_command(void *context, int what, const char *arg)
{
    (void)context;
    size_t n = strlen(commands);
    snprintf(commands + n, sizeof commands - n, "%d:%s ", what, arg ? arg : "-");
}

static void apply(const char *json)
{
    cJSON *event = cJSON_Parse(json);
    assert_non_null(event);
    assert_int_equal(kb_model_apply(&model, event), 0);
    cJSON_Delete(event);
    kb_app_follow(&app);
}

static int set_up(void **state)
{
    (void)state;
    kb_model_init(&model);
    kb_app_init(&app, &model, true);
    app.driver = (struct kb_driver){.command = on_command};
    commands[0] = 0;
    apply("{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\"},\"cases\":[{\"index\":0,\"label\":\"big\","
          "\"timed\":true},{\"index\":1,\"label\":\"odd\",\"timed\":false}],\"headline\":0,\"variants\":[{\"name\":"
          "\"one\","
          "\"source\":\"one.cu\"},{\"name\":\"two\",\"source\":\"two.cu\"}],\"focus\":\"one\"}");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kb_app_free(&app);
    kb_model_free(&model);
    return 0;
}

static void build(int version)
{
    char text[256];
    snprintf(text, sizeof text, "{\"type\":\"build\",\"variant\":\"one\",\"key\":\"k%d\",\"state\":\"started\"}",
             version);
    apply(text);
    snprintf(text, sizeof text,
             "{\"type\":\"build\",\"variant\":\"one\",\"key\":\"k%d\",\"state\":\"final\",\"version\":%d}", version,
             version);
    apply(text);
}

static void rung(int version, const char *name, const char *status, const char *reason)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "{\"type\":\"rung\",\"variant\":\"one\",\"version\":%d,\"rung\":\"%s\",\"status\":\"%s\",\"ms\":1,\"reason\":"
        "\"%s\"}",
        version, name, status, reason);
    apply(text);
}

static void done(int version, const char *status)
{
    char text[256];
    snprintf(text, sizeof text, "{\"type\":\"done\",\"variant\":\"one\",\"version\":%d,\"status\":\"%s\"}", version,
             status);
    apply(text);
}

static void timing(int version, double us, const char *more)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "{\"type\":\"timing\",\"variant\":\"one\",\"version\":%d,\"case\":0,\"cold\":{\"median_us\":%g,\"low_us\":%g,"
        "\"high_us\":%g},\"roofline\":{\"bound\":\"memory\",\"attained_bytes_per_s\":3.9e12,\"share\":0.91%s}}",
        version, us, us - 0.1, us + 0.1, more);
    apply(text);
}

static enum kb_outcome outcome(void)
{
    struct kb_subject s;
    kb_app_subject(&app, app.variant, kb_app_version(&app), &s);
    return kb_outcome_of(&s);
}

static void expect_verdict(enum kb_outcome o, const char *part, const char *absent)
{
    struct kb_subject s;
    struct kb_line l = {.ascii = true};
    kb_app_subject(&app, app.variant, kb_app_version(&app), &s);
    kb_verdict_line(&l, &s);
    if (outcome() != o || !strstr(l.text.data, part) || (absent && strstr(l.text.data, absent)))
        fail_msg("verdict: %s", l.text.data);
    kb_line_free(&l);
}

static void test_wrong_in_timed_launches(void **state)
{
    (void)state;
    build(1);
    rung(1, "verify", "pass", "");
    rung(1, "time", "fail", "right before, wrong when its inputs change: y: 5 of 9 elements are wrong");
    done(1, "fail");
    expect_verdict(KB_OUTCOME_FAILED, "when its inputs change", "HUNG"); // "change" is no hang
}

static void test_states(void **state)
{
    (void)state;
    expect_verdict(KB_OUTCOME_WAITING, "one.cu was not built yet", NULL);
    build(1);
    rung(1, "compile", "running", "");
    expect_verdict(KB_OUTCOME_RUNNING, "compile", NULL);
    rung(1, "compile", "pass", "");
    rung(1, "verify", "pass", "");
    timing(1, 36.8, "");
    done(1, "pass");
    expect_verdict(KB_OUTCOME_TIMED, "36.8 us", NULL);
    build(2);
    rung(2, "check", "fail", "needs 300 kB of shared memory, 227 are there");
    done(2, "fail");
    expect_verdict(KB_OUTCOME_REFUSED, "300 kB", NULL);
    expect_verdict(KB_OUTCOME_REFUSED, "last good v1 36.8 us", NULL);
    build(3);
    rung(3, "run", "fail", "no answer for 20 s: the kernel may never end; its worker was killed");
    done(3, "fail");
    expect_verdict(KB_OUTCOME_HUNG, "may never end", NULL);
    build(4);
    rung(4, "run", "fail", "an illegal address was encountered (700)");
    done(4, "fail");
    expect_verdict(KB_OUTCOME_CRASHED, "illegal address", NULL);
    build(5);
    rung(5, "verify", "pass", "");
    rung(5, "time", "na", "the CPU's time says nothing about a GPU's");
    done(5, "pass");
    expect_verdict(KB_OUTCOME_RIGHT, "no time: the CPU's", " us");
    build(6);
    rung(6, "verify", "na", "the bench has no reference");
    rung(6, "time", "na", "the CPU's time says nothing about a GPU's");
    done(6, "pass");
    expect_verdict(KB_OUTCOME_UNVERIFIED, "nothing to compare with: the bench has no reference", "FAILED");
    static const char *const uncompared = // nothing came out that could be wrong
        "{\"type\":\"case\",\"variant\":\"one\",\"version\":%d,\"rung\":\"run\",\"case\":0,\"label\":\"a\","
        "\"status\":\"fail\",\"reason\":\"%s\",\"outputs\":[{\"arg\":\"y\",\"status\":\"fail\",\"reason\":null,"
        "\"metrics\":{}}]}";
    // Whose fault it is stands in a field: the words of the reason are anybody's.
    static const char *const reasons[] = {"read of x[1], past its end", "y: the reference itself fails: killed"};
    for (int i = 0; i < 2; i++) {
        char *event = kb_format(uncompared, 7 + i, reasons[i]);
        build(7 + i);
        apply(event);
        rung(7 + i, "run", "fail", reasons[i]);
        done(7 + i, "fail");
        expect_verdict(KB_OUTCOME_CRASHED, reasons[i], "WRONG");
        free(event);
    }
    static const char *const faults[] = {"reference", "bench", "worker"};
    for (int i = 0; i < 3; i++) {
        char *event = kb_format("{\"type\":\"rung\",\"variant\":\"one\",\"version\":%d,\"rung\":\"check\","
                                "\"status\":\"fail\",\"reason\":\"killed\",\"fault_of\":\"%s\"}",
                                9 + i, faults[i]);
        char *end = kb_format("{\"type\":\"done\",\"variant\":\"one\",\"version\":%d,\"status\":\"fail\","
                              "\"rung\":\"check\",\"fault_of\":\"%s\"}",
                              9 + i, faults[i]);
        build(9 + i);
        apply(event);
        expect_verdict(i ? KB_OUTCOME_FAILED : KB_OUTCOME_REFERENCE, "check: killed", "REFUSED");
        apply(end);
        expect_verdict(i ? KB_OUTCOME_FAILED : KB_OUTCOME_REFERENCE, i ? "FAILED" : "REFERENCE FAILED", "REFUSED");
        free(event);
        free(end);
    }
    apply("{\"type\":\"file\",\"variant\":\"one\",\"state\":\"missing\",\"reason\":\"no such file\"}");
    expect_verdict(KB_OUTCOME_MISSING, "one.cu is missing: no such file", NULL);
}

// What the CPU device finds behind the verdict takes it back; a warning does not.
static void test_races(void **state)
{
    static const char finding[] =
        "{\"type\":\"findings\",\"variant\":\"one\",\"version\":%d,\"rung\":\"races\",\"case\":0,"
        "\"label\":\"37 x 129\",\"findings\":[{\"kind\":\"%s\",\"fails\":%s,\"kernel\":\"k\","
        "\"text\":\"thread 32 reads s[0], which thread 0 wrote at one.cu:14\",\"file\":"
        "\"one.cu\",\"line\":20,\"count\":4}],\"left_out\":0}";
    static const struct {
        const char *kind;
        enum kb_outcome outcome;
    } kinds[] = {{"race", KB_OUTCOME_RACE},
                 {"uninitialised", KB_OUTCOME_UNINITIALISED},
                 {"divergent_barrier", KB_OUTCOME_DIVERGENT},
                 {"illegal_address", KB_OUTCOME_CRASHED}};
    (void)state;
    build(1);
    timing(1, 36.8, "");
    done(1, "pass");
    rung(1, "races", "pass", "");
    for (size_t i = 0; i < KB_COUNT(kinds); i++) {
        int version = 2 + (int)i;
        build(version);
        timing(version, 34.1, "");
        done(version, "pass");
        expect_verdict(KB_OUTCOME_TIMED, "34.1 us", NULL);
        rung(version, "races", "running", "");
        expect_verdict(KB_OUTCOME_TIMED, "34.1 us", NULL);
        char *warning = kb_format(finding, version, "race_in_warp", "false"),
             *event = kb_format(finding, version, kinds[i].kind, "true");
        apply(warning);
        apply(event);
        apply(event); // the same place in another case
        assert_int_equal(kb_app_version(&app)->finding_count, 2);
        rung(version, "races", "fail", "kernel k: it was found");
        done(version, "fail");
        expect_verdict(kinds[i].outcome, "one.cu:20 thread 32 reads s[0], which thread 0 wrote at one.cu:14", "34.1");
        expect_verdict(kinds[i].outcome, "last good v1 36.8 us", "more");
        free(warning);
        free(event);
    }
    rung(5, "races", "running", ""); // again, and nothing this time
    assert_int_equal(kb_app_version(&app)->finding_count, 0);
}

static void test_accepted(void **state)
{
    (void)state;
    build(1);
    timing(1, 34.1, "");
    done(1, "pass");
    apply(
        "{\"type\":\"findings\",\"variant\":\"one\",\"version\":1,\"rung\":\"races\",\"case\":0,\"label\":\"37 x 129\","
        "\"findings\":[{\"kind\":\"race\",\"fails\":false,\"accepted\":\"never "
        "used\",\"kernel\":\"k\",\"text\":\"thread 32 "
        "reads s[0]\",\"file\":\"one.cu\",\"line\":20,\"count\":4}],\"left_out\":0}");
    rung(1, "races", "pass", "");
    expect_verdict(KB_OUTCOME_TIMED, "1 finding accepted", "warning");
}

// A wrong version shows no speed of its own, in no pane, whatever the events hold.
static void test_wrong_has_no_speed(void **state)
{
    (void)state;
    build(1);
    timing(1, 34.1, "");
    apply("{\"type\":\"case\",\"variant\":\"one\",\"version\":1,\"rung\":\"verify\",\"case\":1,\"label\":\"odd\","
          "\"status\":"
          "\"fail\",\"outputs\":[{\"arg\":\"y\",\"status\":\"fail\",\"elements\":10,\"metrics\":{\"mismatches\":3,"
          "\"max_abs\":"
          "0.5,\"first_bad\":{\"index\":[1,2],\"got\":\"nan\",\"want\":0.25}}}]}");
    rung(1, "verify", "fail", "1 of 2 cases is wrong");
    done(1, "fail");
    expect_verdict(KB_OUTCOME_WRONG, "y[1,2]: got nan, want 0.25; 3 of 10 wrong", "34.1");
    assert_int_equal(kb_app_case(&app), 1); // the wrong case comes to the front
    for (int pane = 0; pane < KB_PANES; pane++) {
        struct kb_text out = {0};
        struct kb_script script = {&app, NULL, 160, 50, &out};
        app.focus = (enum kb_pane)pane;
        app.zoom = pane % 2;
        kb_script_screen(&script, &out);
        if (strstr(out.data, "34.1") || strstr(out.data, "TB/s") || strstr(out.data, "91%"))
            fail_msg("a speed in pane %d:\n%s", pane, out.data);
        kb_text_free(&out);
    }
}

static void test_impossible(void **state)
{
    (void)state;
    build(1);
    rung(1, "verify", "pass", "");
    timing(1, 2.5, ",\"impossible\":true,\"impossible_reason\":\"less than the memory needs\",\"floor_us\":14.9");
    done(1, "pass");
    expect_verdict(KB_OUTCOME_IMPOSSIBLE, "below the floor of 14.9 us: less than", "TB/s");
    assert_null(kb_last_good(&model, 0));
    assert_true(isnan(kb_speed_us(&model, kb_model_current(&model, 0), 0)));
}

static void test_comparison(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum kb_outcome outcome;
    } words[] = {{"FASTER", KB_OUTCOME_FASTER},
                 {"SLOWER", KB_OUTCOME_SLOWER},
                 {"SAME", KB_OUTCOME_SAME},
                 {"UNSURE", KB_OUTCOME_UNSURE}};
    build(1);
    timing(1, 36.8, "");
    done(1, "pass");
    build(2);
    timing(2, 34.1, "");
    done(2, "pass");
    for (size_t i = 0; i < KB_COUNT(words); i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "{\"type\":\"versus\",\"variant\":\"one\",\"version\":2,\"case\":0,\"baseline\":{\"variant\":\"one\","
            "\"version\":1},\"ratio\":0.927,\"low\":0.923,\"high\":0.931,\"us\":34.1,\"baseline_us\":36.8,\"verdict\":"
            "\"%s\"}",
            words[i].word);
        apply(text);
        expect_verdict(words[i].outcome, "v2 against v1: 36.8 -> 34.1 us  -7.3% +-0.4%   3.90 TB/s, 91% of the roof",
                       NULL);
    }
    apply("{\"type\":\"goal\",\"variant\":\"one\",\"version\":2,\"met\":false,\"value\":0.91,\"wanted\":0.95}");
    expect_verdict(KB_OUTCOME_UNSURE, "goal not met 91% of 95%", NULL);
    apply("{\"type\":\"goal\",\"variant\":\"one\",\"version\":2,\"met\":true,\"value\":0.96,\"wanted\":0.95}");
    expect_verdict(KB_OUTCOME_UNSURE, "goal MET 96% of 95%", NULL);
}

static void expect_roofline(const char *present, const char *absent)
{
    struct kb_text out = {0};
    struct kb_script script = {&app, NULL, 110, 40, &out};
    app.focus = KB_PANE_ROOFLINE;
    app.zoom = true;
    kb_script_screen(&script, &out);
    if (!strstr(out.data, present) || (absent && strstr(out.data, absent)))
        fail_msg("\"%s\" is not in, or \"%s\" is:\n%s", present, absent ? absent : "", out.data);
    kb_text_free(&out);
}

static void peaks(const char *bandwidth, const char *flops)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"type\":\"device\",\"kind\":\"cuda\",\"name\":\"G\",\"peak\":{\"dram_bytes_per_s\":%s,"
             "\"fp32_flops\":%s}}",
             bandwidth, flops);
    apply(text);
}

// Whatever is unknown, zero or absurd, it draws, and says what it does not know.
static void test_roofline(void **state)
{
    (void)state;
    expect_roofline("no roofs", NULL);
    peaks("4.8e12", "6.7e13");
    expect_roofline("FLOP/B", "no roofs");
    build(1);
    rung(1, "verify", "pass", "");
    timing(1, 34.1, ",\"flops\":8.4e7,\"bytes\":1.3e8,\"intensity\":0.62,\"attained_flops\":2.4e12");
    done(1, "pass");
    expect_roofline("* one v1", NULL);
    expect_roofline("91% of 4.80 TB/s (the vendor's peak)", NULL);
    timing(1, 34.1, ",\"flops\":0,\"bytes\":1.3e8,\"intensity\":0,\"attained_flops\":0"); // a copy kernel
    expect_roofline("* one v1", NULL);
    static const char *const odd[] = {"null", "0", "-1", "1e300", "1e-300"};
    for (size_t i = 0; i < KB_COUNT(odd); i++)
        for (size_t k = 0; k < KB_COUNT(odd); k++) {
            char more[256];
            peaks(odd[i], odd[k]);
            snprintf(more, sizeof more, ",\"flops\":%s,\"bytes\":%s,\"intensity\":%s,\"attained_flops\":%s", odd[k],
                     odd[i], odd[k], odd[i]);
            timing(1, 34.1, more);
            expect_roofline("3.90 TB/s", NULL);
        }
}

static char *screen_text(int columns, int rows)
{
    struct kb_grid grid;
    struct kb_text text = {0};
    kb_grid_init(&grid, columns, rows, true);
    kb_app_draw(&app, &grid);
    for (int y = 0; y < rows; y++) {
        char *row = kb_grid_row(&grid, y);
        kb_text_addf(&text, "%s\n", row);
        free(row);
    }
    kb_grid_free(&grid);
    return kb_text_take(&text);
}

static unsigned press(int key)
{
    return kb_app_key(&app, key, false);
}

static void test_commands(void **state)
{
    (void)state;
    build(1);
    rung(1, "run", "running", "");
    assert_int_equal(press('q') & KB_DID_QUIT, 0); // something runs: it asks
    assert_int_equal(app.overlay, KB_OVERLAY_QUIT);
    assert_int_equal(press('q') & KB_DID_QUIT, 0);
    assert_int_equal(app.overlay, KB_OVERLAY_NONE);
    press('q');
    assert_true(press('y') & KB_DID_QUIT);
    rung(1, "run", "pass", "");
    done(1, "pass");
    assert_true(press('q') & KB_DID_QUIT);
    assert_int_equal(kb_app_key(&app, 'q', true) & KB_DID_QUIT, 0); // as a paste would
    press('n');
    press('v');
    press('r');
    press('p');
    press('V');
    press('b');
    press('B');
    press('x');
    press('R');
    press('n');
    press('R');
    press('y');
    char expected[256];
    snprintf(expected, sizeof expected, "%d:two %d:two %d:- %d:one %d:one@1 %d:- %d:- %d:- ", KB_COMMAND_FOCUS,
             KB_COMMAND_RERUN, KB_COMMAND_PAUSE, KB_COMMAND_FOCUS, KB_COMMAND_PIN, KB_COMMAND_PIN, KB_COMMAND_CANCEL,
             KB_COMMAND_RESTART);
    assert_string_equal(commands, expected);
    assert_true(press('e') & KB_DID_EDIT);
    assert_true(press(KB_CTRL('z')) & KB_DID_SUSPEND);
    assert_true(press(KB_CTRL('l')) & KB_DID_REDRAW);
    assert_int_equal(press(0x4f60), 0); // nothing has that key
}

static void test_export(void **state)
{
    (void)state;
    char expected[64];
    build(1);
    rung(1, "verify", "fail", "odd: y: 1 of 3 elements are wrong");
    apply("{\"type\":\"case\",\"variant\":\"one\",\"version\":1,\"rung\":\"verify\",\"case\":1,\"status\":\"fail\","
          "\"outputs\":[]}");
    done(1, "fail");
    press('E');
    snprintf(expected, sizeof expected, "%d:one@1 ", KB_COMMAND_EXPORT);
    assert_string_equal(commands, expected);
    build(2); // a fault that no case told of
    rung(2, "run", "fail", "the kernel made an illegal memory access");
    done(2, "fail");
    commands[0] = 0;
    press('E');
    snprintf(expected, sizeof expected, "%d:one@-1 ", KB_COMMAND_EXPORT);
    assert_string_equal(commands, expected);
    commands[0] = 0;
    app.version = 1; // whose source is not in the file any more
    press('E');
    assert_string_equal(commands, "");
    assert_non_null(strstr(app.note, "v1 is not what the file holds"));
    app.version = 0;
    app.driver.command = NULL;
    press('E');
    assert_non_null(strstr(app.note, "kbench-tui export BENCH one --seed"));
}

static void test_permission(void **state)
{
    (void)state;
    static const char asked[] =
        "{\"type\":\"permission\",\"needed\":true,\"line\":\"python3 r.py\",\"dir\":\"/b\",\"hash\":\"h1\","
        "\"files\":[{\"name\":\"r.py\",\"bytes\":512}],\"file_count\":1}";
    char expected[64], *shown;
    apply(asked);
    assert_int_equal(app.overlay, KB_OVERLAY_ALLOW);
    shown = screen_text(100, 30);
    assert_non_null(strstr(shown, "python3 r.py"));
    assert_non_null(strstr(shown, "in /b"));
    assert_non_null(strstr(shown, "with r.py, 512 bytes"));
    free(shown);
    press('n'); // not now: the question does not come back by itself
    apply(asked);
    assert_int_equal(app.overlay, KB_OVERLAY_NONE);
    assert_string_equal(commands, "");
    press('A');
    assert_int_equal(app.overlay, KB_OVERLAY_ALLOW);
    kb_app_key(&app, 'y', true); // amid other keys, as a paste would
    assert_string_equal(commands, "");
    press('y');
    snprintf(expected, sizeof expected, "%d:- ", KB_COMMAND_ALLOW);
    assert_string_equal(commands, expected);
    press('A');
    apply("{\"type\":\"permission\",\"needed\":false}");
    assert_int_equal(app.overlay, KB_OVERLAY_NONE);
    press('A');
    assert_non_null(strstr(app.note, "nothing waits"));
    app.driver.command = NULL; // a replay shows what was, and asks nothing
    apply("{\"type\":\"permission\",\"needed\":true,\"line\":\"x\",\"hash\":\"h2\"}");
    assert_int_equal(app.overlay, KB_OVERLAY_NONE);
}

static void test_reported(void **state)
{
    (void)state;
    apply("{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\"},\"cases\":[{\"index\":0,\"label\":\"big\","
          "\"timed\":"
          "true}],\"headline\":0,\"variants\":[{\"name\":\"one\",\"source\":\"one.cu\"},{\"name\":\"torch\",\"kind\":"
          "\"command\"}"
          "],\"focus\":\"one\"}");
    press('v');
    char *shown = screen_text(140, 36);
    assert_non_null(strstr(shown, "LINE"));
    assert_non_null(strstr(shown, "asked when nothing else runs"));
    free(shown);
    apply("{\"type\":\"reported\",\"variant\":\"torch\",\"case\":0,\"us\":34.1,\"what\":\"torch 2.5\",\"right\":true,"
          "\"roofline\":{\"share\":0.5}}");
    shown = screen_text(140, 36);
    assert_non_null(strstr(shown, "34.1 us   reported by the command: torch 2.5   outputs right"));
    assert_non_null(strstr(shown, "50%"));
    free(shown);
    apply("{\"type\":\"reported\",\"variant\":\"torch\",\"case\":0,\"us\":34.1,\"right\":null,\"right_reason\":\"it "
          "wrote no "
          "outputs\"}");
    shown = screen_text(140, 36);
    assert_non_null(strstr(shown, "not verified: it wrote no outputs"));
    free(shown);
    apply("{\"type\":\"reported\",\"variant\":\"torch\",\"case\":0,\"us\":null,\"us_reason\":\"its outputs are wrong: "
          "all of y\","
          "\"right\":false,\"right_reason\":\"all of y\"}");
    shown = screen_text(140, 36);
    assert_non_null(strstr(shown, "no time: its outputs are wrong: all of y"));
    assert_null(strstr(shown, "34.1 us"));
    free(shown);
    apply("{\"type\":\"reported\",\"variant\":\"torch\",\"case\":0,\"us\":0.1,\"right\":true,\"roofline\":{"
          "\"impossible\":true}}");
    shown = screen_text(140, 36);
    assert_non_null(strstr(shown, "impossible: faster than"));
    free(shown);
}

static void test_where(void **state)
{
    (void)state;
    build(1);
    rung(1, "verify", "fail", "odd: y: 2 of 8 elements are wrong (the last column of every row)");
    apply("{\"type\":\"case\",\"variant\":\"one\",\"version\":1,\"rung\":\"verify\",\"case\":0,\"status\":\"fail\","
          "\"outputs\":[{\"arg\":\"y\",\"status\":\"fail\",\"map\":{\"rows\":2,\"columns\":4,\"cells\":\"000f000f\"},"
          "\"where\":\"the last column of every row\"}]}");
    done(1, "fail");
    press('2');
    press(KB_KEY_ENTER);
    char *shown = screen_text(140, 36), *head = strstr(shown, "where y is wrong (2 x 4 tiles)");
    assert_non_null(head);
    assert_non_null(strstr(head, "the last column of every row"));
    free(shown);
}

static void test_old_versions(void **state)
{
    (void)state;
    for (int i = 1; i <= 3; i++) {
        build(i);
        done(i, "pass");
    }
    app.focus = KB_PANE_HISTORY;
    press('j');
    press('j');
    press('j'); // no further than the oldest
    assert_int_equal(kb_app_version(&app)->number, 1);
    press('k');
    assert_int_equal(kb_app_version(&app)->number, 2);
    apply("{\"type\":\"log\",\"t_ms\":5,\"source\":\"session\",\"text\":\"x\"}");
    assert_int_equal(kb_app_version(&app)->number, 2);
    apply("{\"type\":\"log\",\"t_ms\":9,\"source\":\"session\",\"text\":\"x\"}");
    build(4); // a save brings the screen back to what is new
    assert_int_equal(kb_app_version(&app)->number, 4);
    press('j');
    press(KB_KEY_ESC);
    assert_int_equal(kb_app_version(&app)->number, 4);
}

static void test_case_picker(void **state)
{
    (void)state;
    press('c');
    press('j');
    press(KB_KEY_ENTER);
    assert_int_equal(kb_app_case(&app), 1);
    assert_int_equal(kb_app_pick_timed_case(&app), 0); // that one has no time
    press(KB_KEY_ESC);
    assert_int_equal(kb_app_case(&app), 0);
}

static void test_log(void **state)
{
    (void)state;
    struct kb_text out = {0};
    struct kb_script script = {&app, NULL, 80, 24, &out};
    for (int i = 0; i < 7000; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"log\",\"t_ms\":%d,\"source\":\"run\",\"text\":\"line %d\"}", i, i);
        cJSON *event = cJSON_Parse(text);
        kb_model_apply(&model, event);
        cJSON_Delete(event);
    }
    app.focus = KB_PANE_LOG;
    kb_script_screen(&script, &out);
    assert_non_null(strstr(out.data, "line 6999"));
    press('k');
    kb_text_clear(&out);
    kb_script_screen(&script, &out);
    assert_null(strstr(out.data, "line 6999"));
    assert_non_null(strstr(out.data, "line 6998"));
    press('g');
    kb_text_clear(&out);
    kb_script_screen(&script, &out);
    assert_non_null(strstr(out.data, "line 2000\n"));
    press('G');
    press('/');
    for (const char *s = "line 412"; *s; s++)
        press(*s);
    press(KB_KEY_BACKSPACE);
    press('2');
    press(KB_KEY_ENTER);
    kb_text_clear(&out);
    kb_script_screen(&script, &out);
    assert_non_null(strstr(out.data, "line 4129"));
    assert_null(strstr(out.data, "line 6999"));
    kb_text_free(&out);
}

static void test_script_errors(void **state)
{
    (void)state;
    struct kb_text out = {0};
    struct kb_error e;
    struct kb_script script = {&app, NULL, 80, 24, &out};
    assert_int_equal(kb_script_run(&script, "# a picture\nsize 40x12\nkey 3 z\nscreen\n", &e), 0);
    assert_int_equal(script.columns, 40);
    assert_int_equal(kb_script_run(&script, "\nscren\n", &e), -1);
    assert_string_equal(e.on, "script line 2");
    assert_string_equal(e.remedy, "screen");
    assert_int_equal(kb_script_run(&script, "key NoSuchKey\n", &e), -1);
    assert_int_equal(kb_script_run(&script, "size big\n", &e), -1);
    assert_int_equal(kb_script_run(&script, "end\n", &e), -1);
    kb_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_in_timed_launches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_races, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_has_no_speed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_impossible, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_comparison, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_roofline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_export, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_permission, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_case_picker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_script_errors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
