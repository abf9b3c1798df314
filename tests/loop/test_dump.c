// Dumps: folders out of a history on disk, and the report of a record.
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "loop/dump.h"
#include "loop/history.h"
#include "loop/support_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char results[] =
    "{'status':'pass','contract':'c0ffee','seed':'7','utc':'2026-11-30T12:00:00Z',"
    "'device':{'kind':'cuda','name':'H200','driver':'580','sm_count':132,'peak':{'dram_bytes_per_s':4.8e12}},"
    "'compiled':{'compiler':'nvrtc','compiler_version':'13.0','arch':'sm_90','options':['-lineinfo'],"
    "'kernels':[{'name':'softmax'}]},'events':["
    "{'type':'rung','rung':'compile','status':'running','ms':null,'reason':null},"
    "{'type':'rung','rung':'compile','status':'pass','ms':30.5,'reason':null},"
    "{'type':'rung','rung':'counters','status':'pass','ms':200,'reason':null},"
    "{'type':'errors','errors':[{'file':'k.cu','line':4,'severity':'warning','text':'<b>unused|x</b>'}]},"
    "{'type':'resources','kernels':[{'name':'softmax','registers':40,'spill_store_bytes':0,'spill_load_bytes':0,"
    "'block_threads':256,'blocks':4096,'blocks_per_sm':8,'occupancy':1,'limited_by':'threads'}]},"
    "{'type':'case','rung':'verify','case':0,'label':'4096 x 4096','status':'pass','outputs':[{'arg':'y','status':"
    "'pass','tolerance':{'metric':'scaled','bound':1.5e-5},'metrics':{'max_abs':2e-7,'mismatches':0}}]},"
    "{'type':'case','rung':'verify','case':1,'label':'37 x 3','status':'fail','reason':'3 wrong','outputs':[{'arg':'y',"
    "'status':'fail','tolerance':null,'metrics':{'max_abs':0.5,'max_rel':null,'mismatches':3}}]},"
    "{'type':'timing','case':0,'cold':{'median_us':34.1,'low_us':34,'high_us':34.3,'samples':90},'warm':null,"
    "'warm_reason':'not asked','call_us':41,'source':'cupti','roofline':{'flops':8.4e7,'bytes':1.342e8,"
    "'intensity':0.625,'attained_flops':2.46e12,'attained_bytes_per_s':3.94e12,'bound':'memory','share':0.82,"
    "'floor_us':27.9,'impossible':false,'source':'declared'}},"
    "{'type':'versus','case':0,'baseline':{'variant':'naive','version':2},'ratio':0.5,'low':0.49,'high':0.51,"
    "'verdict':'FASTER','paired':true},"
    "{'type':'sections','source':'cupti pc sampling','samples':900,'dropped':0,'attribution':'share x time',"
    "'sections':[{'name':'load','line':10,'end_line':20,'samples':900,'share':0.6,'us':20.5,'stalls':[{'group':"
    "'memory','share':0.8}]}],'lines':[{'file':'k.cu','line':14,'samples':500,'stalls':[{'group':'memory','share':0.9}]"
    "}]},"
    "{'type':'counters','stage':'bytes','source':'cupti range profiler','passes':1,'cold':true,'metrics':{'dram_bytes':"
    "1.34e8,'l2_bytes':null,'l2_bytes_reason':'the chip lacks it'},'about':{'dram_bytes':{'unit':'byte','peak':"
    "'dram_bytes_per_s','about':'read and written'}},'peaks':{'dram_bytes_per_s':4.8e12}},"
    "{'type':'sass','kernels':[{'name':'softmax','instructions':321,'live_registers_peak':33,'by_class':{'LDG.128':12}}"
    "]},"
    "{'type':'goal','text':'MET: 82% of the roof'},{'type':'done','status':'pass','rung':null}]}";

static cJSON *parse(const char *text)
{
    char *copy = kb_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    cJSON *item = cJSON_Parse(copy);
    if (!item)
        fail_msg("not JSON: %s", text);
    free(copy);
    return item;
}

