/* comm_inside.c - a group's offsets and checks that all calls use */
#include "comm_inside.h"

uint64_t kpk_i_comm_results_at(const kpk_comm *comm)
{
    const uint64_t slots = UINT64_C(4) * comm->ranks * comm->small_nbytes;

    return COMM_SLOTS + comm_div_up(slots, COMM_LINE) * COMM_LINE;
}

uint64_t kpk_i_comm_medium_at(const kpk_comm *comm)
{
    const uint64_t whole = (uint64_t)COMM_LINE * comm->ranks;

    return kpk_i_comm_results_at(comm) +
           comm_div_up(comm->large_nbytes, whole) * whole;
}

kpk_status kpk_i_comm_usable(const kpk_comm *comm, const char *call)
{
    const uint32_t missed = atomic_load(&comm->missed);

    if (!missed)
        return KPK_OK;
    if ((missed & 0xffff) == SOME)
        return kpk_i_fail(KPK_ERR_TIMEOUT,
                          "%s: the group has ended, because a call of rank "
                          "%lu failed or missed another rank. Close it and "
                          "open another one",
                          call, (unsigned long)(missed >> 16));
    return kpk_i_fail(KPK_ERR_TIMEOUT,
                      "%s: the group has ended, because rank %lu waited for "
                      "rank %lu for %lu ms in vain. Close it and open another "
                      "one",
                      call, (unsigned long)(missed >> 16),
                      (unsigned long)((missed & 0xffff) - 1),
                      (unsigned long)comm->limit_ms);
}

kpk_status kpk_i_comm_not_here(const char *call, uint32_t rank)
{
    return kpk_i_fail(KPK_ERR_ARG, "%s: rank %lu is another process's", call,
                      (unsigned long)rank);
}
