/* mubuf.c - buffer instructions: addresses through a descriptor
 *
 * The descriptor (four SGPRs): base in bits 47:0, stride in 61:48, number of
 * records in the third dword, flags in the fourth. The range is checked dword
 * by dword: out of range a load gives 0 and a store does nothing. Accesses in
 * range are checked against the allocations.
 *
 *   gfx9    with an index and a stride, records count in units of the stride;
 *           else in bytes, whatever the stride field holds, and soffset counts
 *           (CDNA's manuals leave it out, gfx950 does not); buffers that add
 *           the thread's ID are not checked
 *   gfx10+  OOB_SELECT of the descriptor says how
 *
 * Scratch of targets without architected flat scratch comes this way too. Its
 * descriptor swizzles (the records are interleaved by dwords over the lanes)
 * and its base is the one that sim_wave_init() gave out plus this wave's
 * offset, which is how it is told from others.
 *
 * Operands: vdata, vaddr|off, srsrc, soffset; loads to LDS have no vdata.
 */
#include "fault_report.h"
#include "hint.h"
#include "sop.h"
#include "vmem.h"

/* How the range check treats an access: as a whole, or dword by dword. */
enum access_form { WHOLE, TYPED, BY_DWORDS };

/* Values of OOB_SELECT. */
enum oob { OOB_STRUCTURED, OOB_INDEX, OOB_EMPTY, OOB_RAW, OOB_GFX9 };

struct buffer {
    uint64_t base, nrecords, stride;
    bool swizzled, adds_thread_id;
    enum oob oob;
    unsigned index_stride, element_size;
};

static struct buffer read_descriptor(const struct wave *w,
                                     const struct operand *o, bool typed)
{
    const uint32_t *d = &w->s[o->reg];
    unsigned swizzle = w->target->major >= 11 ? d[1] >> 30 & 3 : d[1] >> 31;
    struct buffer b = {.base = (d[0] | (uint64_t)d[1] << 32) & 0xffffffffffff,
                       .stride = d[1] >> 16 & 0x3fff,
                       .nrecords = d[2],
                       .swizzled = swizzle,
                       .adds_thread_id = d[3] >> 23 & 1,
                       .oob = (enum oob)(d[3] >> 28 & 3),
                       .index_stride = 8u << (d[3] >> 21 & 3),
                       .element_size = 4};

    if (w->target->major >= 11 && swizzle)
        b.element_size = 2u << swizzle;
    if (w->target->major == 9) {
        b.oob = OOB_GFX9;
        b.element_size = 2u << (d[3] >> 19 & 3);
        if (b.adds_thread_id && !typed) /* more stride bits, not a format */
            b.stride |= (uint64_t)(d[3] >> 15 & 15) << 14;
    }
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

/* Whether `n` bytes at `offset` of record `index` are in the buffer. */
static bool in_range(const struct buffer *b, bool has_index, uint64_t index,
                     uint64_t offset, uint32_t soffset, unsigned n)
{
    bool in_record = index < b->nrecords && offset + n <= b->stride;

    switch (b->oob) {
    case OOB_GFX9:
        if (b->adds_thread_id)
            return true;
        return b->stride && has_index ? index < b->nrecords
                                      : offset + soffset + n <= b->nrecords;
    case OOB_STRUCTURED: /* without a stride the records are bytes */
        return b->stride ? in_record : offset + n <= b->nrecords;
    case OOB_INDEX:
        return index < b->nrecords;
    case OOB_EMPTY:
        return b->nrecords != 0;
    default:
        return b->swizzled && b->stride
                   ? in_record
                   : index * b->stride + offset + n + soffset <= b->nrecords;
    }
}

enum { MAX_PARTS = 4 };

/* For each dword of the access (or for the whole of a shorter access), the
 * lanes in range. */
struct reach {
    uint64_t lanes[MAX_PARTS];
    unsigned nparts;
    bool scattered; /* a lane's dwords are not contiguous; at[] has each one */
    uint64_t at[MAX_PARTS][MAX_LANES];
};

/* Sets p->lanes to the lanes whose access is wholly in range, and `r` to the
 * lanes in range for each part. */
static bool locate(struct wave *w, const struct insn *in,
                   const struct operand *op, unsigned nbytes,
                   enum access_form access, struct places *p, struct reach *r)
{
    const struct operand *vaddr = &op[0];
    struct buffer b = read_descriptor(w, &op[1], access == TYPED);
    uint32_t soffset = sim_src_scalar32(w, &op[2]);
    bool idxen = in->flags & F_IDXEN, offen = in->flags & F_OFFEN;
    uint32_t index[MAX_LANES] = {0}, offset[MAX_LANES];

    memset(r->lanes, 0, sizeof(r->lanes));
    r->nparts = access == BY_DWORDS && nbytes > 4 ? nbytes / 4 : 1;
    r->scattered = false;
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
    if (is_scratch(w, b.base)) {
        if (!locate_in_scratch(w, &b, soffset, offset, p))
            return false;
        for (unsigned k = 0; k < r->nparts; k++)
            r->lanes[k] = p->lanes;
        return true;
    }
    p->space = SPACE_GLOBAL;
    r->scattered =
        b.swizzled && b.stride && r->nparts > 1 && b.element_size < nbytes;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        for (unsigned k = 0; k < r->nparts; k++) {
            uint64_t part = nbytes / r->nparts, at = offset[lane] + k * part;

            if (in_range(&b, idxen, index[lane], at, soffset, (unsigned)part))
                r->lanes[k] |= UINT64_C(1) << lane;
            if (r->scattered)
                r->at[k][lane] =
                    b.base + soffset + buffer_offset(&b, index[lane], at);
        }
        p->at[lane] =
            b.base + soffset + buffer_offset(&b, index[lane], offset[lane]);
    }
    p->lanes = r->lanes[0];
    for (unsigned k = 1; k < r->nparts; k++)
        p->lanes &= r->lanes[k];
    return true;
}

