// The program on a terminal, end to end. What the whole screen must become is drawn in this process, from the same
// file.
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/replay.h"
#include "tui/script.h"
#include "tui/support_pty.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PROGRAM KB_BUILD_DIR "/kbench-tui"
#define RECORD KB_SOURCE_DIR "/tests/data/softmax.jsonl"
static const char to_end[] = "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

static struct pty *start(const char *file, int columns, int rows, const char *const *env)
{
    char *argv[] = {PROGRAM, "--replay", (char *)file, NULL};
    return pty_start(argv, columns, rows, env);
}

// At the end of the replay, where nothing moves any more.
static struct pty *start_at_end(int columns, int rows, const char *const *env)
{
    struct pty *p = start(RECORD, columns, rows, env);
    assert_true(pty_wait(p, "replay"));
    pty_send(p, to_end);
    assert_true(pty_wait(p, "replay end"));
    return p;
}

static bool act(void *context, enum kb_action action)
{
    return kb_replay_act(context, action);
}

static char *expected(const char *file, int columns, int rows, bool ascii, const char *script_text)
{
    struct kb_replay *replay = NULL;
    struct kb_app app;
    struct kb_text out = {0};
    struct kb_error e = {0};
    assert_int_equal(kb_replay_open(file, &replay, &e), 0);
    kb_app_init(&app, kb_replay_model(replay), ascii);
    app.driver = (struct kb_driver){.context = replay, .replay = act};
    struct kb_script script = {&app, replay, columns, rows, &out};
    assert_int_equal(kb_script_run(&script, script_text, &e), 0);
    kb_app_free(&app);
    kb_replay_free(replay);
    return kb_text_take(&out);
}

static void expect_screen(struct pty *p, int columns, int rows, const char *script)
{
    char *whole = expected(RECORD, columns, rows, false, script);
    assert_true(pty_wait_screen(p, whole));
    free(whole);
}

static void quit(struct pty *p)
{
    int status;
    pty_send(p, "q");
    assert_true(pty_wait_exit(p, &status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(pty_sane(p));
    assert_false(pty_alternate(p));
    assert_non_null(strstr(pty_tail(p), "\033[?2004l"));
    pty_end(p);
}

static void test_whole_screen(void **state)
{
    (void)state;
    struct pty *p = start_at_end(120, 36, NULL);
    expect_screen(p, 120, 36, "end\nscreen\n");
    pty_send(p, "3z");
    expect_screen(p, 120, 36, "end\nkey 3 z\nscreen\n");
    pty_send(p, "\033[C\033OB"); // an arrow in both of its forms
    pty_send(p, "z\t\033[Z?");
    expect_screen(p, 120, 36, "end\nkey 3 z Right Down z Tab Shift-Tab ?\nscreen\n");
    pty_send(p, "q"); // leaves the help, not the program
    expect_screen(p, 120, 36, "end\nkey 3\nscreen\n");
    quit(p);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1},   {2, 2},    {80, 1},   {3, 24},      {40, 8},   {39, 8},
                                   {80, 24}, {100, 50}, {300, 20}, {1000, 1000}, {20, 200}, {120, 36}};
    struct pty *p = start_at_end(120, 36, NULL);
    for (size_t i = 0; i < KB_COUNT(sizes); i++) {
        pty_resize(p, sizes[i][0], sizes[i][1]);
        expect_screen(p, sizes[i][0], sizes[i][1], "end\nscreen\n");
    }
    quit(p);
}

static void test_resize_storm(void **state)
{
    (void)state;
    unsigned seed = 7;
    struct pty *p = start_at_end(120, 36, NULL);
    for (int i = 0; i < 400; i++) {
        seed = seed * 1103515245 + 12345;
        pty_resize(p, 1 + (int)(seed >> 16) % 180, 1 + (int)(seed >> 8) % 60);
        if (i % 7 == 0)
            pty_send(p, "\t");
        pty_pump(p, 0);
    }
    for (int i = 0; i < 400 / 7 + 1; i++) // as many back: the focus is where it was
        pty_send(p, "\033[Z");
    pty_send(p, "72"); // and who has which place
    pty_resize(p, 132, 43);
    expect_screen(p, 132, 43, "end\nscreen\n");
    quit(p);
}

