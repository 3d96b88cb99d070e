/* places.h - private memory, stacks, pointers, calls, tables, odd widths */
#include "corpus.h"

/* An array small enough for registers, with indices that only the run knows. */
LANE_TEST(register_array, 3, 4)
{
    u32 v[12];
    u64 w[5];

    for (u32 i = 0; i < 12; i++)
        v[i] = in[0] * (i + 1) ^ in[1] >> i;
    for (u32 i = 0; i < 5; i++)
        w[i] = (u64)v[i] << 20 | v[i + 5];
    for (u32 i = 0; i < 24; i++) {
        const u32 at = (in[2] >> (i & 15)) % 12;

        v[at] = v[at] * 3 + i;
        v[(at + 5) % 12] ^= v[at] >> 3;
        w[at % 5] += v[(at + 1) % 12];
    }
    out[0] = v[in[0] % 12];
    out[1] = v[in[1] % 12] + v[(in[2] >> 20) % 12];
    put_pair(out + 2, w[in[2] % 5]);
}

LANE_TEST(register_vectors, 3, 6)
{
    typedef u32 u32x8 __attribute__((ext_vector_type(8)));
    typedef double f64x3 __attribute__((ext_vector_type(3)));
    typedef u16 u16x8 __attribute__((ext_vector_type(8)));
    u32x8 v;
    f64x3 d = {1, 2, 3};
    u16x8 h;

    for (u32 i = 0; i < 8; i++) {
        v[i] = in[0] + i * in[1];
        h[i] = (u16)(in[2] * i);
    }
    for (u32 i = 0; i < 9; i++) {
        const u32 at = in[1] >> 2 * i & 7;

        v[at] += v[7 - at] ^ i;
        h[at] = (u16)(h[at] * 3 + (u16)v[i & 7]);
        d[at % 3] = d[at % 3] * 0.5 + (double)(at + 1);
    }
    out[0] = v[in[2] & 7];
    out[1] = v.s0 + v.s3 * v.s7;
    out[2] = h[in[0] & 7];
    out[3] = h[1] | (u32)h[6] << 16;
    put_pair(out + 4, bits_f64(d[in[2] % 3] + d.x));
}

/* More than any register file holds. */
LANE_TEST(big_private_array, 2, 3)
{
    u16 heap[700];
    u8 seen[300] = {0};
    u32 n = 0, sum = 0;

    for (u32 i = 0; i < 60; i++) { /* a heap of the least */
        u32 at = ++n;

        heap[at] = (u16)((in[0] * (2 * i + 1)) >> (in[1] & 7));
        while (at > 1 && heap[at] < heap[at / 2]) {
            const u16 t = heap[at];

            heap[at] = heap[at / 2];
            heap[at / 2] = t;
            at /= 2;
        }
    }
    for (u32 i = 0; i < 40; i++) {
        const u16 least = heap[1];
        u32 at = 1;

        sum = sum * 31 + least;
        seen[least % 300]++;
        heap[1] = heap[n--];
        while (2 * at <= n) {
            const u32 child =
                2 * at + (2 * at < n && heap[2 * at + 1] < heap[2 * at]);
            const u16 t = heap[at];

            if (heap[child] >= t)
                break;
            heap[at] = heap[child];
            heap[child] = t;
            at = child;
        }
    }
    out[0] = sum;
    out[1] = heap[1 + in[1] % 20];
    out[2] = seen[in[0] % 300] | (u32)seen[in[1] % 300] << 8;
}

NOINLINE static u32 fill_and_sum(u32 *p, u32 n, u32 seed)
{
    u32 sum = 0;

    for (u32 i = 0; i < n; i++)
        p[i] = seed = seed * 1664525u + 1013904223u;
    for (u32 i = 0; i < n; i += 3)
        sum += p[i] ^ p[n - 1 - i];
    return sum;
}

/* Stack of a size that the data decides. On targets that address scratch
 * through a descriptor the size is constant, because clang 22 gives the wave's
 * address in place of the work-item's there. */
#if defined(__GFX10__) ||                                                      \
    (defined(__GFX9__) && !defined(__gfx942__) && !defined(__gfx950__))
#define ALLOCA(n) __builtin_alloca(96)
#else
#define ALLOCA(n) __builtin_alloca(n)
#endif

LANE_TEST(stack_of_any_size, 2, 2)
{
    const u32 n = in[0] % 23 + 1;
    u32 *const p = (u32 *)ALLOCA(n * sizeof(u32));
    const u32 first = fill_and_sum(p, n, in[1]);
    u32 *const q = (u32 *)ALLOCA((n & 7) * 4 + 4);

    q[0] = p[n / 2];
    out[0] = first + fill_and_sum(q, (n & 7) + 1, first);
    out[1] = p[n - 1] ^ q[0];
}

/* ---- calls ---- */

