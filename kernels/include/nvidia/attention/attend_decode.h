/*
 * attend_decode.h - attention of few queries over many keys on sm_80 and later
 *
 * A workgroup computes up to 16 rows, from all query heads of one K head, over
 * a part of the keys. Each of its 4 warps copies every fourth unit of K and of
 * V (attend_units.h) to LDS by cp.async, some units ahead, and waits for no
 * other warp. Eight rows are the columns of a product; more rows are a second
 * product of the same operands. At the end the warps' results are joined, eight
 * rows at a time, and those of a cluster's blocks, if the splits of the keys
 * are a cluster of sm_90.
 */
#pragma once

#include "nvidia/attention/attend_units.h"
#include "nvidia/copy/ring.h"
#if KPK_SM >= 90
#include "fused/q8_1.h"
#include "nvidia/copy/cluster.h"
#endif

template <class Format, typename T, u32 D> struct DecodeUnit {
    typedef BlockUnit<Format, D> type;
};
template <typename T, u32 D> struct DecodeUnit<PlainFormat<T>, T, D> {
    typedef PlainUnit<T, D> type;
};

/* A word's halves transposed within a warp: of an 8 x 8 matrix, lane l gets
 * numbers 2 c and 2 c + 1 of column l / 4 for those of row l / 4. */
DEV u32 transpose_halves(u32 v)
{
    u32 w;

    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(w)
                 : "r"(v));
    return w;
}

