/* test_faults.c - the driver fails at every call, one after the other
 *
 * A program makes every call of kpack.h that reaches HIP, on two devices, and
 * then the same on CUDA's driver. Each of the driver's functions fails at its
 * first call, its second, and so on, with each of four errors. Whatever fails:
 * the call that reached it has the right status and a sentence that names the
 * function; the current device is as before, or the sentence says that it is
 * not; the same call works when it is made again, and so does the rest; nothing
 * is left behind.
 */
#include "unit_checks.h"

#include "cuda_api.h"
#include "fake_cuda.h"
#include "fake_hip.h"
#include "header_layout.h"
#include "hip_api.h"
#include "system.h"
#include "test_pack.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

static struct fake_hip *fake;
static struct fake_cuda *cuda;

/* A driver that fails on command. */
struct driver {
    const kpk_pack *pack;
    const kpk_module *alpha;
    const char *synchronize;  /* waits for a device */
    const char *puts_back;    /* restores the current device or context */
    const char *not_put_back; /* in the message if puts_back fails */
    void (*reset)(const char *function, int nth, int error);
    int (*nfailed)(void);
    int (*live)(void);
    int (*nviolations)(void);
    bool (*is_as_before)(void);
    void (*put_back)(void);
};
static const struct driver *on;

/* Where the program stands: device 0 is current, device 1 in use beside it. */
static struct {
    kpk_instance *here, *there, *closing;
    const kpk_kernel *kernel, *scale, *other;
    const kpk_kernels *kernels;
    kpk_ipc_memory shared;
    void *imported;
    void *memory, *uncached, *stream, *start, *stop, *pinned, *pooled;
    void *graph, *exec, *closed;
    unsigned char bytes[16];
} w;

static const kpk_shape shape = {{1, 1, 1}, {64, 1, 1}, 0};
static const uint32_t n = 1;
static const float by = 2;
static int stream, event, option = 1;
static void *option_value;

static const kpk_arg *scale_args(void)
{
    static kpk_arg args[3];

    args[0] = (kpk_arg){&w.memory, sizeof(w.memory)};
    args[1] = (kpk_arg){&n, sizeof(n)};
    args[2] = (kpk_arg){&by, sizeof(by)};
    return args;
}

static kpk_status launch_ex(unsigned flags, void *stop_event)
{
    const kpk_launch_options options = {.shape = shape,
                                        .stream = &stream,
                                        .flags = flags,
                                        .stop_event = stop_event};

    return kpk_launch_ex(w.scale, &options, scale_args(), 3);
}

static kpk_status launch_clusters(void)
{
    const kpk_launch_options options = {
        .shape = {{2, 1, 1}, {64, 1, 1}, 0}, .stream = &stream, .cluster = {2}};

    return kpk_launch_ex(w.scale, &options, scale_args(), 3);
}

static kpk_status launch_values(void)
{
    const kpk_value values[] = {kpk_ptr(w.memory), kpk_u32(n), kpk_f32(by)};

    return kpk_launch_values(w.scale, &shape, NULL, KPK_LAYOUT_NATURAL, values,
                             3);
}

static kpk_status launch_all(unsigned flags)
{
    static int another_stream;
    const kpk_launch_item items[] = {
        {w.other, shape, &another_stream, NULL, 0},
        {w.scale, shape, &stream, scale_args(), 3}};

    return kpk_launch_all(items, 2, flags);
}

static kpk_status describe(void)
{
    kpk_device device;

    return kpk_device_get(1, &device);
}

static kpk_status count(void)
{
    int ndevices;

    return kpk_device_count(&ndevices);
}

static kpk_status count_hip(void)
{
    int ndevices;

    return kpk_platform_device_count(KPK_HIP, &ndevices);
}

static kpk_status open_modules(void)
{
    const kpk_module *const modules[] = {on->alpha};

    return kpk_open_modules(modules, 1, 0, &w.here);
}

static kpk_status attribute(void)
{
    int value;

    return kpk_kernel_driver_attr(w.scale, KPK_DRIVER_ATTR_VGPRS, &value);
}

static kpk_status occupancy(void)
{
    uint32_t blocks;

    return kpk_occupancy(w.scale, 64, 0, &blocks);
}

static kpk_status occupancy_shape(void)
{
    kpk_shape best;

    return kpk_occupancy_shape(w.scale, 0, 256, &best);
}

static kpk_status texture(void)
{
    void *found;

    return kpk_texture(w.there, "alpha", "present", &found);
}

