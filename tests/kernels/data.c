/* data.c - inputs for kernels: ordinary, wide and hostile */
#include "harness.h"

#include <math.h>

static kt_real small(enum kt_type type, uint64_t r)
{
    if (kt_is_float(type))
        return (kt_real)(r >> 11) * 0x1p-50L - 4; /* 53 bits of [-4, 4) */
    if (type == KT_U8 || type == KT_U32)
        return (kt_real)(r % 101);
    return (kt_real)(r % 201) - 100;
}

/* A random code is a number of random magnitude; specials are tried again. */
static uint64_t wide(enum kt_type type, uint64_t *state)
{
    for (;;) {
        uint64_t bits = kt_random(state);
        kt_real v = kt_get(type, &bits, 0);

        if (!kt_is_float(type) || (!isnan(v) && !isinf(v)))
            return bits;
    }
}

enum { NSPECIALS = 29 };

static void encode_specials(enum kt_type type, uint64_t code[NSPECIALS])
{
    const kt_real tiny = kt_ulp(type, 0);
    const kt_real specials[] = {
        0,
        -0.0L,
        1,
        -1,
        (kt_real)INFINITY,
        -(kt_real)INFINITY,
        (kt_real)NAN,
        kt_max(type),
        -kt_max(type),
        tiny,
        -tiny,
        tiny * 3,
        0.5L,
        -0.5L,
        1.5L,
        -2.5L,
        255,
        256,
        -128,
        65504,
        4294967295.0L,
        4294967296.0L,
        -9223372036854775808.0L,
        9223372036854775808.0L,
        1 + kt_eps(type),
        88.7L,
        -88.7L,
        -104,
        0.1L,
    };

    _Static_assert(sizeof(specials) / sizeof(specials[0]) == NSPECIALS, "");
    for (size_t i = 0; i < NSPECIALS; i++)
        code[i] = kt_encode(type, specials[i]);
}

static uint64_t hostile(enum kt_type type, const uint64_t special[NSPECIALS],
                        uint64_t *state)
{
    const uint64_t r = kt_random(state);

    if (r % 3 == 0)
        return wide(type, state);
    if (r % 3 == 1)
        return kt_encode(type, small(type, kt_random(state)));
    return special[(r >> 8) % NSPECIALS];
}

void kt_fill(enum kt_type type, void *data, size_t n, enum kt_data what,
             uint64_t seed)
{
    uint64_t special[NSPECIALS];
    uint64_t state = seed;

    if (what == KT_HOSTILE)
        encode_specials(type, special);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;

        switch (what) {
        case KT_SMALL:
            bits = kt_encode(type, small(type, kt_random(&state)));
            break;
        case KT_WIDE:
            bits = wide(type, &state);
            break;
        case KT_HOSTILE:
            bits = hostile(type, special, &state);
            break;
        case KT_CODES:
            bits = i;
            break;
        case KT_ZERO:
            break;
        }
        kt_put_bits(type, data, i, bits);
    }
}

void *kt_host(struct kt *t, enum kt_type type, size_t n, enum kt_data what,
              uint64_t seed)
{
    void *data = kt_alloc(t, n * kt_size(type));

    kt_fill(type, data, n, what, seed);
    return data;
}
