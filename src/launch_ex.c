/* launch_ex.c - launches with events, flags, cooperation, several at a time */
#include "error.h"
#include "instance.h"
#include "kernel_get.h"
#include "launch.h"
#include "process.h"
#include "query.h"
#include "select_sm.h"

static kpk_status check_cooperative(const kpk_kernel *kernel,
                                    const kpk_shape *shape)
{
    const kpk_device *device = &kernel->inst->device;
    const uint32_t block = shape->block[0] * shape->block[1] * shape->block[2];
    uint64_t blocks = 1;
    uint64_t room;
    uint32_t per_unit;
    kpk_status st;

    if (!device->cooperative)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "%s: device %d (%s) does not do cooperative launches",
                          kpk_kernel_name(kernel), kernel->inst->ordinal,
                          device->target);
    if (!kernel->inst->gpu->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
        return KPK_OK; /* HIP itself refuses too large a grid */
    st = kpk_i_occupancy(kernel, block, shape->shared_nbytes, &per_unit);
    if (st != KPK_OK)
        return st;
    room = (uint64_t)per_unit * device->compute_units;
    for (int i = 0; i < 3; i++) {
        /* cannot overflow: room is below 2^64 / 2^32, and beyond it we stop */
        blocks *= shape->grid[i];
        if (blocks > room)
            return kpk_i_fail(
                KPK_ERR_SHAPE,
                "%s: a cooperative launch of grid %u x %u x %u has more blocks "
                "than device %d runs at once: %u on each of %u compute units",
                kpk_kernel_name(kernel), shape->grid[0], shape->grid[1],
                shape->grid[2], kernel->inst->ordinal, per_unit,
                device->compute_units);
    }
    return KPK_OK;
}

/* One of the driver's ways to launch, by the name it has in messages. */
struct way {
    const char *name;
    hipError_t (*call)(const struct kpk_i_gpu *gpu, hipFunction_t function,
                       const kpk_launch_options *options, void **params);
};

static hipError_t call_cooperative(const struct kpk_i_gpu *gpu,
                                   hipFunction_t function,
                                   const kpk_launch_options *options,
                                   void **params)
{
    const kpk_shape *shape = &options->shape;

    return gpu->hipModuleLaunchCooperativeKernel(
        function, shape->grid[0], shape->grid[1], shape->grid[2],
        shape->block[0], shape->block[1], shape->block[2], shape->shared_nbytes,
        options->stream, params);
}

/* HIP's call takes the grid in threads, not in blocks. kpk_i_check_launch() has
 * checked that each dimension has below 2^32 threads. */
static hipError_t call_ext(const struct kpk_i_gpu *gpu, hipFunction_t function,
                           const kpk_launch_options *options, void **params)
{
    enum { ANY_ORDER = 1 };
    const kpk_shape *shape = &options->shape;

    return gpu->hipExtModuleLaunchKernel(
        function, shape->grid[0] * shape->block[0],
        shape->grid[1] * shape->block[1], shape->grid[2] * shape->block[2],
        shape->block[0], shape->block[1], shape->block[2], shape->shared_nbytes,
        options->stream, params, NULL, options->start_event,
        options->stop_event,
        options->flags & KPK_LAUNCH_ANY_ORDER ? ANY_ORDER : 0);
}

static bool is_clustered(const kpk_launch_options *options)
{
    return options->cluster[0] > 1 || options->cluster[1] > 1 ||
           options->cluster[2] > 1;
}

static hipError_t call_with(const struct kpk_i_gpu *gpu, hipFunction_t function,
                            const kpk_launch_options *options, void **params)
{
    uint32_t cluster[3];

    for (int i = 0; i < 3; i++)
        cluster[i] = options->cluster[i] ? options->cluster[i] : 1;
    return gpu->launch_with(
        function, &options->shape, is_clustered(options) ? cluster : NULL,
        options->flags & KPK_LAUNCH_EARLY, options->stream, params);
}

static const struct way cooperative_way = {"hipModuleLaunchCooperativeKernel",
                                           call_cooperative};