static void test_slow_terminal(void **state)
{
    (void)state;
    struct pty *p = start_at_end(120, 36, NULL);
    // Nobody reads, so its writes stall; keys must not, and the newest screen comes whole.
    for (int i = 0; i < 300; i++)
        pty_send(p, i % 2 ? "z" : "\014");
    expect_screen(p, 120, 36, "end\nscreen\n");
    quit(p);
}

static void test_escape(void **state)
{
    (void)state;
    struct pty *p = start_at_end(100, 30, NULL);
    pty_send(p, "?");
    assert_true(pty_wait(p, "Keys"));
    pty_send(p, "\033");
    expect_screen(p, 100, 30, "end\nscreen\n");
    quit(p);
}

static void test_paste(void **state)
{
    (void)state;
    struct pty *p = start_at_end(120, 36, NULL);
    pty_send(p, "\033[200~qqq\r\033[31m rm -rf\rzz?\033[201~");
    pty_send(p, "2");
    expect_screen(p, 120, 36, "end\nscreen\n");
    pty_send(p, "qqq r"); // a paste without marks: asked first, and no is the answer
    expect_screen(p, 120, 36, "end\nscreen\n");
    pty_send(p, "\033[200~"); // an end that never comes
    pty_send(p, "qqqqqqqqqqqqqqqqqq");
    bool counts = false; // until keys count again: each ? opens the help, or closes it
    while (!counts) {
        pty_send(p, "?");
        pty_pump(p, 25);
        char *screen = pty_screen(p);
        counts = strstr(screen, "Keys") != NULL;
        free(screen);
    }
    pty_send(p, "\033"); // and this closes it in any case
    expect_screen(p, 120, 36, "end\nscreen\n");
    quit(p);
}

static void test_filter(void **state)
{
    (void)state;
    struct pty *p = start_at_end(120, 36, NULL);
    pty_send(p, "/");
    assert_true(pty_wait(p, "/"));
    pty_send(p, "\033[200~roofs\033[201~");
    assert_true(pty_wait(p, "/roofs"));
    pty_send(p, "\r");
    expect_screen(p, 120, 36, "end\nkey /\ntype roofs\nkey Enter\nscreen\n");
    quit(p);
}

static void test_death(void **state)
{
    (void)state;
    static const struct {
        int signal_number;
        bool exits; // by itself, with 128 + number
    } deaths[] = {{SIGTERM, true}, {SIGSEGV, false}, {SIGABRT, false}, {SIGHUP, true}};
    for (size_t i = 0; i < KB_COUNT(deaths); i++) {
        const char *const env[] = {"ASAN_OPTIONS=handle_segv=0:handle_abort=0:disable_coredump=1", NULL};
        struct pty *p = start_at_end(80, 24, env);
        assert_false(pty_sane(p));
        assert_true(pty_alternate(p));
        int status;
        kill(pty_pid(p), deaths[i].signal_number);
        assert_true(pty_wait_exit(p, &status));
        assert_true(pty_sane(p));
        assert_false(pty_alternate(p));
        assert_non_null(strstr(pty_tail(p), "\033[?2004l"));
        assert_int_equal(WIFEXITED(status), deaths[i].exits);
        pty_end(p);
    }
}

static void test_unknown_terminal(void **state)
{
    (void)state;
    const char *const strange[] = {"TERM=xterm-ghostty-of-tomorrow", NULL}, *const dumb[] = {"TERM=dumb", NULL};
    struct pty *p = start(RECORD, 100, 30, strange);
    assert_true(pty_wait(p, "xterm-ghostty-of-tomorrow"));
    pty_send(p, to_end);
    assert_true(pty_wait(p, "replay end"));
    expect_screen(p, 100, 30, "end\nscreen\n");
    quit(p);
    p = start(RECORD, 100, 30, dumb);
    int status;
    assert_true(pty_wait_exit(p, &status));
    assert_int_equal(WEXITSTATUS(status), 2);
    assert_true(pty_wait(p, "cannot place the cursor"));
    assert_true(pty_sane(p));
    pty_end(p);
}

