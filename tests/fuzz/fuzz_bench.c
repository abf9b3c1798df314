// libFuzzer entry for the readers of bench/: the first byte says which one gets the rest. Not built by default:
//   clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_bench.c bench/*.c base/*.c \
//       -lcjson -lutf8proc -lm -lpthread -o fuzz_bench && ./fuzz_bench -max_len=8192 CORPUS
#include "base/text.h"
#include "bench/bench.h"
#include "bench/frame.h"
#include "bench/guess.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool right)
{
    if (!right)
        abort();
}

// What was read can be evaluated, sent and hashed.
static void use_bench(struct kb_bench *b)
{
    struct kb_bench *again = NULL;
    struct kb_error e;
    must(kb_bench_from_json(b->json, &again, &e) == 0);
    must(!strcmp(kb_bench_contract(b, NULL, 0).hex, kb_bench_contract(again, NULL, 0).hex));
    for (int i = 0; i < b->case_count; i++) {
        struct kb_names names = {0};
        must(kb_case_names(b, i, i & 1, &b->variants[0], &names, &e) == 0);
        struct kb_dims dims;
        for (int k = 0; k < b->variants[0].launch_count; k++)
            kb_launch_eval(&b->variants[0].launches[k], &names, &dims, &e);
        free(kb_case_label(b, i, false));
        kb_names_free(&names);
    }
    for (int i = 0; i < b->variant_count; i++) {
        cJSON *json = kb_variant_to_json(&b->variants[i]);
        struct kb_variant *v = NULL;
        must(kb_variant_from_json(json, &v, &e) == 0);
        kb_variant_free(v);
        cJSON_Delete(json);
    }
    kb_bench_free(again);
}

static void fuzz_bench(const char *text, size_t size)
{
    struct kb_bench *b = NULL;
    struct kb_error e;
    if (kb_bench_parse(text, size, "bench.json", &b, &e)) {
        must(b == NULL && kb_starts(e.on, "bench.json:"));
        return;
    }
    use_bench(b);
    kb_bench_free(b);
}

static void fuzz_source(const char *text, size_t size)
{
    struct kb_source s;
    struct kb_error e;
    if (!kb_source_scan(text, size, "k.cu", &s, &e))
        kb_source_free(&s);
    char *blank = kb_source_blank(text, size);
    for (size_t i = 0; i < size; i++)
        must((text[i] == '\n') == (blank[i] == '\n'));
    free(blank);
    struct kb_bench *b = NULL;
    struct kb_guess guess;
    struct kb_guess_source source = {.path = "k.cu", .text = text, .size = size};
    if (kb_bench_guess(&source, &b, &guess, &e))
        return;
    struct kb_variant *v = NULL;
    must(kb_source_scan(text, size, "k.cu", &s, &e) == 0);
    if (!kb_variant_resolve(b, 0, &s, &v, &e))
        kb_variant_free(v);
    kb_source_free(&s);
    kb_bench_free(b);
    kb_guess_free(&guess);
}

static void fuzz_expr(const char *text, size_t size)
{
    char *copy = strndup(text, size);
    struct kb_names names = {0};
    struct kb_error e;
    int64_t integer;
    double real;
    kb_names_set(&names, "n", 1000003);
    kb_names_set(&names, "low", INT64_MIN);
    if (kb_expr_eval(copy, &names, &integer, &e) == 0)
        must(kb_expr_check(copy, &e) == 0);
    kb_expr_eval_real(copy, &names, &real, &e);
    kb_names_free(&names);
    free(copy);
}

static void fuzz_frames(const char *text, size_t size)
{
    struct kb_frame_reader *r = kb_frame_reader_new();
    struct kb_frame f;
    struct kb_error e;
    size_t half = size / 2;
    kb_frame_reader_feed(r, text, half);
    while (kb_frame_reader_next(r, &f, &e) == 1)
        kb_frame_free(&f);
    kb_frame_reader_feed(r, text + half, size - half);
    while (kb_frame_reader_next(r, &f, &e) == 1)
        kb_frame_free(&f);
    kb_frame_reader_free(r);
}

static void fuzz_clean(const char *text, size_t size)
{
    for (int ascii = 0; ascii < 2; ascii++) {
        struct kb_text once = {0}, twice = {0};
        kb_clean(&once, text, size, ascii);
        kb_clean(&twice, once.data ? once.data : "", once.size, ascii);
        must(once.size == twice.size && (!once.size || !memcmp(once.data, twice.data, once.size)));
        kb_text_free(&once);
        kb_text_free(&twice);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = {fuzz_bench, fuzz_source, fuzz_expr, fuzz_frames,
                                                            fuzz_clean};
    if (size)
        readers[data[0] % (sizeof readers / sizeof *readers)]((const char *)data + 1, size - 1);
    return 0;
}