static const struct way ext_way = {"hipExtModuleLaunchKernel", call_ext};
static const struct way with_way = {"cuLaunchKernelEx", call_with};

static kpk_status start(const struct way *way, const kpk_kernel *kernel,
                        const kpk_launch_options *options, void **params)
{
    const kpk_instance *inst = kernel->inst;
    hipFunction_t function;
    intptr_t saved;
    hipError_t error;
    kpk_status st = kpk_i_function(kernel, &function);

    if (st == KPK_OK)
        st = kpk_i_enter(inst, &saved);
    if (st != KPK_OK)
        return st;
    error = way->call(inst->gpu, function, options, params);
    if (error != hipSuccess)
        st = kpk_i_launch_failed(way->name, error, kernel, &options->shape);
    return kpk_i_leave(inst, saved, st);
}

static kpk_status check_clusters(const kpk_kernel *kernel,
                                 const kpk_launch_options *options)
{
    enum { FIRST_WITH_CLUSTERS = 90 };
    const kpk_device *device = &kernel->inst->device;
    struct kpk_i_sm sm;
    const uint32_t *grid = options->shape.grid, *cluster = options->cluster;

    if (!kernel->inst->gpu->launch_with)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "%s: %s launches no clusters of blocks; NVIDIA's "
                          "driver does from CUDA 11.8 on",
                          kpk_kernel_name(kernel), kernel->inst->gpu->title);
    (void)kpk_i_sm_parse(device->target, &sm);
    if (sm.number < FIRST_WITH_CLUSTERS)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "%s: device %d (%s) has no clusters of blocks; "
                          "NVIDIA's GPUs have them from sm_90 on",
                          kpk_kernel_name(kernel), kernel->inst->ordinal,
                          device->target);
    for (int i = 0; i < 3; i++)
        if (cluster[i] > 1 && grid[i] % cluster[i] != 0)
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the grid of %u x %u x %u blocks is no "
                              "multiple of clusters of %u x %u x %u",
                              kpk_kernel_name(kernel), grid[0], grid[1],
                              grid[2], cluster[0], cluster[1], cluster[2]);
    return KPK_OK;
}

/* KPK_LAUNCH_EARLY is a permission: ignored if the kernel or the driver lacks
 * support for it. */
static bool may_begin_early(const kpk_kernel *kernel)
{
    enum { CUDA_WITH_EARLY_IN_GRAPHS = 12030 };
    const struct kpk_i_gpu *gpu = kernel->inst->gpu;

    return kernel->attrs->waits && gpu->launch_with &&
           gpu->version >= CUDA_WITH_EARLY_IN_GRAPHS;
}

static kpk_status check_options(const kpk_launch_options *options, size_t nargs)
{
    const bool events = options->start_event || options->stop_event;

    if (options->flags & ~(unsigned)(KPK_LAUNCH_COOPERATIVE |
                                     KPK_LAUNCH_ANY_ORDER | KPK_LAUNCH_EARLY))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_launch_ex: flags 0x%x has bits other than "
                          "KPK_LAUNCH_COOPERATIVE, KPK_LAUNCH_ANY_ORDER and "
                          "KPK_LAUNCH_EARLY",
                          options->flags);
    if (options->flags & KPK_LAUNCH_COOPERATIVE &&
        (events || options->flags & KPK_LAUNCH_ANY_ORDER))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_launch_ex: a cooperative launch takes no events "
                          "and no KPK_LAUNCH_ANY_ORDER; record events on the "
                          "stream before and after it instead");
    if (is_clustered(options) &&
        (events || options->flags & ~(unsigned)KPK_LAUNCH_EARLY))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_launch_ex: a launch in clusters takes no events "
                          "and no flags but KPK_LAUNCH_EARLY; record events on "
                          "the stream before and after it instead");
    if (options->packed && nargs)
        return kpk_i_fail(KPK_ERR_ARG, "kpk_launch_ex: arguments are given as "
                                       "a list and as a packed buffer, too");
    if (options->packed_nbytes && !options->packed)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_launch_ex: packed is NULL, packed_nbytes %zu",
                          options->packed_nbytes);
    return KPK_OK;
}

