/* transpose.h - transposed copies, by square tiles through LDS */
#pragma once

#include "map/blocks.h"
#include "map/view.h"

/*
 * A tile of nx by ny elements, about 16 KiB. Neighbours along x of less than 4
 * bytes share a cell, because LDS moves 4 bytes or more at a time. The pitch,
 * in cells, puts a column's cells on different banks.
 */
template <typename T> struct tile {
    static constexpr u32 k = per16<T>::value;
    static constexpr u32 nx = k >= 16 ? 128 : k >= 4 ? 64 : 32;
    static constexpr u32 ny = 1024 * k / nx;
    static constexpr u32 group = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    static constexpr u32 pitch = nx / group + 1;
    typedef Raw<T, group> Cell;
};

DEV void exchange(u32 &a, u32 &b)
{
    const u32 t = a;
    a = b;
    b = t;
}

/*
 * Finds a dimension along which the input is contiguous, if the output's
 * innermost one is not, and exchanges it with dimension 1, in the view and in
 * the output's strides.
 */
#if KPK_NVIDIA
DEV void find_transposed(View<1> &view)
{
    u32 along = 0, stride = 1;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.out_stride[g] = stride;
        stride *= view.dim[g];
        if (along == 0 && view.stride[0][g] == 1 && view.dim[g] >= 16)
            along = g;
    }
    if (along == 0 || view.stride[0][0] <= 1 || view.dim[0] < 16)
        return;
    view.layout = LAYOUT_TILES;
    UNROLL
    for (u32 g = 2; g < MAX_GROUPS; g++) {
        if (g != along)
            continue;
        exchange(view.dim[1], view.dim[g]);
        exchange(view.out_stride[1], view.out_stride[g]);
        exchange(view.stride[0][1], view.stride[0][g]);
    }
}
#else
DEV void find_transposed(View<1> &view)
{
    u32 stride = 1;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.out_stride[g] = stride;
        stride *= view.dim[g];
    }
    if (compare_here(view.stride[0][0]) <= 1 || compare_here(view.dim[0]) < 16)
        return;
    u32 along = 0;
    UNROLL
    for (u32 g = MAX_GROUPS - 1; g > 0; g--)
        if (compare_here(view.stride[0][g]) == 1 && view.dim[g] >= 16)
            along = g;
    if (compare_here(along) == 0)
        return;
    view.layout = LAYOUT_TILES;
    UNROLL
    for (u32 g = 2; g < MAX_GROUPS; g++) {
        if (compare_here(along) == g) {
            exchange(view.dim[1], view.dim[g]);
            exchange(view.out_stride[1], view.out_stride[g]);
            exchange(view.stride[0][1], view.stride[0][g]);
        }
    }
}
#endif

/*
 * Loads a tile, whose elements along y are neighbours in memory, to lds[y][x].
 * 32 lanes write 32 / k packs of k rows of cells, to 32 different banks.
 */
template <typename T>
DEV void load_tile(const T *in, u32 stride, typename tile<T>::Cell *lds,
                   u32 thread, u32 threads)
{
    constexpr u32 k = tile<T>::k, g = tile<T>::group, across = 32 / k;
    constexpr u32 ny = tile<T>::ny, pitch = tile<T>::pitch, batch = 4 / g;
    constexpr u32 nitems = tile<T>::nx / g * (ny / k);
    for (u32 e = thread; e < nitems; e += batch * threads) {
        Raw<T, k> v[batch][g];
        UNROLL
        for (u32 j = 0; j < batch; j++) {
            const u32 at = e + j * threads;
            const u32 y = (at % across + at / 32 % (ny / 32) * across) * k;
            const u32 x = (at / across % k + at / ny * k) * g;
            UNROLL
            for (u32 r = 0; r < g; r++)
                if (at < nitems)
                    v[j][r] = load_raw<k>(in + (u64)(x + r) * stride + y);
        }
        UNROLL
        for (u32 j = 0; j < batch; j++) {
            const u32 at = e + j * threads;
            const u32 y = (at % across + at / 32 % (ny / 32) * across) * k;
            const u32 x = at / across % k + at / ny * k;
            if (at >= nitems)
                break;
            Pack<T, k> row[g];
            UNROLL
            for (u32 r = 0; r < g; r++)
                row[r] = pack_of<k, T>(v[j][r]);
            UNROLL
            for (u32 m = 0; m < k; m++) {
                Pack<T, g> cell;
                UNROLL
                for (u32 r = 0; r < g; r++)
                    cell[r] = row[r][m];
                lds[(y + m) * pitch + x] =
                    bits_as<typename tile<T>::Cell>(cell);
            }
        }
    }
}

