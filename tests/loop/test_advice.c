// Each rule of the advice: on events where it applies and on ones beside them where it doesn't.
#include "base/json.h"
#include "base/memory.h"
#include "loop/advice_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GPU                                                                                                            \
    "{'kind':'cuda','sm_count':100,'peak':{'dram_bytes_per_s':4e12,'l2_bytes_per_s':20e12,'fp32_flops':60e12,"         \
    "'fp64_flops':30e12}}"
#define HOME_GPU "{'kind':'cuda','sm_count':100,'peak':{'fp32_flops':60e12,'fp64_flops':1e12}}"
#define CPU "{'kind':'cpu','sm_count':100}"
#define TIME(us) "{'type':'timing','case':0,'cold':{'median_us':" us "}}"
#define COUNT(metrics) "{'type':'counters','stage':'rest','metrics':{" metrics "}}"
#define SAMPLES(stalls)                                                                                                \
    "{'type':'sections','sections':[],'functions':[{'name':'f','samples':1000,'stalls':[" stalls                       \
    "]}],'lines':[{'file':'k.cu','line':14,'samples':600,'stalls':[" stalls                                            \
    "]},{'file':'k.cu','line':20,'samples':400,'stalls':[{'group':'issuing','share':1}]}]}"
#define WAIT(group, share) "{'group':'" group "','share':" share "}"
#define KERNEL(rest) "{'type':'resources','kernels':[{'name':'f'," rest "}]}"
#define FACTS(rest) "{'type':'facts','case':0,'launch':0,'facts':{" rest "}}"
#define SASS(classes) "{'type':'sass','kernels':[{'name':'f','by_class':{" classes "}}]}"
#define LINES                                                                                                          \
    "'lines':[{'line':9,'file':'/k.cu','bytes':128,'sectors':4,'conflicts':1,'divergent':1},"                          \
    "{'line':28,'file':'/k.cu','bytes':4096,'sectors':1024,'conflicts':30,'divergent':9}]"

