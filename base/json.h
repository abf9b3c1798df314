// Small helpers over cJSON. Readers never crash on a missing or wrongly typed item; they give the default.
#ifndef KB_BASE_JSON_H
#define KB_BASE_JSON_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *kb_json_text(const cJSON *object, const char *key, const char *otherwise); // points into the object
double kb_json_number(const cJSON *object, const char *key, double otherwise);
int64_t kb_json_int(const cJSON *object, const char *key, int64_t otherwise);
bool kb_json_bool(const cJSON *object, const char *key, bool otherwise);
const cJSON *kb_json_get(const cJSON *object, const char *key); // case-sensitive; NULL if absent or no object

// A known number, or "key": null with "key_reason": why. NaN and infinities are unknown too ("not finite").
void kb_json_measured(cJSON *object, const char *key, double value, const char *unknown_reason);
// Replaces or adds.
void kb_json_set_text(cJSON *object, const char *key, const char *value); // NULL adds null
void kb_json_set_number(cJSON *object, const char *key, double value);
void kb_json_set_bool(cJSON *object, const char *key, bool value);
void kb_json_set(cJSON *object, const char *key, cJSON *value); // takes value

char *kb_json_line(const cJSON *item); // one line without '\n'; owned by the caller

#endif
