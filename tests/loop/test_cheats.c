// Kernels that are wrong or cheat, and right ones that look unusual (tests/cheats/), through the whole program on the
// CPU device: each must end at the rung that its first line names.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/spawn.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 1800000, MOST_KERNELS = 256 };

struct kernel {
    char *name;      // file name without its end
    char expect[16]; // "pass", or the rung at which it must fail
    char *says;      // part of the reason; NULL: any
};
struct collection {
    char dir[256]; // a copy of the bench with all kernels as its variants
    struct kernel kernels[MOST_KERNELS];
    int count, wrong, right; // of all: also of those that are left to the other part
};

static char *read_file(const char *path, size_t *size)
{
    char *data = NULL;
    struct kb_error error = {0};
    if (kb_file_read(path, 1 << 20, &data, size, &error))
        fail_msg("%s", kb_error_line(&error));
    return data;
}

// What follows on the line that begins with this prefix; NULL if none does. Owned by the caller.
static char *line_after(const char *text, const char *prefix)
{
    const char *at = !strncmp(text, prefix, strlen(prefix)) ? text : NULL;
    char *inside = kb_format("\n%s", prefix);
    const char *found = at ? NULL : strstr(text, inside);
    free(inside);
    at = at ? at : found ? found + 1 : NULL;
    return at ? kb_strndup(at + strlen(prefix), strcspn(at + strlen(prefix), "\n")) : NULL;
}

// The variant of a kernel: the first one of bench.json with another source, and what the file itself says.
static cJSON *variant_of(const cJSON *pattern, const char *name, const char *text)
{
    cJSON *variant = cJSON_Duplicate(pattern, true), *own = NULL, *item;
    char *more = line_after(text, "// variant: "), *file = kb_format("%s.cu", name);
    kb_json_set_text(variant, "name", name);
    kb_json_set_text(variant, "source", file);
    if (more && !(own = cJSON_Parse(more)))
        fail_msg("%s: %s", file, more);
    if (kb_json_get(own, "launches")) {
        cJSON_DeleteItemFromObjectCaseSensitive(variant, "kernel");
        cJSON_DeleteItemFromObjectCaseSensitive(variant, "launch");
    }
    while (own && (item = cJSON_DetachItemFromArray(own, 0)))
        kb_json_set(variant, item->string, item);
    cJSON_Delete(own);
    free(more);
    free(file);
    return variant;
}

// A part of a large collection, so that two processes share it. 0 of 1: all.
struct part {
    unsigned number, of;
};

static bool is_in(const struct part *part, const char *file)
{
    unsigned sum = 0;
    for (; *file; file++)
        sum = sum * 31 + (unsigned char)*file;
    return sum % part->of == part->number;
}

static void add_kernel(struct collection *c, cJSON *variants, const char *file, const char *text,
                       const struct part *part)
{
    struct kernel *k = &c->kernels[c->count];
    char *expect = line_after(text, "// expect: ");
    assert_true(c->count < MOST_KERNELS);
    if (!expect || (strcmp(expect, "pass") && !kb_starts(expect, "fail at ")))
        fail_msg("%s does not say what to expect", file);
    *(strcmp(expect, "pass") ? &c->wrong : &c->right) += 1;
    if (!is_in(part, file)) {
        free(expect);
        return;
    }
    c->count++;
    snprintf(k->expect, sizeof k->expect, "%s", expect + (kb_starts(expect, "fail at ") ? 8 : 0));
    k->says = line_after(text, "// says: ");
    k->name = kb_strndup(file, strlen(file) - 3);
    cJSON_AddItemToArray(variants, variant_of(cJSON_GetArrayItem(variants, 0), k->name, text));
    free(expect);
}

static bool is_kernel(const char *file)
{
    size_t size = strlen(file);
    return size > 3 && !strcmp(file + size - 3, ".cu") && strcmp(file, "reference.cu");
}

static void open_part(const char *bench, const struct part *part, struct collection *c)
{
    *c = (struct collection){0};
    char *from = kb_format("%s/tests/cheats/%s", KB_SOURCE_DIR, bench), *path = kb_path_join(from, "bench.json");
    size_t size;
    char *document_text = read_file(path, &size);
    cJSON *document = cJSON_Parse(document_text), *variants = cJSON_GetObjectItemCaseSensitive(document, "variants");
    struct dirent *entry;
    DIR *list = opendir(from);
    snprintf(c->dir, sizeof c->dir, "%s/cheats-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(c->dir));
    assert_non_null(list);
    assert_non_null(variants);
    while ((entry = readdir(list))) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "bench.json"))
            continue;
        char *source = kb_path_join(from, entry->d_name), *to = kb_path_join(c->dir, entry->d_name);
        char *text = read_file(source, &size);
        assert_int_equal(kb_file_replace(to, text, size, NULL), 0);
        if (is_kernel(entry->d_name))
            add_kernel(c, variants, entry->d_name, text, part);
        free(source);
        free(to);
        free(text);
    }
    closedir(list);
    cJSON_DeleteItemFromArray(variants, 0);
    char *out = cJSON_Print(document), *target = kb_path_join(c->dir, "bench.json");
    assert_int_equal(kb_file_replace(target, out, strlen(out), NULL), 0);
    free(out);
    free(target);
    free(path);
    free(from);
    free(document_text);
    cJSON_Delete(document);
}