/* Eight rows, and a unit's keys at once. T: the type of Q. */
template <typename T, u32 D, class Unit, class Form>
struct DecodeRows
    : AttendRows<ScoreColumns, typename Unit::T, D, Unit::keys, true, Form> {
    typedef typename Unit::T P;
    typedef AttendRows<ScoreColumns, P, D, Unit::keys, true, Form> Base;
    typedef typename Base::Rows Rows;
    typedef typename Base::Scores Scores;
    typedef u32 Operands[Base::tiles][2]; /* of P */
    using Base::o, Base::tiles, Base::row;

    static constexpr u32 steps = Unit::cols / 16; /* of a unit */
    static constexpr bool converts = !is_same<T, P>::value;

    u32 q[D / 16][2];
    f32 scale[converts ? 2 : 1]; /* of Q's rows, if bf16 has become f16 */
    const f16 *mask[2];          /* a slot's row of it */
    f16 ahead[2][Base::each];    /* what it adds to the next scores */

    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Rows &rows, u32 b, i32 first_row)
    {
        const u32 lane = threadIdx.x % 32, c = lane % 4;

        Base::begin(s, rows, first_row, 8);
        read_query(reinterpret_cast<const f16 *>(rows.template at<T>(
                       a, s, b, first_row + (i32)(lane / 4))),
                   a.d);

        const f32 own = scale[0]; /* of row lane / 4 */

        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const i32 n = min_of(row(i), rows.nrows - 1);

            if (Form::mask(a))
                mask[i] = Form::mask(a) +
                          Form::mask_at(a, b, rows.head(n), rows.token(n));
            if constexpr (converts)
                scale[i] = __shfl_sync(0xffffffffu, own, (c * 2 + i) * 4);
        }
    }
    DEV_MEMBER void read_query(const f16 *from, u32 d)
    {
        const u32 c = threadIdx.x % 4;
        u32 top = 0;

        UNROLL
        for (u32 k = 0; k < D / 16; k++) {
            UNROLL
            for (u32 j = 0; j < 2; j++) {
                const u32 e = k * 16 + j * 8 + c * 2;
                u32 &w = q[k][j];

                w = e < d ? bits_as<u32>(load_anywhere<2>(from + e)) : 0;
                top = max_of(top, max_of(w & 0x7fff, w >> 16 & 0x7fff));
            }
            if constexpr (!converts)
                Unit::order_query(q[k]);
        }
        if constexpr (converts)
            to_f16(
                join_lanes<4>(top, [](u32 p, u32 r) { return max_of(p, r); }) >>
                7);
    }
    /* Q of bf16 becomes f16 times a power of two, so that a row's largest
     * element, whose biased exponent is given, is near 2^10. */
    DEV_MEMBER void to_f16(u32 exponent)
    {
        const u32 e = max_of(exponent, 11u);
        const f32 by = bits_as<f32>((264 - e) << 23);

        scale[0] = bits_as<f32>((e - 10) << 23);
        UNROLL
        for (u32 k = 0; k < D / 16; k++) {
            UNROLL
            for (u32 j = 0; j < 2; j++)
                q[k][j] = round_two<f16>(bits_as<f32>(q[k][j] << 16) * by,
                                         bits_as<f32>(q[k][j] & ~0xffffu) * by);
            Unit::order_query(q[k]);
        }
    }
    /* Starts loading what the mask adds to scores of keys from key0 on. */
    DEV_MEMBER void read_mask(const AttentionArgs &a, i32 key0, i32 nk)
    {
        if (!Form::mask(a))
            return;
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            UNROLL
            for (u32 j = 0; j < Base::each; j++) {
                const i32 key = key0 + (i32)ScoreColumns::key(j);

                ahead[i][j] = mask[i][key < nk ? key : 0];
            }
        }
    }
    /* Adds the products of Q, of n times eight rows, and a unit's keys: of
     * columns from part * Unit::cols on. */
    template <u32 n>
    static DEV_MEMBER void
    add_keys(Scores (&x)[n], const DecodeRows (&rows8)[n], u32 part, u32 lds)
    {
        UNROLL
        for (u32 t = 0; t < tiles; t++) {
            /* Eight rows have two sums, as a product waits for its sum. */
            f32 odd[4] = {};

            Unit::template each<false>(lds, t, [&](u32 i, const u32(&y)[4]) {
                UNROLL
                for (u32 r = 0; r < n; r++) {
                    const u32(&with)[2] = rows8[r].q[part * steps + i];

                    MmaOp<P>::call(n == 1 && i % 2 ? odd : x[r][t], y, with[0],
                                   with[1]);
                }
            });
            UNROLL
            for (u32 e = 0; e < 4; e++)
                x[0][t][e] += odd[e];
        }
    }
    /* Scores become P. next_key0: of the scores after these */
    DEV_MEMBER void weigh(Scores &x, const AttentionArgs &a, u32 b,
                          const Rows &rows, i32 key0, i32 next_key0,
                          Operands &p)
    {
        if constexpr (converts) {
            UNROLL
            for (u32 i = 0; i < 2; i++)
                Base::change(x, i,
                             [&](u32, u32, f32 v) { return v * scale[i]; });
        }

        const f32 factor =
            Base::finish(x, a, b, rows, key0, [&](u32 i, u32 j, i32) {
                return convert<f32>(ahead[i][j]);
            });

        read_mask(a, next_key0, Sequence(a, b).nk);
        Base::raise(x, factor);
        Base::exponentials(x, factor);
        UNROLL
        for (u32 e = 0; e < tiles * 2; e++) {
            const f32 *from = x[e / 2] + e % 2 * 2;

            p[e / 2][e % 2] = transpose_halves(round_two<P>(from[0], from[1]));
        }
    }
    template <u32 n>
    static DEV_MEMBER void add_values(const Operands (&p)[n],
                                      DecodeRows (&rows8)[n], u32 part, u32 lds)
    {
        UNROLL
        for (u32 t = 0; t < tiles; t++)
            Unit::template each<true>(lds, t, [&](u32 i, const u32(&y)[4]) {
                UNROLL
                for (u32 r = 0; r < n; r++)
                    MmaOp<P>::call(rows8[r].o[part * steps + i], y, p[r][t][0],
                                   p[r][t][1]);
            });
    }
};

