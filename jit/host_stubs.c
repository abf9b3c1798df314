// Stand-ins for headers of the host that NVRTC does not have. They give what device code uses of them and nothing that
// NVRTC has built in (size_t, ptrdiff_t, clock_t, printf, assert, memcpy, the math functions). The integer types are
// libcu++'s where it is there: other toolkit headers include it, and two definitions would clash.
#include "jit/build.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prelude[] =
    "#pragma once\n"
    "#if __has_include(<cuda/std/cstdint>)\n"
    "#include <cuda/std/cstdint>\n"
    "#else\n"
    "typedef signed char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef long long int64_t;\n"
    "typedef unsigned char uint8_t;\n"
    "typedef unsigned short uint16_t;\n"
    "typedef unsigned int uint32_t;\n"
    "typedef unsigned long long uint64_t;\n"
    "typedef long long intptr_t;\n"
    "typedef unsigned long long uintptr_t;\n"
    "#define INT8_MAX 127\n"
    "#define INT8_MIN (-128)\n"
    "#define UINT8_MAX 255\n"
    "#define INT16_MAX 32767\n"
    "#define INT16_MIN (-32768)\n"
    "#define UINT16_MAX 65535\n"
    "#define INT32_MAX 2147483647\n"
    "#define INT32_MIN (-2147483647 - 1)\n"
    "#define UINT32_MAX 4294967295u\n"
    "#define INT64_MAX 9223372036854775807ll\n"
    "#define INT64_MIN (-9223372036854775807ll - 1)\n"
    "#define UINT64_MAX 18446744073709551615ull\n"
    "#define SIZE_MAX UINT64_MAX\n"
    "#define CHAR_BIT 8\n"
    "#define INT_MAX INT32_MAX\n"
    "#define INT_MIN INT32_MIN\n"
    "#define UINT_MAX UINT32_MAX\n"
    "#define LONG_MAX INT64_MAX\n"
    "#define LONG_MIN INT64_MIN\n"
    "#define ULONG_MAX UINT64_MAX\n"
    "#define LLONG_MAX INT64_MAX\n"
    "#define LLONG_MIN INT64_MIN\n"
    "#define ULLONG_MAX UINT64_MAX\n"
    "#endif\n"
    "typedef unsigned int uint;\n"
    "typedef unsigned short ushort;\n"
    "typedef unsigned long ulong;\n"
    "#define FLT_MAX 3.402823466e+38f\n"
    "#define FLT_MIN 1.175494351e-38f\n"
    "#define FLT_EPSILON 1.192092896e-07f\n"
    "#define DBL_MAX 1.7976931348623157e+308\n"
    "#define DBL_MIN 2.2250738585072014e-308\n"
    "#define DBL_EPSILON 2.2204460492503131e-16\n"
    "#ifndef INFINITY\n"
    "#define INFINITY __int_as_float(0x7f800000)\n"
    "#endif\n"
    "#ifndef NAN\n"
    "#define NAN __int_as_float(0x7fffffff)\n"
    "#endif\n"
    "#define HUGE_VALF __int_as_float(0x7f800000)\n"
    "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)\n"
    "#define M_E 2.7182818284590452354\n"
    "#define M_LOG2E 1.4426950408889634074\n"
    "#define M_LN2 0.69314718055994530942\n"
    "#define M_LN10 2.30258509299404568402\n"
    "#define M_PI 3.14159265358979323846\n"
    "#define M_PI_2 1.57079632679489661923\n"
    "#define M_PI_4 0.78539816339744830962\n"
    "#define M_SQRT2 1.41421356237309504880\n"
    "#define M_SQRT1_2 0.70710678118654752440\n"
    "#define M_2_SQRTPI 1.12837916709551257390\n"
    "namespace std {\n"
    "using ::abs; using ::fabs; using ::sqrt; using ::exp; using ::log; using ::pow; using ::sin; using ::cos; using "
    "::tanh;\n"
    "using ::floor; using ::ceil; using ::round; using ::fma; using ::fmax; using ::fmin; using ::isnan; using "
    "::isinf;\n"
    "using ::size_t; using ::ptrdiff_t;\n"
    "using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;\n"
    "using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;\n"
    "template <class T> __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }\n"
    "template <class T> __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }\n"
    "template <class T> __device__ void swap(T &a, T &b) { T c = a; a = b; b = c; }\n"
    "}\n";