/* Not plain, and not as hipModuleLaunchKernel() launches. */
static const struct way *way_of(const kpk_launch_options *options)
{
    if (options->flags & KPK_LAUNCH_COOPERATIVE)
        return &cooperative_way;
    if (options->flags & KPK_LAUNCH_ANY_ORDER || options->start_event ||
        options->stop_event)
        return &ext_way;
    return is_clustered(options) || options->flags & KPK_LAUNCH_EARLY
               ? &with_way
               : NULL;
}

/* Fails if the driver lacks the function for a way. */
static kpk_status check_way(const struct way *way, const struct kpk_i_gpu *gpu)
{
    if (way == &cooperative_way && !gpu->hipModuleLaunchCooperativeKernel)
        return kpk_i_lacks(gpu, "a cooperative launch",
                           "hipModuleLaunchCooperativeKernel");
    if (way == &ext_way && !gpu->hipExtModuleLaunchKernel)
        return kpk_i_lacks(gpu, "a launch with events or flags",
                           "hipExtModuleLaunchKernel");
    return KPK_OK;
}

kpk_status kpk_launch_ex(const kpk_kernel *kernel,
                         const kpk_launch_options *options, const kpk_arg *args,
                         size_t nargs)
{
    void *params[KPK_MAX_ARGS];
    kpk_launch_options o;
    const struct way *way;
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(options);
    st = check_options(options, nargs);
    if (st != KPK_OK)
        return st;
    o = *options;
    if (!may_begin_early(kernel))
        o.flags &= ~(unsigned)KPK_LAUNCH_EARLY;
    way = way_of(&o);
    if (!way && o.packed)
        return kpk_launch_packed(kernel, &o.shape, o.stream, o.packed,
                                 o.packed_nbytes);
    if (!way)
        return kpk_launch(kernel, &o.shape, o.stream, args, nargs);
    st = check_way(way, kernel->inst->gpu);
    if (st == KPK_OK)
        st = kpk_i_check_launch(kernel, &o.shape);
    if (st == KPK_OK)
        st = kpk_i_check_stream(kernel, o.stream);
    if (st == KPK_OK && way == &cooperative_way)
        st = check_cooperative(kernel, &o.shape);
    if (st == KPK_OK && is_clustered(&o))
        st = check_clusters(kernel, &o);
    if (st == KPK_OK && o.packed)
        st = kpk_i_point_into_buffer(kernel, o.packed, o.packed_nbytes, params);
    else if (st == KPK_OK)
        st = kpk_i_point_to_args(kernel, args, nargs, params);
    if (st != KPK_OK)
        return st;
    return start(way, kernel, &o, kernel->desc->nargs ? params : NULL);
}

/* All are checked first: half a list is harder to undo than none. */
static kpk_status check_items(const kpk_launch_item *items, size_t n)
{
    void *params[KPK_MAX_ARGS];

    for (size_t i = 0; i < n; i++) {
        const kpk_launch_item *item = &items[i];
        hipFunction_t function;
        kpk_status st;

        if (!item->kernel)
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_launch_all: the kernel of item %zu is NULL",
                              i);
        st = kpk_i_check_launch(item->kernel, &item->shape);
        if (st == KPK_OK)
            st = kpk_i_check_stream(item->kernel, item->stream);
        if (st == KPK_OK)
            st = kpk_i_point_to_args(item->kernel, item->args, item->nargs,
                                     params);
        if (st == KPK_OK)
            st = kpk_i_function(item->kernel, &function);
        if (st != KPK_OK)
            return st;
    }
    return KPK_OK;
}

