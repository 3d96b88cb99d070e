/*
 * attend.h - attention by the matrix units of any target
 *
 * A workgroup takes some queries (AttendShape) and walks over the keys that
 * they see, a tile at a time. A wave takes 16 queries, or 32, and all keys of
 * the tile; where a wave's registers do not hold the results of all d columns,
 * and in decoding, where queries are few, waves share the columns, and each
 * computes the scores.
 *
 * Tiles that all of a wave's queries see need no mask. In the others a lane has
 * a bit for each of its scores.
 *
 * Heads wider than 256 go through LDS in parts of 256 columns, one after the
 * other in the same place: first the parts of K, over which scores are summed,
 * then the parts of V. Registers hold the results of 512 columns of V at most,
 * which the waves share, and Q lies in LDS.
 */
#pragma once

#include "attention/kv_tile.h"
#include "attention/online_softmax.h"

template <typename T, u32 D, bool Decode> struct AttendShape {
    typedef Scores<T> S;

    static constexpr bool wide = D > 256;
    static constexpr u32 threads = Decode ? 128 : 256;
    static constexpr u32 waves = threads / matrix_wave;
    /* columns of a tile, and how many tiles the columns of K and of V make */
    static constexpr u32 cols = wide ? 256 : D;
    static constexpr u32 k_parts = (D + cols - 1) / cols,
                         v_parts = wide ? 2 : 1;
    /* Q lies in LDS if it does not fit registers */
    static constexpr bool q_in_lds = !S::has_matrix || wide ||
                                     (KPK_WMMA == 11 && D == 256) ||
                                     (KPK_WMMA && Decode && D > 64);
    static constexpr u32 units = !Decode && KPK_MFMA && !wide ? 2 : 1;
    /* for wide heads; an AMD block has 64 KiB of LDS, an NVIDIA block 48 */
    static constexpr u32 wide_queries = Decode || KPK_NVIDIA ? 16 : 32;
    static constexpr u32 d_waves = Decode ? waves
                                   : wide ? waves * 16 / wide_queries
                                   : matrix_wave == 32 && D > 128 ? 2
                                                                  : 1;
    static constexpr u32 queries = waves / d_waves * units * 16;
    /* rows of queries for each workgroup of the recommended grid */
    static constexpr u32 block_rows = Decode ? 16 : wide ? 32 : 128;
};

/* A workgroup's rows: queries of one head, or, in decoding, of all heads that
 * share a head of K. */
template <bool Decode> struct Queries {
    u32 group; /* heads of K's head, in decoding */
    u32 head0; /* the group's first head */
    i32 nrows;

    DEV_MEMBER Queries(const AttentionArgs &a, const Sequence &s, u32 at)
        : group(Decode ? a.h / a.h_k : 1), head0(at * group),
          nrows(max_of(s.nq, 0) * (i32)group)
    {
    }
    DEV_MEMBER u32 key_head(const AttentionArgs &a) const
    {
        return head0 / (a.h / a.h_k);
    }
    DEV_MEMBER i32 token(i32 row) const
    {
        return Decode ? (i32)((u32)row / group) : row;
    }
    DEV_MEMBER u32 head(i32 row) const
    {
        return Decode ? head0 + (u32)row % group : head0;
    }
    /* a row of Q; rows behind the last one repeat it */
    template <typename T>
    DEV_MEMBER const u8 *at(const AttentionArgs &a, const Sequence &s, u32 b,
                            i32 row) const
    {
        const i32 r = min_of(row, nrows - 1);

        return reinterpret_cast<const u8 *>(
            (const T *)a.q +
            (a.cu_seqlens_q ? s.q_rows * a.q_row : b * a.q_batch) +
            token(r) * a.q_row + head(r) * a.q_head);
    }
    /* 8 elements of a row */
    template <typename T>
    DEV_MEMBER Piece piece(const AttentionArgs &a, const Sequence &s, u32 b,
                           i32 row, u32 which) const
    {
        const u8 *const p = at<T>(a, s, b, row);

        return which * 8 < a.d ? load_piece(p + which * 16) : Piece{};
    }
};

