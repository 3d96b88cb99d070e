/* test_ways.c - every way to launch and to inspect, on every device there is
 *
 * The simulated ones in `make check`, or real ones, NVIDIA's too (`make
 * check-gpu`). HIP is linked for what kpack leaves to it: streams, events,
 * pinned memory; host.c has that of CUDA.
 */
#define __HIP_PLATFORM_AMD__ 1
#include "unit_checks.h"

#include "host.h"

#include <hip/hip_runtime_api.h>
#include <kpack/ways.h>

#include <stdlib.h>

enum { MAX_DEVICES = 8 };

static int ndevices;
static int device_number; /* for the next test */
static kpk_instance *inst;
static const kpk_device *device;
static const struct host *platform; /* streams and events of the device */

#define assert_hip(call)                                                       \
    do {                                                                       \
        const hipError_t error_ = (call);                                      \
        if (error_ != hipSuccess)                                              \
            fail_msg("%s on %s: %s", #call, device->target,                    \
                     hipGetErrorString(error_));                               \
    } while (0)

/* The same of a call of host.h. */
#define assert_host(call)                                                      \
    do {                                                                       \
        const int error_ = (call);                                             \
        if (error_ != 0)                                                       \
            fail_msg("%s on %s: error %d", #call, device->target, error_);     \
    } while (0)

/* A value on every device says which one it was wrong on. */
#define assert_number(got, wanted)                                             \
    do {                                                                       \
        const unsigned long long got_ = (unsigned long long)(got);             \
        const unsigned long long wanted_ = (unsigned long long)(wanted);       \
        if (got_ != wanted_)                                                   \
            fail_msg("%s on %s: wanted %llu, got %llu", #got, device->target,  \
                     wanted_, got_);                                           \
    } while (0)

static int open_device(void **state)
{
    (void)state;
    if (kpk_open(&kpk_ways, device_number, &inst) != KPK_OK)
        return -1;
    device = kpk_instance_device(inst);
    platform = host_of(device);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    return kpk_close(inst) == KPK_OK ? 0 : -1;
}

static const kpk_kernel *get(const char *name)
{
    const kpk_kernel *kernel = NULL;

    assert_ok(kpk_kernel_get(inst, name, &kernel));
    return kernel;
}

static uint32_t read_u32(const void *at)
{
    uint32_t value = 0;

    assert_ok(kpk_copy_from(inst, &value, at, sizeof(value)));
    return value;
}

static void *zeros(size_t nbytes)
{
    void *at = NULL;

    assert_ok(kpk_malloc(inst, nbytes, &at));
    assert_ok(kpk_fill(inst, at, 0, nbytes));
    return at;
}

/* ---- the kernel `scale`, launched in each way ---- */

enum { N = 333 };

/* scale's arguments on the device, and what it must make of them. */
struct scaling {
    void *x;
    void *sum;
    uint32_t n;
    kpk_shape shape;
};

static struct scaling begin_scaling(void)
{
    struct scaling s = {zeros(N * sizeof(float)), zeros(4), N,
                        kpk_shape_1d(N, 64)};
    float host[N];

    for (int i = 0; i < N; i++)
        host[i] = (float)(i - 100);
    assert_ok(kpk_copy_to(inst, s.x, host, sizeof(host)));
    return s;
}

static void end_scaling(struct scaling *s, float by, const char *how)
{
    float host[N];
    uint32_t sum = 0;

    assert_ok(kpk_sync(inst, NULL));
    assert_ok(kpk_sync(inst, KPK_STREAM_PER_THREAD));
    assert_ok(kpk_copy_from(inst, host, s->x, sizeof(host)));
    for (int i = 0; i < N; i++) {
        if (host[i] != by * (float)(i - 100))
            fail_msg("%s on %s: element %d is %g", how, device->target, i,
                     (double)host[i]);
        sum += 1u << i % 8; /* what `weights` holds */
    }
    assert_number(read_u32(s->sum), sum);
    assert_ok(kpk_free(inst, s->x));
    assert_ok(kpk_free(inst, s->sum));
}

static void test_argument_pointers(void **state)
{
    struct scaling s = begin_scaling();

    (void)state;
    assert_ok(
        kpk_launch(get("scale"), &s.shape, NULL, KPK_ARGS(s.x, s.sum, s.n)));
    end_scaling(&s, 2, "kpk_launch");
}

static void test_packed_buffer(void **state)
{
    struct scaling s = begin_scaling();
    const kpk_value values[] = {kpk_ptr(s.x), kpk_ptr(s.sum), kpk_u32(N)};
    unsigned char buffer[24];
    size_t nbytes;

    (void)state;
    assert_ok(kpk_values_pack(KPK_LAYOUT_NATURAL, values, 3, buffer,
                              sizeof(buffer), &nbytes));
    assert_int_equal(nbytes, 20);
    assert_status(
        kpk_launch_packed(get("scale"), &s.shape, NULL, buffer, nbytes - 1),
        KPK_ERR_KERNEL_ARGS);
    assert_message("argument 2");
    assert_int_equal(kpk_error_driver(), 0);
    assert_ok(kpk_launch_packed(get("scale"), &s.shape, NULL, buffer, nbytes));
    end_scaling(&s, 2, "kpk_launch_packed");
}

static void test_per_thread_stream(void **state)
{
    struct scaling s = begin_scaling();

    (void)state;
    assert_ok(kpk_launch(get("scale"), &s.shape, KPK_STREAM_PER_THREAD,
                         KPK_ARGS(s.x, s.sum, s.n)));
    end_scaling(&s, 2, "the thread's own stream");
}

static void test_stream_of_the_platform(void **state)
{
    struct scaling s = begin_scaling();
    void *stream;

    (void)state;
    assert_host(platform->create_stream(&stream));
    assert_ok(
        kpk_launch(get("scale"), &s.shape, stream, KPK_ARGS(s.x, s.sum, s.n)));
    assert_ok(kpk_sync(inst, stream));
    end_scaling(&s, 2, "a stream");
    assert_host(platform->destroy_stream(stream));
}

static void test_start_and_stop_events(void **state)
{
    const kpk_kernel *slow = get("slow");
    uint32_t *x = zeros(8);
    uint32_t nsteps = 20000;
    void *start, *stop;
    float ms = -1;
    kpk_launch_options options = {.shape = {{1, 1, 1}, {1, 1, 1}, 0}};

    (void)state;
    assert_host(platform->create_event(&start));
    assert_host(platform->create_event(&stop));
    options.start_event = start;
    options.stop_event = stop;
    assert_ok(kpk_launch_ex(slow, &options, KPK_ARGS(x, nsteps)));
    assert_host(platform->wait_for_event(stop));
    assert_host(platform->elapsed(&ms, start, stop));
    if (!(ms > 0))
        fail_msg("the kernel took %g ms on %s", (double)ms, device->target);
    assert_number(read_u32(x), 1);
    options.flags = KPK_LAUNCH_ANY_ORDER;
    assert_ok(kpk_launch_ex(slow, &options, KPK_ARGS(x, nsteps)));
    assert_host(platform->wait_for_event(stop));
    assert_number(read_u32(x), 2);
    assert_host(platform->destroy_event(start));
    assert_host(platform->destroy_event(stop));
    assert_ok(kpk_free(inst, x));
}

static void test_events_with_a_packed_buffer(void **state)
{
    struct scaling s = begin_scaling();
    const kpk_value values[] = {kpk_ptr(s.x), kpk_ptr(s.sum), kpk_u32(N)};
    unsigned char buffer[20];
    void *stop;
    kpk_launch_options options = {
        .shape = s.shape, .packed = buffer, .packed_nbytes = sizeof(buffer)};

    (void)state;
    assert_ok(kpk_values_pack(KPK_LAYOUT_NATURAL, values, 3, buffer,
                              sizeof(buffer), NULL));
    assert_host(platform->create_event(&stop));
    options.stop_event = stop;
    assert_ok(kpk_launch_ex(get("scale"), &options, NULL, 0));
    assert_host(platform->wait_for_event(stop));
    assert_host(platform->destroy_event(stop));
    end_scaling(&s, 2, "events, packed");
}

/* ---- cooperation ---- */

static void test_cooperative_blocks_all_run_at_once(void **state)
{
    const kpk_kernel *meet = get("meet");
    uint32_t per_unit = 0;
    uint32_t nblocks;
    uint32_t *arrived = zeros(4);
    uint32_t *seen = zeros(4);
    kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 1, 1}, 0},
                                  .flags = KPK_LAUNCH_COOPERATIVE};

    (void)state;
    assert_ok(kpk_occupancy(meet, 64, 0, &per_unit));
    assert_true(per_unit > 0);
    nblocks = per_unit * device->compute_units;
    options.shape.grid[0] = nblocks + 1;
    assert_status(kpk_launch_ex(meet, &options,
                                KPK_ARGS(arrived, seen, options.shape.grid[0])),
                  KPK_ERR_SHAPE);
    assert_message("compute units");
    assert_int_equal(kpk_error_driver(), 0);
    nblocks = nblocks < 24 ? nblocks : 24; /* a simulated grid takes time */
    options.shape.grid[0] = nblocks;
    assert_ok(kpk_launch_ex(meet, &options, KPK_ARGS(arrived, seen, nblocks)));
    assert_ok(kpk_sync(inst, NULL));
    assert_number(read_u32(seen), nblocks * nblocks);
    assert_ok(kpk_free(inst, arrived));
    assert_ok(kpk_free(inst, seen));
}

