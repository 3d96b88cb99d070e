/* nomem.c - each allocation of a group fails in turn
 *
 * The program is linked with --wrap=calloc,--wrap=malloc.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* Counts this thread's allocations down to the first that fails; -1: none. */
static _Thread_local int allocs_left = -1;

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t nbytes);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes);

static bool fails(void)
{
    return allocs_left >= 0 && allocs_left-- == 0;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails() ? NULL : __real_malloc(nbytes);
}

void *__wrap_calloc(size_t n, size_t nbytes)
{
    return fails() ? NULL : __real_calloc(n, nbytes);
}

/* A gather that fails: no other rank takes part. */
static int reach_nobody(void *gathers, const void *mine, void *all,
                        size_t nbytes)
{
    (void)mine;
    (void)all;
    (void)nbytes;
    ++*(int *)gathers;
    return 1;
}

static void check_refused(kpk_status st, const kpk_comm *comm)
{
    check(st == KPK_ERR_NOMEM && !comm &&
              strncmp(kpk_error_message(), "no memory ", 10) == 0,
          "an allocation that fails");
}

/* A whole group, and a buffer of it. */
static void check_open(kpk_instance *const *insts, const struct group *g)
{
    kpk_status st = KPK_ERR_NOMEM;
    kpk_comm *comm = NULL;
    void *buffers[MOST];
    int n = 0;

    for (; st == KPK_ERR_NOMEM && n < 100; n++) {
        allocs_left = n;
        st = kpk_comm_open(insts, g->n, &options_of_tests, &comm);
        allocs_left = -1;
        if (st != KPK_OK)
            check_refused(st, comm);
    }
    need(st, "opening in the end");
    check(n == 4, "three allocations of a group"); /* each has failed once */
    for (uint32_t r = 0; r < g->n; r++)
        buffers[r] = g->ranks[r].in;
    allocs_left = 0;
    st = kpk_comm_register(comm, buffers, OUT_NBYTES);
    allocs_left = -1;
    check_refused(st, NULL);
    need(kpk_comm_register(comm, buffers, OUT_NBYTES), "registering again");
    check(kpk_comm_close(comm) == KPK_OK, "closing a group");
}

/* A rank that has no memory does not gather: see kpk_comm_open_rank(). */
static void check_open_rank(kpk_instance *inst)
{
    kpk_status st = KPK_ERR_NOMEM;
    kpk_comm *comm = NULL;
    int n = 0, gathers = 0;

    for (; st == KPK_ERR_NOMEM && n < 100; n++) {
        allocs_left = n;
        st =
            kpk_comm_open_rank(inst, 0, 2, NULL, reach_nobody, &gathers, &comm);
        allocs_left = -1;
        if (gathers == 0)
            check_refused(st, comm);
    }
    check(st == KPK_ERR_ARG && !comm && gathers == 1,
          "ranks that cannot be reached");
    check(n == 6, "five allocations of a rank");
}

void check_no_memory(const struct group *g)
{
    kpk_instance *insts[MOST];

    for (uint32_t r = 0; r < g->n; r++)
        insts[r] = g->ranks[r].inst;
    check_open(insts, g);
    check_open_rank(insts[0]);
}
