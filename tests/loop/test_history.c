#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "base/text.h"
#include "loop/history.h"
#include "support_disk.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct kb_history *open_history(const char *dir)
{
    struct kb_history *h = NULL;
    struct kb_error e = {0};
    if (kb_history_open(dir, true, &h, &e))
        fail_msg("%s", kb_error_line(&e));
    return h;
}

static int claim(struct kb_history *h, const char *variant, const char *key, const char *source, bool *known)
{
    struct kb_error e = {0};
    cJSON *record = cJSON_CreateObject();
    kb_json_set_text(record, "status", "fail");
    kb_json_set_text(record, "key", key);
    struct kb_history_object objects[] = {{"source", source, strlen(source)}, {"cubin", "\0elf", 4}};
    int n = kb_history_claim(h, variant, record, objects, 2, known, &e);
    cJSON_Delete(record);
    if (n < 0)
        fail_msg("%s", kb_error_line(&e));
    return n;
}

static char *stored(struct kb_history *h, const cJSON *record, const char *name, size_t *size)
{
    struct kb_error e = {0};
    const char *hash = kb_history_object_hash(record, name);
    char *data = NULL;
    assert_non_null(hash);
    if (kb_history_object(h, hash, &data, size, &e))
        fail_msg("%s", kb_error_line(&e));
    return data;
}

