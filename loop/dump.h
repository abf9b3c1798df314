// Dumps for people and programs: one folder a version, made from the history (loop/history.h), so without a GPU and
// after the session. Blocks on the disk.
#ifndef KB_LOOP_DUMP_H
#define KB_LOOP_DUMP_H
#include "base/error.h"
#include "base/text.h"
#include "event/event.h"

#include <cjson/cJSON.h>
#include <stddef.h>

// which: "VARIANT" (its newest version), "VARIANT@N", or NULL: the newest version of each variant. dir (made) gets a
// folder <variant>@<n> for each, with
//
//   <source>, headers/...   as they were compiled     kernel.ptx, kernel.cubin, kernel.sass   those that there are
//   resources.json          launch limits, registers  results.json                            the record's results
//   report.md               one page
//
// out gets one line a folder. An existing folder of that name is an error, nothing is overwritten.
int kb_dump(const char *bench_path, const char *which, const char *dir, struct kb_text *out, struct kb_error *e);

// What the report needs besides the record. Everything may be NULL or 0.
struct kb_report_context {
    const char *bench_name;
    int headline;                    // index of the case
    const struct kb_ev_bench *bench; // its arguments' types
    const char *source;              // text of the main source
    const char *const *files;        // names in the folder
    int file_count;
};
// report.md of one version's record (kb_history_load). Pure.
void kb_dump_report(const cJSON *record, const struct kb_report_context *, struct kb_text *out);

#endif
