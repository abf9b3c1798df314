// What a wrong bench file is told: the line, the key, what was expected, the nearest known one.
#include "base/memory.h"
#include "base/text.h"
#include "bench/support_bench.h"

#include <stdlib.h>
#include <string.h>

// from and to make the error out of the good file; line is where it is then.
static const struct {
    const char *from, *to;
    int line;
    const char *what, *remedy;
} cases[] = {
    // keys
    {"\"tolerance\"", "\"tolerence\"", 14, "tolerence: unknown key \"tolerence\", did you mean \"tolerance\"?",
     "known: kbench"},
    {"\"fill\": \"normal\"", "\"fil\": \"normal\"", 4, "args[0].fil: unknown key \"fil\", did you mean \"fill\"?", ""},
    {"\"block\": [128]", "\"blocks\": [128]", 13, "reference.launch.blocks: unknown key", "grid, block, shared"},
    {"[256] } }", "[256],\n\"sharde\": 1 } }", 20,
     "variants[0].launch.sharde: unknown key \"sharde\", did you mean \"shared\"?", ""},
    {"\"rows\": 37", "\"row\": 37", 11, "cases[2].row: unknown key or param \"row\", did you mean \"rows\"?", "time"},
    {"\"cpu\": { \"rows\"", "\"cpu\": { \"time\"", 9, "cases[0].cpu.time: unknown param \"time\"", "known: rows, cols"},
    {"\"fill\": { \"x\"", "\"fill\": { \"X\"", 11, "cases[2].fill.X: unknown argument \"X\", did you mean \"x\"?", ""},
    {"\"roof\"", "\"rooof\"", 16, "did you mean \"roof\"?", ""},
    {"\"flops\"", "\"flop\"", 15, "work.flop: unknown key \"flop\", did you mean \"flops\"?", ""},
    {"\"rows\": 1,", "\"rows\": 1, \"rows\": 2,", 10, "cases[1].rows: this key is given twice", ""},
    {"\"name\": \"softmax\",", "\"name\": \"softmax\",\n\"name\": \"b\",", 2, "this key is given twice", ""},
    {"\"name\": \"softmax\",", "", 1, "a bench needs the key \"name\": a text", ""},
    {"\"role\": \"output\", ", "", 5, "args[1]: an argument needs the key \"role\"", ""},
    {"\"kernel\": \"softmax_naive\",", "", 18, "variants[0]: needs the key \"kernel\"", ""},
    {"\"kernel\": \"softmax_naive\"", "\"kernel\": \"k\", \"launches\": []", 18, "give only one form", ""},
    {"\"source\": \"naive.cu\",", "", 18, "a variant needs the key \"source\"", ""},
    // types
    {"\"kbench\": 1", "\"kbench\": 2", 1, "kbench: is version 2 of the format", ""},
    {"\"kbench\": 1", "\"kbench\": \"1\"", 1, "kbench: is a text, expected an integer", ""},
    {"\"rows\": 4096,", "\"rows\": 4096.5,", 2, "params.rows: 4096.5 is no valid value here, expected an integer", ""},
    {"\"rows\": 4096,", "\"rows\": 1e300,", 2, "expected an integer", ""},
    {"\"time\": true", "\"time\": 1", 9, "cases[0].time", ""},
    {"[\"rows\", \"cols\"] }", "\"rows\" }", 5, "args[1].shape: is a text, expected a list", ""},
    {"[\"rows\", \"cols\"] }", "[\"rows\", null] }", 5,
     "args[1].shape[1]: is null, expected an integer or an expression", ""},
    {"\"grid\": [\"rows\"]", "\"grid\": true", 13, "reference.launch.grid: is true or false, expected", ""},
    {"\"source\": \"naive.cu\"", "\"source\": \"\"", 18, "variants[0].source: is an empty text", ""},
    {"{ \"roof\": 0.9 }", "0.9", 16, "goal: 0.90000000000000002 is no valid value here, expected an object", ""},
    // words
    {"\"input\"", "\"inputs\"", 4, "args[0].role: unknown role \"inputs\", did you mean \"input\"?",
     "known: input, output"},
    {"\"f32\"", "\"fp32\"", 4, "args[0].dtype: unknown dtype \"fp32\", did you mean \"f32\"?", "known: f64"},
    {"\"normal\"", "\"norml\"", 4, "args[0].fill: unknown fill \"norml\", did you mean \"normal\"?", ""},
    {"\"normal\"", "{\"kind\":\"normal\",\"low\":1}", 4, "args[0].fill.low: means nothing for the fill \"normal\"", ""},
    {"\"normal\"", "{\"kind\":\"uniform\",\"low\":1,\"high\":0}", 4, "low 1 is above high 0", ""},
    {"\"normal\"", "{\"kind\":\"normal\",\"std\":-1}", 4, "std -1 is negative", ""},
    {"\"normal\"", "\"constant\"", 4, "needs more than its name", ""},
    {"\"normal\"", "{\"kind\":\"file\"}", 4, "needs the key \"file\"", ""},
    {"\"auto\"", "\"exakt\"", 14, "tolerance: unknown tolerance \"exakt\", did you mean \"exact\"?", ""},
    {"\"auto\"", "{\"max_err\":1}", 14, "tolerance.max_err: unknown key \"max_err\", did you mean \"max_rel\"?",
     "max_abs"},
    {"\"auto\"", "{\"max_abs\":-1}", 14, "the bound -1 is negative", ""},
    {"\"auto\"", "{}", 14, "bounds nothing", "auto"},
    {"{ \"roof\": 0.9 }", "{}", 16, "the goal needs one of \"roof\" and \"versus\"", ""},
    {"{ \"roof\": 0.9 }", "{\"roof\":90}", 16, "90 is no share of a roof", ""},
    {"{ \"roof\": 0.9 }", "{\"versus\":\"tunde\"}", 16,
     "goal.versus: unknown variant \"tunde\", did you mean \"tuned\"?", ""},
    {"\"name\": \"tuned\",", "\"name\": \"tuned\", \"kind\": \"library\",", 20,
     "of kind \"library\" are not supported yet", "cuda"},
    {"\"name\": \"tuned\",", "\"name\": \"tuned\", \"kind\": \"cudda\",", 20,
     "unknown kind \"cudda\", did you mean \"cuda\"?", ""},
    {"\"name\": \"tuned\",", "\"name\": \"tuned\", \"compiler\": \"nvc\",", 20, "unknown compiler \"nvc\"", "nvrtc"},
    {"\"name\": \"tuned\",", "\"name\": \"a/b\",", 20, "may hold no blanks, slashes", ""},
    {"\"name\": \"tuned\",", "\"name\": \"..\",", 20, "may not begin with '.'", ""},
    // accepted findings
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"race\"} ],", 14,
     "accept[0]: an accepted finding needs the key \"reason\": a text", ""},
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\", \"accept\": [ {\"reason\":\"r\"} ],", 14,
     "accept[0]: an accepted finding needs the key \"kind\": a text", ""},
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"race\",\"reason\":\" \"} ],", 14,
     "accept[0].reason: is an empty text", ""},
    {"\"tolerance\": \"auto\",",
     "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"race\",\"reason\":\"r\",\"file\":\"\"} ],", 14,
     "accept[0].file: is an empty text", ""},
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"rase\",\"reason\":\"r\"} ],", 14,
     "accept[0].kind: unknown kind \"rase\", did you mean \"race\"?", "race_in_warp"},
    {"\"tolerance\": \"auto\",",
     "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"race\",\"reason\":\"r\",\"lime\":3} ],", 14,
     "accept[0].lime: unknown key \"lime\", did you mean \"line\"?", "argument"},
    {"\"tolerance\": \"auto\",",
     "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"race\",\"reason\":\"r\",\"line\":0} ],", 14,
     "accept[0].line: 0 is no line", ""},
    {"\"tolerance\": \"auto\",",
     "\"tolerance\": \"auto\", \"accept\": [ {\"kind\":\"illegal_address\",\"reason\":\"r\"} ],", 14,
     "accept[0].kind: \"illegal_address\" is a fault that ends a launch: it cannot be accepted", "mend"},
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\", \"accept\": [ \"race\" ],", 14,
     "accept[0]: is a text, expected an object", ""},
    // names
    {"\"name\": \"y\"", "\"name\": \"x\"", 5, "args[1].name: two arguments are named \"x\"", ""},
    {"\"name\": \"y\"", "\"name\": \"2y\"", 5, "\"2y\" is no name", ""},
    {"\"name\": \"tuned\"", "\"name\": \"naive\"", 20, "variants[1].name: two variants are named \"naive\"", ""},
    {"\"cols\": 4096 },", "\"cols\": 4096, \"rows\": 1 },", 2, "this param is given twice", ""},
    {"\"cols\": 4096 },", "\"cols\": 4096, \"time\": 1 },", 2, "\"time\" has a meaning of its own", ""},
    {"\"VEC\": 4", "\"VEC-\": 4", 21, "\"VEC-\" is no name", ""},
    {"\"args\": [\"y\",", "\"args\": [\"z\",", 22, "variants[1].args[0]: unknown argument \"z\"",
     "known: x, y, rows, cols"},
    // shapes, values and expressions
    {", \"shape\": [\"rows\", \"cols\"] }", " }", 5, "the argument \"y\" needs the key \"shape\"", ""},
    {"\"shape\": [\"rows\", \"cols\"] }", "\"shape\": [] }", 5, "has 0 dimensions, expected 1 to 6", ""},
    {"\"shape\": [\"rows\", \"cols\"] }", "\"shape\": [1,1,1,1,1,1,1] }", 5, "has 7 dimensions", ""},
    {"\"shape\": [\"rows\", \"cols\"] }", "\"shape\": [\"rows\",\n\"rows-38\"] }", 6,
     "args[1].shape[1]: shape[1] is \"rows-38\" = -37, expected at least 0 (case 1 x 1)", ""},
    {"\"shape\": [\"rows\", \"cols\"] }", "\"shape\": [\"row\"] }", 5,
     "args[1].shape[0]: shape[0]: in \"row\": unknown name 'row' at column 1", "did you mean 'rows'"},
    {"\"shape\": [\"rows\", \"cols\"] }", "\"shape\": [\"rows*\"] }", 5, "ends too early at column 6", ""},
    {"\"dtype\": \"i32\" },", "\"dtype\": \"i32\", \"shape\": [1] },", 6, "a scalar has no shape", ""},
    {"\"name\": \"rows\", \"role\"", "\"name\": \"n\", \"role\"", 6, "args[2]: the scalar \"n\" has no value",
     "add \"value\""},
    {"\"dtype\": \"i32\" },", "\"dtype\": \"i32\", \"value\": \"rws\" },", 6, "unknown name 'rws'",
     "did you mean 'rows'"},
    {"\"dtype\": \"i32\" },", "\"dtype\": \"i32\", \"value\": 0.5 },", 6, "args[2].value: 0.5 is no valid value", ""},
    {"\"dtype\": \"i32\" },", "\"dtype\": \"i32\", \"fill\": \"normal\" },", 6, "only inputs and inouts are filled",
     ""},
    {"\"fill\": { \"x\": ", "\"fill\": { \"y\": ", 11, "cases[2].fill.y: only inputs and inouts are filled", ""},
    {"\"5*rows*cols\"", "\"5*rows*clos\"", 15, "work.flops: in \"5*rows*clos\": unknown name 'clos' at column 8",
     "cols"},
    {"\"5*rows*cols\"", "\"rows-cols\"", 15,
     "work.flops: \"rows-cols\" is -4032, expected at least 0 (case 64 x 4096 on the CPU)", ""},
    {"\"5*rows*cols\"", "-1", 15, "work.flops: -1 is negative", ""},
    {"\"grid\": [\"rows\"]", "\"grid\": [\"row\"]", 13, "reference.launch.grid[0]: in \"row\": unknown name 'row'",
     "rows"},
    {"\"grid\": [\"rows\"], ", "", 13, "reference.launch: a launch needs the keys \"grid\" and \"block\"", ""},
    {"[\"ceil_div(rows,256)\"]", "[1,1,1,1]", 19, "variants[0].launch.grid: has 4 dimensions, expected 1 to 3", ""},
    {"[\"ceil_div(rows,256)\"]", "[\"ceil_div(rows 256)\"]", 19, "expected ',' and a second argument at column 15", ""},
    // the reference
    {"\"source\": \"reference.cu\", ", "", 12, "reference: the reference needs one of", ""},
    {"\"source\": \"reference.cu\"", "\"npy\": \"a\", \"source\": \"r.cu\"", 12, ", not several", ""},
    // no JSON at all
    {"\"tolerance\": \"auto\",", "\"tolerance\": \"auto\"", 15, "no valid JSON", "comma"},
    {"\"args\": [\"y\",", "\"args\": [\"y\",, ", 22, "no valid JSON", ""},
    {"[256] } },", "[256], } },", 19, "no valid JSON at \"} },\"", "remove the comma"},
    {"\"tolerance\"", "// about\n\"tolerance\"", 14, "no valid JSON at \"// about\"", "JSON has no comments"},
    {"\"tolerance\"", "'tolerance'", 14, "no valid JSON", "in double quotes"},
    {"\"shared\": \"4*cols\" } } ] }\n", "", 23, "no valid JSON", "ends too early"},
    {"\"4*cols\" } } ] }", "\"4*cols\" } } ] } x", 23, "no valid JSON at \"x\"", ""},
};