struct attempt {
    const char *rule, *device, *yes, *no;
    enum kb_limit limit; // the dominant one of `yes`
    const char *evidence, *step;
    int line;
};
static const struct attempt tries[] = {
    {"dram roof", GPU, TIME("100") "," COUNT("'dram_bytes':360e6"), TIME("100") "," COUNT("'dram_bytes':260e6"),
     KB_LIMIT_MEMORY, "3.60 TB/s, 90% of its peak of 4.00 TB/s", "move fewer bytes", 0},
    {"l2 roof", GPU, TIME("100") "," COUNT("'l2_bytes':1600e6"), TIME("100") "," COUNT("'l2_bytes':1000e6"),
     KB_LIMIT_MEMORY, "80% of its peak", "tile", 0},
    {"compute roof", GPU, TIME("100") "," COUNT("'flops_f32':5.4e9"), TIME("100") "," COUNT("'flops_f32':2.4e9"),
     KB_LIMIT_ARITHMETIC, "single precision is at 90%", "fewer operations", 0},
    {"uncoalesced loads", GPU,
     COUNT("'sectors_per_request_load':32") "," SASS("'LDG.32':8") "," SAMPLES(WAIT("memory", "0.8")),
     COUNT("'sectors_per_request_load':16") "," SASS("'LDG.128':8") "," SAMPLES(WAIT("memory", "0.8")), KB_LIMIT_MEMORY,
     "32 sectors a request where 4 would do", "line 14): neighbouring threads should read neighbouring elements", 14},
    {"uncoalesced stores", GPU, COUNT("'sectors_per_request_store':32") "," SASS("'STG.32':8"),
     COUNT("'sectors_per_request_store':5") "," SASS("'STG.32':8"), KB_LIMIT_MEMORY,
     "32 sectors a request where 4 would do", "should write neighbouring elements", 0},
    {"uncoalesced, counted", CPU,
     FACTS("'bytes':{'global_load':4096,'global_store':128},'global_requests':33,'global_sectors':1028," LINES),
     FACTS("'bytes':{'global_load':4096,'global_store':128},'global_requests':33,'global_sectors':132," LINES),
     KB_LIMIT_MEMORY, "31.2 sectors a request of 4 that its bytes need", "line 28", 28},
    {"narrow loads", GPU,
     COUNT("'sectors_per_request_load':4") "," SASS("'LDG.32':8") "," SAMPLES(WAIT("memory", "0.32")),
     COUNT("'sectors_per_request_load':16") "," SASS("'LDG.32':8,'LDG.128':2") "," SAMPLES(WAIT("memory", "0.32")),
     KB_LIMIT_MEMORY, "4 bytes a thread", "line 14 loads 4 bytes a thread: load 16 (float4)", 14},
    {"narrow accesses, counted", CPU,
     FACTS("'bytes':{'global_load':4096,'global_store':0},'global_requests':32,'global_sectors':128," LINES),
     FACTS("'bytes':{'global_load':4096,'global_store':0},'global_requests':8,'global_sectors':128," LINES),
     KB_LIMIT_MEMORY, "128 bytes a request", "line 28 takes 4 bytes a thread", 28},
    {"few warps", GPU,
     SAMPLES(WAIT("memory", "0.6")) "," KERNEL("'occupancy':0.25,'limited_by':'registers','registers':128,"
                                               "'blocks_per_sm':2,'block_threads':256"),
     SAMPLES(WAIT("memory", "0.6")) "," KERNEL("'occupancy':1,'limited_by':'threads','registers':32"), KB_LIMIT_LATENCY,
     "25% of the warps fit, limited by registers", "128 registers a thread leave room for 2 blocks of 256", 14},
    {"loads in flight", GPU, SAMPLES(WAIT("memory", "0.7")) "," TIME("100") "," COUNT("'dram_bytes':100e6"),
     SAMPLES(WAIT("memory", "0.7")) "," TIME("100") "," COUNT("'dram_bytes':380e6"), KB_LIMIT_LATENCY,
     "70% of the samples wait for memory, but DRAM is at 25%", "in flight at line 14", 14},
    {"fixed latency", GPU, SAMPLES(WAIT("fixed latency", "0.5")), SAMPLES(WAIT("fixed latency", "0.2")),
     KB_LIMIT_LATENCY, "50% of the samples wait the fixed time", "several accumulators", 14},
    {"constant cache", GPU, SAMPLES(WAIT("constant cache", "0.3")), SAMPLES(WAIT("constant cache", "0.1")),
     KB_LIMIT_LATENCY, "30% of the samples wait for constants", "line 14", 14},
    {"barriers", GPU, SAMPLES(WAIT("barrier", "0.4")), SAMPLES(WAIT("barrier", "0.1")), KB_LIMIT_BARRIER,
     "40% of the samples wait at barriers", "line 14: fewer barriers", 14},
    {"bank conflicts", GPU,
     COUNT("'shared_bank_conflicts':31e6,'shared_wavefronts':32e6") "," SAMPLES(WAIT("shared memory", "0.5")),
     COUNT("'shared_bank_conflicts':1e6,'shared_wavefronts':32e6") "," SAMPLES(WAIT("shared memory", "0.2")),
     KB_LIMIT_SHARED, "97% of the turns", "line 14: pad each row", 14},
    {"bank conflicts, counted", CPU, FACTS("'shared_requests':10,'shared_bank_conflicts':31," LINES),
     FACTS("'shared_requests':100,'shared_bank_conflicts':1," LINES), KB_LIMIT_SHARED, "31 further turns",
     "line 28: pad each row", 28},
    {"shared memory queue", GPU, SAMPLES(WAIT("shared memory", "0.5")), SAMPLES(WAIT("shared memory", "0.1")),
     KB_LIMIT_SHARED, "50% of the samples wait for shared memory", "wider accesses", 14},
    {"arithmetic pipe", GPU, SAMPLES(WAIT("arithmetic pipe", "0.4")) "," TIME("100") "," COUNT("'flops_f32':3.6e9"),
     SAMPLES(WAIT("arithmetic pipe", "0.1")), KB_LIMIT_ARITHMETIC, "single precision is at 60%", "fused", 14},
    {"tensor cores", GPU, SAMPLES(WAIT("tensor", "0.5")), SAMPLES(WAIT("tensor", "0.1")), KB_LIMIT_ARITHMETIC,
     "50% of the samples wait for the tensor cores", "larger tiles", 14},
    {"double precision", HOME_GPU, COUNT("'flops_f64':1e6,'flops_f32':1e8"), COUNT("'flops_f64':0,'flops_f32':1e8"),
     KB_LIMIT_ARITHMETIC, "1.00 MFLOP in double beside 100 MFLOP", "line 3 computes in double", 3},
    {"divergence", CPU, FACTS("'instructions':100,'thread_instructions':800," LINES),
     FACTS("'instructions':100,'thread_instructions':3100," LINES), KB_LIMIT_ARITHMETIC, "8 of the 32 lanes", "line 28",
     28},
    {"spills", GPU, KERNEL("'spill_store_bytes':64,'spill_load_bytes':80,'registers':255"),
     KERNEL("'spill_store_bytes':0,'spill_load_bytes':0,'registers':255"), KB_LIMIT_MEMORY, "144 bytes of registers",
     "fewer live values", 0},
    {"local arrays", GPU, KERNEL("'spill_store_bytes':0,'spill_load_bytes':0,'stack_bytes':512"),
     KERNEL("'spill_store_bytes':0,'spill_load_bytes':0,'stack_bytes':0"), KB_LIMIT_MEMORY, "512 bytes of stack",
     "index it by constants", 0},
    {"scheduler", GPU, SAMPLES(WAIT("not selected", "0.3") "," WAIT("dispatch", "0.1")) "," COUNT("'issue_active':90"),
     SAMPLES(WAIT("not selected", "0.1") "," WAIT("dispatch", "0.1")) "," COUNT("'issue_active':50"),
     KB_LIMIT_SCHEDULER, "40% of the samples are of warps that could issue", "fewer instructions", 14},
    {"instruction fetch", GPU, SAMPLES(WAIT("instruction fetch", "0.3")), SAMPLES(WAIT("instruction fetch", "0.1")),
     KB_LIMIT_FETCH, "30% of the samples wait for instructions", "unroll less", 14},
    {"tiny grid", GPU, KERNEL("'blocks':10,'blocks_per_sm':2,'block_threads':256"),
     KERNEL("'blocks':1000,'blocks_per_sm':2,'block_threads':256"), KB_LIMIT_LAUNCH,
     "10 blocks for 100 multiprocessors: 90%", "more blocks", 0},
    {"tail", GPU, KERNEL("'blocks':220,'blocks_per_sm':2,'block_threads':256"),
     KERNEL("'blocks':400,'blocks_per_sm':2,'block_threads':256"), KB_LIMIT_LAUNCH,
     "1.1 waves of blocks (220 blocks, 200 at once): the last is 10% full", "whole waves", 0},
    {"launch overhead", GPU, "{'type':'timing','case':0,'cold':{'median_us':3.1},'call_us':8.2}",
     "{'type':'timing','case':0,'cold':{'median_us':31},'call_us':38}", KB_LIMIT_LAUNCH,
     "runs 3.1 us, a call costs 8.2 us", "fuse", 0},
};

