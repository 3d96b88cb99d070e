/* cluster.h - sm_90's clusters: blocks that reach each other's LDS */
#pragma once

#include "nvidia/copy/bulk_copy.h"

#define CLUSTER_NUMBER(name, special)                                          \
    DEV u32 name()                                                             \
    {                                                                          \
        u32 n;                                                                 \
                                                                               \
        asm("mov.u32 %0, %%" special ";" : "=r"(n));                           \
        return n;                                                              \
    }
/* 1 and 0 where the launch made no clusters */
CLUSTER_NUMBER(cluster_blocks, "cluster_nctarank")
CLUSTER_NUMBER(cluster_rank, "cluster_ctarank")
CLUSTER_NUMBER(cluster_x, "clusterid.x")
CLUSTER_NUMBER(cluster_y, "clusterid.y")
CLUSTER_NUMBER(cluster_z, "clusterid.z")
CLUSTER_NUMBER(clusters_x, "nclusterid.x")
CLUSTER_NUMBER(clusters_y, "nclusterid.y")
CLUSTER_NUMBER(clusters_z, "nclusterid.z")
#undef CLUSTER_NUMBER

/* the index of this block's cluster in the grid, and the number of clusters */
DEV u64 cluster_index()
{
    return cluster_x() +
           (u64)clusters_x() * (cluster_y() + (u64)clusters_y() * cluster_z());
}
DEV u64 clusters()
{
    return (u64)clusters_x() * clusters_y() * clusters_z();
}

/* A barrier over all threads of the cluster. It does not make earlier writes
 * visible to other blocks, except barriers that barrier_init() has made. */
DEV void cluster_meet()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\t"
                 "barrier.cluster.wait.aligned;" ::
                     : "memory");
}

/* cluster_meet() in two halves: code between them does not wait. Pushes to
 * other blocks may follow the wait. */
DEV void cluster_arrive()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEV void cluster_wait()
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/* As cluster_meet(), and makes earlier writes to LDS visible to the cluster. */
DEV void cluster_show()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* Reads the value at p's offset in the LDS of another block of the cluster. */
DEV f32 cluster_read(const f32 *p, u32 rank)
{
    f32 v;

    asm volatile("{\n\t"
                 ".reg .u32 from;\n\t"
                 "mapa.shared::cluster.u32 from, %1, %2;\n\t"
                 "ld.shared::cluster.f32 %0, [from];\n\t"
                 "}"
                 : "=f"(v)
                 : "r"(lds_address(p)), "r"(rank)
                 : "memory");
    return v;
}
DEV Pack<f32, 2> cluster_read_two(const f32 *p, u32 rank)
{
    Pack<f32, 2> v;

    asm volatile("{\n\t"
                 ".reg .u32 from;\n\t"
                 "mapa.shared::cluster.u32 from, %2, %3;\n\t"
                 "ld.shared::cluster.v2.f32 {%0, %1}, [from];\n\t"
                 "}"
                 : "=f"(v[0]), "=f"(v[1])
                 : "r"(lds_address(p)), "r"(rank)
                 : "memory");
    return v;
}

/* Starts a copy from here to an address of LDS in the block of that rank, whose
 * barrier counts it; size and addresses are multiples of 16. */
DEV void cluster_copy(u64 *barrier, u8 *to, const u8 *from, u32 nbytes,
                      u32 rank)
{
    asm volatile(
        "{\n\t"
        ".reg .u32 to, counts;\n\t"
        "mapa.shared::cluster.u32 to, %0, %4;\n\t"
        "mapa.shared::cluster.u32 counts, %1, %4;\n\t"
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
        "bytes [to], [%2], %3, [counts];\n\t"
        "}" ::"r"(lds_address(to)),
        "r"(lds_address(barrier)), "r"(lds_address(from)), "r"(nbytes),
        "r"(rank)
        : "memory");
}

/* Stores 16 bytes to an address of LDS in the block of that rank, whose barrier
 * counts them. */
DEV void cluster_push(u64 *barrier, u8 *to, const Pack<f32, 4> &v, u32 rank)
{
    asm volatile(
        "{\n\t"
        ".reg .u32 to, counts;\n\t"
        "mapa.shared::cluster.u32 to, %0, %2;\n\t"
        "mapa.shared::cluster.u32 counts, %1, %2;\n\t"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
        "[to], {%3, %4, %5, %6}, [counts];\n\t"
        "}" ::"r"(lds_address(to)),
        "r"(lds_address(barrier)), "r"(rank), "f"(v[0]), "f"(v[1]), "f"(v[2]),
        "f"(v[3])
        : "memory");
}

/* The same of a number. */
DEV void cluster_push(u64 *barrier, f32 *to, f32 v, u32 rank)
{
    asm volatile(
        "{\n\t"
        ".reg .u32 to, counts;\n\t"
        "mapa.shared::cluster.u32 to, %0, %2;\n\t"
        "mapa.shared::cluster.u32 counts, %1, %2;\n\t"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 "
        "[to], %3, [counts];\n\t"
        "}" ::"r"(lds_address(to)),
        "r"(lds_address(barrier)), "r"(rank), "f"(v)
        : "memory");
}