/* Two instances, if the machine has two devices; `inst` is left alone. */
struct pair {
    kpk_instance *inst[2];
    const kpk_kernel *kernel[2];
};

static bool open_pair(struct pair *pair, const char *kernel)
{
    if (ndevices < 2)
        return false;
    for (int i = 0; i < 2; i++) {
        assert_ok(kpk_open(&kpk_ways, (device_number + i) % ndevices,
                           &pair->inst[i]));
        assert_ok(kpk_kernel_get(pair->inst[i], kernel, &pair->kernel[i]));
    }
    return true;
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        assert_ok(kpk_close(pair->inst[i]));
}

/* One device is CUDA's, whose driver lacks such a launch. */
static void refuse_together(const struct pair *pair)
{
    void *arrived = NULL;
    void *seen = NULL;
    uint32_t nblocks = 6;
    const kpk_arg args[] = {KPK_ARG(arrived), KPK_ARG(seen), KPK_ARG(nblocks)};
    kpk_launch_item items[2];
    int streams[2];

    for (int i = 0; i < 2; i++)
        items[i] = (kpk_launch_item){
            pair->kernel[i], {{3, 1, 1}, {64, 1, 1}, 0}, &streams[i], args, 3};
    assert_status(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE),
                  KPK_ERR_UNSUPPORTED);
    assert_message("over several devices");
}