static kpk_status table_kernel(void)
{
    return kpk_table_kernel(w.there, on->alpha, 0, 2, &w.scale);
}

static kpk_status ask(kpk_status (*query)(kpk_instance *, void *, int *),
                      void *what)
{
    int done;

    return query(w.there, what, &done);
}

static kpk_status elapsed(void)
{
    float ms;

    return kpk_event_elapsed(w.there, w.start, w.stop, &ms);
}

static kpk_status device_attr(void)
{
    int value;

    return kpk_device_attr(w.there, 16, &value);
}

static kpk_status current_device(void)
{
    int device;

    return kpk_current_device(on->pack == &test_pack ? KPK_HIP : KPK_CUDA,
                              &device);
}

static kpk_status capture_query(void)
{
    kpk_capture_state state;

    return kpk_capture_query(w.there, w.stream, &state);
}

/* A recording that has ended cannot be ended again. */
static kpk_status capture_end(void)
{
    if (!(on->pack == &test_pack ? fake->capturing : cuda->capturing))
        assert_ok(kpk_capture_begin(w.there, w.stream, KPK_CAPTURE_THREAD));
    return kpk_capture_end(w.there, w.stream, &w.graph);
}

/* An instance that is closed is gone, whatever HIP says. */
static kpk_status close_loaded(void)
{
    kpk_instance *inst = w.closing;

    w.closing = NULL;
    return kpk_close(inst);
}

/* The program, a call a row, in order. A kernel that was unloaded is found
 * anew, by its old handle. Rows with HIP have no call of CUDA's. */
