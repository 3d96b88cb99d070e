/* flat.c - global, flat and scratch instructions
 *
 * Operands as LLVM prints them; an atomic that returns has vdst in front:
 *   global_load   vdst, vaddr, saddr|off      global_store  vaddr, vdata, saddr
 *   flat_load     vdst, vaddr                 flat_store    vaddr, vdata
 *   scratch_load  vdst, vaddr|off, saddr|off  scratch_store vaddr, vdata, saddr
 */
#include "fault_report.h"
#include "hint.h"
#include "sop.h"
#include "vmem.h"

/* A 64-bit vector address, or a scalar base and a 32-bit vector offset. */
static void locate_64(struct wave *w, const struct insn *in,
                      const struct operand *vaddr, const struct operand *saddr,
                      struct places *p)
{
    uint64_t offset = (uint64_t)(int64_t)in->offset;
    const uint32_t *lo, *hi;

    p->lanes = w->mask;
    if (saddr && saddr->kind == OPERAND_SGPR && saddr->reg != SREG_NULL) {
        uint64_t base = sim_src_scalar64(w, saddr) + offset;
        const uint32_t *v = *tuple_reg(w, vaddr, 0);

        LANES(i)
        p->at[i] = base + v[i];
        return;
    }
    lo = *tuple_reg(w, vaddr, 0);
    hi = *tuple_reg(w, vaddr, 1);
    LANES(i)
    p->at[i] = (lo[i] | (uint64_t)hi[i] << 32) + offset;
}

static bool flat_scratch_ok(struct wave *w)
{
    uint64_t base = sreg64(w, SREG_FLAT_SCRATCH);

    if (base == w->scratch_base)
        return true;
    sim_fault_raise(w, SIM_FAULT_SCRATCH, -1, base,
                    "FLAT_SCRATCH holds 0x%llx, but this wave's scratch is at "
                    "0x%llx: the kernel has not set it up",
                    (unsigned long long)base,
                    (unsigned long long)w->scratch_base);
    return false;
}

static bool locate_global(struct wave *w, const struct insn *in,
                          const struct operand *vaddr,
                          const struct operand *saddr, struct places *p)
{
    p->space = SPACE_GLOBAL;
    locate_64(w, in, vaddr, saddr, p);
    return true;
}

static bool locate_flat(struct wave *w, const struct insn *in,
                        const struct operand *vaddr,
                        const struct operand *saddr, struct places *p)
{
    bool private = false;

    p->space = SPACE_FLAT;
    locate_64(w, in, vaddr, saddr, p);
    for (uint64_t m = p->lanes; m; m &= m - 1)
    private |= p->at[__builtin_ctzll(m)] >> 32 == PRIVATE_BASE >> 32;
    return !private || flat_scratch_ok(w);
}

static bool locate_scratch(struct wave *w, const struct insn *in,
                           const struct operand *vaddr,
                           const struct operand *saddr, struct places *p)
{
    uint32_t offset = (uint32_t)in->offset;

    p->space = SPACE_SCRATCH;
    p->lanes = w->mask;
    if (saddr->kind == OPERAND_SGPR)
        offset += sim_src_scalar32(w, saddr);
    if (vaddr->kind == OPERAND_VGPR) {
        const uint32_t *v = *tuple_reg(w, vaddr, 0);

        LANES(i)
        p->at[i] = v[i] + offset;
    } else {
        LANES(i)
        p->at[i] = offset;
    }
    return flat_scratch_ok(w);
}

/* The scalar address that follows, if the instruction has one. */
static const struct operand *saddr_at(const struct insn *in, unsigned k)
{
    return k < in->nops ? &in->op[k] : NULL;
}

/* flat instructions have no saddr before gfx1250. */
#define HAS_SADDR_global 1
#define HAS_SADDR_flat 0
#define HAS_SADDR_scratch 1

#define LOAD_RUN(p, old, new, nbytes, sign, d16)                               \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        const struct form form = {nbytes, sign, d16};                          \
        struct places at;                                                      \
                                                                               \
        if (!locate_##p(w, in, &in->op[1], saddr_at(in, 2), &at))              \
            return;                                                            \
        sim_vmem_load(w, &at, &in->op[0], form);                               \
    }
