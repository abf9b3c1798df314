// Frames between the program and its workers, both ways: one line of JSON of at most 64 KiB with "kbench":1, "seq",
// "job", "type" and "blob", then exactly `blob` raw bytes. A head that fits no line travels in front of the blob: then
// the line says `head`, how many bytes of it. Readers and writers of frames notice nothing of that. The vocabulary is
// in docs/protocol.md.
#ifndef KB_BENCH_FRAME_H
#define KB_BENCH_FRAME_H
#include "base/error.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

enum { KB_PROTOCOL = 1, KB_FRAME_LINE_MAX = 65536, KB_FRAME_HEAD_MAX = 16 << 20 };
#define KB_FRAME_BLOB_MAX ((size_t)512 << 20)

struct kb_frame {
    cJSON *head; // owned
    char *blob;  // owned; NULL if blob_size is 0; a NUL stands behind it
    size_t blob_size;
};
void kb_frame_free(struct kb_frame *f);
const char *kb_frame_type(const struct kb_frame *f); // never NULL
int64_t kb_frame_job(const struct kb_frame *f);      // 0 if none

// Incremental reader: feed bytes as they come, then take frames until 0.
struct kb_frame_reader;
struct kb_frame_reader *kb_frame_reader_new(void);
void kb_frame_reader_free(struct kb_frame_reader *r);
void kb_frame_reader_feed(struct kb_frame_reader *r, const void *bytes, size_t n);
// 1: a frame is in *f (owned by the caller); 0: more bytes are needed; -1: the stream is broken for good (garbage, line
// too long, other protocol version, blob too large), error filled, and every later call says so again.
int kb_frame_reader_next(struct kb_frame_reader *r, struct kb_frame *f, struct kb_error *e);

// Appends the encoded frame to out. Takes head (a frame type and job must have been set by kb_frame_head). -1, with
// nothing appended: no frame holds that much (KB_FRAME_HEAD_MAX, KB_FRAME_BLOB_MAX).
int kb_frame_encode(struct kb_text *out, cJSON *head, const void *blob, size_t blob_size, struct kb_error *e);
// The same for a blob that lies in several parts.
struct kb_frame_part {
    const void *data;
    size_t size;
};
int kb_frame_encode_parts(struct kb_text *out, cJSON *head, const struct kb_frame_part *parts, int count,
                          struct kb_error *e);
// A head with "kbench", "seq" (counts up in this process), "job" and "type". Owned by the caller until encoded.
cJSON *kb_frame_head(const char *type, int64_t job);

#endif
