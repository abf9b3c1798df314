#include "worker/builtin.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sealed.h"
#include "jit/nvrtc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMBEDDED(id)                                                                                                   \
    extern const char kb_embedded_##id[];                                                                              \
    extern const unsigned kb_embedded_##id##_size
EMBEDDED(element_cu);
EMBEDDED(element_h);
EMBEDDED(element_fill_h);
EMBEDDED(element_compare_h);
EMBEDDED(roofs_cuh);

struct entry_head {
    char magic[8];
    uint64_t ptx_bytes, cubin_bytes;
};
static const char magic[8] = "kbcache";
enum { ENTRY_MAX = 64 << 20 };

const char *kb_builtin_main(void)
{
    return "element.cu";
}

int kb_builtin_files(const char *name, const struct kb_compile_file **files, struct kb_error *e)
{
    static struct kb_compile_file list[5];
    list[0] = (struct kb_compile_file){"element.cu", kb_embedded_element_cu, kb_embedded_element_cu_size};
    list[1] = (struct kb_compile_file){"element.h", kb_embedded_element_h, kb_embedded_element_h_size};
    list[2] = (struct kb_compile_file){"element_fill.h", kb_embedded_element_fill_h, kb_embedded_element_fill_h_size};
    list[3] = (struct kb_compile_file){"element_compare.h", kb_embedded_element_compare_h,
                                       kb_embedded_element_compare_h_size};
    list[4] = (struct kb_compile_file){"roofs.cuh", kb_embedded_roofs_cuh, kb_embedded_roofs_cuh_size};
    *files = list;
    if (!strcmp(name, "element"))
        return (int)KB_COUNT(list);
    kb_fail(e, name, NULL, "no built-in source of this name");
    return 0;
}

static char *entry_path(const struct kb_compile_request *r)
{
    char *dir = kb_cache_dir();
    if (!dir || !kb_nvrtc_version()) {
        free(dir);
        return NULL;
    }
    struct kb_hasher *h = kb_hasher_new();
    kb_hasher_text(h, KB_VERSION);
    kb_hasher_text(h, kb_nvrtc_version());
    kb_hasher_text(h, kb_nvrtc_path());
    kb_hasher_text(h, r->arch);
    kb_hasher_text(h, r->lineinfo ? "lines" : "");
    for (int i = 0; i < r->file_count; i++)
        kb_hasher_add(h, r->files[i].data, r->files[i].size);
    for (int i = 0; i < r->define_count; i++)
        kb_hasher_text(h, r->defines[i]);
    kb_hasher_text(h, "options");
    for (int i = 0; i < r->option_count; i++)
        kb_hasher_text(h, r->options[i]);
    kb_hasher_text(h, "kernels");
    for (int i = 0; i < r->kernel_count; i++)
        kb_hasher_text(h, r->kernels[i]);
    char *name = kb_format("builtin-%s.bin", kb_hasher_end(h).hex), *path = kb_path_join(dir, name);
    free(name);
    free(dir);
    return path;
}

// Kernels by the cubin's own tables; what only a log says (spills) stays unknown.
static bool unpack(const char *data, size_t size, struct kb_compiled *out)
{
    struct entry_head head;
    if (size < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    const char *body = data + sizeof head;
    size_t body_size = size - sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) || head.ptx_bytes > body_size || !head.cubin_bytes ||
        head.cubin_bytes != body_size - head.ptx_bytes)
        return false;
    out->ptx = kb_strndup(body, head.ptx_bytes);
    out->ptx_size = strlen(out->ptx);
    out->cubin_size = head.cubin_bytes;
    out->cubin = kb_alloc(out->cubin_size);
    memcpy(out->cubin, body + head.ptx_bytes, out->cubin_size);
    out->kernel_count = kb_cubin_kernels(out->cubin, out->cubin_size, &out->kernels, NULL);
    out->ok = out->kernel_count > 0;
    return out->ok;
}

static bool load_entry(const char *path, const struct kb_compile_request *r, struct kb_compiled *out)
{
    char *data;
    size_t size;
    *out = (struct kb_compiled){0};
    if (kb_sealed_read(path, ENTRY_MAX, &data, &size) != KB_SEALED_FOUND)
        return false;
    bool good = unpack(data, size, out);
    free(data);
    if (!good) {
        out->kernel_count = out->kernel_count > 0 ? out->kernel_count : 0;
        kb_compiled_free(out);
        return false;
    }
    snprintf(out->compiler, sizeof out->compiler, "nvrtc %s", kb_nvrtc_version());
    snprintf(out->arch, sizeof out->arch, "%s", r->arch ? r->arch : "");
    out->log = kb_strdup("");
    return true;
}

static void store_entry(const char *path, const struct kb_compiled *c)
{
    struct entry_head head = {.ptx_bytes = c->ptx_size, .cubin_bytes = c->cubin_size};
    struct kb_text body = {0}, whole = {0};
    kb_text_bytes(&body, c->ptx, c->ptx_size);
    kb_text_bytes(&body, c->cubin, c->cubin_size);
    memcpy(head.magic, magic, sizeof magic);
    kb_text_bytes(&whole, &head, sizeof head);
    kb_text_bytes(&whole, body.data, body.size);
    kb_sealed_write(path, whole.data, whole.size);
    kb_text_free(&body);
    kb_text_free(&whole);
}

int kb_builtin_compile(const struct kb_compile_request *r, struct kb_compiled *out, struct kb_error *e)
{
    char *path = r->arch ? entry_path(r) : NULL;
    if (path && load_entry(path, r, out)) {
        free(path);
        return 0;
    }
    int status = kb_compile(r, out, e);
    if (!status && out->ok && path)
        store_entry(path, out);
    free(path);
    return status;
}
