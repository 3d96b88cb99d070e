/* operations.h - the operations of fast_* on the elements of an output */
#pragma once

#include "reduce/add_up.h"
#include "reduce/row.h"

/*
 * An operation: `value` is a partial result and start() the empty one. take()
 * adds element i of the line, take_pack() a pack from i on, operator() merges
 * two values, and result() gives the number to store. The result of `ordered`
 * operations depends on the order. Operations with `names_packs` have
 * name_pack() too: the value then names a pack, and locate() finds the element
 * when it reads the pack again, once a line.
 */
template <typename OP, u32 V, typename T>
DEV void take_each(typename OP::value &v, const Pack<T, V> &x, u32 i)
{
    UNROLL
    for (u32 k = 0; k < V; k++)
        OP::take(v, x[k], i + k);
}

template <typename T> struct sum_of {
    using value = typename kept<T>::sum;
    using result_type = T;
    static constexpr bool ordered = traits<T>::is_float;
    static constexpr bool idempotent = false;
    static constexpr bool names_packs = false;

    static DEV_MEMBER value start()
    {
        return 0;
    }
    static DEV_MEMBER void take(value &v, T x, u32)
    {
        v += convert<value>(x);
    }
    template <u32 V>
    static DEV_MEMBER void take_pack(value &v, const Pack<T, V> &x, u32 i)
    {
        if constexpr (sizeof(T) == 1 && V == 16) {
            const Pack<u32, 4> words = bits_as<Pack<u32, 4>>(x);

            /* bytes in pairs: only the low eight bits of v count */
            UNROLL
            for (u32 w = 0; w < 4; w++) {
                const u32 pairs =
                    (words[w] & 0xff00ff) + (words[w] >> 8 & 0xff00ff);

                v += pairs + (pairs >> 16);
            }
        } else {
            take_each<sum_of>(v, x, i);
        }
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return a + b;
    }
    static DEV_MEMBER T result(value v, u64, u64, u64, const size_t *)
    {
        return convert<T>(v);
    }
};

template <typename T, bool MAX> struct extreme_of {
    using value = typename kept<T>::order;
    using result_type = T;
    static constexpr bool ordered = false;
    static constexpr bool idempotent = true;
    static constexpr bool names_packs = false;

    static DEV_MEMBER value start()
    {
        return MAX ? lowest<T, value>() : highest<T, value>();
    }
    static DEV_MEMBER value pick(value a, value b)
    {
        if constexpr (traits<T>::is_small) /* NaN stays */
            return MAX ? max_or_nan(a, b) : min_or_nan(a, b);
        else
            return MAX ? max_number(a, b) : min_number(a, b);
    }
    static DEV_MEMBER void take(value &v, T x, u32)
    {
        v = pick(v, convert<value>(x));
    }
    template <u32 V>
    static DEV_MEMBER void take_pack(value &v, const Pack<T, V> &x, u32 i)
    {
        take_each<extreme_of>(v, x, i);
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return pick(a, b);
    }
    static DEV_MEMBER T result(value v, u64, u64, u64, const size_t *)
    {
        return convert<T>(v);
    }
};

template <typename V> struct indexed {
    V v;
    u32 i;
};

template <typename T, bool MAX> struct index_of {
    using order = typename kept<T>::order;
    using value = indexed<order>;
    using result_type = u32;
    static constexpr bool ordered = false;
    static constexpr bool idempotent = true;
    static constexpr bool names_packs = true;
    static constexpr u32 none = 0xffffffff;

    static DEV_MEMBER value start()
    {
        return {MAX ? lowest<T, order>() : highest<T, order>(), none};
    }
    /* NaN beats all but NaN */
    static DEV_MEMBER bool better(order x, order than)
    {
        if constexpr (traits<T>::is_float)
            return !(MAX ? x <= than : x >= than) && than == than;
        else
            return MAX ? x > than : x < than;
    }
    /* a thread meets its elements in ascending order */
    static DEV_MEMBER void take(value &v, T x, u32 i)
    {
        const order w = convert<order>(x);

        if (better(w, v.v) || v.i == none)
            v = {w, i};
    }
    template <u32 V> static DEV_MEMBER order best_of(const Pack<T, V> &x)
    {
        order best = convert<order>(x[0]);

        UNROLL
        for (u32 k = 1; k < V; k++) {
            const order w = convert<order>(x[k]);

            best = MAX ? max_or_nan(best, w) : min_or_nan(best, w);
        }
        return best;
    }
    /* few packs hold anything better than the thread's best so far */
    template <u32 V>
    static DEV_MEMBER void take_pack(value &v, const Pack<T, V> &x, u32 i)
    {
        if (better(best_of(x), v.v) || v.i == none)
            take_each<index_of>(v, x, i);
    }
    /* Records the pack by its first element; locate() finds the element. */
    template <u32 V>
    static DEV_MEMBER void name_pack(value &v, const Pack<T, V> &x, u32 i)
    {
        const order best = best_of(x);

        if (better(best, v.v) || v.i == none)
            v = {best, i};
    }
    template <u32 V>
    static DEV_MEMBER void locate(value &v, const Pack<T, V> &x)
    {
        u32 at = V - 1;

        UNROLL
        for (u32 k = V - 1; k > 0; k--) {
            const order w = convert<order>(x[k - 1]);

            at = w == v.v || w != w ? k - 1 : at;
        }
        v.i += at;
    }
    DEV_MEMBER value operator()(value a, value b) const
    {
        return better(b.v, a.v) || (!better(a.v, b.v) && b.i < a.i) ? b : a;
    }
    static DEV_MEMBER u32 result(value v, u64 first, u64 R, u64 num_dims,
                                 const size_t *info)
    {
        const u64 last = num_dims > 0 ? info[num_dims - 1] : 1;

        if (last == R) /* one reduced dim, beginning at `first` */
            return v.i;
        return last > 0 ? (u32)((first + v.i) % last) : none;
    }
};
