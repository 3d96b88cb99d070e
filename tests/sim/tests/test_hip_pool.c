/* test_hip_pool.c - memory pools: what they hold, count, give again and back */
#include "hip_test.h"

#include "sim/hip/kpk_sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

hipError_t hipMemGetDefaultMemPool(hipMemPool_t *pool,
                                   const hipMemLocation *location, int type);
hipError_t hipMemGetMemPool(hipMemPool_t *pool, const hipMemLocation *location,
                            int type);
hipError_t hipMemSetMemPool(const hipMemLocation *location, int type,
                            hipMemPool_t pool);

enum attribute {
    THRESHOLD = 4,
    RESERVED_CURRENT,
    RESERVED_HIGH,
    USED_CURRENT,
    USED_HIGH
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Holds a stream up for as long as the test has the lock. */
static void wait_for_lock(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static uint64_t get(hipMemPool_t pool, enum attribute which)
{
    uint64_t value = 0;

    EXPECT(hipSuccess,
           hipMemPoolGetAttribute(pool, (hipMemPoolAttr)which, &value));
    return value;
}

static void expect(hipMemPool_t pool, uint64_t used, uint64_t used_high,
                   uint64_t reserved, uint64_t reserved_high)
{
    assert_int_equal(get(pool, USED_CURRENT), used);
    assert_int_equal(get(pool, USED_HIGH), used_high);
    assert_int_equal(get(pool, RESERVED_CURRENT), reserved);
    assert_int_equal(get(pool, RESERVED_HIGH), reserved_high);
}

static hipMemPool_t new_pool(size_t max_size)
{
    hipMemPoolProps props = {.allocType = hipMemAllocationTypePinned,
                             .location = {hipMemLocationTypeDevice, 0}};
    hipMemPool_t pool = NULL;

    memcpy(&props.reserved, &max_size, sizeof(max_size)); /* maxSize of 6.x */
    EXPECT(hipSuccess, hipMemPoolCreate(&pool, &props));
    return pool;
}

static void hold_back(hipMemPool_t pool, uint64_t threshold)
{
    EXPECT(hipSuccess,
           hipMemPoolSetAttribute(pool, (hipMemPoolAttr)THRESHOLD, &threshold));
}

static void test_counts_are_of_one_pool(void **state)
{
    hipMemPool_t first = new_pool(0), second = new_pool(0);
    uint64_t zero = 0, one = 1;
    hipStream_t s;
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreate(&s));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 100, first, s));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 50, first, s));
    expect(first, 150, 150, 150, 150);
    expect(second, 0, 0, 0, 0);
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    assert_int_equal(get(first, USED_CURRENT), 50); /* at once */
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    expect(first, 50, 150, 50, 150); /* nothing is held back */
    EXPECT(hipSuccess,
           hipMemPoolSetAttribute(first, (hipMemPoolAttr)USED_HIGH, &zero));
    assert_int_equal(get(first, USED_HIGH), 0);
    EXPECT(hipErrorInvalidValue,
           hipMemPoolSetAttribute(first, (hipMemPoolAttr)USED_HIGH, &one));
    EXPECT(hipErrorInvalidValue,
           hipMemPoolSetAttribute(first, (hipMemPoolAttr)USED_CURRENT, &zero));
    EXPECT(hipSuccess, hipFree(b));
    EXPECT(hipErrorInvalidValue, hipFree(b));
    expect(first, 0, 0, 0, 150);
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipMemPoolDestroy(first));
    EXPECT(hipErrorInvalidValue, hipMemPoolDestroy(first));
    EXPECT(hipSuccess, hipMemPoolDestroy(second));
}

static void test_threshold_holds_and_trim_gives_back(void **state)
{
    hipMemPool_t pool = new_pool(0);
    char *a, *b;

    (void)state;
    hold_back(pool, 100);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 100, pool, NULL));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 60, pool, NULL));
    EXPECT(hipSuccess, hipFreeAsync(a, NULL));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    expect(pool, 60, 160, 160, 160);
    EXPECT(hipSuccess, hipFreeAsync(b, NULL));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_true(get(pool, RESERVED_CURRENT) <= 100);
    EXPECT(hipSuccess, hipMemPoolTrimTo(pool, 0));
    expect(pool, 0, 160, 0, 160);
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
    EXPECT(hipErrorInvalidValue, hipMemPoolTrimTo(pool, 0));
}

