#include "loop/lines.h"

#include <string.h>

static const int64_t second = 1000000;

static void give(struct kb_lines *l, kb_line_function *line, void *context, const char *bytes, size_t n)
{
    struct kb_text clean = {0};
    kb_clean(&clean, bytes, n, false);
    int64_t dropped = l->dropped;
    l->dropped = 0;
    line(context, clean.data ? clean.data : "", dropped);
    kb_text_free(&clean);
}

static void finish_line(struct kb_lines *l, int64_t now_us, kb_line_function *line, void *context)
{
    if (now_us - l->second_us >= second || !l->second_us) {
        l->second_us = now_us;
        l->in_second = 0;
    }
    if (l->in_second < KB_LINES_PER_SECOND) {
        l->in_second++;
        if (l->overlong)
            kb_text_add(&l->partial, " ...");
        size_t n = l->partial.size;
        if (n && l->partial.data[n - 1] == '\r')
            n--;
        give(l, line, context, l->partial.data ? l->partial.data : "", n);
    } else {
        l->dropped++;
    }
    kb_text_clear(&l->partial);
    l->overlong = false;
}

void kb_lines_feed(struct kb_lines *l, const char *bytes, size_t n, int64_t now_us, kb_line_function *line,
                   void *context)
{
    while (n) {
        const char *end = memchr(bytes, '\n', n);
        size_t length = end ? (size_t)(end - bytes) : n;
        size_t room = KB_LINE_BYTES > l->partial.size ? KB_LINE_BYTES - l->partial.size : 0;
        if (length > room)
            l->overlong = true;
        kb_text_bytes(&l->partial, bytes, length < room ? length : room);
        if (end)
            finish_line(l, now_us, line, context);
        bytes += length + (end != NULL);
        n -= length + (end != NULL);
    }
}

void kb_lines_tick(struct kb_lines *l, int64_t now_us, kb_line_function *line, void *context)
{
    if (l->dropped && now_us - l->second_us >= second) {
        l->second_us = now_us;
        l->in_second = 1;
        static const char text[] = "(lines were cut: too many in a second)";
        give(l, line, context, text, sizeof text - 1);
    }
}

int kb_lines_wait_ms(const struct kb_lines *l, int64_t now_us)
{
    if (!l->dropped)
        return -1;
    int64_t left = l->second_us + second - now_us;
    return left > 0 ? (int)(left / 1000) + 1 : 0;
}

void kb_lines_end(struct kb_lines *l, kb_line_function *line, void *context)
{
    if (l->partial.size)
        give(l, line, context, l->partial.data, l->partial.size);
    else if (l->dropped)
        give(l, line, context, "(lines were cut)", sizeof "(lines were cut)" - 1);
    kb_text_free(&l->partial);
}
