/* fuzz_launch.c - any kernel, shape and arguments before kpk_launch()
 *
 * The bytes make up a kernel as a code object may list it, a device and what a
 * caller passes. HIP is played by a function that reads all that the real one
 * would, each from memory of exactly the size that the caller named: a launch
 * that was let through must not touch anything else.
 */
#include "fake_hip.h"
#include "fuzz.h"
#include "hip.h"
#include "instance.h"

enum { MAX_ARGS = 160, LIST_END = 1 << 16 };

static const char strings[] = "\0kernel\0pad\0gfx90a\0x";
enum { S_KERNEL = 1, S_PAD = 8, S_TARGET = 12, S_X = 19 };

static struct kpk_arg_desc args[MAX_ARGS];
static struct kpk_kernel_desc desc;
static struct kpk_kernel_attrs attrs;

/* ---- bytes of the input, zeros when they have run out ---- */

static const uint8_t *at, *end;

static uint32_t take(unsigned nbytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < nbytes && at < end; i++)
        value = value << 8 | *at++;
    return value;
}

/* ---- HIP ---- */

/* The fake HIP of tests/unit/fake_hip.c; this file replaces its launch. */
extern struct fake_hip fake_hip;

static volatile uint8_t sink;

static void read_bytes(const void *from, size_t nbytes)
{
    const volatile uint8_t *bytes = from;

    for (size_t i = 0; i < nbytes; i++)
        sink = bytes[i];
}

static hipError_t fake_launch(hipFunction_t f, unsigned gx, unsigned gy,
                              unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared, hipStream_t stream,
                              void **params, void **extra)
{
    (void)f;
    (void)stream;
    FUZZ_ASSERT(gx && gy && gz && bx && by && bz);
    FUZZ_ASSERT((uint64_t)bx * by * bz <= attrs.max_block);
    FUZZ_ASSERT(shared + (uint64_t)attrs.lds_nbytes <= 65536);
    if (extra) {
        FUZZ_ASSERT(extra[0] == (void *)1 && extra[2] == (void *)2 &&
                    extra[4] == (void *)3);
        FUZZ_ASSERT(*(size_t *)extra[3] == desc.explicit_nbytes);
        read_bytes(extra[1], desc.explicit_nbytes);
        return hipSuccess;
    }
    for (uint32_t i = 0; i < desc.nargs; i++)
        if (args[i].size)
            read_bytes(params[i], args[i].size);
    return hipSuccess;
}

static kpk_shape asked;

/* hipExtModuleLaunchKernel() counts threads instead of blocks. */
static hipError_t fake_ext(hipFunction_t f, uint32_t gx, uint32_t gy,
                           uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                           size_t shared, hipStream_t stream, void **params,
                           void **extra, hipEvent_t start, hipEvent_t stop,
                           uint32_t flags)
{
    (void)start;
    (void)stop;
    (void)flags;
    FUZZ_ASSERT(gx == (uint64_t)asked.grid[0] * asked.block[0] &&
                gy == (uint64_t)asked.grid[1] * asked.block[1] &&
                gz == (uint64_t)asked.grid[2] * asked.block[2]);
    return fake_launch(f, gx / bx, gy / by, gz / bz, bx, by, bz,
                       (unsigned)shared, stream, params, extra);
}

static hipError_t fake_cooperative(hipFunction_t f, unsigned gx, unsigned gy,
                                   unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared,
                                   hipStream_t stream, void **params)
{
    return fake_launch(f, gx, gy, gz, bx, by, bz, shared, stream, params, NULL);
}

/* ---- one launch ---- */

/* A list as the generator accepts them: in bounds and in order, with gaps. A
 * kernel without one may still take a buffer. */
static void make_kernel(void)
{
    const uint32_t n = take(1) % (MAX_ARGS + 1);
    uint32_t next = 0;

    memset(&desc, 0, sizeof(desc));
    desc.name = S_KERNEL;
    desc.nargs = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t how = take(1);

        args[i].name = how & 1 ? S_PAD : how & 2 ? S_X : 0;
        args[i].kind = how >> 2 & 3;
        args[i].size = how & 16 ? take(2) % 4096 : 4u << (how >> 5 & 1);
        args[i].offset = next + (how & 128 ? take(1) : 0);
        if (args[i].offset + args[i].size > LIST_END) {
            desc.nargs = i;
            break;
        }
        next = args[i].offset + args[i].size;
    }
    desc.explicit_nbytes = desc.nargs ? next : take(1);
    attrs.kernarg_nbytes = take(2);
    attrs.max_block = 1 + take(2) % 1024;
    attrs.lds_nbytes = take(2);
    if (take(1) & 1)
        attrs.reqd_block[0] = attrs.reqd_block[1] = attrs.reqd_block[2] = 1;
    else
        memset(attrs.reqd_block, 0, sizeof(attrs.reqd_block));
}

