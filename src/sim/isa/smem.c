/* smem.c - scalar memory: loads, gfx9's and gfx10.1's stores and atomics
 *
 * Address: a pair of SGPRs, plus an offset that is a constant, an SGPR, or both
 * (`s3 offset:0x10`). An address that is not a multiple of four, which hardware
 * rounds down, is a fault here.
 */
#include "clock.h"
#include "fault_report.h"
#include "hint.h"
#include "late_memory.h"
#include "sop.h"
#include "stale_read.h"
#include "vmem.h"
#include "work_count.h"

enum { SMEM_MAX_DWORDS = 16 };

static uint64_t offset_of(const struct wave *w, const struct insn *in,
                          unsigned k)
{
    const struct operand *o = &in->op[k];

    /* Constants are signed, and an SGPR's value is unsigned. */
    if (o->kind == OPERAND_CONST)
        return (uint64_t)((int64_t)(int32_t)o->value + in->offset);
    return sim_src_scalar32(w, o) + (uint64_t)(int64_t)in->offset;
}

/* The bytes as the scalar cache holds them. */
static const uint8_t *read_cached(struct wave *w, uint64_t addr, unsigned n)
{
    uint8_t *const shown = (uint8_t *)w->memory->scalar;
    uint8_t *at;
    const struct sim_alloc *a =
        sim_global_place(w, addr, n, ACCESS_READ, -1, &at);

    if (!a)
        return NULL;
    sim_caches_read_scalar(w->run->caches, w->memory->cu, a, at, n, shown);
    sim_stale_check(w, at, n, shown, false, -1);
    return shown;
}

static const uint8_t *scalar_read(struct wave *w, uint64_t addr, unsigned n)
{
    if (n >= 4 && (addr & 3)) {
        sim_fault_raise(w, SIM_FAULT_MISALIGNED, -1, addr,
                        "loads dwords at 0x%llx, not a multiple of 4",
                        (unsigned long long)addr);
        return NULL;
    }
    if (w->flight)
        sim_work_scalar(w, addr, n, false);
    return w->memory ? read_cached(w, addr, n)
                     : sim_global(w, addr, n, ACCESS_READ, -1);
}

static void put_dwords(struct wave *w, const struct operand *dst,
                       const uint8_t *bytes, unsigned ndwords)
{
    if (dst->reg == SREG_NULL)
        return;
    memcpy(&w->s[dst->reg], bytes, 4ull * ndwords);
}

static void run_s_load(struct wave *w, const struct insn *in)
{
    uint64_t addr = sget_u64(w, &in->op[1]) + offset_of(w, in, 2);
    unsigned ndwords = in->op[0].width;
    const uint8_t *p = scalar_read(w, addr, 4 * ndwords);

    if (p)
        put_dwords(w, &in->op[0], p, ndwords);
}

/* A buffer's descriptor: base in 47:0, stride in 61:48, number of records in
 * the third dword. Reads past the end give 0, as the hardware does. */
struct scalar_buffer {
    uint64_t base, size;
};

static struct scalar_buffer scalar_buffer(const struct wave *w,
                                          const struct operand *o)
{
    const uint32_t *desc = &w->s[o->reg];
    uint64_t stride = desc[1] >> 16 & 0x3fff;

    return (struct scalar_buffer){(desc[0] | (uint64_t)desc[1] << 32) &
                                      0xffffffffffff,
                                  stride ? stride * desc[2] : desc[2]};
}

static void run_s_buffer_load(struct wave *w, const struct insn *in)
{
    struct scalar_buffer b = scalar_buffer(w, &in->op[1]);
    uint64_t offset = (uint32_t)offset_of(w, in, 2);
    uint8_t bytes[4 * SMEM_MAX_DWORDS] = {0};
    unsigned ndwords = in->op[0].width;

    for (unsigned i = 0; i < ndwords; i++) {
        const uint8_t *p;

        if (offset + 4ull * i + 4 > b.size)
            break;
        p = scalar_read(w, b.base + offset + 4ull * i, 4);
        if (!p)
            return;
        memcpy(bytes + 4ull * i, p, 4);
    }
    put_dwords(w, &in->op[0], bytes, ndwords);
}