bool sim_buffer_locate(struct wave *w, const struct insn *in,
                       const struct operand *op, unsigned nbytes,
                       struct places *p)
{
    struct reach r;

    return locate(w, in, op, nbytes, TYPED, p, &r);
}

/* Whether some lane is in range with some of its dwords alone, or has them in
 * several places. */
static bool is_split(const struct places *p, const struct reach *r)
{
    if (r->scattered)
        return true;
    for (unsigned k = 0; k < r->nparts; k++)
        if (r->lanes[k] != p->lanes)
            return true;
    return false;
}

/* The k-th dword of each lane. */
static void place_dword(struct places *p, const struct reach *r, unsigned k)
{
    p->lanes = r->lanes[k];
    if (r->scattered)
        memcpy(p->at, r->at[k], sizeof(p->at));
    else if (k)
        for (unsigned i = 0; i < MAX_LANES; i++)
            p->at[i] += 4;
}

/* Its register. */
static struct operand dword_of(const struct operand *o, unsigned k)
{
    struct operand part = *o;

    part.reg = (uint16_t)(o->reg + k);
    return part;
}

static void load(struct wave *w, const struct insn *in, struct form form)
{
    bool to_lds = in->flags & F_LDS;
    struct places at;
    struct reach r;

    if (!locate(w, in, &in->op[!to_lds], form.nbytes, BY_DWORDS, &at, &r))
        return;
    if (!is_split(&at, &r)) {
        if (to_lds)
            sim_vmem_load_lds(w, &at, in->offset, sim_lds_step(form), form);
        else
            sim_vmem_load(w, &at, &in->op[0], form);
        return;
    }
    for (unsigned k = 0; k < r.nparts; k++) {
        const struct form part = {4, false, 0};
        struct operand dst = dword_of(&in->op[0], k);

        place_dword(&at, &r, k);
        if (to_lds)
            sim_vmem_load_lds(w, &at, in->offset + 4 * (int)k,
                              sim_lds_step(form), part);
        else
            sim_vmem_load(w, &at, &dst, part);
    }
}