static void open_collection(const char *bench, struct collection *c)
{
    open_part(bench, &(struct part){0, 1}, c);
}

static void close_collection(struct collection *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->kernels[i].name);
        free(c->kernels[i].says);
    }
    kb_remove_tree(c->dir);
}

// The document of one run, over one variant or (NULL) all; owned by the caller.
static cJSON *run_once(const struct collection *c, const char *seed, const char *variant, const char *check)
{
    char *argv[14] = {KB_BUILD_DIR "/kbench-tui", "--once", "--json", "--device", "cpu", "--seed", (char *)seed};
    struct kb_capture ran;
    struct kb_error error = {0};
    int count = 7;
    if (variant) {
        argv[count++] = "--variant";
        argv[count++] = (char *)variant;
    }
    if (check) {
        argv[count++] = "--check";
        argv[count++] = (char *)check;
    }
    argv[count] = (char *)c->dir;
    if (kb_capture(argv, NULL, PATIENCE_MS, 64 << 20, &ran, &error))
        fail_msg("%s", kb_error_line(&error));
    assert_false(ran.timed_out);
    cJSON *document = cJSON_Parse(ran.out.data ? ran.out.data : "");
    if (!document)
        fail_msg("exit code %d\n%s", ran.exit_code, ran.err.data ? ran.err.data : "");
    kb_capture_free(&ran);
    return document;
}

static const cJSON *named(const cJSON *list, const char *key, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, list)
        if (!strcmp(kb_json_text(item, key, ""), name))
            return item;
    return NULL;
}

// The first rung that failed, else "pass" if verify passed; reason: why.
static const char *outcome(const cJSON *variant, const char **reason)
{
    const cJSON *rung, *rungs = kb_json_get(variant, "rungs"), *verify = named(rungs, "rung", "verify");
    cJSON_ArrayForEach (rung, rungs) {
        *reason = kb_json_text(rung, "reason", "");
        if (!strcmp(kb_json_text(rung, "status", ""), "fail"))
            return kb_json_text(rung, "rung", "");
    }
    *reason = kb_json_text(verify, "reason", "");
    return !strcmp(kb_json_text(verify, "status", ""), "pass") ? "pass" : "nowhere";
}

// One that spoils the worker or never ends must not harm those behind it, so all of a part are in one run.
static void try_part(const char *bench, struct part part, int least_wrong, int least_right)
{
    struct collection c;
    int surprises = 0;
    open_part(bench, &part, &c);
    cJSON *document = run_once(&c, "20261130", NULL, NULL);
    for (int i = 0; i < c.count; i++) {
        const struct kernel *k = &c.kernels[i];
        const char *reason = "", *got = outcome(named(kb_json_get(document, "variants"), "name", k->name), &reason);
        bool surprise = strcmp(got, k->expect) || (k->says && !strstr(reason, k->says));
        if (surprise)
            print_message("%s/%s.cu: expected %s%s%s, got %s: %s\n", bench, k->name, k->expect, k->says ? ": " : "",
                          k->says ? k->says : "", got, reason);
        else if (getenv("KB_TEST_SHOW"))
            print_message("%s/%s.cu: %s: %s\n", bench, k->name, got, reason);
        surprises += surprise;
    }
    cJSON_Delete(document);
    close_collection(&c);
    assert_int_equal(surprises, 0);
    assert_true(c.count > 0);
    assert_true(c.wrong >= least_wrong);
    assert_true(c.right >= least_right);
}

static void try_all(const char *bench, int least_wrong, int least_right)
{
    try_part(bench, (struct part){0, 1}, least_wrong, least_right);
}

static void rows_first_part(void **state)
{
    (void)state;
    try_part("rows", (struct part){0, 3}, 82, 28);
}
static void rows_second_part(void **state)
{
    (void)state;
    try_part("rows", (struct part){1, 3}, 82, 28);
}
static void rows_third_part(void **state)
{
    (void)state;
    try_part("rows", (struct part){2, 3}, 82, 28);
}
static void in_place(void **state)
{
    (void)state;
    try_all("axpy", 14, 5);
}
static void through_scratch(void **state)
{
    (void)state;
    try_all("transpose", 9, 3);
}
static void integers(void **state)
{
    (void)state;
    try_all("counts", 9, 3);
}
static void reduced_precision(void **state)
{
    (void)state;
    try_all("sum16", 6, 4);
}

