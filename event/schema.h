// The schema of events for people's tools (docs/events.schema.json), made from event/table.def.
#ifndef KB_EVENT_SCHEMA_H
#define KB_EVENT_SCHEMA_H
#include <cjson/cJSON.h>

cJSON *kb_events_schema(void); // JSON Schema, draft 7; owned by the caller

#endif