static void versions_rise_and_come_back_whole(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *h = open_history(dir);
    bool known = true;
    assert_int_equal(kb_history_find(h, "naive", "k1"), 0);
    assert_int_equal(claim(h, "naive", "k1", "one", &known), 1);
    assert_false(known);
    assert_int_equal(claim(h, "naive", "k2", "two", &known), 2);
    assert_int_equal(claim(h, "tuned", "k1", "one", NULL), 1);
    assert_int_equal(claim(h, "naive", "k1", "one", &known), 1);
    assert_true(known);
    assert_int_equal(kb_history_find(h, "naive", "k2"), 2);
    assert_int_equal(kb_history_find(h, "naive", "k3"), 0);
    assert_int_equal(kb_history_find(h, "other", "k1"), 0);

    cJSON *record = NULL;
    size_t size;
    assert_int_equal(kb_history_load(h, "naive", 2, &record, NULL), 0);
    assert_int_equal(kb_json_int(record, "version", 0), 2);
    assert_string_equal(kb_json_text(record, "variant", ""), "naive");
    assert_string_equal(kb_json_text(record, "status", ""), "fail");
    char *source = stored(h, record, "source", &size), *cubin = stored(h, record, "cubin", &size);
    assert_string_equal(source, "two");
    assert_int_equal(size, 4);
    assert_memory_equal(cubin, "\0elf", 4);
    assert_null(kb_history_object_hash(record, "ptx"));
    char *ignore = disk_get(dir, ".kbench/.gitignore");
    assert_string_equal(ignore, "*\n");
    free(ignore);
    free(source);
    free(cubin);
    cJSON_Delete(record);
    kb_history_close(h);

    h = open_history(dir); // the next session goes on
    assert_int_equal(kb_history_find(h, "naive", "k1"), 1);
    assert_int_equal(claim(h, "naive", "k3", "three", NULL), 3);
    int *versions = NULL, count = 0;
    assert_int_equal(kb_history_list(h, "naive", &versions, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_true(versions[0] == 1 && versions[1] == 2 && versions[2] == 3);
    free(versions);
    kb_history_close(h);
    disk_remove(dir);
}

static void results_and_objects_are_added_later(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *h = open_history(dir);
    claim(h, "v", "k", "source", NULL);
    cJSON *results = cJSON_Parse("{\"median_us\": 36.5}"), *record = NULL;
    struct kb_history_object objects[] = {{"sass", "MOV", 3}, {"cubin", "other", 5}};
    size_t size;
    assert_int_equal(kb_history_update(h, "v", 1, results, objects, 2, NULL), 0);
    assert_int_equal(kb_history_update(h, "v", 1, NULL, NULL, 0, NULL), 0);
    assert_int_equal(kb_history_load(h, "v", 1, &record, NULL), 0);
    assert_true(kb_json_number(kb_json_get(record, "results"), "median_us", 0) == 36.5);
    assert_string_equal(kb_json_text(record, "key", ""), "k");
    assert_int_equal(cJSON_GetArraySize(kb_json_get(record, "objects")), 3);
    char *cubin = stored(h, record, "cubin", &size), *sass = stored(h, record, "sass", &size);
    assert_string_equal(cubin, "other");
    assert_string_equal(sass, "MOV");
    assert_int_equal(kb_history_find(h, "v", "k"), 1);
    assert_int_equal(kb_history_update(h, "v", 9, results, NULL, 0, NULL), -1);
    free(cubin);
    free(sass);
    cJSON_Delete(record);
    cJSON_Delete(results);
    kb_history_close(h);
    disk_remove(dir);
}

static void names_that_no_folder_should_have(void **state)
{
    (void)state;
    static const char *const names[] = {"a/b",          "..",    ".hidden", "",          "with blank",
                                        "na\xc3\xafve", "a%2Fb", "x\n",     "k<float,4>"};
    char *dir = disk_scratch(), *longest = kb_alloc(400);
    memset(longest, 'x', 399);
    struct kb_history *h = open_history(dir);
    for (size_t i = 0; i < KB_COUNT(names); i++)
        assert_int_equal(claim(h, names[i], names[i][0] ? names[i] : "empty", "s", NULL), 1);
    assert_int_equal(claim(h, longest, "long", "s", NULL), 1);
    longest[398] = 'y';
    assert_int_equal(claim(h, longest, "long", "s", NULL), 1); // another one, not a clash
    kb_history_close(h);
    h = open_history(dir);
    for (size_t i = 0; i < KB_COUNT(names); i++)
        assert_int_equal(kb_history_find(h, names[i], names[i][0] ? names[i] : "empty"), 1);
    char *outside = kb_path_join(dir, ".kbench/1.json");
    assert_false(kb_is_file(outside));
    free(outside);
    free(longest);
    kb_history_close(h);
    disk_remove(dir);
}

static void instances_see_each_other(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *a = open_history(dir), *b = open_history(dir), *reader = NULL;
    assert_int_equal(kb_history_open(dir, false, &reader, NULL), 0);
    for (int i = 1; i <= 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(kb_history_find(b, "v", key), 0);
        assert_int_equal(claim(i % 2 ? a : b, "v", key, key, NULL), i);
        assert_int_equal(kb_history_find(a, "v", key), i);
        assert_int_equal(kb_history_find(b, "v", key), i);
        assert_int_equal(kb_history_find(reader, "v", key), i);
    }
    kb_history_close(a);
    kb_history_close(b);
    kb_history_close(reader);
    disk_remove(dir);
}

static void wait_for(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void processes_get_distinct_numbers(void **state)
{
    (void)state;
    enum { PROCESSES = 4, EACH = 25 };
    char *dir = disk_scratch();
    pid_t children[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p])
            continue;
        struct kb_history *h = NULL;
        int bad = kb_history_open(dir, true, &h, NULL), last = 0;
        for (int i = 0; i < EACH && !bad; i++) {
            char key[32];
            snprintf(key, sizeof key, "p%d-%d", p, i);
            cJSON *record = cJSON_CreateObject();
            kb_json_set_text(record, "key", key);
            struct kb_history_object object = {"source", key, strlen(key)};
            int n = kb_history_claim(h, "v", record, &object, 1, NULL, NULL);
            bad = n <= last; // numbers rise for each of them
            last = n;
            cJSON_Delete(record);
        }
        kb_history_close(h);
        _exit(bad);
    }
    for (int p = 0; p < PROCESSES; p++)
        wait_for(children[p]);
    struct kb_history *h = open_history(dir);
    int *versions = NULL, count = 0;
    assert_int_equal(kb_history_list(h, "v", &versions, &count, NULL), 0);
    assert_int_equal(count, PROCESSES * EACH);
    assert_int_equal(versions[count - 1], PROCESSES * EACH);
    for (int p = 0; p < PROCESSES; p++) {
        for (int i = 0; i < EACH; i++) {
            char key[32];
            snprintf(key, sizeof key, "p%d-%d", p, i);
            int n = kb_history_find(h, "v", key);
            cJSON *record = NULL;
            assert_true(n > 0);
            assert_int_equal(kb_history_load(h, "v", n, &record, NULL), 0);
            assert_int_equal(kb_json_int(record, "version", 0), n);
            cJSON_Delete(record);
        }
    }
    free(versions);
    kb_history_close(h);
    disk_remove(dir);
}

static void damage_is_noticed_and_healed(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *h = open_history(dir);
    claim(h, "v", "k1", "the source", NULL);
    struct kb_hash hash = kb_hash_of("the source", 10);
    char *name = kb_format(".kbench/objects/%s", hash.hex), *aside = kb_format("%s.damaged", name), *data = NULL;
    disk_put(dir, name, "The source");
    struct kb_error e = {0};
    size_t size;
    assert_int_equal(kb_history_object(h, hash.hex, &data, &size, &e), -1);
    assert_non_null(strstr(e.on, hash.hex));
    assert_non_null(strstr(e.what, "damaged"));
    data = disk_get(dir, aside);
    assert_string_equal(data, "The source");
    free(data);
    assert_int_equal(kb_history_object(h, hash.hex, &data, &size, &e), -1);
    assert_int_equal(errno, ENOENT);
    claim(h, "v", "k2", "the source", NULL);
    assert_int_equal(kb_history_object(h, hash.hex, &data, &size, &e), 0);
    assert_string_equal(data, "the source");
    free(data);
    disk_put(dir, name, "cut"); // another size: written anew without anybody having to ask for it
    claim(h, "v", "k3", "the source", NULL);
    assert_int_equal(kb_history_object(h, hash.hex, &data, &size, &e), 0);
    free(data);
    assert_int_equal(kb_history_object(h, "../../etc/passwd", &data, &size, &e), -1);
    assert_int_equal(kb_history_object(h, "", &data, &size, &e), -1);

    // A record that is no JSON keeps its number, and is not found.
    disk_put(dir, ".kbench/versions/v/4.json", "{\"kbench\":1,\"version\":4,\"ke");
    cJSON *record = NULL;
    assert_int_equal(kb_history_load(h, "v", 4, &record, &e), -1);
    assert_non_null(strstr(e.on, "4.json"));
    assert_int_equal(claim(h, "v", "k5", "x", NULL), 5);
    // Records written by others may have their key anywhere; other files are nobody's versions.
    disk_put(dir, ".kbench/versions/v/7.json", "{\"nested\": {\"key\":\"no\"}, \"key\" : \"k7\"}");
    disk_put(dir, ".kbench/versions/v/08.json", "{\"key\":\"k8\"}");
    disk_put(dir, ".kbench/versions/v/9.json~", "{\"key\":\"k9\"}");
    assert_int_equal(kb_history_find(h, "v", "k7"), 7);
    assert_int_equal(kb_history_find(h, "v", "no"), 0);
    assert_int_equal(kb_history_find(h, "v", "k8") + kb_history_find(h, "v", "k9"), 0);
    assert_int_equal(claim(h, "v", "k10", "x", NULL), 8);
    // A FIFO under such a name must not hold anybody up.
    char *fifo = kb_path_join(dir, ".kbench/versions/v/9.json");
    assert_int_equal(mkfifo(fifo, 0644), 0);
    assert_int_equal(kb_history_find(h, "v", "k11"), 0);
    assert_int_equal(kb_history_load(h, "v", 9, &record, &e), -1);
    assert_int_equal(claim(h, "v", "k11", "x", NULL), 10);
    free(fifo);
    free(name);
    free(aside);
    kb_history_close(h);
    disk_remove(dir);
}

static void a_removed_folder_is_made_again(void **state)
{
    (void)state;
    char *dir = disk_scratch(), *folder = kb_path_join(dir, ".kbench");
    struct kb_history *h = open_history(dir);
    claim(h, "v", "k1", "x", NULL);
    assert_int_equal(kb_history_session_line(h, "{}", NULL), 0);
    assert_int_equal(kb_remove_tree(folder), 0);
    assert_int_equal(kb_history_find(h, "v", "k1"), 0);
    assert_int_equal(claim(h, "v", "k1", "x", NULL), 1);
    assert_int_equal(kb_history_session_line(h, "{}", NULL), 0);
    assert_int_equal(kb_history_find(h, "v", "k1"), 1);
    kb_history_close(h);
    free(folder);
    disk_remove(dir);
}

static void a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *h = NULL;
    struct kb_error e = {0};
    disk_put(dir, ".kbench", "a file is in the way");
    assert_int_equal(kb_history_open(dir, true, &h, &e), -1);
    assert_null(h);
    assert_non_null(strstr(e.what, "cannot be written"));
    assert_true(e.remedy[0] != 0);
    assert_int_equal(kb_history_open(dir, false, &h, &e), 0); // reading finds nothing, and is no error
    assert_int_equal(kb_history_find(h, "v", "k"), 0);
    kb_history_close(h);
    assert_int_equal(kb_history_open("/proc", true, &h, &e), -1);
    disk_remove(dir);
}

