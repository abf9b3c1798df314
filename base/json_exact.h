// JSON whose numbers keep all their digits. cJSON holds a number as a double and prints 15 digits where it takes them
// to be near enough: here an integer beyond 2^53 keeps its digits beside the double (in valuestring of the number's
// item, which cJSON copies and frees with it), and a double is printed so that the same double is read back.
#ifndef KB_BASE_JSON_EXACT_H
#define KB_BASE_JSON_EXACT_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

cJSON *kb_json_parse(const char *text, size_t size);                    // owned; NULL: no JSON
void kb_json_keep_digits(cJSON *parsed, const char *text, size_t size); // of what was parsed from just this text
bool kb_json_exact(const cJSON *item, int64_t *value); // false: no number, no integer, or not within 64 bits
void kb_json_set_int(cJSON *object, const char *key, int64_t value);
bool kb_json_same(const cJSON *a, const cJSON *b); // as cJSON_Compare, and the same digits
// The text of a number, as JSON: digits as they were kept, else the shortest that is read back as the same double.
void kb_json_number_text(const cJSON *item, char out[32]);

// The item of a number's text: a number where that keeps all digits, else the text itself ("nan", "-inf", integers
// beyond 2^53). Owned.
cJSON *kb_json_value(const char *text);

#endif