static void store(struct wave *w, const struct insn *in, struct form form)
{
    struct places at;
    struct reach r;

    if (!locate(w, in, &in->op[1], form.nbytes, BY_DWORDS, &at, &r))
        return;
    if (!is_split(&at, &r)) {
        sim_vmem_store(w, &at, &in->op[0], form);
        return;
    }
    for (unsigned k = 0; k < r.nparts; k++) {
        struct operand src = dword_of(&in->op[0], k);

        place_dword(&at, &r, k);
        sim_vmem_store(w, &at, &src, (struct form){4, false, 0});
    }
}

static void atomic(struct wave *w, const struct insn *in, unsigned nbytes,
                   bool compares, atomic_fn *fn)
{
    struct places at;
    struct reach r;

    if (locate(w, in, &in->op[1], nbytes, WHOLE, &at, &r))
        sim_vmem_atomic(w, &at, in->flags & F_GLC ? &in->op[0] : NULL,
                        &in->op[0], nbytes, compares, fn);
}

/* Always from LDS at M0 to memory, a dword for each lane. */
static void run_buffer_store_lds_dword(struct wave *w, const struct insn *in)
{
    const struct operand op[] = {{0}, in->op[0], in->op[1]}; /* no vaddr */
    uint64_t start = (uint64_t)(w->s[SREG_M0] & 0xffff) + (uint32_t)in->offset;
    struct places at;
    struct reach r;

    if (!locate(w, in, op, 4, WHOLE, &at, &r))
        return;
    for (uint64_t m = at.lanes; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        const uint8_t *from =
            sim_lds(w, start + 4 * (unsigned)lane, 4, ACCESS_READ, lane);
        uint8_t *to =
            from ? sim_global(w, at.at[lane], 4, ACCESS_WRITE, lane) : NULL;

        if (!to)
            return;
        memcpy(to, from, 4);
    }
}

#define LOAD_RUN(p, old, new, nbytes, sign, d16)                               \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        load(w, in, (struct form){nbytes, sign, d16});                         \
    }
#define STORE_RUN(p, old, new, nbytes, sign, d16)                              \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        store(w, in, (struct form){nbytes, sign, d16});                        \
    }
#define ATOMIC_RUN(p, old, new, nbytes, compares, fn)                          \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        atomic(w, in, nbytes, compares, sim_atomic_##fn);                      \
    }
VMEM_LOADS(LOAD_RUN, buffer)
VMEM_STORES(STORE_RUN, buffer)
VMEM_ATOMICS(ATOMIC_RUN, buffer)

#define BUFFER_TYPES                                                           \
    {                                                                          \
        T_tuple, T_tuple, T_tuple, T_u32                                       \
    }
#define LOAD_ROW(p, old, ...)                                                  \
    {#p "_" #old, run_##p##_##old, CLASS_VMEM, BUFFER_TYPES, 0},
#define STORE_ROW(p, old, ...)                                                 \
    {#p "_" #old, run_##p##_##old, CLASS_VMEM, BUFFER_TYPES, ROW_NO_DST},
#define CACHE_ROW(name)                                                        \
    {#name, sim_run_nothing, CLASS_OTHER, {T_none}, ROW_BARE},

/* clang-format off */
#define CACHE_TABLE(X)                                                         \
    X(buffer_wbl2) X(buffer_inv) X(buffer_wbinvl1) X(buffer_wbinvl1_vol)       \
    X(buffer_wbinvl1_sc) X(buffer_invl2) X(buffer_gl0_inv) X(buffer_gl1_inv)

static const struct insn_row rows[] = {
    VMEM_LOADS(LOAD_ROW, buffer)
    VMEM_STORES(STORE_ROW, buffer)
    VMEM_ATOMICS(LOAD_ROW, buffer)
    CACHE_TABLE(CACHE_ROW)
    {"buffer_store_lds_dword", run_buffer_store_lds_dword, CLASS_VMEM,
     {T_tuple, T_u32}, ROW_NO_DST},
};
static const struct insn_alias aliases[] = {
    VMEM_LOADS(VMEM_ALIAS, buffer)
    VMEM_STORES(VMEM_ALIAS, buffer)
    VMEM_ATOMICS(VMEM_ALIAS, buffer)
};
/* clang-format on */

ROW_SET(mubuf, rows, aliases);