template <typename T, u32 D, class Form, class Format> struct AttendDecode {
    typedef typename DecodeUnit<Format, T, D>::type Unit;
    typedef typename Unit::T P;
    typedef Queries<true> Rows;
    typedef DecodeRows<T, D, Unit, Form> Warp;
    static constexpr u32 warps = 4, parts = D / Unit::cols;
    static constexpr u32 most_nbytes = 48 * 1024;
    static constexpr u32 fit = most_nbytes / (warps * Unit::nbytes);
    static constexpr u32 slots = fit < 9 ? fit : 9, ahead = slots - 1;
    static constexpr u32 ring_nbytes = slots * Unit::nbytes;

    /* Results of the warps, in LDS. Rows are four banks apart. */
    struct Joined {
        f32 o[warps][8][D + 4];
        f32 m[warps][8], l[warps][8];
        f32 block_m[8], block_l[8]; /* for the cluster */
    };
    static constexpr u32 lds_nbytes = warps * ring_nbytes > sizeof(Joined)
                                          ? warps *ring_nbytes
                                          : (u32)sizeof(Joined);

    /* Which rows, and keys. */
    struct Work {
        u32 b, head, split; /* of K */
        i32 first, nrows;   /* up to 16 */
    };

    /* n: eights of rows */
    template <u32 n>
    static DEV_MEMBER void run(const AttentionArgs &a, const Work &w, u8 *lds)
    {
        const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const Sequence s(a, w.b);
        const Rows rows(a, s, w.head);
        const AttendKeysValues<Format, Unit::alignment> of(a, s, w.b, w.head);
        const KeySpan span =
            seen_by(s, rows.token(w.first), rows.token(w.first + w.nrows - 1));
        const u32 rings = (u32)__cvta_generic_to_shared(lds);
        CopyRing<slots, Unit::nbytes> ring(rings + warp * ring_nbytes);
        constexpr i32 tile = (i32)(warps * Unit::keys);
        i32 at = span.first / tile, end = div_up_signed(span.end, tile);
        Warp rows8[n];

        if (a.splits > 1) {
            const u32 each = div_up((u32)max_of(end - at, 0), a.splits);

            at += (i32)(w.split * each);
            end = min_of(end, at + (i32)each);
        }
        const i32 key_end = end * tile;
        /* the first key of the units that this warp takes */
        i32 key0 = at * tile + (i32)(warp * Unit::keys);

        /* Starts bringing unit i of those from key0 on: K's parts, V's parts,
         * and the same `tile` keys further. */
        const auto copy = [&](u32 i) {
            const u32 part = i % parts;
            const bool is_key = i / parts % 2 == 0;
            const i32 key = key0 + (i32)(i / (2 * parts)) * tile;
            const u32 d = is_key ? a.d : Form::d_v(a);

            ring.fill([&](u32 to) {
                AttendKeys from = is_key ? of.k : of.v;

                from.base += format_nbytes<Format>(part * Unit::cols);
                if (key < key_end)
                    Unit::copy(to, a, w.b, from,
                               d - min_of(d, part * Unit::cols), of.aligned,
                               key, span, lane);
            });
        };
        /* fn(LDS address) of unit i, when it has come */
        const auto take = [&](u32 i, auto fn) {
            ring.template wait<ahead>();
            __syncwarp();
            copy(i + ahead);
            fn(ring.to_read());
            ring.release();
        };

        __syncthreads();
        UNROLL
        for (u32 i = 0; i < ahead; i++)
            copy(i);
        UNROLL
        for (u32 r = 0; r < n; r++) {
            rows8[r].begin(a, s, rows, w.b, w.first + (i32)(r * 8));
            if (key0 < key_end)
                rows8[r].read_mask(a, key0, s.nk);
        }
        NO_UNROLL
        for (; key0 < key_end; key0 += tile) {
            typename Warp::Scores x[n] = {};
            typename Warp::Operands p[n];

            UNROLL
            for (u32 i = 0; i < parts; i++)
                take(i, [&](u32 k) { Warp::add_keys(x, rows8, i, k); });
            UNROLL
            for (u32 r = 0; r < n; r++)
                rows8[r].weigh(x[r], a, w.b, rows, key0, key0 + tile, p[r]);
            UNROLL
            for (u32 i = 0; i < parts; i++)
                take(parts + i,
                     [&](u32 v) { Warp::add_values(p, rows8, i, v); });
        }
        async_copies_wait<0>();

        Joined &all = *reinterpret_cast<Joined *>(lds);

        UNROLL
        for (u32 r = 0; r < n; r++) {
            const i32 done = (i32)(r * 8);

            __syncthreads();
            show(rows8[r], all, warp);
            __syncthreads();
            join(a,
                 {w.b, w.head, w.split, w.first + done,
                  min_of(w.nrows - done, 8)},
                 all);
        }
    }
    static DEV_MEMBER i32 div_up_signed(i32 v, i32 by)
    {
        return v <= 0 ? 0 : (i32)div_up((u32)v, (u32)by);
    }

    /* ---- results ---- */

    static DEV_MEMBER void show(Warp &rows8, Joined &all, u32 warp)
    {
        UNROLL
        for (u32 i = 0; i < 2; i++) {
            const u32 r = ScoreColumns::query(i);
            const f32 sum = rows8.sum(i);

            if (threadIdx.x % 32 < 4)
                all.m[warp][r] = rows8.soft[i].m, all.l[warp][r] = sum;
            UNROLL
            for (u32 j = 0; j < D / 8; j++)
                all.o[warp][r][Unit::column(j)] =
                    ScoreColumns::sum(rows8.o, i, j);
        }
    }
    /* Joins the warps' results of up to eight rows, or starts to join the
     * blocks'. */
    static DEV_MEMBER void join(const AttentionArgs &a, const Work &w,
                                Joined &all)
    {
        const Sequence s(a, w.b);
        const Rows rows(a, s, w.head);
        const bool clustered = is_clustered(a);
        const u32 d_v = Form::d_v(a);
        const auto place = [&](u32 r) {
            const i32 row = w.first + (i32)r;

            return AttendRow(a, s, w.b, rows.token(row), rows.head(row));
        };

        each_result(a, w, 0, 1, [&](u32 r, u32 d) {
            const AttendRow to = place(r);
            const RowPart one = merge<warps>([&](u32 i) {
                return RowPart{all.m[i][r], all.l[i][r],
                               load_pack<2>(&all.o[i][r][d])};
            });

            if (clustered) {
                store_pack(&all.o[0][r][d], one.o);
                if (d == 0)
                    all.block_m[r] = one.m, all.block_l[r] = one.l;
            } else if (a.splits > 1) {
                store_anywhere(to.partial(a, w.split, d_v, d), one.results(1));
                if (d == 0)
                    to.set_partial_sum(a, w.split, d_v, one.l,
                                       one.log2_sum(p_lead<P>));
            } else {
                store_anywhere(to.template out<T>(a, d),
                               finished(a, to, one, d));
            }
        });
#if KPK_SM >= 90
        if (!clustered)
            return;
        cluster_show();
        each_result(a, w, cluster_rank(), cluster_blocks(), [&](u32 r, u32 d) {
            const AttendRow to = place(r);
            const Pack<T, 2> two =
                finished(a, to, merge_blocks(all, a.splits, r, d), d);

            if (a.o_q8_1)
                store_as_q8_1(a, to, d, two);
            else
                store_anywhere(to.template out<T>(a, d), two);
        });
        cluster_show(); /* the other blocks have read */
#endif
    }
    /* fn(row, column) for pairs of results, of which block `rank` of `blocks`
     * takes its share. */
    template <class Fn>
    static DEV_MEMBER void each_result(const AttentionArgs &a, const Work &w,
                                       u32 rank, u32 blocks, Fn fn)
    {
        NO_UNROLL
        for (u32 e = threadIdx.x + rank * warps * 32;
             e < (u32)w.nrows * (D / 2); e += blocks * warps * 32) {
            const u32 d = e % (D / 2) * 2;

            if (d < Form::d_v(a))
                fn(e / (D / 2), d);
        }
    }
    /* Two columns of a finished row; column 0 stores the row's log-sum-exp. */
    static DEV_MEMBER Pack<T, 2> finished(const AttentionArgs &a,
                                          const AttendRow &to,
                                          const RowPart &one, u32 d)
    {
        const Pack<f32, 2> v = one.results(to.template finish<Form>(
            a, one.l, one.log2_sum(p_lead<P>), d == 0));

        return bits_as<Pack<T, 2>>(round_two<T>(v[0], v[1]));
    }

    /* ---- clusters, whose blocks read each other's results from LDS ---- */

    static constexpr u32 most_cluster = 8; /* that any device has */

    /* Whether the splits are the blocks of a cluster. */
    static DEV_MEMBER bool is_clustered(const AttentionArgs &a)
    {
#if KPK_SM >= 90
        return a.splits > 1 && a.splits <= most_cluster &&
               gridDim.x == a.splits && cluster_blocks() == a.splits;
#else
        return false;
#endif
    }
#if KPK_SM >= 90
    /* What blocks of the cluster have, in rank order. */
    static DEV_MEMBER RowPart merge_blocks(const Joined &all, u32 splits, u32 r,
                                           u32 d)
    {
        RowPart part[most_cluster];

        UNROLL
        for (u32 i = 0; i < most_cluster; i++) {
            part[i] = {-infinite, 0, {{0, 0}}};
            if (i < splits)
                part[i] = {cluster_read(&all.block_m[r], i),
                           cluster_read(&all.block_l[r], i),
                           cluster_read_two(&all.o[0][r][d], i)};
        }
        return merge<most_cluster>([&](u32 i) { return part[i]; });
    }
    /* Two numbers of a row as part of a block of Q8_1, and zeros behind the
     * row. The lanes of a warp have columns of the same head. */
    static DEV_MEMBER void store_as_q8_1(const AttentionArgs &a,
                                         const AttendRow &to, u32 d,
                                         const Pack<T, 2> &two)
    {
        const u32 d_v = Form::d_v(a), n = a.h * d_v, head = to.head;
        const u32 padded = (n + 511) / 512 * 512;
        u8 *blocks = (u8 *)a.o_q8_1 +
                     to.of_all * (padded / q8_1_elems) * (u64)q8_1_nbytes;
        const f32 v[2] = {convert<f32>(two[0]), convert<f32>(two[1])};
        /* words; the warp of the row's last columns writes zeros behind it */
        const u32 end = padded / q8_1_elems * (q8_1_nbytes / 4);

        store_q8_1<2, true>(v, blocks, head * d_v + d);
        if (head + 1 < a.h || d + 64 < d_v)
            return;
        NO_UNROLL
        for (u32 i = n / q8_1_elems * (q8_1_nbytes / 4) + threadIdx.x % 32;
             i < end; i += 32)
            reinterpret_cast<u32 *>(blocks)[i] = 0;
    }
#endif
};