static void a_folder_of_somebody_else(void **state)
{
    (void)state;
    enum { OTHER_USER = 65534 };
    if (geteuid() != 0)
        skip();
    char *dir = disk_scratch();
    struct kb_history *h = open_history(dir);
    claim(h, "v", "k", "x", NULL);
    kb_history_close(h);
    assert_int_equal(chmod(dir, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        struct kb_error e = {0};
        if (setgid(OTHER_USER) || setuid(OTHER_USER) || access(dir, X_OK))
            _exit(0);
        bool refused = kb_history_open(dir, true, &h, &e) == -1 && strstr(e.what, "Permission denied") &&
                       strstr(e.remedy, "permission");
        bool readable = kb_history_open(dir, false, &h, &e) == 0 && kb_history_find(h, "v", "k") == 1;
        _exit(!refused || !readable);
    }
    wait_for(child);
    disk_remove(dir);
}

// A full disk, played by a limit on the size of files.
static void no_room_for_more(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    pid_t child = fork();
    if (child == 0) {
        struct kb_history *h = NULL;
        struct kb_error e = {0};
        struct rlimit limit = {4096, 4096};
        char *big = kb_alloc(10000);
        memset(big, 'x', 9999);
        signal(SIGXFSZ, SIG_IGN);
        cJSON *record = cJSON_Parse("{\"key\":\"k\"}");
        struct kb_history_object object = {"source", big, 9999};
        int bad = kb_history_open(dir, true, &h, &e);
        bad |= kb_history_session_line(h, "{\"a\":1}", &e);
        setrlimit(RLIMIT_FSIZE, &limit);
        bad |= kb_history_claim(h, "v", record, &object, 1, NULL, &e) != -1 || !strstr(e.what, "cannot be written");
        bad |= kb_history_session_line(h, big, &e) != -1;
        bad |= kb_history_session_line(h, "{\"b\":2}", &e);
        bad |= kb_history_claim(h, "v", record, NULL, 0, NULL, &e) != 1;
        _exit(bad);
    }
    wait_for(child);
    char *sessions = kb_path_join(dir, ".kbench/sessions");
    DIR *list = opendir(sessions);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!kb_ends(entry->d_name, ".jsonl"))
            continue;
        char *text = disk_get(sessions, entry->d_name);
        assert_string_equal(text, "{\"a\":1}\n{\"b\":2}\n");
        free(text);
        files++;
    }
    closedir(list);
    assert_int_equal(files, 1);
    free(sessions);
    disk_remove(dir);
}