static void test_cooperative_launch_over_two_devices(void **state)
{
    struct pair pair;
    uint32_t *shared;
    void *arrived, *seen;
    uint32_t nblocks = 6;
    kpk_launch_item items[2];
    hipStream_t streams[2];

    (void)state;
    if (!open_pair(&pair, "meet"))
        return;
    if (!kpk_instance_device(pair.inst[0])->cooperative_multi ||
        !kpk_instance_device(pair.inst[1])->cooperative_multi) {
        refuse_together(&pair);
        close_pair(&pair);
        return;
    }
    assert_hip(hipHostMalloc((void **)&shared, 8, hipHostMallocPortable));
    shared[0] = shared[1] = 0;
    arrived = &shared[0];
    seen = &shared[1];
    {
        const kpk_arg args[] = {KPK_ARG(arrived), KPK_ARG(seen),
                                KPK_ARG(nblocks)};

        for (int i = 0; i < 2; i++) {
            assert_hip(hipSetDevice(kpk_instance_ordinal(pair.inst[i])));
            assert_hip(hipStreamCreate(&streams[i]));
            items[i] = (kpk_launch_item){pair.kernel[i],
                                         {{3, 1, 1}, {64, 1, 1}, 0},
                                         streams[i],
                                         args,
                                         3};
        }
        /* Each waits for the blocks of the other. */
        assert_ok(kpk_launch_all(items, 2, KPK_LAUNCH_COOPERATIVE));
        for (int i = 0; i < 2; i++)
            assert_ok(kpk_sync(pair.inst[i], streams[i]));
        assert_number(shared[1], 36);
        shared[0] = 0;
        assert_ok(kpk_launch_all(items, 2,
                                 KPK_LAUNCH_COOPERATIVE |
                                     KPK_LAUNCH_NO_PRE_SYNC |
                                     KPK_LAUNCH_NO_POST_SYNC));
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(kpk_sync(pair.inst[i], streams[i]));
        assert_hip(hipStreamDestroy(streams[i]));
    }
    assert_number(shared[1], 72);
    assert_hip(hipHostFree(shared));
    close_pair(&pair);
}