/* clang-format off */
#define PROGRAM(X)                                                             \
    X(BOTH, kpk_device_count, count())                                         \
    X(HIP, kpk_platform_device_count, count_hip())                             \
    X(BOTH, kpk_device_get, describe())                                        \
    X(BOTH, kpk_open_modules, open_modules())                                  \
    X(BOTH, kpk_open, kpk_open(on->pack, 1, &w.there))                         \
    X(BOTH, kpk_load, kpk_load(w.there, "alpha"))                              \
    X(BOTH, kpk_load_ex, kpk_load_ex(w.here, NULL, 1, &option, &option_value)) \
    X(BOTH, kpk_kernel_get, kpk_kernel_get(w.there, "noargs", &w.kernel))      \
    X(BOTH, kpk_kernel_get_in,                                                 \
      kpk_kernel_get_in(w.there, "alpha", "scale", &w.scale))                  \
    X(BOTH, kpk_kernel_get_here, kpk_kernel_get(w.here, "noargs", &w.other))   \
    X(BOTH, kpk_unload, kpk_unload(w.there, "alpha"))                          \
    X(BOTH, kpk_load_all, kpk_load(w.there, NULL))                             \
    X(BOTH, kpk_kernel_raw, kpk_kernel_raw(w.kernel, NULL, NULL))              \
    X(BOTH, kpk_malloc, kpk_malloc(w.there, 16, &w.memory))                    \
    X(BOTH, kpk_fill, kpk_fill(w.there, w.memory, 7, 16))                      \
    X(BOTH, kpk_copy_to, kpk_copy_to(w.there, w.memory, w.bytes, 16))          \
    X(BOTH, kpk_copy_from, kpk_copy_from(w.there, w.bytes, w.memory, 16))      \
    X(BOTH, kpk_launch, kpk_launch(w.scale, &shape, NULL, scale_args(), 3))    \
    X(BOTH, kpk_launch_packed,                                                 \
      kpk_launch_packed(w.scale, &shape, NULL, w.bytes, 16))                   \
    X(BOTH, kpk_launch_values, launch_values())                                \
    X(BOTH, kpk_launch_ex, launch_ex(0, &event))                               \
    X(BOTH, kpk_launch_ex_any_order, launch_ex(KPK_LAUNCH_ANY_ORDER, NULL))    \
    X(BOTH, kpk_launch_ex_cooperative, launch_ex(KPK_LAUNCH_COOPERATIVE, NULL)) \
    X(CUDA, kpk_launch_ex_clusters, launch_clusters())                         \
    X(BOTH, kpk_launch_all, launch_all(0))                                     \
    X(HIP, kpk_launch_all_cooperative, launch_all(KPK_LAUNCH_COOPERATIVE))     \
    X(BOTH, kpk_kernels_get,                                                   \
      kpk_kernels_get(w.there, on->alpha, header_layout(on->alpha),            \
                      &w.kernels))                                             \
    X(BOTH, kpk_kernels_launch,                                                \
      kpk_kernels_launch(w.kernels, 1, &shape, NULL, NULL))                    \
    X(BOTH, kpk_sync, kpk_sync(w.there, &stream))                              \
    X(BOTH, kpk_peer_enable, kpk_peer_enable(w.here, w.there))                 \
    X(BOTH, kpk_malloc_uncached,                                               \
      kpk_malloc_uncached(w.there, 16, &w.uncached))                           \
    X(BOTH, kpk_ipc_export,                                                    \
      kpk_ipc_export(w.there, w.uncached, &w.shared))                          \
    X(BOTH, kpk_ipc_import,                                                    \
      kpk_ipc_import(w.there, &w.shared, &w.imported))                         \
    X(BOTH, kpk_ipc_close, kpk_ipc_close(w.there, w.imported))                 \
    X(BOTH, kpk_free_uncached, kpk_free(w.there, w.uncached))                  \
    X(BOTH, kpk_stream_create, kpk_stream_create(w.there, 1, &w.stream))       \
    X(BOTH, kpk_event_create, kpk_event_create(w.there, 0, &w.start))          \
    X(BOTH, kpk_event_create_too, kpk_event_create(w.there, 0, &w.stop))       \
    X(BOTH, kpk_event_record, kpk_event_record(w.there, w.start, w.stream))    \
    X(BOTH, kpk_stream_wait, kpk_stream_wait(w.there, NULL, w.start))          \
    X(BOTH, kpk_event_query, ask(kpk_event_query, w.start))                    \
    X(BOTH, kpk_event_sync, kpk_event_sync(w.there, w.start))                  \
    X(BOTH, kpk_event_elapsed, elapsed())                                      \
    X(BOTH, kpk_stream_query, ask(kpk_stream_query, w.stream))                 \
    X(BOTH, kpk_malloc_host, kpk_malloc_host(w.there, 16, &w.pinned))          \
    X(BOTH, kpk_fill_async,                                                    \
      kpk_fill_async(w.there, w.memory, 7, 16, w.stream))                      \
    X(BOTH, kpk_copy_from_async,                                               \
      kpk_copy_from_async(w.there, w.pinned, w.memory, 16, w.stream))          \
    X(BOTH, kpk_copy_to_async,                                                 \
      kpk_copy_to_async(w.there, w.memory, w.pinned, 16, w.stream))            \
    X(BOTH, kpk_copy_async, kpk_copy_async(w.there, w.memory,                  \
      (char *)w.memory + 8, 8, w.stream))                                      \
    X(BOTH, kpk_copy_peer_async,                                               \
      kpk_copy_peer_async(w.here, w.memory, w.there,                           \
                          (char *)w.memory + 8, 8, w.stream))                  \
    X(BOTH, kpk_free_host, kpk_free_host(w.there, w.pinned))                   \
    X(BOTH, kpk_memory_info, kpk_memory_info(w.there, NULL, NULL))             \
    X(BOTH, kpk_device_attr, device_attr())                                    \
    X(BOTH, kpk_current_device, current_device())                              \
    X(BOTH, kpk_capture_begin,                                                 \
      kpk_capture_begin(w.there, w.stream, KPK_CAPTURE_THREAD))                \
    X(BOTH, kpk_capture_query, capture_query())                                \
    X(BOTH, kpk_capture_end, capture_end())                                    \
    X(BOTH, kpk_graph_instantiate,                                             \
      kpk_graph_instantiate(w.there, w.graph, &w.exec))                        \
    X(BOTH, kpk_graph_launch, kpk_graph_launch(w.there, w.exec, w.stream))     \
    X(BOTH, kpk_graph_destroy, kpk_graph_destroy(w.there, w.graph))            \
    X(BOTH, kpk_graph_exec_destroy, kpk_graph_exec_destroy(w.there, w.exec))   \
    X(BOTH, kpk_malloc_async,                                                  \
      kpk_malloc_async(w.there, 16, w.stream, &w.pooled))                      \
    X(BOTH, kpk_free_async, kpk_free_async(w.there, w.pooled, w.stream))       \
    X(BOTH, kpk_malloc_async_again,                                            \
      kpk_malloc_async(w.there, 16, NULL, &w.pooled))                          \
    X(BOTH, kpk_free_async_again, kpk_free_async(w.there, w.pooled, NULL))     \
    X(BOTH, kpk_pool_trim, kpk_pool_trim(w.there))                             \
    X(BOTH, kpk_event_destroy, kpk_event_destroy(w.there, w.start))            \
    X(BOTH, kpk_event_destroy_too, kpk_event_destroy(w.there, w.stop))         \
    X(BOTH, kpk_stream_destroy, kpk_stream_destroy(w.there, w.stream))         \
    X(BOTH, kpk_global, kpk_global(w.there, "alpha", "table", NULL, NULL))     \
    X(BOTH, kpk_global_write,                                                  \
      kpk_global_write(w.there, "alpha", "table", 8, w.bytes, 16))             \
    X(BOTH, kpk_global_read,                                                   \
      kpk_global_read(w.there, "alpha", "table", 8, w.bytes, 16))              \
    X(HIP, kpk_texture, texture())                                             \
    X(BOTH, kpk_kernel_driver_attr, attribute())                                  \
    X(BOTH, kpk_occupancy, occupancy())                                        \
    X(BOTH, kpk_occupancy_shape, occupancy_shape())                            \
    X(BOTH, kpk_free, kpk_free(w.there, w.memory))                             \
    X(BOTH, kpk_unload_all, kpk_unload(w.there, NULL))                         \
    X(BOTH, kpk_table_kernel, table_kernel())                                  \
    X(BOTH, kpk_unload_here, kpk_unload(w.here, NULL))                         \
    X(BOTH, kpk_global_loads,                                                  \
      kpk_global(w.here, "alpha", "table", NULL, NULL))                        \
    X(BOTH, kpk_open_to_close, kpk_open(on->pack, 1, &w.closing))              \
    X(BOTH, kpk_load_to_close, kpk_load(w.closing, NULL))                      \
    X(BOTH, kpk_malloc_async_to_close,                                         \
      kpk_malloc_async(w.closing, 16, NULL, &w.closed))                        \
    X(BOTH, kpk_free_async_to_close,                                           \
      kpk_free_async(w.closing, w.closed, NULL))                               \
    X(BOTH, kpk_close, close_loaded())
