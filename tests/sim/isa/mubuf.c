/* mubuf.c - buffer instructions: addresses through a descriptor
 *
 * The descriptor (four SGPRs): base in bits 47:0, stride in 61:48, number of
 * records in the third dword, flags in the fourth. With a stride of 0 the
 * records are bytes. A lane outside the records reads 0 and writes nothing, as
 * the buffer's owner asked for; only what lies inside is checked against the
 * allocations.
 *
 * Scratch of targets without architected flat scratch comes this way too. Its
 * descriptor swizzles (the records are interleaved by dwords over the lanes)
 * and its base is the one that sim_wave_init() gave out plus this wave's
 * offset, which is how it is told from others.
 *
 * Operands: vdata, vaddr|off, srsrc, soffset; loads to LDS have no vdata.
 */
#include "sop.h"
#include "vmem.h"

struct buffer {
    uint64_t base, nrecords, stride;
    bool swizzled, adds_thread_id;
    unsigned index_stride, element_size;
};

static struct buffer read_descriptor(const struct wave *w,
                                     const struct operand *o)
{
    const uint32_t *d = &w->s[o->reg];
    struct buffer b = {.base = (d[0] | (uint64_t)d[1] << 32) & 0xffffffffffff,
                       .stride = d[1] >> 16 & 0x3fff,
                       .nrecords = d[2],
                       .swizzled =
                           w->target->major >= 11 ? d[1] >> 30 & 3 : d[1] >> 31,
                       .adds_thread_id = d[3] >> 23 & 1,
                       .index_stride = 8u << (d[3] >> 21 & 3),
                       .element_size = 4};

    if (w->target->major == 9)
        b.element_size = 2u << (d[3] >> 19 & 3);
    return b;
}

static bool is_scratch(const struct wave *w, uint64_t base)
{
    return !w->target->architected_flat_scratch && base >= SCRATCH_BASE &&
           base - SCRATCH_BASE < UINT64_C(1) << 40;
}

/* soffset counts bytes of the whole wave, the rest bytes of the lane. */
static bool locate_in_scratch(struct wave *w, const struct buffer *b,
                              uint32_t soffset,
                              const uint32_t offset[MAX_LANES],
                              struct places *p)
{
    if (b->base != w->scratch_base) {
        sim_fault_raise(w, SIM_FAULT_SCRATCH, -1, b->base,
                        "the scratch descriptor's base is 0x%llx, but this "
                        "wave's scratch is at 0x%llx",
                        (unsigned long long)b->base,
                        (unsigned long long)w->scratch_base);
        return false;
    }
    p->space = SPACE_SCRATCH;
    p->lanes = w->mask;
    LANES(i)
    p->at[i] = (uint64_t)(soffset / w->nlanes) + offset[i];
    return true;
}

/*
 * Address of a record's byte. Swizzled buffers put the same element of
 * index_stride records side by side.
 */
static uint64_t buffer_offset(const struct buffer *b, uint64_t index,
                              uint64_t offset)
{
    uint64_t n = b->index_stride, e = b->element_size;

    if (!b->swizzled || b->stride == 0)
        return index * b->stride + offset;
    return (index / n * b->stride + offset / e * e) * n + index % n * e +
           offset % e;
}

static bool in_range(const struct buffer *b, uint64_t index, uint64_t offset,
                     unsigned nbytes, bool structured)
{
    if (b->stride == 0)
        return offset + nbytes <= b->nrecords;
    if (structured || b->swizzled)
        return index < b->nrecords && offset + nbytes <= b->stride;
    return index * b->stride + offset + nbytes <= b->nrecords * b->stride;
}