#define STORE_RUN(p, old, new, nbytes, sign, d16)                              \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        const struct form form = {nbytes, sign, d16};                          \
        struct places at;                                                      \
                                                                               \
        if (!locate_##p(w, in, &in->op[0], saddr_at(in, 2), &at))              \
            return;                                                            \
        sim_vmem_store(w, &at, &in->op[1], form);                              \
    }
#define ATOMIC_RUN(p, old, new, nbytes, compares, fn)                          \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        unsigned first = in->nops > 2 + HAS_SADDR_##p ? 1 : 0;                 \
        struct places at;                                                      \
                                                                               \
        if (!locate_##p(w, in, &in->op[first], saddr_at(in, first + 2), &at))  \
            return;                                                            \
        sim_vmem_atomic(w, &at, first ? &in->op[0] : NULL, &in->op[first + 1], \
                        nbytes, compares, sim_atomic_##fn);                    \
    }

#define LOAD_ROW(p, old, new, nbytes, sign, d16)                               \
    {#p "_" #old, run_##p##_##old, CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, 0},
#define STORE_ROW(p, old, new, nbytes, sign, d16)                              \
    {#p "_" #old,                                                              \
     run_##p##_##old,                                                          \
     CLASS_VMEM,                                                               \
     {T_tuple, T_tuple, T_tuple},                                              \
     ROW_NO_DST},
#define ATOMIC_ROW(p, old, new, nbytes, compares, fn)                          \
    {#p "_" #old,                                                              \
     run_##p##_##old,                                                          \
     CLASS_VMEM,                                                               \
     {T_tuple, T_tuple, T_tuple, T_tuple},                                     \
     0},

VMEM_LOADS(LOAD_RUN, global)
VMEM_STORES(STORE_RUN, global)
VMEM_ATOMICS(ATOMIC_RUN, global)
VMEM_LOADS(LOAD_RUN, flat)
VMEM_STORES(STORE_RUN, flat)
VMEM_ATOMICS(ATOMIC_RUN, flat)
VMEM_LOADS(LOAD_RUN, scratch)
VMEM_STORES(STORE_RUN, scratch)

/* ---- dwords side by side: vdst, saddr|off; the lane's number is added ---- */

static void locate_addtid(struct wave *w, const struct insn *in,
                          struct places *p)
{
    const struct operand *saddr = &in->op[1];
    uint64_t base = (uint64_t)(int64_t)in->offset;

    if (saddr->kind == OPERAND_SGPR && saddr->reg != SREG_NULL)
        base += sim_src_scalar64(w, saddr);
    p->space = SPACE_GLOBAL;
    p->lanes = w->mask;
    LANES(i)
    p->at[i] = base + 4 * i;
}

static void run_global_load_dword_addtid(struct wave *w, const struct insn *in)
{
    struct places at;

    locate_addtid(w, in, &at);
    sim_vmem_load(w, &at, &in->op[0], (struct form){4, false, 0});
}

static void run_global_store_dword_addtid(struct wave *w, const struct insn *in)
{
    struct places at;

    locate_addtid(w, in, &at);
    sim_vmem_store(w, &at, &in->op[0], (struct form){4, false, 0});
}

/* ---- blocks: up to 32 registers, selected by the bits of M0; the dwords in
 * memory lie as the registers do ---- */

static void move_block(struct wave *w, struct places *at,
                       const struct operand *block, bool load)
{
    const struct form dword = {4, false, 0};
    struct operand reg = *block;

    for (unsigned k = 0; k < 32; k++) {
        if (w->s[SREG_M0] >> k & 1) {
            if (load)
                sim_vmem_load(w, at, &reg, dword);
            else
                sim_vmem_store(w, at, &reg, dword);
        }
        reg.reg++;
        for (unsigned i = 0; i < MAX_LANES; i++)
            at->at[i] += 4;
    }
}

#define BLOCK_RUN(p)                                                           \
    static void run_##p##_load_block(struct wave *w, const struct insn *in)    \
    {                                                                          \
        struct places at;                                                      \
                                                                               \
        if (locate_##p(w, in, &in->op[1], saddr_at(in, 2), &at))               \
            move_block(w, &at, &in->op[0], true);                              \
    }                                                                          \
    static void run_##p##_store_block(struct wave *w, const struct insn *in)   \
    {                                                                          \
        struct places at;                                                      \
                                                                               \
        if (locate_##p(w, in, &in->op[0], saddr_at(in, 2), &at))               \
            move_block(w, &at, &in->op[1], false);                             \
    }
BLOCK_RUN(global)
BLOCK_RUN(scratch)

/* ---- transposed: vdst, vaddr, saddr|off ---- */

/* clang-format off */
#define TRANSPOSED_LOADS(X)                           \
    X(global_load_tr_b64,  global_load_tr8_b64,   8,  8)  \
    X(global_load_tr_b128, global_load_tr16_b128, 16, 16) \
    X(global_load_tr4_b64, global_load_tr4_b64,   8,  4)  \
    X(global_load_tr6_b96, global_load_tr6_b96,   12, 6)
/* clang-format on */

#define TRANSPOSED_RUN(name, new, nbytes, nbits)                               \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        struct places at;                                                      \
                                                                               \
        if (w->nlanes != 32) {                                                 \
            sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,                  \
                            "the simulator transposes for 32 lanes only");     \
            return;                                                            \
        }                                                                      \
        locate_global(w, in, &in->op[1], saddr_at(in, 2), &at);                \
        sim_vmem_load_transposed(w, &at, &in->op[0], nbytes, nbits);           \
    }
TRANSPOSED_LOADS(TRANSPOSED_RUN)

#define TRANSPOSED_ROW(name, new, nbytes, nbits)                               \
    {#name, run_##name, CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, 0},
#define TRANSPOSED_ALIAS(name, new, nbytes, nbits) {#new, #name},

/* ---- to LDS: vaddr, saddr|off ---- */

/* clang-format off */
#define LDS_LOADS(X)                                              \
    X(global,  load_lds_dword,   load_lds_b32,  4,  false, 0)     \
    X(global,  load_lds_dwordx3, load_lds_b96,  12, false, 0)     \
    X(global,  load_lds_dwordx4, load_lds_b128, 16, false, 0)     \
    X(global,  load_lds_ubyte,   load_lds_u8,   1,  false, 0)     \
    X(global,  load_lds_sbyte,   load_lds_i8,   1,  true,  0)     \
    X(global,  load_lds_ushort,  load_lds_u16,  2,  false, 0)     \
    X(global,  load_lds_sshort,  load_lds_i16,  2,  true,  0)     \
    X(scratch, load_lds_dword,   load_lds_b32,  4,  false, 0)     \
    X(scratch, load_lds_ubyte,   load_lds_u8,   1,  false, 0)     \
    X(scratch, load_lds_sbyte,   load_lds_i8,   1,  true,  0)     \
    X(scratch, load_lds_ushort,  load_lds_u16,  2,  false, 0)     \
    X(scratch, load_lds_sshort,  load_lds_i16,  2,  true,  0)
/* clang-format on */

/* The instruction's offset counts on both sides: in memory and in LDS. */
#define LDS_LOAD_RUN(p, old, new, nbytes, sign, d16)                           \
    static void run_##p##_##old(struct wave *w, const struct insn *in)         \
    {                                                                          \
        const struct form form = {nbytes, sign, d16};                          \
        struct places at;                                                      \
                                                                               \
        if (!locate_##p(w, in, &in->op[0], saddr_at(in, 1), &at))              \
            return;                                                            \
        sim_vmem_load_lds(w, &at, in->offset, sim_lds_step(form), form);       \
    }
LDS_LOADS(LDS_LOAD_RUN)

/* ---- gfx1250, to and from LDS at a vector address: lds, vaddr, saddr|off and
 * vaddr, lds, saddr|off ---- */

static void locate_lds(struct wave *w, const struct insn *in,
                       const struct operand *address, struct places *p)
{
    const uint32_t *v = *tuple_reg(w, address, 0);

    p->space = SPACE_LDS;
    p->lanes = w->mask;
    LANES(i)
    p->at[i] = v[i] + (uint32_t)in->offset;
}

#define ASYNC_TABLE(X) X(b8, 1) X(b32, 4) X(b64, 8) X(b128, 16)
#define ASYNC_RUN(type, nbytes)                                                \
    static void run_load_async_##type(struct wave *w, const struct insn *in)   \
    {                                                                          \
        const struct form form = {nbytes, false, 0};                           \
        struct places at, lds;                                                 \
        locate_lds(w, in, &in->op[0], &lds);                                   \
        locate_global(w, in, &in->op[1], saddr_at(in, 2), &at);                \
        sim_vmem_load_lds_at(w, &at, &lds, nbytes, form);                      \
    }                                                                          \
    static void run_store_async_##type(struct wave *w, const struct insn *in)  \
    {                                                                          \
        struct places at, lds;                                                 \
        locate_global(w, in, &in->op[0], saddr_at(in, 2), &at);                \
        locate_lds(w, in, &in->op[1], &lds);                                   \
        sim_vmem_store_lds(w, &at, &lds, nbytes);                              \
    }
ASYNC_TABLE(ASYNC_RUN)

#define ASYNC_ROW(type, nbytes)                                                \
    {"global_load_async_to_lds_" #type,                                        \
     run_load_async_##type,                                                    \
     CLASS_VMEM,                                                               \
     {T_tuple, T_tuple, T_tuple},                                              \
     ROW_NO_DST},                                                              \
        {"global_store_async_from_lds_" #type,                                 \
         run_store_async_##type,                                               \
         CLASS_VMEM,                                                           \
         {T_tuple, T_tuple, T_tuple},                                          \
         ROW_NO_DST},

/* clang-format off */
#define CACHE_TABLE(X)                                                       \
    X(global_wb,          ROW_BARE)                                          \
    X(global_inv,         ROW_BARE)                                          \
    X(global_wbinv,       ROW_BARE)                                          \
    X(flat_prefetch_b8,   ROW_RAW)                                           \
    X(global_prefetch_b8, ROW_RAW)
#define CACHE_ROW(name, flags)                                               \
    {#name, sim_run_nothing, CLASS_OTHER, {T_none}, flags},

static const struct insn_row rows[] = {
    VMEM_LOADS(LOAD_ROW, global)
    VMEM_STORES(STORE_ROW, global)
    VMEM_ATOMICS(ATOMIC_ROW, global)
    VMEM_LOADS(LOAD_ROW, flat)
    VMEM_STORES(STORE_ROW, flat)
    VMEM_ATOMICS(ATOMIC_ROW, flat)
    VMEM_LOADS(LOAD_ROW, scratch)
    VMEM_STORES(STORE_ROW, scratch)
    LDS_LOADS(STORE_ROW)
    ASYNC_TABLE(ASYNC_ROW)
    TRANSPOSED_LOADS(TRANSPOSED_ROW)
    {"global_load_dword_addtid",  run_global_load_dword_addtid,  CLASS_VMEM, {T_tuple, T_tuple}, 0},
    {"global_store_dword_addtid", run_global_store_dword_addtid, CLASS_VMEM, {T_tuple, T_tuple}, ROW_NO_DST},
    {"global_load_block",   run_global_load_block,   CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, 0},
    {"global_store_block",  run_global_store_block,  CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, ROW_NO_DST},
    {"scratch_load_block",  run_scratch_load_block,  CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, 0},
    {"scratch_store_block", run_scratch_store_block, CLASS_VMEM, {T_tuple, T_tuple, T_tuple}, ROW_NO_DST},
    CACHE_TABLE(CACHE_ROW)
};
static const struct insn_alias aliases[] = {
    VMEM_LOADS(VMEM_ALIAS, global)
    VMEM_STORES(VMEM_ALIAS, global)
    VMEM_ATOMICS(VMEM_ALIAS, global)
    VMEM_LOADS(VMEM_ALIAS, flat)
    VMEM_STORES(VMEM_ALIAS, flat)
    VMEM_ATOMICS(VMEM_ALIAS, flat)
    VMEM_LOADS(VMEM_ALIAS, scratch)
    VMEM_STORES(VMEM_ALIAS, scratch)
    TRANSPOSED_LOADS(TRANSPOSED_ALIAS)
    {"global_load_addtid_b32",  "global_load_dword_addtid"},
    {"global_store_addtid_b32", "global_store_dword_addtid"},
};
/* clang-format on */

ROW_SET(flat, rows, aliases);
