#include "tui/script.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const commands[] = {"size", "key", "type", "at", "end", "screen"};

void kb_script_screen(struct kb_script *s, struct kb_text *out)
{
    struct kb_grid g;
    kb_grid_init(&g, s->columns, s->rows, s->app->ascii);
    if (s->replay) {
        s->app->now_ms = kb_replay_time_ms(s->replay);
        s->app->replay_text = kb_replay_text(s->replay, s->app->ascii);
    }
    kb_app_follow(s->app);
    kb_app_draw(s->app, &g);
    for (int y = 0; y < g.rows; y++) {
        char *row = kb_grid_row(&g, y);
        kb_text_addf(out, "%s\n", row);
        free(row);
    }
    kb_grid_free(&g);
}

static int screen(struct kb_script *s, const char *file, struct kb_error *e)
{
    struct kb_text frame = {0};
    kb_script_screen(s, &frame);
    int status = 0;
    if (*file)
        status = kb_file_replace(file, frame.data, frame.size, e);
    else
        kb_text_bytes(s->out, frame.data, frame.size);
    kb_text_free(&frame);
    return status;
}

// A frame is drawn behind each key, as on a terminal: paging knows the sizes from it.
static int keys(struct kb_script *s, char *names, struct kb_error *e)
{
    char *save = NULL;
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int key = kb_key_parse(name);
        if (!key)
            return kb_fail(e, NULL, "a letter, or Up, Down, PgUp, Enter, Esc, Tab, Space, Ctrl-L, ...", "no key \"%s\"",
                           name);
        struct kb_text unused = {0};
        kb_script_screen(s, &unused);
        kb_text_free(&unused);
        kb_app_key(s->app, key, false);
    }
    return 0;
}

static int type(struct kb_script *s, const char *text)
{
    for (size_t n = strlen(text); n;) {
        uint32_t code = '?';
        int used = kb_utf8_decode(text, n, &code);
        used = used ? used : 1;
        kb_app_key(s->app, (int)code, false);
        text += used;
        n -= (size_t)used;
    }
    return 0;
}

static int seek(struct kb_script *s, const char *command, const char *rest, struct kb_error *e)
{
    if (!s->replay)
        return kb_fail(e, NULL, "give --replay FILE", "\"%s\" needs a replay", command);
    if (!strcmp(command, "end"))
        kb_replay_seek_end(s->replay);
    else
        kb_replay_seek(s->replay, atoll(rest));
    return 0;
}

static int run_line(struct kb_script *s, char *line, struct kb_error *e)
{
    char *rest = line + strcspn(line, " ");
    if (*rest)
        *rest++ = 0;
    if (!strcmp(line, "size"))
        return sscanf(rest, "%dx%d", &s->columns, &s->rows) == 2
                   ? 0
                   : kb_fail(e, NULL, "size 120x36", "no size \"%s\"", rest);
    if (!strcmp(line, "key"))
        return keys(s, rest, e);
    if (!strcmp(line, "type"))
        return type(s, rest);
    if (!strcmp(line, "at") || !strcmp(line, "end"))
        return seek(s, line, rest, e);
    if (!strcmp(line, "screen"))
        return screen(s, rest, e);
    const char *near = kb_nearest(line, commands, KB_COUNT(commands));
    return kb_fail(e, NULL, near ? near : "size, key, type, at, end or screen", "no command \"%s\"", line);
}

int kb_script_run(struct kb_script *s, const char *text, struct kb_error *e)
{
    char *copy = kb_strdup(text);
    int status = 0, number = 0;
    for (char *line = copy, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        number++;
        if (!*line || *line == '#')
            continue;
        status = run_line(s, line, e);
        if (status && e)
            snprintf(e->on, sizeof e->on, "script line %d", number);
    }
    free(copy);
    return status;
}
