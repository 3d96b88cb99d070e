/* operand.h - fetches operands and writes results */
#ifndef SIM_ISA_OPERAND_H
#define SIM_ISA_OPERAND_H

#include "wave.h"

/* Runs a statement for each lane; in blocks of 32 so that it vectorises. */
#define LANES(i)                                                               \
    for (size_t i##_block = 0; i##_block < w->nlanes; i##_block += 32)         \
    _Pragma("GCC ivdep") for (size_t i = i##_block; i < i##_block + 32; i++)

/* ---- sources ---- */

/* One 32-bit value per lane; of 16-bit types the low halves count. */
const uint32_t *sim_src32_slow(struct wave *w, const struct insn *in,
                               unsigned k, uint32_t tmp[MAX_LANES]);
const uint64_t *sim_src64(struct wave *w, const struct insn *in, unsigned k,
                          uint64_t tmp[MAX_LANES]);

static inline const uint32_t *src32(struct wave *w, const struct insn *in,
                                    unsigned k, uint32_t tmp[MAX_LANES])
{
    const struct operand *o = &in->op[k];

    if (o->splat)
        return o->splat;
    if (!o->plain || (w->flushes16 && in->fp == FP_OF_64))
        return sim_src32_slow(w, in, k, tmp);
    return o->kind == OPERAND_VGPR ? w->v[o->reg] : w->a[o->reg];
}

/*
 * f16 is computed in f32, whose denormals are others: what MODE flushes is
 * flushed here, in the values of operands (bit 0 of the field) and of results
 * (bit 1) of the types f16 and pkf16.
 */
enum flush_side { FLUSH_SOURCE, FLUSH_RESULT };
const uint32_t *sim_flush16(const struct wave *w, const struct insn *in,
                            unsigned type, enum flush_side side,
                            const uint32_t *value, uint32_t tmp[MAX_LANES]);

/* A lane mask (v_cndmask, carry in). */
uint64_t sim_src_mask(const struct wave *w, const struct operand *o);

/* Special operands: neither registers nor constants. */
uint32_t sim_special32(const struct wave *w, const struct operand *o);
uint64_t sim_special64(const struct wave *w, const struct operand *o);

/* Any scalar source. The decoder has made a constant of null. */
static inline uint32_t sim_src_scalar32(const struct wave *w,
                                        const struct operand *o)
{
    if (o->kind == OPERAND_SGPR)
        return w->s[o->reg];
    return o->kind == OPERAND_CONST ? (uint32_t)o->value : sim_special32(w, o);
}

static inline uint64_t sim_src_scalar64(const struct wave *w,
                                        const struct operand *o)
{
    if (o->kind == OPERAND_SGPR)
        return o->width == 1 ? w->s[o->reg] : sreg64(w, o->reg);
    return o->kind == OPERAND_CONST ? o->value : sim_special64(w, o);
}

/* Register `index` of a tuple operand (matrix tiles, wide data) as it stands;
 * constants come from operand.value instead. */
static inline vreg *tuple_reg(struct wave *w, const struct operand *o,
                              unsigned index)
{
    return o->kind == OPERAND_AGPR ? &w->a[o->reg + index]
                                   : &w->v[o->reg + index];
}

/* ---- destinations ---- */

/* Writes op[0] from one value per lane: omod, clamp, SDWA, halves, EXEC. */
void sim_dst32_slow(struct wave *w, const struct insn *in,
                    const uint32_t value[MAX_LANES]);
void sim_dst64(struct wave *w, const struct insn *in,
               const uint64_t value[MAX_LANES]);

/* Writes any operand's register(s) under w->mask, with no modifiers. */
void sim_write32(struct wave *w, const struct operand *o,
                 const uint32_t value[MAX_LANES]);
void sim_write64(struct wave *w, const struct operand *o,
                 const uint64_t value[MAX_LANES]);

/* Writes a lane mask. The caller sets the bits of inactive lanes, too (0 for
 * compares). */
void sim_dst_mask(struct wave *w, const struct operand *o, uint64_t mask);

static inline void sim_dst_scalar32(struct wave *w, const struct operand *o,
                                    uint32_t value)
{
    w->s[o->reg] = value; /* null's slot is never read */
}

static inline void sim_dst_scalar64(struct wave *w, const struct operand *o,
                                    uint64_t value)
{
    if (o->reg != SREG_NULL)
        set_sreg64(w, o->reg, value);
}

static inline uint32_t *dst32(struct wave *w, const struct insn *in,
                              uint32_t tmp[MAX_LANES])
{
    if (in->plain_dst && w->mask == w->full)
        return *tuple_reg(w, &in->op[0], 0);
    return tmp;
}

static inline void dst32_done(struct wave *w, const struct insn *in,
                              const uint32_t *d, const uint32_t *tmp)
{
    if (d == tmp)
        sim_dst32_slow(w, in, d);
}

#endif
