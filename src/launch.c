/* launch.c - checks a launch and hands it to HIP
 *
 * HIP's own checks differ between releases in what they find and which number
 * they answer with, and none says what was wrong. So the shape is held against
 * the kernel's limits and the device's, and the arguments against the kernel's
 * list, before the call.
 *
 * Nothing is allocated: the pointers that HIP wants lie on the stack.
 */
#include "launch.h"
#include "error.h"
#include "instance.h"
#include "kernel_get.h"
#include "module.h"

#include <string.h>

/* Largest argument list whose left-out padding we complete on the stack. */
#define MAX_COMPLETED_NBYTES 4096u

static const char axis_names[] = "xyz";

static kpk_status check_grid(const kpk_kernel *kernel, const kpk_shape *shape)
{
    const kpk_device *device = &kernel->inst->device;

    for (int i = 0; i < 3; i++) {
        const uint32_t grid = shape->grid[i];
        const uint64_t threads = (uint64_t)grid * shape->block[i];

        if (grid == 0)
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the grid is 0 blocks in %c; every dimension "
                              "is at least 1, and an empty launch is to be "
                              "left out",
                              kpk_kernel_name(kernel), axis_names[i]);
        if (grid > device->max_grid[i])
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the grid is %u blocks in %c, device %d "
                              "takes %u at most",
                              kpk_kernel_name(kernel), grid, axis_names[i],
                              kernel->inst->ordinal, device->max_grid[i]);
        if (threads > UINT32_MAX)
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: grid %u times block %u in %c makes %llu "
                              "threads; HIP takes less than 2^32 in each "
                              "dimension",
                              kpk_kernel_name(kernel), grid, shape->block[i],
                              axis_names[i], (unsigned long long)threads);
    }
    return KPK_OK;
}

static kpk_status check_block(const kpk_kernel *kernel, const kpk_shape *shape)
{
    const kpk_device *device = &kernel->inst->device;
    const uint32_t *reqd = kernel->attrs->reqd_block;
    const uint32_t *block = shape->block;
    uint64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        if (block[i] == 0)
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the block is 0 threads in %c; every "
                              "dimension is at least 1",
                              kpk_kernel_name(kernel), axis_names[i]);
        if (block[i] > device->max_block_dim[i])
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the block is %u threads in %c, device %d "
                              "takes %u at most",
                              kpk_kernel_name(kernel), block[i], axis_names[i],
                              kernel->inst->ordinal, device->max_block_dim[i]);
        /* cannot overflow: both factors are below 2^32 */
        threads *= block[i];
        if (threads > device->max_block)
            return kpk_i_fail(KPK_ERR_SHAPE,
                              "%s: the block %u x %u x %u has more than the %u "
                              "threads that device %d takes",
                              kpk_kernel_name(kernel), block[0], block[1],
                              block[2], device->max_block,
                              kernel->inst->ordinal);
    }
    if (threads > kernel->attrs->max_block)
        return kpk_i_fail(KPK_ERR_SHAPE,
                          "%s: the block %u x %u x %u has %llu threads, the "
                          "kernel was compiled for %u at most",
                          kpk_kernel_name(kernel), block[0], block[1], block[2],
                          (unsigned long long)threads,
                          kernel->attrs->max_block);
    if (reqd[0] && memcmp(reqd, block, 3 * sizeof(*reqd)) != 0)
        return kpk_i_fail(KPK_ERR_SHAPE,
                          "%s: the block is %u x %u x %u, the kernel accepts "
                          "%u x %u x %u only",
                          kpk_kernel_name(kernel), block[0], block[1], block[2],
                          reqd[0], reqd[1], reqd[2]);
    return KPK_OK;
}

static kpk_status check_shared(const kpk_kernel *kernel, const kpk_shape *shape)
{
    const uint64_t has = kernel->inst->device.lds_nbytes;
    const uint64_t own = kernel->attrs->lds_nbytes;
    const uint32_t least = kernel->attrs->least_shared_nbytes;

    if (shape->shared_nbytes < least)
        return kpk_i_fail(KPK_ERR_SHAPE,
                          "%s: %u bytes of dynamic shared memory are fewer "
                          "than the %u that the kernel uses",
                          kpk_kernel_name(kernel), shape->shared_nbytes, least);

    if (own + shape->shared_nbytes > has)
        return kpk_i_fail(KPK_ERR_SHAPE,
                          "%s: %u bytes of dynamic shared memory and the "
                          "kernel's own %llu are more than the %llu that "
                          "device %d (%s) has for a block",
                          kpk_kernel_name(kernel), shape->shared_nbytes,
                          (unsigned long long)own, (unsigned long long)has,
                          kernel->inst->ordinal, kernel->inst->device.target);
    return KPK_OK;
}

