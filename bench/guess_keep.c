// A guessed bench as files, for whoever knows what is right.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/guess_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const char kb_embedded_bench_schema_json[];
extern const unsigned kb_embedded_bench_schema_json_size;

static const char kept_comment[] = "Kept from a guess: roles, types, shapes, sizes, template arguments and the launch "
                                   "are now what this file says. Put "
                                   "right what is wrong, and write the reference.";
#define SCHEMA ".kbench/bench.schema.json"

static const char *type_of(enum kb_dtype dtype)
{
    static const char *const types[] = {[KB_F64] = "double",         [KB_F32] = "float",
                                        [KB_TF32] = "float",         [KB_F16] = "__half",
                                        [KB_BF16] = "__nv_bfloat16", [KB_E4M3] = "__nv_fp8_e4m3",
                                        [KB_E5M2] = "__nv_fp8_e5m2", [KB_I8] = "signed char",
                                        [KB_U8] = "unsigned char",   [KB_I32] = "int",
                                        [KB_I64] = "long long"};
    return types[dtype];
}

static bool uses(const struct kb_bench *b, enum kb_dtype low, enum kb_dtype high)
{
    for (int i = 0; i < b->arg_count; i++)
        if (b->args[i].dtype >= low && b->args[i].dtype <= high)
            return true;
    return false;
}

static void add_param(struct kb_text *out, const struct kb_arg *a)
{
    bool result = a->role == KB_OUTPUT || a->role == KB_INOUT;
    const char *type = result && kb_dtype_is_float(a->dtype) ? "double" : type_of(a->dtype);
    kb_text_addf(out, "%s%s %s%s", a->role == KB_INPUT ? "const " : "", type, a->role == KB_SCALAR ? "" : "*", a->name);
}

// Its grid: a thread an element of the first result.
static char *elements_of(const struct kb_bench *b)
{
    struct kb_text out = {0};
    const struct kb_arg *result = NULL;
    for (int i = 0; i < b->arg_count && !result; i++)
        if (b->args[i].role == KB_OUTPUT || b->args[i].role == KB_INOUT)
            result = &b->args[i];
    for (int i = 0; result && i < result->ndim; i++)
        kb_text_addf(&out, result->ndim > 1 ? "%s(%s)" : "%s%s", i ? "*" : "", result->shape[i]);
    return out.data ? kb_text_take(&out) : kb_strdup("1");
}

static char *reference_text(const struct kb_bench *b, const char *kernel, const char *source)
{
    struct kb_text out = {0};
    char *elements = elements_of(b);
    kb_text_addf(
        &out,
        "// What is right for %s, slow and exact: inputs keep their types, each floating result is double, and so\n"
        "// is all arithmetic. It starts with a thread for each of %s elements (\"reference\" in the bench says so).\n",
        source, elements);
    if (uses(b, KB_F16, KB_F16))
        kb_text_add(&out, "#include <cuda_fp16.h>\n");
    if (uses(b, KB_BF16, KB_BF16))
        kb_text_add(&out, "#include <cuda_bf16.h>\n");
    if (uses(b, KB_E4M3, KB_E5M2))
        kb_text_add(&out, "#include <cuda_fp8.h>\n");
    kb_text_addf(&out, "\nextern \"C\" __global__ void %s(", kernel);
    for (int i = 0; i < b->arg_count; i++) {
        kb_text_add(&out, i ? ", " : "");
        add_param(&out, &b->args[i]);
    }
    kb_text_add(&out, ")\n{\n    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n"
                      "#error \"write what is right here, then remove this line\"\n}\n");
    free(elements);
    return kb_text_take(&out);
}

static char *stem_of(const char *path)
{
    const char *base = kb_path_base(path);
    return kb_strndup(base, strcspn(base, ".")); // as loop/sources.c looks for it
}

static char *reference_kernel(const char *stem)
{
    char *name = kb_format("%s%s_reference", isdigit((unsigned char)stem[0]) ? "k" : "", stem);
    for (char *p = name; *p; p++)
        *p = isalnum((unsigned char)*p) ? *p : '_';
    return name;
}

static char *document_text(const struct kb_bench *b, const char *reference, const char *kernel)
{
    cJSON *document = cJSON_CreateObject(), *program = cJSON_CreateObject(), *launch = cJSON_CreateObject();
    const cJSON *item;
    char *elements = elements_of(b), *grid = kb_format("ceil_div(%s,256)", elements);
    kb_json_set_text(document, "$schema", SCHEMA);
    kb_json_set_text(launch, "grid", grid);
    kb_json_set_number(launch, "block", 256);
    kb_json_set_text(program, "source", reference);
    kb_json_set_text(program, "kernel", kernel);
    kb_json_set(program, "launch", launch);
    cJSON_ArrayForEach (item, b->json) {
        if (!strcmp(item->string, "variants"))
            kb_json_set(document, "reference", program);
        bool comment = !strcmp(item->string, "comment");
        kb_json_set(document, item->string, comment ? cJSON_CreateString(kept_comment) : cJSON_Duplicate(item, true));
    }
    char *text = kb_guess_pretty(document);
    cJSON_Delete(document);
    free(elements);
    free(grid);
    return text;
}

static int write_schema(const char *dir, struct kb_error *e)
{
    char *path = kb_path_join(dir, SCHEMA), *folder = kb_path_dir(path);
    int status = kb_make_dirs(folder, e) ||
                         kb_file_replace(path, kb_embedded_bench_schema_json, kb_embedded_bench_schema_json_size, e)
                     ? -1
                     : 0;
    free(path);
    free(folder);
    return status;
}

static int create(const char *path, const char *text, struct kb_error *e)
{
    return kb_is_file(path) ? kb_fail(e, path, "look at it; move it away to begin anew", "it is there already")
                            : kb_file_create(path, text, strlen(text), e);
}

int kb_guess_keep(const struct kb_bench *b, const char *source_path, struct kb_guess_kept *out, struct kb_error *e)
{
    char *dir = kb_path_dir(source_path), *stem = stem_of(source_path), *kernel = reference_kernel(stem);
    char *reference = kb_format("%s_reference.cu", stem), *second = kb_format("%s.bench.json", stem);
    *out = (struct kb_guess_kept){kb_path_join(dir, "bench.json"), kb_path_join(dir, reference)};
    if (kb_is_file(out->bench)) {
        free(out->bench);
        out->bench = kb_path_join(dir, second);
    }
    char *code = reference_text(b, kernel, kb_path_base(source_path)), *text = document_text(b, reference, kernel);
    int status = 0;
    if (kb_is_file(out->bench)) // before anything is written
        status = create(out->bench, text, e);
    if (!status)
        status = create(out->reference, code, e) || write_schema(dir, e) || create(out->bench, text, e) ? -1 : 0;
    free(code);
    free(text);
    free(dir);
    free(stem);
    free(kernel);
    free(reference);
    free(second);
    if (status)
        kb_guess_kept_free(out);
    return status;
}

void kb_guess_kept_free(struct kb_guess_kept *kept)
{
    free(kept->bench);
    free(kept->reference);
    *kept = (struct kb_guess_kept){0};
}