static bool locate(struct wave *w, const struct insn *in,
                   const struct operand *op, unsigned nbytes, struct places *p)
{
    const struct operand *vaddr = &op[0];
    struct buffer b = read_descriptor(w, &op[1]);
    uint32_t soffset = sim_src_scalar32(w, &op[2]);
    bool idxen = in->flags & F_IDXEN, offen = in->flags & F_OFFEN;
    uint32_t index[MAX_LANES] = {0}, offset[MAX_LANES];

    LANES(i)
    {
        offset[i] = (uint32_t)in->offset;
        if (idxen)
            index[i] = (*tuple_reg(w, vaddr, 0))[i];
        if (offen)
            offset[i] += (*tuple_reg(w, vaddr, idxen))[i];
        if (b.adds_thread_id)
            index[i] += (uint32_t)i;
    }
    if (is_scratch(w, b.base))
        return locate_in_scratch(w, &b, soffset, offset, p);
    p->space = SPACE_GLOBAL;
    p->lanes = 0;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        /* soffset moves the base: it takes part in the range check of raw
         * buffers only, where the descriptor counts bytes. */
        uint64_t checked = (uint64_t)offset[lane] + (b.stride ? 0 : soffset);

        if (in_range(&b, index[lane], checked, nbytes, idxen))
            p->lanes |= UINT64_C(1) << lane;
        p->at[lane] =
            b.base + soffset + buffer_offset(&b, index[lane], offset[lane]);
    }
    return true;
}

#define LOAD_RUN(p, old, new, nbytes, sign, d16)                               \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        const struct form form = {nbytes, sign, d16};                          \
        bool to_lds = in->flags & F_LDS;                                       \
        struct places at;                                                      \
                                                                               \
        if (!locate(w, in, &in->op[!to_lds], nbytes, &at))                     \
            return;                                                            \
        if (to_lds)                                                            \
            sim_vmem_load_lds(w, &at, in->offset, form);                       \
        else                                                                   \
            sim_vmem_load(w, &at, &in->op[0], form);                           \
    }
#define STORE_RUN(p, old, new, nbytes, sign, d16)                              \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        const struct form form = {nbytes, sign, d16};                          \
        struct places at;                                                      \
                                                                               \
        if (locate(w, in, &in->op[1], nbytes, &at))                            \
            sim_vmem_store(w, &at, &in->op[0], form);                          \
    }
#define ATOMIC_RUN(p, old, new, nbytes, compares, fn)                          \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        struct places at;                                                      \
                                                                               \
        if (locate(w, in, &in->op[1], nbytes, &at))                            \
            sim_vmem_atomic(w, &at, in->flags &F_GLC ? &in->op[0] : NULL,      \
                            &in->op[0], nbytes, compares, sim_atomic_##fn);    \
    }
VMEM_LOADS(LOAD_RUN, buffer)
VMEM_STORES(STORE_RUN, buffer)
VMEM_ATOMICS(ATOMIC_RUN, buffer)

static void run_nothing(struct wave *w, const struct insn *in)
{
    (void)w;
    (void)in;
}

#define BUFFER_TYPES                                                           \
    {                                                                          \
        T_tuple, T_tuple, T_tuple, T_u32                                       \
    }
#define LOAD_ROW(p, old, ...)                                                  \
    {#p "_" #old, run_##p##_##old, CLASS_VMEM, BUFFER_TYPES, 0},
#define STORE_ROW(p, old, ...)                                                 \
    {#p "_" #old, run_##p##_##old, CLASS_VMEM, BUFFER_TYPES, ROW_NO_DST},
#define CACHE_ROW(name) {#name, run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},

/* clang-format off */
#define CACHE_TABLE(X)                                                         \
    X(buffer_wbl2) X(buffer_inv) X(buffer_wbinvl1) X(buffer_wbinvl1_vol)       \
    X(buffer_wbinvl1_sc) X(buffer_invl2) X(buffer_gl0_inv) X(buffer_gl1_inv)

static const struct insn_row rows[] = {
    VMEM_LOADS(LOAD_ROW, buffer)
    VMEM_STORES(STORE_ROW, buffer)
    VMEM_ATOMICS(LOAD_ROW, buffer)
    CACHE_TABLE(CACHE_ROW)
};
static const struct insn_alias aliases[] = {
    VMEM_LOADS(VMEM_ALIAS, buffer)
    VMEM_STORES(VMEM_ALIAS, buffer)
    VMEM_ATOMICS(VMEM_ALIAS, buffer)
};
/* clang-format on */

ROW_SET(mubuf, rows, aliases);
