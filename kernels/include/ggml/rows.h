/*
 * rows.h - rows chosen by ids, read from and written to numbers and blocks
 *
 *   get   out[c, i, j, k] = src[c, ids[i, j, k], j, k]
 *   set   dst[c, ids[i, j, k], j, k] = src[c, i, j, k], where ids are repeated
 *         to fill the rows of src
 *
 * Without ids.data row i is meant. Rows that do not exist are left out. A row
 * of blocks is a whole number of them. ids are i32, or i64 if `wide`. In a
 * result of blocks no two ids of one j, k are equal.
 */
#pragma once

#include "ggml/tensor.h"
#include "gguf/encode.h"

/* Replaces p's row by the id; false if there is no such row. */
DEV bool choose_row(Place &p, const Tensor &ids, u32 wide, u32 rows)
{
    if (ids.data) {
        const Place q = repeated({{p.i[1], p.i[2], p.i[3], 0}}, ids.ne);
        const i64 id = wide ? value_at<i64>(ids, q) : value_at<i32>(ids, q);

        if ((u64)id >= rows)
            return false;
        p.i[1] = (u32)id;
    }
    return p.i[1] < rows;
}

/* ---- numbers ---- */

template <typename T, typename To>
DEV void ggml_get_rows(const Tensor &src, const Tensor &ids, const Tensor &out)
{
    each_place(out, [&](const Place &p) {
        Place q = p;

        if (choose_row(q, ids, 0, src.ne[1]))
            *address_of<To>(out, p) = convert<To>(value_at<T>(src, q));
    });
}

template <typename T, typename To>
DEV void ggml_set_rows(const Tensor &src, const Tensor &ids, const Tensor &dst,
                       u32 wide)
{
    each_place(src, [&](const Place &p) {
        Place q = p;

        if (choose_row(q, ids, wide, dst.ne[1]))
            *address_of<To>(dst, q) = convert<To>(value_at<T>(src, p));
    });
}

/* ---- blocks ---- */

/* fn(p) with p.i[0] in steps of `width` elements */
template <u32 width, class Fn> DEV void each_part(const Tensor &t, Fn fn)
{
    const u32 ne[4] = {t.ne[0] / width, t.ne[1], t.ne[2], t.ne[3]};

    each_of(ne[0] * rows_of(t), [&](u32 i) { fn(place_of(i, ne)); });
}

template <class F>
DEV void ggml_get_block_rows(const Tensor &src, const Tensor &ids,
                             const Tensor &out)
{
    constexpr u32 quads = F::elems / 4;

    each_part<4>(out, [&](Place p) {
        Place q = p, at = p;

        q.i[0] = 0;
        at.i[0] *= 4;
        if (!choose_row(q, ids, 0, src.ne[1]))
            return;
        const u8 *row = address_of<const u8>(src, q);
        const Quad quad = quad_of<F, BlockPlace::anywhere>(
            row + (u64)(p.i[0] / quads) * F::bytes, p.i[0] % quads);

        UNROLL
        for (u32 i = 0; i < 4; i++, at.i[0]++)
            *address_of<f32>(out, at) = quad_value(quad, (int)i);
    });
}

/* A group of 32 threads encodes one block. */
template <typename T, class Encoder>
DEV void ggml_set_block_rows(const Tensor &src, const Tensor &ids,
                             const Tensor &dst, u32 wide)
{
    const u32 ne[4] = {src.ne[0] / 32, src.ne[1], src.ne[2], src.ne[3]};
    const u32 n = ne[0] * rows_of(src);

    meet_launches();
    NO_UNROLL
    for (u64 g = global_thread() / 32; g < n; g += global_threads() / 32) {
        const Place p = place_of((u32)g, ne);
        Place from = p, to = p;

        from.i[0] = p.i[0] * 32 + lane_id() % 32;
        to.i[0] = 0;
        if (choose_row(to, ids, wide, dst.ne[1]))
            Encoder::write(convert<f32>(value_at<T>(src, from)),
                           address_of<u8>(dst, to) +
                               (u64)p.i[0] * Encoder::block_nbytes);
    }
}