static const char source[] = "// 0.5 in a comment\n__global__ void f(float *x) { x[0] *= 1.5f + 1e3f; } /* double\n*/ "
                             "__device__ float g(float x) { return x * 0.5; }\n";

static cJSON *parse(const char *text)
{
    char *copy = kb_format("%s", text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    cJSON *item = cJSON_Parse(copy);
    if (!item)
        fail_msg("not JSON: %s", copy);
    free(copy);
    return item;
}

struct advised { // and what it borrows from
    cJSON *events;
    struct kb_ev_device *device;
    struct kb_ev_bench *bench;
    struct kb_advice advice;
};

static void advise(const char *device, const char *events, struct advised *out)
{
    struct kb_advice_input in;
    char *list = kb_format("[%s]", events);
    out->events = parse(list);
    cJSON *machine = device ? parse(device) : NULL, *bench = parse("{'args':[{'name':'x','dtype':'f32'}]}");
    out->device = kb_record_new(&kb_record_device, machine);
    out->bench = kb_record_new(&kb_record_bench, bench);
    cJSON_Delete(machine);
    cJSON_Delete(bench);
    kb_advice_gather(out->events, 0, &in);
    in.device = out->device;
    in.bench = out->bench;
    in.source = source;
    kb_advice_make(&in, &out->advice);
    kb_advice_input_free(&in);
    free(list);
}

static void forget(struct advised *a)
{
    kb_advice_free(&a->advice);
    cJSON_Delete(a->events);
    kb_record_delete(&kb_record_device, a->device);
    kb_record_delete(&kb_record_bench, a->bench);
}

static const struct kb_advice_item *said(const struct kb_advice *a, const char *rule)
{
    for (int i = 0; i < a->list_count; i++)
        if (!strcmp(a->list[i].rule, rule))
            return &a->list[i];
    return NULL;
}

static const struct kb_advice_step *step_of(const struct kb_advice *a, const char *rule)
{
    for (int i = 0; i < a->step_count; i++)
        if (!strcmp(a->steps[i].rule, rule))
            return &a->steps[i];
    return NULL;
}

static void contains(const char *rule, const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", rule, text, words);
}

static void rules_apply(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        const struct attempt *t = &tries[i];
        struct advised a;
        advise(t->device, t->yes, &a);
        const struct kb_advice_item *item = said(&a.advice, t->rule);
        const struct kb_advice_step *step = step_of(&a.advice, t->rule);
        if (!item || !step)
            fail_msg("%s: %s", t->rule, item ? "its step is not among the first two" : "does not apply");
        contains(t->rule, item->text, t->evidence);
        contains(t->rule, step->text, t->step);
        if (a.advice.limit != t->limit || step->line != t->line)
            fail_msg("%s: limit %s, line %d", t->rule, kb_limit_name(a.advice.limit), step->line);
        assert_int_not_equal(item->kinds, 0);
        if (!item->number_count)
            fail_msg("%s: a text without numbers for programs", t->rule);
        assert_int_not_equal(a.advice.confidence, KB_CONFIDENCE_NONE);
        forget(&a);
    }
}

