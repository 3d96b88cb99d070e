/* test_threads.c - many threads on two devices load each module once
 *
 * Also meant to be run under ThreadSanitizer: make check SAN=thread.
 */
#include "unit_checks.h"

#include "fake_hip.h"
#include "test_pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { NTHREADS = 16, NDEVICES = 2, NROUNDS = 50, NLAUNCHES = 20 };

static struct fake_hip *fake;
static kpk_instance *instances[NDEVICES];
static pthread_barrier_t start;
static atomic_int nfailed;

/* Each thread asks both instances, half of them the other way round. */
static void *ask_and_launch(void *number)
{
    static const char *const names[] = {"scale", "noargs", "shared", "slots"};
    const int me = *(const int *)number;
    const kpk_shape shape = kpk_shape_1d(1, 64);

    pthread_barrier_wait(&start);
    for (int i = 0; i < NDEVICES; i++) {
        kpk_instance *inst = instances[(i + me) % NDEVICES];
        const kpk_kernel *kernel;

        for (int k = 0; k < 4; k++) {
            if (kpk_kernel_get(inst, names[(k + me / 2) % 4], &kernel) !=
                KPK_OK)
                atomic_fetch_add(&nfailed, 1);
        }
        if (kpk_kernel_get(inst, "noargs", &kernel) != KPK_OK) {
            atomic_fetch_add(&nfailed, 1);
            continue;
        }
        for (int k = 0; k < NLAUNCHES; k++) {
            if (kpk_launch(kernel, &shape, NULL, NULL, 0) != KPK_OK)
                atomic_fetch_add(&nfailed, 1);
        }
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[NTHREADS];
    int numbers[NTHREADS];

    for (int i = 0; i < NTHREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, ask_and_launch, &numbers[i]), 0);
    }
    for (int i = 0; i < NTHREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void test_16_threads_on_two_devices_load_each_module_once(void **state)
{
    (void)state;
    for (int round = 0; round < NROUNDS; round++) {
        fake_hip_reset(fake);
        for (int i = 0; i < NDEVICES; i++)
            assert_ok(kpk_open(&test_pack, i, &instances[i]));
        run_threads();
        assert_int_equal(nfailed, 0);
        for (int i = 0; i < NDEVICES; i++)
            assert_int_equal(fake->nloads_of_device[i], 1);
        assert_int_equal(fake->nloads, NDEVICES);
        assert_int_equal(fake->nlookups, 4 * NDEVICES);
        assert_int_equal(fake->nlaunches, NTHREADS * NDEVICES * NLAUNCHES);
        assert_int_equal(fake->nviolations, 0);
        for (int i = 0; i < NDEVICES; i++)
            assert_ok(kpk_close(instances[i]));
        assert_int_equal(fake->live, 0);
    }
}

/* A thread's failure does not change another thread's message. */
static void *fail_alone(void *number)
{
    char wanted[64];
    char name[32];

    snprintf(name, sizeof(name), "kernel_%d", *(const int *)number);
    snprintf(wanted, sizeof(wanted), "no kernel \"%s\"", name);
    pthread_barrier_wait(&start);
    for (int i = 0; i < 200; i++) {
        const kpk_kernel *kernel;

        if (kpk_kernel_get(instances[0], name, &kernel) != KPK_ERR_NO_KERNEL ||
            !strstr(kpk_error_message(), wanted))
            atomic_fetch_add(&nfailed, 1);
    }
    return NULL;
}

static void test_messages_belong_to_their_thread(void **state)
{
    pthread_t threads[NTHREADS];
    int numbers[NTHREADS];

    (void)state;
    fake_hip_reset(fake);
    assert_ok(kpk_open(&test_pack, 0, &instances[0]));
    for (int i = 0; i < NTHREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, fail_alone, &numbers[i]), 0);
    }
    for (int i = 0; i < NTHREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(nfailed, 0);
    assert_ok(kpk_close(instances[0]));
}

static void *get_noargs(void *inst)
{
    const kpk_kernel *kernel;

    return kpk_kernel_get(inst, "noargs", &kernel) == KPK_OK ? inst : NULL;
}

/* One looks the kernel up while the other waits for the lock. */
static void test_who_comes_second_finds_the_kernel(void **state)
{
    pthread_t threads[2];
    kpk_instance *inst;
    void *done;

    (void)state;
    fake_hip_reset(fake);
    assert_ok(kpk_open(&test_pack, 0, &inst));
    fake->hold_name = "hipModuleGetFunction";
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_noargs, inst),
                         0);
    while (!fake->held)
        usleep(1000);
    usleep(50000); /* until the other one waits, too */
    fake->released = 1;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &done), 0);
        assert_ptr_equal(done, inst);
    }
    assert_int_equal(fake->nlookups, 1);
    assert_ok(kpk_close(inst));
}

/* ---- who uses a module while another unloads it --------------------- */

static const kpk_kernel *used;

static kpk_status read_variable(kpk_instance *inst)
{
    unsigned char bytes[32];

    return kpk_global_read(inst, "alpha", "table", 0, bytes, 32);
}

static kpk_status write_variable(kpk_instance *inst)
{
    static const unsigned char bytes[32];

    return kpk_global_write(inst, "alpha", "table", 32, bytes, 32);
}

static kpk_status ask_attribute(kpk_instance *inst)
{
    int value;

    (void)inst;
    return kpk_kernel_driver_attr(used, KPK_DRIVER_ATTR_VGPRS, &value);
}

static kpk_status ask_occupancy(kpk_instance *inst)
{
    uint32_t blocks;

    (void)inst;
    return kpk_occupancy(used, 64, 0, &blocks);
}