static kpk_status check_devices(const kpk_launch_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const kpk_instance *inst = items[i].kernel->inst;
        kpk_status st = check_cooperative(items[i].kernel, &items[i].shape);

        if (st != KPK_OK)
            return st;
        if (inst->gpu != items[0].kernel->inst->gpu ||
            !inst->device.cooperative_multi)
            return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                              "device %d (%s) does not do cooperative launches "
                              "over several devices",
                              inst->ordinal, inst->device.target);
        if (!items[i].stream)
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_launch_all: item %zu (%s) has no stream of "
                              "its own, which a cooperative launch over "
                              "several devices needs",
                              i, kpk_kernel_name(items[i].kernel));
        for (size_t k = 0; k < i; k++) {
            if (items[k].kernel->inst->ordinal == inst->ordinal)
                return kpk_i_fail(KPK_ERR_ARG,
                                  "kpk_launch_all: items %zu and %zu are both "
                                  "on device %d",
                                  k, i, inst->ordinal);
        }
    }
    return KPK_OK;
}

static kpk_status start_together(const kpk_launch_item *items, size_t n,
                                 unsigned flags)
{
    const struct kpk_i_gpu *gpu = items[0].kernel->inst->gpu;
    void *params[KPK_MAX_COOPERATIVE][KPK_MAX_ARGS];
    hipFunctionLaunchParams list[KPK_MAX_COOPERATIVE];
    const unsigned no_sync = (flags & KPK_LAUNCH_NO_PRE_SYNC ? 1u : 0) |
                             (flags & KPK_LAUNCH_NO_POST_SYNC ? 2u : 0);
    hipError_t error;
    kpk_status st = kpk_i_check_process();

    for (size_t i = 0; i < n && st == KPK_OK; i++) {
        const kpk_launch_item *item = &items[i];

        /* check_items() has found them right */
        (void)kpk_i_point_to_args(item->kernel, item->args, item->nargs,
                                  params[i]);
        st = kpk_i_function(item->kernel, &list[i].function);
        for (int d = 0; d < 3; d++) {
            list[i].grid[d] = item->shape.grid[d];
            list[i].block[d] = item->shape.block[d];
        }
        list[i].shared_nbytes = item->shape.shared_nbytes;
        list[i].stream = item->stream;
        list[i].params = item->kernel->desc->nargs ? params[i] : NULL;
    }
    if (st != KPK_OK)
        return st;
    error = gpu->hipModuleLaunchCooperativeKernelMultiDevice(list, (unsigned)n,
                                                             no_sync);
    if (error != hipSuccess)
        return kpk_i_fail_gpu(gpu,
                              "hipModuleLaunchCooperativeKernelMultiDevice",
                              error, "cannot launch %s and %zu more together",
                              kpk_kernel_name(items[0].kernel), n - 1);
    return KPK_OK;
}

kpk_status kpk_launch_all(const kpk_launch_item *items, size_t n,
                          unsigned flags)
{
    const unsigned no_sync = KPK_LAUNCH_NO_PRE_SYNC | KPK_LAUNCH_NO_POST_SYNC;
    const bool together = flags & KPK_LAUNCH_COOPERATIVE;
    kpk_status st;

    if (n == 0)
        return KPK_OK;
    KPK_I_NEED(items);
    if (flags & ~(unsigned)KPK_LAUNCH_COOPERATIVE & ~(together ? no_sync : 0))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_launch_all: flags 0x%x has bits that do not "
                          "belong to %s launch",
                          flags, together ? "a cooperative" : "a plain");
    st = check_items(items, n);
    if (st != KPK_OK)
        return st;
    if (together) {
        const struct kpk_i_gpu *gpu = items[0].kernel->inst->gpu;

        if (n > KPK_MAX_COOPERATIVE)
            return kpk_i_fail(KPK_ERR_ARG,
                              "kpk_launch_all: %zu kernels together, %d is the "
                              "most",
                              n, KPK_MAX_COOPERATIVE);
        if (!gpu->hipModuleLaunchCooperativeKernelMultiDevice)
            return kpk_i_lacks(gpu, "a cooperative launch over several devices",
                               "hipModuleLaunchCooperativeKernelMultiDevice");
        st = check_devices(items, n);
        return st == KPK_OK ? start_together(items, n, flags) : st;
    }
    for (size_t i = 0; i < n && st == KPK_OK; i++)
        st = kpk_launch(items[i].kernel, &items[i].shape, items[i].stream,
                        items[i].args, items[i].nargs);
    return st;
}
