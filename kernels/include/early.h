/* early.h - a kernel that begins while the launch before it still runs
 *
 * A launch with KPK_LAUNCH_EARLY (kpack.h) may begin before the launch in front
 * of it in its stream has ended. Its kernel calls wait_for_launch_before() once
 * it has asked for data that no launch writes, such as a model's weights, and
 * before it reads or writes anything else. After the call all earlier launches
 * are over, and their writes are visible. Each thread that reads or writes
 * makes the call, or hears from a thread that made it. At least one block of
 * every launch makes the call, so the end of a launch means the end of every
 * earlier launch.
 *
 * When all blocks of a launch have called let_next_launch_begin(), or have
 * ended, the next launch takes the places that they leave free, and waits
 * there. Small kernels do it first of all, few workgroups that make a whole
 * product (nvidia/mat_vec/mat_vec_loop.h) at their last sums. So do tiles that
 * fill a multiprocessor (nvidia/gemm/wgmma_tile.h). Other products of many
 * blocks do not: the call takes a time of its own there, 4 to 6 % of a short
 * one's on an H200.
 *
 * Only NVIDIA's GPUs from sm_90 on start launches so. There a wait costs
 * nothing in any other launch, and elsewhere both are empty.
 */
#pragma once

#include "device.h"

constexpr bool begins_early = KPK_SM >= 90;

DEV void let_next_launch_begin()
{
#if KPK_SM >= 90
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

DEV void wait_for_launch_before()
{
#if KPK_SM >= 90
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The same, but `known`, which is not 0, is computed before the wait; compilers
 * would move the arithmetic behind it. */
DEV void wait_for_launch_before(u64 known)
{
#if KPK_SM >= 90
    asm volatile("{\n\t"
                 ".reg .pred always;\n\t"
                 "setp.ne.u64 always, %0, 0;\n\t"
                 "@always griddepcontrol.wait;\n\t"
                 "}" ::"l"(known)
                 : "memory");
#else
    (void)known;
#endif
}

/* the first call of a small kernel */
DEV void meet_launches()
{
    let_next_launch_begin();
    wait_for_launch_before();
}