/* The keys seen by all rows from row0 to row0 + n - 1, and by any such row. */
struct SeenKeys {
    i32 first_all, end_all, first_any, end_any;

    template <bool Decode>
    DEV_MEMBER void find(const Sequence &s, const Queries<Decode> &rows,
                         i32 row0, u32 n)
    {
        const i32 last = min_of(row0 + (i32)n, rows.nrows) - 1;
        const i32 first_token = rows.token(min_of(row0, rows.nrows - 1));
        const i32 last_token = rows.token(max_of(last, 0));

        first_any = s.first_key(first_token), end_all = s.end_key(first_token);
        first_all = s.first_key(last_token), end_any = s.end_key(last_token);
        if (row0 >= rows.nrows)
            first_any = end_any = 0;
        else if (s.num_ranges)
            first_any = 0, end_any = s.nk;
    }
};

/* tanh, to about 2^-22 */
DEV f32 tanh_fast(f32 x)
{
    return 1.0f - 2.0f * reciprocal(exp2_fast(x * (2 * log2_e)) + 1.0f);
}

/* bits `first` to in front of `end` of 32; both of any value */
DEV u32 bit_span(i32 first, i32 end)
{
    const u32 from = (u32)min_of(max_of(first, 0), 32);
    const u32 to = (u32)min_of(max_of(end, 0), 32);

    return (u32)((1ull << to) - 1) & ~(u32)((1ull << from) - 1);
}

/*
 * Which rows: of sequence b, of head `head`, or the heads of K's head, from
 * row0 on. Every other number follows from the arguments, which are read again
 * at each use: there are too few scalar registers to keep such numbers.
 */
struct RowsAt {
    u32 b, head;
    i32 row0;
};

template <typename T, u32 D, bool Decode, class Format, class Form>
struct Attend {
    typedef AttendShape<T, D, Decode> Shape;
    typedef Tile<T, Shape::cols, Shape::threads, Format> KeyTile;
    typedef Scores<T> S;
    typedef Unit<T> U;
    typedef Roles<T> R;

    static constexpr u32 units = Shape::units, slots = S::slots;
    static constexpr u32 cols = Shape::cols;
    static constexpr u32 steps = cols / U::k;
    /* units of O for one part of V, and for all parts */
    static constexpr u32 part_units = cols / 16 / Shape::d_waves;
    static constexpr u32 d_units = Shape::v_parts * part_units;
    /* keys whose scores are held at once */
    static constexpr u32 most_held = KPK_MFMA                      ? 128
                                     : KPK_NVIDIA && S::has_matrix ? 64
                                                                   : 32;
    static constexpr u32 chunk =
        KeyTile::keys < most_held ? KeyTile::keys : most_held;
    static constexpr u32 tiles = chunk / 16, groups = chunk / S::keys;
    static constexpr u32 q_part_nbytes = Shape::queries * cols * (u32)sizeof(T);
    static constexpr u32 q_nbytes =
        Shape::q_in_lds ? Shape::k_parts * q_part_nbytes : 0;
    static constexpr u32 lds_nbytes =
        (Shape::wide ? 1 : 2) * KeyTile::nbytes + q_nbytes;

    struct Nothing {
    };
    struct Held {
        typename R::Queries part[units][steps];
    };
    template <bool, typename A, typename B> struct either {
        typedef A type;
    };
    template <typename A, typename B> struct either<false, A, B> {
        typedef B type;
    };

    typename either<Shape::q_in_lds, Nothing, Held>::type q;
    typename U::D o[units][d_units];
    Softmax<Pair> soft[units * slots];
    i32 row0; /* the wave's first */
    u32 d_unit0;
    SeenKeys seen;

    /* ---- queries ---- */