static void test_each(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < KB_COUNT(cases); i++) {
        char *text = support_replaced(support_softmax, cases[i].from, cases[i].to);
        char *on = kb_format("some/bench.json:%d", cases[i].line);
        struct kb_bench *b = NULL;
        struct kb_error e = {0};
        bool accepted = kb_bench_parse(text, strlen(text), "some/bench.json", &b, &e) == 0;
        if (accepted || b || strcmp(e.on, on) || !strstr(e.what, cases[i].what) || !strstr(e.remedy, cases[i].remedy)) {
            print_error("%s -> %s: expected %s: %s (%s), got %s\n", cases[i].from, cases[i].to, on, cases[i].what,
                        cases[i].remedy, accepted ? "no error" : kb_error_line(&e));
            wrong++;
        }
        kb_bench_free(b);
        free(text);
        free(on);
    }
    assert_int_equal(wrong, 0);
}

// Every file that ends early is an error, and none may crash or leak.
static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t n = 0; n + 2 < strlen(support_softmax); n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, support_softmax, n);
        struct kb_bench *b = NULL;
        struct kb_error e = {0};
        assert_int_equal(kb_bench_parse(copy, n, "b.json", &b, &e), -1);
        support_contains(e.on, "b.json:");
        support_contains(e.what, "no valid JSON");
        free(copy);
    }
}