/* clang-format on */

static const char *const call_names[] = {
#define X(drivers, name, call) #name,
    PROGRAM(X)
#undef X
};
enum { NCALLS = sizeof(call_names) / sizeof(call_names[0]) };
enum { BOTH, HIP, CUDA };

static kpk_status make_call(int i)
{
    int number = 0;

    const int other = on->pack == &test_pack ? CUDA : HIP;

#define X(drivers, name, call)                                                 \
    if (i == number++)                                                         \
        return (drivers) == other ? KPK_OK : (call);
    PROGRAM(X)
#undef X
    return KPK_OK;
}

/* ---- the two drivers ------------------------------------------------ */

static void reset_hip(const char *function, int nth, int error)
{
    fake_hip_reset(fake);
    fake->fail_name = function;
    fake->fail_nth = nth;
    fake->fail_error = error;
}

static int hip_nfailed(void)
{
    return fake->nfailed;
}

static int hip_live(void)
{
    return fake->live;
}

static int hip_nviolations(void)
{
    return fake->nviolations;
}

static bool hip_is_as_before(void)
{
    return fake->get_current() == 0;
}

static void hip_put_back(void)
{
    fake->set_current(0);
}

static const struct driver hip_driver = {
    &test_pack,       &test_module_alpha, "hipDeviceSynchronize",
    "hipSetDevice",   "device 1 is now",  reset_hip,
    hip_nfailed,      hip_live,           hip_nviolations,
    hip_is_as_before, hip_put_back};

/* The thread has a context of its own, which is current. HIP has no device.
 * Device 0 gets PTX, device 1 a cubin. */
static void reset_cuda(const char *function, int nth, int error)
{
    if (fake) {
        fake_hip_reset(fake);
        fake->ndevices = 0;
    }
    while (cuda->depth() > 0)
        cuda->pop();
    fake_cuda_reset(cuda);
    cuda->capability[0] = 120;
    cuda->capability[1] = 90;
    cuda->push_own();
    cuda->fail_name = function;
    cuda->fail_nth = nth;
    cuda->fail_error = error;
}

static int cuda_nfailed(void)
{
    return cuda->nfailed;
}

static int cuda_live(void)
{
    return cuda->live;
}

static int cuda_nviolations(void)
{
    return cuda->nviolations;
}

static bool cuda_is_as_before(void)
{
    return cuda->depth() == 1 && cuda->current() == -1;
}

