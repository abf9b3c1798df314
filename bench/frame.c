#include "bench/frame.h"
#include "base/json.h"
#include "base/json_exact.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kb_frame_reader {
    struct kb_text buffer;
    size_t start;                // of what is not consumed
    size_t scanned;              // no newline before this one
    cJSON *head;                 // read, its blob is still coming
    size_t blob_size, head_size; // head_size: of the blob, what replaces the head; 0: nothing does
    struct kb_error broken;
    int is_broken;
};

void kb_frame_free(struct kb_frame *f)
{
    cJSON_Delete(f->head);
    free(f->blob);
    *f = (struct kb_frame){0};
}

const char *kb_frame_type(const struct kb_frame *f)
{
    return kb_json_text(f->head, "type", "");
}

int64_t kb_frame_job(const struct kb_frame *f)
{
    return kb_json_int(f->head, "job", 0);
}

struct kb_frame_reader *kb_frame_reader_new(void)
{
    return kb_alloc(sizeof(struct kb_frame_reader));
}

void kb_frame_reader_free(struct kb_frame_reader *r)
{
    if (!r)
        return;
    cJSON_Delete(r->head);
    kb_text_free(&r->buffer);
    free(r);
}

void kb_frame_reader_feed(struct kb_frame_reader *r, const void *bytes, size_t n)
{
    if (r->is_broken)
        return;
    if (r->start && r->start >= r->buffer.size / 2) { // moves at most half: amortized constant
        size_t left = r->buffer.size - r->start;
        memmove(r->buffer.data, r->buffer.data + r->start, left);
        r->buffer.size = left;
        r->scanned -= r->start;
        r->start = 0;
    }
    kb_text_bytes(&r->buffer, bytes, n);
}

static int broken(struct kb_frame_reader *r, struct kb_error *e, const char *what)
{
    if (!r->is_broken)
        kb_fail(&r->broken, "worker", "kbench-tui and kbench-worker must come from the same build", "%s", what);
    r->is_broken = 1;
    if (e)
        *e = r->broken;
    return -1;
}

// 0 without such a key, -1 where it is no size.
static double size_of(const cJSON *head, const char *key)
{
    double size = kb_json_number(head, key, kb_json_get(head, key) ? -1 : 0);
    return size == floor(size) ? size : -1;
}

// 1: a head was read, 0: more is needed, -1: broken.
static int read_head(struct kb_frame_reader *r, struct kb_error *e)
{
    char *from = r->buffer.data + r->scanned;
    char *end = r->buffer.size > r->scanned ? memchr(from, '\n', r->buffer.size - r->scanned) : NULL;
    size_t length = end ? (size_t)(end - r->buffer.data) - r->start : r->buffer.size - r->start;
    if (length > KB_FRAME_LINE_MAX)
        return broken(r, e, "a frame's line is longer than 64 KiB");
    if (!end) {
        r->scanned = r->buffer.size;
        return 0;
    }
    if (!memchr(r->buffer.data + r->start, 0, length)) // cJSON takes a NUL for the end of a text
        r->head = kb_json_parse(r->buffer.data + r->start, length);
    if (!kb_json_get(r->head, "kbench"))
        return broken(r, e, "a frame is no JSON object with a protocol version");
    if (kb_json_int(r->head, "kbench", -1) != KB_PROTOCOL)
        return broken(r, e, "a frame speaks another protocol version");
    if (!kb_json_text(r->head, "type", NULL))
        return broken(r, e, "a frame has no type");
    double blob = size_of(r->head, "blob"), head = size_of(r->head, "head");
    if (blob < 0 || head < 0)
        return broken(r, e, "a frame's blob has no size");
    if (!(blob <= (double)KB_FRAME_BLOB_MAX) || head > KB_FRAME_HEAD_MAX)
        return broken(r, e, "a frame's blob is too large");
    if (head > blob)
        return broken(r, e, "a frame's head is longer than its blob");
    r->blob_size = (size_t)blob;
    r->head_size = (size_t)head;
    r->start += length + 1;
    r->scanned = r->start;
    return 1;
}