    DEV_MEMBER void begin(const AttentionArgs &a, const Sequence &s,
                          const Queries<Decode> &rows, const RowsAt &where,
                          u8 *lds_q)
    {
        const i32 block_row0 = where.row0;
        const u32 b = where.b;
        const u32 wave = uniform(threadIdx.x / matrix_wave);

        row0 = block_row0 + (i32)(wave / Shape::d_waves * units * 16);
        d_unit0 = wave % Shape::d_waves * part_units;
        if constexpr (Shape::q_in_lds) {
            __syncthreads();
            NO_UNROLL
            for (u32 i = threadIdx.x; i < Shape::queries * D / 8;
                 i += Shape::threads) {
                const u32 row = i / (D / 8), piece = i % (D / 8);

                *reinterpret_cast<Piece *>(
                    lds_q + piece / (cols / 8) * q_part_nbytes +
                    KeyTile::key_at(row, piece % (cols / 8))) =
                    rows.template piece<T>(a, s, b, block_row0 + (i32)row,
                                           piece);
            }
        } else {
            UNROLL
            for (u32 u = 0; u < units; u++) {
                UNROLL
                for (u32 k = 0; k < steps; k++)
                    q.part[u][k] = typename R::Queries([&](u32 row, u32 piece) {
                        return rows.template piece<T>(
                            a, s, b, row0 + (i32)(u * 16 + row),
                            k * U::pieces + piece);
                    });
            }
        }
        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 i = 0; i < d_units; i++)
                o[u][i] = typename U::D{};
            UNROLL
            for (u32 i = 0; i < slots; i++)
                soft[u * slots + i].begin();
        }
        seen.find(s, rows, row0, units * 16);
    }

    /* ---- scores ---- */

    static DEV_MEMBER void clear_scores(typename U::D (&x)[units][tiles])
    {
        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 t = 0; t < tiles; t++)
                x[u][t] = typename U::D{};
        }
    }
    /* The first n steps' products of K and of Q, both in LDS, are added. */
    DEV_MEMBER void add_keys(typename U::D (&x)[units][tiles], const u8 *lds_k,
                             const u8 *lds_q, u32 n) const
    {
        const u32 row = (u32)row0 % Shape::queries;

        NO_UNROLL
        for (u32 k = 0; k < n; k++) {
            const auto fetch = [=](const u8 *from, u32 first) {
                return [=](u32 r, u32 piece) {
                    return *reinterpret_cast<const Piece *>(
                        from +
                        KeyTile::key_at(first + r, k * U::pieces + piece));
                };
            };
            const typename R::Queries y(fetch(lds_q, row));

            UNROLL
            for (u32 t = 0; t < tiles; t++)
                R::multiply(x[0][t], typename R::Keys(fetch(lds_k, t * 16)), y);
        }
    }
    DEV_MEMBER void multiply_keys(typename U::D (&x)[units][tiles],
                                  const u8 *lds_k, const u8 *lds_q) const
    {
        clear_scores(x);
        if constexpr (Shape::q_in_lds) {
            add_keys(x, lds_k, lds_q, steps);
        } else {
            UNROLL
            for (u32 k = 0; k < steps; k++) {
                UNROLL
                for (u32 t = 0; t < tiles; t++) {
                    const typename R::Keys y([=](u32 r, u32 piece) {
                        return *reinterpret_cast<const Piece *>(
                            lds_k +
                            KeyTile::key_at(t * 16 + r, k * U::pieces + piece));
                    });

                    UNROLL
                    for (u32 u = 0; u < units; u++)
                        R::multiply(x[u][t], y, q.part[u][k]);
                }
                schedule_fence();
            }
        }
    }

    /* Scales scores for exp2(), and applies softcap, ALiBi and masks as the
     * arguments say. */
    DEV_MEMBER void finish_scores(typename U::D (&x)[units][tiles],
                                  const AttentionArgs &args,
                                  const RowsAt &where, i32 key0) const
    {
        const AttentionArgs &a = read_again(args);
        const u32 b = where.b;
        const Sequence s(a, b);
        const Queries<Decode> rows(a, s, where.head);
        const i32 lane_key0 = key0 + (i32)(S::lane_group() * S::run);

        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 i = 0; i < slots; i++) {
                const i32 row =
                    min_of(row0 + (i32)(u * 16 + S::query(i)), rows.nrows - 1);
                const i32 token = rows.token(row);
                const i64 position = (i64)token + s.behind;
                const u32 head = rows.head(row);
                const f16 *const mask = Form::mask(a);
                const f32 slope =
                    a.alibi_slopes
                        ? a.alibi_slopes[(u64)b * a.alibi_batch + head]
                        : 1;
                const i64 mask_at = mask ? Form::mask_at(a, b, head, token) : 0;
                u32 sees[groups];

                UNROLL
                for (u32 g = 0; g < groups; g++) {
                    const i32 k0 = lane_key0 + (i32)(g * S::keys);

                    sees[g] = bit_span(s.first_key(token) - k0,
                                       s.end_key(token) - k0);
                }
                s.each_range(position, position + 1, [&](i32 from, i32 to) {
                    UNROLL
                    for (u32 g = 0; g < groups; g++) {
                        const i32 k0 = lane_key0 + (i32)(g * S::keys);

                        sees[g] |= bit_span(from - k0, to - k0);
                    }
                });
                /* fn(score, group of keys, number in the group, key) */
                auto each_score = [&](auto fn) {
                    UNROLL
                    for (u32 t = 0; t < tiles; t++) {
                        UNROLL
                        for (u32 e = 0; e < S::each; e++) {
                            const u32 g = t / S::tiles;
                            const u32 n =
                                t % S::tiles * (S::run / S::tiles) + e;

                            fn(x[u][t].v[S::result(i, e)], g, n,
                               lane_key0 + (i32)(g * S::keys + n));
                        }
                        schedule_fence();
                    }
                };

                each_score([&](f32 &at, u32 g, u32 n, i32 key) {
                    f32 v = at * a.scale;

                    if (a.softcap != 0)
                        v = a.softcap * tanh_fast(v * reciprocal(a.softcap));
                    /* A key that no query sees reads the last one's place: a
                     * predicate for each key would need scalar registers. */
                    if (mask)
                        v +=
                            slope * convert<f32>(
                                        mask[mask_at +
                                             max_of(min_of(key, s.nk - 1), 0)]);
                    else if (a.alibi_slopes)
                        v -= slope * __builtin_fabsf((f32)(position - key));
                    at = sees[g] >> n & 1 ? v * log2_e : -infinite;
                });
            }
        }
    }

    /* ---- exponentials ---- */

    /* If a score exceeded the range of P, everything is scaled down. */
    DEV_MEMBER void raise(const typename U::D (&x)[units][tiles], f32 factor)
    {
        f32 top[units * slots];

        UNROLL
        for (u32 i = 0; i < units * slots; i++) {
            f32 v = -infinite;

            UNROLL
            for (u32 t = 0; t < tiles; t++) {
                UNROLL
                for (u32 e = 0; e < S::each; e++)
                    v = __builtin_fmaxf(
                        v, x[i / slots][t].v[S::result(i % slots, e)]);
            }
            top[i] = v * factor;
        }
        raise_rows(
            soft, top,
            [](f32 v) {
                return S::join(
                    v, [](f32 p, f32 r) { return __builtin_fmaxf(p, r); });
            },
            [&](u32 i, f32 down) {
                UNROLL
                for (u32 n = 0; n < d_units; n++) {
                    UNROLL
                    for (u32 e = 0; e < S::each; e++)
                        o[i / slots][n].v[S::result(i % slots, e)] *= down;
                }
            });
    }
    /* a lane's P of a group of keys, in pairs */
    typedef u32 Weights[units][slots][S::run / 2];

    /* P of the keys of group g, which are added to l */
    DEV_MEMBER void exponentials(const typename U::D (&x)[units][tiles],
                                 f32 factor, u32 g, Weights &p)
    {
        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 i = 0; i < slots; i++) {
                Softmax<Pair> &row = soft[u * slots + i];
                const f32 lift = p_lead<T> - row.m;

                UNROLL
                for (u32 n = 0; n < S::run; n += 2) {
                    constexpr u32 in_tile = S::run / S::tiles;
                    const f32 *from = x[u][g * S::tiles + n / in_tile].v;
                    const u32 e = n % in_tile;
                    Pair v = {from[S::result(i, e)], from[S::result(i, e + 1)]};

                    v = fused_pair(v, factor, lift);
                    v[0] = exp2_fast(v[0]);
                    v[1] = exp2_fast(v[1]);
                    row.l = add_pair(row.l, v);
                    p[u][i][n / 2] = pack_two<T>(v);
                }
            }
        }
    }
    /* The products of P and a part of V's columns. */
    DEV_MEMBER void multiply_values(const Weights &p, u32 g, u32 part,
                                    const u8 *lds_v, u32 piece0)
    {
        typename R::Queries shared[units][S::operands];

        UNROLL
        for (u32 u = 0; u < units; u++)
            share_out<T>(p[u], shared[u]);
        UNROLL
        for (u32 n = 0; n < part_units; n++) {
            UNROLL
            for (u32 k = 0; k < S::operands; k++) {
                const u32 unit = d_unit0 + n;
                const u32 flip = KeyTile::unit_flip(unit, piece0);
                const typename R::Keys y([=](u32 r, u32 piece) {
                    const u32 of_unit = KeyTile::value_at(
                        r, g * (S::keys / 8) + k * U::pieces + piece);

                    return *reinterpret_cast<const Piece *>(
                        lds_v + KeyTile::unit_at(unit) + (of_unit ^ flip));
                });

                UNROLL
                for (u32 u = 0; u < units; u++)
                    R::multiply(o[u][part * part_units + n], y, shared[u][k]);
            }
        }
    }
    DEV_MEMBER void add_values(const typename U::D (&x)[units][tiles],
                               f32 factor, const u8 *lds_v, u32 piece0)
    {
        UNROLL
        for (u32 g = 0; g < groups; g++) {
            Weights p;

            exponentials(x, factor, g, p);
            multiply_values(p, g, 0, lds_v, piece0);
            schedule_fence();
        }
    }
    /* Whether scores are more than scale times products. */
    static DEV_MEMBER bool is_changed(const AttentionArgs &a)
    {
        return a.softcap != 0 || a.alibi_slopes || !(a.scale > 0) ||
               Form::mask(a);
    }
    /* Attends to every key of a tile in LDS. */
    DEV_MEMBER void take(const AttentionArgs &a, const RowsAt &where,
                         i32 tile_key0, const u8 *lds_k, const u8 *lds_v,
                         const u8 *lds_q)
    {
        const bool changed = is_changed(a);

        NO_UNROLL
        for (u32 c = 0; c < KeyTile::keys; c += chunk) {
            const i32 key0 = tile_key0 + (i32)c, end = key0 + (i32)chunk;
            typename U::D x[units][tiles];
            f32 factor = a.scale * log2_e;

            if (end <= seen.first_any || key0 >= seen.end_any)
                continue;
            multiply_keys(x, lds_k + c * D * sizeof(T), lds_q);
            if (changed || key0 < seen.first_all || end > seen.end_all) {
                finish_scores(x, a, where, key0);
                factor = 1;
            }
            raise(x, factor);
            add_values(x, factor, lds_v + c / 64 * 8 * sizeof(Piece),
                       c / 8 % 8);
        }
    }

    /* ---- results ---- */

    DEV_MEMBER void finish(const AttentionArgs &a, const RowsAt &where,
                           u32 split) const
    {
        const u32 b = where.b;
        const Sequence s(a, b);
        const Queries<Decode> rows(a, s, where.head);
        const u32 d_v = Form::d_v(a);

        UNROLL
        for (u32 u = 0; u < units; u++) {
            UNROLL
            for (u32 i = 0; i < slots; i++) {
                const Softmax<Pair> &mine = soft[u * slots + i];
                const f32 sum = S::join(mine.l[0] + mine.l[1],
                                        [](f32 p, f32 r) { return p + r; });
                const f32 log2_sum = mine.m - p_lead<T> + log2f(sum);
                f32 scale = p_excess<T>::factor * reciprocal(sum);
                const bool sets_sum = S::lane_group() == 0 && d_unit0 == 0;
                const i32 row = row0 + (i32)(u * 16 + S::query(i));
                const AttendRow to(a, s, b, rows.token(row), rows.head(row));

                if (row >= rows.nrows)
                    continue;
                if (a.splits <= 1)
                    scale *=
                        to.template finish<Form>(a, sum, log2_sum, sets_sum);
                else if (sets_sum)
                    to.set_partial_sum(a, split, d_v, sum, log2_sum);

                /* one address, because all results are still in registers */
                void *const base = a.splits > 1
                                       ? (void *)to.partial(a, split, d_v, 0)
                                       : (void *)to.template out<T>(a, 0);

                UNROLL
                for (u32 n = 0; n < d_units; n++) {
                    const u32 d = n / part_units * cols +
                                  (d_unit0 + n % part_units) * 16 +
                                  S::lane_group() * S::each;
                    Pack<f32, S::each> v;
                    Pack<T, S::each> rounded;

                    UNROLL
                    for (u32 e = 0; e < S::each; e++) {
                        v[e] =
                            sum == 0 ? 0 : o[u][n].v[S::result(i, e)] * scale;
                        rounded[e] = convert<T>(v[e]);
                    }
                    if (d >= d_v)
                        continue;
                    if (a.splits > 1)
                        store_anywhere((f32 *)base + d, v);
                    else
                        store_anywhere((T *)base + d, rounded);
                }
            }
        }
    }

    /* ---- a workgroup's queries, over one split of the keys ---- */

    static DEV_MEMBER void run(const AttentionArgs &args, const RowsAt &where,
                               u32 split, u8 *lds)
    {
        const AttentionArgs &a = read_again(args);
        constexpr i32 keys = (i32)KeyTile::keys;
        const Sequence s(a, where.b);
        const Queries<Decode> rows(a, s, where.head);
        const u32 k_head = rows.key_head(a);
        const u8 *const k_base = first_row<Format>(
            a, s, where.b, k_head, a.k, a.k_batch, a.k_row, a.k_head);
        const u8 *const v_base = first_row<Format>(
            a, s, where.b, k_head, a.v, a.v_batch, a.v_row, a.v_head);
        const i32 last =
            min_of(where.row0 + (i32)Shape::queries, rows.nrows) - 1;
        const KeySpan span =
            seen_by(s, rows.token(where.row0), rows.token(last));
        u8 *const lds_q = lds + lds_nbytes - q_nbytes;
        i32 tile = span.first / keys;
        i32 end = max_of(span.end, 0) / keys + (max_of(span.end, 0) % keys > 0);
        Attend w;

        if (Decode && a.splits > 1) {
            const u32 each = div_up((u32)max_of(end - tile, 0), a.splits);

            tile += (i32)(split * each);
            end = min_of(end, tile + (i32)each);
        }
        w.begin(a, s, rows, where, lds_q);
        if constexpr (Shape::wide)
            w.take_parts(args, where, k_base, v_base, span, tile, end, lds,
                         lds_q);
        else
            w.take_tiles(args, where, k_base, v_base, span, tile, end, lds,
                         lds_q);
        w.finish(read_again(args), where, split);
    }

    /* Processes tiles `tile` to end - 1; the next tile is loaded meanwhile. */
    DEV_MEMBER void take_tiles(const AttentionArgs &args, const RowsAt &where,
                               const u8 *k_base, const u8 *v_base,
                               const KeySpan &span, i32 tile, i32 end, u8 *lds,
                               const u8 *lds_q)
    {
        constexpr i32 keys = (i32)KeyTile::keys;
        u8 *lds_k = lds, *lds_v = lds + KeyTile::nbytes;
        KeyTile staged;

        NO_UNROLL
        for (i32 at = tile - 1; at < end; at++) {
            const AttentionArgs &again = read_again(args);

            if (at >= tile) {
                __syncthreads();
                staged.store(lds_k, lds_v, again.d);
                __syncthreads();
            }
            if (at + 1 < end)
                staged.load(key_rows<Format>(again, where.b, k_base,
                                             again.k_batch, again.k_row),
                            key_rows<Format>(again, where.b, v_base,
                                             again.v_batch, again.v_row),
                            (at + 1) * keys, span, again.d, Form::d_v(again));
            if (at >= tile)
                take(again, where, at * keys, lds_k, lds_v, lds_q);
        }
    }

    /* ---- heads wider than a tile ---- */

    /* Columns that part `part` has of `width`. */
    static DEV_MEMBER u32 part_of(u32 width, u32 part)
    {
        return min_of(width - part * cols, cols);
    }
    static DEV_MEMBER void load_keys(KeyTile &staged, const AttentionArgs &args,
                                     const RowsAt &where, const u8 *base,
                                     const KeySpan &span, i32 key0, u32 part)
    {
        const AttentionArgs &a = read_again(args);

        staged.load_keys(
            key_rows<Format>(a, where.b,
                             base + format_nbytes<Format>(part * cols),
                             a.k_batch, a.k_row),
            key0, span, part_of(a.d, part));
    }
    static DEV_MEMBER void load_values(KeyTile &staged,
                                       const AttentionArgs &args,
                                       const RowsAt &where, const u8 *base,
                                       const KeySpan &span, i32 key0, u32 part)
    {
        const AttentionArgs &a = read_again(args);

        staged.load_values(
            key_rows<Format>(a, where.b,
                             base + format_nbytes<Format>(part * cols),
                             a.v_batch, a.v_row),
            key0, span, part_of(Form::d_v(a), part));
    }
    /* Processes tiles `tile` to end - 1 in parts. The next part is loaded
     * meanwhile, except in decoding on AMD's GPUs, where results leave no
     * registers for it. */
    DEV_MEMBER void take_parts(const AttentionArgs &args, const RowsAt &where,
                               const u8 *k_base, const u8 *v_base,
                               const KeySpan &span, i32 tile, i32 end, u8 *lds,
                               const u8 *lds_q)
    {
        constexpr i32 keys = (i32)KeyTile::keys;
        constexpr bool ahead = KPK_NVIDIA || !Decode;
        static_assert(!Shape::wide || chunk == KeyTile::keys, "held at once");
        KeyTile staged;

        if (ahead && tile < end)
            load_keys(staged, args, where, k_base, span, tile * keys, 0);
        NO_UNROLL
        for (; tile < end; tile++) {
            const i32 key0 = tile * keys;
            typename U::D x[units][tiles];
            Weights p[groups];

            clear_scores(x);
            NO_UNROLL
            for (u32 part = 0; part * cols < read_again(args).d; part++) {
                const u32 width = part_of(read_again(args).d, part);

                if (!ahead)
                    load_keys(staged, args, where, k_base, span, key0, part);
                __syncthreads();
                staged.store_keys(lds, width, this_thread<Shape::threads>());
                __syncthreads();
                if (ahead && (part + 1) * cols < read_again(args).d)
                    load_keys(staged, args, where, k_base, span, key0,
                              part + 1);
                else if (ahead)
                    load_values(staged, args, where, v_base, span, key0, 0);
                add_keys(x, lds, lds_q + part * q_part_nbytes,
                         div_up(width, U::k));
            }
            weigh(x, read_again(args), where, key0, p);
            UNROLL
            for (u32 part = 0; part < Shape::v_parts; part++) {
                if (part * cols >= Form::d_v(read_again(args)))
                    continue;
                if (!ahead)
                    load_values(staged, args, where, v_base, span, key0, part);
                __syncthreads();
                staged.store_values(lds, this_thread<Shape::threads>());
                __syncthreads();
                if (ahead && (part + 1) * cols < Form::d_v(read_again(args)))
                    load_values(staged, args, where, v_base, span, key0,
                                part + 1);
                else if (ahead && tile + 1 < end)
                    load_keys(staged, args, where, k_base, span, key0 + keys,
                              0);
                UNROLL
                for (u32 g = 0; g < groups; g++) {
                    multiply_values(p[g], g, part, lds, 0);
                    schedule_fence();
                }
            }
        }
    }
    /* P of a tile's scores */
    DEV_MEMBER void weigh(typename U::D (&x)[units][tiles],
                          const AttentionArgs &a, const RowsAt &where, i32 key0,
                          Weights (&p)[groups])
    {
        f32 factor = a.scale * log2_e;

        if (is_changed(a) || key0 < seen.first_all ||
            key0 + (i32)chunk > seen.end_all) {
            finish_scores(x, a, where, key0);
            factor = 1;
        }
        raise(x, factor);
        UNROLL
        for (u32 g = 0; g < groups; g++)
            exponentials(x, factor, g, p[g]);
    }
};

