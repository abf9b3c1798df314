#include "bench/frame.h"
#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kb_frame_reader {
    struct kb_text buffer;
    size_t start;   // of what is not consumed
    size_t scanned; // no newline before this one
    cJSON *head;    // read, its blob is still coming
    size_t blob_size;
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
        r->head = cJSON_ParseWithLength(r->buffer.data + r->start, length);
    if (!kb_json_get(r->head, "kbench"))
        return broken(r, e, "a frame is no JSON object with a protocol version");
    if (kb_json_int(r->head, "kbench", -1) != KB_PROTOCOL)
        return broken(r, e, "a frame speaks another protocol version");
    if (!kb_json_text(r->head, "type", NULL))
        return broken(r, e, "a frame has no type");
    double blob = kb_json_number(r->head, "blob", kb_json_get(r->head, "blob") ? -1 : 0);
    if (blob != floor(blob) || blob < 0)
        return broken(r, e, "a frame's blob has no size");
    if (!(blob <= (double)KB_FRAME_BLOB_MAX))
        return broken(r, e, "a frame's blob is too large");
    r->blob_size = (size_t)blob;
    r->start += length + 1;
    r->scanned = r->start;
    return 1;
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

void kb_frame_encode(struct kb_text *out, cJSON *head, const void *blob, size_t blob_size)
{
    const struct kb_frame_part part = {blob, blob_size};
    kb_frame_encode_parts(out, head, &part, 1);
}

void kb_frame_encode_parts(struct kb_text *out, cJSON *head, const struct kb_frame_part *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].size;
    kb_json_set_number(head, "blob", (double)size);
    char *line = kb_json_line(head);
    kb_text_add(out, line);
    kb_text_bytes(out, "\n", 1);
    for (int i = 0; i < count; i++)
        if (parts[i].size)
            kb_text_bytes(out, parts[i].data, parts[i].size);
    free(line);
    cJSON_Delete(head);
}
