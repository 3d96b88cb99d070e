/* process.c - whether a driver can be found and used in this process
 *
 * A driver is found once in a process, by one thread. It does not survive
 * fork(), and cannot be loaded into a program that is linked with -static.
 */
#include "process.h"
#include "error.h"
#include "os.h"

static kpk_i_mutex bind_lock = KPK_I_MUTEX_FRESH;
static atomic_bool found_any;
static atomic_bool forked; /* from a process that had found a driver */

/* In the child of fork(), where this thread is the only one: a lock that
 * another one held would never be free again. */
static void after_fork(void)
{
    const bool searching = !kpk_i_try_lock(&bind_lock);

    if (!searching)
        kpk_i_unlock(&bind_lock);
    if (searching || atomic_load(&found_any))
        atomic_store(&forked, true);
}

static void watch_forks(void)
{
    kpk_i_at_fork(after_fork);
}

kpk_status kpk_i_check_process(void)
{
    if (!atomic_load_explicit(&forked, memory_order_relaxed))
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                      "this process was forked from one that had found a GPU's "
                      "driver, and neither HIP nor CUDA survives fork(). Fork "
                      "before the first call that needs a GPU, or let the "
                      "child exec()");
}

kpk_status kpk_i_bind_once(atomic_bool *bound, kpk_status (*find)(void))
{
    static kpk_i_once watching = KPK_I_ONCE_FRESH;
    struct kpk_i_failure before;
    kpk_status st = kpk_i_check_process();

    if (st != KPK_OK || atomic_load_explicit(bound, memory_order_acquire))
        return st;
    kpk_i_run_once(&watching, watch_forks);
    kpk_i_lock(&bind_lock);
    if (!atomic_load_explicit(bound, memory_order_relaxed)) {
        kpk_i_keep_failure(&before);
        st = find();
        if (st == KPK_OK) {
            kpk_i_put_back_failure(&before);
            atomic_store(&found_any, true);
            atomic_store_explicit(bound, true, memory_order_release);
        }
    }
    kpk_i_unlock(&bind_lock);
    return st;
}

/* ISO C has no conversion from void * to a function pointer; POSIX and Windows
 * promise that the bytes mean the same. */
void kpk_i_store_function(void *slot, void *address)
{
    memcpy(slot, &address, sizeof(address));
}