/* AMD's runtime writes such arguments itself, whatever it is given: where the
 * dynamic shared memory begins, and for each as if the one before it had 4
 * bytes, its own size. CUDA passes the caller's value on. */
static kpk_status check_shared_pointers(const kpk_kernel *kernel)
{
    if (kernel->nshared_pointers < 2 || kernel->inst->gpu->platform != KPK_HIP)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "%s has %u arguments that point to dynamic shared "
                      "memory. HIP sets them itself, 4 bytes apart, so what "
                      "they point to overlaps. Write the kernel with one such "
                      "argument, and add the offsets of its parts in the "
                      "kernel",
                      kpk_kernel_name(kernel),
                      (unsigned)kernel->nshared_pointers);
}

kpk_status kpk_i_check_launch(const kpk_kernel *kernel, const kpk_shape *shape)
{
    kpk_status st = check_shared_pointers(kernel);

    if (st == KPK_OK)
        st = check_block(kernel, shape);
    if (st == KPK_OK)
        st = check_grid(kernel, shape);
    if (st == KPK_OK)
        st = check_shared(kernel, shape);
    return st;
}

static kpk_status wrong_count(const kpk_kernel *kernel, size_t nargs)
{
    const kpk_module *module = kernel->slot->module;
    const struct kpk_kernel_desc *desc = kernel->desc;
    char names[512];
    struct kpk_i_text text = {names, sizeof(names)};

    names[0] = '\0';
    for (uint32_t i = 0; i < desc->nargs; i++) {
        const struct kpk_arg_desc *arg = &module->args[desc->first_arg + i];
        const char *name = kpk_i_string(module, arg->name);

        if (kpk_i_arg_is_padding(module, desc, i))
            continue;
        kpk_i_append(&text, "%s%s %u", *names ? ", " : "",
                     *name ? name : "unnamed", (unsigned)arg->size);
    }
    return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                      "%s takes %u argument%s, %zu %s given. Names and bytes: "
                      "%s",
                      kpk_kernel_name(kernel), (unsigned)kernel->nargs_given,
                      kernel->nargs_given == 1 ? "" : "s", nargs,
                      nargs == 1 ? "was" : "were",
                      kernel->nargs_given ? names : "none");
}

static kpk_status wrong_arg(const kpk_kernel *kernel, uint32_t entry,
                            size_t given, const kpk_arg *arg)
{
    const kpk_module *module = kernel->slot->module;
    const struct kpk_arg_desc *desc =
        &module->args[kernel->desc->first_arg + entry];
    char text[KPK_I_ARG_TEXT_NBYTES];

    (void)kpk_i_arg_text(module, kernel->desc, entry, given, text);
    if (!arg->value)
        return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                          "%s: %s has no value: its pointer is NULL. To pass a "
                          "null pointer, give the address of a pointer that is "
                          "NULL",
                          kpk_kernel_name(kernel), text);
    return kpk_i_fail(KPK_ERR_KERNEL_ARGS, "%s: %s is %u bytes, %zu were given",
                      kpk_kernel_name(kernel), text, (unsigned)desc->size,
                      arg->nbytes);
}

/* Padding arguments are copied from here. */
static const unsigned char zeros[KPK_I_MAX_PADDING] = {0};

static kpk_status too_many(const kpk_kernel *kernel)
{
    return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                      "%s lists %u arguments, more than the %d that are "
                      "passed by pointer. Use kpk_launch_packed()",
                      kpk_kernel_name(kernel), (unsigned)kernel->desc->nargs,
                      KPK_MAX_ARGS);
}

/* Its metadata lists no arguments, though it reads some: what was given would
 * not reach it. */
static kpk_status no_list(const kpk_kernel *kernel)
{
    return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                      "%s reads %u bytes of arguments, but its metadata lists "
                      "none. Use kpk_launch_packed()",
                      kpk_kernel_name(kernel),
                      (unsigned)kernel->unlisted_nbytes);
}

/* Sets params[], as HIP expects it, to a pointer for each entry of the kernel's
 * list: to the caller's value, or to zeros if the entry is padding. */