// The blob is here whole: what stands in front of it takes the place of the line.
static int take_long_head(struct kb_frame_reader *r, struct kb_error *e)
{
    const char *text = r->buffer.data + r->start;
    cJSON *head = memchr(text, 0, r->head_size) ? NULL : kb_json_parse(text, r->head_size);
    if (kb_json_int(head, "kbench", -1) != KB_PROTOCOL || !kb_json_text(head, "type", NULL) ||
        kb_frame_job(&(struct kb_frame){.head = head}) != kb_frame_job(&(struct kb_frame){.head = r->head})) {
        cJSON_Delete(head);
        return broken(r, e, "a frame's long head is not the one of its line");
    }
    cJSON_Delete(r->head);
    r->head = head;
    r->start += r->head_size;
    r->blob_size -= r->head_size;
    r->head_size = 0;
    return 0;
}

int kb_frame_reader_next(struct kb_frame_reader *r, struct kb_frame *f, struct kb_error *e)
{
    if (r->is_broken)
        return broken(r, e, "");
    if (!r->buffer.data)
        return 0;
    if (!r->head) {
        int got = read_head(r, e);
        if (got <= 0)
            return got;
    }
    if (r->buffer.size - r->start < r->blob_size)
        return 0;
    if (r->head_size && take_long_head(r, e))
        return -1;
    *f = (struct kb_frame){.head = r->head, .blob_size = r->blob_size};
    if (r->blob_size) {
        f->blob = kb_alloc(r->blob_size + 1);
        memcpy(f->blob, r->buffer.data + r->start, r->blob_size);
    }
    r->start += r->blob_size;
    r->scanned = r->start;
    r->head = NULL;
    return 1;
}

cJSON *kb_frame_head(const char *type, int64_t job)
{
    static _Thread_local int64_t sequence;
    cJSON *head = cJSON_CreateObject();
    cJSON_AddNumberToObject(head, "kbench", KB_PROTOCOL);
    cJSON_AddNumberToObject(head, "seq", (double)++sequence);
    cJSON_AddNumberToObject(head, "job", (double)job);
    cJSON_AddStringToObject(head, "type", type);
    return head;
}

int kb_frame_encode(struct kb_text *out, cJSON *head, const void *blob, size_t blob_size, struct kb_error *e)
{
    const struct kb_frame_part part = {blob, blob_size};
    return kb_frame_encode_parts(out, head, &part, 1, e);
}

static int too_large(const char *type, const char *what, size_t bytes, size_t most, struct kb_error *e)
{
    return kb_fail(e, type, "make the bench, its data or its sources smaller",
                   "its %s takes %.1f MiB, and one message between the program and its workers holds %zu MiB", what,
                   (double)bytes / 1048576, most >> 20);
}

// The line in place of a head that is longer: whose it is, and how much of the blob it takes.
static void add_short_line(struct kb_text *out, const cJSON *head, size_t head_size, size_t blob_size)
{
    static const char *const keys[] = {"kbench", "seq", "job", "type"};
    cJSON *brief = cJSON_CreateObject();
    for (size_t i = 0; i < KB_COUNT(keys); i++)
        kb_json_set(brief, keys[i], cJSON_Duplicate(kb_json_get(head, keys[i]), true));
    kb_json_set_number(brief, "head", (double)head_size);
    kb_json_set_number(brief, "blob", (double)(head_size + blob_size));
    char *line = kb_json_line(brief);
    kb_text_add(out, line);
    kb_text_bytes(out, "\n", 1);
    free(line);
    cJSON_Delete(brief);
}

int kb_frame_encode_parts(struct kb_text *out, cJSON *head, const struct kb_frame_part *parts, int count,
                          struct kb_error *e)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].size;
    kb_json_set_number(head, "blob", (double)size);
    char *line = kb_json_line(head);
    size_t length = strlen(line), before = length > KB_FRAME_LINE_MAX ? length : 0;
    int failed = length > KB_FRAME_HEAD_MAX
                     ? too_large(kb_json_text(head, "type", ""), "text", length, KB_FRAME_HEAD_MAX, e)
                 : size > KB_FRAME_BLOB_MAX - before
                     ? too_large(kb_json_text(head, "type", ""), "data", size, KB_FRAME_BLOB_MAX, e)
                     : 0;
    if (!failed) {
        if (before)
            add_short_line(out, head, length, size);
        kb_text_add(out, line);
        if (!before)
            kb_text_bytes(out, "\n", 1);
    }
    for (int i = 0; !failed && i < count; i++)
        if (parts[i].size)
            kb_text_bytes(out, parts[i].data, parts[i].size);
    free(line);
    cJSON_Delete(head);
    return failed;
}
