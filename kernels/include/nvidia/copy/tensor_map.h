/*
 * tensor_map.h - sm_90's copies of boxes to LDS, by maps that kernels make
 *
 * A map says how a batch of matrices lies in memory. A copy by it is started by
 * one thread, puts zeros where a matrix ends, lays lines of 128 bytes in LDS as
 * wgmma.h has them, and can go to all blocks of a cluster at once.
 *
 * A map must be in memory that the host or the kernel wrote, not in LDS. Each
 * multiprocessor has one place for maps here, so only kernels that run one
 * block per multiprocessor may use it. When a block begins, the copies of the
 * block before it are done.
 */
#pragma once

#include "nvidia/copy/bulk_copy.h"

struct __attribute__((aligned(128))) TensorMap {
    u8 bytes[128];
};

static __device__ TensorMap tensor_maps[256][2];

/* This multiprocessor's places for tensor maps. */
DEV TensorMap *tensor_map_places()
{
    u32 n;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(n));
    return tensor_maps[n % 256];
}

/* How a matrix lies in memory: rows of `cols` elements of 2 bytes, `ld`
 * elements apart; matrices `stride` elements apart. Addresses, ld and stride
 * are multiples of 16 bytes. A box has 64 columns. */
struct TensorShape {
    const void *matrix;
    u32 cols, rows, ld, batch;
    u64 stride;
    u32 box_rows;
};

/* of: "", or the field's dimension, such as "0, " */
#define TENSOR_MAP_SET(field, of, type, constraint, v)                         \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type    \
                 " [%0], " of "%1;" ::"r"(lds),                                \
                 constraint(v)                                                 \
                 : "memory")
/* Fills in a map of zeros in LDS; by one thread. */
DEV void tensor_map_fill(TensorMap *map, const TensorShape &s)
{
    const u32 lds = lds_address(map);

    TENSOR_MAP_SET("global_address", "", "b64", "l", s.matrix);
    TENSOR_MAP_SET("rank", "", "b32", "r", 2); /* one less */
    TENSOR_MAP_SET("box_dim", "0, ", "b32", "r", 64);
    TENSOR_MAP_SET("box_dim", "1, ", "b32", "r", s.box_rows);
    TENSOR_MAP_SET("box_dim", "2, ", "b32", "r", 1);
    TENSOR_MAP_SET("global_dim", "0, ", "b32", "r", s.cols);
    TENSOR_MAP_SET("global_dim", "1, ", "b32", "r", s.rows);
    TENSOR_MAP_SET("global_dim", "2, ", "b32", "r", s.batch);
    TENSOR_MAP_SET("global_stride", "0, ", "b64", "l", (u64)s.ld * 2);
    TENSOR_MAP_SET("global_stride", "1, ", "b64", "l", s.stride * 2);
    TENSOR_MAP_SET("element_stride", "0, ", "b32", "r", 1);
    TENSOR_MAP_SET("element_stride", "1, ", "b32", "r", 1);
    TENSOR_MAP_SET("element_stride", "2, ", "b32", "r", 1);
    /* elements of 2 bytes; no interleave; the swizzle of 128 bytes; zeros
     * behind the matrix's end */
    TENSOR_MAP_SET("elemtype", "", "b32", "n", 1);
    TENSOR_MAP_SET("interleave_layout", "", "b32", "n", 0);
    TENSOR_MAP_SET("swizzle_mode", "", "b32", "n", 3);
    TENSOR_MAP_SET("fill_mode", "", "b32", "n", 0);
}
#undef TENSOR_MAP_SET

/* Writes a map to memory; by all lanes. */
DEV void tensor_map_write(TensorMap *to, const TensorMap *from)
{
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic"
                 ".release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to),
                 "r"(lds_address(from))
                 : "memory");
}
/* From now on this thread's copies may use the map. */
DEV void tensor_map_read(const TensorMap *map)
{
    asm volatile(
        "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map)
        : "memory");
}
