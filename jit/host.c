// Sources written for nvcc hold host code: main(), launchers, includes of the C++ library. NVRTC compiles device code
// alone, so such functions are blanked out for it. Works on text, at the level of namespaces; what is inside of classes
// and functions is never looked at.
#include "jit/build.h"

#include "base/hash.h"
#include "base/memory.h"
#include "bench/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum item_kind { ITEM_OTHER, ITEM_KERNEL, ITEM_DEVICE, ITEM_HOST };
struct item { // one declaration or definition outside of classes: [start, end) of the text
    size_t start, end;
    enum item_kind kind;
    bool is_function;
};
struct items {
    struct item *list;
    int count, capacity;
    bool balanced;
};

// Comments and literals blanked, and preprocessor lines too: they are no part of a declaration.
static char *code_only(const char *text, size_t size)
{
    char *code = kb_source_blank(text, size);
    bool line_start = true, directive = false;
    for (size_t i = 0; i < size; i++) {
        if (line_start && code[i] == '#')
            directive = true;
        if (code[i] == '\n') {
            directive =
                directive && i > 0 && (code[i - 1] == '\\' || (code[i - 1] == '\r' && i > 1 && code[i - 2] == '\\'));
            line_start = !directive;
            continue;
        }
        line_start = line_start && isspace((unsigned char)code[i]);
        if (directive && code[i] != '\\' && code[i] != '\r')
            code[i] = ' ';
    }
    for (size_t i = 0; i < size; i++) // continuation marks have served
        if (code[i] == '\\')
            code[i] = ' ';
    return code;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *s, size_t n, const char *word)
{
    size_t w = strlen(word);
    for (size_t i = 0; i + w <= n; i++)
        if (!strncmp(s + i, word, w) && (i == 0 || !is_word(s[i - 1])) && (i + w == n || !is_word(s[i + w])))
            return true;
    return false;
}

