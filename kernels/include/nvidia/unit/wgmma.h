/*
 * wgmma.h - sm_90's products of a warpgroup: operands in LDS, sums in registers
 *
 * A warpgroup is four warps, the first of a number divisible by 4. It computes
 * D[64, N] += A[64, 16] B[16, N] of f16 or bf16 by one instruction, which runs
 * on its own: sums may be read, and operands overwritten, after a wait.
 *
 *     f32 sums[N / 2];
 *
 *     wgmma_lds_written();            each thread that wrote operands
 *     __syncthreads();
 *     wgmma_fence();                  before sums' first use
 *     Wgmma<T, N>::multiply(sums, a, b, add);
 *     wgmma_commit();
 *     wgmma_wait<0>();
 *
 * Thread t of the warpgroup has, as sums[4 j + 2 h + e], row t / 32 * 16 +
 * t % 32 / 4 + 8 h and column 8 j + t % 4 * 2 + e. Sums are left alone between
 * multiply() and wait: the compiler makes each instruction wait otherwise, and
 * says so.
 *
 * An operand lies in LDS in lines of 128 bytes at a multiple of 1024, the
 * pieces of 16 bytes of a line permuted by the line's number: wgmma_place().
 * Where K is contiguous in memory a line is 64 of K of one row of A or column
 * of B; line i is row i. Where it is not, a line is 64 rows of one k; line i is
 * k i, and the next 64 rows' lines come `block` bytes on.
 */
#pragma once

#include "device.h"

constexpr u32 wgmma_line = 128; /* bytes */

/* The place of piece `piece` of line `line`, in bytes. */
DEV u32 wgmma_place(u32 line, u32 piece)
{
    return line * wgmma_line + (piece ^ line % 8) * 16;
}

/*
 * The matrix descriptor of an operand whose lines begin at `lds`, an address in
 * shared memory: 64 rows of A or N columns of B, the first 16 of K. block: see
 * above; only where K is not contiguous.
 */
DEV u64 wgmma_operand(u32 lds, u32 block = 16)
{
    return (u64)((lds & 0x3ffff) >> 4) | (u64)(block >> 4) << 16 |
           (u64)(8 * wgmma_line >> 4) << 32 | (u64)1 << 62;
}

/* A descriptor plus k16 takes the next 16 of K. Along: K is contiguous. */
template <bool Along> struct WgmmaStep {
    static constexpr u32 k16 = (Along ? 32 : 16 * wgmma_line) >> 4;
};

/* v, equal in all lanes, in a form that the compiler knows to be uniform. */
DEV u32 uniform_of_warp(u32 v)
{
    return __shfl_sync(0xffffffffu, v, 0);
}

/* Sets the registers of each thread of this warpgroup. take_registers() waits
 * until other warpgroups have given enough. All threads of the warpgroup call
 * it; n is a multiple of 8. */
template <u32 n> DEV void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n));
}
template <u32 n> DEV void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n));
}

/* Makes this thread's writes to LDS, and copies that it waited for, visible to
 * wgmma. The caller runs a barrier afterwards. */
DEV void wgmma_lds_written()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Orders wgmma's reads of registers, sums above all, after the writes. */
DEV void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Closes a group: the wgmmas issued since the last commit. */
DEV void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all groups but the latest n are done. */
template <u32 n> DEV void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}

/* Keeps the compiler from moving accesses to sums across this call. */
template <u32 n> DEV void wgmma_hold(f32 (&sums)[n])
{
    UNROLL
    for (u32 i = 0; i < n; i++)
        asm volatile("" : "+f"(sums[i])::"memory");
}

/*
 * Wgmma<T, N, AlongA, AlongB>
 *
 *   multiply(sums, a, b, add)       operands of wgmma_operand(); add: else the
 *                                   products replace the sums
 *   multiply(sums, words, b, add)   A in registers: thread t has 2 numbers of
 *                                   row t / 32 * 16 + t % 32 / 4 + 8 h and
 *                                   k t % 4 * 2 + 8 i as words[2 i + h]
 *
 * Along: K is contiguous, AlongA of A in LDS only.
 */
template <typename T, u32 N, bool AlongA = true, bool AlongB = true>
struct Wgmma;