NOINLINE static u32 fibonacci(u32 n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static bool is_odd(u32 n);
NOINLINE static bool is_even(u32 n)
{
    return n == 0 || is_odd(n - 1);
}
NOINLINE static bool is_odd(u32 n)
{
    return n != 0 && is_even(n - 1);
}

struct tree {
    u32 key;
    i32 left, right;
};

NOINLINE static u32 depth_of(const tree *t, i32 at)
{
    if (at < 0)
        return 0;
    const u32 l = depth_of(t, t[at].left), r = depth_of(t, t[at].right);

    return 1 + (l > r ? l : r) + (t[at].key & 1 ? 0 : (l + r) << 8);
}

NOINLINE static u64 many_arguments(u32 a, u64 b, u8 c, float d, i16 e, double f,
                                   u32 g, u64 h, u32 i, u32 j, u32 k, u32 l,
                                   u64 m, u64 n, u64 o, u32 p, const u32 *q,
                                   u32 r, u64 s, u64 t, u64 u, u64 v, u32 w)
{
    const u64 x = a + b * 3 + c * 5u + (u64)(i64)e + g * 7u + h + i + j * 11u +
                  k + l + m * 13 + n + o + p + q[0] + r + s + t * 17 + u + v;

    return x ^ (u64)(i64)(d * 4) ^ (u64)(i64)f ^ w;
}

LANE_TEST(deep_calls, 4, 6)
{
    tree t[10];

    for (i32 i = 0; i < 10; i++) { /* sorted into a tree */
        i32 at = 0;

        t[i] = {in[i & 3] * (u32)(i + 3) >> 4, -1, -1};
        while (i) {
            i32 *const next = t[i].key < t[at].key ? &t[at].left : &t[at].right;

            if (*next < 0) {
                *next = i;
                break;
            }
            at = *next;
        }
    }
    out[0] = fibonacci(in[0] % 11);
    out[1] = is_even(in[1] % 37) ? in[0] : in[1];
    out[2] = depth_of(t, 0);
    put_pair(out + 3,
             many_arguments(in[0], pair(in), (u8)in[1], (float)(in[2] & 1023),
                            (i16)in[3], (double)(i32)in[1], in[2], pair(in + 1),
                            in[3], in[0], in[1], in[2], pair(in + 2), in[1],
                            in[2], in[3], in, in[0], pair(in), in[1], in[2],
                            in[3], 5));
    out[5] = t[in[2] % 10].key;
}

struct shape {
    u32 scale;
    DEVICE virtual u32 area(u32 x) const
    {
        return x * scale;
    }
    DEVICE virtual u32 name() const
    {
        return 1;
    }
};
struct square : shape {
    DEVICE u32 area(u32 x) const override
    {
        return x * x + scale;
    }
};
struct circle : square {
    u32 bias;
    DEVICE u32 area(u32 x) const override
    {
        return (x * x * 22 / 7) ^ bias;
    }
    DEVICE u32 name() const override
    {
        return 3 + bias;
    }
};

LANE_TEST(virtual_calls, 3, 2)
{
    shape a;
    square b;
    circle c;
    const shape *list[3] = {&a, &b, &c};
    u32 v = in[1] & 0xffff;

    a.scale = in[2] & 15;
    b.scale = in[2] >> 4 & 255;
    c.scale = 0;
    c.bias = in[2] >> 12;
    for (u32 i = 0; i < 9; i++) {
        const shape *const s = list[(in[0] >> 3 * i) % 3];

        v = v * 5 + s->area(v & 255) + s->name();
    }
    out[0] = v;
    out[1] = list[in[1] % 3]->area(in[2] & 1023);
}

/* ---- decisions ---- */

LANE_TEST(switch_tables, 3, 2)
{
    u32 state = in[0] % 24, acc = in[1];

    for (u32 i = 0; i < 20; i++)
        switch (state) {
        case 0:
            acc += 3;
            state = 5;
            break;
        case 1:
            acc ^= 0x55;
            state = acc % 24;
            break;
        case 2:
            acc = acc << 3 | acc >> 29;
            state = 9;
            break;
        case 3:
            acc *= 7;
            state = 14;
            break;
        case 4:
            acc -= i;
            state = 20;
            break;
        case 5:
            acc = ~acc;
            state = 2;
            break;
        case 6:
            acc += acc >> 4;
            state = 21;
            break;
        case 7:
            acc ^= in[2];
            state = 11;
            break;
        case 8:
            acc = acc * acc;
            state = 3;
            break;
        case 9:
            acc |= 1;
            state = acc >> 5 & 15;
            break;
        case 10:
            acc &= 0x7fffffff;
            state = 1;
            break;
        case 11:
            acc = acc / 3;
            state = 22;
            break;
        case 12:
            acc -= in[1];
            state = 6;
            break;
        case 13:
            acc = acc ? 0 - acc : 9;
            state = 8;
            break;
        case 14:
            acc ^= acc << 7;
            state = acc % 23;
            break;
        case 15:
            acc ^= acc >> 9;
            state = 17;
            break;
        case 16:
            acc += in[0] * i;
            state = 10;
            break;
        case 17:
            acc = acc < in[2] ? in[2] : acc;
            state = 12;
            break;
        case 18:
            acc = acc > in[1] ? in[1] : acc;
            state = 4;
            break;
        case 19:
            acc += 0x9e3779b9;
            state = 13;
            break;
        case 20:
            acc ^= state;
            state = 16;
            break;
        case 21:
            acc = acc % 1000003;
            state = 19;
            break;
        case 22:
            acc = acc << 16 | acc >> 16;
            state = 15;
            break;
        default:
            acc += state;
            state = 18;
            break;
        }
    out[0] = acc;
    out[1] = state;
}

/* Loops that cross and a way into the middle of one. */
LANE_TEST(irreducible, 3, 2)
{
    u32 x = in[0] & 0xffff, y = in[1] & 0xffff, steps = 0;

    if (in[2] & 1)
        goto inside;
    while (x < 90000) {
        x = x * 3 + 1;
    inside:
        if (++steps > 60)
            break;
        if (x & 4) {
            y += x >> 3;
            if (y & 1)
                continue;
            goto out_of_it;
        }
        for (u32 i = 0; i < (y & 3); i++) {
            x ^= y << i;
            if (x % 11 == 4)
                goto inside;
            if (x % 13 == 7)
                goto out_of_it;
        }
    }
    y ^= 0xaaaa;
out_of_it:
    out[0] = x ^ steps << 20;
    out[1] = y;
}

LANE_TEST(early_returns, 4, 2)
{
    out[0] = in[0];
    out[1] = in[1];
    if ((in[0] & 7) == 3)
        return;
    for (u32 i = 0; i < (in[1] & 31); i++) {
        if ((in[2] >> i & 3) == 3) {
            out[1] = i;
            return;
        }
        out[0] = out[0] * 3 + i;
        if (out[0] % 17 == 5)
            break;
    }
    if (in[3] & 1)
        out[1] += 100;
}

/* ---- memory ---- */

struct __attribute__((packed)) odd {
    u8 a;
    u32 b;
    u16 c;
    u64 d;
    float e;
    u8 f[3];
};

LANE_TEST(packed_structures, 8, 12)
{
    odd list[2], copy;
    u8 raw[44];

    __builtin_memcpy(list, in, 32);
    __builtin_memset((u8 *)list + 32, 0x5a, sizeof(list) - 32);
    copy = list[in[0] & 1];
    copy.b += copy.a;
    copy.d ^= (u64)copy.b << 11;
    copy.c = (u16)(copy.c * 3);
    copy.e = copy.e != copy.e ? 1 : copy.e * 2;
    copy.f[in[1] % 3] ^= 0x77;
    list[1 - (in[0] & 1)] = copy;
    for (u32 i = 0; i < 44; i++)
        raw[i] = ((u8 *)list)[43 - i];
    __builtin_memmove(raw + 3, raw, 30);
    __builtin_memcpy(out, raw, 44);
    out[11] = sizeof(odd);
}

LANE_TEST(copies_of_any_length, 8, 8)
{
    u8 from[32], to[32];
    const u32 n = in[0] % 29, at = in[1] % 4;

    __builtin_memcpy(from, in, 32);
    for (u32 i = 0; i < 32; i++)
        to[i] = (u8)i;
    __builtin_memcpy(to + at, from + 3, n);
    __builtin_memset(to + (n & 15), (int)(in[2] & 255), at);
    __builtin_memmove(to + 2, to, n);
    __builtin_memcpy(out, to, 32);
}

/* Volatile, non-temporal and vector accesses. */
LANE_TEST(access_kinds, 8, 12)
{
    typedef u32 u32x4 __attribute__((ext_vector_type(4)));
    typedef u32 u32x3 __attribute__((ext_vector_type(3)));
    typedef u8 u8x3 __attribute__((ext_vector_type(3)));
    u32x4 v, r;
    u32x3 t;
    u8x3 b = {(u8)in[0], (u8)in[1], (u8)in[2]};
    volatile u32 kept[4];

    __builtin_memcpy(&v, in, 16);
    __builtin_memcpy(&t, in + 5, 12);
    for (int i = 0; i < 4; i++)
        kept[i] = v[i] + t[i % 3];
    r = v.wxyz * 3 + __builtin_nontemporal_load(in + 4);
    __builtin_memcpy(out, &r, 16);
    __builtin_memcpy(out + 4, &t, 12);
    __builtin_nontemporal_store(v.x ^ t.z, out + 7);
    ((volatile u16 *)out)[16] = (u16)kept[in[0] & 3];
    ((volatile u8 *)out)[34] = (u8)kept[1];
    ((u8 *)out)[35] = (u8)(b.x + b.z);
    out[9] = kept[2] - *(const volatile u32 *)(in + 6);
    out[10] = (u32)(b.x > b.y) + (u32)__builtin_reduce_add((u32x4)(v >> 28));
    out[11] = __builtin_reduce_xor(v) ^ __builtin_reduce_max(v.xyz);
}