kpk_status kpk_i_point_to_args(const kpk_kernel *kernel, const kpk_arg *args,
                               size_t nargs, void *params[KPK_MAX_ARGS])
{
    const kpk_module *module = kernel->slot->module;
    const struct kpk_kernel_desc *desc = kernel->desc;
    const struct kpk_arg_desc *entries = module->args + desc->first_arg;
    const bool padded = kernel->nargs_given != desc->nargs;
    size_t given = 0;

    if (kernel->unlisted_nbytes)
        return no_list(kernel);
    if (nargs != kernel->nargs_given)
        return wrong_count(kernel, nargs);
    if (nargs && !args)
        return kpk_i_fail(KPK_ERR_ARG, "%s: args is NULL, nargs %zu",
                          kpk_kernel_name(kernel), nargs);
    if (desc->nargs > KPK_MAX_ARGS)
        return too_many(kernel);
    for (uint32_t i = 0; i < desc->nargs; i++) {
        if (padded && kpk_i_arg_is_padding(module, desc, i)) {
            params[i] = (void *)zeros;
            continue;
        }
        if (args[given].nbytes != entries[i].size || !args[given].value)
            return wrong_arg(kernel, i, given, &args[given]);
        params[i] = (void *)args[given].value;
        given++;
    }
    return KPK_OK;
}

kpk_status kpk_i_launch_failed(const char *call, hipError_t error,
                               const kpk_kernel *kernel, const kpk_shape *shape)
{
    return kpk_i_fail_gpu(
        kernel->inst->gpu, call, error,
        "cannot launch %s with grid %u x %u x %u, block %u x %u x %u and %u "
        "bytes of shared memory on device %d",
        kpk_kernel_name(kernel), shape->grid[0], shape->grid[1], shape->grid[2],
        shape->block[0], shape->block[1], shape->block[2], shape->shared_nbytes,
        kernel->inst->ordinal);
}

/* HIP 5.2 takes the handle for a pointer when it launches, and crashes. */
kpk_status kpk_i_check_stream(const kpk_kernel *kernel, const void *stream)
{
    const struct kpk_i_gpu *gpu = kernel->inst->gpu;

    if (stream != KPK_STREAM_PER_THREAD || gpu->platform != KPK_HIP ||
        gpu->version == 0 || gpu->version >= 50300000)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "%s: HIP 5.2 does not launch on KPK_STREAM_PER_THREAD; "
                      "use NULL or a stream of hipStreamCreate()",
                      kpk_kernel_name(kernel));
}

static kpk_status start(const kpk_kernel *kernel, const kpk_shape *shape,
                        void *stream, void **params, void **extra)
{
    const kpk_instance *inst = kernel->inst;
    hipFunction_t function;
    intptr_t saved;
    hipError_t error;
    kpk_status st = kpk_i_function(kernel, &function);

    if (st == KPK_OK)
        st = kpk_i_check_stream(kernel, stream);
    if (st == KPK_OK)
        st = kpk_i_enter(inst, &saved);
    if (st != KPK_OK)
        return st;
    error = inst->gpu->hipModuleLaunchKernel(
        function, shape->grid[0], shape->grid[1], shape->grid[2],
        shape->block[0], shape->block[1], shape->block[2], shape->shared_nbytes,
        stream, params, extra);
    if (error != hipSuccess)
        st = kpk_i_launch_failed("hipModuleLaunchKernel", error, kernel, shape);
    return kpk_i_leave(inst, saved, st);
}

kpk_status kpk_launch(const kpk_kernel *kernel, const kpk_shape *shape,
                      void *stream, const kpk_arg *args, size_t nargs)
{
    void *params[KPK_MAX_ARGS];
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(shape);
    st = kpk_i_check_launch(kernel, shape);
    if (st == KPK_OK)
        st = kpk_i_point_to_args(kernel, args, nargs, params);
    if (st != KPK_OK)
        return st;
    return start(kernel, shape, stream, kernel->desc->nargs ? params : NULL,
                 NULL);
}

/* Does not check the number and sizes of arguments: the compiler has checked
 * the launcher's call, and kpk_kernels_get() the launcher's header. */
kpk_status kpk_kernels_launch(const kpk_kernels *kernels, size_t kernel,
                              const kpk_shape *shape, void *stream,
                              const void *const *args)
{
    const struct kpk_i_slot *slot = (const struct kpk_i_slot *)kernels;
    const kpk_kernel *k;
    kpk_status st;

    KPK_I_NEED(kernels);
    KPK_I_NEED(shape);
    if (kernel >= slot->module->nkernels)
        return kpk_i_fail(KPK_ERR_ARG,
                          "a typed launch: module %s has %u kernels, so none "
                          "has the number %zu",
                          kpk_module_name(slot->module),
                          (unsigned)slot->module->nkernels, kernel);
    k = &slot->kernels[kernel];
    if (k->desc->nargs)
        KPK_I_NEED(args);
    st = kpk_i_check_launch(k, shape);
    if (st == KPK_OK && k->unlisted_nbytes)
        st = no_list(k);
    if (st != KPK_OK)
        return st;
    return start(k, shape, stream, (void **)args, NULL);
}

