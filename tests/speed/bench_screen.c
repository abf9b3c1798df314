// How long the screen's thread is held by code panes with very long contents: listings, diffs, sources. Prints the time
// of each step, of this thread alone (other work on the machine does not count); asserts nothing.
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "jit/sass_diff.h"
#include "tui/app.h"
#include "tui/code_read.h"
#include "tui/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMNS = 160, ROWS = 50, TURNS = 5 };

static struct kb_model model;
static struct kb_app app;
static char *listing, *other, *source, *samples;
static struct kb_code_read code, sampled, compared; // as the other thread reads them

static void answer(void *context, const struct kb_code_request *r, struct kb_code_answer *out)
{
    (void)context;
    *out = (struct kb_code_answer){.edition = 1};
    if (r->against)
        out->diff = compared.diff;
    else if (r->kind == KB_CODE_SASS)
        out->listing = code.listing;
    else if (r->kind == KB_CODE_SAMPLES)
        out->samples = sampled.samples;
    else
        out->text = source;
    out->size = out->text ? strlen(out->text) : 0;
}

// A listing of so many instructions in one kernel, with source lines and live registers; every 7th differs by `salt`.
static char *make_listing(int instructions, int salt)
{
    struct kb_text t = {0};
    kb_text_add(&t, "\t.target\tsm_90\n\n//--------------------- .text.k --------------------------\n"
                    "\t.section\t.text.k,\"ax\",@progbits\n\t.align\t128\n        .global         k\nk:\n.text.k:\n");
    for (int i = 0; i < instructions; i++) {
        if (i % 4 == 0)
            kb_text_addf(&t, "\t//## File \"/naive.cu\", line %d\n", i / 8 + 1);
        if (i % 40 == 0)
            kb_text_addf(&t, ".L_x_%d:\n", i / 40);
        if (i % 40 == 39)
            kb_text_addf(&t, "        /*%04x*/              @P0 BRA `(.L_x_%d) ;  // |  %2d  |       1  |\n", 16 * i,
                         i / 40, i % 60);
        else if (i % 7 == 0 && salt)
            kb_text_addf(&t, "        /*%04x*/                   FMUL R%d, R%d, %d.5 ;  // |  %2d  |       1  |\n",
                         16 * i, i % 200, (i + 1) % 200, salt, i % 60);
        else
            kb_text_addf(&t, "        /*%04x*/                   FFMA R%d, R%d, R%d, R%d ;  // |  %2d  |       1  |\n",
                         16 * i, i % 200, (i + 1) % 200, (i + 2) % 200, i % 200, i % 60);
    }
    return kb_text_take(&t);
}

static char *make_source(int lines)
{
    struct kb_text t = {0};
    for (int i = 1; i <= lines; i++)
        kb_text_addf(&t, "    y[%d] = x[%d] * 2.5f + z; // line %d\n", i, i, i);
    return kb_text_take(&t);
}

static char *make_samples(int count)
{
    struct kb_text t = {0};
    kb_text_add(&t, "{\"kernels\":[{\"name\":\"k\",\"pcs\":[");
    for (int i = 0; i < count; i++)
        kb_text_addf(&t, "%s[%d,%d,\"memory\"]", i ? "," : "", 16 * i, 1 + i % 1000);
    kb_text_add(&t, "]}],\"pcs_left_out\":0}");
    return kb_text_take(&t);
}

static struct kb_sass_listing *parsed(const char *text)
{
    struct kb_sass_listing *l = NULL;
    struct kb_error e = {0};
    if (kb_sass_parse(text, strlen(text), &l, &e)) {
        fprintf(stderr, "%s\n", kb_error_line(&e));
        exit(1);
    }
    return l;
}

static int64_t used_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void say(const char *what, int64_t since)
{
    printf("%-52s %8.2f ms\n", what, (double)(used_us() - since) / 1000);
}

static void frame(void)
{
    struct kb_grid g;
    kb_grid_init(&g, COLUMNS, ROWS, false);
    kb_app_draw(&app, &g);
    kb_grid_free(&g);
}

static void show(const char *what)
{
    char *first = kb_format("%s: first frame", what), *next = kb_format("%s: another frame", what);
    int64_t at = used_us();
    frame();
    say(first, at);
    at = used_us();
    for (int i = 0; i < TURNS; i++)
        frame();
    printf("%-52s %8.2f ms\n", next, (double)(used_us() - at) / 1000 / TURNS);
    free(first);
    free(next);
}

