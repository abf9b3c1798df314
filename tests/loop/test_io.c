#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/io.h"
#include "support_disk.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct kb_io *start(const char *bench_dir)
{
    struct kb_io *io = NULL;
    struct kb_error e = {0};
    if (kb_io_start(&(struct kb_io_options){.bench_dir = bench_dir}, &io, &e))
        fail_msg("%s", kb_error_line(&e));
    return io;
}

// The next message, waited for on the descriptor as the loop does it.
static struct kb_io_message next(struct kb_io *io)
{
    struct kb_io_message message;
    int64_t end = kb_now_us() + 20000000;
    while (!kb_io_next(io, &message)) {
        if (kb_now_us() > end)
            fail_msg("no message came");
        poll(&(struct pollfd){.fd = kb_io_fd(io), .events = POLLIN}, 1, 1000);
    }
    return message;
}

// Messages until the answer to this request; the others are dropped.
static struct kb_io_message answer(struct kb_io *io, int64_t token)
{
    for (;;) {
        struct kb_io_message message = next(io);
        if (message.token == token)
            return message;
        kb_io_message_free(&message);
    }
}

static struct kb_io_message watch_event(struct kb_io *io, int source, enum kb_watch_event_kind kind)
{
    for (;;) {
        struct kb_io_message message = next(io);
        if (message.kind == KB_IO_WATCH && message.event.kind == kind && message.event.source == source)
            return message;
        kb_io_message_free(&message);
    }
}

static int64_t ask_claim(struct kb_io *io, const char *key, const char *source)
{
    cJSON *record = cJSON_CreateObject();
    kb_json_set_text(record, "key", key);
    struct kb_history_object object = {"source", source, strlen(source)};
    return kb_io_claim(io, "naive", record, &object, 1);
}

static void saves_are_seen(void **state)
{
    (void)state;
    char *dir = disk_scratch(), *a = kb_path_join(dir, "a.cu"), *b = kb_path_join(dir, "b.cu");
    char *include = kb_path_join(dir, "inc");
    const char *dirs[] = {include};
    const struct kb_reach reach = {.include_dirs = dirs, .include_dir_count = 1};
    disk_put(dir, "a.cu", "#include <h.h>\n");
    disk_put(dir, "inc/h.h", "1");
    struct kb_io *io = start(dir);
    int first = kb_io_watch(io, a, &reach, false), second = kb_io_watch(io, b, NULL, false);
    assert_int_not_equal(first, second);
    struct kb_io_message m = watch_event(io, first, KB_WATCH_CHANGED);
    assert_int_equal(m.token, 0);
    assert_int_equal(m.event.snapshot.file_count, 2);
    kb_io_message_free(&m);
    disk_put(dir, "inc/h.h", "2");
    m = watch_event(io, first, KB_WATCH_CHANGED);
    assert_true(m.event.snapshot.saved_us > 0 && m.event.snapshot.saved_us <= kb_now_us());
    kb_io_message_free(&m);
    disk_put(dir, "b.cu", "b");
    m = watch_event(io, second, KB_WATCH_CHANGED);
    assert_string_equal(m.event.snapshot.files[0].data, "b");
    kb_io_message_free(&m);

    kb_io_unwatch(io, first);
    int again = kb_io_watch(io, a, NULL, false); // without the include folder now
    assert_true(again > second);
    m = watch_event(io, again, KB_WATCH_CHANGED);
    assert_int_equal(m.event.snapshot.file_count, 1);
    kb_io_message_free(&m);
    assert_true(kb_io_stop(io, 20000));
    free(a);
    free(b);
    free(include);
    disk_remove(dir);
}

