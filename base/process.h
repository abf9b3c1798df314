// What another process of ours is doing: whether it computes, or waits for something.
#ifndef KB_BASE_PROCESS_H
#define KB_BASE_PROCESS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// What it has computed, all threads added up; -1 where nobody can say.
int64_t kb_process_cpu_us(pid_t);
// One of its threads computes, or would if it were given a core. One that waits does not, not even in the kernel.
bool kb_process_is_busy(pid_t);

#endif
