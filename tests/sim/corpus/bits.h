/* bits.h - bit tricks, carries, wide and narrow division, bytes, hashes */
#include "corpus.h"

typedef u8 u8x4 __attribute__((ext_vector_type(4)));
typedef i8 i8x4 __attribute__((ext_vector_type(4)));

DEVICE static inline u32 spread16(u32 x)
{
    x &= 0xffff;
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}

/* Bits of x that the mask names, side by side. */
DEVICE static inline u32 extract_bits(u32 x, u32 mask)
{
    u32 r = 0;

    for (u32 n = 0; mask; mask &= mask - 1, n++)
        r |= (x >> __builtin_ctz(mask) & 1) << n;
    return r;
}

LANE_TEST(bit_tricks, 3, 24)
{
    const u32 a = in[0], b = in[1], c = in[2];
    const u64 wide = (u64)b << 32 | a;

    out[0] = a ^ a >> 1;
    out[1] = spread16(a) | spread16(b) << 1;
    out[2] = extract_bits(a, b);
    out[3] = (a & (0u - a)) | (a & (a - 1));
    out[4] = a ? 31u - (u32)__builtin_clz(a) : 77;
    out[5] = (u8)a ? (u32)__builtin_clz((u8)a) : 5;
    out[6] = (u16)b ? (u32)__builtin_ctz((u16)b) : 6;
    out[7] = (u32)__builtin_parity(a ^ c);
    out[8] = (u32)__builtin_parityll(wide);
    out[9] = (u32)__builtin_clzll(wide | 1);
    out[10] = (u32)__builtin_ctzll(wide | UINT64_C(1) << 63);
    out[11] = (u32)__builtin_popcount(a & b) + (u32)__builtin_popcountll(wide);
    out[12] = __builtin_rotateleft32(a, c) ^ __builtin_rotateright32(b, c);
    out[13] = (a << (c & 31)) | (b >> (31 - (c & 31)) >> 1);
    out[14] = (a & b) | (~a & c);
    out[15] = (a & b) | (a & c) | (b & c);
    out[16] = a ^ b ^ c;
    out[17] = ~(a ^ b) & c;
    out[18] = (a + b) << (c & 7);
    out[19] = (a << (c & 7)) + b;
    out[20] = (a ^ b) + c;
    out[21] = (u32)__builtin_clrsb((i32)a) ^ (u32)__builtin_clrsbll((i64)wide);
    out[22] = __builtin_bitreverse8((u8)a) | __builtin_bitreverse16((u16)b)
                                                 << 8;
    out[23] = (u32)__builtin_ffs((i32)(a & 0xffff0000)) + (i32)a / 64;
}

LANE_TEST(shifts_wide, 5, 26)
{
    typedef unsigned __int128 u128;
    const u64 a = pair(in), b = pair(in + 2);
    const u32 n = in[4];
    const u128 w = (u128)b << 64 | a, l = w << (n & 127), r = w >> (n & 127);
    const u128 s = (u128)((__int128)w >> (n & 127));

    put_pair(out, a << (n & 63));
    put_pair(out + 2, a >> (n & 63));
    put_pair(out + 4, (u64)((i64)a >> (n & 63)));
    put_pair(out + 6, __builtin_rotateleft64(a, n));
    put_pair(out + 8, (u64)l);
    put_pair(out + 10, (u64)(l >> 64));
    put_pair(out + 12, (u64)r);
    put_pair(out + 14, (u64)(r >> 64));
    put_pair(out + 16, (u64)s);
    put_pair(out + 18, (u64)(s >> 64));
    put_pair(out + 20, (a << 13 | a >> 51) ^ (b << 32 | b >> 32));
    put_pair(out + 22, (u64)((i64)(a << 20) >> 41));
    put_pair(out + 24, (a >> 17 & 0x3ffff) | (b & UINT64_C(0xffff) << 40));
}

