/* operand.c - the one place that fetches operands and writes results
 *
 * Sources: register or constant, then SDWA selection, half selection, DPP,
 * then abs and neg (neg last, as the encodings define it). Results: omod,
 * clamp, then the half or SDWA part, then only the lanes of w->mask.
 */
#include "operand.h"

#include "dpp.h"
#include "sdwa.h"

#define X(token, ctype, nregs) nregs,
static const uint8_t type_nregs[] = {LANE_TYPES(X)};
#undef X

/* ---- scalars ---- */

static uint64_t special_value(const struct wave *w, unsigned reg)
{
    switch (reg) {
    case SPECIAL_SCC:
        return w->scc;
    case SPECIAL_VCCZ:
        return mask_sreg(w, SREG_VCC) == 0;
    case SPECIAL_EXECZ:
        return wave_exec(w) == 0;
    case SPECIAL_SHARED_BASE:
        return SHARED_BASE;
    case SPECIAL_SHARED_LIMIT:
        return SHARED_BASE + UINT32_MAX;
    case SPECIAL_PRIVATE_BASE:
        return PRIVATE_BASE;
    case SPECIAL_PRIVATE_LIMIT:
        return PRIVATE_BASE + UINT32_MAX;
    case SPECIAL_FLAT_SCRATCH_LO:
        return (uint32_t)w->scratch_base;
    case SPECIAL_FLAT_SCRATCH_HI:
        return w->scratch_base >> 32;
    default:
        return 0;
    }
}

uint64_t sim_special64(const struct wave *w, const struct operand *o)
{
    return o->kind == OPERAND_SPECIAL ? special_value(w, o->reg) : o->value;
}

uint32_t sim_special32(const struct wave *w, const struct operand *o)
{
    const uint64_t v = sim_special64(w, o);

    /* A base read as 32 bits gives its high half; the low half is 0. */
    return o->kind == OPERAND_SPECIAL && v >> 32 ? (uint32_t)(v >> 32)
                                                 : (uint32_t)v;
}

uint64_t sim_src_mask(const struct wave *w, const struct operand *o)
{
    if (o->kind == OPERAND_SGPR)
        return mask_sreg(w, o->reg);
    return sim_src_scalar64(w, o) & w->full;
}

void sim_dst_mask(struct wave *w, const struct operand *o, uint64_t mask)
{
    if (o->reg != SREG_NULL)
        set_mask_sreg(w, o->reg, mask);
}

/* ---- vector sources ---- */

static const uint32_t *fetch_raw32(struct wave *w, const struct operand *o,
                                   unsigned part, uint32_t tmp[MAX_LANES])
{
    uint32_t value;

    if (o->kind == OPERAND_VGPR)
        return w->v[o->reg + part];
    if (o->kind == OPERAND_AGPR)
        return w->a[o->reg + part];
    if (part == 0 && type_nregs[o->type] != 2) {
        value = sim_src_scalar32(w, o);
    } else {
        value = (uint32_t)(sim_src_scalar64(w, o) >> (32 * part));
    }
    LANES(i)
    tmp[i] = value;
    return tmp;
}

/* Bits of the sign in a 32-bit lane; packed types are the handler's. */
static uint32_t sign_bit(unsigned type)
{
    switch (type) {
    case T_u16:
    case T_i16:
    case T_f16:
    case T_bf16:
        return 0x8000;
    case T_pku16:
    case T_pkf16:
    case T_pkbf16:
        return 0x80008000;
    default:
        return 0x80000000;
    }
}

/* Flushes one half of v to a signed 0 if its exponent is 0. */
static inline uint32_t flush_half(uint32_t v, unsigned shift)
{
    bool flushes = (v >> shift & 0x7c00) == 0;

    return flushes ? v & ~(UINT32_C(0x3ff) << shift) : v;
}

const uint32_t *sim_flush16(const struct wave *w, const struct insn *in,
                            unsigned type, enum flush_side side,
                            const uint32_t *value, uint32_t tmp[MAX_LANES])
{
    bool keeps = w->mode >> (MODE_DENORM64 + side) & 1;

    if (keeps || in->fp != FP_OF_64 || (type != T_f16 && type != T_pkf16))
        return value;
    LANES(i)
    {
        uint32_t v = flush_half(value[i], 0);

        tmp[i] = type == T_pkf16 ? flush_half(v, 16) : v;
    }
    return tmp;
}

const uint32_t *sim_src32_slow(struct wave *w, const struct insn *in,
                               unsigned k, uint32_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];
    unsigned first = sim_first_source(in);
    const uint32_t *p = fetch_raw32(w, o, 0, tmp);
    uint32_t sign = sign_bit(o->type);

    if (in->dpp.kind != DPP_NONE && k == first) {
        uint32_t moved[MAX_LANES];

        sim_dpp_move32(w, in, p, moved);
        memcpy(tmp, moved, sizeof(moved));
        p = tmp;
    }
    if (o->sel || o->sext) {
        sim_sdwa_select(o, p, tmp, w->nlanes);
        p = tmp;
    }
    if (o->hi) {
        LANES(i)
        tmp[i] = p[i] >> 16;
        p = tmp;
    }
    if (o->abs) {
        LANES(i)
        tmp[i] = p[i] & ~sign;
        p = tmp;
    }
    if (o->neg) {
        LANES(i)
        tmp[i] = p[i] ^ sign;
        p = tmp;
    }
    return w->flushes16 ? sim_flush16(w, in, o->type, FLUSH_SOURCE, p, tmp) : p;
}