/* Queries of one head, 128 a block, or 32 of a wide head. */
template <typename T, u32 D, class Form>
DEV void attention(const AttentionArgs &args)
{
    typedef Attend<T, D, false, PlainFormat<T>, Form> Block;
    typedef typename Block::Shape Shape;
    constexpr i32 rows = (i32)Shape::block_rows;
    __shared__ __attribute__((aligned(16))) u8 lds[Block::lds_nbytes];

    NO_UNROLL
    for (u32 b = blockIdx.z; b < read_again(args).b; b += gridDim.z) {
        NO_UNROLL
        for (u32 h = blockIdx.y; h < read_again(args).h; h += gridDim.y) {
            /* the last queries first: with a causal mask they see most */
            NO_UNROLL
            for (u32 at = blockIdx.x;; at += gridDim.x) {
                const i32 nq = Sequence(read_again(args), b).nq;
                const i32 first = (nq - 1) / rows * rows - (i32)at * rows;

                if (nq <= 0 || at > (u32)(nq - 1) / (u32)rows)
                    break;
                NO_UNROLL
                for (i32 row = 0; row < min_of(rows, nq - first);
                     row += (i32)Shape::queries)
                    Block::run(args, RowsAt{b, h, first + row}, 0, lds);
            }
        }
    }
}

/* Every query of the heads with a common head of K, over a part of the keys. */
template <typename T, u32 D, class Format, class Form>
DEV void attention_decode(const AttentionArgs &args)
{
    typedef Attend<T, D, true, Format, Form> Block;
    __shared__ __attribute__((aligned(16))) u8 lds[Block::lds_nbytes];

    NO_UNROLL
    for (u32 b = blockIdx.z; b < read_again(args).b; b += gridDim.z) {
        NO_UNROLL
        for (u32 h = blockIdx.y; h < read_again(args).h_k; h += gridDim.y) {
            const AttentionArgs &a = read_again(args);
            const i32 nrows = Queries<true>(a, Sequence(a, b), h).nrows;

            NO_UNROLL
            for (u32 split = blockIdx.x;
                 split < max_of(read_again(args).splits, 1u);
                 split += gridDim.x) {
                NO_UNROLL
                for (i32 row = 0; row < nrows;
                     row += (i32)Block::Shape::queries)
                    Block::run(args, RowsAt{b, h, row}, split, lds);
            }
        }
    }
}