/* The stream of the free has the memory again before it came to the free; other
 * streams have it when it did, or never where that is switched off. */
static void test_reuse(void **state)
{
    hipMemPool_t pool = new_pool(0);
    hipStream_t s, other;
    char *a, *b, *c;
    int no = 0;

    (void)state;
    hold_back(pool, UINT64_MAX);
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipMemsetAsync(a, 1, 64, s));
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 64, pool, other));
    assert_ptr_not_equal(a, b);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&c, 64, pool, s));
    assert_ptr_equal(a, c);
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipMemset(c, 2, 64)); /* the old free leaves it alone */
    /* The fill is on the null stream, which `s` does not wait for. */
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    EXPECT(hipSuccess, hipFreeAsync(c, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    /* Nobody may touch it now. */
    EXPECT(hipErrorInvalidValue, hipMemset(c, 3, 64));
    EXPECT(hipErrorInvalidValue, hipFreeAsync(c, s));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, other));
    assert_ptr_equal(a, c);
    EXPECT(hipSuccess, hipFreeAsync(a, other));
    EXPECT(hipSuccess, hipFreeAsync(b, other));
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    EXPECT(hipSuccess, hipMemPoolSetAttribute(
                           pool, hipMemPoolReuseAllowOpportunistic, &no));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(other));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

/* Freed bytes above the threshold stay in the pool until the program waits or
 * memory is short. */
static void test_held_memory_goes_when_the_program_waits(void **state)
{
    hipMemPool_t pool = new_pool(0);
    hipStream_t s;
    hipEvent_t done;
    size_t total;
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(NULL, &total));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&done));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipEventRecord(done, s));
    EXPECT(hipSuccess, hipEventSynchronize(done));
    assert_int_equal(get(pool, RESERVED_CURRENT), 64);
    EXPECT(hipSuccess, hipMalloc((void **)&b, total)); /* takes all */
    EXPECT(hipSuccess, hipFree(b));
    assert_int_equal(get(pool, RESERVED_CURRENT), 0);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    assert_int_equal(get(pool, RESERVED_CURRENT), 0);
    EXPECT(hipSuccess, hipEventDestroy(done));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

/* A stream that waits for another one's event comes behind its frees. */
static void test_reuse_follows_events(void **state)
{
    hipMemPool_t pool = new_pool(0);
    hipStream_t s, other;
    hipEvent_t event;
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&event));
    pthread_mutex_lock(&lock);
    EXPECT(hipSuccess, hipLaunchHostFunc(s, wait_for_lock, NULL));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipEventRecord(event, s));
    EXPECT(hipSuccess, hipStreamWaitEvent(other, event, 0));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 64, pool, other));
    assert_ptr_equal(a, b);
    pthread_mutex_unlock(&lock);
    EXPECT(hipSuccess, hipFreeAsync(b, other));
    EXPECT(hipSuccess, hipStreamSynchronize(other));
    EXPECT(hipSuccess, hipEventDestroy(event));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(other));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

/* Another stream may have what is free only where the pool may look at that. */
static void test_reuse_by_chance_is_asked_for(void **state)
{
    hipMemPool_t pool = new_pool(0);
    hipStream_t s, other;
    hipEvent_t done;
    int yes = 1, no = 0;
    char *a, *b;

    (void)state;
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    EXPECT(hipSuccess, hipEventCreate(&done));
    EXPECT(hipSuccess, hipMemPoolSetAttribute(
                           pool, hipMemPoolReuseAllowOpportunistic, &no));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipEventRecord(done, s));
    EXPECT(hipSuccess, hipEventSynchronize(done)); /* the free is done */
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 64, pool, other));
    assert_ptr_not_equal(a, b);
    EXPECT(hipSuccess, hipMemPoolSetAttribute(
                           pool, hipMemPoolReuseAllowOpportunistic, &yes));
    EXPECT(hipSuccess, hipFreeAsync(b, other));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 64, pool, other));
    EXPECT(hipSuccess, hipFreeAsync(b, other));
    EXPECT(hipSuccess, hipEventRecord(done, other));
    EXPECT(hipSuccess, hipEventSynchronize(done));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, s));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 64, pool, s));
    assert_int_equal(get(pool, RESERVED_CURRENT), 128); /* both again */
    EXPECT(hipSuccess, hipFreeAsync(a, s));
    EXPECT(hipSuccess, hipFreeAsync(b, s));
    EXPECT(hipSuccess, hipStreamSynchronize(s));
    EXPECT(hipSuccess, hipEventDestroy(done));
    EXPECT(hipSuccess, hipStreamDestroy(s));
    EXPECT(hipSuccess, hipStreamDestroy(other));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

