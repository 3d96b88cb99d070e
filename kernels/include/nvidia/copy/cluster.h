/* cluster.h - sm_90's clusters: blocks that access each other's LDS */
#pragma once

#include "nvidia/copy/bulk_copy.h"

/* Numbers of this block and launch. In a launch without clusters each block is
 * a cluster. */
#if KPK_SM >= 90
#define CLUSTER_NUMBER(name, special, single)                                  \
    DEV u32 name()                                                             \
    {                                                                          \
        u32 n;                                                                 \
                                                                               \
        asm("mov.u32 %0, %%" special ";" : "=r"(n));                           \
        return n;                                                              \
    }
#else
#define CLUSTER_NUMBER(name, special, single)                                  \
    DEV u32 name()                                                             \
    {                                                                          \
        return single;                                                         \
    }
#endif
CLUSTER_NUMBER(cluster_blocks, "cluster_nctarank", 1)
CLUSTER_NUMBER(cluster_rank, "cluster_ctarank", 0)
CLUSTER_NUMBER(cluster_x, "clusterid.x", blockIdx.x)
CLUSTER_NUMBER(cluster_y, "clusterid.y", blockIdx.y)
CLUSTER_NUMBER(cluster_z, "clusterid.z", blockIdx.z)
CLUSTER_NUMBER(clusters_x, "nclusterid.x", gridDim.x)
CLUSTER_NUMBER(clusters_y, "nclusterid.y", gridDim.y)
CLUSTER_NUMBER(clusters_z, "nclusterid.z", gridDim.z)
#undef CLUSTER_NUMBER

/* of the device */
DEV u32 multiprocessors()
{
    u32 n;

    asm("mov.u32 %0, %%nsmid;" : "=r"(n));
    return n;
}

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

/* A barrier over all threads of the cluster, in two halves: code between them
 * does not wait. It does not make earlier writes visible to other blocks,
 * except barriers that barrier_init() has made. Pushes to other blocks may
 * follow the wait. */
DEV void cluster_arrive()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
/* The same, and makes earlier writes to LDS visible to all waiting threads. */
DEV void cluster_arrive_shown()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
DEV void cluster_wait()
{
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
DEV void cluster_meet()
{
    cluster_arrive();
    cluster_wait();
}

/* As cluster_meet(), and makes earlier writes to LDS visible to the cluster. */
DEV void cluster_show()
{
    cluster_arrive_shown();
    cluster_wait();
}

/* Reads the value at p's offset in the LDS of another block of the cluster. */
#define CLUSTER_READ(T, letter)                                                \
    DEV T cluster_read(const T *p, u32 rank)                                   \
    {                                                                          \
        T v;                                                                   \
                                                                               \
        asm volatile("{\n\t"                                                   \
                     ".reg .u32 from;\n\t"                                     \
                     "mapa.shared::cluster.u32 from, %1, %2;\n\t"              \
                     "ld.shared::cluster." #T " %0, [from];\n\t"               \
                     "}"                                                       \
                     : "=" letter(v)                                           \
                     : "r"(lds_address(p)), "r"(rank)                          \
                     : "memory");                                              \
        return v;                                                              \
    }
CLUSTER_READ(f32, "f")
CLUSTER_READ(f64, "d")
#undef CLUSTER_READ
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

/* 64-bit words in LDS by which blocks of a cluster exchange data. Stores and
 * loads are atomic, but order no other accesses. */
DEV void cluster_store(u64 *to, u64 v, u32 rank)
{
    asm volatile("{\n\t"
                 ".reg .u32 to;\n\t"
                 "mapa.shared::cluster.u32 to, %0, %2;\n\t"
                 "st.relaxed.cluster.shared::cluster.u64 [to], %1;\n\t"
                 "}" ::"r"(lds_address(to)),
                 "l"(v), "r"(rank)
                 : "memory");
}
DEV u64 cluster_load(const u64 *from)
{
    u64 v;

    asm volatile("ld.relaxed.cluster.shared.u64 %0, [%1];"
                 : "=l"(v)
                 : "r"(lds_address(from))
                 : "memory");
    return v;
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