/* 16 rows of the queries of the heads that share a head of K, over a part of
 * the keys. */
template <typename T, u32 D, class Form, class Format>
DEV void attend_decode(const AttentionArgs &a)
{
    typedef AttendDecode<T, D, Form, Format> Block;
    __shared__ __attribute__((aligned(128))) u8 lds[Block::lds_nbytes];
    const u32 tiles = max_of(div_up(a.seqlen_q * (a.h / a.h_k), 16u), 1u);

    NO_UNROLL
    for (u32 b = blockIdx.z; b < a.b; b += gridDim.z) {
        NO_UNROLL
        for (u32 y = blockIdx.y; y < a.h_k * tiles; y += gridDim.y) {
            const u32 head = y / tiles;
            const i32 first = (i32)(y % tiles * 16);
            const i32 nrows = min_of(
                Queries<true>(a, Sequence(a, b), head).nrows - first, 16);

            if (nrows <= 0)
                continue;
            NO_UNROLL
            for (u32 split = blockIdx.x; split < max_of(a.splits, 1u);
                 split += gridDim.x) {
                const typename Block::Work w = {b, head, split, first, nrows};

                if (nrows > 8)
                    Block::template run<2>(a, w, lds);
                else
                    Block::template run<1>(a, w, lds);
            }
        }
    }
}
