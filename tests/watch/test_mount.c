// A file that is a mount of its own, as containers make them: told once. Needs the right to mount; skipped without.
#include "support_watch.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

static bool may_mount(void)
{
    return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static void a_mount_of_one_file_is_told_once(void **state)
{
    (void)state;
    char *dir = scratch_dir(), *path = in_dir(dir, "k.cu"), *elsewhere = in_dir(dir, "elsewhere/k.cu");
    put(dir, "k.cu", "");
    put(dir, "elsewhere/k.cu", "#include \"h.h\"\n");
    put(dir, "h.h", "");
    bool mounted = may_mount() && !mount(elsewhere, path, NULL, MS_BIND, NULL);
    struct kb_watch *w = kb_watch_new(NULL);
    struct seen_log log = {0};
    int source = kb_watch_add(w, path, NULL, false);
    run_until(w, &log, KB_WATCH_CHANGED, source);
    put(dir, "h.h", "//\n");
    run_until(w, &log, KB_WATCH_CHANGED, source);
    put(dir, "h.h", "// again\n");
    run_until(w, &log, KB_WATCH_CHANGED, source);
    int told = seen_count(&log, KB_WATCH_MOUNTED, source);
    const struct seen *last = seen_last(&log, KB_WATCH_MOUNTED, source);
    if (mounted) {
        assert_int_equal(told, 1);
        assert_string_equal(last->error.on, path);
        assert_string_equal(last->error.remedy, "mount its folder instead");
        umount(path);
    } else {
        assert_int_equal(told, 0);
    }
    seen_clear(&log);
    kb_watch_free(w);
    free(elsewhere);
    free(path);
    scratch_remove(dir);
    if (!mounted)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_mount_of_one_file_is_told_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
