// What is read in the background: in order, whole or with a reason, and thrown away when nobody waits any more.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "tui/code_read.h"
#include "tui/source_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sass[] = "//--------------------- .text.k --------------------------\n"
                           "\t.section\t.text.k,\"ax\",@progbits\n"
                           "k:\n"
                           "        /*0000*/                   FADD R1, R2, R3 ;\n";

struct counted { // a job that says when it was done, and what became of it
    struct kb_job job;
    int number;
};
static int finished[32], finished_count;
static _Atomic int dropped;

static void run(struct kb_job *job)
{
    (void)job;
}
static void finish(struct kb_job *job)
{
    finished[finished_count++] = ((struct counted *)job)->number;
    free(job);
}
static void drop(struct kb_job *job)
{
    dropped++;
    free(job);
}
static void ask(struct kb_background *b, int number)
{
    struct counted *job = kb_alloc(sizeof *job);
    *job = (struct counted){.job = {.run = run, .finish = finish, .drop = drop}, .number = number};
    kb_background_ask(b, &job->job);
}
static void take(struct kb_background *b)
{
    while (!kb_background_take(b)) {
        struct pollfd fd = {kb_background_fd(b), POLLIN, 0};
        assert_int_equal(poll(&fd, 1, 60000), 1);
    }
}

static void jobs_are_finished_in_order(void **state)
{
    (void)state;
    struct kb_background *b = kb_background_new();
    assert_false(kb_background_take(b));
    finished_count = 0;
    for (int i = 0; i < 20; i++)
        ask(b, i);
    while (finished_count < 20)
        take(b);
    for (int i = 0; i < 20; i++)
        assert_int_equal(finished[i], i);
    assert_false(kb_background_take(b));
    kb_background_free(b);
}

// What was not finished is dropped, by whoever goes last: perhaps the thread, a little later.
static void it_may_go_while_it_works(void **state)
{
    (void)state;
    enum { TURNS = 20, JOBS = 8 };
    int done = 0;
    dropped = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct kb_background *b = kb_background_new();
        finished_count = 0;
        for (int i = 0; i < JOBS; i++)
            ask(b, i);
        if (turn % 2)
            take(b);
        kb_background_free(b);
        done += finished_count;
    }
    while (done + dropped < TURNS * JOBS)
        sched_yield();
    assert_int_equal(done + dropped, TURNS * JOBS);
}

static struct kb_code_read read_text(enum kb_code_form form, const char *text)
{
    struct kb_code_read read = {.form = form, .text = kb_strdup(text), .size = strlen(text)};
    kb_code_parse(&read);
    assert_null(read.text);
    assert_int_equal((read.listing != NULL) + (read.samples != NULL) + (read.diff != NULL) + (read.reason != NULL), 1);
    return read;
}

static void each_form_is_read(void **state)
{
    (void)state;
    double most;
    struct kb_code_read read = read_text(KB_FORM_LISTING, sass);
    assert_int_equal(read.listing->kernels[0].count, 1);
    kb_code_read_free(&read);
    read = read_text(KB_FORM_SAMPLES,
                     "{\"kernels\":[{\"name\":\"k\",\"pcs\":[[32,5,\"memory\"],[16,7,\"issuing\"],[32,4,\"issuing\"]]},"
                     "{\"name\":\"j\",\"pcs\":[[16,100,\"memory\"]]}]}");
    assert_true(kb_samples_at(read.samples, "k", 32, &most) == 9); // one place, two entries
    assert_true(most == 9);
    assert_true(kb_samples_at(read.samples, "k", 16, &most) == 7);
    assert_true(kb_samples_at(read.samples, "k", 48, &most) == 0);
    assert_true(kb_samples_at(read.samples, "j", 16, &most) == 100);
    assert_true(kb_samples_at(read.samples, "nobody", 16, &most) == 0 && most == 0);
    kb_code_read_free(&read);
    read = read_text(KB_FORM_DIFF, "{\"kind\":\"sass\"}");
    assert_string_equal(kb_json_text(read.diff, "kind", ""), "sass");
    kb_code_read_free(&read);
}

static void what_cannot_be_read_has_a_reason(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "no listing at all\n", "[]", "{\"kernels\":", "{\"kernels\":[]}"};
    for (size_t i = 0; i < KB_COUNT(bad); i++)
        for (int form = KB_FORM_LISTING; form <= KB_FORM_DIFF; form++) {
            struct kb_code_read read = read_text((enum kb_code_form)form, bad[i]);
            bool object = form == KB_FORM_DIFF && i == 4; // a document, if an empty one
            assert_true(object ? read.diff != NULL : read.reason && *read.reason);
            kb_code_read_free(&read);
        }
}

static void put(const char *dir, const char *name, const char *text)
{
    struct kb_error e = {0};
    char *path = kb_path_join(dir, name);
    assert_int_equal(kb_file_replace(path, text, strlen(text), &e), 0);
    free(path);
}

static void lines_come_when_they_were_asked_for(void **state)
{
    (void)state;
    char dir[] = "/tmp/kbench-lines-XXXXXX";
    assert_non_null(mkdtemp(dir));
    put(dir, "a.cu", "one\ntwo\r\nlast");
    struct kb_background *b = kb_background_new();
    struct kb_source_lines *s = kb_source_lines_new(dir, b);
    assert_null(kb_source_line(s, "a.cu", 1)); // looked for: asked for behind the frame
    assert_int_equal(kb_source_line_count(s, "gone.cu"), 0);
    kb_source_lines_ask(s);
    while (!kb_source_line_count(s, "a.cu"))
        take(b);
    assert_string_equal(kb_source_line(s, "a.cu", 2), "two");
    assert_string_equal(kb_source_line(s, "a.cu", 3), "last");
    assert_null(kb_source_line(s, "a.cu", 4));
    assert_null(kb_source_line(s, "gone.cu", 1));
    put(dir, "a.cu", "only\n");
    kb_source_lines_forget(s);
    assert_string_equal(kb_source_line(s, "a.cu", 2), "two"); // until it is read again
    kb_source_lines_ask(s);
    while (kb_source_line_count(s, "a.cu") != 1)
        take(b);
    assert_string_equal(kb_source_line(s, "a.cu", 1), "only");
    kb_source_lines_forget(s);
    kb_source_lines_ask(s); // on its way when all goes
    kb_background_free(b);
    kb_source_lines_free(s);
    char *path = kb_path_join(dir, "a.cu");
    unlink(path);
    free(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_finished_in_order),
        cmocka_unit_test(it_may_go_while_it_works),
        cmocka_unit_test(each_form_is_read),
        cmocka_unit_test(what_cannot_be_read_has_a_reason),
        cmocka_unit_test(lines_come_when_they_were_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
