/* shutdown.c - what the end of the process takes down
 *
 * Queued work is dropped, as a real process takes its queues with it; running
 * operations are waited for. A forked child has none of the threads and must
 * not wait for them.
 */
#include "call.h"
#include "handle.h"
#include "hip_module.h"
#include "hip_pool.h"
#include "hip_register.h"
#include "hostcall.h"
#include "kernel_op.h"
#include "op_queue.h"
#include "thread_state.h"

#include "../base/allocation.h"

__attribute__((destructor)) static void shut_down(void)
{
    if (!calls_end())
        return;
    if (queue_on_worker()) /* exit() in a callback: it cannot wait for itself */
        return;
    queues_shutdown();
    threads_shutdown();
    launches_shutdown();
    registered_shutdown();
    modules_shutdown();
    pools_shutdown();
    hostcalls_shutdown();
    handles_shutdown();
    sim_mem_shutdown();
}