static void rules_keep_silent(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        struct advised a;
        advise(tries[i].device, tries[i].no, &a);
        if (said(&a.advice, tries[i].rule))
            fail_msg("%s applies where it should not", tries[i].rule);
        forget(&a);
    }
}

static void every_rule_is_tried(void **state)
{
    (void)state;
    for (int r = 0; r < kb_rule_count; r++) {
        size_t i = 0;
        while (i < KB_COUNT(tries) && strcmp(tries[i].rule, kb_rules[r].name) != 0)
            i++;
        if (i == KB_COUNT(tries))
            fail_msg("the rule %s has no try", kb_rules[r].name);
    }
    assert_int_equal(KB_COUNT(tries), kb_rule_count);
}

static void nothing_is_unknown(void **state)
{
    (void)state;
    struct advised a;
    advise(NULL, "{'type':'rung','rung':'counters','status':'na','reason':'only administrators may'}", &a);
    assert_int_equal(a.advice.limit, KB_LIMIT_UNKNOWN);
    assert_int_equal(a.advice.confidence, KB_CONFIDENCE_NONE);
    assert_int_equal(a.advice.step_count, 0);
    assert_int_equal(a.advice.list_count, 0);
    contains("missing", a.advice.missing, "hardware counters (only administrators may)");
    contains("missing", a.advice.missing, "PC samples");
    contains("missing", a.advice.missing, "a measured time");
    forget(&a);
}