// Types that name no lines and columns are drawn on as others are; the variables that might name some decide nothing.
static void test_terminal_without_a_size(void **state)
{
    (void)state;
    const char *const types[] = {"TERM=linux", "TERM=hurd"};
    for (size_t i = 0; i < 2; i++) {
        const char *const env[] = {types[i], "LINES=3", "COLUMNS=7", NULL};
        struct pty *p = start(RECORD, 100, 30, env);
        assert_true(pty_wait(p, "sections")); // of the ladder: more than 3 rows of 7 columns hold
        quit(p);
    }
}

static void test_ascii_locale(void **state)
{
    (void)state;
    const char *const env[] = {"LC_ALL=C", NULL};
    struct pty *p = start_at_end(120, 36, env);
    char *whole = expected(RECORD, 120, 36, true, "end\nscreen\n");
    for (const char *s = whole; *s; s++)
        assert_true((unsigned char)*s < 0x7f);
    assert_true(pty_wait_screen(p, whole));
    free(whole);
    quit(p);
}

static void test_locale_not_installed(void **state)
{
    (void)state;
    const char *const env[] = {"LC_ALL=xx_XX.UTF-8", NULL};
    struct pty *p = start_at_end(120, 36, env);
    expect_screen(p, 120, 36, "end\nscreen\n");
    quit(p);
}

// Everything that could drive a terminal, in every text that reaches the screen.
static char *hostile_file(void)
{
    static const char evil[] = "A\\u001b[2J\\u001b]52;c;AAAA\\u0007B\\rC\\bD\\u009bE\\u202eF\\tG\\u4f60H\\n\\u0000I";
    char *path = kb_strdup("/tmp/kbench-hostile-XXXXXX");
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"%s\"},\"params\":{},\"cases\":[{\"index\":0,"
            "\"name\":\"%s\",\"label\":\"%s\",\"timed\":true}],\"headline\":0,\"variants\":[{\"name\":\"%s\",\"kind\":"
            "\"cuda\",\"source\":\"%s\",\"kernel\":\"%s\"}],\"focus\":\"%s\"}\n",
            evil, evil, evil, evil, evil, evil, evil);
    fprintf(f, "{\"type\":\"device\",\"t_ms\":0,\"kind\":\"none\",\"name\":\"%s\",\"reason\":\"%s\"}\n", evil, evil);
    fprintf(f, "{\"type\":\"build\",\"t_ms\":1,\"variant\":\"%s\",\"key\":\"k\",\"state\":\"started\"}\n", evil);
    fprintf(f, "{\"type\":\"build\",\"t_ms\":1,\"variant\":\"%s\",\"key\":\"k\",\"state\":\"final\",\"version\":1}\n",
            evil);
    fprintf(f,
            "{\"type\":\"errors\",\"t_ms\":1,\"variant\":\"%s\",\"version\":1,\"errors\":[{\"file\":\"%s\",\"line\":3,"
            "\"column\":9,\"severity\":\"error\",\"text\":\"%s\",\"source\":\"%s\"}]}\n",
            evil, evil, evil, evil);
    fprintf(f,
            "{\"type\":\"rung\",\"t_ms\":1,\"variant\":\"%s\",\"version\":1,\"rung\":\"compile\",\"status\":\"fail\","
            "\"ms\":1,\"reason\":\"%s\"}\n",
            evil, evil);
    fprintf(f, "{\"type\":\"log\",\"t_ms\":1,\"source\":\"%s\",\"variant\":\"%s\",\"text\":\"%s\"}\n", evil, evil,
            evil);
    fprintf(f, "{\"type\":\"status\",\"t_ms\":1,\"level\":\"error\",\"text\":\"%s\",\"remedy\":\"%s\"}\n", evil, evil);
    fprintf(f, "{\"type\":\"done\",\"t_ms\":2,\"variant\":\"%s\",\"version\":1,\"status\":\"fail\"}\n", evil);
    fprintf(f, "this is no event \033[2J\n{\"half\":");
    fclose(f);
    return path;
}

