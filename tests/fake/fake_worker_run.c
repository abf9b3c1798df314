// The fake worker's answers to what a device would run, time and sample. How it is told: fake_worker.c.
#include "base/memory.h"
#include "base/text.h"
#include "bench/rungs.h"
#include "fake_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct program {
    char *key, *text;
} programs[256];
static int program_count;

static const char *text_of(const char *key)
{
    for (int i = program_count - 1; i >= 0; i--)
        if (!strcmp(programs[i].key, key))
            return programs[i].text;
    return "//fake: run=fail\n//fake: verify=fail\n//fake: time=fail\n";
}

static void resources(int64_t job)
{
    cJSON *head = kb_frame_head("resources", job), *list = cJSON_AddArrayToObject(head, "kernels");
    cJSON *k = cJSON_CreateObject();
    kb_json_set_text(k, "name", "k");
    kb_json_set_number(k, "registers", 32);
    kb_json_set_number(k, "spill_store_bytes", 0);
    kb_json_set_number(k, "spill_load_bytes", 0);
    kb_json_set_number(k, "shared_bytes", 0);
    kb_json_set_number(k, "stack_bytes", 0);
    kb_json_set_number(k, "occupancy", 0.75);
    cJSON_AddItemToArray(list, k);
    send_frame(head, NULL, 0);
}

static void case_result(int64_t job, const char *name, const char *status)
{
    cJSON *head = kb_frame_head("case", job), *list, *output = cJSON_CreateObject(), *metrics = cJSON_CreateObject();
    bool bad = !strcmp(status, "fail");
    kb_json_set_text(head, "rung", name);
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "label", "64");
    kb_json_set_text(head, "status", status);
    kb_json_set_text(head, "reason", bad ? "7 of 64 elements are wrong" : NULL);
    list = cJSON_AddArrayToObject(head, "outputs");
    kb_json_set_text(output, "arg", "y");
    kb_json_set_number(metrics, "max_abs", bad ? 3.5 : 1e-7);
    kb_json_set_number(metrics, "scaled", bad ? 900 : 0.25);
    kb_json_set_number(metrics, "mismatches", bad ? 7 : 0);
    kb_json_set(output, "metrics", metrics);
    cJSON_AddItemToArray(list, output);
    if (bad) {
        cJSON *failure = cJSON_AddObjectToObject(head, "failure");
        kb_json_set_text(failure, "set", "12");
        kb_json_set_number(failure, "calls", 3);
    }
    send_frame(head, NULL, 0);
}

static void exported(const struct kb_frame *f)
{
    const cJSON *failure = kb_json_get(f->head, "failure");
    char *text = kb_format("// set %s, %d calls, case %d\nint main()\n{\n}\n", kb_json_text(failure, "set", "?"),
                           (int)kb_json_int(failure, "calls", 0), (int)kb_json_int(f->head, "case", -1));
    send_frame(kb_frame_head("exported", kb_frame_job(f)), text, strlen(text));
    free(text);
}

// KB_FAKE_PERMISSION = hash of what is to be allowed: asked for until it is written down.
static void ask_permission(const struct kb_frame *f)
{
    const char *hash = getenv("KB_FAKE_PERMISSION"), *state = getenv("XDG_STATE_HOME");
    char *path = kb_format("%s/kbench/allowed/%s", state ? state : "", hash ? hash : "");
    if (hash && access(path, F_OK)) {
        cJSON *head = kb_frame_head("permission", kb_frame_job(f));
        kb_json_set_text(head, "hash", hash);
        cJSON *words = cJSON_AddArrayToObject(head, "command");
        cJSON_AddItemToArray(words, cJSON_CreateString("sh"));
        cJSON_AddItemToArray(words, cJSON_CreateString("ref.sh"));
        kb_json_set_text(head, "line", "sh ref.sh");
        kb_json_set_text(head, "dir", kb_json_text(f->head, "dir", NULL));
        send_frame(head, NULL, 0);
    }
    free(path);
}

// What the command says is its second word; false: the answer was given.
static bool report(const struct kb_frame *f)
{
    const cJSON *word = cJSON_GetArrayItem(kb_json_get(f->head, "command"), 1);
    const char *says = word ? word->valuestring : "";
    const char *status = obey(says, kb_frame_job(f));
    if (status && strcmp(status, "pass"))
        done(kb_frame_job(f), status, "it was told to", false);
    if (!status || strcmp(status, "pass"))
        return false;
    cJSON *head = kb_frame_head("reported", kb_frame_job(f));
    kb_json_set_number(head, "case", kb_json_number(f->head, "case", -1));
    kb_json_set_number(head, "us", atof(says));
    kb_json_set_bool(head, "right", true);
    send_frame(head, NULL, 0);
    return true;
}

