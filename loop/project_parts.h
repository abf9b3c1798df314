// Internal to loop/project*.c.
#ifndef KB_LOOP_PROJECT_PARTS_H
#define KB_LOOP_PROJECT_PARTS_H
#include "loop/project.h"

// The flags for source, an absolute path, of the compile_commands.json in dir or a folder of builds in it; false: there
// is none, or it says nothing about it.
bool kb_project_commands(struct kb_project *, const char *dir, const char *source);

#endif