/* To have an instruction of other columns, add its lines here and below. */
/* clang-format off */
#define WGMMA_R4 "%0,%1,%2,%3"
#define WGMMA_R8 WGMMA_R4 ",%4,%5,%6,%7"
#define WGMMA_R16 WGMMA_R8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define WGMMA_R32 WGMMA_R16 \
    ",%16,%17,%18,%19,%20,%21,%22,%23" ",%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_R40 WGMMA_R32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WGMMA_R48 WGMMA_R40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_R64 WGMMA_R48 \
    ",%48,%49,%50,%51,%52,%53,%54,%55" ",%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_R80 WGMMA_R64 \
    ",%64,%65,%66,%67,%68,%69,%70,%71" ",%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_R96 WGMMA_R80 \
    ",%80,%81,%82,%83,%84,%85,%86,%87" ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_R128 WGMMA_R96 \
    ",%96,%97,%98,%99,%100,%101,%102,%103" ",%104,%105,%106,%107,%108,%109,%110,%111" \
    ",%112,%113,%114,%115,%116,%117,%118,%119" ",%120,%121,%122,%123,%124,%125,%126,%127"
/* clang-format on */

#define WGMMA_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WGMMA_F8(i) WGMMA_F4(i), WGMMA_F4(i + 4)
#define WGMMA_F16(i) WGMMA_F8(i), WGMMA_F8(i + 8)
#define WGMMA_F32(i) WGMMA_F16(i), WGMMA_F16(i + 16)
#define WGMMA_F40(i) WGMMA_F32(i), WGMMA_F8(i + 32)
#define WGMMA_F48(i) WGMMA_F40(i), WGMMA_F8(i + 40)
#define WGMMA_F64(i) WGMMA_F48(i), WGMMA_F16(i + 48)
#define WGMMA_F80(i) WGMMA_F64(i), WGMMA_F16(i + 64)
#define WGMMA_F96(i) WGMMA_F80(i), WGMMA_F16(i + 80)
#define WGMMA_F128(i) WGMMA_F96(i), WGMMA_F32(i + 96)

/* n columns in r = n / 2 registers; r1 ... r6: the operand numbers after these
 * registers. int(): Clang prints a bool constant that is true as -1. */
#define WGMMA_OP(T, type, n, r, r1, r2, r3, r4, r5, r6)                        \
    template <bool AlongA, bool AlongB> struct Wgmma<T, n, AlongA, AlongB> {   \
        static DEV_MEMBER void multiply(f32 (&d)[r], u64 a, u64 b, u32 add)    \
        {                                                                      \
            asm volatile(                                                      \
                "{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %" #r2 ", 0;\n\t"    \
                "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type         \
                "." type " {" WGMMA_R##r "}, %" #r ", %" #r1 ", add, 1, 1, "   \
                                         "%" #r3 ", %" #r4 ";\n\t}"            \
                : WGMMA_F##r(0)                                                \
                : "l"(a), "l"(b), "r"(add), "n"(int(!AlongA)),                 \
                  "n"(int(!AlongB)));                                          \
        }                                                                      \
        static DEV_MEMBER void multiply(f32 (&d)[r], const u32 (&a)[4], u64 b, \
                                        u32 add)                               \
        {                                                                      \
            asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.b32 add, %" #r5      \
                         ", 0;\n\t"                                            \
                         "wgmma.mma_async.sync.aligned.m64n" #n                \
                         "k16.f32." type "." type " {" WGMMA_R##r              \
                         "}, {%" #r ", %" #r1 ", %" #r2 ", %" #r3 "}, %" #r4   \
                         ", add, 1, 1, %" #r6 ";\n\t}"                         \
                         : WGMMA_F##r(0)                                       \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), \
                           "r"(add), "n"(int(!AlongB)));                       \
        }                                                                      \
    };
#define WGMMA_OPS(T, type)                                                     \
    WGMMA_OP(T, type, 8, 4, 5, 6, 7, 8, 9, 10)                                 \
    WGMMA_OP(T, type, 16, 8, 9, 10, 11, 12, 13, 14)                            \
    WGMMA_OP(T, type, 32, 16, 17, 18, 19, 20, 21, 22)                          \
    WGMMA_OP(T, type, 64, 32, 33, 34, 35, 36, 37, 38)                          \
    WGMMA_OP(T, type, 80, 40, 41, 42, 43, 44, 45, 46)                          \
    WGMMA_OP(T, type, 96, 48, 49, 50, 51, 52, 53, 54)                          \
    WGMMA_OP(T, type, 128, 64, 65, 66, 67, 68, 69, 70)                         \
    WGMMA_OP(T, type, 160, 80, 81, 82, 83, 84, 85, 86)                         \
    WGMMA_OP(T, type, 192, 96, 97, 98, 99, 100, 101, 102)                      \
    WGMMA_OP(T, type, 256, 128, 129, 130, 131, 132, 133, 134)
WGMMA_OPS(f16, "f16")
WGMMA_OPS(bf16, "bf16")