static void unknown_numbers_are_no_evidence(void **state)
{
    (void)state;
    struct advised a;
    advise(
        GPU,
        TIME("100") "," COUNT("'dram_bytes':null,'sectors_per_request_load':null,'issue_active':null") "," KERNEL(
            "'occupancy':null,'registers':null,'blocks':null,'spill_store_bytes':null") "," FACTS("'bytes':{},'lines':["
                                                                                                  "]") "," SAMPLES(""),
        &a);
    assert_int_equal(a.advice.limit, KB_LIMIT_UNKNOWN);
    assert_int_equal(a.advice.step_count, 0);
    forget(&a);
}

static void impossible_times_say_nothing(void **state)
{
    (void)state;
    struct advised a;
    advise(GPU,
           "{'type':'timing','case':0,'cold':{'median_us':1},'roofline':{'impossible':true,'bound':'memory',"
           "'share':9}}," COUNT("'dram_bytes':360e6"),
           &a);
    assert_null(said(&a.advice, "dram roof"));
    contains("missing", a.advice.missing, "impossible");
    forget(&a);
}

static void confidence_counts_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *events;
        enum kb_confidence want;
    } some[] = {
        {TIME("100") "," COUNT("'dram_bytes':380e6"), KB_CONFIDENCE_STRONG},
        {SAMPLES(WAIT("barrier", "0.4")), KB_CONFIDENCE_FAIR},
        {FACTS("'shared_requests':10,'shared_bank_conflicts':31," LINES), KB_CONFIDENCE_WEAK},
        {KERNEL("'spill_store_bytes':64,'spill_load_bytes':80"), KB_CONFIDENCE_WEAK},
    };
    for (size_t i = 0; i < KB_COUNT(some); i++) {
        struct advised a;
        advise(GPU, some[i].events, &a);
        assert_int_equal(a.advice.confidence, some[i].want);
        forget(&a);
    }
}

// Wasted sectors come before everything else, also at the roof: there they are the bytes that can be spared.
static void order_of_the_steps(void **state)
{
    (void)state;
    struct advised a;
    advise(GPU,
           TIME("100") "," COUNT("'dram_bytes':380e6,'sectors_per_request_load':32") "," SASS("'LDG.32':4") "," SAMPLES(
               WAIT("memory", "0.9")) "," KERNEL("'spill_store_bytes':64,'spill_load_bytes':80"),
           &a);
    assert_int_equal(a.advice.limit, KB_LIMIT_MEMORY);
    assert_int_equal(a.advice.step_count, 2);
    assert_string_equal(a.advice.steps[0].rule, "uncoalesced loads");
    assert_string_equal(a.advice.steps[1].rule, "dram roof");
    for (int i = 1; i < a.advice.list_count; i++)
        assert_true(a.advice.list[i - 1].score >= a.advice.list[i].score);
    forget(&a);
}

static void doubles_in_the_source(void **state)
{
    (void)state;
    assert_int_equal(kb_double_line(source), 3);
    assert_int_equal(kb_double_line("float x = 1.f;\nint n = 0x1e5, m = 12;\nx *= 2e-3f;\n"), 0);
    assert_int_equal(kb_double_line("printf(\"%d 1.5 double\\\" 2.5\", n);\nfloat doubles;\n"), 0);
    assert_int_equal(kb_double_line("float x;\nx = x * 1e-5;"), 2);
    assert_int_equal(kb_double_line("\ndouble sum = 0;"), 2);
    assert_int_equal(kb_double_line("#define PI 3.14\n/* 1.0"), 0);
    assert_int_equal(kb_double_line(NULL), 0);
}

// A stage that is measured again replaces itself; other cases' facts are left out.
static void gathering(void **state)
{
    (void)state;
    cJSON *events = parse("[{'type':'counters','stage':'bytes','metrics':{'dram_bytes':1}},"
                          "{'type':'counters','stage':'rest','metrics':{'instructions':7}},"
                          "{'type':'counters','stage':'bytes','metrics':{'dram_bytes':2}},"
                          "{'type':'facts','case':1,'launch':0,'facts':{}},{'type':'facts','case':0,'launch':0},"
                          "{'type':'facts','case':0,'launch':1},{'type':'timing','case':1},{'type':'sass'}]");
    struct kb_advice_input in;
    kb_advice_gather(events, 0, &in);
    assert_int_equal(in.counters_count, 2);
    assert_int_equal(in.facts_count, 2);
    assert_true(kb_metric(&in, "dram_bytes") == 2);
    assert_true(kb_metric(&in, "instructions") == 7);
    assert_null(in.timing);
    assert_non_null(in.sass);
    kb_advice_input_free(&in);
    cJSON_Delete(events);
}

