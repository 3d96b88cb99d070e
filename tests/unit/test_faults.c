/* test_faults.c - HIP fails at every call, one after the other
 *
 * A program makes every call of kpack.h that reaches HIP, on two devices. Each
 * HIP function fails at its first call, its second, and so on, with each of
 * four errors. Whatever fails: the call that reached it has the right status
 * and a sentence that names the function; the current device is as before, or
 * the sentence says that it is not; the same call works when it is made again,
 * and so does the rest; nothing is left behind.
 */
#include "unit.h"

#include "fake_hip.h"
#include "header_layout.h"
#include "internal.h"
#include "test_pack.h"

#include <stdbool.h>

static struct fake_hip *fake;

/* Where the program stands: device 0 is current, device 1 in use beside it. */
static struct {
    kpk_instance *here, *there, *closing;
    const kpk_kernel *kernel, *scale, *other;
    const kpk_kernels *kernels;
    void *memory;
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

static kpk_status open_modules(void)
{
    const kpk_module *const modules[] = {&test_module_alpha};

    return kpk_open_modules(modules, 1, 0, &w.here);
}

static kpk_status attribute(void)
{
    int value;

    return kpk_kernel_hip_attr(w.scale, KPK_HIP_ATTR_VGPRS, &value);
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
    return kpk_table_kernel(w.there, &test_module_alpha, 0, 2, &w.scale);
}

/* An instance that is closed is gone, whatever HIP says. */
static kpk_status close_loaded(void)
{
    kpk_instance *inst = w.closing;

    w.closing = NULL;
    return kpk_close(inst);
}

/* The program, a call a row, in order. A kernel that was unloaded is found
 * anew, by its old handle. */
/* clang-format off */
#define PROGRAM(X)                                                             \
    X(kpk_device_count, count())                                               \
    X(kpk_device_get, describe())                                              \
    X(kpk_open_modules, open_modules())                                        \
    X(kpk_open, kpk_open(&test_pack, 1, &w.there))                             \
    X(kpk_load, kpk_load(w.there, "alpha"))                                    \
    X(kpk_load_ex, kpk_load_ex(w.here, NULL, 1, &option, &option_value))       \
    X(kpk_kernel_get, kpk_kernel_get(w.there, "noargs", &w.kernel))            \
    X(kpk_kernel_get_in,                                                       \
      kpk_kernel_get_in(w.there, "alpha", "scale", &w.scale))                  \
    X(kpk_kernel_get_here, kpk_kernel_get(w.here, "noargs", &w.other))         \
    X(kpk_unload, kpk_unload(w.there, "alpha"))                                \
    X(kpk_load_all, kpk_load(w.there, NULL))                                   \
    X(kpk_kernel_raw, kpk_kernel_raw(w.kernel, NULL, NULL))                    \
    X(kpk_malloc, kpk_malloc(w.there, 16, &w.memory))                          \
    X(kpk_fill, kpk_fill(w.there, w.memory, 7, 16))                            \
    X(kpk_copy_to, kpk_copy_to(w.there, w.memory, w.bytes, 16))                \
    X(kpk_copy_from, kpk_copy_from(w.there, w.bytes, w.memory, 16))            \
    X(kpk_launch, kpk_launch(w.scale, &shape, NULL, scale_args(), 3))          \
    X(kpk_launch_packed,                                                       \
      kpk_launch_packed(w.scale, &shape, NULL, w.bytes, 16))                   \
    X(kpk_launch_values, launch_values())                                      \
    X(kpk_launch_ex, launch_ex(0, &event))                                     \
    X(kpk_launch_ex_any_order, launch_ex(KPK_LAUNCH_ANY_ORDER, NULL))          \
    X(kpk_launch_ex_cooperative, launch_ex(KPK_LAUNCH_COOPERATIVE, NULL))      \
    X(kpk_launch_all, launch_all(0))                                           \
    X(kpk_launch_all_cooperative, launch_all(KPK_LAUNCH_COOPERATIVE))          \
    X(kpk_kernels_get,                                                         \
      kpk_kernels_get(w.there, &test_module_alpha,                             \
                      header_layout(&test_module_alpha), &w.kernels))          \
    X(kpk_kernels_launch,                                                      \
      kpk_kernels_launch(w.kernels, 1, &shape, NULL, NULL))                    \
    X(kpk_sync, kpk_sync(w.there, &stream))                                    \
    X(kpk_global, kpk_global(w.there, "alpha", "table", NULL, NULL))           \
    X(kpk_global_write,                                                        \
      kpk_global_write(w.there, "alpha", "table", 8, w.bytes, 16))             \
    X(kpk_global_read,                                                         \
      kpk_global_read(w.there, "alpha", "table", 8, w.bytes, 16))              \
    X(kpk_texture, texture())                                                  \
    X(kpk_kernel_hip_attr, attribute())                                        \
    X(kpk_occupancy, occupancy())                                              \
    X(kpk_occupancy_shape, occupancy_shape())                                  \
    X(kpk_free, kpk_free(w.there, w.memory))                                   \
    X(kpk_unload_all, kpk_unload(w.there, NULL))                               \
    X(kpk_table_kernel, table_kernel())                                        \
    X(kpk_global_loads, kpk_global(w.here, "alpha", "table", NULL, NULL))      \
    X(kpk_open_to_close, kpk_open(&test_pack, 1, &w.closing))                  \
    X(kpk_load_to_close, kpk_load(w.closing, NULL))                            \
    X(kpk_close, close_loaded())
/* clang-format on */

static const char *const call_names[] = {
#define X(name, call) #name,
    PROGRAM(X)
#undef X
};
enum { NCALLS = sizeof(call_names) / sizeof(call_names[0]) };

static kpk_status make_call(int i)
{
    int number = 0;

#define X(name, call)                                                          \
    if (i == number++)                                                         \
        return call;
    PROGRAM(X)
#undef X
    return KPK_OK;
}

/* What HIP's functions are called when they fail; HIP's own names differ for
 * the two layouts of properties. */
static const char *told_name(const char *function)
{
    return strcmp(function, "hipGetDevicePropertiesR0600") == 0
               ? "hipGetDeviceProperties"
               : function;
}

static void check_failure(int i, kpk_status st, const char *function, int nth,
                          int error)
{
    char says[128];

    snprintf(says, sizeof(says), "%s returned hipError", told_name(function));
    if (st != KPK_ERR_HIP || kpk_error_hip() != error ||
        !strstr(kpk_error_message(), says))
        fail_msg("%s, call %d of %s fails with %d: %s, %d: %s", call_names[i],
                 nth, function, error, kpk_status_name(st), kpk_error_hip(),
                 kpk_error_message());
    if (fake->get_current() == 0)
        return;
    if (strcmp(function, "hipSetDevice") != 0 ||
        !strstr(kpk_error_message(), "device 1 is now"))
        fail_msg("%s, call %d of %s fails: device %d is current; %s",
                 call_names[i], nth, function, fake->get_current(),
                 kpk_error_message());
    fake->set_current(0);
}

/* What has been freed is not freed again: the message says that it was. */
static bool may_be_repeated(int i)
{
    return strcmp(call_names[i], "kpk_free") != 0 ||
           !strstr(kpk_error_message(), "the call did its work");
}

static void clean_up(const char *function, int nth, bool after_close)
{
    if (w.memory && w.there)
        (void)kpk_free(w.there, w.memory);
    assert_ok(kpk_close(w.closing));
    assert_ok(kpk_close(w.here));
    assert_ok(kpk_close(w.there));
    /* A module that HIP did not let go with its instance is lost; nor is it let
     * go where its device cannot be made current, to wait for its work. */
    if (fake->live != 0 && !(after_close && fake->live == 1))
        fail_msg("%s, call %d: %d modules and blocks are left", function, nth,
                 fake->live);
    assert_int_equal(fake->nviolations, 0);
}

/* The program with one failure; false if the function was not called so often.
 */
static bool run(const char *function, int nth, int error)
{
    bool failed = false, in_close = false;

    memset(&w, 0, sizeof(w));
    fake_hip_reset(fake);
    fake->fail_name = function;
    fake->fail_nth = nth;
    fake->fail_error = error;
    for (int i = 0; i < NCALLS; i++) {
        kpk_status st = make_call(i);

        if (!failed && fake->nfailed) {
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
        assert_int_equal(fake->get_current(), 0);
    }
    fake->fail_name = NULL;
    clean_up(function, nth,
             in_close && strcmp(function, "hipDeviceSynchronize") != 0);
    return failed;
}

static void test_each_call_of_hip_fails_in_turn(void **state)
{
    static const int errors[] = {1, 2, 719, 999};
    static const char *const functions[] = {
#define X(need, result, name, args) #name,
        KPK_HIP_TABLE(X) KPK_HIP_NEWER_TABLE(X)
#undef X
    };
    /* What names errors cannot fail, the version is asked for once in a
     * process, and this HIP has the newer layout of properties. */
    static const char uncalled[] =
        "hipGetErrorName hipGetErrorString "
        "hipRuntimeGetVersion hipGetDeviceProperties";

    (void)state;
    assert_false(run("none", 1, 0));
    for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
        const char *name = functions[f];
        int nth = 1;

        for (; run(name, nth, errors[0]); nth++)
            for (size_t e = 1; e < sizeof(errors) / sizeof(errors[0]); e++)
                assert_true(run(name, nth, errors[e]));
        if (nth == 1 && !strstr(uncalled, name))
            fail_msg("the program does not call %s", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_of_hip_fails_in_turn),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
