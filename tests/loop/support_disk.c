#include "support_disk.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

char *disk_scratch(void)
{
    char *dir = kb_format("%s/test-disk-XXXXXX", KB_BUILD_DIR);
    check(mkdtemp(dir) != NULL, dir);
    return dir;
}

void disk_remove(char *dir)
{
    kb_remove_tree(dir);
    free(dir);
}

void disk_put(const char *dir, const char *name, const char *text)
{
    char *path = kb_path_join(dir, name), *parent = kb_path_dir(path);
    check(kb_make_dirs(parent, NULL) == 0, parent);
    FILE *file = fopen(path, "w");
    check(file && fputs(text, file) >= 0 && fclose(file) == 0, path);
    free(parent);
    free(path);
}

char *disk_get(const char *dir, const char *name)
{
    char *path = kb_path_join(dir, name), *data = NULL;
    size_t size = 0;
    int status = kb_file_read(path, 1 << 26, &data, &size, NULL);
    free(path);
    return status ? NULL : data;
}
