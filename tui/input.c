#include "tui/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "tui/keys.h"

#include <string.h>

enum { MORE = -1, DROP = -2, PASTE_BEGIN = -3, PASTE_END = -4 };

static const struct {
    const char *sequence; // behind ESC
    int key;
} sequences[] = {
    {"[A", KB_KEY_UP},         {"[B", KB_KEY_DOWN},    {"[C", KB_KEY_RIGHT}, {"[D", KB_KEY_LEFT},
    {"[H", KB_KEY_HOME},       {"[F", KB_KEY_END},     {"OA", KB_KEY_UP},    {"OB", KB_KEY_DOWN},
    {"OC", KB_KEY_RIGHT},      {"OD", KB_KEY_LEFT},    {"OH", KB_KEY_HOME},  {"OF", KB_KEY_END},
    {"OM", KB_KEY_ENTER},      {"OP", KB_KEY_F1},      {"[[A", KB_KEY_F1},   {"[1~", KB_KEY_HOME},
    {"[2~", KB_KEY_INSERT},    {"[3~", KB_KEY_DELETE}, {"[4~", KB_KEY_END},  {"[5~", KB_KEY_PAGE_UP},
    {"[6~", KB_KEY_PAGE_DOWN}, {"[7~", KB_KEY_HOME},   {"[8~", KB_KEY_END},  {"[11~", KB_KEY_F1},
    {"[Z", KB_KEY_BACK_TAB},   {"[200~", PASTE_BEGIN}, {"[201~", PASTE_END},
};

static int known_sequence(const char *s, size_t n)
{
    for (size_t i = 0; i < KB_COUNT(sequences); i++)
        if (strlen(sequences[i].sequence) == n && !memcmp(sequences[i].sequence, s, n))
            return sequences[i].key;
    return DROP;
}

// One escape sequence at s (behind its ESC, n bytes): its key or MORE; *used gets its length.
static int escape(const char *s, size_t n, size_t *used)
{
    if (!n)
        return MORE;
    if (s[0] == 0x1b) { // a lone Esc before the next sequence
        *used = 0;
        return KB_KEY_ESC;
    }
    if (s[0] == 'O') {
        *used = 2;
        return n < 2 ? MORE : known_sequence(s, 2);
    }
    if (s[0] != '[') { // Alt and a key: no binding has it
        *used = 1;
        return DROP;
    }
    for (size_t i = 1; i < n; i++) {
        unsigned char b = (unsigned char)s[i];
        if (i == 1 && b == '[')
            continue;
        if (b >= 0x40 && b <= 0x7e) {
            *used = i + 1;
            return known_sequence(s, i + 1);
        }
        if (b < 0x20) { // broken off by a control
            *used = i;
            return DROP;
        }
    }
    *used = n;
    return n + 1 >= KB_SEQUENCE_MOST ? DROP : MORE;
}

static size_t utf8_need(unsigned char b)
{
    return b < 0xc2 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 1;
}

// The key at the start of the open bytes: a key, MORE, DROP or a paste mark; *used gets its length.
static int decode(const struct kb_input *in, size_t *used)
{
    const char *s = in->bytes;
    unsigned char b = (unsigned char)s[0];
    *used = 1;
    if (b == 0x1b) {
        int key = escape(s + 1, in->count - 1, used);
        *used += 1;
        return key;
    }
    if (b < 0x80)
        return b == '\n' ? KB_KEY_ENTER : b == 8 ? KB_KEY_BACKSPACE : b ? b : DROP;
    size_t need = utf8_need(b);
    if (in->count < need)
        return MORE;
    uint32_t code;
    int n = kb_utf8_decode(s, need, &code);
    *used = n ? (size_t)n : 1;
    return n && code >= 0xa0 ? (int)code : DROP;
}

static void take(struct kb_input *in, size_t n)
{
    in->count -= n;
    memmove(in->bytes, in->bytes + n, in->count);
}

static void drain(struct kb_input *in, int64_t now_ms, bool burst, void (*on_key)(void *, int, bool), void *context)
{
    while (in->count) {
        size_t used = 0;
        int key = decode(in, &used);
        if (key == MORE)
            return;
        take(in, used);
        in->since_ms = now_ms;
        if (key == PASTE_BEGIN || key == PASTE_END) {
            in->pasting = key == PASTE_BEGIN;
            in->paste_ms = now_ms;
        } else if (key != DROP && !in->pasting) {
            on_key(context, key, burst);
        } else if (key != DROP && in->text_field && key >= ' ' && key < KB_KEY_UP && key != KB_KEY_BACKSPACE) {
            on_key(context, key, true);
        }
    }
}

void kb_input_feed(struct kb_input *in, const char *bytes, size_t n, int64_t now_ms,
                   void (*on_key)(void *context, int key, bool burst), void *context)
{
    bool burst = n > 1 && bytes[0] != 0x1b;
    if (in->pasting && n > 4) // a few bytes are somebody typing, not a paste that goes on
        in->paste_ms = now_ms;
    for (size_t i = 0; i < n; i++) {
        if (!in->count)
            in->since_ms = now_ms;
        in->bytes[in->count++] = bytes[i];
        // Decide as early as a sequence can be complete, so that the open bytes stay few.
        drain(in, now_ms, burst, on_key, context);
        if (in->count == KB_SEQUENCE_MOST)
            take(in, in->count);
    }
}

void kb_input_tick(struct kb_input *in, int64_t now_ms, void (*on_key)(void *context, int key, bool burst),
                   void *context)
{
    if (in->pasting && now_ms - in->paste_ms >= KB_PASTE_MS)
        in->pasting = false;
    if (!in->count || now_ms - in->since_ms < KB_ESC_MS)
        return;
    bool lone = in->count == 1 && in->bytes[0] == 0x1b;
    in->count = 0; // the rest of a sequence that never came
    if (lone && !in->pasting)
        on_key(context, KB_KEY_ESC, false);
}

int kb_input_wait_ms(const struct kb_input *in, int64_t now_ms)
{
    int64_t wait = -1;
    if (in->count)
        wait = in->since_ms + KB_ESC_MS - now_ms;
    if (in->pasting && (wait < 0 || in->paste_ms + KB_PASTE_MS - now_ms < wait))
        wait = in->paste_ms + KB_PASTE_MS - now_ms;
    if (!in->count && !in->pasting)
        return -1;
    return wait < 0 ? 0 : (int)wait;
}
