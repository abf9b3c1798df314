#include "base/sealed.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "kbench sealed 1 ";
enum { HEAD = sizeof magic - 1 + KB_KEYED_HEX + 1 };

bool kb_caches_off(void)
{
    const char *off = getenv("KBENCH_NO_CACHE");
    return off && *off;
}

// 1: read, 0: there is none, -1: what is there is nobody's secret.
static int read_key(const char *path, unsigned char key[KB_KEY_BYTES])
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    bool own = !fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 077);
    bool whole = own && info.st_size == KB_KEY_BYTES && read(fd, key, KB_KEY_BYTES) == KB_KEY_BYTES;
    close(fd);
    return whole ? 1 : -1;
}

// Of two that make one at the same time, the first wins.
static void make_key(const char *path)
{
    unsigned char key[KB_KEY_BYTES];
    char *fresh = kb_format("%s.%d.XXXXXX", path, (int)getpid()), *dir = kb_path_dir(path);
    int fd = getrandom(key, sizeof key, 0) == (ssize_t)sizeof key && !kb_make_dirs(dir, NULL) ? mkstemp(fresh) : -1;
    if (fd >= 0) { // mode 0600
        bool written = !kb_write_all(fd, key, sizeof key) && !fsync(fd);
        close(fd);
        if (written && link(fresh, path)) // then another's is there, or none
            written = false;
        unlink(fresh);
    }
    free(dir);
    free(fresh);
}

struct kb_seal_key kb_seal_key(void)
{
    struct kb_seal_key key = {0};
    char *state = kb_state_dir(), *path = state ? kb_path_join(state, "key") : NULL;
    int status = path ? read_key(path, key.bytes) : -1;
    if (path && status < 0 && !unlink(path))
        status = 0;
    if (path && !status) {
        make_key(path);
        status = read_key(path, key.bytes);
    }
    free(path);
    free(state);
    key.known = status > 0;
    return key;
}

static void add_part(blake2b_state *k, const void *data, size_t size)
{
    uint64_t length = size;
    kb_keyed_add(k, &length, sizeof length);
    kb_keyed_add(k, data, size);
}

struct kb_keyed kb_seal(const struct kb_seal_key *key, const char *purpose, const struct kb_seal_part *parts, int count)
{
    blake2b_state k;
    kb_keyed_begin(&k, key->bytes);
    add_part(&k, purpose, strlen(purpose));
    for (int i = 0; i < count; i++)
        add_part(&k, parts[i].data, parts[i].size);
    return kb_keyed_end(&k);
}

static bool seal_file(const char *path, const void *data, size_t size, struct kb_keyed *out)
{
    const char *name = kb_path_base(path);
    const struct kb_seal_part parts[] = {{name, strlen(name)}, {data, size}};
    const struct kb_seal_key key = kb_seal_key();
    if (key.known)
        *out = kb_seal(&key, "file", parts, 2);
    return key.known;
}

enum kb_sealed kb_sealed_read(const char *path, size_t limit, char **data, size_t *size)
{
    struct kb_keyed seal;
    *data = NULL;
    if (kb_caches_off() || !kb_is_file(path) || kb_file_read(path, limit + HEAD, data, size, NULL))
        return KB_SEALED_NONE;
    bool fits = *size >= HEAD && !memcmp(*data, magic, sizeof magic - 1) && (*data)[HEAD - 1] == '\n' &&
                seal_file(path, *data + HEAD, *size - HEAD, &seal) &&
                !memcmp(*data + sizeof magic - 1, seal.hex, KB_KEYED_HEX);
    if (fits) {
        *size -= HEAD;
        memmove(*data, *data + HEAD, *size + 1);
        return KB_SEALED_FOUND;
    }
    free(*data);
    *data = NULL;
    return KB_SEALED_FOREIGN;
}

int kb_sealed_write(const char *path, const void *data, size_t size)
{
    struct kb_keyed seal;
    struct kb_text whole = {0};
    if (kb_caches_off() || !seal_file(path, data, size, &seal))
        return -1;
    kb_text_addf(&whole, "%s%s\n", magic, seal.hex);
    kb_text_bytes(&whole, data, size);
    int status = kb_file_replace(path, whole.data, whole.size, NULL);
    kb_text_free(&whole);
    return status;
}
