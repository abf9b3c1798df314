#include "bench/options.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum value { NONE, INLINE, WORD }; // none or behind '='; behind '=', if at all; behind '=' or in the next word

static const char runs[] = "it names a program that is started", beside[] = "it writes a file beside the compile",
                  reads[] = "it reads a file that nobody looks at",
                  phases[] = "it starts the tools of nvcc differently";

// Names without dashes. Short ones of one letter have one dash, all others one or two. What stands here as harmless
// changes code and messages, and nothing else.
static const struct known {
    const char *name, *shorter;
    enum value value;
    bool glued; // "-Idir", of `shorter`
    enum kb_option_kind kind;
    const char *why;
} table[] = {
    {"include-path", "I", WORD, true, KB_OPTION_FOLDER, NULL},
    {"system-include", "isystem", WORD, true, KB_OPTION_FOLDER, NULL},
    {"pre-include", "include", WORD, false, KB_OPTION_HEADER, NULL},
    {"define-macro", "D", WORD, true, KB_OPTION_DEFINE, NULL},
    {"undefine-macro", "U", WORD, true, KB_OPTION_HARMLESS, NULL},
    {"options-file", "optf", WORD, false, KB_OPTION_FILE, "it reads further options from a file"},
    {"compiler-options", "Xcompiler", WORD, false, KB_OPTION_HOST, "it gives the host's compiler options of its own"},

    {"std", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"optimize", "O", WORD, true, KB_OPTION_HARMLESS, NULL},
    {"dopt", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"Ofast-compile", "Ofc", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"use_fast_math", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"ftz", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"prec-div", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"prec-sqrt", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"fmad", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"maxrregcount", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"extra-device-vectorization", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"modify-stack-limit", NULL, INLINE, false, KB_OPTION_HARMLESS, NULL},
    {"jump-table-density", "jtd", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"device-stack-protector", NULL, INLINE, false, KB_OPTION_HARMLESS, NULL},
    {"restrict", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"relocatable-device-code", "rdc", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"extensible-whole-program", "ewp", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"generate-line-info", "lineinfo", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"source-in-ptx", "src-in-ptx", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"builtin-move-forward", NULL, INLINE, false, KB_OPTION_HARMLESS, NULL},
    {"builtin-initializer-list", NULL, INLINE, false, KB_OPTION_HARMLESS, NULL},
    {"no-source-include", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"device-as-default-execution-space", "default-device", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"device-int128", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"device-float128", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"expt-relaxed-constexpr", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"extended-lambda", "expt-extended-lambda", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"no-host-device-initializer-list", "nohdinitlist", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"no-host-device-move-forward", "nohdmoveforward", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"default-stream", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"machine", "m", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"m64", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"allow-unsupported-compiler", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"split-compile", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"threads", "t", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"frandom-seed", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"random-seed", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"minimal", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"no-cache", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"ftemplate-depth", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"ftemplate-backtrace-limit", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"no-exceptions", "noeh", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"no-align-double", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"keep-device-functions", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"device-entity-has-hidden-visibility", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"static-global-template-stub", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"gpu-architecture", "arch", WORD, false, KB_OPTION_HARMLESS, NULL}, // refused where it is compiled (jit/options.c)
    {"generate-code", "gencode", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"device-debug", "G", NONE, false, KB_OPTION_HARMLESS, NULL}, // likewise
    {"debug", "g", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"ptxas-options", "Xptxas", WORD, false, KB_OPTION_ASKS, "it gives ptxas an option that is not known here"},

    {"verbose", "v", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"resource-usage", "res-usage", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"optimization-info", "opt-info", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"disable-warnings", "w", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wreorder", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wno-deprecated-declarations", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wno-deprecated-gpu-targets", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wext-lambda-captures-this", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wdefault-stream-launch", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Wmissing-launch-bounds", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},
    {"Werror", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"brief-diagnostics", "brief-diag", WORD, false, KB_OPTION_HARMLESS, NULL},
    {"display-error-number", "err-no", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"no-display-error-number", "no-err-no", NONE, false, KB_OPTION_HARMLESS, NULL},
    {"diag-error", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"diag-suppress", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},
    {"diag-warn", NULL, WORD, false, KB_OPTION_HARMLESS, NULL},

    // Precompiled headers and traces of the compiler are refused where it is compiled, allowed or not.
    {"pch", NULL, NONE, false, KB_OPTION_HARMLESS, NULL},

    {"compiler-bindir", "ccbin", WORD, false, KB_OPTION_ASKS, runs},
    {"run", NULL, NONE, false, KB_OPTION_ASKS, "it runs what was compiled"},
    {"run-args", NULL, WORD, false, KB_OPTION_ASKS, "it runs what was compiled"},
    {"linker-options", "Xlinker", WORD, false, KB_OPTION_ASKS, phases},
    {"archive-options", "Xarchive", WORD, false, KB_OPTION_ASKS, phases},
    {"nvlink-options", "Xnvlink", WORD, false, KB_OPTION_ASKS, phases},
    {"forward-unknown-opts", NULL, NONE, false, KB_OPTION_ASKS, phases},
    {"forward-unknown-to-host-compiler", NULL, NONE, false, KB_OPTION_ASKS, phases},
    {"dlink-time-opt", "dlto", NONE, false, KB_OPTION_ASKS, phases},
    {"time", NULL, WORD, false, KB_OPTION_ASKS, beside},
    {"fdevice-time-trace", NULL, WORD, false, KB_OPTION_ASKS, beside},
    {"output-file", "o", WORD, false, KB_OPTION_ASKS, beside},
    {"output-directory", "odir", WORD, false, KB_OPTION_ASKS, beside},
    {"keep", NULL, NONE, false, KB_OPTION_ASKS, beside},
    {"keep-dir", NULL, WORD, false, KB_OPTION_ASKS, beside},
    {"dependency-output", "MF", WORD, false, KB_OPTION_ASKS, beside},
    {"generate-dependencies-with-compile", "MD", NONE, false, KB_OPTION_ASKS, beside},
    {"libdevice-directory", "ldir", WORD, false, KB_OPTION_ASKS, reads},
    {"library", "l", WORD, true, KB_OPTION_ASKS, reads},
    {"library-path", "L", WORD, true, KB_OPTION_ASKS, reads},
};