static void versions_are_claimed_found_and_listed(void **state)
{
    (void)state;
    static const char *const wanted[] = {"source", "sass", "never stored"};
    char *dir = disk_scratch();
    struct kb_io *io = start(dir);
    struct kb_io_message m = answer(io, kb_io_find(io, "naive", "k1", wanted, 3));
    assert_int_equal(m.kind, KB_IO_FOUND);
    assert_false(m.failed);
    assert_int_equal(m.version, 0);
    kb_io_message_free(&m);

    m = answer(io, ask_claim(io, "k1", "one"));
    assert_int_equal(m.kind, KB_IO_CLAIMED);
    assert_int_equal(m.version, 1);
    assert_false(m.failed || m.known);
    kb_io_message_free(&m);
    m = answer(io, ask_claim(io, "k1", "one"));
    assert_true(m.known);
    kb_io_message_free(&m);
    m = answer(io, ask_claim(io, "k2", "two"));
    assert_int_equal(m.version, 2);
    kb_io_message_free(&m);

    struct kb_history_object sass = {"sass", "FFMA", 4};
    m = answer(io, kb_io_update(io, "naive", 1, cJSON_Parse("{\"ok\":true}"), &sass, 1));
    assert_int_equal(m.kind, KB_IO_UPDATED);
    assert_false(m.failed);
    kb_io_message_free(&m);
    m = answer(io, kb_io_find(io, "naive", "k1", wanted, 3));
    assert_int_equal(m.version, 1);
    assert_true(kb_json_bool(kb_json_get(m.json, "results"), "ok", false));
    assert_int_equal(m.blob_count, 2);
    assert_string_equal(m.blobs[0].data, "one");
    assert_string_equal(m.blobs[1].name, "sass");
    kb_io_message_free(&m);
    m = answer(io, kb_io_load(io, "naive", 2, wanted, 1));
    assert_int_equal(m.version, 2);
    assert_string_equal(m.blobs[0].data, "two");
    kb_io_message_free(&m);
    m = answer(io, kb_io_load(io, "naive", 9, wanted, 1));
    assert_true(m.failed);
    assert_int_equal(m.version, 0);
    kb_io_message_free(&m);
    m = answer(io, kb_io_list(io, "naive"));
    assert_int_equal(m.kind, KB_IO_LISTED);
    assert_int_equal(cJSON_GetArraySize(m.json), 2);
    kb_io_message_free(&m);

    char *object = kb_format(".kbench/objects/%s", kb_hash_of("two", 3).hex);
    disk_put(dir, object, "tow");
    m = answer(io, kb_io_find(io, "naive", "k2", wanted, 1));
    assert_true(m.failed);
    assert_int_equal(m.version, 0);
    assert_non_null(strstr(m.error.what, "damaged"));
    kb_io_message_free(&m);
    free(object);
    assert_true(kb_io_stop(io, 20000));
    disk_remove(dir);
}

static void files_are_read(void **state)
{
    (void)state;
    char *dir = disk_scratch(), *file = kb_path_join(dir, "x.txt"), *fifo = kb_path_join(dir, "fifo");
    disk_put(dir, "x.txt", "text");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    struct kb_io *io = start(NULL);
    struct kb_io_message m = answer(io, kb_io_read(io, file, 100));
    assert_int_equal(m.kind, KB_IO_READ);
    assert_int_equal(m.size, 4);
    assert_string_equal(m.data, "text");
    kb_io_message_free(&m);
    m = answer(io, kb_io_read(io, file, 3));
    assert_true(m.failed);
    kb_io_message_free(&m);
    m = answer(io, kb_io_read(io, fifo, 100));
    assert_true(m.failed);
    assert_string_equal(m.error.on, fifo);
    kb_io_message_free(&m);
    m = answer(io, kb_io_find(io, "v", "k", NULL, 0));
    assert_true(m.failed);
    kb_io_message_free(&m);
    m = answer(io, ask_claim(io, "k", "s"));
    assert_true(m.failed);
    assert_false(m.repeated);
    kb_io_message_free(&m);
    assert_true(kb_io_stop(io, 20000));
    free(file);
    free(fifo);
    disk_remove(dir);
}

static char *session_text(const char *dir)
{
    char *sessions = kb_path_join(dir, ".kbench/sessions"), *text = NULL;
    DIR *list = opendir(sessions);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        if (kb_ends(entry->d_name, ".jsonl") && !text)
            text = disk_get(sessions, entry->d_name);
    closedir(list);
    free(sessions);
    assert_non_null(text);
    return text;
}

static void what_was_asked_is_written_before_the_end(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_io *io = start(dir);
    struct kb_text wanted = {0};
    for (int i = 0; i < 2000; i++) {
        char *line = kb_format("{\"n\":%d}", i);
        kb_io_session_line(io, line);
        kb_text_addf(&wanted, "%s\n", line);
        free(line);
    }
    kb_io_errors(io, "/k.cu:1:1: error: no\n");
    ask_claim(io, "k", "last");
    assert_true(kb_io_stop(io, 60000));
    char *text = session_text(dir), *errors = disk_get(dir, ".kbench/errors.txt");
    char *record = disk_get(dir, ".kbench/versions/naive/1.json");
    assert_string_equal(text, wanted.data);
    assert_string_equal(errors, "/k.cu:1:1: error: no\n");
    assert_non_null(record);
    free(text);
    free(errors);
    free(record);
    kb_text_free(&wanted);
    disk_remove(dir);
}

