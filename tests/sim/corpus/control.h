/* control.h - branches that diverge, loops, calls, and private memory */
#include "corpus.h"

/* Collatz: every lane leaves the loop at its own time. */
LANE_TEST(divergent_loop, 1, 2)
{
    u64 x = (in[0] & 0xfffff) + 1;
    u32 steps = 0, odd = 0;

    while (x != 1) {
        if (x & 1) {
            x = 3 * x + 1;
            odd++;
        } else {
            x >>= 1;
        }
        if (++steps > 1000)
            break;
    }
    out[0] = steps;
    out[1] = odd;
}

LANE_TEST(nested_branches, 3, 2)
{
    u32 a = in[0], b = in[1], path = 0;

    for (u32 i = 0; i < (in[2] & 15) + 1; i++) {
        if (a & 1) {
            if (b > a) {
                path = path * 31 + 1;
                b -= a;
                continue;
            }
            path = path * 31 + 2;
            a = a >> 3 | b << 29;
        } else {
            if (path % 7 == 3)
                break;
            path = path * 31 + 3;
            a = a * 1664525u + 1013904223u;
        }
        switch (a % 6) {
        case 0:
            b ^= a;
            break;
        case 1:
            b += 17; /* falls through */
        case 2:
            path += 5;
            break;
        case 4:
            b = ~b;
            break;
        default: /* not path ^= i alone: clang 22 then loses a on gfx942 */
            path ^= i;
            a += 3;
        }
    }
    out[0] = path;
    out[1] = a ^ b;
}

NOINLINE static u32 ackermann(u32 m, u32 n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

LANE_TEST(recursion, 1, 1)
{
    out[0] = ackermann(in[0] % 3, in[0] / 3 % 4);
}

NOINLINE static u32 op_add(u32 a, u32 b)
{
    return a + b;
}
NOINLINE static u32 op_mix(u32 a, u32 b)
{
    return (a ^ b) * 2654435761u;
}
NOINLINE static u32 op_shift(u32 a, u32 b)
{
    return a << (b & 7) | a >> 25;
}
NOINLINE static u32 op_min(u32 a, u32 b)
{
    return a < b ? a : b;
}

typedef u32 op_fn(u32, u32);

/* Each lane calls another function through a pointer. */
LANE_TEST(function_pointers, 2, 1)
{
    op_fn *const ops[4] = {op_add, op_mix, op_shift, op_min};
    u32 v = in[1];

    for (u32 i = 0; i < 8; i++)
        v = ops[(in[0] >> (2 * i)) & 3](v, in[0] + i);
    out[0] = v;
}

/* A private array with indices that only the run knows: lives in scratch. */
LANE_TEST(private_array, 2, 3)
{
    u32 table[97];
    u8 bytes[64];
    u64 wide[9];

    for (u32 i = 0; i < 97; i++)
        table[i] = i * in[0] + in[1];
    for (u32 i = 0; i < 64; i++)
        bytes[i] = (u8)(table[(i * 7 + in[1]) % 97] >> (i & 7));
    for (u32 i = 0; i < 9; i++)
        wide[i] = (u64)table[(in[0] + i) % 97] << 32 | bytes[(in[1] ^ i) & 63];
    for (u32 i = 0; i < 200; i++) {
        const u32 j = (table[i % 97] + i) % 97;

        table[j] ^= bytes[(j + i) & 63] + (u32)(wide[i % 9] >> 20);
        wide[(j + 1) % 9] += table[(i + j) % 97];
        bytes[i & 63] = (u8)(bytes[i & 63] + table[j]);
    }
    out[0] = table[in[0] % 97] ^ table[in[1] % 97];
    put_pair(out + 1, wide[in[0] % 9] + bytes[in[1] & 63]);
}

struct record {
    u64 key;
    float weight;
    u16 left, right;
    u8 tag[5];
};

NOINLINE static record make_record(u32 seed)
{
    record r;

    r.key = (u64)seed * 6364136223846793005u + 1;
    r.weight = (float)(seed & 0xfff) * 0.25f;
    r.left = (u16)seed;
    r.right = (u16)(seed >> 9);
    for (int i = 0; i < 5; i++)
        r.tag[i] = (u8)(seed >> (3 * i));
    return r;
}

/* Structures by value and by pointer through calls that stay calls. */
NOINLINE static u32 fold_record(const record *r, record by_value, u32 which)
{
    u32 v = (u32)(r->key >> 17) + (u32)by_value.key + r->left * by_value.right;

    v += (u32)(i32)(r->weight - by_value.weight);
    return v ^ r->tag[which % 5] << 8 ^ by_value.tag[(which + 1) % 5];
}

LANE_TEST(structures, 2, 1)
{
    record list[6];
    u32 v = 0;

    for (u32 i = 0; i < 6; i++)
        list[i] = make_record(in[0] + i * in[1]);
    for (u32 i = 0; i < 6; i++)
        v = v * 33 + fold_record(&list[(in[0] + i) % 6], list[i], in[1] + i);
    out[0] = v;
}

/* Loads and stores of every width, aligned or not. */
LANE_TEST(memory_widths, 8, 16)
{
    const u8 *const bytes = (const u8 *)in;
    u8 *const to = (u8 *)out;
    u64 wide;
    u32 odd;
    u16 half;

    for (int i = 0; i < 64; i++)
        to[i] = bytes[(i * 5) % 32];
    ((u16 *)out)[3] = ((const u16 *)in)[7];
    ((i16 *)out)[5] = (i16)((const i8 *)in)[9];
    ((i32 *)out)[5] = ((const i8 *)in)[11];
    ((i32 *)out)[6] = ((const i16 *)in)[3];
    __builtin_memcpy(&odd, bytes + 5, 4);
    __builtin_memcpy(&wide, bytes + 9, 8);
    __builtin_memcpy(&half, bytes + 21, 2);
    out[8] = odd;
    put_pair(out + 9, wide);
    __builtin_memcpy(to + 45, &wide, 8);
    __builtin_memcpy(to + 54, &half, 2);
    for (int i = 0; i < 2; i++)
        out[14 + i] = in[4 * i] + in[4 * i + 1] * in[4 * i + 2] - in[4 * i + 3];
}
