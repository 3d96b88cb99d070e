/*
 * sort/item.h - a value and its column, made one number in the order of the
 * sort
 *
 * Items of a row are unique, so any way to sort them is stable.
 */
#pragma once

#include "convert.h"
#include "device.h"

/*
 * A value as an unsigned number in the same order. Signed integers have their
 * sign bit flipped; negative floats have all bits flipped, positive ones the
 * sign bit. Zeros become equal, and NaN the largest.
 */
template <typename U, typename T> DEV U ordered(T x)
{
    constexpr u32 nbits = 8 * sizeof(T);
    constexpr U sign = (U)1 << (nbits - 1);
    constexpr U all = sign | (sign - 1);
    typedef typename Word<sizeof(T)>::type Bits;
    if constexpr (traits<T>::is_float) {
        U bits;
        if constexpr (sizeof(T) == 8)
            bits = bits_as<u64>(x);
        else
            bits = bits_as<Bits>(x);
        if (x != x)
            return all;
        if (x == 0)
            return sign;
        return (bits & sign) != 0 ? bits ^ all : bits | sign;
    } else if constexpr ((T)-1 < (T)0) {
        return ((U)x & all) ^ sign;
    } else {
        return (U)x;
    }
}

/* An 8 or 16 bit value and a column below 65535. */
struct Narrow {
    u32 word;
};
/* Up to 32 bits, and any column. */
struct Wide {
    u64 word;
};
struct Widest {
    u32 column, low, high;
};

DEV bool less(Narrow a, Narrow b)
{
    return a.word < b.word;
}
DEV bool less(Wide a, Wide b)
{
    return a.word < b.word;
}
DEV bool less(const Widest &a, const Widest &b)
{
    const u64 ka = (u64)a.high << 32 | a.low;
    const u64 kb = (u64)b.high << 32 | b.low;
    return ka < kb || (ka == kb && a.column < b.column);
}

/* Spelled out, or the compiler would choose between addresses. */
template <typename Item> DEV Item choose(bool first, Item a, Item b)
{
    return Item{first ? a.word : b.word};
}
DEV Widest choose(bool first, const Widest &a, const Widest &b)
{
    return Widest{first ? a.column : b.column, first ? a.low : b.low,
                  first ? a.high : b.high};
}

DEV u32 column_of(Narrow a)
{
    return a.word & 0xffffu;
}
DEV u32 column_of(Wide a)
{
    return (u32)a.word;
}
DEV u32 column_of(const Widest &a)
{
    return a.column;
}

template <typename Item, bool descending, typename T>
DEV Item make_item(T x, u32 column)
{
    if constexpr (is_same<Item, Narrow>::value) {
        const u32 key = ordered<u32>(x);
        return Narrow{(descending ? ~key : key) << 16 | column};
    } else if constexpr (is_same<Item, Wide>::value) {
        const u32 key = ordered<u32>(x);
        return Wide{(u64)(descending ? ~key : key) << 32 | column};
    } else {
        u64 key = ordered<u64>(x);
        key = descending ? ~key : key;
        return Widest{column, (u32)key, (u32)(key >> 32)};
    }
}

template <typename Item> struct ItemWords {
    u32 w[sizeof(Item) / 4];
};

/* The item for places behind the row's end, larger than any other. */
template <typename Item> DEV Item last_item()
{
    ItemWords<Item> words;
    UNROLL
    for (u32 w = 0; w < sizeof(Item) / 4; w++)
        words.w[w] = ~0u;
    return bits_as<Item>(words);
}