static void test_several_kernels_on_several_devices(void **state)
{
    struct pair pair;
    uint32_t nsteps = 10;
    void *x[2];
    kpk_launch_item items[4];
    kpk_arg args[2][2];

    (void)state;
    if (!open_pair(&pair, "slow"))
        return;
    for (int i = 0; i < 2; i++) {
        assert_ok(kpk_malloc(pair.inst[i], 8, &x[i]));
        assert_ok(kpk_fill(pair.inst[i], x[i], 0, 8));
        args[i][0] = (kpk_arg)KPK_ARG(x[i]);
        args[i][1] = (kpk_arg)KPK_ARG(nsteps);
    }
    for (int i = 0; i < 4; i++)
        items[i] = (kpk_launch_item){pair.kernel[i % 2],
                                     {{1, 1, 1}, {1, 1, 1}, 0},
                                     NULL,
                                     args[i % 2],
                                     2};
    assert_ok(kpk_launch_all(items, 4, 0));
    for (int i = 0; i < 2; i++) {
        uint32_t got = 0;

        assert_ok(kpk_copy_from(pair.inst[i], &got, x[i], 4));
        assert_number(got, 2);
        assert_ok(kpk_free(pair.inst[i], x[i]));
    }
    close_pair(&pair);
}

/* ---- dynamic shared memory ---- */

static void test_dynamic_lds_up_to_the_devices_size(void **state)
{
    const kpk_kernel *reverse = get("reverse");
    uint32_t n = (uint32_t)(device->lds_nbytes / 4);
    uint32_t *host = malloc((size_t)n * 8);
    void *out = zeros((size_t)n * 8);
    kpk_shape shape = {{2, 1, 1}, {256, 1, 1}, n * 4};

    (void)state;
    assert_non_null(host);
    /* Beyond 64 KiB where the target has it. */
    if (device->platform == KPK_HIP)
        assert_number(device->lds_nbytes,
                      strncmp(device->target, "gfx950", 6) == 0 ? 163840
                                                                : 65536);
    assert_ok(kpk_launch(reverse, &shape, NULL, KPK_ARGS(out, n)));
    assert_ok(kpk_copy_from(inst, host, out, (size_t)n * 8));
    for (uint32_t i = 0; i < 2 * n; i++)
        assert_number(host[i], (n - 1 - i % n) * 3 + i / n);
    shape.shared_nbytes += 4;
    assert_status(kpk_launch(reverse, &shape, NULL, KPK_ARGS(out, n)),
                  KPK_ERR_SHAPE);
    assert_message("shared memory");
    assert_int_equal(kpk_error_driver(), 0);
    free(host);
    assert_ok(kpk_free(inst, out));
}

/* ---- device variables ---- */