LANE_TEST(division_by_constants, 3, 40)
{
    const u32 a = in[0];
    const i32 sa = (i32)a;
    const u64 w = (u64)in[1] << 32 | in[2];
    const i64 sw = (i64)w;

    out[0] = a / 3;
    out[1] = a % 7;
    out[2] = a / 641 + a % 10;
    out[3] = a / 1000000007u;
    out[4] = (u32)(sa / 3);
    out[5] = (u32)(sa % 7);
    out[6] = (u32)(sa / -10);
    out[7] = (u32)(sa / 1024) + (u32)(sa % 1024);
    out[8] = (u8)a / 10u + (u8)(a >> 8) % 10u;
    out[9] = (u32)((i8)a / 7) + (u32)((i8)(a >> 8) % 7);
    out[10] = (u16)a / 1000u;
    out[11] = (u32)((i16)a % 1000);
    put_pair(out + 12, w / 3);
    put_pair(out + 14, w % 10);
    put_pair(out + 16, w / 1000000000u);
    put_pair(out + 18, w / UINT64_C(1000000000000037));
    put_pair(out + 20, (u64)(sw / 7));
    put_pair(out + 22, (u64)(sw % -1000003));
    put_pair(out + 24, (u64)(sw / 4096));
    put_pair(out + 26, w / (a | 1));
    put_pair(out + 28, w % (a | 1));
    put_pair(out + 30, (u64)(sw / (i64)(sa | 1)));
    put_pair(out + 32, (u64)(sw % (i64)(sa | 1)));
    put_pair(out + 34, w / ((u64)a << 20 | 5));
    put_pair(out + 36, w / ((w >> 33) + 1));
    put_pair(out + 38, (u64)(sw % (sw >> 20 | 1)));
}

/* 256 bits, carried by hand, by builtins and by comparisons. */
LANE_TEST(carry_chains, 8, 28)
{
    u64 a[4], b[4], sum[4], difference[4], product[4] = {0, 0, 0, 0};
    u64 carry = 0, borrow = 0;

    for (u32 i = 0; i < 4; i++) {
        a[i] = pair(in + 2 * i);
        b[i] = a[i] * 0x9e3779b97f4a7c15u + in[7 - i];
    }
    for (u32 i = 0; i < 4; i++) {
        u64 x = a[i] + carry, d = a[i] - borrow;

        carry = x < carry;
        sum[i] = x + b[i];
        carry += sum[i] < x;
        borrow = d > a[i];
        difference[i] = d - b[i];
        borrow += d < b[i];
    }
    for (u32 i = 0; i < 4; i++) {
        u64 over = 0;

        for (u32 j = 0; i + j < 4; j++) {
            const unsigned __int128 t =
                (unsigned __int128)a[i] * b[j] + product[i + j] + over;

            product[i + j] = (u64)t;
            over = (u64)(t >> 64);
        }
    }
    for (u32 i = 0; i < 4; i++) {
        put_pair(out + 2 * i, sum[i]);
        put_pair(out + 8 + 2 * i, difference[i]);
        put_pair(out + 16 + 2 * i, product[i]);
    }
    out[24] = (u32)carry;
    out[25] = (u32)borrow;
    out[26] = __builtin_addc(in[0], in[1], in[2] & 1, &out[27]);
}