#define SUBDWORD_RUN(name, ctype)                                              \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        uint64_t addr = sget_u64(w, &in->op[1]) + offset_of(w, in, 2);         \
        const uint8_t *p = scalar_read(w, addr, sizeof(ctype));                \
        ctype v;                                                               \
                                                                               \
        if (!p)                                                                \
            return;                                                            \
        memcpy(&v, p, sizeof(v));                                              \
        sput_i32(w, &in->op[0], v);                                            \
    }
SUBDWORD_RUN(s_load_u8, uint8_t)
SUBDWORD_RUN(s_load_i8, int8_t)
SUBDWORD_RUN(s_load_u16, uint16_t)
SUBDWORD_RUN(s_load_i16, int16_t)

#define BUFFER_SUBDWORD_RUN(name, ctype)                                       \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        struct scalar_buffer b = scalar_buffer(w, &in->op[1]);                 \
        uint64_t offset = (uint32_t)offset_of(w, in, 2);                       \
        const uint8_t *p;                                                      \
        ctype v = 0;                                                           \
                                                                               \
        if (offset + sizeof(v) <= b.size) {                                    \
            p = scalar_read(w, b.base + offset, sizeof(v));                    \
            if (!p)                                                            \
                return;                                                        \
            memcpy(&v, p, sizeof(v));                                          \
        }                                                                      \
        sput_i32(w, &in->op[0], v);                                            \
    }
BUFFER_SUBDWORD_RUN(s_buffer_load_u8, uint8_t)
BUFFER_SUBDWORD_RUN(s_buffer_load_i8, int8_t)
BUFFER_SUBDWORD_RUN(s_buffer_load_u16, uint16_t)
BUFFER_SUBDWORD_RUN(s_buffer_load_i16, int16_t)

/* ---- stores ---- */

static void store(struct wave *w, uint64_t addr, const uint32_t *dwords,
                  unsigned ndwords)
{
    uint8_t *p =
        sim_global(w, addr & ~UINT64_C(3), 4 * ndwords, ACCESS_WRITE, -1);

    if (w->flight)
        sim_work_scalar(w, addr & ~UINT64_C(3), 4 * ndwords, true);
    if (p)
        memcpy(p, dwords, 4ull * ndwords);
}

static void run_s_store(struct wave *w, const struct insn *in)
{
    store(w, sget_u64(w, &in->op[1]) + offset_of(w, in, 2),
          &w->s[in->op[0].reg], in->op[0].width);
}

/* Dwords outside the buffer are not stored. */
static void run_s_buffer_store(struct wave *w, const struct insn *in)
{
    struct scalar_buffer b = scalar_buffer(w, &in->op[1]);
    uint64_t offset = (uint32_t)offset_of(w, in, 2);

    for (unsigned i = 0; i < in->op[0].width; i++)
        if (offset + 4ull * i + 4 <= b.size)
            store(w, b.base + offset + 4ull * i, &w->s[in->op[0].reg + i], 1);
}

/* ---- a wave's scratch, by its own address: an SGPR counts 64 bytes ---- */

static uint64_t scratch_address(const struct wave *w, const struct insn *in)
{
    uint64_t offset = offset_of(w, in, 2);

    return sget_u64(w, &in->op[1]) +
           (in->op[2].kind == OPERAND_CONST ? offset : 64 * offset);
}

static void run_s_scratch_load(struct wave *w, const struct insn *in)
{
    const uint8_t *p =
        scalar_read(w, scratch_address(w, in), 4u * in->op[0].width);

    if (p)
        put_dwords(w, &in->op[0], p, in->op[0].width);
}

static void run_s_scratch_store(struct wave *w, const struct insn *in)
{
    store(w, scratch_address(w, in), &w->s[in->op[0].reg], in->op[0].width);
}

/* ---- atomics: sdata is the value (and what to compare with), and with GLC
 * gets the old one ---- */