static void test_globals_by_name(void **state)
{
    struct scaling s;
    void *at = NULL;
    size_t nbytes = 0;
    float by = 0;
    const float ten = 10;
    const uint32_t twos[2] = {4, 8};
    uint32_t weights[8];
    uint32_t calls = 7;

    (void)state;
    assert_ok(kpk_global(inst, "ways", "scale_by", &at, &nbytes));
    assert_number(nbytes, sizeof(float));
    assert_ok(kpk_copy_from(inst, &by, at, sizeof(by)));
    assert_true(by == 2.0f); /* its initial value */
    assert_ok(kpk_global_write(inst, "ways", "scale_by", 0, &ten, sizeof(ten)));
    assert_ok(kpk_global_read(inst, "ways", "calls", 0, &calls, sizeof(calls)));
    assert_number(calls, 0);
    s = begin_scaling();
    assert_ok(
        kpk_launch(get("scale"), &s.shape, NULL, KPK_ARGS(s.x, s.sum, s.n)));
    end_scaling(&s, 10, "a written variable");
    assert_ok(kpk_global_read(inst, "ways", "calls", 0, &calls, sizeof(calls)));
    assert_number(calls, 1);
    /* A constant, read and written in part. */
    assert_ok(kpk_global_write(inst, "ways", "weights", 8, twos, 8));
    assert_ok(kpk_global_read(inst, "ways", "weights", 0, weights, 32));
    for (uint32_t i = 0; i < 8; i++)
        assert_number(weights[i], 1u << i);
    assert_status(kpk_global_write(inst, "ways", "weights", 28, twos, 8),
                  KPK_ERR_ARG);
    assert_status(kpk_global(inst, "ways", "no_such", &at, &nbytes),
                  KPK_ERR_NO_GLOBAL);
    /* Each load of the module begins with the initial values. */
    assert_ok(kpk_unload(inst, "ways"));
    assert_ok(kpk_global_read(inst, "ways", "scale_by", 0, &by, sizeof(by)));
    assert_true(by == 2.0f);
}

static void test_texture_references_are_told_apart(void **state)
{
    void *reference = NULL;
    const kpk_status st = kpk_texture(inst, "ways", "no_such", &reference);

    (void)state;
    if (st != KPK_ERR_UNSUPPORTED)
        assert_status(st, KPK_ERR_NO_GLOBAL);
    assert_null(reference);
    assert_message("texture reference");
}

/* ---- attributes, occupancy, symbols ---- */

/* For PTX the driver alone knows memory and registers. */
static bool is_ptx(void)
{
    kpk_selection selected;

    assert_ok(kpk_select(kpk_pack_find(&kpk_ways, "ways"), device->target,
                         &selected));
    return strncmp(selected.target, "compute_", 8) == 0;
}

static void test_attributes_of_tables_and_hip_agree(void **state)
{
    size_t nkernels = 0;

    (void)state;
    for (size_t m = 0; m < kpk_pack_module_count(&kpk_ways); m++) {
        const kpk_module *module = kpk_pack_module(&kpk_ways, m);
        kpk_selection selected;

        assert_ok(kpk_select(module, device->target, &selected));
        for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
            kpk_kernel_decl decl;
            kpk_attrs attrs; /* no device was asked for these */
            int most_lds;
            int got[4];

            assert_ok(kpk_module_kernel(module, k, &decl));
            assert_ok(kpk_module_attrs(module, k, selected.object, &attrs));
            for (int i = 0; i < 4; i++) {
                static const kpk_driver_attr asked[4] = {
                    KPK_DRIVER_ATTR_MAX_BLOCK, KPK_DRIVER_ATTR_LDS_NBYTES,
                    KPK_DRIVER_ATTR_SCRATCH_NBYTES, KPK_DRIVER_ATTR_VGPRS};

                assert_ok(
                    kpk_kernel_driver_attr(get(decl.name), asked[i], &got[i]));
            }
            assert_ok(kpk_kernel_driver_attr(
                get(decl.name), KPK_DRIVER_ATTR_MAX_DYNAMIC_LDS, &most_lds));
            assert_number(most_lds, device->lds_nbytes - (size_t)got[1]);
            if (!is_ptx()) {
                assert_number(got[0], attrs.max_block);
                assert_number(got[1], attrs.lds_nbytes);
                assert_number(got[2], attrs.scratch_nbytes);
                assert_number(got[3], attrs.vgprs);
            }
            nkernels++;
        }
    }
    assert_int_equal(nkernels, 7);
}

