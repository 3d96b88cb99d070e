/* integer.h - integer arithmetic of every width, alone and mixed */
#include "corpus.h"

LANE_TEST(int32, 3, 24)
{
    const u32 a = in[0], b = in[1], c = in[2];
    const i32 sa = (i32)a, sb = (i32)b;

    out[0] = a + b;
    out[1] = a - b;
    out[2] = a * b;
    out[3] = (u32)(((u64)a * b) >> 32);
    out[4] = (u32)(((i64)sa * sb) >> 32);
    out[5] = b ? a / b : 0;
    out[6] = b ? a % b : 0;
    out[7] = b && !(a == 0x80000000u && sb == -1) ? (u32)(sa / sb) : 0;
    out[8] = b && !(a == 0x80000000u && sb == -1) ? (u32)(sa % sb) : 0;
    out[9] = a << (b & 31);
    out[10] = a >> (b & 31);
    out[11] = (u32)(sa >> (b & 31));
    out[12] = a & b;
    out[13] = a | ~b;
    out[14] = a ^ (b & c) ^ (b | c);
    out[15] = (u32)__builtin_popcount(a);
    out[16] = a ? (u32)__builtin_clz(a) : 99;
    out[17] = a ? (u32)__builtin_ctz(a) : 99;
    out[18] = __builtin_bitreverse32(a);
    out[19] = __builtin_bswap32(a);
    out[20] = a < b ? (c > a ? a : c) : b;
    out[21] = (u32)(sa < sb ? sa : sb) + (u32)(sa > (i32)c ? sa : (i32)c);
    out[22] = __builtin_rotateleft32(a, b & 31);
    out[23] = (a & 0xffffff) * (b & 0xffffff) + c;
}

LANE_TEST(int64, 6, 36)
{
    const u64 a = pair(in), b = pair(in + 2), c = pair(in + 4);
    const i64 sa = (i64)a, sb = (i64)b;
    const bool overflow = a == UINT64_C(1) << 63 && sb == -1;

    put_pair(out, a + b);
    put_pair(out + 2, a - b);
    put_pair(out + 4, a * b + c);
    put_pair(out + 6, (u64)(((unsigned __int128)a * b) >> 64));
    put_pair(out + 8, (u64)(((__int128)sa * sb) >> 64));
    put_pair(out + 10, b ? a / b : 0);
    put_pair(out + 12, b ? a % b : 0);
    put_pair(out + 14, b && !overflow ? (u64)(sa / sb) : 0);
    put_pair(out + 16, b && !overflow ? (u64)(sa % sb) : 0);
    put_pair(out + 18, a << (b & 63));
    put_pair(out + 20, a >> (b & 63));
    put_pair(out + 22, (u64)(sa >> (b & 63)));
    put_pair(out + 24, (a & b) ^ (~c | a));
    out[26] = (u32)__builtin_popcountll(a);
    out[27] = a ? (u32)__builtin_clzll(a) : 99;
    out[28] = a ? (u32)__builtin_ctzll(a) : 99;
    out[29] = (a < b) | (u32)(sa < sb) << 1 | (u32)(a == c) << 2 |
              (u32)(sa >= (i64)c) << 3;
    put_pair(out + 30, a < b ? a : b);
    put_pair(out + 32, sa > sb ? a : b);
    /* not __builtin_bswap64: at -O0 clang 22 moves half of it on gfx1100 */
    put_pair(out + 34, (a << 32 | a >> 32) + __builtin_bitreverse64(b));
}