static void cuda_put_back(void)
{
    cuda->pop();
}

static const struct driver cuda_driver = {
    &test_pack_nvidia,  &test_module_alpha_nvidia,
    "cuCtxSynchronize", "cuCtxPopCurrent_v2",
    "is current now",   reset_cuda,
    cuda_nfailed,       cuda_live,
    cuda_nviolations,   cuda_is_as_before,
    cuda_put_back};

/* ---- failures ------------------------------------------------------- */

/* Names of the drivers' functions in messages: HIP's own names differ for the
 * two layouts of properties, CUDA's have a version. */
static void told_name(const char *function, char told[64])
{
    const char *version = strstr(function, "_v2");

    if (strcmp(function, "hipGetDevicePropertiesR0600") == 0)
        function = "hipGetDeviceProperties";
    snprintf(told, 64, "%.*s",
             version ? (int)(version - function) : (int)strlen(function),
             function);
}

static void check_failure(int i, kpk_status st, const char *function, int nth,
                          int error)
{
    char name[64];
    char says[128];

    told_name(function, name);
    snprintf(says, sizeof(says), "%s returned ", name);
    if (st != KPK_ERR_DRIVER || kpk_error_driver() != error ||
        !strstr(kpk_error_message(), says))
        fail_msg("%s, call %d of %s fails with %d: %s, %d: %s", call_names[i],
                 nth, function, error, kpk_status_name(st), kpk_error_driver(),
                 kpk_error_message());
    if (on->is_as_before())
        return;
    if (strcmp(function, on->puts_back) != 0 ||
        !strstr(kpk_error_message(), on->not_put_back))
        fail_msg("%s, call %d of %s fails: another device is current; %s",
                 call_names[i], nth, function, kpk_error_message());
    on->put_back();
}

/* Whether a failed call may be repeated. A call that frees something may have
 * done so although it failed: the message then says it. */
static bool may_be_repeated(int i)
{
    static const char *const back[] = {"_free", "_destroy", "_ipc_close"};

    for (size_t k = 0; k < sizeof(back) / sizeof(back[0]); k++)
        if (strstr(call_names[i], back[k]))
            return !strstr(kpk_error_message(), "the call did its work");
    return true;
}

static void clean_up(const char *function, int nth, bool after_close)
{
    if (w.memory && w.there)
        (void)kpk_free(w.there, w.memory);
    assert_ok(kpk_close(w.closing));
    assert_ok(kpk_close(w.here));
    assert_ok(kpk_close(w.there));
    /* A module that the driver did not let go with its instance is lost, and so
     * are a block of the pool and its event; nor are they let go where their
     * device cannot be made current.
     */
    if (on->live() != 0 && !(after_close && on->live() <= 2))
        fail_msg("%s, call %d: %d modules and blocks are left", function, nth,
                 on->live());
    assert_int_equal(on->nviolations(), 0);
}

/* The program with one failure; false if the function was not called so often.
 */
static bool run(const char *function, int nth, int error)
{
    bool failed = false, in_close = false;

    memset(&w, 0, sizeof(w));
    on->reset(function, nth, error);
    for (int i = 0; i < NCALLS; i++) {
        kpk_status st = make_call(i);

        if (!failed && on->nfailed()) {
            failed = true;
            in_close = i == NCALLS - 1;
            check_failure(i, st, function, nth, error);
            st = may_be_repeated(i) ? make_call(i) : KPK_OK;
        }
        if (st != KPK_OK)
            fail_msg("%s, after call %d of %s failed with %d: %s: %s",
                     call_names[i], nth, function, error, kpk_status_name(st),
                     kpk_error_message());
        if (strcmp(call_names[i], "kpk_free") == 0)
            w.memory = NULL;
        assert_true(on->is_as_before());
    }
    if (fake)
        fake->fail_name = NULL;
    cuda->fail_name = NULL;
    clean_up(function, nth, in_close && strcmp(function, on->synchronize) != 0);
    return failed;
}

static const int errors[] = {1, 2, 719, 999};
enum { NERRORS = sizeof(errors) / sizeof(errors[0]) };

/* Fails each call of each function with each error, but for the functions in
 * `uncalled`. */
