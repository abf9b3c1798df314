// Scripts of the fake driver libraries: "what:n=value; what=value; ...".
//   CALL=V        every call of CALL returns V                 CALL:3=V   only the third one (counted from 1)
//   CALL=hang     never returns                                CALL=slow20 waits 20 ms, then works
// An error code from 700 to 799, 46 or 999 sticks: every later call returns it too, as from a lost context.
//   NAME=V        a value, see the library's own file
#ifndef KB_FAKE_H
#define KB_FAKE_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAKE_ENTRIES = 64 };
struct fake_script {
    struct {
        char name[32], value[64];
        int nth, calls;
    } entries[FAKE_ENTRIES];
    int count;
    int stuck; // the code that every call returns
    bool read;
};

static inline void fake_parse(struct fake_script *s, const char *text)
{
    memset(s, 0, sizeof *s);
    s->read = true;
    while (text && *text && s->count < FAKE_ENTRIES) {
        size_t length = strcspn(text, ";");
        char part[128], *value;
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        text += length + (text[length] == ';');
        char *name = part + strspn(part, " ");
        if (!(value = strchr(name, '=')))
            continue;
        *value++ = 0;
        char *nth = strchr(name, ':');
        if (nth)
            *nth++ = 0;
        snprintf(s->entries[s->count].name, sizeof s->entries[0].name, "%.31s", name);
        snprintf(s->entries[s->count].value, sizeof s->entries[0].value, "%.63s", value);
        s->entries[s->count++].nth = nth ? atoi(nth) : 0;
    }
}

static inline void fake_sleep_ms(int ms)
{
    struct timespec wait = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&wait, NULL);
}

static inline int fake_call(struct fake_script *s, const char *variable, const char *name)
{
    if (!s->read)
        fake_parse(s, getenv(variable));
    if (s->stuck)
        return s->stuck;
    for (int i = 0; i < s->count; i++)
        s->entries[i].calls += !strcmp(s->entries[i].name, name);
    for (int i = 0; i < s->count; i++) {
        if (strcmp(s->entries[i].name, name) || (s->entries[i].nth && s->entries[i].calls != s->entries[i].nth))
            continue;
        const char *value = s->entries[i].value;
        while (!strcmp(value, "hang"))
            pause();
        if (!strncmp(value, "slow", 4)) {
            fake_sleep_ms(atoi(value + 4));
            continue;
        }
        int code = atoi(value);
        if ((code >= 700 && code < 800 && code != 701 && code != 720) || code == 46 || code == 999)
            s->stuck = strcmp(name, "init") && strcmp(name, "context") ? code : 0;
        return code;
    }
    return 0;
}

static inline const char *fake_text(struct fake_script *s, const char *variable, const char *name,
                                    const char *otherwise)
{
    if (!s->read)
        fake_parse(s, getenv(variable));
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->entries[i].name, name))
            return s->entries[i].value;
    return otherwise;
}

static inline double fake_value(struct fake_script *s, const char *variable, const char *name, double otherwise)
{
    const char *text = fake_text(s, variable, name, NULL);
    return text ? atof(text) : otherwise;
}

// What the fake libraries export for tests, found by dlsym: the script replaces the one of the environment, and counts
// and clocks start anew.
typedef void fake_set_script(const char *text);
// fake libcuda calls this for each launch with the GPU's virtual time; fake libcupti sets it.
struct fake_launch {
    uint64_t start_ns, end_ns;
};
typedef void fake_launch_hook(const struct fake_launch *);

void kb_fake_cuda_script(const char *text);
void kb_fake_cuda_hook(fake_launch_hook *);
uint64_t kb_fake_cuda_now(void); // the GPU's virtual clock, ns
long kb_fake_cuda_count(
    const char *what); // "launch", "memset", "reset", "alloc", "free", "module_load", "module_unload"
void kb_fake_cupti_script(const char *text);
void kb_fake_nvml_script(const char *text);

#endif