// Each value of the file in turn becomes one of another type.
static void test_every_value_of_another_type(void **state)
{
    (void)state;
    static const char *const others[] = {"null", "[]", "{}", "-1", "\"\"", "[[[[1]]]]", "1e300"};
    size_t size = strlen(support_softmax);
    for (size_t at = 0; at < size; at++) {
        if (!strchr(":[,", support_softmax[at]) || support_softmax[at + 1] != ' ')
            continue;
        for (size_t k = 0; k < KB_COUNT(others); k++) {
            size_t end = at + 1 + strcspn(support_softmax + at + 1, ",]}");
            char *text = kb_format("%.*s %s%s", (int)at + 1, support_softmax, others[k], support_softmax + end);
            struct kb_bench *b = NULL;
            struct kb_error e = {0};
            if (!kb_bench_parse(text, strlen(text), "b.json", &b, &e))
                kb_bench_free(b);
            else
                support_contains(e.on, "b.json:");
            free(text);
        }
    }
}

static void test_odd_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *what;
    } odd[] = {
        {"", 0, "no valid JSON"},           {"[]", 2, "is a list, expected an object"},
        {"3", 1, "expected an object"},     {"{\"a\0\":1}", 8, "no valid JSON"},
        {"\xff\xfe{}", 4, "no valid JSON"}, {"{\"\x1b[2J\":1}", 10, "\xe2\x90\x9b[2J"},
    };
    for (size_t i = 0; i < KB_COUNT(odd); i++) {
        struct kb_bench *b = NULL;
        struct kb_error e = {0};
        assert_int_equal(kb_bench_parse(odd[i].text, odd[i].size, "b.json", &b, &e), -1);
        support_contains(e.what, odd[i].what);
        assert_string_equal(e.on, "b.json:1");
    }
    struct kb_text deep = {0};
    for (int i = 0; i < 200000; i++)
        kb_text_add(&deep, "[");
    struct kb_bench *b = NULL;
    struct kb_error e;
    assert_int_equal(kb_bench_parse(deep.data, deep.size, "b.json", &b, &e), -1);
    kb_text_free(&deep);
}

// Without the text of a file (a document from a frame) the key is still named.
static void test_document_without_text(void **state)
{
    (void)state;
    char *text = support_replaced(support_softmax, "\"f32\"", "\"f23\"");
    cJSON *document = cJSON_Parse(text);
    struct kb_bench *b = NULL;
    struct kb_error e;
    assert_int_equal(kb_bench_from_json(document, &b, &e), -1);
    assert_string_equal(e.on, "bench.json");
    support_contains(e.what, "args[0].dtype: unknown dtype \"f23\", did you mean \"f32\"?");
    cJSON_Delete(document);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_every_value_of_another_type),
        cmocka_unit_test(test_odd_documents),
        cmocka_unit_test(test_document_without_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
