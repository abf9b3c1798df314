// Hundreds of saves in every manner, at any pace, of a source and its headers: whatever is seen is whole, and what is
// seen last is what the disk holds.
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "support_watch.h"
#include "watch/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[] = {"k.cu", "h0.h", "sub/h1.h", "sub/deep/h2.h"};
enum { NAMES = 4, SAVES = 400 };

static void pause_a_moment(void)
{
    if (random() % 3 == 0)
        usleep((useconds_t)(random() % 4000));
}

static void write_slowly(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_t half = strlen(text) / 2;
    pause_a_moment();
    if (fd < 0 || write(fd, text, half) < 0)
        _exit(1);
    pause_a_moment();
    if (write(fd, text + half, strlen(text) - half) < 0)
        _exit(1);
    pause_a_moment();
    close(fd);
}

static void save(const char *path, const char *text)
{
    char *other = kb_format("%s.other", path), *backup = kb_format("%s~", path);
    switch (random() % 5) {
    case 0:
        write_slowly(other, text);
        rename(other, path);
        break;
    case 1: // vim
        rename(path, backup);
        pause_a_moment();
        write_slowly(path, text);
        unlink(backup);
        break;
    case 2: // git
        unlink(path);
        pause_a_moment();
        write_slowly(path, text);
        break;
    default:
        write_slowly(path, text);
    }
    free(other);
    free(backup);
}

static void storm(const char *dir, unsigned seed)
{
    static const char *const includes[NAMES] = {"#include \"h0.h\"\n#include \"sub/h1.h\"\n", "",
                                                "#include \"deep/h2.h\"\n", ""};
    srandom(seed);
    for (int i = 0; i < SAVES; i++) {
        int which = (int)(random() % NAMES);
        char *path = kb_path_join(dir, names[which]);
        char *text = kb_format("// %d\n%s// pad %0*d\n// end\n", i, includes[which], (int)(random() % 9000) + 1, 0);
        save(path, text);
        free(path);
        free(text);
        pause_a_moment();
    }
}

static void check_whole(const struct kb_snapshot *s)
{
    for (int i = 0; i < s->file_count; i++)
        if (!kb_starts(s->files[i].data, "// ") || !kb_ends(s->files[i].data, "// end\n"))
            fail_msg("%s was seen half written: %.60s", s->files[i].name, s->files[i].data);
}

static bool equals_disk(const struct kb_snapshot *s, const char *dir)
{
    bool same = s->file_count == NAMES;
    for (int i = 0; i < NAMES && same; i++) {
        const struct kb_snapshot_file *file = snapshot_file(s, names[i]);
        char *disk = get(dir, names[i]);
        same = file && !strcmp(file->data, disk);
        free(disk);
    }
    return same;
}

static void run_storm(const struct kb_watch_options *options, unsigned seed)
{
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "// 0\n#include \"h0.h\"\n#include \"sub/h1.h\"\n// end\n");
    put(dir, "h0.h", "// 0\n// end\n");
    put(dir, "sub/h1.h", "// 0\n#include \"deep/h2.h\"\n// end\n");
    put(dir, "sub/deep/h2.h", "// 0\n// end\n");
    struct kb_watch *w = kb_watch_new(options);
    int source = kb_watch_add(w, path, NULL, false);
    struct seen_log log = {0};
    run_until(w, &log, KB_WATCH_CHANGED, source);
    pid_t child = fork();
    if (child == 0) {
        storm(dir, seed);
        _exit(0);
    }
    int status = -1;
    bool over = false, right = false;
    for (int64_t end = kb_now_us() + 60000000; !right && kb_now_us() < end;) {
        over = over || waitpid(child, &status, WNOHANG) == child;
        run_some(w, &log);
        right = over && log.events[log.count - 1].kind == KB_WATCH_SETTLED &&
                equals_disk(&seen_last(&log, KB_WATCH_CHANGED, source)->snapshot, dir);
    }
    assert_true(right);
    assert_int_equal(status, 0);
    for (int i = 0; i < log.count; i++)
        if (log.events[i].kind == KB_WATCH_CHANGED)
            check_whole(&log.events[i].snapshot);
    kb_watch_free(w);
    seen_clear(&log);
    free(path);
    scratch_remove(dir);
}

static void by_events(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 3; seed++)
        run_storm(NULL, seed);
}

static void by_polling(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu");
    put(dir, "k.cu", "");
    bool can_ask = kb_writer_of(path) != KB_WRITER_UNKNOWN;
    free(path);
    scratch_remove(dir);
    if (!can_ask)
        skip();
    for (unsigned seed = 1; seed <= 3; seed++)
        run_storm(&(struct kb_watch_options){.poll_ms = 5, .force_polling = true}, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_events), cmocka_unit_test(by_polling)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