static void has(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static cJSON *record_of(const char *variant, const char *key)
{
    cJSON *record = cJSON_CreateObject();
    kb_json_set_text(record, "key", key);
    kb_json_set_text(record, "variant", variant);
    kb_json_set_text(record, "source", "cu/k.cu");
    return record;
}

static void claim(struct kb_history *h, const char *variant, const char *key)
{
    static const struct kb_history_object objects[] = {{"source", "// the source\n", 14},
                                                       {"header:../up.h", "// up\n", 6},
                                                       {"header:inc/h.h", "// h\n", 5},
                                                       {"header:/etc/x.h", "// x\n", 5},
                                                       {"ptx", ".version 8.0\n", 13},
                                                       {"sass", "LDG\n", 4},
                                                       {"samples", "{}", 2}};
    struct kb_error e = {0};
    cJSON *record = record_of(variant, key), *after = parse(results);
    int n = kb_history_claim(h, variant, record, objects, KB_COUNT(objects), NULL, &e);
    if (n < 0 || kb_history_update(h, variant, n, after, NULL, 0, &e))
        fail_msg("%s", kb_error_line(&e));
    cJSON_Delete(record);
    cJSON_Delete(after);
}

// A bench without bench.json, whose history holds two versions of one variant and one of another, oddly named.
static char *bench(void)
{
    struct kb_history *h;
    struct kb_error e = {0};
    char *dir = disk_scratch();
    if (kb_history_open(dir, true, &h, &e))
        fail_msg("%s", kb_error_line(&e));
    claim(h, "tuned", "k1");
    claim(h, "tuned", "k2");
    claim(h, "../odd/name", "k3");
    kb_history_close(h);
    return dir;
}

static void every_newest(void **state)
{
    (void)state;
    char *dir = bench(), *out = kb_path_join(dir, "dumps");
    struct kb_text said = {0};
    struct kb_error e = {0};
    if (kb_dump(dir, NULL, out, &said, &e))
        fail_msg("%s", kb_error_line(&e));
    has(said.data, "tuned@2: 10 files");
    has(said.data, "odd_name@1: 10 files");
    static const char *const files[][2] = {
        {"tuned@2/k.cu", "// the source"},   {"tuned@2/headers/up/up.h", "// up"},
        {"tuned@2/headers/inc/h.h", "// h"}, {"tuned@2/headers/etc/x.h", "// x"},
        {"tuned@2/kernel.ptx", ".version"},  {"tuned@2/kernel.sass", "LDG"},
        {"tuned@2/samples.json", "{}"},      {"tuned@2/resources.json", "\"registers\":"},
        {"tuned@2/results.json", "c0ffee"},  {"tuned@2/report.md", "## What limits it"}};
    for (size_t i = 0; i < KB_COUNT(files); i++) {
        char *text = disk_get(out, files[i][0]);
        if (!text)
            fail_msg("%s is not there", files[i][0]);
        has(text, files[i][1]);
        free(text);
    }
    char *older = disk_get(out, "tuned@1/report.md"), *outside = disk_get(dir, "up.h");
    assert_null(older);
    assert_null(outside);
    kb_text_free(&said);
    free(out);
    disk_remove(dir);
}

static void one_version(void **state)
{
    (void)state;
    char *dir = bench(), *out = kb_path_join(dir, "a/b");
    struct kb_text said = {0};
    struct kb_error e = {0};
    assert_int_equal(kb_dump(dir, "tuned@1", out, &said, &e), 0);
    char *text = disk_get(out, "tuned@1/report.md");
    assert_non_null(text);
    has(text, "/ tuned, version 1");
    has(text, "- kernel.ptx");
    free(text);
    assert_int_equal(kb_dump(dir, "tuned", out, &said, &e), 0);
    assert_non_null(text = disk_get(out, "tuned@2/report.md"));
    free(text);
    assert_int_equal(kb_dump(dir, "tuned@1", out, &said, &e), -1);
    has(kb_error_line(&e), "it is there already");
    kb_text_free(&said);
    free(out);
    disk_remove(dir);
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *which, *words;
    } tries[] = {{"nosuch", "no version of it"},   {"tuned@9", "cannot read"},      {"tuned@", "names no version"},
                 {"tuned@1x", "names no version"}, {"tuned@0", "names no version"}, {"@1", "names no version"}};
    char *dir = bench(), *out = kb_path_join(dir, "dumps"), *empty = disk_scratch();
    struct kb_text said = {0};
    for (size_t i = 0; i < KB_COUNT(tries); i++) {
        struct kb_error e = {0};
        assert_int_equal(kb_dump(dir, tries[i].which, out, &said, &e), -1);
        has(kb_error_line(&e), tries[i].words);
    }
    struct kb_error e = {0};
    assert_int_equal(kb_dump(empty, NULL, out, &said, &e), -1);
    has(kb_error_line(&e), "it holds no version");
    assert_int_equal(kb_dump("/no/such/bench", NULL, out, &said, &e), -1);
    has(kb_error_line(&e), "it is not there");
    assert_int_equal(said.size, 0);
    free(out);
    disk_remove(dir);
    disk_remove(empty);
}

static char *report_of(cJSON *record)
{
    static const char *const files[] = {"k.cu"};
    struct kb_report_context context = {.bench_name = "softmax", .files = files, .file_count = 1};
    struct kb_text out = {0};
    kb_dump_report(record, &context, &out);
    cJSON_Delete(record);
    return kb_text_take(&out);
}