/* Stores a tile. 32 lanes read 8 packs of 4 rows, from 32 different banks. */
template <typename T>
DEV void store_tile(const typename tile<T>::Cell *lds, T *out, u32 stride,
                    u32 thread, u32 threads)
{
    constexpr u32 k = tile<T>::k, ncells = k / tile<T>::group;
    constexpr u32 runs = tile<T>::nx / k / 8, nitems = 1024;
    NO_UNROLL
    for (u32 e = thread; e < nitems; e += threads) {
        const u32 x = e % 8 + e / 32 % runs * 8;
        const u32 y = e / 8 % 4 + e / 32 / runs * 4;
        Pack<typename tile<T>::Cell, ncells> v;
        UNROLL
        for (u32 m = 0; m < ncells; m++)
            v[m] = lds[y * tile<T>::pitch + x * ncells + m];
        store_raw<k>(out + (u64)y * stride + x * k, bits_as<Raw<T, k>>(v));
    }
}

/* A tile at an edge, or one that is not aligned: element by element. */
template <typename T>
DEV void copy_edge(const T *in, T *out, const View<1> &view, u32 have_x,
                   u32 have_y, T *lds, u32 thread, u32 threads)
{
    constexpr u32 nx = tile<T>::nx, ny = tile<T>::ny;
    constexpr u32 pitch = tile<T>::pitch * tile<T>::group; /* elements */

    __syncthreads();
    for (u32 e = thread; e < nx * ny; e += threads)
        if (e / ny < have_x && e % ny < have_y)
            lds[e % ny * pitch + e / ny] =
                in[(u64)(e / ny) * view.stride[0][0] + e % ny];
    __syncthreads();
    for (u32 e = thread; e < nx * ny; e += threads)
        if (e % nx < have_x && e / nx < have_y)
            out[(u64)(e / nx) * view.out_stride[1] + e % nx] =
                lds[e / nx * pitch + e % nx];
}

/*
 * LAYOUT_TILES. A block takes whole tiles, and all of its threads stay to the
 * end, for the barriers.
 */
template <typename T>
DEV void copy_tiles(const Blocks &blocks, const View<1> &view, const T *in,
                    T *out, u32 thread = threadIdx.x, u32 threads = blockDim.x)
{
    constexpr u32 nx = tile<T>::nx, ny = tile<T>::ny, k = tile<T>::k;
    __shared__ __attribute__((aligned(16)))
    typename tile<T>::Cell lds[ny * tile<T>::pitch];
    const bool aligned =
        is_aligned(in, 16) && is_aligned(out, 16) &&
        (view.stride[0][0] | view.stride[0][2] | view.stride[0][3] |
         view.out_stride[1] | view.out_stride[2] | view.out_stride[3]) %
                k ==
            0;
    const u32 across = div_up(view.dim[0], nx);
    const u32 down = div_up(view.dim[1], ny);
    const u32 ntiles = across * down * view.dim[2] * view.dim[3];

    for (u64 tile = blocks.number; tile < ntiles; tile += blocks.count) {
        u32 rest = (u32)tile / across;
        const u32 x = ((u32)tile - rest * across) * nx;
        const u32 y = rest % down * ny;
        rest /= down;
        const u32 z = rest % view.dim[2], w = rest / view.dim[2];
        const T *from = in + (u64)x * view.stride[0][0] + y +
                        (u64)z * view.stride[0][2] + (u64)w * view.stride[0][3];
        T *to = out + x + (u64)y * view.out_stride[1] +
                (u64)z * view.out_stride[2] + (u64)w * view.out_stride[3];
        const u32 have_x = min_of(nx, view.dim[0] - x);
        const u32 have_y = min_of(ny, view.dim[1] - y);

        if (aligned && have_x == nx && have_y == ny) {
            __syncthreads(); /* the tile before is stored */
            load_tile(from, view.stride[0][0], lds, thread, threads);
            __syncthreads();
            store_tile(lds, to, view.out_stride[1], thread, threads);
        } else {
            copy_edge(from, to, view, have_x, have_y, (T *)lds, thread,
                      threads);
        }
    }
}

/*
 * Matrices [rows, cols] in, [cols, rows] out, both contiguous: one for each of
 * the grid's z. Any x and y of grid and block. rows and cols stay below 2^32.
 */
template <typename T>
DEV void transpose2d(u64 rows, u64 cols, const T *in, T *out)
{
    const u64 first = blockIdx.z * rows * cols;
    Blocks blocks(0);
    View<1> view;

    blocks.number = (u32)blockIdx.y * (u32)gridDim.x + (u32)blockIdx.x;
    blocks.count = (u32)gridDim.y * (u32)gridDim.x;
    UNROLL
    for (u32 g = 0; g < MAX_GROUPS; g++) {
        view.dim[g] = g == 0 ? (u32)rows : g == 1 ? (u32)cols : 1;
        view.stride[0][g] = g == 0 ? (u32)cols : g == 1;
        view.out_stride[g] = g == 0 ? 1 : g == 1 ? (u32)rows : 0;
    }
    copy_tiles(blocks, view, in + first, out + first,
               (u32)threadIdx.y * (u32)blockDim.x + (u32)threadIdx.x,
               (u32)blockDim.y * (u32)blockDim.x);
}
