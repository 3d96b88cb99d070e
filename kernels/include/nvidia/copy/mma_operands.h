/* mma_operands.h - operands of mma.sync: to LDS, and from there to registers */
#pragma once

#include "nvidia/copy/async_copy.h"

/* Stores 16 bytes by one instruction. In some places nvcc splits store_pack()
 * into four stores of 4 bytes, which take memory four times as long. */
template <typename T> DEV void store_piece(T *to, const Pack<T, 8> &v)
{
    const auto raw = bits_as<Raw<T, 8>>(v);

    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "r"(raw.x), "r"(raw.y), "r"(raw.z), "r"(raw.w)
                 : "memory");
}

/* A word at an LDS address. Pointers would each get registers of their own, and
 * a load that might be from any memory costs the uniform registers of operands'
 * addresses (tests/build/uniform.sh). */
DEV u32 lds_load_u32(u32 lds)
{
    u32 word;

    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(lds));
    return word;
}

/* Four 8 x 8 matrices of 16-bit numbers: lane l has the address of row l % 8 of
 * matrix l / 8, and gets of each the word l % 4 of row l / 4. */
DEV void load_matrices(u32 (&v)[4], u32 lds)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(lds));
}

/* The same, transposed. */
DEV void load_matrices_trans(u32 (&v)[4], u32 lds)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
        : "r"(lds));
}

/* fn(row, column, pair) for a warp's 16 rows of results in LDS, neighbouring
 * pairs in neighbouring lanes; several are read before the first goes on. */
template <u32 cols, u32 pitch, typename S, class Fn>
DEV void each_slab_pair(const S *slab, Fn fn)
{
    constexpr u32 once = 4;

    NO_UNROLL
    for (u32 e0 = threadIdx.x % 32 * 2; e0 < 16 * cols; e0 += once * 64) {
        Pack<S, 2> v[once];

        UNROLL
        for (u32 i = 0; i < once; i++) {
            const u32 e = e0 + i * 64;

            v[i] = load_pack<2>(slab + e / cols * pitch + e % cols);
        }
        UNROLL
        for (u32 i = 0; i < once; i++)
            fn((e0 + i * 64) / cols, (e0 + i * 64) % cols, v[i]);
    }
}

/* Bytes of dynamic LDS that the launch gave. */
DEV u32 dynamic_lds_nbytes()
{
    u32 n;

    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(n));
    return n;
}