static void test_hostile_text(void **state)
{
    (void)state;
    char *path = hostile_file();
    struct pty *p = start(path, 140, 40, NULL);
    char *keys[] = {"1", "2", "3", "4", "5", "6", "z", "1", "2", "3", "4", "5", "6"};
    struct kb_text script = {0};
    assert_true(pty_wait(p, "replay end"));
    kb_text_add(&script, "end\nkey 1\n");
    for (size_t i = 0; i < KB_COUNT(keys); i++) {
        pty_send(p, keys[i]);
        kb_text_addf(&script, "key %s\n", keys[i]);
        char *sofar = kb_format("%sscreen\n", script.data), *whole = expected(path, 140, 40, false, sofar);
        assert_true(pty_wait_screen(p, whole));
        free(whole);
        free(sofar);
    }
    assert_null(strstr(pty_tail(p), "\033]52"));
    kb_text_free(&script);
    quit(p);
    unlink(path);
    free(path);
}

static void test_suspend(void **state)
{
    (void)state;
    char *argv[] = {"bash", "--norc", "--noprofile", "-i", NULL};
    const char *const env[] = {"PS1=shell:", NULL};
    struct pty *p = pty_start(argv, 100, 30, env);
    assert_true(pty_wait(p, "shell:"));
    pty_send(p, PROGRAM " --replay " RECORD "\r");
    assert_true(pty_wait(p, "replay"));
    pty_send(p, to_end);
    assert_true(pty_wait(p, "replay end"));
    pty_send(p, "\032");
    assert_true(pty_wait(p, "Stopped"));
    assert_false(pty_alternate(p));
    pty_send(p, "stty -a | grep -o -w -e -echo -e -icanon -e echo -e icanon | tr '\\n' '.'; echo end-of-stty\r");
    assert_true(pty_wait(p, "end-of-stty\n"));
    pty_send(p, "fg; echo ended-$?\r");
    expect_screen(p, 100, 30, "end\nscreen\n");
    pty_send(p, "q");
    assert_true(pty_wait(p, "ended-0")); // only now the shell reads again
    pty_send(p, "exit\r");
    int status;
    assert_true(pty_wait_exit(p, &status));
    pty_end(p);
}

// Stopped from outside, where nobody gives the terminal back: it takes it again when it goes on.
static void test_stop_and_continue(void **state)
{
    (void)state;
    struct pty *p = start_at_end(100, 30, NULL);
    struct termios cooked;
    int status;
    kill(pty_pid(p), SIGSTOP);
    assert_int_equal(waitpid(pty_pid(p), &status, WUNTRACED), pty_pid(p));
    assert_int_equal(tcgetattr(pty_fd(p), &cooked), 0);
    cooked.c_lflag |= ECHO | ICANON | ISIG;
    cooked.c_oflag |= OPOST;
    cooked.c_iflag |= ICRNL;
    assert_int_equal(tcsetattr(pty_fd(p), TCSANOW, &cooked), 0);
    assert_true(pty_sane(p));
    kill(pty_pid(p), SIGCONT);
    pty_send(p, "3");
    expect_screen(p, 100, 30, "end\nkey 3\nscreen\n");
    assert_false(pty_sane(p));
    quit(p);
}

static void test_no_terminal(void **state)
{
    (void)state;
    int status = system(PROGRAM " --replay " RECORD " </dev/null >/dev/null 2>/dev/null");
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void test_hang_up(void **state)
{
    (void)state;
    struct pty *p = start_at_end(80, 24, NULL);
    int status;
    assert_true(pty_hang_up(p, &status));
    assert_true(WIFEXITED(status));
    pty_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_screen),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_resize_storm),
        cmocka_unit_test(test_slow_terminal),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_paste),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_unknown_terminal),
        cmocka_unit_test(test_terminal_without_a_size),
        cmocka_unit_test(test_ascii_locale),
        cmocka_unit_test(test_locale_not_installed),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_stop_and_continue),
        cmocka_unit_test(test_no_terminal),
        cmocka_unit_test(test_hang_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