/* With options, if there are any. */
static void launch_args(const kpk_kernel *kernel, const kpk_shape *shape,
                        const kpk_launch_options *options)
{
    kpk_arg given[MAX_ARGS];
    const size_t n = take(1) % (MAX_ARGS + 1);

    for (size_t i = 0; i < n; i++) {
        const uint32_t how = take(1);

        /* Mostly the listed size, so that many launches succeed. */
        given[i].nbytes = how & 1 ? take(1) : args[i].size;
        given[i].value = how == 255 ? NULL : malloc(given[i].nbytes + 1);
        if (given[i].value)
            memset((void *)given[i].value, 0, given[i].nbytes);
    }
    if (options)
        (void)kpk_launch_ex(kernel, options, given, n);
    else
        (void)kpk_launch(kernel, shape, NULL, n || take(1) & 1 ? given : NULL,
                         n);
    for (size_t i = 0; i < n; i++)
        free((void *)given[i].value);
}

static void launch_packed(const kpk_kernel *kernel, const kpk_shape *shape,
                          kpk_launch_options *options)
{
    const size_t nbytes = take(2);
    void *buffer = nbytes ? malloc(nbytes) : NULL;

    if (nbytes && buffer)
        memset(buffer, 0, nbytes);
    if (options) {
        options->packed = buffer;
        options->packed_nbytes = nbytes;
        (void)kpk_launch_ex(kernel, options, NULL, 0);
    } else {
        (void)kpk_launch_packed(kernel, shape, NULL, buffer, nbytes);
    }
    free(buffer);
}

/* Gives mostly one value per entry, at its place, so that many launches
 * succeed. */
static void launch_values(const kpk_kernel *kernel, const kpk_shape *shape)
{
    kpk_value values[MAX_ARGS];
    const size_t n = take(1) % (MAX_ARGS + 1);
    const kpk_layout layout = (kpk_layout)(take(1) % 3);

    for (size_t i = 0; i < n; i++) {
        const uint32_t how = take(1);
        const size_t size = how & 1 ? take(2) : args[i].size;

        values[i] = how & 2 ? kpk_u32(how) : kpk_u64(how);
        if (how & 4) {
            void *bytes = calloc(1, size + 1);

            values[i] = kpk_bytes(bytes, size, how & 8 ? take(1) : 1u);
        }
        if (how & 16)
            values[i].nbytes = take(2);
        if (how & 32 && values[i].at)
            values[i].nbytes = size;
        if (values[i].at && values[i].nbytes > size + 1)
            values[i].nbytes = size + 1;
    }
    (void)kpk_launch_values(kernel, shape, NULL, layout, values, n);
    for (size_t i = 0; i < n; i++)
        free((void *)values[i].at);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fake_hip_reset(&fake_hip);
    fake_hip.version = 70000000; /* passes buffers that no metadata lists */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const struct kpk_blob blob = {.nbytes = 64};
    static const struct kpk_code_object object = {
        .target = S_TARGET, .attrs = &attrs, .blob = &blob};
    static const struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                             .name = S_KERNEL,
                                             .strings = strings,
                                             .kernels = &desc,
                                             .args = args,
                                             .objects = &object,
                                             .nkernels = 1,
                                             .nobjects = 1};
    const kpk_module *modules[] = {&module};
    kpk_launch_options options = {.start_event = (void *)&module};
    kpk_shape shape;
    kpk_instance *inst = NULL;
    const unsigned how = nbytes ? data[0] : 0;
    kpk_kernel *kernel;

    at = data + (nbytes ? 1 : 0);
    end = data + nbytes;
    make_kernel();
    for (int i = 0; i < 3; i++) {
        shape.grid[i] = take(i ? 1 : 4);
        shape.block[i] = take(i ? 1 : 2);
    }
    shape.shared_nbytes = take(2);
    if (kpk_open_modules(modules, 1, 0, &inst) != KPK_OK)
        abort();
    kpk_i_hip.hipModuleLaunchKernel = fake_launch;
    inst->device.cooperative = true;
    kernel = &inst->kernels[0];
    atomic_store(&kernel->slot->hip_module, (hipModule_t)inst);
    atomic_store(&kernel->function, (hipFunction_t)inst);
    kpk_i_hip.hipExtModuleLaunchKernel = fake_ext;
    kpk_i_hip.hipModuleLaunchCooperativeKernel = fake_cooperative;
    options.shape = asked = shape;
    if (how & 8) {
        options.flags = take(1) % 5;
        options.start_event = NULL;
    }
    if (how & 1)
        launch_packed(kernel, &shape, how & 4 ? &options : NULL);
    else if (how & 2)
        launch_values(kernel, &shape);
    else
        launch_args(kernel, &shape, how & 4 ? &options : NULL);
    atomic_store(&kernel->slot->hip_module, NULL);
    FUZZ_ASSERT(kpk_close(inst) == KPK_OK);
    return 0;
}
