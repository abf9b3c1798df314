// Checks a document against a JSON schema: the part of draft-07 that docs/once.schema.json uses (type, properties,
// required, additionalProperties, items, enum, const, anyOf, pattern, $ref to #/definitions).
#ifndef KB_TESTS_LOOP_SUPPORT_SCHEMA_H
#define KB_TESTS_LOOP_SUPPORT_SCHEMA_H
#include "base/text.h"

#include <cjson/cJSON.h>

// 0: it fits. -1: where and why is added to why. An unknown keyword of the schema is an error, too.
int schema_check(const cJSON *schema, const cJSON *document, struct kb_text *why);
// Each null that is a measured value must have its NAME_reason beside it. 0 or -1 as above.
int schema_check_reasons(const cJSON *document, struct kb_text *why);
// A document of --once, which the caller owns: it fits docs/once.schema.json, else the test fails.
cJSON *schema_checked(const char *text);

#endif
