/*
 * conv_copy.h - the operands of a convolution, from memory to a stage in LDS
 *
 * Rows of an operand are output channels of the kernel, or positions. Element k
 * of a row lies at the row's place plus term k's (conv_plan.h); terms that are
 * not in the image are zeros. In a stage, pieces of 16 bytes of terms lie row
 * by row, so that 8 rows of a piece are in different banks; where rows lie side
 * by side in memory, they do so in the stage. Which lanes bring what depends on
 * what lies side by side in memory: neighbours read neighbours.
 */
#pragma once

#include "nvidia/conv/conv_plan.h"
#include "nvidia/copy/async_copy.h"

template <u32 Size> struct BitsOf {
    typedef u16 type;
};
template <> struct BitsOf<4> {
    typedef u32 type;
};

template <typename T> struct ConvCopy {
    using Plan = ConvPlan<T>;
    using Shape = typename Plan::Shape;
    using Operand = typename Plan::Operand;
    using Bits = typename BitsOf<sizeof(T)>::type;
    static constexpr u32 n16 = per16<T>::value;

    const Shape &at;
    const Operand &operand;
    const u8 *from;
    const ConvRow *rows;
    const ConvTerm *terms;
    u32 mask, log_blocks;
    u32 to; /* LDS address of the operand in a stage */

    /* operand 0 is the kernel, 1 the image */
    DEV_MEMBER ConvCopy(const Shape &shape, u8 *lds, u32 which,
                        const ConvTerm *stage_terms, u32 stage)
        : at(shape), operand(shape.operand[which]),
          from(reinterpret_cast<const u8 *>(operand.from)),
          rows(reinterpret_cast<const ConvRow *>(lds + operand.rows_at)),
          terms(stage_terms), mask(TapWords(shape.v.flat).mask()),
          log_blocks(shape.log_blocks), to(stage + operand.stage_at)
    {
    }
    DEV_MEMBER void run() const
    {
        const u32 way = operand.way, grain = operand.log_grain;

        if (way == conv_gather)
            gather();
        else if (way == conv_along_k && grain == 4)
            along_k<16>();
        else if (way == conv_along_k && grain == 3)
            along_k<8>();
        else if (way == conv_along_k)
            along_k<4>();
        else if (grain == 4)
            along_rows<16>();
        else if (grain == 3)
            along_rows<8>();
        else
            along_rows<4>();
    }
    DEV_MEMBER bool is_there(const ConvRow &row, const ConvTerm &term) const
    {
        return ((row.outside + term.tap) & mask) == 0;
    }
    DEV_MEMBER const u8 *place(const ConvRow &row, const ConvTerm &term) const
    {
        return from + row.at + term.at;
    }
    /* two terms by one load */
    struct TermPair {
        ConvTerm term[2];
    };
    DEV_MEMBER TermPair terms_at(u32 k) const
    {
        return bits_as<TermPair>(
            load_raw<4>(reinterpret_cast<const u32 *>(terms + k)));
    }
    /* Neighbouring lanes have neighbouring rows. */
    DEV_MEMBER void gather() const
    {
        const u32 log_rows = operand.log_rows,
                  end = 2 << log_blocks << log_rows;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < end; i += blockDim.x) {
            const u32 r = i & ((1u << log_rows) - 1), piece = i >> log_rows;
            const ConvRow row = rows[r];
            Pack<Bits, n16> in;

            UNROLL
            for (u32 e = 0; e < n16; e += 2) {
                const TermPair two = terms_at(piece * n16 + e);

                UNROLL
                for (u32 j = 0; j < 2; j++)
                    in[e + j] = is_there(row, two.term[j])
                                    ? __ldg(reinterpret_cast<const Bits *>(
                                          place(row, two.term[j])))
                                    : 0;
            }
            store_lds(to + piece * operand.pitch + r * 16, in);
        }
    }
    static DEV_MEMBER void store_lds(u32 lds, const Pack<Bits, n16> &in)
    {
        const auto raw = bits_as<Raw<u32, 4>>(in);

        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(lds),
                     "r"(raw.x), "r"(raw.y), "r"(raw.z), "r"(raw.w)
                     : "memory");
    }
    /* Neighbouring lanes have neighbouring terms. */
    template <u32 n> DEV_MEMBER void along_k() const
    {
        const u32 log_pieces = 1 + log_blocks;
        const u32 end = 1u << operand.log_rows << log_pieces;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < end; i += blockDim.x) {
            const u32 r = i >> log_pieces, piece = i & ((1u << log_pieces) - 1);
            const ConvRow row = rows[r];

            UNROLL
            for (u32 b = 0; b < 16; b += n) {
                const ConvTerm term = terms[(piece * 16 + b) / sizeof(T)];

                copy<n>(to + piece * operand.pitch + r * 16 + b,
                        place(row, term), is_there(row, term));
            }
        }
    }
    /* Neighbouring lanes have neighbouring rows, some rows each. */
    template <u32 n> DEV_MEMBER void along_rows() const
    {
        constexpr u32 each = n / sizeof(T);
        const u32 log_pieces = operand.log_rows - constant_log2(each);
        const u32 end = at.stage_terms() << log_pieces;

        NO_UNROLL
        for (u32 i = threadIdx.x; i < end; i += blockDim.x) {
            const u32 k = i >> log_pieces, piece = i & ((1u << log_pieces) - 1);
            const ConvRow row = rows[piece * each];

            copy<n>(to + k * operand.pitch + piece * n, place(row, terms[k]),
                    is_there(row, terms[k]));
        }
    }
    template <u32 n>
    DEV_MEMBER void copy(u32 lds, const u8 *it, bool there) const
    {
        if (!there)
            it = from;
        if constexpr (n == 16)
            async_copy_part(lds, it, there ? 16 : 0);
        else
            async_copy_few<n>(lds, it, there ? n : 0);
    }
};