static void errors_for_the_editor(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    struct kb_history *h = open_history(dir);
    const struct kb_history_message messages[] = {
        {"/a b/k.cu", 12, 5, "error", "expected a \";\"\nand more \x1b[31m"},
        {"/h.h", 3, 0, "warning", "unused"},
    };
    char *text = kb_history_errors_text(messages, 2);
    assert_int_equal(kb_history_write_errors(h, text, NULL), 0);
    char *written = disk_get(dir, ".kbench/errors.txt");
    assert_string_equal(written, text);
    assert_true(kb_starts(written, "/a b/k.cu:12:5: error: expected a \";\""));
    assert_non_null(strstr(written, "\n/h.h:3:1: warning: unused\n"));
    assert_null(strchr(written, 0x1b));
    int lines = 0;
    for (const char *p = written; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 2);
    assert_int_equal(kb_history_write_errors(h, "", NULL), 0);
    free(written);
    written = disk_get(dir, ".kbench/errors.txt");
    assert_string_equal(written, "");
    free(written);
    free(text);
    kb_history_close(h);
    disk_remove(dir);
}

static void write_until_killed(const char *dir, int round)
{
    struct kb_history *h = NULL;
    char *big = kb_alloc(200001);
    memset(big, 'a' + round % 26, 200000);
    if (kb_history_open(dir, true, &h, NULL))
        _exit(1);
    for (int i = 0;; i++) {
        char key[32];
        snprintf(key, sizeof key, "r%d-%d", round, i);
        memcpy(big, key, strlen(key));
        cJSON *record = cJSON_CreateObject();
        kb_json_set_text(record, "key", key);
        kb_json_set_text(record, "pad", big + 190000);
        struct kb_history_object objects[] = {{"ptx", big, 200000}, {"source", key, strlen(key)}};
        int n = kb_history_claim(h, "v", record, objects, 2, NULL, NULL);
        if (n < 0 || kb_history_update(h, "v", n, record, objects, 1, NULL) ||
            kb_history_write_errors(h, big + 150000, NULL) || kb_history_session_line(h, "{\"whole\":true}", NULL))
            _exit(1);
        cJSON_Delete(record);
    }
}

