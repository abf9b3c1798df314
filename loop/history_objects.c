#include "base/file.h"
#include "base/memory.h"
#include "loop/history_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int kb_history_put_object(struct kb_history *h, const void *data, size_t size, struct kb_hash *hash, struct kb_error *e)
{
    *hash = kb_hash_of(data, size);
    char *path = kb_path_join(h->objects, hash->hex);
    struct stat info;
    int status = 0;
    if (lstat(path, &info) || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != size) {
        char *temporary = kb_history_temporary(h, h->objects, data, size);
        if (!temporary || rename(temporary, path)) {
            status = kb_history_fail_write(e, path);
            if (temporary)
                unlink(temporary);
        }
        free(temporary);
    }
    free(path);
    return status;
}

static bool is_hash(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

int kb_history_object(struct kb_history *h, const char *hash, char **data, size_t *size, struct kb_error *e)
{
    enum { LIMIT = 1 << 30 };
    if (!is_hash(hash)) {
        errno = EINVAL;
        return kb_fail(e, h->objects, NULL, "\"%.40s\" is no object's name", hash);
    }
    char *path = kb_path_join(h->objects, hash);
    int status = kb_history_read(path, LIMIT, data, size, e);
    int saved = errno;
    if (!status && strcmp(kb_hash_of(*data, *size).hex, hash)) {
        char *aside = kb_format("%s.damaged", path);
        kb_fail(e, path, "it was set aside; the next build of that content writes it anew",
                "the stored object is damaged: its %zu bytes have another hash", *size);
        rename(path, aside); // if that fails too, it is found damaged again
        free(aside);
        free(*data);
        *data = NULL;
        *size = 0;
        status = -1;
        saved = EIO;
    }
    free(path);
    errno = saved;
    return status;
}
