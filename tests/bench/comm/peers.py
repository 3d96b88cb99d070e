"""peers.py - NCCL's and PyTorch's all-reduces, recorded in graphs

    python3 peers.py RANKS

Prints rows as bench_comm does: a graph has 50 calls, a time is the median of 30
launches by the host's clock. One process for each GPU.
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem
import torch.multiprocessing as mp

CALLS, LAUNCHES, WARM = 50, 30, 5
SIZES = [1 << k for k in (13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 26)]


def measure(call):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for i in range(-WARM, LAUNCHES):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        if i >= 0:
            times.append((time.perf_counter() - begin) * 1e6 / CALLS)
    return statistics.median(times)


def work(rank, ranks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks,
                            device_id=torch.device("cuda", rank))
    group = dist.group.WORLD.group_name
    for nbytes in SIZES:
        x = symm_mem.empty(nbytes // 2, dtype=torch.bfloat16, device="cuda")
        symm_mem.rendezvous(x, group)
        x.zero_()
        ops = torch.ops.symm_mem
        for name, call in (
                ("NCCL", lambda: dist.all_reduce(x)),
                ("one-shot", lambda: ops.one_shot_all_reduce(x, "sum", group)),
                ("two-shot", lambda: ops.two_shot_all_reduce_(x, "sum", group))):
            took = measure(call)
            if rank == 0:
                print(f"{name},all_reduce,{ranks},{nbytes},{took:.2f},",
                      flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    count = int(sys.argv[1])
    mp.spawn(work, args=(count,), nprocs=count)
