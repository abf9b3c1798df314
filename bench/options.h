// Compiler options, of NVRTC and of nvcc: which are known to do nothing but change the code that comes out, which name
// headers, and which a bench may only give once somebody has allowed it, since they start programs, read or write files
// beside the compile, or are not known at all.
#ifndef KB_BENCH_OPTIONS_H
#define KB_BENCH_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>

#define KB_OPTIONS_COMMAND "compile-with"
#define KB_OPTION_REMEDY "look at it, then kbench-tui allow BENCH; or leave it out"

enum kb_option_kind {
    KB_OPTION_HARMLESS,
    KB_OPTION_FOLDER, // headers are looked for there: -I, --include-path, -isystem
    KB_OPTION_HEADER, // is read before the source: -include, --pre-include
    KB_OPTION_DEFINE, // "NAME=VALUE" or "NAME"
    KB_OPTION_FILE,   // holds further options: @file, --options-file
    KB_OPTION_HOST,   // options for the host's compiler, divided by commas: -Xcompiler. Asks as well
    KB_OPTION_ASKS,
};
struct kb_option {
    enum kb_option_kind kind;
    const char *word;  // as it was written, without the word behind it; points into the list
    const char *value; // behind the name, '=' or in the next word; "" if there is none
    int words;         // 1, or 2 where the value is the next word
    bool asks;         // may only be given once it was allowed
    const char *why;   // it asks: what it does, for people
};
// The option at words[0]; count >= 1 words are there.
struct kb_option kb_option_read(const char *const *words, int count);
// The first of them that asks, or NULL; why (may be NULL) gets what it does.
const char *kb_options_asking(const char *const *options, int count, const char **why);
// What is allowed, as the words of a command (bench/permission.h): "compile-with", then the options that ask, a value
// behind '=' or '@' being a word of its own, so that a file that it names is looked at. NULL-terminated, owned with its
// texts; NULL if none asks.
char **kb_options_command(const char *const *options, int count);

// Appends a word, whose owner the list becomes. Lists are NULL-terminated; kb_free_list (base/memory.h) frees them.
void kb_options_add(char ***words, int *count, char *owned);
// The words of a text as nvcc divides NVCC_APPEND_FLAGS and files of options: at blanks, quotes kept together. Appends
// to *words, owned texts.
void kb_options_split(const char *text, char ***words, int *count);

// The options with relative folders and headers put below dir: compilers do not run in the bench's folder. Appends to
// *words, owned texts.
void kb_options_place(const char *const *options, int count, const char *dir, char ***words, int *word_count);

// Whether a folder is a toolkit's include folder, or lies right in one: it holds thousands of headers, which belong to
// the compiler and which its version stands for. Asks the disk.
bool kb_is_toolkit_folder(const char *dir);

#endif
