// Launch limits, checked before the driver or the CPU device is asked: a refused launch leaves the output untouched,
// and the driver's own answer ("invalid value", "too many resources") does not say which limit it was.
#include "jit/device.h"

#include <stdio.h>
#include <string.h>

enum { WARP = 32, REGISTER_UNIT = 256 }; // registers are handed out to whole warps in units of 256 (since sm_30)

struct number {
    char text[32];
};

// 130560 -> "130,560"
static struct number grouped(int64_t value)
{
    struct number out;
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)(value < 0 ? -value : value)), used = 0;
    if (value < 0)
        out.text[used++] = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = digits[i];
    }
    out.text[used] = 0;
    return out;
}
#define N(value) grouped((int64_t)(value)).text

static int check_dimensions(const char *kernel, const char *what, const int64_t size[3], const int known[3],
                            const int standard[3], struct kb_error *e)
{
    for (int i = 0; i < 3; i++) {
        int64_t most = known[i] > 0 ? known[i] : standard[i];
        if (size[i] < 1)
            return kb_fail(e, kernel, "every dimension must be 1 or more", "%s %c is %s", what, "xyz"[i], N(size[i]));
        if (size[i] > most)
            return kb_fail(e, kernel, i && *what == 'g' ? "put the large dimension into grid x" : NULL,
                           "%s %c: %s > %s", what, "xyz"[i], N(size[i]), N(most));
    }
    return 0;
}

static int check_registers(const struct kb_kernel_info *k, const struct kb_device_info *d, int64_t threads,
                           struct kb_error *e)
{
    static const char *remedy = "fewer threads a block, or __launch_bounds__ so that the compiler uses fewer registers";
    int64_t most = d->registers_per_block;
    if (k->registers <= 0 || most <= 0)
        return 0;
    int64_t plain = k->registers * threads;
    if (plain > most)
        return kb_fail(e, k->name, remedy, "%d registers x %s threads = %s > %s", k->registers, N(threads), N(plain),
                       N(most));
    int64_t warps = (threads + WARP - 1) / WARP;
    int64_t a_warp = ((int64_t)k->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    if (warps * a_warp > most)
        return kb_fail(e, k->name, remedy, "%d registers (%s as allocated) x %s threads (whole warps) = %s > %s",
                       k->registers, N(a_warp / WARP), N(warps * WARP), N(warps * a_warp), N(most));
    return 0;
}

static int check_threads(const struct kb_kernel_info *k, const struct kb_device_info *d,
                         const struct kb_launch_args *args, struct kb_error *e)
{
    int64_t threads = args->block[0] * args->block[1] * args->block[2];
    int64_t most = d->max_threads_per_block > 0 ? d->max_threads_per_block : 1024;
    if (threads > most)
        return kb_fail(e, k->name, NULL, "block of %s x %s x %s = %s threads > %s", N(args->block[0]),
                       N(args->block[1]), N(args->block[2]), N(threads), N(most));
    if (check_registers(k, d, threads, e))
        return -1;
    if (k->max_threads > 0 && threads > k->max_threads)
        return kb_fail(e, k->name, "raise its __launch_bounds__ or use a smaller block",
                       "block of %s threads > %s, the most this kernel was compiled for", N(threads),
                       N(k->max_threads));
    return 0;
}

static int check_shared(const struct kb_kernel_info *k, const struct kb_device_info *d, size_t dynamic,
                        struct kb_error *e)
{
    size_t most = d->shared_per_block_optin ? d->shared_per_block_optin : d->shared_per_block;
    if (!most || (dynamic <= most && dynamic + k->static_shared <= most))
        return 0;
    return kb_fail(e, k->name, "smaller tiles, or a narrower type",
                   "shared memory: %s static + %s dynamic = %s bytes > %s, the most a block of %s may have",
                   N(k->static_shared), N(dynamic), N(k->static_shared + dynamic), N(most),
                   d->arch[0] ? d->arch : "this device");
}

static int check_arguments(const struct kb_kernel_info *k, int given, struct kb_error *e)
{
    if (k->param_count < 0 || k->param_count == given)
        return 0;
    char sizes[256] = "";
    for (int i = 0; i < k->param_count && strlen(sizes) < 200; i++)
        snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), "%s%d", i ? ", " : "", k->param_bytes[i]);
    return kb_fail(e, k->name, "make the bench's args and the kernel's parameters agree",
                   "kernel wants %d parameters (%s bytes), set-up gives %d", k->param_count, sizes[0] ? sizes : "no",
                   given);
}

static int check_cooperative(struct kb_kernel *kernel, const struct kb_device_ops *ops, const struct kb_kernel_info *k,
                             const struct kb_device_info *d, const struct kb_launch_args *args, struct kb_error *e)
{
    if (!d->cooperative_launch)
        return kb_fail(e, k->name, NULL, "%s has no cooperative launch", d->name[0] ? d->name : "this device");
    int blocks = 0;
    int threads = (int)(args->block[0] * args->block[1] * args->block[2]);
    if (ops->occupancy(kernel, threads, args->shared, &blocks, e))
        return -1;
    int64_t grid = args->grid[0] * args->grid[1] * args->grid[2], resident = (int64_t)blocks * d->sm_count;
    if (grid <= resident)
        return 0;
    return kb_fail(e, k->name, "a grid-wide barrier needs every block resident: use fewer blocks and loop inside them",
                   "cooperative grid of %s blocks > %s that fit at once (%s on each of %s multiprocessors)", N(grid),
                   N(resident), N(blocks), N(d->sm_count));
}

int kb_launch_check(struct kb_kernel *kernel, const struct kb_device_ops *ops, const struct kb_device_info *d,
                    const struct kb_launch_args *args, struct kb_error *e)
{
    static const int grid[3] = {2147483647, 65535, 65535}, block[3] = {1024, 1024, 64};
    struct kb_kernel_info k;
    ops->kernel_info(kernel, &k);
    if (check_dimensions(k.name, "grid", args->grid, d->max_grid, grid, e) ||
        check_dimensions(k.name, "block", args->block, d->max_block, block, e) || check_threads(&k, d, args, e) ||
        check_shared(&k, d, args->shared, e) || check_arguments(&k, args->arg_count, e))
        return -1;
    return args->cooperative ? check_cooperative(kernel, ops, &k, d, args, e) : 0;
}