const uint64_t *sim_src64(struct wave *w, const struct insn *in, unsigned k,
                          uint64_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];

    if (o->kind == OPERAND_VGPR || o->kind == OPERAND_AGPR) {
        unsigned first = sim_first_source(in);
        const uint32_t *lo = *tuple_reg(w, o, 0);
        const uint32_t *hi = *tuple_reg(w, o, 1);
        uint32_t moved[2][MAX_LANES];

        if (in->dpp.kind != DPP_NONE && k == first) {
            sim_dpp_move32(w, in, lo, moved[0]);
            sim_dpp_move32(w, in, hi, moved[1]);
            lo = moved[0];
            hi = moved[1];
        }
        LANES(i)
        tmp[i] = lo[i] | (uint64_t)hi[i] << 32;
    } else {
        uint64_t value = sim_src_scalar64(w, o);

        LANES(i)
        tmp[i] = value;
    }
    if (o->abs)
        LANES(i)
    tmp[i] &= ~(UINT64_C(1) << 63);
    if (o->neg)
        LANES(i)
    tmp[i] ^= UINT64_C(1) << 63;
    return tmp;
}

/* ---- results ---- */

#define OUTPUT_MODIFIERS(name, raw, real, get, put)                            \
    static void name(const struct wave *w, const struct insn *in, raw *v)      \
    {                                                                          \
        static const real scale[] = {1, 2, 4, (real)0.5};                      \
        const real by = scale[in->omod];                                       \
        /* gfx12 has no DX10_CLAMP bit: NaN always becomes 0 */                \
        const bool nan_to_0 =                                                  \
            w->target->major >= 12 || (w->mode & MODE_DX10_CLAMP);             \
                                                                               \
        if (in->omod)                                                          \
            LANES(i)                                                           \
        put(&v[i], (real)(get(&v[i]) * by));                                   \
        if (in->flags & F_CLAMP)                                               \
            LANES(i)                                                           \
            {                                                                  \
                real x = get(&v[i]);                                           \
                                                                               \
                x = x < (real)1 ? x : x >= (real)1 ? (real)1 : x;              \
                x = x > (real)0 ? x : x == x || nan_to_0 ? (real)0 : x;        \
                put(&v[i], x);                                                 \
            }                                                                  \
    }
OUTPUT_MODIFIERS(modify_f32, uint32_t, float, get_f32, put_f32)
OUTPUT_MODIFIERS(modify_f16, uint32_t, half_t, get_f16, put_f16)
OUTPUT_MODIFIERS(modify_f64, uint64_t, double, get_f64, put_f64)

/* Few lanes take part: one after another is faster than all at once. */
static bool is_sparse(uint64_t mask)
{
    return __builtin_popcountll(mask) <= 8;
}

void sim_write32(struct wave *w, const struct operand *o,
                 const uint32_t value[MAX_LANES])
{
    uint32_t *d = *tuple_reg(w, o, 0);
    uint64_t mask = w->mask;

    if (mask == w->full) {
        LANES(i)
        d[i] = value[i];
        return;
    }
    if (is_sparse(mask)) {
        for (; mask; mask &= mask - 1) {
            const int i = __builtin_ctzll(mask);

            d[i] = value[i];
        }
        return;
    }
    LANES(i)
    d[i] = mask >> i & 1 ? value[i] : d[i];
}

void sim_write64(struct wave *w, const struct operand *o,
                 const uint64_t value[MAX_LANES])
{
    uint32_t *lo = *tuple_reg(w, o, 0);
    uint32_t *hi = *tuple_reg(w, o, 1);
    uint64_t mask = w->mask;

    if (mask == w->full) {
        LANES(i)
        {
            lo[i] = (uint32_t)value[i];
            hi[i] = (uint32_t)(value[i] >> 32);
        }
        return;
    }
    if (is_sparse(mask)) {
        for (; mask; mask &= mask - 1) {
            const int i = __builtin_ctzll(mask);

            lo[i] = (uint32_t)value[i];
            hi[i] = (uint32_t)(value[i] >> 32);
        }
        return;
    }
    LANES(i)
    {
        bool on = mask >> i & 1;

        lo[i] = on ? (uint32_t)value[i] : lo[i];
        hi[i] = on ? (uint32_t)(value[i] >> 32) : hi[i];
    }
}

void sim_dst32_slow(struct wave *w, const struct insn *in,
                    const uint32_t value[MAX_LANES])
{
    const struct operand *o = &in->op[0];
    const uint32_t *old = *tuple_reg(w, o, 0);
    uint32_t v[MAX_LANES] __attribute__((aligned(64)));

    if (in->omod || (in->flags & F_CLAMP)) {
        LANES(i)
        v[i] = value[i];
        if (o->type == T_f32)
            modify_f32(w, in, v);
        else if (o->type == T_f16)
            modify_f16(w, in, v);
        value = v;
    }
    if (w->flushes16)
        value = sim_flush16(w, in, o->type, FLUSH_RESULT, value, v);
    if (in->flags & F_SDWA) {
        sim_sdwa_merge(in, value, old, v, w->nlanes);
        value = v;
    } else if (o->hi) {
        LANES(i)
        v[i] = value[i] << 16 | (old[i] & 0xffff);
        value = v;
    } else if (in->flags & F_KEEP_HIGH) {
        LANES(i)
        v[i] = (value[i] & 0xffff) | (old[i] & 0xffff0000);
        value = v;
    }
    sim_write32(w, o, value);
}

void sim_dst64(struct wave *w, const struct insn *in,
               const uint64_t value[MAX_LANES])
{
    const struct operand *o = &in->op[0];
    uint64_t v[MAX_LANES] __attribute__((aligned(64)));

    if (o->type == T_f64 && (in->omod || (in->flags & F_CLAMP))) {
        LANES(i)
        v[i] = value[i];
        modify_f64(w, in, v);
        value = v;
    }
    sim_write64(w, o, value);
}
