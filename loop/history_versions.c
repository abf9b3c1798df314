// Records of versions: the index by content key, claiming a number, reading and replacing records.
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"
#include "base/text.h"
#include "loop/history_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RECORD_BYTES = 64 << 20, MAX_FOLDER_NAME = 200, MAX_VERSION = 1000000000 };

// What every file system takes stays; a dot in front would hide the folder, or climb out of it.
char *kb_history_variant_folder(const char *name)
{
    struct kb_text out = {0};
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        bool plain = isalnum(*p) || *p == '_' || *p == '-' || *p >= 0x80 || (*p == '.' && out.size);
        if (plain)
            kb_text_bytes(&out, p, 1);
        else
            kb_text_addf(&out, "%%%02X", *p);
    }
    char *folder = kb_text_take(&out);
    if (!folder[0] || strlen(folder) > MAX_FOLDER_NAME) {
        struct kb_hash hash = kb_hash_of(name, strlen(name));
        char *shorter = kb_format("%.*s%%%s", MAX_FOLDER_NAME - 40, folder, hash.hex);
        free(folder);
        return shorter;
    }
    return folder;
}

struct kb_history_variant *kb_history_variant(struct kb_history *h, const char *name)
{
    for (size_t i = 0; i < h->variant_count; i++)
        if (!strcmp(h->variants[i].name, name))
            return &h->variants[i];
    char *folder = kb_history_variant_folder(name);
    struct kb_history_variant v = {.name = kb_strdup(name), .dir = kb_format("%s/versions/%s", h->dir, folder)};
    free(folder);
    KB_GROW(h->variants, h->variant_count, h->variant_capacity);
    h->variants[h->variant_count++] = v;
    return &h->variants[h->variant_count - 1];
}

static void forget_versions(struct kb_history_variant *v)
{
    for (size_t i = 0; i < v->count; i++)
        free(v->versions[i].key);
    free(v->versions);
    v->versions = NULL;
    v->count = v->capacity = 0;
}

void kb_history_forget(struct kb_history *h)
{
    for (size_t i = 0; i < h->variant_count; i++) {
        forget_versions(&h->variants[i]);
        free(h->variants[i].name);
        free(h->variants[i].dir);
    }
    free(h->variants);
    h->variants = NULL;
    h->variant_count = h->variant_capacity = 0;
}

static char *record_path(const struct kb_history_variant *v, int number)
{
    return kb_format("%s/%d.json", v->dir, number);
}

// n of "<n>.json"; 0 for any other name.
static int number_of(const char *name)
{
    char *end;
    if (name[0] < '1' || name[0] > '9')
        return 0;
    errno = 0;
    long n = strtol(name, &end, 10);
    return !errno && n <= MAX_VERSION && !strcmp(end, ".json") ? (int)n : 0;
}

static int read_record(const char *path, cJSON **record, struct kb_error *e)
{
    char *text = NULL;
    size_t size = 0;
    if (kb_history_read(path, MAX_RECORD_BYTES, &text, &size, e))
        return -1;
    *record = kb_json_parse(text, size);
    free(text);
    if (cJSON_IsObject(*record))
        return 0;
    cJSON_Delete(*record);
    *record = NULL;
    errno = EIO;
    return kb_fail(e, path, "it counts as a version without results", "the stored record is no JSON object");
}

// Our own records have the key near the start, before anything nested: no need to parse megabytes for it.
static char *key_in_head(const char *path)
{
    char head[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head - 1);
    if (fd >= 0)
        close(fd);
    if (n < 2 || head[0] != '{')
        return NULL;
    head[n] = 0;
    size_t flat = 1 + strcspn(head + 1, "{[");
    char *mark = strstr(head, "\"key\":\""), *end = mark ? strpbrk(mark + 7, "\"\\") : NULL;
    if (!end || *end != '"' || (size_t)(mark - head) > flat)
        return NULL;
    return kb_strndup(mark + 7, (size_t)(end - mark - 7));
}

static char *read_key(const struct kb_history_variant *v, int number)
{
    char *path = record_path(v, number), *key = key_in_head(path);
    cJSON *record = NULL;
    if (!key && !read_record(path, &record, NULL))
        key = kb_strdup(kb_json_text(record, "key", ""));
    cJSON_Delete(record);
    free(path);
    return key ? key : kb_strdup("");
}