LANE_TEST(overflows, 2, 14)
{
    const u32 a = in[0], b = in[1];
    const u64 w = (u64)a << 32 | b, v = (u64)b * 0x100000007u;
    u32 r = 0, u;
    i32 s;
    u64 x;
    i64 y;
    u8 n;
    i16 h;

    r = r << 1 | __builtin_add_overflow(a, b, &u);
    out[1] = u;
    r = r << 1 | __builtin_sub_overflow(a, b, &u);
    out[2] = u;
    r = r << 1 | __builtin_mul_overflow(a, b, &u);
    out[3] = u;
    r = r << 1 | __builtin_add_overflow((i32)a, (i32)b, &s);
    out[4] = (u32)s;
    r = r << 1 | __builtin_sub_overflow((i32)a, (i32)b, &s);
    out[5] = (u32)s;
    r = r << 1 | __builtin_mul_overflow((i32)a, (i32)b, &s);
    out[6] = (u32)s;
    r = r << 1 | __builtin_add_overflow(w, v, &x);
    put_pair(out + 7, x);
    r = r << 1 | __builtin_mul_overflow(w, v, &x);
    put_pair(out + 9, x);
    r = r << 1 | __builtin_mul_overflow((i64)w, (i64)v, &y);
    r = r << 1 | __builtin_sub_overflow((i64)w, (i64)v, &y);
    put_pair(out + 11, (u64)y);
    r = r << 1 | __builtin_add_overflow((u8)a, (u8)b, &n);
    r = r << 1 | __builtin_mul_overflow((i16)a, (i16)b, &h);
    out[13] = (u32)n << 16 | (u16)h;
    out[0] = r;
}

LANE_TEST(saturation, 4, 18)
{
    const u64 a = pair(in), b = pair(in + 2);
    const u32 x = in[0], y = in[1];
    const u8x4 p = bits_as<u8x4>(x), q = bits_as<u8x4>(y);
    const i8x4 sp = bits_as<i8x4>(x), sq = bits_as<i8x4>(y);

    put_pair(out, __builtin_elementwise_add_sat(a, b));
    put_pair(out + 2, __builtin_elementwise_sub_sat(a, b));
    put_pair(out + 4, (u64)__builtin_elementwise_add_sat((i64)a, (i64)b));
    put_pair(out + 6, (u64)__builtin_elementwise_sub_sat((i64)a, (i64)b));
    out[8] = (u32)__builtin_elementwise_add_sat((i32)x, (i32)y);
    out[9] = __builtin_elementwise_sub_sat(x, y);
    out[10] = (u16)__builtin_elementwise_add_sat((u16)x, (u16)y);
    out[11] = (u16)__builtin_elementwise_sub_sat((i16)x, (i16)y);
    out[12] = (u8)__builtin_elementwise_add_sat((i8)x, (i8)y);
    out[13] = bits_as<u32>(__builtin_elementwise_add_sat(p, q));
    out[14] = bits_as<u32>(__builtin_elementwise_sub_sat(sp, sq));
    out[15] = bits_as<u32>(__builtin_elementwise_max(p, q));
    out[16] = bits_as<u32>(__builtin_elementwise_min(sp, sq));
    out[17] = (u32)__builtin_elementwise_abs((i32)x | 1) +
              (u16)__builtin_elementwise_abs((i16)(y | 1));
}

/* Least, middle and greatest of three; distances; sums of distances. */
LANE_TEST(orders, 3, 16)
{
    const u32 a = in[0], b = in[1], c = in[2];
    const i32 sa = (i32)a, sb = (i32)b, sc = (i32)c;
    const u32 least = a < b ? (a < c ? a : c) : (b < c ? b : c);
    const u32 most = a > b ? (a > c ? a : c) : (b > c ? b : c);
    const i32 sleast = sa < sb ? (sa < sc ? sa : sc) : (sb < sc ? sb : sc);
    const i32 smost = sa > sb ? (sa > sc ? sa : sc) : (sb > sc ? sb : sc);
    u32 sad = 0;

    out[0] = least;
    out[1] = most;
    out[2] = a ^ b ^ c ^ least ^ most;
    out[3] = (u32)sleast;
    out[4] = (u32)smost;
    out[5] = (u32)(sa ^ sb ^ sc ^ sleast ^ smost);
    out[6] = a > b ? a - b : b - a;
    out[7] = sa > sb ? a - b : b - a;
    for (u32 i = 0; i < 4; i++) {
        const u32 p = a >> 8 * i & 255, q = b >> 8 * i & 255;

        sad += p > q ? p - q : q - p;
    }
    out[8] = sad + c;
    out[9] = (u32)(sa < -100 ? -100 : sa > 1000 ? 1000 : sa);
    out[10] = (u16)a < (u16)b ? ((u16)b < (u16)c ? (u16)b : (u16)c) : (u16)a;
    out[11] = (u32)((i16)a > (i16)b ? (i16)a : (i16)b) & 0xffff;
    out[12] = (u32)((i8)a < (i8)b ? (i8)a : (i8)b);
    out[13] = sa < 0 ? 0 : sa > 255 ? 255 : a;
    out[14] = (u32)(sa >> 31) | (u32)(sa != 0);
    out[15] = a < b ? c : sb < sc ? a : sa == sc ? b : ~c;
}

