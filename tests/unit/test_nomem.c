/* test_nomem.c - every allocation of the library fails in turn */
/* link: -Wl,--wrap=calloc,--wrap=malloc,--wrap=realloc */
#include "unit_checks.h"

#include "fake_hip.h"
#include "test_pack.h"

static int allocs_left = -1; /* -1: none fails */
static int nallocs;

void *__real_calloc(size_t n, size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes);
void *__wrap_malloc(size_t nbytes);
void *__real_malloc(size_t nbytes);
void *__wrap_realloc(void *ptr, size_t nbytes);
void *__real_realloc(void *ptr, size_t nbytes);

static int fails(void)
{
    nallocs++;
    if (allocs_left < 0)
        return 0;
    if (allocs_left == 0)
        return 1;
    allocs_left--;
    return 0;
}

void *__wrap_calloc(size_t n, size_t nbytes)
{
    return fails() ? NULL : __real_calloc(n, nbytes);
}

void *__wrap_malloc(size_t nbytes)
{
    return fails() ? NULL : __real_malloc(nbytes);
}

void *__wrap_realloc(void *ptr, size_t nbytes)
{
    return fails() ? NULL : __real_realloc(ptr, nbytes);
}

static void test_open_survives_each_failing_allocation(void **state)
{
    kpk_status st = KPK_ERR_NOMEM;
    kpk_instance *inst = NULL;
    int n;

    (void)state;
    /* Windows' compiler allocates a thread's variables when they are used. */
    assert_status(kpk_open(&test_pack, 9, &inst), KPK_ERR_NO_DEVICE);
    for (n = 0; st != KPK_OK && n < 100; n++) {
        allocs_left = n;
        st = kpk_open(&test_pack, 0, &inst);
        allocs_left = -1;
        if (st != KPK_OK) {
            assert_int_equal(st, KPK_ERR_NOMEM);
            assert_null(inst);
            assert_message("no memory");
        }
    }
    assert_int_equal(st, KPK_OK);
    assert_ok(kpk_close(inst));
    assert_int_equal(n, 5); /* four allocations: each has failed once */
}

static void test_launch_allocates_nothing(void **state)
{
    const kpk_shape shape = kpk_shape_1d(1, 64);
    kpk_instance *inst;
    const kpk_kernel *kernel;
    void *x = NULL;
    uint32_t n = 1;
    float by = 1;
    uint64_t buffer[2] = {0};

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    nallocs = 0;
    assert_ok(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, n, by)));
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 16));
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_int_equal(nallocs, 0);
    assert_ok(kpk_close(inst));
}

static void test_pool_allocates_only_for_new_blocks(void **state)
{
    kpk_instance *inst;
    void *ptr = &ptr;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    allocs_left = 0;
    assert_status(kpk_malloc_async(inst, 64, NULL, &ptr), KPK_ERR_NOMEM);
    assert_message("no memory for a block of the pool");
    assert_ptr_equal(ptr, &ptr);
    allocs_left = -1;
    assert_ok(kpk_malloc_async(inst, 64, NULL, &ptr));
    assert_ok(kpk_free_async(inst, ptr, NULL));
    nallocs = 0;
    assert_ok(kpk_malloc_async(inst, 64, NULL, &ptr));
    assert_ok(kpk_free_async(inst, ptr, NULL));
    assert_int_equal(nallocs, 0);
    assert_ok(kpk_close(inst));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_survives_each_failing_allocation),
        cmocka_unit_test(test_launch_allocates_nothing),
        cmocka_unit_test(test_pool_allocates_only_for_new_blocks),
    };

    (void)fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("nomem", tests, NULL, NULL);
}