static void as_numpy_bit_for_bit(void **state)
{
    (void)state;
    try_all("forward", 2, 1);
}

static void norms_with_two_outputs(void **state)
{
    (void)state;
    try_all("norm", 6, 4);
}
static void products_in_half(void **state)
{
    (void)state;
    try_all("matmul", 3, 3);
}
static void work_left_from_the_launch_before(void **state)
{
    (void)state;
    try_all("product", 5, 2);
}
static void ties_of_integers(void **state)
{
    (void)state;
    try_all("argmax", 1, 1);
}

// Text of the metrics of all cases; owned by the caller.
static char *metrics_with(const struct collection *c, const char *seed)
{
    cJSON *document = run_once(c, seed, "right", NULL);
    const cJSON *variant = named(kb_json_get(document, "variants"), "name", "right");
    const cJSON *cases = kb_json_get(variant, "cases");
    assert_int_equal(cJSON_GetArraySize(cases), 3);
    assert_string_equal(kb_json_text(document, "seed", ""), seed);
    char *text = cJSON_PrintUnformatted(cases);
    cJSON_Delete(document);
    return text;
}

static void the_seed_decides_the_metrics(void **state)
{
    (void)state;
    struct collection c;
    open_collection("sum16", &c);
    char *first = metrics_with(&c, "7"), *again = metrics_with(&c, "7"), *other = metrics_with(&c, "8");
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    free(first);
    free(again);
    free(other);
    close_collection(&c);
}

static void keep_only(const struct collection *c, const char *const *names, size_t count)
{
    size_t size;
    char *path = kb_path_join(c->dir, "bench.json"), *text = read_file(path, &size);
    cJSON *document = cJSON_Parse(text), *variants = cJSON_GetObjectItemCaseSensitive(document, "variants");
    for (int i = cJSON_GetArraySize(variants) - 1; i >= 0; i--) {
        const char *name = kb_json_text(cJSON_GetArrayItem(variants, i), "name", "");
        bool kept = false;
        for (size_t k = 0; k < count; k++)
            kept = kept || !strcmp(name, names[k]);
        if (!kept)
            cJSON_DeleteItemFromArray(variants, i);
    }
    char *out = cJSON_Print(document);
    assert_int_equal(kb_file_replace(path, out, strlen(out), NULL), 0);
    free(out);
    free(text);
    free(path);
    cJSON_Delete(document);
}

// Where everything is watched anyway, the first rung that runs the kernel fails by itself.
static void a_full_check_fails_its_own_rung(void **state)
{
    static const char *const variants[] = {"no_barrier_right_by_order", "uninitialised_but_ignored", "right"},
                             *const kinds[] = {"race", "uninitialised"};
    (void)state;
    struct collection c;
    const char *reason = "";
    open_collection("rows", &c);
    keep_only(&c, variants, KB_COUNT(variants));
    cJSON *document = run_once(&c, "1", NULL, "full");
    for (size_t i = 0; i < KB_COUNT(kinds); i++) {
        const cJSON *variant = named(kb_json_get(document, "variants"), "name", variants[i]);
        assert_string_equal(outcome(variant, &reason), "run");
        const cJSON *finding = cJSON_GetArrayItem(kb_json_get(variant, "findings"), 0);
        char *file = kb_format("%s.cu", variants[i]);
        assert_string_equal(kb_json_text(finding, "kind", ""), kinds[i]);
        assert_string_equal(kb_json_text(finding, "rung", ""), "run");
        assert_string_equal(kb_json_text(finding, "file", ""), file);
        assert_true(kb_json_int(finding, "line", 0) > 0);
        free(file);
    }
    assert_string_equal(outcome(named(kb_json_get(document, "variants"), "name", "right"), &reason), "pass");
    cJSON_Delete(document);
    close_collection(&c);
}

// All, or the one of this name, or those that are not a part of the rows: "others" (tests/CMakeLists.txt).
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "others"))
        cmocka_set_skip_filter("rows_*");
    else if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_first_part),
        cmocka_unit_test(rows_second_part),
        cmocka_unit_test(rows_third_part),
        cmocka_unit_test(in_place),
        cmocka_unit_test(through_scratch),
        cmocka_unit_test(integers),
        cmocka_unit_test(reduced_precision),
        cmocka_unit_test(as_numpy_bit_for_bit),
        cmocka_unit_test(norms_with_two_outputs),
        cmocka_unit_test(products_in_half),
        cmocka_unit_test(work_left_from_the_launch_before),
        cmocka_unit_test(ties_of_integers),
        cmocka_unit_test(the_seed_decides_the_metrics),
        cmocka_unit_test(a_full_check_fails_its_own_rung),
    };
    setenv("KB_PTX_BUDGET", "4000000", 1); // what counts as endless
    return cmocka_run_group_tests(tests, NULL, NULL);
}
