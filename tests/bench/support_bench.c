#include "bench/support_bench.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const char support_softmax[] =
    "{ \"kbench\": 1, \"name\": \"softmax\",\n"
    "  \"params\": { \"rows\": 4096, \"cols\": 4096 },\n"
    "  \"args\": [\n"
    "    { \"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": [\"rows\", \"cols\"], \"fill\": "
    "\"normal\" },\n"
    "    { \"name\": \"y\", \"role\": \"output\", \"dtype\": \"f32\", \"shape\": [\"rows\", \"cols\"] },\n"
    "    { \"name\": \"rows\", \"role\": \"scalar\", \"dtype\": \"i32\" },\n"
    "    { \"name\": \"cols\", \"role\": \"scalar\", \"dtype\": \"i32\" } ],\n"
    "  \"cases\": [\n"
    "    { \"rows\": 4096, \"cols\": 4096, \"time\": true, \"cpu\": { \"rows\": 64 } },\n"
    "    { \"rows\": 1, \"cols\": 1 },\n"
    "    { \"rows\": 37, \"cols\": 1023, \"fill\": { \"x\": \"cancellation\" } } ],\n"
    "  \"reference\": { \"source\": \"reference.cu\", \"kernel\": \"softmax_f64\",\n"
    "    \"launch\": { \"grid\": [\"rows\"], \"block\": [128] } },\n"
    "  \"tolerance\": \"auto\",\n"
    "  \"work\": { \"flops\": \"5*rows*cols\", \"bytes\": \"8*rows*cols\" },\n"
    "  \"goal\": { \"roof\": 0.9 },\n"
    "  \"variants\": [\n"
    "    { \"name\": \"naive\", \"source\": \"naive.cu\", \"kernel\": \"softmax_naive\",\n"
    "      \"launch\": { \"grid\": [\"ceil_div(rows,256)\"], \"block\": [256] } },\n"
    "    { \"name\": \"tuned\", \"source\": \"tuned.cu\", \"kernel\": \"n::tuned<float,VEC>\",\n"
    "      \"defines\": { \"VEC\": 4, \"T\": \"float\", \"FAST\": true },\n"
    "      \"args\": [\"y\", \"x\", \"rows\", \"cols\"],\n"
    "      \"launch\": { \"grid\": \"rows\", \"block\": [\"cols/VEC\", 1], \"shared\": \"4*cols\" } } ] }\n";

struct kb_bench *support_parse(const char *text)
{
    struct kb_bench *b = NULL;
    struct kb_error e = {0};
    if (kb_bench_parse(text, strlen(text), "b/bench.json", &b, &e))
        fail_msg("%s", kb_error_line(&e));
    return b;
}

char *support_replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("no \"%s\" in the text", from);
    return kb_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

void support_contains(const char *haystack, const char *needle)
{
    if (!strstr(haystack, needle))
        fail_msg("\"%s\" is not in \"%s\"", needle, haystack);
}
