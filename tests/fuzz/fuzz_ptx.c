// libFuzzer entry for the CPU device: PTX text is parsed and decoded, and what survives is launched. Bad PTX must give
// an error with its place, and no kernel may touch the host's memory outside of its own. Not built by default:
//   clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I. \
//       -isystem /usr/include/cjson tests/fuzz/fuzz_ptx.c jit/ptx/*.c jit/launch_check.c base/*.c bench/dtype.c \
//       -lcjson -lutf8proc -lm -lpthread -o fuzz_ptx && ./fuzz_ptx -max_len=16384 -timeout=60 CORPUS
// CORPUS: PTX of small kernels. Mutations work on lines and words, since bytes seldom make PTX.
#include "base/text.h"
#include "jit/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

enum { BUFFER_BYTES = 4096, MOST_WORDS = 8192 };

static void must(bool right)
{
    if (!right)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("KB_PTX_BUDGET", "20000", 1);
    setenv("KB_PTX_THREADS", "1", 1);
    return 0;
}

// Every parameter of 8 bytes is the address of a buffer, the others are 5.
static void launch(struct kb_device *d, struct kb_kernel *k, uint64_t buffer)
{
    struct kb_kernel_info info;
    struct kb_error e = {0};
    uint64_t values[KB_MAX_PARAMS][64];
    const void *args[KB_MAX_PARAMS];
    d->ops->kernel_info(k, &info);
    if (info.param_count < 0)
        return;
    for (int i = 0; i < info.param_count; i++) {
        if (info.param_bytes[i] > (int)sizeof values[0])
            return;
        for (int n = 0; n < 64; n++)
            values[i][n] = info.param_bytes[i] == 8 ? buffer : 5;
        args[i] = values[i];
    }
    struct kb_launch_args a = {
        .grid = {2, 1, 1}, .block = {64, 1, 1}, .shared = 256, .arg_count = info.param_count, .args = args};
    if (d->ops->launch(k, &a, &e))
        must(e.what[0] && e.on[0]);
    cJSON_Delete(d->ops->facts(d));
}

static void launch_all(struct kb_device *d, struct kb_module *m, const char *text, size_t size, uint64_t buffer)
{
    char *copy = strndup(text, size), *save = NULL;
    for (char *w = strtok_r(copy, " \t\n(", &save); w; w = strtok_r(NULL, " \t\n(", &save)) {
        struct kb_kernel *k;
        struct kb_error e;
        if (strcmp(w, ".entry") || !(w = strtok_r(NULL, " \t\n(", &save)))
            continue;
        if (!d->ops->symbol(m, w, &k, &e))
            launch(d, k, buffer);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kb_device *d;
    struct kb_module *m;
    struct kb_error e = {0};
    struct kb_device_request request = {.kind = "cpu", .check = size & 1 ? "full" : "bounds"};
    must(!kb_device_open_cpu(&request, &d, &e));
    struct kb_buffer_spec spec = {
        .bytes = BUFFER_BYTES, .guard_bytes = 64, .name = "x", .dtype = KB_F32, .ndim = 1, .shape = {BUFFER_BYTES / 4}};
    struct kb_buffer b;
    must(!d->ops->alloc(d, &spec, &b, &e));
    memset(b.host, 0, BUFFER_BYTES);
    if (d->ops->load(d, data, size, &m, &e)) {
        must(!m && e.what[0] && e.on[0]);
    } else {
        launch_all(d, m, (const char *)data, size, b.address);
        d->ops->unload(d, m);
    }
    d->ops->free(d, &b);
    d->ops->close(d);
    return 0;
}

static struct word {
    size_t at, size;
} words[MOST_WORDS];

static bool in_word(uint8_t c)
{
    return c == '_' || c == '%' || c == '$' || c == '.' || c == '-' || (c >= '0' && c <= '9') ||
           ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int find_words(const uint8_t *data, size_t size, bool lines)
{
    int n = 0;
    for (size_t i = 0; i < size && n < MOST_WORDS;) {
        size_t start = i;
        while (i < size && (lines ? data[i] != '\n' : in_word(data[i])))
            i++;
        if (i > start)
            words[n++] = (struct word){start, i - start + (lines && i < size)};
        i++;
    }
    return n;
}

// Puts `with` in the place of [at, at + old).
static size_t replace(uint8_t *data, size_t size, size_t most, size_t at, size_t old, const void *with, size_t n)
{
    if (size - old + n > most)
        return size;
    uint8_t *copy = malloc(n + 1);
    memcpy(copy, with, n);
    memmove(data + at + n, data + at + old, size - at - old);
    memcpy(data + at, copy, n);
    free(copy);
    return size - old + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static const char *const edges[] = {"0",
                                        "-1",
                                        "4294967295",
                                        "0x8000000000000000",
                                        "1",
                                        "31",
                                        "64",
                                        "%r1",
                                        "%rd1",
                                        "%p1",
                                        "%f1",
                                        ".v4",
                                        ".b128",
                                        ".shared",
                                        ".u8",
                                        "0f7F800000",
                                        "99999999999999999999"};
    srandom(seed);
    if (random() % 8 == 0)
        return LLVMFuzzerMutate(data, size, most);
    bool lines = random() % 2;
    int n = find_words(data, size, lines);
    if (!n)
        return LLVMFuzzerMutate(data, size, most);
    struct word a = words[random() % n], b = words[random() % n];
    const char *edge = edges[(size_t)random() % (sizeof edges / sizeof *edges)];
    switch (random() % 4) {
    case 0:
        return replace(data, size, most, a.at, a.size, "", 0);
    case 1: // a copy behind another one
        return replace(data, size, most, a.at, 0, data + b.at, b.size);
    case 2:
        return replace(data, size, most, a.at, a.size, data + b.at, b.size);
    default:
        return lines ? replace(data, size, most, b.at, 0, data + a.at, a.size)
                     : replace(data, size, most, a.at, a.size, edge, strlen(edge));
    }
}
