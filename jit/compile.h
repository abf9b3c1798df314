// Source in, PTX and cubin out: NVRTC, nvcc for what NVRTC does not take. Runs in the compile worker; no GPU context.
#ifndef KB_JIT_COMPILE_H
#define KB_JIT_COMPILE_H
#include "base/error.h"
#include "base/text.h"
#include "bench/instrument.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct kb_compile_file {
    const char *name; // relative inside the request's tree
    const char *data;
    size_t size;
};
struct kb_compile_request {
    const char *main; // one of files
    const struct kb_compile_file *files;
    int file_count;
    const char *const *include_dirs; // relative inside the tree
    int include_dir_count;
    const char *const *defines; // "NAME=VALUE"
    int define_count;
    const char *const *options;
    int option_count;
    bool options_allowed;       // also those that ask (bench/options.h)
    const char *arch;           // "sm_90"; NULL: the newest that NVRTC knows
    const char *const *kernels; // names or name expressions; 0: all plain kernels
    int kernel_count;
    const char *compiler; // "auto", "nvrtc", "nvcc"
    bool lineinfo;
    bool traced; // kb_section.cuh comes before all else, and records; see kb_compile_traced
};
struct kb_compile_message {
    char *file; // as in the request; "" if it has no place
    int line, column;
    char severity[16]; // "error", "warning", "remark"
    char *text;
};
struct kb_compiled_kernel {
    char *name, *lowered;
    int line; // 0 unknown
    int registers, max_threads;
    long spill_store_bytes, spill_load_bytes, shared_bytes, stack_bytes, const_bytes; // -1 unknown
    int param_count;
    struct {
        int offset, bytes;
    } params[128];
};
struct kb_compiled {
    bool ok;
    char reason[512];  // one sentence if not ok
    char compiler[64]; // "nvrtc 13.0"
    char arch[16];
    struct kb_compiled_kernel *kernels;
    int kernel_count;
    char *ptx;
    size_t ptx_size; // without the final NUL
    char *cubin;
    size_t cubin_size;
    char *log; // the whole log, uncleaned
    struct kb_compile_message *messages;
    int message_count;
    char **notes; // "byte order mark stripped", ...
    int note_count;
    char **includes; // names of the request's files that the compiler opened; only meaningful with includes_known
    int include_count;
    bool includes_known;
};
// In lines of PTX and .debug_line a file of the request is "/" + its name (the folder it lay in leaves no trace, so
// that the same request gives the same bytes); log and messages say the plain name. 0 whenever the compiler gave a
// verdict (see out->ok); -1 if it could not be asked at all (no NVRTC, bad request).
int kb_compile(const struct kb_compile_request *, struct kb_compiled *out, struct kb_error *);
void kb_compiled_free(struct kb_compiled *);
// The same of sources whose marked sections record when they begin (bench/instrument.h); names gets their names. -1,
// with place and remedy, also where the source cannot be traced.
int kb_compile_traced(const struct kb_compile_request *, struct kb_compiled *out, struct kb_trace_names *names,
                      struct kb_error *);
// For a process that compiles again and again. keep_memory: what a compile gives back stays for the next one, instead
// of being faulted in again. warm_up: compiles an empty kernel, so that the first real compile finds the compiler
// loaded.
void kb_compile_keep_memory(void);
void kb_compile_warm_up(void);

// Where the tools and libraries are: option or KBENCH_* variable, CUDA_HOME, beside the loaded NVRTC, PATH, the default
// toolkit folders, .deps beside the program. Every loaded library with its path and version, for doctor and hello.
struct kb_toolkit; // opened once, kept
const struct kb_toolkit *kb_toolkit_get(void);
const char *kb_toolkit_include(const struct kb_toolkit *); // folder with cuda_fp16.h, or NULL
cJSON *kb_toolkit_libs(const struct kb_toolkit *);         // libs[] of hello; owned by the caller
// Path of a tool ("nvcc", "nvdisasm"), or NULL with where it was looked for in *looked (owned by the caller).
char *kb_toolkit_tool(const struct kb_toolkit *, const char *name, char **looked);
// ["sm_75", ...] newest last; owned by the caller; NULL if there is no NVRTC.
cJSON *kb_toolkit_archs(const struct kb_toolkit *);
void *kb_toolkit_nvrtc(const struct kb_toolkit *); // dlopen handle or NULL
// Opens a CUDA library by its short name ("cuda", "nvrtc", "cupti", "nvml"): RTLD_NOW, the newest acceptable first.
// path gets where it came from. NULL with the error saying where it was looked for and how to get it.
void *kb_toolkit_open(const char *name, char *path, size_t path_size, struct kb_error *);

// Parameters, registers and sizes of the kernels of a cubin (ELF; .nv.info sections). Returns the number or -1.
int kb_cubin_kernels(const void *cubin, size_t size, struct kb_compiled_kernel **out, struct kb_error *);
// Variables of a cubin in global and constant memory, those that inline assembly declares among them.
struct kb_cubin_variable {
    char *name; // owned
    uint64_t offset, bytes;
    unsigned section; // variables of one section lie behind one start, apart from managed ones
    bool constant, managed;
};
// Returns the number or -1; free with kb_cubin_variables_free.
int kb_cubin_variables(const void *cubin, size_t size, struct kb_cubin_variable **out, struct kb_error *);
void kb_cubin_variables_free(struct kb_cubin_variable *, int count);
// Whether the code of a kernel holds a copy of this function, which was not inlined; both names lowered.
bool kb_cubin_calls(const void *cubin, size_t size, const char *kernel, const char *function);
// XXH128 over the code sections of one kernel (all kernels: NULL), to tell "same code" from "same source".
struct kb_hash;
int kb_cubin_code_hash(const void *cubin, size_t size, const char *lowered, struct kb_hash *out, struct kb_error *);
// XXH128 over constants and initial values of globals, which the code reads.
int kb_cubin_data_hash(const void *cubin, size_t size, struct kb_hash *out, struct kb_error *);

#endif