static void test_needy_kernel_has_the_attributes_of_its_source(void **state)
{
    kpk_attrs attrs;
    kpk_shape shape;
    uint32_t blocks;

    (void)state;
    assert_ok(kpk_kernel_attrs(get("needy"), &attrs));
    assert_number(attrs.max_block, 128);
    if (!is_ptx()) {
        assert_number(attrs.lds_nbytes, 2000);
        assert_true(attrs.scratch_nbytes >= 160 && attrs.vgprs > 0);
    }
    assert_ok(kpk_occupancy(get("needy"), 128, 0, &blocks));
    assert_true(blocks >= 1);
    assert_ok(kpk_occupancy(get("needy"), 129, 0, &blocks));
    assert_number(blocks, 0);
    assert_ok(kpk_occupancy_shape(get("needy"), 0, 0, &shape));
    assert_true(shape.block[0] >= 1 && shape.block[0] <= 128);
    assert_true(shape.grid[0] >= 1);
    assert_ok(kpk_occupancy_shape(get("needy"), 0, 64, &shape));
    assert_true(shape.block[0] <= 64);
}

static void test_symbols_list_kernels_and_variables(void **state)
{
    static const struct {
        const char *name;
        kpk_symbol_kind kind;
        uint64_t nbytes;
    } wanted[] = {{"scale", KPK_SYMBOL_KERNEL, 0},
                  {"no_arguments", KPK_SYMBOL_KERNEL, 0},
                  {"scale_by", KPK_SYMBOL_VARIABLE, 4},
                  {"weights", KPK_SYMBOL_VARIABLE, 32}};
    const kpk_module *ways = kpk_pack_find(&kpk_ways, "ways");
    kpk_selection selected;
    kpk_symbol symbols[64];
    size_t n = 0;

    (void)state;
    assert_ok(kpk_select(ways, device->target, &selected));
    if (is_ptx()) {
        assert_status(
            kpk_module_symbols(ways, selected.object, symbols, 64, &n),
            KPK_ERR_UNSUPPORTED);
        return;
    }
    assert_ok(kpk_module_symbols(ways, selected.object, symbols, 64, &n));
    for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
        size_t i = 0;

        while (i < n && strcmp(symbols[i].name, wanted[w].name) != 0)
            i++;
        if (i == n)
            fail_msg("no symbol %s", wanted[w].name);
        assert_int_equal(symbols[i].kind, wanted[w].kind);
        assert_int_equal(symbols[i].nbytes, wanted[w].nbytes);
    }
}

/* ---- HIP's own handles, and loading with options ---- */

static void test_raw_handles_are_the_platforms_own(void **state)
{
    struct scaling s = begin_scaling();
    void *params[] = {&s.x, &s.sum, &s.n};
    void *module = NULL;
    void *function = NULL;
    void *again = NULL;
    void *at = NULL;
    size_t nbytes = 0;

    (void)state;
    assert_ok(kpk_kernel_raw(get("scale"), &module, &function));
    assert_host(platform->function(&again, module, "scale"));
    assert_ptr_equal(again, function);
    assert_host(platform->variable(&at, &nbytes, module, "weights"));
    assert_number(nbytes, 32);
    assert_host(
        platform->launch(function, s.shape.grid[0], s.shape.block[0], params));
    end_scaling(&s, 2, "the platform's own launch");
}

static void test_load_options_are_accepted(void **state)
{
    int options[2] = {0, 5}; /* hipJitOptionMaxRegisters, LogVerbose or so */
    void *values[2] = {NULL, NULL};
    struct scaling s;

    (void)state;
    if (device->platform == KPK_CUDA) {
        options[0] = 7;  /* CU_JIT_OPTIMIZATION_LEVEL, which is no pointer */
        options[1] = 12; /* CU_JIT_LOG_VERBOSE */
        values[0] = (void *)(uintptr_t)4;
    }
    assert_ok(kpk_load_ex(inst, "ways", 2, options, values));
    assert_ok(kpk_load_ex(inst, "ways", 0, NULL, NULL));
    s = begin_scaling();
    assert_ok(
        kpk_launch(get("scale"), &s.shape, NULL, KPK_ARGS(s.x, s.sum, s.n)));
    end_scaling(&s, 2, "loaded with options");
}