LANE_TEST(int_narrow, 2, 22)
{
    const u32 a = in[0], b = in[1];
    const u8 a8 = (u8)a, b8 = (u8)b;
    const u16 a16 = (u16)a, b16 = (u16)b;
    const i8 sa8 = (i8)a, sb8 = (i8)b;
    const i16 sa16 = (i16)a, sb16 = (i16)b;

    out[0] = (u8)(a8 + b8);
    out[1] = (u8)(a8 * b8);
    out[2] = b8 ? (u32)(a8 / b8) : 0;
    out[3] = (u32)(i32)(i8)(sa8 - sb8);
    out[4] = (u32)(i32)(sa8 >> (b & 7));
    out[5] = (u16)(a16 + b16);
    out[6] = (u16)(a16 * b16);
    out[7] = b16 ? (u32)(a16 % b16) : 0;
    out[8] = (u32)(i32)(i16)(sa16 * sb16);
    out[9] = (u32)(i32)(i16)(sa16 >> (b & 15));
    out[10] = (u16)(a16 << (b & 15));
    out[11] = a16 < b16 ? a16 : b16;
    out[12] = (u32)(i32)(sa16 > sb16 ? sa16 : sb16);
    out[13] = __builtin_elementwise_add_sat(a8, b8);
    out[14] = __builtin_elementwise_sub_sat(a16, b16);
    out[15] = (u32)(i32)__builtin_elementwise_add_sat(sa16, sb16);
    out[16] = __builtin_elementwise_add_sat(a, b);
    out[17] = (u32)__builtin_elementwise_sub_sat((i32)a, (i32)b);
    out[18] =
        (u32)(sa8 * sb8 + (i8)(a >> 8) * (i8)(b >> 8) +
              (i8)(a >> 16) * (i8)(b >> 16) + (i8)(a >> 24) * (i8)(b >> 24));
    out[19] = (a & 0xff00ff00u) | ((b >> 8) & 0xff) | (b & 0xff) << 16;
    out[20] = (a >> (b & 15)) & ((1u << (b >> 27)) - 1);
    out[21] = (u32)((i32)(a << 11) >> 21);
}

/* Two 16-bit lanes at once: what packed instructions are made for. */
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));

LANE_TEST(int_packed, 3, 12)
{
    const u16x2 a = bits_as<u16x2>(in[0]), b = bits_as<u16x2>(in[1]);
    const u16x2 c = bits_as<u16x2>(in[2]);
    const i16x2 sa = bits_as<i16x2>(in[0]), sb = bits_as<i16x2>(in[1]);

    out[0] = bits_as<u32>(a + b);
    out[1] = bits_as<u32>(a - b);
    out[2] = bits_as<u32>(a * b);
    out[3] = bits_as<u32>(a * b + c);
    out[4] = bits_as<u32>(a << (b & (u16)15));
    out[5] = bits_as<u32>(a >> (b & (u16)15));
    out[6] = bits_as<u32>(sa >> (sb & (i16)15));
    out[7] = bits_as<u32>(__builtin_elementwise_min(a, b));
    out[8] = bits_as<u32>(__builtin_elementwise_max(sa, sb));
    out[9] = bits_as<u32>(__builtin_elementwise_add_sat(a, b));
    out[10] = bits_as<u32>(__builtin_elementwise_sub_sat(sa, sb));
    out[11] = bits_as<u32>(a.yx + b.xx);
}

/* Carry chains of 128 bits, and a division by hand. */
LANE_TEST(int128, 8, 12)
{
    typedef unsigned __int128 u128;
    const u128 a = (u128)pair(in + 2) << 64 | pair(in);
    const u128 b = (u128)pair(in + 6) << 64 | pair(in + 4);
    const u128 sum = a + b, difference = a - b, product = a * b;
    u64 quotient = 0, rest = 0;

    put_pair(out, (u64)sum);
    put_pair(out + 2, (u64)(sum >> 64));
    put_pair(out + 4, (u64)(difference >> 64));
    put_pair(out + 6, (u64)(product >> 64));
    for (int i = 63; i >= 0; i--) {
        const u64 divisor = pair(in + 4) | 1;

        rest = rest << 1 | ((pair(in) >> i) & 1);
        if (rest >= divisor || rest >> 63) {
            rest -= divisor;
            quotient |= UINT64_C(1) << i;
        }
    }
    put_pair(out + 8, quotient);
    put_pair(out + 10, rest);
}