// Of ptxas: what may stand behind -Xptxas without a question, and whether a value follows.
static const struct {
    const char *name;
    bool value;
} ptxas[] = {
    {"v", false},
    {"verbose", false},
    {"O", true},
    {"opt-level", true},
    {"warn-on-spills", false},
    {"warn-spills", false},
    {"warn-on-local-memory-usage", false},
    {"warn-lmem-usage", false},
    {"warn-on-double-precision-use", false},
    {"warn-double-usage", false},
    {"def-load-cache", true},
    {"dlcm", true},
    {"def-store-cache", true},
    {"dscm", true},
    {"force-load-cache", true},
    {"flcm", true},
    {"force-store-cache", true},
    {"fscm", true},
    {"maxrregcount", true},
    {"allow-expensive-optimizations", true},
    {"disable-optimizer-constants", false},
    {"disable-optimizer-consts", false},
    {"fmad", true},
    {"generate-line-info", false},
    {"lineinfo", false},
    {"register-usage-level", true},
    {"regUsageLevel", true},
    {"optimize-float-atomics", false},
    {"opt-fp-atomics", false},
    {"position-independent-code", true},
    {"pic", true},
    {"split-compile", true},
    {"preserve-relocs", false},
    {"disable-warnings", false},
    {"w", false},
    {"Werror", false},
    {"suppress-stack-size-warning", false},
    {"suppress-double-demote-warning", false},
    {"suppress-async-bulk-multicast-advisory-warning", false},
};

static bool is_plain_value(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)p[i]) && p[i] != '_')
            return false;
    return n > 0;
}

// One option of ptxas, or the value of the one before it.
static bool is_harmless_to_ptxas(const char *p, size_t n)
{
    size_t dashes = n && p[0] == '-' ? 1 + (n > 1 && p[1] == '-') : 0;
    if (!dashes)
        return is_plain_value(p, n);
    p += dashes;
    n -= dashes;
    if (n == 2 && p[0] == 'O' && isdigit((unsigned char)p[1]))
        return true;
    const char *equals = memchr(p, '=', n);
    size_t name = equals ? (size_t)(equals - p) : n;
    for (size_t i = 0; i < KB_COUNT(ptxas); i++)
        if (strlen(ptxas[i].name) == name && !memcmp(ptxas[i].name, p, name))
            return !equals || (ptxas[i].value && is_plain_value(equals + 1, n - name - 1));
    return false;
}

static bool all_harmless_to_ptxas(const char *value)
{
    if (!*value)
        return false;
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, ", ");
        if (!is_harmless_to_ptxas(p, n))
            return false;
        p += n + (p[n] != 0);
    }
    return true;
}

static bool has_name(const char *p, size_t n, const char *name)
{
    return name && strlen(name) == n && !memcmp(p, name, n);
}

// The row of a word; *inline_value: what is glued to it or behind its '=', NULL if neither.
static const struct known *find(const char *word, const char **inline_value)
{
    *inline_value = NULL;
    if (word[0] != '-' || !word[1])
        return NULL;
    bool twice = word[1] == '-';
    const char *p = word + 1 + twice;
    size_t n = strcspn(p, "=");
    for (size_t i = 0; i < KB_COUNT(table); i++) {
        bool fits = has_name(p, n, table[i].name) || has_name(p, n, table[i].shorter);
        if (!fits || (n == 1 && twice))
            continue;
        *inline_value = p[n] ? p + n + 1 : NULL;
        return &table[i];
    }
    for (size_t i = 0; !twice && i < KB_COUNT(table); i++)
        if (table[i].glued && kb_starts(p, table[i].shorter)) {
            *inline_value = p + strlen(table[i].shorter);
            return &table[i];
        }
    return NULL;
}

static struct kb_option unknown(const char *word)
{
    struct kb_option o = {KB_OPTION_ASKS, word, "", 1, true, NULL};
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    o.value = equals ? equals + 1 : "";
    o.why = word[0] == '-' ? "it is not known here what it does" : "it names another file for the compiler";
    return o;
}