// What the CPU device counted comes in the shape of samples and counters too; it stays counted.
static void counted_is_not_measured(void **state)
{
    (void)state;
    struct advised a;
    advise(
        CPU,
        FACTS("'instructions':100,'thread_instructions':800," LINES) ",{'type':'counters','stage':'all','source':"
                                                                     "'counted "
                                                                     "(PTX)','metrics':{'threads_per_instruction':8,'"
                                                                     "shared_bank_conflicts':31,"
                                                                     "'shared_wavefronts':32,'flops_f64':1}},{'type':'"
                                                                     "sections','source':'counted (PTX)','functions':["
                                                                     "{'name':'f','samples':null,'stalls':[]}],'lines':"
                                                                     "[{'file':'k.cu','line':3,'instructions':5}]},"
                                                                     "{'type':'rung','rung':'counters','status':'pass',"
                                                                     "'reason':'counted (PTX)'}",
        &a);
    assert_int_equal(a.advice.list_count, 1);
    assert_int_equal(a.advice.list[0].kinds, KB_EVIDENCE_COUNTED);
    assert_int_equal(a.advice.confidence, KB_CONFIDENCE_WEAK);
    contains("missing", a.advice.missing, "hardware counters (the CPU device has none)");
    contains("missing", a.advice.missing, "PC samples (the CPU device has none)");
    forget(&a);
}

static void as_json(void **state)
{
    (void)state;
    struct advised a;
    advise(GPU, tries[3].yes, &a);
    cJSON *o = kb_advice_json(&a.advice), *step = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "steps"), 0);
    assert_string_equal(kb_json_text(o, "limit", ""), "memory");
    assert_string_equal(kb_json_text(o, "confidence", ""), "strong");
    assert_int_equal(kb_json_int(step, "line", 0), 14);
    assert_string_equal(kb_json_text(step, "file", ""), "k.cu");
    assert_string_equal(kb_json_text(step, "instruction", ""), "LDG");
    assert_int_equal(
        cJSON_GetArraySize(kb_json_get(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "evidence"), 0), "sources")), 3);
    const cJSON *first = cJSON_GetArrayItem(kb_json_get(o, "evidence"), 0), *numbers = kb_json_get(first, "numbers");
    assert_string_equal(kb_json_text(first, "limit", ""), "memory");
    assert_true(kb_json_number(numbers, "sectors_per_request", 0) > kb_json_number(numbers, "sectors_needed", 1e9));
    cJSON_Delete(o);
    forget(&a);
}

static void a_step_names_its_line_once(void **state)
{
    (void)state;
    const char *text = "line 14 takes 4 bytes a thread";
    assert_string_equal(kb_step_words(text, 14), "takes 4 bytes a thread");
    assert_string_equal(kb_step_words(text, 1), text);
    assert_string_equal(kb_step_words(text, 0), text);
    assert_string_equal(kb_step_words("fewer registers", 14), "fewer registers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_apply),
        cmocka_unit_test(a_step_names_its_line_once),
        cmocka_unit_test(rules_keep_silent),
        cmocka_unit_test(every_rule_is_tried),
        cmocka_unit_test(nothing_is_unknown),
        cmocka_unit_test(unknown_numbers_are_no_evidence),
        cmocka_unit_test(impossible_times_say_nothing),
        cmocka_unit_test(confidence_counts_kinds),
        cmocka_unit_test(order_of_the_steps),
        cmocka_unit_test(doubles_in_the_source),
        cmocka_unit_test(gathering),
        cmocka_unit_test(counted_is_not_measured),
        cmocka_unit_test(as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