static void whole_report(void **state)
{
    (void)state;
    static const char *const words[] = {
        "# softmax / tuned, version 0",
        "compiled by: nvrtc 13.0 for sm_90 -lineinfo",
        "device: H200, driver 580",
        "**pass**. Goal: MET: 82% of the roof.",
        "| compile | pass | 30.5 | - |",
        "k.cu:4: warning: \\<b\\>unused\\|x\\</b\\>",
        "| 4096 x 4096 | y | pass | 2e-07 |",
        "| 37 x 3 | y | fail | 0.5 | - |",
        "| 34.1 (34 to 34.3, 90 samples) | unknown: not asked | 41 | cupti |",
        "FASTER than naive version 2: time ratio 0.5 (0.49 to 0.51), runs of both taken in turn.",
        "82% of that roof; at most 1.22 x is left",
        "Source of bytes and FLOPs: declared",
        "By hardware counters DRAM moved 134 MB, 0.999 x that.",
        "Dominant limit: **memory** (evidence: strong)",
        "DRAM moves 3.93 TB/s, 82% of its peak of 4.80 TB/s (timed, hardware counters)",
        "1. at the roof: move fewer bytes",
        "| load | 10-20 | 60% | 20.5 | memory 80% |",
        "| k.cu:14 | 500 | memory 90% |",
        "| dram_bytes | 134M byte | 82% | read and written |",
        "| l2_bytes | the chip lacks it | - | - |",
        "- softmax: registers 40,",
        "321 instructions, at most 33 registers live at once",
        "LDG.128 12.",
        "- k.cu",
    };
    cJSON *record = record_of("tuned", "k");
    kb_json_set(record, "results", parse(results));
    char *text = report_of(record);
    for (size_t i = 0; i < KB_COUNT(words); i++)
        has(text, words[i]);
    assert_null(strstr(text, "running"));
    assert_null(strstr(text, " nan"));
    free(text);
}

static void report_of_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"**unknown**",
                                        "Unknown: nothing was run",
                                        "Unknown: it was not timed",
                                        "Dominant limit: **unknown**",
                                        "Missing for more: a measured time",
                                        "Unknown: nothing was compiled"};
    char *text = report_of(record_of("a\nb|c\033[31m", "k"));
    for (size_t i = 0; i < KB_COUNT(words); i++)
        has(text, words[i]);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, " nan"));
    free(text);
}

static void report_of_a_failure(void **state)
{
    (void)state;
    cJSON *record = record_of("tuned", "k");
    kb_json_set(record, "results",
                parse("{'status':'fail','events':[{'type':'rung','rung':'sections','status':'na','reason':'busy'},"
                      "{'type':'timing','case':0,'cold':{'median_us':1},'roofline':{'bound':'memory','share':0.9,"
                      "'impossible':true}},{'type':'done','status':'fail','rung':'verify'}]}"));
    char *text = report_of(record);
    has(text, "**fail** at verify.");
    has(text, "The measured time is impossible");
    has(text, "Unknown: busy.");
    has(text, "make it right before it is made fast");
    has(text, "Dominant limit: **unknown**");
    free(text);
}

static void report_of_a_race(void **state)
{
    (void)state;
    cJSON *record = record_of("tuned", "k");
    kb_json_set(
        record, "results",
        parse("{'status':'fail','events':[{'type':'timing','case':0,'cold':{'median_us':34.1}},{'type':'goal',"
              "'text':'goal MET'},{'type':'done','status':'pass','rung':null},{'type':'findings','rung':'races',"
              "'label':'37 x 3','findings':[{'kind':'race','text':'thread 1 reads s','file':'k.cu','line':9}]},"
              "{'type':'done','status':'fail','rung':'races'}]}"));
    char *text = report_of(record);
    has(text, "**fail** at races.");
    has(text, "- k.cu:9: race: thread 1 reads s (races, case 37 x 3)");
    assert_null(strstr(text, "34.1")); // a wrong version has no speed
    assert_null(strstr(text, "MET"));
    free(text);
}

static void report_of_counts(void **state)
{
    (void)state;
    cJSON *record = record_of("tuned", "k");
    kb_json_set(record, "results",
                parse("{'status':'pass','events':[{'type':'facts','case':0,'facts':{'instructions':7}},"
                      "{'type':'sections','source':'counted (PTX)','attribution':'by line','functions':[{'name':'f',"
                      "'share':1,'samples':null,'us':null,'stalls':[]}],'lines':[{'file':'k.cu','line':3,"
                      "'instructions':5}]},{'type':'counters','source':'counted (PTX)','metrics':{'instructions':7},"
                      "'about':{'instructions':{'unit':'warp instructions'}}}]}"));
    char *text = report_of(record);
    has(text, "Source: counted (PTX); by line.");
    has(text, "| line | instructions | waits |");
    has(text, "| k.cu:3 | 5 | - |");
    has(text, "Source: counted (PTX).");
    has(text, "| instructions | 7 warp instructions |");
    assert_null(strstr(text, "samples by"));
    assert_null(strstr(text, "Counted exactly")); // said once
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_newest),     cmocka_unit_test(one_version),       cmocka_unit_test(mistakes),
        cmocka_unit_test(whole_report),     cmocka_unit_test(report_of_nothing), cmocka_unit_test(report_of_a_failure),
        cmocka_unit_test(report_of_a_race), cmocka_unit_test(report_of_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