static void atomic_at(struct wave *w, const struct insn *in, uint64_t addr,
                      unsigned nbytes, bool compares, atomic_fn *fn)
{
    uint32_t *sdata = &w->s[in->op[0].reg];
    uint64_t data = 0, compare = 0, old;

    memcpy(&data, sdata, nbytes);
    if (compares)
        memcpy(&compare, sdata + nbytes / 4, nbytes);
    if (sim_scalar_atomic(w, addr, nbytes, data, compare, fn, &old) &&
        (in->flags & F_GLC))
        memcpy(sdata, &old, nbytes);
}

static void scalar_atomic(struct wave *w, const struct insn *in,
                          unsigned nbytes, bool compares, atomic_fn *fn)
{
    atomic_at(w, in, sget_u64(w, &in->op[1]) + offset_of(w, in, 2), nbytes,
              compares, fn);
}

static void buffer_atomic(struct wave *w, const struct insn *in,
                          unsigned nbytes, bool compares, atomic_fn *fn)
{
    struct scalar_buffer b = scalar_buffer(w, &in->op[1]);
    uint64_t offset = (uint32_t)offset_of(w, in, 2);

    if (offset + nbytes <= b.size)
        atomic_at(w, in, b.base + offset, nbytes, compares, fn);
    else if (in->flags & F_GLC)
        memset(&w->s[in->op[0].reg], 0, nbytes);
}

/* clang-format off */
#define ATOMIC_TABLE(X)                  \
    X(swap,    false, swap)              \
    X(cmpswap, true,  cmpswap)           \
    X(add,     false, add)               \
    X(sub,     false, sub)               \
    X(smin,    false, smin)              \
    X(umin,    false, umin)              \
    X(smax,    false, smax)              \
    X(umax,    false, umax)              \
    X(inc,     false, inc)               \
    X(dec,     false, dec)               \
    X(and,     false, and)               \
    X(or,      false, or)                \
    X(xor,     false, xor)
/* clang-format on */

/* Bit operations are the same in both widths. */
#define sim_atomic_and32 sim_atomic_and64
#define sim_atomic_or32 sim_atomic_or64
#define sim_atomic_xor32 sim_atomic_xor64

#define ATOMIC_RUN_ONE(name, how, nbytes, compares, fn)                        \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        how(w, in, nbytes, compares, fn);                                      \
    }