/* HIP 6 counts the most that the pool ever had. */
static void limit_of_6(void)
{
    hipMemPool_t pool = new_pool(100);
    char *a, *b;

    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 60, pool, NULL));
    EXPECT(hipSuccess, hipFreeAsync(a, NULL));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    assert_int_equal(get(pool, RESERVED_CURRENT), 0);
    EXPECT(hipErrorOutOfMemory,
           hipMallocFromPoolAsync((void **)&b, 60, pool, NULL));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 40, pool, NULL));
}

static void test_release_6_limits_the_high_mark(void **state)
{
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};

    (void)state;
    in_child(six, limit_of_6);
}

static void test_size_is_limited(void **state)
{
    hipMemPool_t pool = new_pool(100);
    char *a, *b;

    (void)state;
    hold_back(pool, UINT64_MAX);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 60, pool, NULL));
    EXPECT(hipErrorOutOfMemory,
           hipMallocFromPoolAsync((void **)&b, 41, pool, NULL));
    assert_null(b);
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&b, 40, pool, NULL));
    EXPECT(hipSuccess, hipFreeAsync(a, NULL));
    EXPECT(hipSuccess, hipStreamSynchronize(NULL));
    /* Freed bytes go back when the pool needs room. */
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 50, pool, NULL));
    EXPECT(hipSuccess, hipFree(a));
    EXPECT(hipSuccess, hipFree(b));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