static kpk_status too_short(const kpk_kernel *kernel, size_t nbytes)
{
    const kpk_module *module = kernel->slot->module;
    const struct kpk_kernel_desc *desc = kernel->desc;
    char text[KPK_I_ARG_TEXT_NBYTES];

    /* The first argument that is not whole in the buffer. */
    for (uint32_t i = 0; i < desc->nargs; i++) {
        const struct kpk_arg_desc *arg = &module->args[desc->first_arg + i];

        if (kpk_i_arg_is_padding(module, desc, i) ||
            (size_t)arg->offset + arg->size <= nbytes)
            continue;
        return kpk_i_fail(
            KPK_ERR_KERNEL_ARGS,
            "%s: %s lies at bytes %u to %u, the buffer has %zu; %u are needed",
            kpk_kernel_name(kernel), kpk_i_arg_text(module, desc, i, i, text),
            (unsigned)arg->offset, (unsigned)(arg->offset + arg->size - 1),
            nbytes, (unsigned)kernel->nbytes_needed);
    }
    return kpk_i_fail(KPK_ERR_KERNEL_ARGS,
                      "%s: %u bytes of arguments are needed, the buffer has "
                      "%zu",
                      kpk_kernel_name(kernel), (unsigned)kernel->nbytes_needed,
                      nbytes);
}

kpk_status kpk_i_point_into_buffer(const kpk_kernel *kernel, const void *buffer,
                                   size_t nbytes, void *params[KPK_MAX_ARGS])
{
    const struct kpk_kernel_desc *desc = kernel->desc;
    const struct kpk_arg_desc *entries =
        kernel->slot->module->args + desc->first_arg;

    if (kernel->unlisted_nbytes)
        return no_list(kernel);
    if (nbytes < kernel->nbytes_needed)
        return too_short(kernel, nbytes);
    if (desc->nargs > KPK_MAX_ARGS)
        return too_many(kernel);
    for (uint32_t i = 0; i < desc->nargs; i++) {
        const size_t end = (size_t)entries[i].offset + entries[i].size;

        if (end <= nbytes)
            params[i] = (unsigned char *)buffer + entries[i].offset;
        else if (entries[i].size <= sizeof(zeros))
            params[i] = (void *)zeros; /* left out: see nbytes_needed */
        else
            return too_short(kernel, nbytes);
    }
    return KPK_OK;
}

/* HIP before 7.0 copies only arguments that the metadata lists, however long
 * the buffer is. */
static kpk_status check_unlisted(const kpk_kernel *kernel)
{
    const struct kpk_i_gpu *gpu = kernel->inst->gpu;

    if (gpu->platform != KPK_HIP || gpu->version >= 70000000)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "%s reads %u bytes of arguments, but its metadata lists "
                      "none. HIP passes them from 7.0 on, this is HIP %d.%d "
                      "(%s)",
                      kpk_kernel_name(kernel),
                      (unsigned)kernel->unlisted_nbytes, gpu->major, gpu->minor,
                      gpu->path);
}

kpk_status kpk_launch_packed(const kpk_kernel *kernel, const kpk_shape *shape,
                             void *stream, const void *buffer, size_t nbytes)
{
    _Alignas(16) unsigned char completed[MAX_COMPLETED_NBYTES];
    /* The fixed form that HIP knows: buffer 1, its size 2, end 3. */
    void *extra[5] = {(void *)1, (void *)buffer, (void *)2, NULL, (void *)3};
    size_t list_nbytes;
    kpk_status st;

    KPK_I_NEED(kernel);
    KPK_I_NEED(shape);
    if (nbytes)
        KPK_I_NEED(buffer);
    st = kpk_i_check_launch(kernel, shape);
    if (st == KPK_OK && nbytes < kernel->nbytes_needed)
        st = too_short(kernel, nbytes);
    if (st == KPK_OK && kernel->unlisted_nbytes)
        st = check_unlisted(kernel);
    if (st != KPK_OK)
        return st;
    list_nbytes = kernel->unlisted_nbytes ? kernel->unlisted_nbytes
                                          : kernel->desc->explicit_nbytes;
    if (list_nbytes == 0)
        return start(kernel, shape, stream, NULL, NULL);
    /* HIP copies every entry of the list, left-out padding too, whatever size
     * it is told: it must find memory there. */
    if (nbytes < list_nbytes) {
        if (list_nbytes > sizeof(completed))
            return too_short(kernel, nbytes);
        memset(completed, 0, list_nbytes);
        if (nbytes) /* the buffer may be NULL if it is empty */
            memcpy(completed, buffer, nbytes);
        extra[1] = completed;
    }
    extra[3] = &list_nbytes;
    return start(kernel, shape, stream, NULL, extra);
}