// Without content: what device code can use of them is in the prelude or built in.
static const char *const empty_headers[] = {
    "algorithm", "alloca.h",   "assert.h",   "atomic",        "bitset",        "cassert",      "cctype",
    "cerrno",    "cfloat",     "chrono",     "cinttypes",     "climits",       "cmath",        "condition_variable",
    "cstdarg",   "cstdint",    "cstdio",     "cstdlib",       "cstring",       "ctime",        "ctype.h",
    "deque",     "dlfcn.h",    "errno.h",    "exception",     "execinfo.h",    "fcntl.h",      "filesystem",
    "float.h",   "fstream",    "future",     "getopt.h",      "inttypes.h",    "iomanip",      "ios",
    "iostream",  "istream",    "limits.h",   "list",          "map",           "math.h",       "memory",
    "memory.h",  "mutex",      "omp.h",      "ostream",       "pthread.h",     "queue",        "random",
    "set",       "signal.h",   "sstream",    "stack",         "stdarg.h",      "stdbool.h",    "stddef.h",
    "stdexcept", "stdint.h",   "stdio.h",    "stdlib.h",      "string",        "string.h",     "string_view",
    "strings.h", "sys/mman.h", "sys/stat.h", "sys/time.h",    "sys/types.h",   "system_error", "thread",
    "time.h",    "typeinfo",   "unistd.h",   "unordered_map", "unordered_set", "vector",
};
// The toolkit's interfaces of host libraries: they only stand in the way of device code.
static const char *const host_libraries[] = {"cublas.h",
                                             "cublasLt.h",
                                             "cublas_v2.h",
                                             "cublasXt.h",
                                             "cuda_profiler_api.h",
                                             "cudnn.h",
                                             "cufft.h",
                                             "cufftXt.h",
                                             "cupti.h",
                                             "curand.h",
                                             "cusolverDn.h",
                                             "cusolver_common.h",
                                             "cusparse.h",
                                             "nvToolsExt.h",
                                             "nvToolsExtCuda.h",
                                             "nvToolsExtCudaRt.h",
                                             "nvtx3/nvToolsExtCuda.h",
                                             "nvtx3/nvToolsExtCudaRt.h",
                                             "nvtx3/nvtx3.hpp",
                                             "nvml.h",
                                             "nvrtc.h",
                                             "nvtx3/nvToolsExt.h",
                                             "thrust/copy.h",
                                             "thrust/device_ptr.h",
                                             "thrust/device_vector.h",
                                             "thrust/execution_policy.h",
                                             "thrust/fill.h",
                                             "thrust/host_vector.h",
                                             "thrust/random.h",
                                             "thrust/reduce.h",
                                             "thrust/scan.h",
                                             "thrust/sequence.h",
                                             "thrust/sort.h",
                                             "thrust/transform.h"};
// libcu++ has these for the device.
static const char *const forwarded_headers[] = {
    "array",   "bit",      "complex", "concepts", "cstddef", "functional",  "initializer_list", "iterator", "limits",
    "numeric", "optional", "ratio",   "span",     "tuple",   "type_traits", "utility",          "variant"};

bool kb_host_prelude_has(const char *identifier)
{
    size_t n = strlen(identifier);
    for (const char *p = prelude; n && (p = strstr(p, identifier)); p += n) {
        char before = p == prelude ? ' ' : p[-1], after = p[n];
        if ((before == ' ' || before == ':') && (after == ' ' || after == ';' || after == '\n'))
            return true;
    }
    return !strcmp(identifier, "std");
}

// The name in an #include line, or NULL; owned. *quoted tells "x" from <x>.
static char *included(const char *line, size_t n, bool *quoted)
{
    size_t i = 0;
    while (i < n && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (i == n || line[i++] != '#')
        return NULL;
    while (i < n && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (n - i < 8 || strncmp(line + i, "include", 7))
        return NULL;
    for (i += 7; i < n && (line[i] == ' ' || line[i] == '\t');)
        i++;
    if (i == n || (line[i] != '<' && line[i] != '"'))
        return NULL;
    *quoted = line[i] == '"';
    const char *start = line + i + 1, *end = memchr(start, *quoted ? '"' : '>', n - i - 1);
    return end ? kb_strndup(start, (size_t)(end - start)) : NULL;
}

static bool exists_in(const char *dir, const char *name)
{
    char *path = kb_path_join(dir, name);
    bool there = kb_is_file(path);
    free(path);
    return there;
}

static bool resolves(const struct kb_build *b, const char *name)
{
    const char *toolkit = kb_toolkit_include(kb_toolkit_get());
    bool found = false;
    for (int i = 0; !found && i < b->request->include_dir_count; i++) {
        char *at = kb_path_join(b->tree.dir, b->request->include_dirs[i]);
        found = exists_in(at, name);
        free(at);
    }
    if (!found && toolkit) {
        char *cccl = kb_path_join(toolkit, "cccl");
        found = exists_in(toolkit, name) || exists_in(cccl, name);
        free(cccl);
    }
    return found;
}

static void add_missing(const struct kb_build *b, const struct kb_compile_file *f, struct kb_words *out)
{
    for (size_t at = 0; at < f->size;) {
        const char *end = memchr(f->data + at, '\n', f->size - at);
        size_t n = end ? (size_t)(end - f->data) - at : f->size - at;
        bool quoted;
        char *name = included(f->data + at, n, &quoted);
        at += n + 1;
        if (name && !quoted && kb_tree_check_name(name, NULL) == 0 && !resolves(b, name))
            kb_words_add(out, name);
        else
            free(name);
    }
}

void kb_host_missing(const struct kb_build *b, struct kb_words *out)
{
    for (int i = 0; i < b->request->file_count; i++)
        add_missing(b, &b->request->files[i], out);
}

static int write_stub(const struct kb_build *b, const char *name, const char *text, struct kb_error *e)
{
    char *file = kb_format(KB_HOST_STUBS "/%s", name), *path = kb_path_join(b->tree.dir, file);
    int status = kb_is_file(path) ? 0 : kb_tree_write(&b->tree, file, text, strlen(text), e);
    free(path);
    free(file);
    return status;
}

int kb_host_stubs(const struct kb_build *b, const struct kb_words *missing, struct kb_error *e)
{
    int status = write_stub(b, "kbench_prelude.h", prelude, e);
    for (size_t i = 0; !status && i < KB_COUNT(empty_headers); i++)
        status = write_stub(b, empty_headers[i], "", e);
    for (size_t i = 0; !status && i < KB_COUNT(host_libraries); i++)
        status = write_stub(b, host_libraries[i], "", e);
    for (size_t i = 0; !status && i < KB_COUNT(forwarded_headers); i++) {
        char *text = kb_format("#pragma once\n#include <cuda/std/%s>\nnamespace std { using namespace cuda::std; }\n",
                               forwarded_headers[i]);
        status = write_stub(b, forwarded_headers[i], text, e);
        free(text);
    }
    for (int i = 0; !status && i < missing->count; i++)
        status = write_stub(b, missing->list[i], "", e);
    return status;
}