static void check_objects(const char *dir, int *count)
{
    char *objects = kb_path_join(dir, ".kbench/objects");
    DIR *list = opendir(objects);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = kb_path_join(objects, entry->d_name), *data = NULL;
        size_t size = 0;
        assert_int_equal(kb_file_read(path, 1 << 26, &data, &size, NULL), 0);
        assert_string_equal(kb_hash_of(data, size).hex, entry->d_name);
        free(data);
        free(path);
        ++*count;
    }
    closedir(list);
    free(objects);
}

static void check_versions(struct kb_history *h, int *count)
{
    int *versions = NULL;
    assert_int_equal(kb_history_list(h, "v", &versions, count, NULL), 0);
    for (int i = 0; i < *count; i++) {
        cJSON *record = NULL;
        struct kb_error e = {0};
        size_t size;
        assert_int_equal(versions[i], i + 1);
        if (kb_history_load(h, "v", versions[i], &record, &e))
            fail_msg("%s", kb_error_line(&e));
        free(stored(h, record, "ptx", &size));
        free(stored(h, record, "source", &size));
        cJSON_Delete(record);
    }
    free(versions);
}

static int count_temporaries(const char *dir)
{
    char *find[] = {"find", (char *)dir, "-name", "*.tmp", NULL};
    struct kb_capture result;
    assert_int_equal(kb_capture(find, NULL, 20000, 1 << 20, &result, NULL), 0);
    int lines = 0;
    for (const char *p = result.out.data; p && (p = strchr(p, '\n')); p++)
        lines++;
    kb_capture_free(&result);
    return lines;
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    char *dir = disk_scratch();
    srandom((unsigned)getpid());
    char *first = kb_path_join(dir, ".kbench/versions/v/1.json");
    // More rounds, and longer ones, on a machine so busy that nothing was written yet.
    for (int round = 0; round < 40 || (round < 400 && !kb_is_file(first)); round++) {
        pid_t child = fork();
        if (child == 0)
            write_until_killed(dir, round);
        usleep((useconds_t)(random() %
                            (round < 40 ? 30000 : 300000))); // not waiting for anything: the moment is to be any
        kill(child, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
    }
    free(first);
    struct kb_history *h = open_history(dir);
    assert_int_equal(count_temporaries(dir), 0); // what the dead left is gone
    int objects = 0, versions = 0;
    check_objects(dir, &objects);
    check_versions(h, &versions);
    assert_true(versions > 0 && objects >= versions);
    char *errors = disk_get(dir, ".kbench/errors.txt");
    if (errors)
        assert_int_equal(strlen(errors), 50000);
    free(errors);
    kb_history_close(h);
    disk_remove(dir);
}

static char *git(const char *dir, const char *command)
{
    char *line = kb_format("export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
                           "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; git %s",
                           command);
    char *argv[] = {"sh", "-c", line, NULL};
    struct kb_capture result;
    assert_int_equal(kb_capture(argv, dir, 20000, 1 << 20, &result, NULL), 0);
    if (result.exit_code)
        fail_msg("git %s: %s", command, result.err.data ? result.err.data : "");
    char *out = kb_strdup(result.out.data ? result.out.data : "");
    out[strcspn(out, "\n")] = 0;
    kb_capture_free(&result);
    free(line);
    return out;
}

static void same_as_git(const char *dir)
{
    char *wanted = git(dir, "rev-parse HEAD"), *got = kb_history_git(dir);
    assert_non_null(got);
    assert_string_equal(got, wanted);
    free(wanted);
    free(got);
}

static void the_commit(void **state)
{
    (void)state;
    char *program = kb_which("git");
    if (!program)
        skip();
    free(program);
    char *dir = disk_scratch(), *sub = kb_path_join(dir, "repository/kernels/softmax");
    char *repository = kb_path_join(dir, "repository"), *tree = kb_path_join(dir, "tree/kernels/softmax");
    disk_put(dir, "repository/kernels/softmax/k.cu", "1");
    free(git(repository, "init -q -b topic/one ."));
    assert_null(kb_history_git(sub)); // no commit yet
    free(git(repository, "add . && git commit -q -m one"));
    same_as_git(sub);
    free(git(repository, "worktree add -q ../tree -b two"));
    same_as_git(tree);
    free(git(tree, "commit -q --allow-empty -m two"));
    same_as_git(tree);
    same_as_git(sub);
    free(git(repository, "pack-refs --all"));
    same_as_git(sub);
    same_as_git(tree);
    free(git(repository, "checkout -q --detach"));
    same_as_git(sub);
    disk_put(dir, "repository/.git/HEAD", "ref: ../../../etc/passwd\n");
    assert_null(kb_history_git(sub));
    disk_put(dir, "repository/.git/HEAD", "");
    assert_null(kb_history_git(sub));
    free(sub);
    free(tree);
    free(repository);
    disk_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_rise_and_come_back_whole),
        cmocka_unit_test(results_and_objects_are_added_later),
        cmocka_unit_test(names_that_no_folder_should_have),
        cmocka_unit_test(instances_see_each_other),
        cmocka_unit_test(processes_get_distinct_numbers),
        cmocka_unit_test(damage_is_noticed_and_healed),
        cmocka_unit_test(a_removed_folder_is_made_again),
        cmocka_unit_test(a_folder_that_cannot_be_written),
        cmocka_unit_test(a_folder_of_somebody_else),
        cmocka_unit_test(no_room_for_more),
        cmocka_unit_test(errors_for_the_editor),
        cmocka_unit_test(killed_at_any_moment),
        cmocka_unit_test(the_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