LANE_TEST(products, 4, 22)
{
    const u32 a = in[0], b = in[1];
    const u64 w = pair(in), v = pair(in + 2);
    const i32 a24 = (i32)(a << 8) >> 8, b24 = (i32)(b << 8) >> 8;

    out[0] = (u32)(a24 * b24);
    out[1] = (u32)(((i64)a24 * b24) >> 32);
    out[2] = (a & 0xffffff) * (b & 0xffffff) + in[2];
    out[3] = (u32)(((u64)(a & 0xffffff) * (b & 0xffffff)) >> 32);
    out[4] = (u16)a * (u16)b + in[2];
    out[5] = (u32)((i16)a * (i16)b) + in[3];
    put_pair(out + 6, (u64)a * b + w);
    put_pair(out + 8, (u64)((i64)(i32)a * (i32)b) + v);
    put_pair(out + 10, w * 10);
    put_pair(out + 12, w * a + v * b);
    put_pair(out + 14, (u64)(i64)(i32)a * v);
    put_pair(out + 16, (u64)(((unsigned __int128)w * v) >> 37));
    out[18] = (u32)((w * v) >> 32) * 7u;
    out[19] = a * 0x10001u + b * 0xffffffe7u;
    put_pair(out + 20, (w & 0xffffffff) * (v >> 32) + (w >> 32));
}

LANE_TEST(byte_shuffles, 3, 16)
{
    const u32 a = in[0], b = in[1];
    const u8x4 p = bits_as<u8x4>(a), q = bits_as<u8x4>(b);
    u8x4 r = p.wzyx;
    u32 picked = 0;

    out[0] = __builtin_bswap32(a);
    out[1] = __builtin_bswap16((u16)a) | (u32)__builtin_bswap16((u16)b) << 16;
    out[2] = bits_as<u32>(__builtin_shufflevector(p, q, 0, 4, 1, 5));
    out[3] = bits_as<u32>(__builtin_shufflevector(p, q, 7, 2, 6, 3));
    out[4] = (a & 0xff00ff) << 8 | (b >> 8 & 0xff00ff);
    out[5] = a >> 24 | b << 8;
    out[6] = a << 16 | b >> 16;
    out[7] = (a & 0xffff) | b << 16;
    out[8] = (a & 0xffff0000) | (b & 0xffff);
    for (u32 i = 0; i < 4; i++)
        picked |= (u32)(((u64)a << 32 | b) >> 8 * (in[2] >> 8 * i & 7) & 255)
                  << 8 * i;
    out[9] = picked;
    r[in[2] & 3] = (u8)b;
    out[10] = bits_as<u32>(r);
    out[11] = bits_as<u32>(p + q);
    out[12] = bits_as<u32>((u8x4)(p * q));
    out[13] = bits_as<u32>(p >> (q & (u8)7));
    out[14] = bits_as<u32>((u8x4)(p > q)) ^ bits_as<u32>(p ^ q.yxwz);
    out[15] = (u32)(i8)(a >> 8) + (u32)(i16)(b >> 8) + (u8)(b >> 16);
}

struct fields {
    u32 a : 3, b : 7, c : 11, d : 1, e : 10;
    i32 f : 5, g : 13, h : 14;
    u64 i : 37, j : 27;
};

