// The keyed hash, and files that are only believed where they were made.
#include "base/file.h"
#include "base/memory.h"
#include "base/sealed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kb_keyed hash_of(const unsigned char *key, const void *bytes, size_t n, size_t step)
{
    blake2b_state k;
    kb_keyed_begin(&k, key);
    for (size_t at = 0; at < n; at += step)
        kb_keyed_add(&k, (const char *)bytes + at, n - at < step ? n - at : step);
    return kb_keyed_end(&k);
}

// Values of b2sum -l 256 and of Python's hashlib.blake2b(digest_size=32).
static void known_values(void **state)
{
    (void)state;
    unsigned char key[KB_KEY_BYTES], text[1000];
    for (int i = 0; i < KB_KEY_BYTES; i++)
        key[i] = (unsigned char)i;
    for (int i = 0; i < 1000; i++)
        text[i] = (unsigned char)(i * 7);
    assert_string_equal(hash_of(NULL, "", 0, 1).hex,
                        "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    assert_string_equal(hash_of(NULL, "abc", 3, 3).hex,
                        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    static const size_t steps[] = {1, 7, 64, 127, 128, 129, 1000};
    for (size_t i = 0; i < KB_COUNT(steps); i++) {
        assert_string_equal(hash_of(key, text, 1000, steps[i]).hex,
                            "800f2984c8300e6a2157b11405c5cd6f52a4090513f014956bf265935b542faa");
        assert_string_equal(hash_of(key, text, 128, steps[i]).hex,
                            "36d984158e016910b5d3be828bf2b64176d1d76fe847d8adc398c68c3795b5af");
    }
    assert_string_equal(hash_of(key, "", 0, 1).hex, "4e51e7a913fc80137da52880fecca175bf81e117d5c68126dc2774033517ea0d");
}

static char dir[256];

static void open_dir(void)
{
    snprintf(dir, sizeof dir, "%s/sealed-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(dir));
    char *state = kb_path_join(dir, "state");
    setenv("XDG_STATE_HOME", state, 1);
    free(state);
}

static enum kb_sealed look(const char *path, const char *wanted)
{
    char *data;
    size_t size;
    enum kb_sealed sealed = kb_sealed_read(path, 1000, &data, &size);
    if (sealed == KB_SEALED_FOUND) {
        assert_int_equal(size, strlen(wanted));
        assert_string_equal(data, wanted);
    } else {
        assert_null(data);
    }
    free(data);
    return sealed;
}

static void what_was_changed_is_not_believed(void **state)
{
    (void)state;
    open_dir();
    char *path = kb_path_join(dir, "entry"), *other = kb_path_join(dir, "other"), *raw;
    size_t size;
    assert_int_equal(look(path, ""), KB_SEALED_NONE);
    assert_int_equal(kb_sealed_write(path, "results", 7), 0);
    assert_int_equal(look(path, "results"), KB_SEALED_FOUND);
    assert_int_equal(kb_file_read(path, 1000, &raw, &size, NULL), 0);
    assert_int_equal(kb_file_replace(other, raw, size, NULL), 0);
    assert_int_equal(look(other, ""), KB_SEALED_FOREIGN); // under another name
    for (size_t i = 0; i < size; i++) {
        raw[i] ^= 1;
        assert_int_equal(kb_file_replace(path, raw, size, NULL), 0);
        assert_int_equal(look(path, ""), KB_SEALED_FOREIGN);
        raw[i] ^= 1;
    }
    assert_int_equal(kb_file_replace(path, "results", 7, NULL), 0);
    assert_int_equal(look(path, ""), KB_SEALED_FOREIGN); // without a seal
    assert_int_equal(kb_sealed_write(path, "", 0), 0);
    assert_int_equal(look(path, ""), KB_SEALED_FOUND);
    free(raw);
    free(other);
    free(path);
    kb_remove_tree(dir);
}

static void the_key_is_its_users_alone(void **state)
{
    (void)state;
    open_dir();
    char *path = kb_path_join(dir, "entry"), *key = kb_path_join(dir, "state/kbench/key");
    struct stat info;
    assert_int_equal(kb_sealed_write(path, "x", 1), 0);
    assert_int_equal(stat(key, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, KB_KEY_BYTES);
    assert_int_equal(chmod(key, 0644), 0); // anybody may have read it
    assert_int_equal(look(path, ""), KB_SEALED_FOREIGN);
    assert_int_equal(stat(key, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600); // a new one
    assert_int_equal(kb_sealed_write(path, "x", 1), 0);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(look(path, ""), KB_SEALED_FOREIGN);
    free(key);
    free(path);
    kb_remove_tree(dir);
}

static void without_caches_nothing_is_read_or_kept(void **state)
{
    (void)state;
    open_dir();
    char *path = kb_path_join(dir, "entry"), *other = kb_path_join(dir, "other");
    assert_int_equal(kb_sealed_write(path, "x", 1), 0);
    setenv("KBENCH_NO_CACHE", "1", 1);
    assert_int_equal(look(path, ""), KB_SEALED_NONE);
    assert_int_equal(kb_sealed_write(other, "x", 1), -1);
    assert_false(kb_is_file(other));
    unsetenv("KBENCH_NO_CACHE");
    assert_int_equal(look(path, "x"), KB_SEALED_FOUND);
    free(other);
    free(path);
    kb_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(what_was_changed_is_not_believed),
        cmocka_unit_test(the_key_is_its_users_alone),
        cmocka_unit_test(without_caches_nothing_is_read_or_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