struct kb_option kb_option_read(const char *const *words, int count)
{
    const char *word = words[0], *value;
    if (word[0] == '@' && word[1])
        return (struct kb_option){KB_OPTION_FILE, word, word + 1, 1, true, "it reads further options from a file"};
    const struct known *known = find(word, &value);
    if (!known)
        return unknown(word);
    struct kb_option o = {known->kind, word, value ? value : "", 1, known->why != NULL, known->why};
    bool swallows = known->value == WORD && (known->why || (count > 1 && !strchr("-@", words[1][0])));
    if (!value && swallows && count > 1) {
        o.value = words[1];
        o.words = 2;
    }
    if (value && known->value == NONE)
        return unknown(word);
    if (o.why && has_name("Xptxas", 6, known->shorter) && all_harmless_to_ptxas(o.value)) {
        o.kind = KB_OPTION_HARMLESS;
        o.asks = false;
        o.why = NULL;
    }
    return o;
}

const char *kb_options_asking(const char *const *options, int count, const char **why)
{
    for (int i = 0; i < count;) {
        struct kb_option o = kb_option_read(options + i, count - i);
        if (o.asks) {
            if (why)
                *why = o.why;
            return o.word;
        }
        i += o.words;
    }
    return NULL;
}

void kb_options_add(char ***words, int *count, char *owned)
{
    *words = kb_realloc(*words, sizeof **words * (size_t)(*count + 2));
    (*words)[(*count)++] = owned;
    (*words)[*count] = NULL;
}

// The name as one word and, if there is one, the value as another.
static void add_parts(char ***words, int *count, const struct kb_option *o)
{
    bool inside = o->words == 1 && *o->value;
    size_t name = inside ? (size_t)(o->value - o->word) : strlen(o->word);
    bool bare = o->kind == KB_OPTION_FILE && !strchr(o->value, '/'); // so that it is seen as a file's name
    while (inside && name > 1 && o->word[name - 1] == '=')
        name--;
    kb_options_add(words, count, kb_strndup(o->word, name));
    if (*o->value)
        kb_options_add(words, count, kb_format("%s%s", bare ? "./" : "", o->value));
}

char **kb_options_command(const char *const *options, int count)
{
    char **words = NULL;
    int n = 0;
    for (int i = 0; i < count;) {
        struct kb_option o = kb_option_read(options + i, count - i);
        if (o.asks && !n)
            kb_options_add(&words, &n, kb_strdup(KB_OPTIONS_COMMAND));
        if (o.asks)
            add_parts(&words, &n, &o);
        i += o.words;
    }
    return words;
}

void kb_options_split(const char *text, char ***words, int *count)
{
    struct kb_text word = {0};
    bool inside = false;
    char quote = 0;
    for (const char *p = text;; p++) {
        bool blank = !*p || (!quote && isspace((unsigned char)*p));
        if (blank && inside)
            kb_options_add(words, count, kb_strdup(word.data ? word.data : ""));
        if (!*p)
            break;
        if (blank) {
            kb_text_free(&word);
            inside = false;
            continue;
        }
        inside = true;
        if (quote ? *p == quote : *p == '"' || *p == '\'')
            quote = quote ? 0 : *p;
        else if (*p == '\\' && quote != '\'' && p[1])
            kb_text_bytes(&word, ++p, 1);
        else
            kb_text_bytes(&word, p, 1);
    }
    kb_text_free(&word);
}

// Several folders may stand behind one option, divided by commas.
static char *placed(const char *value, const char *dir)
{
    struct kb_text out = {0};
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, ",");
        char *one = kb_strndup(p, n), *path = n ? kb_path_join(dir, one) : kb_strdup("");
        kb_text_add(&out, path);
        kb_text_bytes(&out, p + n, p[n] != 0);
        p += n + (p[n] != 0);
        free(path);
        free(one);
    }
    return kb_text_take(&out);
}

void kb_options_place(const char *const *options, int count, const char *dir, char ***words, int *word_count)
{
    for (int i = 0; i < count;) {
        struct kb_option o = kb_option_read(options + i, count - i);
        bool names = (o.kind == KB_OPTION_FOLDER || o.kind == KB_OPTION_FILE) && *o.value;
        char *value = names ? placed(o.value, dir) : kb_strdup(o.value);
        if (o.words == 2) {
            kb_options_add(words, word_count, kb_strdup(o.word));
            kb_options_add(words, word_count, value);
        } else {
            size_t name = *o.value ? (size_t)(o.value - o.word) : strlen(o.word);
            kb_options_add(words, word_count, kb_format("%.*s%s", (int)name, o.word, value));
            free(value);
        }
        i += o.words;
    }
}

bool kb_is_toolkit_folder(const char *dir)
{
    char *up = kb_path_dir(dir), *mark = kb_path_join(dir, "cuda_runtime_api.h"),
         *above = kb_path_join(up, "cuda_runtime_api.h");
    bool yes = kb_is_file(mark) || kb_is_file(above);
    free(above);
    free(mark);
    free(up);
    return yes;
}