static void apply(const char *json)
{
    cJSON *event = cJSON_Parse(json);
    kb_model_apply(&model, event);
    cJSON_Delete(event);
    kb_app_follow(&app);
}

static void begin(void)
{
    kb_model_init(&model);
    kb_app_init(&app, &model, false);
    app.driver.code = answer;
    apply("{\"type\":\"session\",\"t_ms\":0,\"bench\":{\"name\":\"b\"},\"cases\":[{\"index\":0,\"label\":\"c\","
          "\"timed\":true}],\"headline\":0,\"variants\":[{\"name\":\"naive\",\"source\":\"naive.cu\"}]}");
    for (int v = 1; v <= 2; v++)
        for (int i = 0; i < 2; i++) {
            char *text =
                kb_format("{\"type\":\"build\",\"t_ms\":%d,\"variant\":\"naive\",\"key\":\"k%d\",\"state\":\"%s\","
                          "\"version\":%d}",
                          v, v, i ? "final" : "started", v);
            apply(text);
            free(text);
        }
    apply("{\"type\":\"sections\",\"variant\":\"naive\",\"version\":2,\"source\":\"cupti pc sampling\",\"samples\":10,"
          "\"sections\":[]}");
    app.zoom = true;
}

static void read_one(const char *what, enum kb_code_form form, const char *text, struct kb_code_read *out)
{
    *out = (struct kb_code_read){.form = form, .text = kb_strdup(text), .size = strlen(text)};
    int64_t at = used_us();
    kb_code_parse(out);
    say(what, at);
}

static void diffs(void)
{
    int64_t at = used_us();
    struct kb_sass_listing *a = parsed(listing), *b = parsed(other);
    say("in the worker: two listings read", at);
    struct kb_sass_diff_options o = {.context = 3};
    at = used_us();
    cJSON *made = kb_sass_diff(a, b, &o);
    say("in the worker: compared", at);
    char *text = kb_json_line(made);
    printf("%-52s %8.2f MB\n", "its document", (double)strlen(text) / 1e6);
    read_one("on the other thread: the document read", KB_FORM_DIFF, text, &compared);
    app.focus = KB_PANE_SASS;
    app.against = KB_AGAINST_PREVIOUS;
    show("diff");
    at = used_us();
    kb_code_jump(&app, 1);
    say("diff: next change (n)", at);
    at = used_us();
    kb_code_read_free(&compared);
    say("the document freed", at);
    app.against = KB_AGAINST_NOTHING;
    free(text);
    cJSON_Delete(made);
    kb_sass_free(a);
    kb_sass_free(b);
}

int main(int argc, char **argv)
{
    int instructions = argc > 1 ? atoi(argv[1]) : 60000;
    listing = make_listing(instructions, 0);
    other = make_listing(instructions, 3);
    source = make_source(2 * instructions);
    samples = make_samples(instructions / 4);
    printf("%d instructions, %.1f MB of listing, %d source lines\n", instructions, (double)strlen(listing) / 1e6,
           2 * instructions);
    begin();
    app.focus = KB_PANE_SASS;
    int64_t copied = used_us();
    free(kb_strdup(listing));
    say("a listing copied", copied);
    read_one("on the other thread: the listing read", KB_FORM_LISTING, listing, &code);
    read_one("on the other thread: its samples read", KB_FORM_SAMPLES, samples, &sampled);
    show("listing");
    int64_t at = used_us();
    kb_code_jump(&app, 1);
    say("listing: next kernel (n)", at);
    app.sass.top = instructions;
    show("listing, at its end");
    diffs();
    app.focus = KB_PANE_SOURCE;
    show("source");
    app.source_line = 2 * instructions - 5;
    show("source, at its end");
    app.focus = KB_PANE_SASS;
    app.code_kind = KB_CODE_SOURCE;
    show("source as text");
    int64_t freed = used_us();
    kb_code_read_free(&code);
    kb_code_read_free(&sampled);
    say("listing and samples freed", freed);
    kb_app_free(&app);
    kb_model_free(&model);
    free(listing);
    free(other);
    free(source);
    free(samples);
    return 0;
}