LANE_TEST(bit_fields, 4, 10)
{
    fields f;

    __builtin_memcpy(&f, in, sizeof(f) < 16 ? sizeof(f) : 16);
    out[0] = f.a + f.b * 3 + f.c * 5 + f.d * 7 + f.e * 11;
    out[1] = (u32)(f.f + f.g * f.h);
    put_pair(out + 2, f.i ^ (u64)f.j << 5);
    f.c = f.e * 3;
    f.a ^= f.b;
    f.g = f.f - f.h;
    f.j = f.i >> 3;
    f.i += f.c;
    __builtin_memcpy(out + 4, &f, 16);
    out[8] = (u32)f.h;
    out[9] = sizeof(f);
}

/* ---- hashes and ciphers ---- */

DEVICE static inline u32 rol(u32 x, u32 n)
{
    return x << n | x >> (32 - n);
}

LANE_TEST(hashes, 4, 8)
{
    u32 h = in[3], crc = ~0u;
    u64 v0 = pair(in), v1 = pair(in + 2), v2 = ~v0, v3 = v1 + 1;

    for (u32 i = 0; i < 4; i++) {
        u32 k = in[i] * 0xcc9e2d51u;

        h = rol(h ^ rol(k, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
        crc ^= in[i];
        for (u32 b = 0; b < 32; b++)
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
        v0 += v1;
        v1 = __builtin_rotateleft64(v1, 13) ^ v0;
        v0 = __builtin_rotateleft64(v0, 32);
        v2 += v3;
        v3 = __builtin_rotateleft64(v3, 16) ^ v2;
        v0 += v3;
        v3 = __builtin_rotateleft64(v3, 21) ^ v0;
        v2 += v1;
        v1 = __builtin_rotateleft64(v1, 17) ^ v2;
        v2 = __builtin_rotateleft64(v2, 32);
    }
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    out[0] = h * 0xc2b2ae35u;
    out[1] = ~crc;
    put_pair(out + 2, v0 ^ v1 ^ v2 ^ v3);
    put_pair(out + 4, v0 * v3);
    put_pair(out + 6, v1 + v2);
}

LANE_TEST(chacha, 8, 16)
{
    u32 x[16];

    for (u32 i = 0; i < 16; i++)
        x[i] = in[i & 7] + i * 0x61707865u;
    for (u32 round = 0; round < 20; round++)
        for (u32 q = 0; q < 4; q++) {
            const u32 s = round & 1;
            u32 &a = x[q], &b = x[4 + (q + s) % 4];
            u32 &c = x[8 + (q + 2 * s) % 4], &d = x[12 + (q + 3 * s) % 4];

            a += b, d = rol(d ^ a, 16);
            c += d, b = rol(b ^ c, 12);
            a += b, d = rol(d ^ a, 8);
            c += d, b = rol(b ^ c, 7);
        }
    for (u32 i = 0; i < 16; i++)
        out[i] = x[i] + in[i & 7];
}

DEVICE static inline u32 sha_sigma(u32 x, u32 a, u32 b, u32 c)
{
    return (x >> a | x << (32 - a)) ^ (x >> b | x << (32 - b)) ^
           (x >> c | x << (32 - c));
}

LANE_TEST(sha256_rounds, 8, 8)
{
    u32 s[8], w[16];

    for (u32 i = 0; i < 8; i++) {
        s[i] = in[i];
        w[i] = in[7 - i] ^ 0x6a09e667u;
        w[i + 8] = in[i] + 0xbb67ae85u * i;
    }
    for (u32 i = 0; i < 48; i++) {
        const u32 k = 0x428a2f98u * (i + 1),
                  t1 = s[7] + k + w[i & 15] + sha_sigma(s[4], 6, 11, 25) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6]));
        const u32 t2 = sha_sigma(s[0], 2, 13, 22) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        for (u32 j = 7; j; j--)
            s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + t2;
        w[i & 15] +=
            w[(i + 9) & 15] + (sha_sigma(w[(i + 14) & 15], 17, 19, 10));
    }
    for (u32 i = 0; i < 8; i++)
        out[i] = s[i];
}
