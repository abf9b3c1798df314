// What a function that can fail leaves behind. Such a function returns 0 or -1 and never prints.
#ifndef KB_BASE_ERROR_H
#define KB_BASE_ERROR_H

struct kb_error {
    char what[768];   // what failed, with the numbers; one sentence
    char on[320];     // on what: "path:line", a kernel, a library; "" if it says itself
    char remedy[384]; // what to do about it; "" if nothing is known
};

// Fills e (which may be NULL) and returns -1. on and remedy may be NULL.
int kb_fail(struct kb_error *e, const char *on, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// "on: what (remedy)" in a static thread-local buffer.
const char *kb_error_line(const struct kb_error *e);

#endif