static void test_destroyed_pool_lives_as_long_as_its_memory(void **state)
{
    hipMemPool_t pool = new_pool(0);
    size_t before, after;
    char *a, back = 0;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, NULL));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
    EXPECT(hipSuccess, hipMemset(a, 5, 64));
    EXPECT(hipSuccess, hipMemcpy(&back, a, 1, hipMemcpyDeviceToHost));
    assert_int_equal(back, 5);
    EXPECT(hipSuccess, hipFreeAsync(a, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
}

static void test_access(void **state)
{
    hipMemPool_t pool = new_pool(0);
    hipMemAccessDesc d = {.location = {hipMemLocationTypeDevice, 1},
                          .flags = hipMemAccessFlagsProtRead};
    hipMemLocation where = {hipMemLocationTypeDevice, 1};
    hipMemAccessFlags flags;

    (void)state;
    EXPECT(hipSuccess, hipMemPoolGetAccess(&flags, pool, &where));
    assert_int_equal(flags, hipMemAccessFlagsProtNone);
    EXPECT(hipSuccess, hipMemPoolSetAccess(pool, &d, 1));
    EXPECT(hipSuccess, hipMemPoolGetAccess(&flags, pool, &where));
    assert_int_equal(flags, hipMemAccessFlagsProtRead);
    where.id = 0;
    EXPECT(hipSuccess, hipMemPoolGetAccess(&flags, pool, &where));
    assert_int_equal(flags, hipMemAccessFlagsProtReadWrite);
    where.id = 2;
    EXPECT(hipErrorInvalidValue, hipMemPoolGetAccess(&flags, pool, &where));
    d.location.id = 2;
    EXPECT(hipErrorInvalidDevice, hipMemPoolSetAccess(pool, &d, 1));
    EXPECT(hipErrorInvalidDevice, hipMemPoolSetAccess(pool, &d, 3));
    d.location.id = 1;
    d.flags = hipMemAccessFlagsProtNone;
    EXPECT(hipErrorInvalidDevice, hipMemPoolSetAccess(pool, &d, 1));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

static void test_current_pool(void **state)
{
    enum { PINNED = 1 };
    const hipMemLocation here = {hipMemLocationTypeDevice, 0};
    const hipMemLocation nowhere = {hipMemLocationTypeDevice, 9};
    const hipMemLocation host = {hipMemLocationTypeInvalid, 0};
    hipMemPool_t pool = new_pool(0), current, standard;
    int unknown;
    char *a;

    (void)state;
    EXPECT(hipSuccess, hipDeviceGetDefaultMemPool(&standard, 0));
    EXPECT(hipErrorInvalidDevice, hipDeviceGetDefaultMemPool(&current, 9));
    EXPECT(hipErrorInvalidValue, hipDeviceGetMemPool(&current, 9));
    EXPECT(hipErrorInvalidValue, hipDeviceSetMemPool(9, pool));
    EXPECT(hipErrorInvalidDevice, hipDeviceSetMemPool(1, pool));
    EXPECT(hipSuccess, hipDeviceSetMemPool(0, pool));
    EXPECT(hipSuccess, hipMemGetMemPool(&current, &here, PINNED));
    assert_ptr_equal(current, pool);
    EXPECT(hipSuccess, hipMemGetDefaultMemPool(&current, &here, PINNED));
    assert_ptr_equal(current, standard);
    EXPECT(hipSuccess, hipMemSetMemPool(&here, PINNED, standard));
    EXPECT(hipSuccess, hipDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, standard);
    EXPECT(hipSuccess, hipMemSetMemPool(&here, PINNED, pool));
    EXPECT(hipErrorInvalidValue, hipMemGetMemPool(NULL, &here, PINNED));
    EXPECT(hipErrorInvalidValue, hipMemGetMemPool(&current, NULL, PINNED));
    EXPECT(hipErrorInvalidValue, hipMemGetMemPool(&current, &here, 99));
    EXPECT(hipErrorInvalidValue, hipMemGetMemPool(&current, &host, PINNED));
    EXPECT(hipErrorInvalidValue,
           hipMemGetDefaultMemPool(&current, &nowhere, PINNED));
    EXPECT(hipErrorInvalidValue, hipMemSetMemPool(&nowhere, PINNED, pool));
    EXPECT(hipErrorInvalidValue, hipMemSetMemPool(&here, PINNED, NULL));
    EXPECT(hipSuccess, hipDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    EXPECT(hipErrorInvalidHandle,
           hipMallocAsync((void **)&a, 64, (hipStream_t)(void *)&unknown));
    EXPECT(hipSuccess, hipMallocAsync((void **)&a, 64, NULL));
    assert_int_equal(get(pool, USED_CURRENT), 64);
    EXPECT(hipSuccess, hipFreeAsync(a, NULL));
    EXPECT(hipErrorInvalidValue, hipMemPoolDestroy(standard));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
    EXPECT(hipSuccess, hipDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, standard);
}

static void test_reset_empties_pools(void **state)
{
    hipMemPool_t pool = new_pool(0);
    char *a;

    (void)state;
    EXPECT(hipSuccess, hipMallocFromPoolAsync((void **)&a, 64, pool, NULL));
    EXPECT(hipSuccess, hipDeviceReset());
    assert_int_equal(get(pool, USED_CURRENT), 0);
    EXPECT(hipErrorInvalidValue, hipFree(a));
    EXPECT(hipSuccess, hipMemPoolDestroy(pool));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_6_limits_the_high_mark),
        cmocka_unit_test(test_counts_are_of_one_pool),
        cmocka_unit_test(test_threshold_holds_and_trim_gives_back),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_held_memory_goes_when_the_program_waits),
        cmocka_unit_test(test_reuse_follows_events),
        cmocka_unit_test(test_reuse_by_chance_is_asked_for),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_destroyed_pool_lives_as_long_as_its_memory),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_current_pool),
        cmocka_unit_test(test_reset_empties_pools),
    };

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
