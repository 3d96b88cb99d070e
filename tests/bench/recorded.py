"""recorded.py - times of GPU work, for benches in Python: launches recorded in
graphs, for a host is too slow for short kernels; and how far results are apart
"""
import statistics

import torch


def recorded(call, launches):
    """A graph of call(0), call(1) ... The first call is made before, with its
    inputs done, for what a library does once."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            call(i)
    return graph


def microseconds(calls, launches, rounds=5):
    """The median of a launch of each call, which take turns."""
    graphs = [recorded(call, launches) for call in calls]
    times = [[] for _ in calls]
    for turn in range(rounds + 1):
        for mine, graph in zip(times, graphs):
            start, end = (torch.cuda.Event(enable_timing=True)
                          for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            if turn:  # the first round warms up
                mine.append(start.elapsed_time(end) * 1e3 / launches)
    return [statistics.median(mine) for mine in times]


def apart(x, y):
    """The largest difference as a share of y's root mean square."""
    x, y = x.double(), y.double()
    return ((x - y).abs().max() / y.square().mean().sqrt()).item()