static void wait_until_busy(struct kb_io *io, int ms)
{
    int64_t end = kb_now_us() + 20000000;
    while (kb_io_busy_ms(io, NULL, 0) < ms) {
        if (kb_now_us() > end)
            fail_msg("it never was busy for %d ms", ms);
        poll(NULL, 0, 1);
    }
}

// A stuck disk is seen, keeps neither saves from being seen nor the program from ending, and recovers.
static void a_stuck_disk(void **state)
{
    (void)state;
    char *dir = disk_scratch(), *source = kb_path_join(dir, "k.cu"), *stall = kb_path_join(dir, "stall");
    char where[256];
    disk_put(dir, "k.cu", "1");
    setenv("KB_TEST_IO_STALL", stall, 1);
    struct kb_io *io = start(dir);
    struct kb_io_message m = answer(io, ask_claim(io, "k1", "one"));
    kb_io_message_free(&m);
    disk_put(dir, "stall", "");
    int64_t token = ask_claim(io, "k2", "two");
    kb_io_session_line(io, "{}");
    wait_until_busy(io, 20);
    assert_true(kb_io_busy_ms(io, where, sizeof where) >= 20);
    assert_non_null(strstr(where, ".kbench"));

    int id = kb_io_watch(io, source, NULL, false);
    m = watch_event(io, id, KB_WATCH_CHANGED);
    kb_io_message_free(&m);
    disk_put(dir, "k.cu", "2");
    m = watch_event(io, id, KB_WATCH_CHANGED);
    assert_string_equal(m.event.snapshot.files[0].data, "2");
    kb_io_message_free(&m);
    m = answer(io, kb_io_find(io, "naive", "k1", NULL, 0));
    assert_int_equal(m.version, 1);
    kb_io_message_free(&m);

    assert_int_equal(unlink(stall), 0);
    m = answer(io, token);
    assert_int_equal(m.version, 2);
    kb_io_message_free(&m);
    disk_put(dir, "stall", "");
    ask_claim(io, "k3", "three");
    wait_until_busy(io, 1);
    assert_false(kb_io_stop(io, 50)); // the thread is left behind; it ends by itself once the disk answers
    assert_int_equal(unlink(stall), 0);
    char *record = NULL;
    for (int64_t end = kb_now_us() + 20000000; !record && kb_now_us() < end; poll(NULL, 0, 1))
        record = disk_get(dir, ".kbench/versions/naive/3.json");
    assert_non_null(record);
    unsetenv("KB_TEST_IO_STALL");
    free(record);
    free(source);
    free(stall);
    disk_remove(dir);
}

static void a_history_that_cannot_be_written_is_told_once(void **state)
{
    (void)state;
    char *dir = disk_scratch(), *folder = kb_path_join(dir, ".kbench");
    disk_put(dir, ".kbench", "a file is in the way");
    struct kb_io *io = start(dir);
    kb_io_session_line(io, "{}");
    struct kb_io_message m = next(io);
    assert_int_equal(m.kind, KB_IO_WRITTEN);
    assert_true(m.failed && !m.repeated);
    kb_io_message_free(&m);
    kb_io_session_line(io, "{}"); // silent now
    m = answer(io, ask_claim(io, "k", "s"));
    assert_true(m.failed && m.repeated);
    kb_io_message_free(&m);
    m = answer(io, kb_io_find(io, "naive", "k", NULL, 0));
    assert_false(m.failed);
    assert_int_equal(m.version, 0);
    kb_io_message_free(&m);
    assert_int_equal(unlink(folder), 0); // it works again without a restart
    m = answer(io, ask_claim(io, "k", "s"));
    assert_false(m.failed);
    assert_int_equal(m.version, 1);
    kb_io_message_free(&m);
    assert_true(kb_io_stop(io, 20000));
    free(folder);
    disk_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saves_are_seen), cmocka_unit_test(versions_are_claimed_found_and_listed),
        cmocka_unit_test(files_are_read), cmocka_unit_test(what_was_asked_is_written_before_the_end),
        cmocka_unit_test(a_stuck_disk),   cmocka_unit_test(a_history_that_cannot_be_written_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