static double microseconds(const char *key)
{
    char *word = directive(text_of(key), "time");
    double us = atof(word);
    free(word);
    return us > 0 ? us : 10;
}

static void timing(int64_t job, const char *stage, double us)
{
    cJSON *head = kb_frame_head("timing", job), *cold = cJSON_CreateObject(), *roofline = cJSON_CreateObject();
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "stage", stage);
    kb_json_set_number(cold, "median_us", us);
    kb_json_set_number(cold, "low_us", us * 0.99);
    kb_json_set_number(cold, "high_us", us * 1.01);
    kb_json_set_number(cold, "samples", 20);
    kb_json_set(head, "cold", cold);
    kb_json_set(head, "warm", cJSON_Duplicate(cold, true));
    kb_json_set_text(head, "source", "cupti");
    kb_json_set_number(roofline, "share", 5 / us);
    kb_json_set_bool(roofline, "impossible", false);
    kb_json_set(head, "roofline", roofline);
    send_frame(head, NULL, 0);
}

static void versus(int64_t job, const char *stage, double us, const char *key)
{
    cJSON *head = kb_frame_head("versus", job);
    double ratio = us / microseconds(key);
    kb_json_set_text(head, "against", key);
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "stage", stage);
    kb_json_set_number(head, "ratio", ratio);
    kb_json_set_number(head, "low", ratio * 0.99);
    kb_json_set_number(head, "high", ratio * 1.01);
    kb_json_set_text(head, "verdict", ratio < 0.99 ? "FASTER" : ratio > 1.01 ? "SLOWER" : "SAME");
    send_frame(head, NULL, 0);
}

static void take_time(const struct kb_frame *f, const char *key)
{
    const char *stage = kb_json_text(f->head, "stage", "?");
    const cJSON *other;
    const char *device = getenv("KB_FAKE_DEVICE");
    if (device && !strcmp(device, "cpu")) {
        done(kb_frame_job(f), "na", "the CPU's time says nothing about a GPU's", false);
        return;
    }
    char *word = directive(text_of(key), stage);
    bool fails = !strcmp(word, "fail");
    free(word);
    if (fails) {
        done(kb_frame_job(f), "fail", "it remembers", false);
        return;
    }
    timing(kb_frame_job(f), stage, microseconds(key));
    cJSON_ArrayForEach (other, kb_json_get(f->head, "against"))
        versus(kb_frame_job(f), stage, microseconds(key), other->valuestring);
    done(kb_frame_job(f), "pass", NULL, false);
}

static void keep_program(const struct kb_frame *f)
{
    const char *key = kb_json_text(f->head, "version", "");
    if (program_count < (int)KB_COUNT(programs))
        programs[program_count++] = (struct program){kb_strdup(key), kb_strdup(f->blob ? f->blob : "")};
}

static void finding(cJSON *list, const char *kind, bool fails, int line)
{
    cJSON *item = cJSON_CreateObject();
    kb_json_set_text(item, "kind", kind);
    kb_json_set_bool(item, "fails", fails);
    kb_json_set_text(item, "kernel", "a");
    kb_json_set_text(item, "text", "thread 33 reads s[5], which thread 0 wrote at a.cu:11");
    kb_json_set_text(item, "file", "/a.cu");
    kb_json_set_number(item, "line", line);
    kb_json_set_number(item, "count", 3);
    cJSON_AddItemToArray(list, item);
}

static void findings(int64_t job, const char *name)
{
    cJSON *head = kb_frame_head("findings", job), *list = cJSON_AddArrayToObject(head, "findings");
    kb_json_set_text(head, "rung", name);
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "label", "64");
    finding(list, "race_in_warp", false, 12);
    finding(list, "race", true, 14);
    kb_json_set_number(head, "left_out", 0);
    send_frame(head, NULL, 0);
}

static void run_rung(const struct kb_frame *f, const char *name)
{
    const char *key = kb_json_text(f->head, "version", "");
    bool other = !strcmp(role, "races") && !strcmp(name, "check");
    char *word = directive(text_of(key), other ? "races-check" : name);
    const char *status = obey(word, kb_frame_job(f));
    if (!strcmp(name, "check") && status)
        resources(kb_frame_job(f));
    if (status && (!strcmp(name, "run") || !strcmp(name, "verify")))
        case_result(kb_frame_job(f), name, status);
    if (status && !strcmp(name, "races") && !strcmp(status, "fail"))
        findings(kb_frame_job(f), name);
    if (status && !strcmp(name, "time") && !strcmp(status, "pass"))
        take_time(f, key);
    else if (status)
        done(kb_frame_job(f), status, strcmp(status, "pass") ? "it was told to" : NULL, false);
    free(word);
}

