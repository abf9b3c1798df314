// The floor under the loop: the same compile and the same list of device work as one save makes, in one bare process,
// with no pipes, no session, no watching. Prints {"first_ms": [...], "compile_ms": [...]}.
//
// usage: bench-floor BENCH VARIANT SAVES [PAUSE_MS]: pauses of half to one and a half times PAUSE_MS between saves
#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "bench/rungs.h"
#include "speed/speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static cJSON *request_of(const char *type, const char *key)
{
    cJSON *head = kb_frame_head(type, 1);
    kb_json_set_text(head, "version", key);
    return head;
}

// One save: what the loop does up to its first verdict. Returns the time of the compile, in ms.
static double one_save(struct speed *s, const char *text, const char *key)
{
    struct kb_compiled c;
    int64_t begun = kb_now_us();
    speed_compile(s, s->variant, text, &c);
    double took = (double)(kb_now_us() - begun) / 1000;
    speed_check(s, &c, key);
    speed_serve(s, run_run, request_of("run", key), NULL);
    speed_serve(s, run_verify, request_of("verify", key), NULL);
    cJSON *timing = request_of("time", key);
    kb_json_set(timing, "against", cJSON_CreateArray());
    kb_json_set(timing, "cases", cJSON_CreateArray());
    kb_json_set_number(timing, "budget_ms", KB_FIRST_BUDGET_MS);
    kb_json_set_text(timing, "stage", "first");
    speed_serve(s, run_time, timing, NULL);
    kb_compiled_free(&c);
    return took;
}

static void add_number(cJSON *list, double value)
{
    cJSON_AddItemToArray(list, cJSON_CreateNumber(value));
}

// A processor that has rested is slower at first: the floor rests between saves as the loop does between keys.
static void rest(int pause_ms, int save)
{
    int ms = pause_ms / 2 + pause_ms * ((save + 2) % 5) / 4;
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    struct speed s;
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bench-floor BENCH VARIANT SAVES [PAUSE_MS]\n");
        return 2;
    }
    speed_open(&s, "bench-floor", argv[1], argv[2]);
    cJSON *record = cJSON_CreateObject(), *first = cJSON_AddArrayToObject(record, "first_ms"),
          *compiles = cJSON_AddArrayToObject(record, "compile_ms");
    int saves = atoi(argv[3]), pauses = argc == 5 ? atoi(argv[4]) : 0;
    for (int i = -2; i < saves; i++) { // two to warm up
        char *edited = kb_format("%s\n// save %d\n", s.text, i), *key = kb_format("k%d", i);
        int64_t begun = kb_now_us();
        double compiling = one_save(&s, edited, key);
        double whole = (double)(kb_now_us() - begun) / 1000;
        speed_serve(&s, run_idle, kb_frame_head("idle", 2), NULL); // as the loop does between saves
        rest(pauses, i);
        if (i >= 0) {
            add_number(first, whole);
            add_number(compiles, compiling);
        }
        free(edited);
        free(key);
    }
    char *line = kb_json_line(record);
    dprintf(s.out, "%s\n", line);
    return 0;
}
