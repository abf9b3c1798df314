// `kbench-tui new`: a small bench that works at once.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/bench.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 64 << 20 };

// %s: the name as a JSON text.
static const char bench_text[] =
    "{\n"
    "  \"kbench\": 1,\n"
    "  \"name\": %s,\n"
    "  \"comment\": \"out = a*x + y over n elements. Replace it by your own operator; docs/bench.md has every key.\",\n"
    "  \"params\": { \"n\": 16777216 },\n"
    "  \"args\": [\n"
    "    { \"name\": \"out\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"] },\n"
    "    { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"fill\": \"normal\" },\n"
    "    { \"name\": \"y\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"n\"], \"fill\": \"normal\" },\n"
    "    { \"name\": \"a\", \"role\": \"scalar\", \"dtype\": \"f32\", \"value\": 1.5 },\n"
    "    { \"name\": \"n\", \"role\": \"scalar\", \"dtype\": \"i32\" }\n"
    "  ],\n"
    "  \"cases\": [\n"
    "    { \"n\": 16777216, \"time\": true, \"cpu\": { \"n\": 65536 } },\n"
    "    { \"n\": 1 },\n"
    "    { \"n\": 1000003, \"cpu\": { \"n\": 10007 } }\n"
    "  ],\n"
    "  \"reference\": {\n"
    "    \"source\": \"reference.cu\", \"kernel\": \"axpy_reference\",\n"
    "    \"launch\": { \"grid\": \"ceil_div(n,256)\", \"block\": 256 }\n"
    "  },\n"
    "  \"tolerance\": \"auto\",\n"
    "  \"work\": { \"flops\": \"2*n\", \"bytes\": \"12*n\" },\n"
    "  \"goal\": { \"roof\": 0.9 },\n"
    "  \"variants\": [\n"
    "    { \"name\": \"naive\", \"source\": \"naive.cu\", \"kernel\": \"axpy_naive\",\n"
    "      \"launch\": { \"grid\": \"ceil_div(n,256)\", \"block\": 256 } }\n"
    "  ]\n"
    "}\n";

static const char reference_text[] =
    "// The slow and exact version that the variants are compared with. Inputs keep their types; each floating output\n"
    "// is double, and so is all arithmetic.\n"
    "extern \"C\" __global__ void axpy_reference(double *out, const float *x, const float *y, float a, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        out[i] = (double)a * (double)x[i] + (double)y[i];\n"
    "}\n";

static const char naive_text[] =
    "// One thread an element, four bytes a load. To try: float4 loads, several elements a thread (with a grid-stride\n"
    "// loop), other block sizes. A launch can stand here too, as a line of its own, and then wins over bench.json:\n"
    "// `//kb: block=512 grid=ceil_div(n,512)`.\n"
    "extern \"C\" __global__ void axpy_naive(float *out, const float *x, const float *y, float a, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        out[i] = a * x[i] + y[i];\n"
    "}\n";

static char *json_text(const char *s)
{
    cJSON *item = cJSON_CreateString(s);
    char *text = kb_json_line(item);
    cJSON_Delete(item);
    return text;
}

static int write_file(const char *dir, const char *name, const char *data, size_t size, struct kb_error *e)
{
    char *path = kb_path_join(dir, name);
    int status = kb_file_replace(path, data, size, e);
    free(path);
    return status;
}

static int write_own(const char *dir, const char *name, struct kb_error *e)
{
    char *quoted = json_text(name), *bench = kb_format(bench_text, quoted);
    int status = write_file(dir, "bench.json", bench, strlen(bench), e) ||
                         write_file(dir, "reference.cu", reference_text, strlen(reference_text), e) ||
                         write_file(dir, "naive.cu", naive_text, strlen(naive_text), e)
                     ? -1
                     : 0;
    free(quoted);
    free(bench);
    return status;
}

// The text with the first "name": "old" renamed, NULL if that is not the bench's own name.
static char *renamed(const char *text, const char *old, const char *name)
{
    char *quoted_old = json_text(old), *quoted = json_text(name), *out = NULL;
    const char *key = strstr(text, "\"name\""), *p = key ? key + 6 : "";
    while (*p && (isspace((unsigned char)*p) || *p == ':'))
        p++;
    if (key && kb_starts(p, quoted_old))
        out = kb_format("%.*s%s%s", (int)(p - text), text, quoted, p + strlen(quoted_old));
    free(quoted_old);
    free(quoted);
    return out;
}

static int copy_file(const char *from, const char *to, const char *file, const struct kb_bench *b, const char *name,
                     struct kb_error *e)
{
    char *path = kb_path_join(from, file), *data = NULL, *changed = NULL;
    size_t size = 0;
    struct stat info;
    int status = 0;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        status = kb_file_read(path, MOST_BYTES, &data, &size, e);
        if (!status && !strcmp(file, "bench.json"))
            changed = renamed(data, b->name, name);
        if (!status)
            status = write_file(to, file, changed ? changed : data, changed ? strlen(changed) : size, e);
    }
    free(path);
    free(data);
    free(changed);
    return status;
}

static int copy_files(const char *from, const char *to, const struct kb_bench *b, const char *name, struct kb_error *e)
{
    DIR *dir = opendir(from);
    if (!dir)
        return kb_fail(e, from, NULL, "cannot read the folder: %s", strerror(errno));
    int status = 0;
    for (struct dirent *entry; !status && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            status = copy_file(from, to, entry->d_name, b, name, e);
    closedir(dir);
    return status;
}

int kb_bench_new(const char *dir, const char *like, struct kb_error *e)
{
    struct stat info;
    struct kb_bench *model = NULL;
    if (lstat(dir, &info) == 0)
        return kb_fail(e, dir, "choose another name, or remove it first", "already exists");
    if (like && kb_bench_load(like, &model, e))
        return -1;
    char *clean = kb_path_clean(dir);
    const char *name = kb_path_base(clean);
    int status = kb_make_dirs(clean, e);
    if (!status)
        status = model ? copy_files(model->dir, clean, model, name, e) : write_own(clean, name, e);
    free(clean);
    kb_bench_free(model);
    return status;
}