static int by_number(const void *a, const void *b)
{
    int x = ((const struct kb_history_version *)a)->number, y = ((const struct kb_history_version *)b)->number;
    return (x > y) - (x < y);
}

static char *known_key(struct kb_history_variant *v, int number)
{
    struct kb_history_version wanted = {.number = number}, *found = NULL;
    if (v->count)
        found = bsearch(&wanted, v->versions, v->count, sizeof wanted, by_number);
    if (!found || !found->key || !found->key[0])
        return NULL;
    char *key = found->key;
    found->key = NULL;
    return key;
}

static void read_folder(struct kb_history_variant *v)
{
    struct kb_history_variant fresh = {.name = v->name, .dir = v->dir};
    DIR *list = opendir(v->dir);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        int number = number_of(entry->d_name);
        if (!number)
            continue;
        KB_GROW(fresh.versions, fresh.count, fresh.capacity);
        fresh.versions[fresh.count++] = (struct kb_history_version){.number = number};
    }
    if (list)
        closedir(list);
    if (fresh.count)
        qsort(fresh.versions, fresh.count, sizeof *fresh.versions, by_number);
    for (size_t i = 0; i < fresh.count; i++) {
        char *key = known_key(v, fresh.versions[i].number);
        fresh.versions[i].key = key ? key : read_key(v, fresh.versions[i].number);
    }
    forget_versions(v);
    *v = fresh;
}

void kb_history_refresh(struct kb_history_variant *v)
{
    // A change within the clock's tick of the last one leaves the folder's time as it was.
    static const int64_t certain_ns = 2000000000;
    struct stat info;
    struct timespec now;
    int64_t changed_ns = -1;
    if (stat(v->dir, &info) == 0)
        changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    if (v->certain && v->changed_ns == changed_ns)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    read_folder(v);
    v->changed_ns = changed_ns;
    v->certain = changed_ns >= 0 && (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - changed_ns > certain_ns;
}

static int find_key(const struct kb_history_variant *v, const char *key)
{
    for (size_t i = v->count; key[0] && i-- > 0;)
        if (!strcmp(v->versions[i].key, key))
            return v->versions[i].number;
    return 0;
}

int kb_history_find(struct kb_history *h, const char *variant, const char *key)
{
    struct kb_history_variant *v = kb_history_variant(h, variant);
    kb_history_refresh(v);
    return find_key(v, key);
}

int kb_history_list(struct kb_history *h, const char *variant, int **versions, int *count, struct kb_error *e)
{
    struct kb_history_variant *v = kb_history_variant(h, variant);
    kb_history_refresh(v);
    if (!v->count && access(v->dir, R_OK | X_OK) && errno != ENOENT)
        return kb_fail(e, v->dir, NULL, "cannot read the history: %s", strerror(errno));
    *versions = kb_alloc(v->count * sizeof **versions);
    *count = (int)v->count;
    for (size_t i = 0; i < v->count; i++)
        (*versions)[i] = v->versions[i].number;
    return 0;
}

int kb_history_load(struct kb_history *h, const char *variant, int version, cJSON **record, struct kb_error *e)
{
    char *path = record_path(kb_history_variant(h, variant), version);
    int status = read_record(path, record, e);
    free(path);
    return status;
}

const char *kb_history_object_hash(const cJSON *record, const char *name)
{
    const cJSON *object;
    cJSON_ArrayForEach (object, kb_json_get(record, "objects"))
        if (!strcmp(kb_json_text(object, "name", ""), name))
            return kb_json_text(object, "hash", NULL);
    return NULL;
}

static void remove_object(cJSON *list, const char *name)
{
    for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--)
        if (!strcmp(kb_json_text(cJSON_GetArrayItem(list, i), "name", ""), name))
            cJSON_DeleteItemFromArray(list, i);
}

