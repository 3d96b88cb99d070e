/*
 * attend_cluster.h - attention of a sequence's one query over few keys, by
 * clusters of sm_90
 *
 * A launch of so little work waits for latency only: of memory, and of the
 * first fetch of its instructions. So the code is short, and asks for keys and
 * values at once. The blocks of a cluster share the keys of one head of K. In a
 * block a group of D / 8 lanes has a key, 8 columns a lane, and takes every
 * groups'th key. A group makes its sums without the others. Then the groups'
 * results are joined in LDS, and the blocks read each other's results to join
 * them.
 *
 * Up to four heads share a head of K, and a mask. Keys and values go from
 * memory to registers, and scores stay there in f32: only the result is
 * rounded.
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

/* What blocks of the cluster have at rank 0 to splits - 1, in rank order. */
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

template <typename T, u32 D, class Form> struct AttendOne {
    static constexpr u32 threads = 128, heads = 4;
    static constexpr u32 lanes = D / 8, groups = threads / lanes;
    static constexpr u32 keys = 5; /* keys a group of lanes takes at once */
    /* of a block; attend_decode.h takes less time for more keys or heads */
    static constexpr u32 most_keys = 256;

    struct Lds {
        RowParts<groups, heads, D> parts;
        RowParts<1, heads, D> block;
    };

    static DEV_MEMBER bool takes(const AttentionArgs &a, const Sequence &s)
    {
        return is_clustered(a) && a.h <= heads * a.h_k && s.nq == 1 &&
               s.end_key(0) - s.first_key(0) <= (i32)(most_keys * a.splits) &&
               s.num_ranges == 0 && a.softcap == 0 && !a.alibi_slopes &&
               (!Form::mask(a) || Form::mask_at(a, 0, 1, 0) == 0);
    }

    /* a lane's columns of a group's next keys */
    typedef Piece Keys[keys];
    typedef f32 Masks[keys];
    typedef f32 Scores[heads][keys];

    f32 q[heads][8], o[heads][8];
    Softmax<f32> soft[heads];

    static DEV_MEMBER void widen(const Piece &p, f32 (&v)[8])
    {
        UNROLL
        for (u32 i = 0; i < 4; i++) {
            const Pack<T, 2> two = bits_as<Pack<T, 2>>(p[i]);

            v[2 * i] = convert<f32>(two[0]);
            v[2 * i + 1] = convert<f32>(two[1]);
        }
    }

    /* Zeros behind the last key. */
    static DEV_MEMBER void load(const u8 *from, i64 step, i32 key, i32 end,
                                Keys &to)
    {
        UNROLL
        for (u32 i = 0; i < keys; i++) {
            to[i] = Piece{};
            if (key + (i32)(i * groups) < end)
                to[i] = *reinterpret_cast<const Piece *>(from + i * step);
        }
    }

    static DEV_MEMBER void load_mask(const f16 *mask, i32 key, i32 end,
                                     Masks &to)
    {
        UNROLL
        for (u32 i = 0; i < keys; i++) {
            const i32 at = key + (i32)(i * groups);

            to[i] = at < end ? convert<f32>(mask[at]) * log2_e : 0;
        }
    }

    /* Four heads' queries; the last head of the group repeats. */
    DEV_MEMBER void begin(const AttentionArgs &a, u32 group, const u8 *q_row)
    {
        const u32 lane = threadIdx.x % lanes;

        UNROLL
        for (u32 h = 0; h < heads; h++) {
            const u32 head = min_of(h, group - 1);
            Piece piece{};

            if (lane * 8 < a.d)
                piece = *reinterpret_cast<const Piece *>(
                    q_row + 2 * (i64)head * a.q_head + lane * 16);
            widen(piece, q[h]);
            UNROLL
            for (u32 i = 0; i < 8; i++)
                q[h][i] *= a.scale * log2_e, o[h][i] = 0;
            soft[h].begin();
        }
    }
    /* this lane's part of the scores */
    DEV_MEMBER void multiply_keys(Scores &x, const Keys &k) const
    {
        UNROLL
        for (u32 i = 0; i < keys; i++) {
            f32 y[8];

            widen(k[i], y);
            UNROLL
            for (u32 h = 0; h < heads; h++) {
                x[h][i] = 0;
                UNROLL
                for (u32 e = 0; e < 8; e++)
                    x[h][i] = fused(q[h][e], y[e], x[h][i]);
            }
        }
    }
    /* Scores to P of keys from `key` to in front of `last`. */
    DEV_MEMBER void exponentials(Scores &x, i32 key, i32 last, bool masked,
                                 const Masks &mask)
    {
        UNROLL
        for (u32 h = 0; h < heads; h++) {
            f32 top = -infinite;

            UNROLL
            for (u32 i = 0; i < keys; i++) {
                x[h][i] = join_lanes<lanes>(x[h][i],
                                            [](f32 p, f32 r) { return p + r; });
                if (masked)
                    x[h][i] += mask[i];
                if (key + (i32)(i * groups) >= last)
                    x[h][i] = -infinite;
                top = __builtin_fmaxf(top, x[h][i]);
            }

            const f32 down = soft[h].raise(top);

            UNROLL
            for (u32 e = 0; e < 8; e++)
                o[h][e] *= down;
            UNROLL
            for (u32 i = 0; i < keys; i++) {
                x[h][i] = exp2_fast(x[h][i] - soft[h].m);
                soft[h].l += x[h][i];
            }
        }
    }
    DEV_MEMBER void add_values(const Scores &x, const Keys &v)
    {
        UNROLL
        for (u32 i = 0; i < keys; i++) {
            f32 y[8];

            widen(v[i], y);
            UNROLL
            for (u32 h = 0; h < heads; h++) {
                UNROLL
                for (u32 e = 0; e < 8; e++)
                    o[h][e] = fused(x[h][i], y[e], o[h][e]);
            }
        }
    }
    /* The group's part, to LDS. */
    DEV_MEMBER void put(Lds &lds) const
    {
        const u32 lane = threadIdx.x % lanes, group = threadIdx.x / lanes;

        UNROLL
        for (u32 h = 0; h < heads; h++) {
            UNROLL
            for (u32 e = 0; e < 8; e += 4)
                store_pack(&lds.parts.o[group][h][lane * 8 + e],
                           Pack<f32, 4>{{o[h][e], o[h][e + 1], o[h][e + 2],
                                         o[h][e + 3]}});
            if (lane == 0)
                lds.parts.m[group][h] = soft[h].m,
                lds.parts.l[group][h] = soft[h].l;
        }
    }

    /* All heads that share key_head. q_row is the query of
     * the first head that shares key_head; k and v come from row_0(). */
    static DEV_MEMBER void run(const AttentionArgs &a, const Sequence &s, u32 b,
                               const Queries<true> &rows, const u8 *q_row,
                               const u8 *k, const u8 *v, Lds &lds)
    {
        const u32 lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
        const i32 first = s.first_key(0), all = max_of(s.end_key(0) - first, 0);
        const i32 each = (i32)div_up((u32)all, a.splits);
        const i32 begin = first + (i32)blockIdx.x * each;
        const i32 last = min_of(begin + each, first + all);
        const i32 end = lane * 8 < a.d ? last : 0;
        const i32 v_end = lane * 8 < Form::d_v(a) ? last : 0;
        const i64 k_step = a.k_row * 2 * groups, v_step = a.v_row * 2 * groups;
        const f16 *const mask = Form::mask(a);
        const f16 *const of = mask + Form::mask_at(a, b, 0, 0);
        i32 key = begin + (i32)group;
        Keys k_now, v_now;
        Masks m_now;
        AttendOne one;

        k += key * a.k_row * 2 + lane * 16;
        v += key * a.v_row * 2 + lane * 16;
        load(k, k_step, key, end, k_now);
        load(v, v_step, key, v_end, v_now);
        if (mask)
            load_mask(of, key, last, m_now);
        one.begin(a, rows.group, q_row);

        /* all lanes of a warp stay together */
        NO_UNROLL
        for (i32 at = begin; at < last; at += (i32)(keys * groups)) {
            const i32 next = key + (i32)(keys * groups);
            Scores x;

            k += keys * k_step;
            v += keys * v_step;
            one.multiply_keys(x, k_now);
            one.exponentials(x, key, last, mask, m_now);
            one.add_values(x, v_now);
            load(k, k_step, next, end, k_now);
            load(v, v_step, next, v_end, v_now);
            if (mask)
                load_mask(of, next, last, m_now);
            key = next;
        }
        one.put(lds);
        __syncthreads();
        NO_UNROLL
        for (u32 e = threadIdx.x; e < heads * D / 2; e += threads) {
            const u32 h = e / (D / 2), d = e % (D / 2) * 2;

            lds.block.set(0, h, d, lds.parts.merged(h, d));
        }
        cluster_show();
        join_blocks(a, s, b, rows, lds);
        cluster_show(); /* the other blocks have read */
    }

    /* Each block takes a share of the columns. */
    static DEV_MEMBER void join_blocks(const AttentionArgs &a,
                                       const Sequence &s, u32 b,
                                       const Queries<true> &rows,
                                       const Lds &lds)
    {
        constexpr u32 parts = D / 64; /* 64 columns of a head to a warp */

        NO_UNROLL
        for (u32 i = cluster_rank() + cluster_blocks() * (threadIdx.x / 32);
             i < rows.group * parts; i += cluster_blocks() * (threads / 32)) {
            const u32 h = i / parts, d = i % parts * 64 + threadIdx.x % 32 * 2;

            if (d < Form::d_v(a))
                store_joined<T, Form>(a, AttendRow(a, s, b, 0, rows.head0 + h),
                                      merge_blocks(lds.block, a.splits, h, d),
                                      0, d);
        }
    }
};