static kpk_status ask_shape(kpk_instance *inst)
{
    kpk_shape shape;

    (void)inst;
    return kpk_occupancy_shape(used, 0, 0, &shape);
}

static kpk_status ask_handles(kpk_instance *inst)
{
    void *module = NULL, *function = NULL;
    const kpk_status st = kpk_kernel_raw(used, &module, &function);

    (void)inst;
    return st == KPK_OK && !(module && function) ? KPK_ERR_ARG : st;
}

static kpk_status get_kernel(kpk_instance *inst)
{
    const kpk_kernel *kernel;

    return kpk_kernel_get(inst, "scale", &kernel);
}

/* Uses of a module: the call, HIP's function for the use, and whether the use
 * loads the module. */
static const struct use {
    kpk_status (*call)(kpk_instance *inst);
    const char *function;
    bool loads;
} uses[] = {{read_variable, "hipMemcpy", true},
            {write_variable, "hipMemcpy", true},
            {ask_attribute, "hipFuncGetAttribute", false},
            {ask_occupancy,
             "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", false},
            {ask_shape, "hipModuleOccupancyMaxPotentialBlockSize", false},
            {ask_handles, NULL, false},
            {get_kernel, NULL, true}};
enum { NUSES = sizeof(uses) / sizeof(uses[0]) };

static void *use_once(void *use)
{
    return ((const struct use *)use)->call(instances[0]) == KPK_OK ? use : NULL;
}

static void *unload(void *inst)
{
    return kpk_unload(inst, "alpha") == KPK_OK ? inst : NULL;
}

/* HIP is at work on a module, and another thread wants it unloaded. */
static void test_unloading_waits_for_who_uses_the_module(void **state)
{
    (void)state;
    for (int i = 0; i < NUSES; i++) {
        pthread_t user, unloader;
        void *done;

        if (!uses[i].function)
            continue;
        fake_hip_reset(fake);
        assert_ok(kpk_open(&test_pack, 0, &instances[0]));
        assert_ok(kpk_kernel_get(instances[0], "scale", &used));
        fake->hold_name = uses[i].function;
        assert_int_equal(
            pthread_create(&user, NULL, use_once, (void *)&uses[i]), 0);
        while (!fake->held)
            usleep(1000);
        assert_int_equal(pthread_create(&unloader, NULL, unload, instances[0]),
                         0);
        usleep(20000); /* until it waits, too */
        assert_int_equal(fake->nunloads, 0);
        fake->released = 1;
        assert_int_equal(pthread_join(user, &done), 0);
        assert_ptr_equal(done, &uses[i]);
        assert_int_equal(pthread_join(unloader, &done), 0);
        assert_ptr_equal(done, instances[0]);
        assert_int_equal(fake->nunloads, 1);
        assert_int_equal(fake->nviolations, 0);
        assert_ok(kpk_close(instances[0]));
        assert_int_equal(fake->live, 0);
    }
}

/* A copy waits for the device's work. Who wants to load waits for no copy. */
static void test_loading_does_not_wait_for_a_copy(void **state)
{
    const kpk_kernel *kernel;
    pthread_t user;
    void *done;

    (void)state;
    fake_hip_reset(fake);
    assert_ok(kpk_open(&test_pack, 0, &instances[0]));
    fake->hold_name = "hipMemcpy";
    assert_int_equal(pthread_create(&user, NULL, use_once, (void *)&uses[0]),
                     0);
    while (!fake->held)
        usleep(1000);
    assert_ok(kpk_kernel_get(instances[0], "whole", &kernel)); /* of beta */
    assert_ok(kpk_unload(instances[0], "beta"));
    fake->released = 1;
    assert_int_equal(pthread_join(user, &done), 0);
    assert_ptr_equal(done, &uses[0]);
    assert_ok(kpk_close(instances[0]));
}

/* Each thread does one thing again and again; half of them unload. */
static void *use_or_unload(void *number)
{
    const int me = *(const int *)number;
    const struct use *use = &uses[me / 2 % NUSES];

    pthread_barrier_wait(&start);
    for (int i = 0; i < 500; i++) {
        const kpk_status st = me % 2 ? kpk_unload(instances[0], "alpha")
                                     : use->call(instances[0]);

        if (st != KPK_OK && (st != KPK_ERR_UNLOADED || me % 2 || use->loads))
            atomic_fetch_add(&nfailed, 1);
    }
    return NULL;
}

static void test_threads_use_a_module_that_others_unload(void **state)
{
    pthread_t threads[NTHREADS];
    int numbers[NTHREADS];

    (void)state;
    fake_hip_reset(fake);
    assert_ok(kpk_open(&test_pack, 0, &instances[0]));
    assert_ok(kpk_kernel_get(instances[0], "scale", &used));
    for (int i = 0; i < NTHREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, use_or_unload, &numbers[i]), 0);
    }
    for (int i = 0; i < NTHREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(nfailed, 0);
    assert_int_equal(fake->nviolations, 0);
    assert_true(fake->nunloads > 0);
    assert_ok(kpk_close(instances[0]));
    assert_int_equal(fake->live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_16_threads_on_two_devices_load_each_module_once),
        cmocka_unit_test(test_messages_belong_to_their_thread),
        cmocka_unit_test(test_who_comes_second_finds_the_kernel),
        cmocka_unit_test(test_unloading_waits_for_who_uses_the_module),
        cmocka_unit_test(test_loading_does_not_wait_for_a_copy),
        cmocka_unit_test(test_threads_use_a_module_that_others_unload),
    };

    fake = fake_hip_load("fake_hip.so");
    if (pthread_barrier_init(&start, NULL, NTHREADS) != 0)
        return 1;
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