static void test_kernel_without_arguments(void **state)
{
    const kpk_shape shape = {{3, 1, 1}, {64, 1, 1}, 0};
    uint32_t calls = 0;

    (void)state;
    assert_ok(kpk_launch(get("no_arguments"), &shape, NULL, NULL, 0));
    assert_ok(kpk_launch_packed(get("no_arguments"), &shape, NULL, NULL, 0));
    assert_ok(kpk_sync(inst, NULL));
    assert_ok(kpk_global_read(inst, "ways", "calls", 0, &calls, 4));
    assert_number(calls, 200);
}

/* ---- limits, which are found before HIP is asked ---- */

static void test_limits_are_the_devices(void **state)
{
    const uint32_t half = 1u << 31;
    /* clang-format off */
    const struct {
        const char *kernel;
        kpk_shape shape;
        const char *says;
    } cases[] = {
        {"no_arguments", {{0, 1, 1}, {1, 1, 1}, 0}, "the grid is 0 blocks in x"},
        {"no_arguments", {{1, 1, 1}, {1, 0, 1}, 0}, "the block is 0 threads in y"},
        {"no_arguments", {{half, 1, 1}, {1, 1, 1}, 0}, "takes 2147483647 at most"},
        {"no_arguments", {{1, device->max_grid[1] + 1, 1}, {1, 1, 1}, 0}, "blocks in y"},
        {"no_arguments", {{1, 1, 1}, {device->max_block + 1, 1, 1}, 0}, "threads in x"},
        {"no_arguments", {{1, 1, 1}, {device->max_block, 2, 1}, 0}, "has more than the"},
        {"no_arguments", {{half / 2, 1, 1}, {8, 1, 1}, 0}, "less than 2^32"},
        {"needy", {{1, 1, 1}, {129, 1, 1}, 0}, "compiled for 128 at most"},
        {"needy", {{1, 1, 1}, {64, 1, 1}, (uint32_t)device->lds_nbytes - 1999}, "the kernel's own 2000"},
    };
    /* clang-format on */

    (void)state;
    /* The last case is for who knows the kernel's own shared memory. */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) - is_ptx(); i++) {
        const kpk_kernel *kernel = get(cases[i].kernel);
        const kpk_launch_options options = {.shape = cases[i].shape,
                                            .flags = KPK_LAUNCH_ANY_ORDER};

        assert_status(kpk_launch(kernel, &cases[i].shape, NULL, NULL, 0),
                      KPK_ERR_SHAPE);
        assert_message(cases[i].says);
        assert_int_equal(kpk_error_driver(), 0);
        assert_status(kpk_launch_ex(kernel, &options, NULL, 0), KPK_ERR_SHAPE);
        assert_message(cases[i].says);
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_argument_pointers),
        TEST(test_packed_buffer),
        TEST(test_per_thread_stream),
        TEST(test_stream_of_the_platform),
        TEST(test_start_and_stop_events),
        TEST(test_events_with_a_packed_buffer),
        TEST(test_cooperative_blocks_all_run_at_once),
        TEST(test_cooperative_launch_over_two_devices),
        TEST(test_several_kernels_on_several_devices),
        TEST(test_dynamic_lds_up_to_the_devices_size),
        TEST(test_globals_by_name),
        TEST(test_texture_references_are_told_apart),
        TEST(test_attributes_of_tables_and_hip_agree),
        TEST(test_needy_kernel_has_the_attributes_of_its_source),
        TEST(test_symbols_list_kernels_and_variables),
        TEST(test_raw_handles_are_the_platforms_own),
        TEST(test_load_options_are_accepted),
        TEST(test_kernel_without_arguments),
        TEST(test_limits_are_the_devices),
    };
    int failed = 0;

    if (kpk_device_count(&ndevices) != KPK_OK || ndevices == 0) {
        printf("no device: %s\n", kpk_error_message());
        return 1;
    }
    for (; device_number < ndevices; device_number++) {
        kpk_device found;
        char name[300];

        if (kpk_device_get(device_number, &found) != KPK_OK)
            return 1;
        (void)snprintf(name, sizeof(name), "ways on %s", found.target);
        failed += cmocka_run_group_tests_name(name, tests, NULL, NULL);
    }
    return failed != 0;
}