static void fail_prepare(int64_t job, const char *how)
{
    cJSON *head;
    if (!strcmp(how, "reference")) {
        head = kb_frame_head("done", job);
        kb_json_set_text(head, "status", "fail");
        kb_json_set_text(head, "reason", "ref: the reference itself fails: an illegal address, at reference.cu:3");
        kb_json_set_text(head, "fault_of", "reference");
        kb_json_set_bool(head, "poisoned", true);
        send_frame(head, NULL, 0);
        exit(0);
    }
    if (!strcmp(how, "reference-hangs")) {
        head = kb_frame_head("reference", job);
        kb_json_set_number(head, "case", 0);
        kb_json_set_text(head, "label", "64");
        kb_json_set_text(head, "state", "running");
        send_frame(head, NULL, 0);
        how = "hang";
    }
    obey(how, job);
    done(job, "fail", "it was told to", false);
}

void run(const struct kb_frame *f)
{
    const char *type = kb_frame_type(f), *prepare = getenv("KB_FAKE_PREPARE"), *idle = getenv("KB_FAKE_IDLE");
    int64_t job = kb_frame_job(f);
    note(type, kb_json_text(f->head, "version", "-"));
    if (!strcmp(type, "cancel"))
        return;
    if (!strcmp(type, "check"))
        keep_program(f);
    if (kb_rung_parse(type) >= 0) {
        run_rung(f, type);
    } else if (!strcmp(type, "prepare") && prepare) {
        fail_prepare(job, prepare);
    } else {
        if (!strcmp(type, "idle") && idle)
            obey(idle, job);
        if (!strcmp(type, "roofs"))
            send_frame(kb_frame_head("roofs", job), NULL, 0);
        if (!strcmp(type, "prepare"))
            ask_permission(f);
        if (!strcmp(type, "report") && !report(f))
            return;
        if (!strcmp(type, "export"))
            exported(f);
        done(job, "pass", NULL, false);
    }
}

// Profiling

static void refuse(int64_t job)
{
    cJSON *head = kb_frame_head("done", job);
    kb_json_set_text(head, "status", "na");
    kb_json_set_text(head, "reason", "another profiler holds the hardware");
    kb_json_set_text(head, "remedy", "end it, then retry");
    kb_json_set_bool(head, "held", false);
    send_frame(head, NULL, 0);
}

static void sections_frame(int64_t job)
{
    static const char pcs[] = "{\"kernels\":[{\"name\":\"k\",\"pcs\":[[16,30,\"memory\"],[32,10,\"issuing\"]]}],"
                              "\"pcs_left_out\":0}";
    cJSON *head = kb_frame_head("sections", job), *list = cJSON_AddArrayToObject(head, "sections"),
          *section = cJSON_CreateObject();
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "source", "cupti pc sampling");
    kb_json_set_number(head, "samples", 40);
    kb_json_set_text(section, "name", "load");
    kb_json_set_text(section, "file", "/a.cu");
    kb_json_set_number(section, "line", 4);
    kb_json_set_number(section, "end_line", 9);
    kb_json_set_number(section, "share", 0.75);
    cJSON_AddItemToArray(list, section);
    send_frame(head, pcs, sizeof pcs - 1);
}

static void counters_frame(int64_t job, const char *stage)
{
    bool bytes = !strcmp(stage, "bytes");
    cJSON *head = kb_frame_head("counters", job), *metrics = cJSON_AddObjectToObject(head, "metrics");
    kb_json_set_number(head, "case", 0);
    kb_json_set_text(head, "stage", stage);
    kb_json_set_text(head, "source", "cupti range profiler");
    kb_json_set_number(metrics, bytes ? "dram_bytes" : "instructions", bytes ? 4096 : 77);
    send_frame(head, NULL, 0);
}

void profile(const struct kb_frame *f)
{
    const char *type = kb_frame_type(f), *key = kb_json_text(f->head, "version", "-");
    int64_t job = kb_frame_job(f);
    char *name =
        !strcmp(type, "counters") ? kb_format("%s %s", kb_json_text(f->head, "stage", "?"), key) : kb_strdup(key);
    note(type, name);
    free(name);
    if (!strcmp(type, "cancel"))
        return;
    if (!strcmp(type, "check"))
        keep_program(f);
    if (!strcmp(type, "hold") && getenv("KB_FAKE_HOLD")) {
        refuse(job);
        return;
    }
    if (strcmp(type, "sections") && strcmp(type, "counters")) {
        done(job, "pass", NULL, false);
        return;
    }
    char *word = directive(text_of(key), type);
    const char *status = obey(word, job);
    if (!strcmp(word, "refuse")) {
        refuse(job);
    } else if (status) {
        if (!strcmp(status, "pass") && !strcmp(type, "sections"))
            sections_frame(job);
        else if (!strcmp(status, "pass"))
            counters_frame(job, kb_json_text(f->head, "stage", "?"));
        done(job, status, strcmp(status, "pass") ? "it was told to" : NULL, false);
    }
    free(word);
}
