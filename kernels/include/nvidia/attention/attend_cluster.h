/*
 * attend_cluster.h - joins the results of splits in a cluster of sm_90
 *
 * Each block of a cluster computes one split of the keys, and the blocks read
 * each other's results from LDS.
 */
#pragma once

#include "fused/q8_1.h"
#include "nvidia/attention/attend_warp.h"
#include "nvidia/copy/cluster.h"

constexpr u32 most_cluster = 8; /* blocks that any device has a cluster of */

/* Whether the splits are the blocks of a cluster. */
DEV bool is_clustered(const AttentionArgs &a)
{
    return a.splits > 1 && a.splits <= most_cluster && gridDim.x == a.splits &&
           cluster_blocks() == a.splits;
}

/* The parts of blocks 0 to splits - 1 of the cluster, merged in rank order. */
template <u32 Rows, u32 Cols>
DEV RowPart merge_blocks(const RowParts<1, Rows, Cols> &block, u32 splits,
                         u32 row, u32 col)
{
    RowPart part[most_cluster];

    UNROLL
    for (u32 i = 0; i < most_cluster; i++) {
        part[i] = {-infinite, 0, {{0, 0}}};
        if (i < splits)
            part[i] = {cluster_read(&block.m[0][row], i),
                       cluster_read(&block.l[0][row], i),
                       cluster_read_two(&block.o[0][row][col], i)};
    }
    return merge<most_cluster>([&](u32 i) { return part[i]; });
}

/* Two numbers of a row as part of a block of Q8_1, and zeros behind the row.
 * The lanes of a warp have columns of the same head. */
template <typename T, class Form>
DEV void store_as_q8_1(const AttentionArgs &a, const AttendRow &to, u32 d,
                       const Pack<T, 2> &two)
{
    const u32 d_v = Form::d_v(a), n = a.h * d_v, head = to.head;
    const u32 padded = (n + 511) / 512 * 512;
    u8 *blocks =
        (u8 *)a.o_q8_1 + to.of_all * (padded / q8_1_elems) * (u64)q8_1_nbytes;
    const f32 v[2] = {convert<f32>(two[0]), convert<f32>(two[1])};
    /* words; the warp of the row's last columns writes zeros behind the row */
    const u32 end = padded / q8_1_elems * (q8_1_nbytes / 4);

    store_q8_1<2, true>(v, blocks, head * d_v + d);
    if (head + 1 < a.h || d + 64 < d_v)
        return;
    NO_UNROLL
    for (u32 i = n / q8_1_elems * (q8_1_nbytes / 4) + threadIdx.x % 32; i < end;
         i += 32)
        reinterpret_cast<u32 *>(blocks)[i] = 0;
}

/* Two columns of a row that a cluster has joined. */
template <typename T, class Form>
DEV void store_joined(const AttentionArgs &a, const AttendRow &to,
                      const RowPart &all, f32 lead, u32 d)
{
    const Pack<T, 2> two = finish_row<T, Form>(a, to, all, lead, d);

    if (a.o_q8_1)
        store_as_q8_1<T, Form>(a, to, d, two);
    else
        store_anywhere(to.template out<T>(a, d), two);
}