// Writes the bytes first, so that a record never names what is not there.
static int add_objects(struct kb_history *h, cJSON *record, const struct kb_history_object *objects, int count,
                       struct kb_error *e)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(record, "objects");
    if (!cJSON_IsArray(list)) {
        list = cJSON_CreateArray();
        kb_json_set(record, "objects", list);
    }
    if (count && kb_make_dirs(h->objects, NULL))
        return kb_history_fail_write(e, h->objects);
    for (int i = 0; i < count; i++) {
        struct kb_hash hash;
        if (kb_history_put_object(h, objects[i].data, objects[i].size, &hash, e))
            return -1;
        remove_object(list, objects[i].name);
        cJSON *item = cJSON_CreateObject();
        kb_json_set_text(item, "name", objects[i].name);
        kb_json_set_text(item, "hash", hash.hex);
        kb_json_set_number(item, "bytes", (double)objects[i].size);
        cJSON_AddItemToArray(list, item);
    }
    if (count && kb_history_sync_dir(h->objects))
        return kb_history_fail_write(e, h->objects);
    return 0;
}

// The head's order matters to key_in_head; "version" is set when the number is known.
static cJSON *new_record(const char *variant, const cJSON *given)
{
    char utc[21];
    kb_utc_iso(utc);
    cJSON *record = cJSON_CreateObject();
    kb_json_set_number(record, "kbench", 1);
    cJSON_AddNumberToObject(record, "version", 0);
    kb_json_set_text(record, "key", kb_json_text(given, "key", ""));
    kb_json_set_text(record, "variant", variant);
    kb_json_set_text(record, "utc", utc);
    const cJSON *item;
    cJSON_ArrayForEach (item, given)
        if (item->string && !cJSON_GetObjectItemCaseSensitive(record, item->string))
            cJSON_AddItemToObject(record, item->string, cJSON_Duplicate(item, true));
    return record;
}

// One attempt to make the record number n: 0, or -1 with errno (EEXIST: somebody else has that number).
static int claim_number(struct kb_history *h, const struct kb_history_variant *v, cJSON *record, int n)
{
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(record, "version"), n);
    char *text = kb_json_line(record), *path = record_path(v, n);
    char *temporary = kb_history_temporary(h, v->dir, text, strlen(text));
    int status = temporary ? kb_history_publish(temporary, path) : -1;
    int saved = errno;
    if (status && temporary)
        unlink(temporary);
    free(temporary);
    free(text);
    free(path);
    errno = saved;
    return status;
}

static int claim_next(struct kb_history *h, struct kb_history_variant *v, cJSON *record, struct kb_error *e)
{
    if (kb_make_dirs(v->dir, NULL))
        return kb_history_fail_write(e, v->dir);
    int n = v->count ? v->versions[v->count - 1].number : 0, status;
    do {
        if (++n > MAX_VERSION) {
            errno = ERANGE;
            return kb_history_fail_write(e, v->dir);
        }
        status = claim_number(h, v, record, n);
    } while (status && errno == EEXIST);
    if (status)
        return kb_history_fail_write(e, v->dir);
    kb_history_sync_dir(v->dir);
    return n;
}

int kb_history_claim(struct kb_history *h, const char *variant, const cJSON *record,
                     const struct kb_history_object *objects, int object_count, bool *known, struct kb_error *e)
{
    struct kb_history_variant *v = kb_history_variant(h, variant);
    v->certain = false;
    kb_history_refresh(v);
    int existing = find_key(v, kb_json_text(record, "key", ""));
    if (known)
        *known = existing > 0;
    if (existing)
        return existing;
    cJSON *whole = new_record(variant, record);
    int number = add_objects(h, whole, objects, object_count, e) ? -1 : claim_next(h, v, whole, e);
    cJSON_Delete(whole);
    return number;
}

int kb_history_update(struct kb_history *h, const char *variant, int version, const cJSON *results,
                      const struct kb_history_object *objects, int object_count, struct kb_error *e)
{
    const struct kb_history_variant *v = kb_history_variant(h, variant);
    cJSON *record = NULL;
    if (kb_history_load(h, variant, version, &record, e))
        return -1;
    if (results)
        kb_json_set(record, "results", cJSON_Duplicate(results, true));
    int status = add_objects(h, record, objects, object_count, e);
    if (!status) {
        char *text = kb_json_line(record), *name = kb_format("%d.json", version);
        status = kb_history_replace(h, v->dir, name, text, strlen(text), e);
        free(text);
        free(name);
    }
    cJSON_Delete(record);
    return status;
}
