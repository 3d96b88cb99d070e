/*
 * conv_mma.h - what a warp of a convolution multiplies, from LDS
 *
 * 16 output channels by 16 positions. Rows of 32 bytes of terms: of the kernel
 * one for an output channel, of the inputs one for a position, or, where
 * positions lie side by side, a row of positions for each term.
 */
#pragma once

#include "conv/image_tile.h"
#include "matrix/target_unit.h"
#include "nvidia/copy/mma_operands.h"
#if KPK_WARPGROUPS
#include "nvidia/unit/wgmma.h"
#endif

/* Whether warpgroups multiply 64 channels by 64 positions. */
template <typename T>
constexpr bool conv_has_groups = KPK_WARPGROUPS && sizeof(T) == 2;

template <typename T> struct ConvMma {
    struct Positions {
        u32 v[4];

        DEV_MEMBER explicit Positions(u32 lds)
        {
            load_matrices(v, lds);
        }
        /* a row of positions for each term, `pitch` bytes apart; `lds` is moved
         * by lane_at() */
        DEV_MEMBER Positions(u32 lds, u32)
        {
            load_matrices_trans(v, lds);
        }
        static DEV_MEMBER u32 lane_at(u32 pitch)
        {
            const u32 l = threadIdx.x % 32;

            return l % 16 * pitch + l / 16 * 16;
        }
    };
#if KPK_WARPGROUPS
    /* The warpgroup's operand at `lds`: 64 rows, pieces `pitch` bytes apart. */
    static DEV_MEMBER u64 rows64(u32 lds, u32 pitch)
    {
        return (u64)((lds & 0x3ffff) >> 4) | (u64)(pitch >> 4) << 16 |
               (u64)(128 >> 4) << 32;
    }
#endif
    /* added to the kernel's address for the next positions; see ConvMma<f32> */
    static DEV_MEMBER u32 again(const Conv &)
    {
        return 0;
    }
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        u32 a[4];

        load_matrices(a, lds);
        UNROLL
        for (u32 j = 0; j < 2; j++)
            MmaOp<T>::call(sums[j], a, b.v[j * 2], b.v[j * 2 + 1]);
    }
};

/*
 * f32 as the sum of two numbers of 11 bits, by tf32's instructions. The product
 * of the two lower ones, at most 2^-22 of the whole, is left out, and so are
 * the last bits of the lower ones. Infinite numbers become NaN. The matrix
 * units cut sums off: they add up 8 channels, and the rest is added with
 * rounding, or thousands of terms would all be too small.
 */
DEV void mma_tf32(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <> struct ConvMma<f32> {
    struct Split {
        u32 high[4], low[4];

        DEV_MEMBER explicit Split(u32 lds)
        {
            load_matrices(low, lds);
            split();
        }
        DEV_MEMBER Split(u32 lds, u32 pitch)
        {
            UNROLL
            for (u32 i = 0; i < 4; i++)
                low[i] = load_word(lds + i % 2 * 4 * pitch + i / 2 * 32);
            split();
        }
        static DEV_MEMBER u32 lane_at(u32 pitch)
        {
            const u32 l = threadIdx.x % 32;

            return l % 4 * pitch + l / 4 * 4;
        }
        /* Loads a word from an LDS address: pointers would each get registers
         * of their own. */
        static DEV_MEMBER u32 load_word(u32 lds)
        {
            u32 word;

            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(lds));
            return word;
        }
        DEV_MEMBER void split()
        {
            UNROLL
            for (u32 i = 0; i < 4; i++) {
                high[i] = (low[i] + 0x1000) & 0xffffe000u;
                low[i] =
                    bits_as<u32>(bits_as<f32>(low[i]) - bits_as<f32>(high[i]));
            }
        }
    };
    typedef Split Positions;
    /* 0, but the compiler does not know: so it loads and splits the kernel's
     * elements again for the next positions. Kept in registers, these elements
     * would be spilled. */
    static DEV_MEMBER u32 again(const Conv &v)
    {
        return (u32)v.x.b >> 30;
    }
    static DEV_MEMBER void multiply(f32 (&sums)[2][4], u32 lds,
                                    const Positions &b)
    {
        const Split a(lds);

        UNROLL
        for (u32 j = 0; j < 2; j++) {
            const u32 at = j * 2;
            f32 part[4] = {};

            mma_tf32(part, a.low, b.high[at], b.high[at + 1]);
            mma_tf32(part, a.high, b.low[at], b.low[at + 1]);
            mma_tf32(part, a.high, b.high[at], b.high[at + 1]);
            UNROLL
            for (u32 k = 0; k < 4; k++)
                sums[j][k] += part[k];
        }
    }
};