// End of the bracket that opens at i; 0 if it is never closed.
static size_t closing(const char *code, size_t size, size_t i)
{
    char open = code[i], close = open == '{' ? '}' : open == '(' ? ')' : ']';
    int depth = 0;
    for (; i < size; i++) {
        depth += (code[i] == open) - (code[i] == close);
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

// Head of a definition behind "template <...>", so that its default arguments are not taken for something else.
static size_t behind_template(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && isspace((unsigned char)s[i]))
        i++;
    if (n - i < 8 || strncmp(s + i, "template", 8))
        return 0;
    int depth = 0;
    for (; i < n; i++) {
        depth += (s[i] == '<') - (s[i] == '>');
        if (depth == 0 && s[i] == '>')
            return i + 1 + behind_template(s + i + 1, n - i - 1);
    }
    return 0;
}

static bool is_scope(const char *head, size_t n)
{
    if (has_word(head, n, "namespace"))
        return true;
    size_t words = 0; // extern "C" { : the literal is blank
    for (size_t i = 0; i < n; i++)
        words += is_word(head[i]) && (i == 0 || !is_word(head[i - 1]));
    return words == 1 && has_word(head, n, "extern");
}

static bool is_function(const char *head, size_t n)
{
    static const char *const types[] = {"class", "struct", "union", "enum"};
    size_t skip = behind_template(head, n);
    head += skip;
    n -= skip;
    const char *paren = memchr(head, '(', n);
    if (!paren)
        return false;
    const char *equals = memchr(head, '=', (size_t)(paren - head));
    if (equals && !has_word(head, (size_t)(paren - head), "operator"))
        return false;
    for (size_t i = 0; i < KB_COUNT(types); i++) { // "struct s f() {" is a function, "struct __align__(8) s {" is not
        const char *last = memrchr(head, ')', n);
        bool name_behind = false;
        for (const char *p = last + 1; p < head + n; p++)
            name_behind = name_behind || is_word(*p);
        if (has_word(head, (size_t)(paren - head), types[i]) && name_behind)
            return false;
    }
    return true;
}

// Annotations behind macros (HOST_DEVICE, DEVICE_INLINE, KERNEL(...)) and bodies that only a kernel can have.
static bool hidden_device_code(const char *head, size_t head_size, const char *body, size_t body_size)
{
    static const char *const macro_parts[] = {"DEVICE", "KERNEL", "GLOBAL", "__forceinline__"};
    static const char *const device_words[] = {"threadIdx", "blockIdx", "__syncthreads"};
    for (size_t i = 0; i < KB_COUNT(macro_parts); i++)
        if (memmem(head, head_size, macro_parts[i], strlen(macro_parts[i])))
            return true;
    for (size_t i = 0; i < KB_COUNT(device_words); i++)
        if (has_word(body, body_size, device_words[i]))
            return true;
    return false;
}

static void add_item(struct items *list, const char *code, size_t start, size_t head_end, size_t end)
{
    const char *head = code + start;
    size_t n = head_end - start;
    struct item item = {.start = start, .end = end, .is_function = is_function(head, n)};
    if (has_word(head, n, "__global__"))
        item.kind = ITEM_KERNEL;
    else if (has_word(head, n, "__device__") || has_word(head, n, "constexpr") || has_word(head, n, "__constant__"))
        item.kind = ITEM_DEVICE;
    else if (item.is_function && code[head_end] == '{' && !hidden_device_code(head, n, code + head_end, end - head_end))
        item.kind = ITEM_HOST;
    while (item.start < item.end && isspace((unsigned char)code[item.start]))
        item.start++;
    KB_GROW(list->list, list->count, list->capacity);
    list->list[list->count++] = item;
}

// Behind the definition whose brace opens at i: "}" of a function, "} name;" of anything else. 0 if it never ends.
static size_t definition_end(const char *code, size_t size, size_t start, size_t i)
{
    size_t end = closing(code, size, i);
    if (!end || is_function(code + start, i - start))
        return end;
    while (end < size && code[end] != ';' && code[end] != '}')
        end++;
    return end + (end < size && code[end] == ';');
}

static void find_items(const char *code, size_t size, struct items *out)
{
    size_t start = 0, depth = 0, end = 0;
    out->balanced = true;
    for (size_t i = 0; i < size && out->balanced; i++) {
        if (code[i] == '(' || code[i] == '[') {
            end = closing(code, size, i);
            out->balanced = end > 0;
            i = end - 1;
        } else if (code[i] == ';') {
            add_item(out, code, start, i, i + 1);
            start = i + 1;
        } else if (code[i] == '}') {
            out->balanced = depth > 0;
            depth -= depth > 0;
            start = i + 1;
        } else if (code[i] == '{' && is_scope(code + start, i - start)) {
            depth++;
            start = i + 1;
        } else if (code[i] == '{') {
            end = definition_end(code, size, start, i);
            out->balanced = end > 0;
            if (end)
                add_item(out, code, start, i, end);
            start = end;
            i = end - 1;
        }
    }
    out->balanced = out->balanced && depth == 0;
}

// Items that errors pointed at once go at once the next time: the next save of the same file then compiles in one
// round.
static struct kb_hash remembered[256];
static int remembered_count;

static bool is_remembered(const char *text, const struct item *item)
{
    struct kb_hash hash = kb_hash_of(text + item->start, item->end - item->start);
    for (int i = 0; i < remembered_count && i < (int)KB_COUNT(remembered); i++)
        if (!strcmp(remembered[i].hex, hash.hex))
            return true;
    return false;
}

static void remember(const char *text, const struct item *item)
{
    if (!is_remembered(text, item)) // the oldest gives way
        remembered[remembered_count++ % (int)KB_COUNT(remembered)] =
            kb_hash_of(text + item->start, item->end - item->start);
}

static void blank_item(char *text, const struct item *item)
{
    for (size_t i = item->start; i < item->end; i++)
        if (text[i] != '\n' && text[i] != '\r')
            text[i] = ' ';
}

// Preprocessor lines inside a blanked function (a #define, half of an #if) must live on.
static void restore_directives(char *text, const char *original, size_t size)
{
    bool directive = false;
    for (size_t i = 0; i < size;) {
        const char *end = memchr(original + i, '\n', size - i);
        size_t n = end ? (size_t)(end - original) - i : size - i, first = i;
        while (first < i + n && isspace((unsigned char)original[first]))
            first++;
        directive = directive || (first < i + n && original[first] == '#');
        if (directive)
            memcpy(text + i, original + i, n);
        directive = directive && n && original[i + n - 1] == '\\';
        i += n + 1;
    }
}

void kb_host_blank(const char *text, size_t size, struct kb_host_text *out)
{
    char *code = code_only(text, size);
    struct items items = {0};
    find_items(code, size, &items);
    *out = (struct kb_host_text){.text = kb_strndup(text, size)};
    for (int i = 0; items.balanced && i < items.count; i++)
        if (items.list[i].kind == ITEM_HOST || is_remembered(text, &items.list[i])) {
            blank_item(out->text, &items.list[i]);
            out->blanked++;
        }
    if (out->blanked)
        restore_directives(out->text, text, size);
    free(items.list);
    free(code);
}

static bool holds_line(const char *text, const struct item *item, const int *lines, int count)
{
    int first = 1, last;
    for (size_t i = 0; i < item->start; i++)
        first += text[i] == '\n';
    last = first;
    for (size_t i = item->start; i < item->end; i++)
        last += text[i] == '\n';
    for (int i = 0; i < count; i++)
        if (lines[i] >= first && lines[i] <= last)
            return true;
    return false;
}

// Device code never goes: its errors are the user's to mend.
static bool may_go(const char *code, const struct item *item)
{
    const char *text = code + item->start;
    size_t n = item->end - item->start;
    return (item->kind == ITEM_OTHER || item->kind == ITEM_HOST) && !has_word(text, n, "__device__") &&
           !hidden_device_code(text, n, text, n);
}

int kb_host_blank_lines(char *text, const int *lines, int count)
{
    size_t size = strlen(text);
    char *code = code_only(text, size), *original = kb_strdup(text);
    struct items items = {0};
    int blanked = 0;
    find_items(code, size, &items);
    for (int i = 0; items.balanced && i < items.count; i++)
        if (may_go(code, &items.list[i]) && holds_line(original, &items.list[i], lines, count)) {
            remember(original, &items.list[i]);
            blank_item(text, &items.list[i]);
            blanked++;
        }
    if (blanked)
        restore_directives(text, original, size);
    free(original);
    free(items.list);
    free(code);
    return blanked;
}
