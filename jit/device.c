// Which device: the choice between the CUDA driver and the CPU.
#include "jit/device.h"

#include <stdio.h>
#include <string.h>

static _Thread_local char failure[16] = "internal";

const char *kb_device_failure(void)
{
    return failure;
}

void kb_device_set_failure(const char *code)
{
    snprintf(failure, sizeof failure, "%s", code);
}

// A GPU that is there but cannot be used is no reason to change silently to emulation; the way out is named instead.
static int name_the_way_out(struct kb_error *e)
{
    if (e && !strstr(e->remedy, "--device cpu")) {
        size_t used = strlen(e->remedy);
        snprintf(e->remedy + used, sizeof e->remedy - used, "%s--device cpu runs without the GPU", used ? "; " : "");
    }
    return -1;
}

int kb_device_open(const struct kb_device_request *request, struct kb_device **out, struct kb_error *e)
{
    const char *kind = request->kind ? request->kind : "auto";
    bool absent = false, any = !strcmp(kind, "auto");
    *out = NULL;
    kb_device_set_failure("internal");
    if (!strcmp(kind, "cpu"))
        return kb_device_open_cpu(request, out, e);
    if (!any && strcmp(kind, "cuda") && strncmp(kind, "cuda:", 5))
        return kb_fail(e, kind, "auto, cpu, cuda, cuda:N or cuda:GPU-uuid", "no such device");
    if (!kb_device_open_cuda(request, out, &absent, e))
        return 0;
    if (any && absent)
        return kb_device_open_cpu(request, out, e);
    return name_the_way_out(e);
}
