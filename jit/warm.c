// Keeping the compiler quick in a process that compiles again and again.
#include "jit/compile.h"

#include <malloc.h>

void kb_compile_keep_memory(void)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 32 << 20);
}

void kb_compile_warm_up(void)
{
    static const char source[] = "extern \"C\" __global__ void warm_up(float *a) { a[threadIdx.x] = expf(a[0]); }\n";
    struct kb_compile_file file = {"warm_up.cu", source, sizeof source - 1};
    struct kb_compile_request request = {.main = file.name, .files = &file, .file_count = 1, .compiler = "nvrtc"};
    struct kb_compiled compiled = {0};
    if (!kb_compile(&request, &compiled, NULL))
        kb_compiled_free(&compiled);
}
