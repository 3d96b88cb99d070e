/*
 * mma_unit.h - matrix_unit.h's row for sm_80 and later
 *
 * mma's k stands in pieces of 8 bytes here and 8 bytes further on, where a
 * lane's piece has them side by side: k is permuted alike in A and in B. The
 * products come in two halves of 8 columns, of which a lane has in row l/4 and
 * in row l/4+8 the columns 2(l%4) and the next.
 */
#pragma once

#include "matrix_unit.h"

/* 16 rows of 32 bytes times 8 columns */
template <typename T> struct MmaOp;
#define MMA_OP(T, sum, shape, reg)                                             \
    template <> struct MmaOp<T> {                                              \
        static DEV_MEMBER void call(sum (&d)[4], const u32 (&a)[4], u32 b0,    \
                                    u32 b1)                                    \
        {                                                                      \
            asm("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, "    \
                "{%8,%9}, {%0,%1,%2,%3};"                                      \
                : "+" reg(d[0]), "+" reg(d[1]), "+" reg(d[2]), "+" reg(d[3])   \
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),         \
                  "r"(b1));                                                    \
        }                                                                      \
    };
MMA_OP(f16, f32, "m16n8k16.row.col.f32.f16.f16.f32", "f")
MMA_OP(bf16, f32, "m16n8k16.row.col.f32.bf16.bf16.f32", "f")
MMA_OP(i8, int, "m16n8k32.row.col.s32.s8.s8.s32", "r")

/* 16 rows of 8 numbers times 8 columns: a0 row l/4, a1 row l/4+8 at k l%4, a2
 * and a3 4 further */
DEV void mma_f64(f64 (&d)[4], f64 a0, f64 a1, f64 a2, f64 a3, f64 b0, f64 b1)
{
#if KPK_SM >= 90
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
#else
    const f64 a[2][2] = {{a0, a1}, {a2, a3}}, b[2] = {b0, b1};

    UNROLL
    for (int k = 0; k < 2; k++) {
        UNROLL
        for (int i = 0; i < 2; i++)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, "
                "{%2}, {%3}, {%0,%1};"
                : "+d"(d[2 * i]), "+d"(d[2 * i + 1])
                : "d"(a[k][i]), "d"(b[k]));
    }
#endif
}

template <typename T> struct MmaUnit {
    typedef typename sum_of<T>::type Sum;
    static constexpr bool is_matrix = true;
    static constexpr u32 pieces = 4;
    static constexpr u32 k = 64 / sizeof(T);
    static constexpr u32 results = 8;

    struct Part {
        Piece piece[2];
        Part() = default;
        template <class Fetch> DEV_MEMBER explicit Part(Fetch fetch)
        {
            UNROLL
            for (u32 i = 0; i < 2; i++)
                piece[i] = fetch(lane_id() / 4 + 8 * i, lane_id() % 4);
        }
    };
    typedef Part A;
    typedef Part B;
    struct D {
        Sum v[results];
    };
    static DEV_MEMBER u32 row(u32 i)
    {
        return lane_id() / 4 + i / 2 % 2 * 8;
    }
    static DEV_MEMBER u32 col(u32 i)
    {
        return i / 4 * 8 + lane_id() % 4 * 2 + i % 2;
    }
    static DEV_MEMBER void multiply(D &d, const A &a, const B &b)
    {
        UNROLL
        for (u32 half = 0; half < 2; half++) {
            Sum(&sum)[4] = *reinterpret_cast<Sum(*)[4]>(d.v + 4 * half);
            const Piece &x = a.piece[0], &x8 = a.piece[1], &y = b.piece[half];

            if constexpr (is_same<T, f64>::value) {
                mma_f64(sum, piece_part<f64>(x, 0), piece_part<f64>(x8, 0),
                        piece_part<f64>(x, 1), piece_part<f64>(x8, 1),
                        piece_part<f64>(y, 0), piece_part<f64>(y, 1));
            } else {
                UNROLL
                for (u32 i = 0; i < 4; i += 2)
                    MmaOp<T>::call(sum, {x[i], x8[i], x[i + 1], x8[i + 1]},
                                   y[i], y[i + 1]);
            }
        }
    }
};

template <> struct Unit<i8> : MmaUnit<i8> {
};
template <> struct Unit<f16> : MmaUnit<f16> {
};
template <> struct Unit<bf16> : MmaUnit<bf16> {
};
template <> struct Unit<f64> : MmaUnit<f64> {
};