/* The address that row 0 of a sequence's K or V would have. Null unless rows
 * are aligned to 16 bytes and keys first to end - 1 follow each other in
 * memory. */
DEV const u8 *row_0(const AttentionArgs &a, const AttendKeys &rows, u32 b,
                    i32 first, i32 end)
{
    if (!rows.is_aligned_to_16())
        return nullptr;
    if (!a.block_table || end <= first)
        return rows.base;

    const u32 page = (u32)first / a.page_size;

    if (page != (u32)(end - 1) / a.page_size)
        return nullptr;
    return rows.row(a, b, first) - first * rows.row_nbytes;
}

/* False if a sequence is not for this. The blocks of a cluster agree. */
template <typename T, u32 D, class Form>
DEV bool attend_one(const AttentionArgs &a, const Sequence &s, u32 b,
                    u32 key_head, u8 *lds_bytes)
{
    typedef AttendOne<T, D, Form> One;
    typename One::Lds &lds = *reinterpret_cast<typename One::Lds *>(lds_bytes);

    if (!One::takes(a, s))
        return false;

    const i32 first = s.first_key(0), end = s.end_key(0);
    const u8 *const k = row_0(
        a, AttendKeys(a, s, b, key_head, a.k, a.k_batch, a.k_row, a.k_head), b,
        first, end);
    const u8 *const v = row_0(
        a, AttendKeys(a, s, b, key_head, a.v, a.v_batch, a.v_row, a.v_head), b,
        first, end);

    const Queries<true> rows(a, s, key_head);
    const u8 *const q =
        (const u8 *)a.q +
        2 * ((a.cu_seqlens_q ? s.q_rows * a.q_row : b * a.q_batch) +
             (i64)rows.head0 * a.q_head);

    if (!k || !v || (((u64)q | (u64)a.q_head * 2) & 15) != 0)
        return false;
    One::run(a, s, b, rows, q, k, v, lds);
    return true;
}