#define ATOMIC_RUN(op, compares, fn)                                           \
    ATOMIC_RUN_ONE(s_atomic_##op, scalar_atomic, 4, compares,                  \
                   sim_atomic_##fn##32)                                        \
    ATOMIC_RUN_ONE(s_atomic_##op##_x2, scalar_atomic, 8, compares,             \
                   sim_atomic_##fn##64)                                        \
    ATOMIC_RUN_ONE(s_buffer_atomic_##op, buffer_atomic, 4, compares,           \
                   sim_atomic_##fn##32)                                        \
    ATOMIC_RUN_ONE(s_buffer_atomic_##op##_x2, buffer_atomic, 8, compares,      \
                   sim_atomic_##fn##64)
ATOMIC_TABLE(ATOMIC_RUN)

/* ---- clocks, caches ---- */

static void run_s_get_waveid_in_workgroup(struct wave *w, const struct insn *in)
{
    sput_u32(w, &in->op[0], w->index);
}

static void run_s_memtime(struct wave *w, const struct insn *in)
{
    sput_u64(w, &in->op[0], sim_shader_clock(w->target));
    w->nclocks++;
}

static void run_s_memrealtime(struct wave *w, const struct insn *in)
{
    sput_u64(w, &in->op[0], sim_realtime());
    w->nclocks++;
}

/* clang-format off */
#define LOAD_TABLE(X)                                                      \
    X(s_load_dword)   X(s_load_dwordx2) X(s_load_dwordx3)                  \
    X(s_load_dwordx4) X(s_load_dwordx8) X(s_load_dwordx16)                 \
    X(s_load_b32)     X(s_load_b64)     X(s_load_b96)                      \
    X(s_load_b128)    X(s_load_b256)    X(s_load_b512)
#define BUFFER_LOAD_TABLE(X)                                               \
    X(s_buffer_load_dword)   X(s_buffer_load_dwordx2) X(s_buffer_load_dwordx3) \
    X(s_buffer_load_dwordx4) X(s_buffer_load_dwordx8) X(s_buffer_load_dwordx16) \
    X(s_buffer_load_b32)     X(s_buffer_load_b64)     X(s_buffer_load_b96) \
    X(s_buffer_load_b128)    X(s_buffer_load_b256)    X(s_buffer_load_b512)
#define SUBDWORD_TABLE(X)                                                  \
    X(s_load_u8) X(s_load_i8) X(s_load_u16) X(s_load_i16)                  \
    X(s_buffer_load_u8) X(s_buffer_load_i8)                                \
    X(s_buffer_load_u16) X(s_buffer_load_i16)
#define STORE_TABLE(X)                                                     \
    X(s_store_dword,           run_s_store)                                \
    X(s_store_dwordx2,         run_s_store)                                \
    X(s_store_dwordx4,         run_s_store)                                \
    X(s_buffer_store_dword,    run_s_buffer_store)                         \
    X(s_buffer_store_dwordx2,  run_s_buffer_store)                         \
    X(s_buffer_store_dwordx4,  run_s_buffer_store)                         \
    X(s_scratch_store_dword,   run_s_scratch_store)                        \
    X(s_scratch_store_dwordx2, run_s_scratch_store)                        \
    X(s_scratch_store_dwordx4, run_s_scratch_store)
#define SCRATCH_LOAD_TABLE(X)                                              \
    X(s_scratch_load_dword) X(s_scratch_load_dwordx2)                      \
    X(s_scratch_load_dwordx4)
#define CACHE_TABLE(X)                                                     \
    X(s_dcache_inv) X(s_dcache_wb) X(s_dcache_inv_vol) X(s_dcache_wb_vol)  \
    X(s_gl1_inv) X(s_prefetch_inst) X(s_prefetch_inst_pc_rel)              \
    X(s_prefetch_data) X(s_prefetch_data_pc_rel) X(s_buffer_prefetch_data) \
    X(s_atc_probe) X(s_atc_probe_buffer) X(s_dcache_discard)               \
    X(s_dcache_discard_x2)

#define LOAD_ROW(name)     {#name, run_s_load, CLASS_SMEM, {T_u64, T_u64, T_u32}, 0},
#define BUFFER_ROW(name)   {#name, run_s_buffer_load, CLASS_SMEM, {T_u64, T_u64, T_u32}, 0},
#define SUBDWORD_ROW(name) {#name, run_##name, CLASS_SMEM, {T_u32, T_u64, T_u32}, 0},
#define SCRATCH_ROW(name)  {#name, run_s_scratch_load, CLASS_SMEM, {T_u64, T_u64, T_u32}, 0},
#define STORE_ROW(name, run) {#name, run, CLASS_SMEM, {T_u64, T_u64, T_u32}, ROW_NO_DST},
#define ATOMIC_ROW_ONE(name) STORE_ROW(name, run_##name)
#define ATOMIC_ROW(op, compares, fn) \
    ATOMIC_ROW_ONE(s_atomic_##op) ATOMIC_ROW_ONE(s_atomic_##op##_x2) \
    ATOMIC_ROW_ONE(s_buffer_atomic_##op) ATOMIC_ROW_ONE(s_buffer_atomic_##op##_x2)
#define CACHE_ROW(name)    {#name, sim_run_nothing, CLASS_OTHER, {T_none}, ROW_RAW},

static const struct insn_row rows[] = {
    LOAD_TABLE(LOAD_ROW)
    BUFFER_LOAD_TABLE(BUFFER_ROW)
    SUBDWORD_TABLE(SUBDWORD_ROW)
    SCRATCH_LOAD_TABLE(SCRATCH_ROW)
    STORE_TABLE(STORE_ROW)
    ATOMIC_TABLE(ATOMIC_ROW)
    CACHE_TABLE(CACHE_ROW)
    {"s_memtime",     run_s_memtime, CLASS_SMEM, {T_u64}, 0},
    {"s_memrealtime", run_s_memrealtime, CLASS_SMEM, {T_u64}, 0},
    {"s_get_waveid_in_workgroup", run_s_get_waveid_in_workgroup, CLASS_SMEM, {T_u32}, 0},
};
/* clang-format on */

ROW_SET_NO_ALIASES(smem, rows);
