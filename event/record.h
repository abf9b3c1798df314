// Records: structs whose fields a table describes, so that one reader, one writer and one schema serve all of them.
#ifndef KB_EVENT_RECORD_H
#define KB_EVENT_RECORD_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kb_tri { KB_UNKNOWN, KB_NO, KB_YES };
struct kb_named {
    char *name, *reason; // reason: why the value is unknown; NULL
    double value;        // NAN
    int64_t whole;       // the same, of an integer beyond 2^53, which a double does not hold; else 0
};

enum kb_field_kind {
    KB_FIELD_TEXT,
    KB_FIELD_VALUE,
    KB_FIELD_NUM,
    KB_FIELD_INT,
    KB_FIELD_FLAG,
    KB_FIELD_TRI,
    KB_FIELD_REC,
    KB_FIELD_LIST,
    KB_FIELD_TABLE,
    KB_FIELD_TEXTS,
    KB_FIELD_NUMS,
    KB_FIELD_NAMED,
};
struct kb_record;
struct kb_field {
    const char *key;
    enum kb_field_kind kind;
    bool optional;               // absent where there is nothing
    size_t at, count_at;         // in the struct
    int64_t otherwise;           // KB_FIELD_INT: what absence means
    const struct kb_record *sub; // REC, LIST, TABLE
    const char *about;
};
struct kb_record {
    const char *name, *about;
    size_t size;
    const struct kb_field *fields;
    int field_count;
};

// Everything unknown.
void kb_record_init(const struct kb_record *, void *to);
// Initialises to. A field that is missing, or of another type, is unknown; further ones are ignored.
void kb_record_read(const struct kb_record *, const cJSON *from, void *to);
cJSON *kb_record_write(const struct kb_record *, const void *from);                  // owned
cJSON *kb_record_write_list(const struct kb_record *, const void *first, int count); // owned, an array
void kb_record_free(const struct kb_record *, void *);                               // what it holds, not itself
void kb_record_copy(const struct kb_record *, const void *from, void *to);

// Fields whose name comes as data; NAN where there is none.
// Adds numbers, also of records within and of named lists (not of lists of records); an unknown one adds nothing.
void kb_record_add(const struct kb_record *, void *to, const void *from);
// Of a VALUE; NAN where it is none, or only its text says all of it.
double kb_value_number(const char *text);
double kb_record_number(const struct kb_record *, const void *, const char *key);
cJSON *kb_named_write(const struct kb_named *, int count); // the object; owned
double kb_named_value(const struct kb_named *, int count, const char *name);

// Allocates, with the three above; NULL for NULL (read: for what is no object).
void *kb_record_new(const struct kb_record *, const cJSON *from);
void *kb_record_dup(const struct kb_record *, const void *from);
void kb_record_delete(const struct kb_record *, void *);

#endif