static void fail_in_turn(const char *const *functions, size_t nfunctions,
                         const char *uncalled)
{
    assert_false(run("none", 1, 0));
    for (size_t f = 0; f < nfunctions; f++) {
        const char *name = functions[f];
        int nth = 1;

        for (; run(name, nth, errors[0]); nth++)
            for (size_t e = 1; e < NERRORS; e++)
                assert_true(run(name, nth, errors[e]));
        if (nth == 1 && !strstr(uncalled, name))
            fail_msg("the program does not call %s", name);
    }
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_each_call_of_hip_fails_in_turn(void **state)
{
    static const char *const functions[] = {
#define X(need, result, name, args) #name,
        KPK_HIP_TABLE(X) KPK_HIP_NEWER_TABLE(X)
#undef X
    };

    (void)state;
    on = &hip_driver;
    /* Functions that name errors cannot fail, kpack asks for the version once
     * in a process, and this HIP has the newer layout of properties. */
    fail_in_turn(functions, COUNT(functions),
                 "hipGetErrorName hipGetErrorString "
                 "hipRuntimeGetVersion hipGetDeviceProperties ");
}

static void test_each_call_of_cuda_fails_in_turn(void **state)
{
    static const char *const functions[] = {
#define X(need, name, exported, args) #exported,
        KPK_CUDA_TABLE(X)
#undef X
    };

    (void)state;
    on = &cuda_driver;
    /* Functions that name errors cannot fail. The other functions listed are
     * called once in a process, or once for a device; see below. */
    fail_in_turn(functions, COUNT(functions),
                 "cuGetErrorName cuGetErrorString cuInit cuDriverGetVersion "
                 "cuDeviceGetCount cuDevicePrimaryCtxRetain");
}

/* ---- once in a process: this program started again, without HIP ----- */

static int child(const char *function, int nth, int error)
{
    char path[FAKE_PATH_MAX], says[128];
    int ndevices = 0;

    cuda = fake_cuda_load(path);
    set_variable("KPK_CUDA_LIBRARY", path);
    on = &cuda_driver;
    if (strcmp(function, "cuDevicePrimaryCtxRetain") == 0)
        return run(function, nth, error) ? 0 : 1;
    on->reset(function, nth, error);
    snprintf(says, sizeof(says), "%s returned ", function);
    /* The version is for messages alone: that it is unknown is no failure. */
    if (strcmp(function, "cuDriverGetVersion") != 0 &&
        (kpk_device_count(&ndevices) != KPK_ERR_NO_DRIVER ||
         !strstr(kpk_error_message(), says) ||
         !strstr(kpk_error_message(), "does not start")))
        return 2;
    if (kpk_device_count(&ndevices) != KPK_OK || ndevices != 2 ||
        on->nfailed() != 1)
        return 3;
    return run("none", 1, 0) ? 4 : 0;
}

static void start_again(const char *function, int nth, int error)
{
    char number[16], which[16];
    int status;

    (void)snprintf(number, sizeof(number), "%d", error);
    (void)snprintf(which, sizeof(which), "%d", nth);
    status =
        run_again((const char *const[]){function, which, number, NULL},
                  (const char *const[]){"LD_LIBRARY_PATH", "/nowhere",
                                        "KPK_HIP_LIBRARY", "/nowhere", NULL});
    if (status != 0)
        fail_msg("call %d of %s fails with %d: wait status %d", nth, function,
                 error, status);
}

static void test_start_of_cuda_fails_in_turn(void **state)
{
    static const char *const functions[] = {"cuInit", "cuDeviceGetCount",
                                            "cuDriverGetVersion",
                                            "cuDevicePrimaryCtxRetain"};

    (void)state;
    for (size_t f = 0; f < COUNT(functions); f++)
        for (size_t e = 0; e < NERRORS; e++)
            start_again(functions[f], 1, errors[e]);
    for (size_t e = 0; e < NERRORS; e++)
        start_again("cuDevicePrimaryCtxRetain", 2, errors[e]);
}

static bool read_int(const char *text, int *out)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < INT_MIN ||
        value > INT_MAX)
        return false;
    *out = (int)value;
    return true;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_of_hip_fails_in_turn),
        cmocka_unit_test(test_each_call_of_cuda_fails_in_turn),
        cmocka_unit_test(test_start_of_cuda_fails_in_turn),
    };
    char path[FAKE_PATH_MAX];
    int nth, error;

    if (argc == 4)
        return read_int(argv[2], &nth) && read_int(argv[3], &error)
                   ? child(argv[1], nth, error)
                   : 5;
    fake = fake_hip_load("fake_hip.so");
    cuda = fake_cuda_load(path);
    set_variable("KPK_CUDA_LIBRARY", path);
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
