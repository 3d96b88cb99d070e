/* test_party.c - what members of a party tell each other, and share */
/* link: -Wl,--wrap=calloc,--wrap=malloc */
/* For setenv; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"

#include "kpack/host_code.h"

#include <stdbool.h>

static int fail_in = -1; /* counts allocations down to the one that fails */

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t nbytes);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes);

static bool fails(void)
{
    return fail_in >= 0 && fail_in-- == 0;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t n, size_t nbytes)
{
    return fails() ? NULL : __real_calloc(n, nbytes);
}

/* The other two members send what this one does, but for changes. */
static struct others {
    int ncalls;
    int fails;       /* the gather itself, from this call on */
    int32_t status;  /* of member 2 */
    int from;        /* ... from this call on */
    uint32_t nbytes; /* of member 2, if not 0 */
} others;

static int gather(void *caller, const void *mine, void *all, size_t nbytes)
{
    struct others *o = caller;

    o->ncalls++;
    for (size_t m = 0; m < 3; m++)
        memcpy((char *)all + m * nbytes, mine, nbytes);
    if (o->ncalls >= o->from && o->status)
        memcpy((char *)all + 2 * nbytes, &o->status, sizeof(o->status));
    if (o->nbytes)
        memcpy((char *)all + 2 * nbytes + 4, &o->nbytes, sizeof(o->nbytes));
    return o->fails && o->ncalls >= o->fails ? 9 : 0;
}

static const struct kpk_i_party party = {gather, &others, 1, 3};

static void reset(void **state)
{
    (void)state;
    others = (struct others){.ncalls = 0};
    fail_in = -1;
}

static void test_bytes_of_all_come(void **state)
{
    const uint16_t own = 77;
    uint16_t all[3] = {0};

    reset(state);
    assert_ok(kpk_i_party_meet(&party, KPK_OK, "do it", &own, 2, all));
    for (int m = 0; m < 3; m++)
        assert_int_equal(all[m], 77);
    assert_ok(kpk_i_party_meet(&party, KPK_OK, "do it", NULL, 0, NULL));
    kpk_i_party_wait(&party);
    assert_int_equal(others.ncalls, 3);
}

static void test_failures_are_everybodys(void **state)
{
    const uint16_t own = 77;
    uint16_t all[3];

    reset(state);
    others.status = KPK_ERR_NOMEM;
    assert_status(kpk_i_party_meet(&party, KPK_OK, "do it", &own, 2, all),
                  KPK_ERR_NOMEM);
    assert_message("rank 2 cannot do it: out of host memory");
    /* The own one first, and the others learn of it. */
    assert_status(kpk_i_party_meet(&party, KPK_ERR_SHAPE, "", &own, 2, all),
                  KPK_ERR_SHAPE);
    assert_int_equal(others.ncalls, 2);
    others.status = 0;
    others.nbytes = 4;
    assert_status(kpk_i_party_meet(&party, KPK_OK, "do it", &own, 2, all),
                  KPK_ERR_ARG);
    assert_message("rank 2 makes another call than rank 1");
    others.nbytes = 0;
    others.fails = 1;
    assert_status(kpk_i_party_meet(&party, KPK_OK, "do it", &own, 2, all),
                  KPK_ERR_ARG);
    assert_message("the caller's gather returned 9 on rank 1");
}

static void test_memory_is_shared(void **state)
{
    char *of[3] = {NULL, NULL, NULL};
    void *own = NULL;

    reset(state);
    assert_ok(kpk_malloc(inst, 16, &own));
    of[1] = own;
    assert_ok(kpk_i_party_share(&party, inst, of));
    assert_true(of[0] && of[2] && of[1] == own && of[0] != own);
    assert_ptr_equal(is_hip() ? fake->imported : cuda->imported, own);
    kpk_i_party_unshare(&party, inst, of);
    assert_true(!of[0] && !of[2] && of[1] == own);
    assert_ok(kpk_free(inst, own));
}

static void test_nothing_stays_of_memory_that_one_cannot_reach(void **state)
{
    char *of[3] = {NULL, NULL, NULL};
    void *own = NULL;

    reset(state);
    assert_ok(kpk_malloc(inst, 16, &own));
    of[1] = own;
    others.status = KPK_ERR_DRIVER;
    others.from = 2;
    assert_status(kpk_i_party_share(&party, inst, of), KPK_ERR_DRIVER);
    assert_message("rank 2 cannot reach the memory of the others");
    assert_true(!of[0] && !of[2]);
    others.status = 0;
    fake->fail_name = "hipIpcOpenMemHandle";
    fake->fail_nth = 2;
    assert_status(kpk_i_party_share(&party, inst, of), KPK_ERR_DRIVER);
    assert_message("hipIpcOpenMemHandle");
    assert_true(!of[0] && !of[2]);
    fake->fail_name = "hipIpcGetMemHandle";
    fake->fail_nth = 1;
    assert_status(kpk_i_party_share(&party, inst, of), KPK_ERR_DRIVER);
    assert_ok(kpk_free(inst, own));
}

static void test_end_of_host_memory_is_told(void **state)
{
    char *of[3] = {NULL, NULL, NULL};
    void *own = NULL;

    reset(state);
    assert_ok(kpk_malloc(inst, 16, &own));
    of[1] = own;
    fail_in = 0;
    assert_status(kpk_i_party_meet(&party, KPK_OK, "", NULL, 0, NULL),
                  KPK_ERR_NOMEM);
    fail_in = 0;
    kpk_i_party_wait(&party); /* does not wait, then */
    assert_int_equal(others.ncalls, 0);
    fail_in = 0;
    assert_status(kpk_i_party_share(&party, inst, of), KPK_ERR_NOMEM);
    assert_int_equal(others.ncalls, 1); /* the others learn of it */
    assert_ok(kpk_free(inst, own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON(hip, test_bytes_of_all_come),
        ON(hip, test_failures_are_everybodys),
        ON(hip, test_memory_is_shared),
        ON(cuda, test_memory_is_shared),
        ON(hip, test_nothing_stays_of_memory_that_one_cannot_reach),
        ON(hip, test_end_of_host_memory_is_told),
    };

    load_both_fakes();
    return cmocka_run_group_tests_name("party", tests, NULL, NULL);
}
