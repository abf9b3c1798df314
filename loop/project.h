// How a source is compiled where it comes from, for a bench that is guessed: the flags of the nearest
// compile_commands.json, and folders of the project in which headers lie that nothing else finds. Asks the disk.
#ifndef KB_LOOP_PROJECT_H
#define KB_LOOP_PROJECT_H
#include "base/error.h"
#include "base/text.h"
#include "watch/watch.h"

#include <stdbool.h>

struct kb_project { // owned texts; lists are NULL-terminated
    char **include_dirs, **defines, **options;
    int include_dir_count, define_count, option_count;
    char arch[16];  // "sm_90a"; "": nothing says one
    char *commands; // path of the compile_commands.json that was used, or NULL
    char *found;    // "helper.h in ../Common" for people; NULL: none had to be looked for
};
// beside: include folders and defines of the command line, which come first.
void kb_project_read(const char *source_path, const struct kb_reach *beside, struct kb_project *out);
void kb_project_free(struct kb_project *);
// Reads the source with all the headers that it reaches by beside and the project; a project whose headers are too many
// loses its folders. Fails as kb_snapshot_take does.
int kb_project_snapshot(const char *source_path, const struct kb_reach *beside, struct kb_project *,
                        struct kb_snapshot *out, struct kb_error *);

#endif
