/* ds.c - LDS instructions
 *
 * An address is a lane's 32-bit byte offset plus the instruction's. Hardware in
 * the mode that compilers assume takes any alignment for reads and writes of up
 * to 64 bits and of 96 and 128; atomics must be aligned to their size.
 */
#include "fault_report.h"
#include "hint.h"
#include "sop.h"
#include "vmem.h"

/* Offsets of all lanes, in bytes; the sum wraps at 32 bits. */
static void locate(struct wave *w, const struct operand *addr, uint32_t offset,
                   uint64_t at[MAX_LANES])
{
    const uint32_t *v = *tuple_reg(w, addr, 0);

    LANES(i)
    at[i] = v[i] + offset;
}

static void count(struct wave *w, const uint64_t at[MAX_LANES], unsigned n)
{
    uint32_t offset[MAX_LANES];

    LANES(i)
    offset[i] = (uint32_t)at[i];
    sim_count_lds(w, w->mask, offset, n);
}

static bool not_gds(struct wave *w, const struct insn *in)
{
    if (!(in->flags & F_GDS))
        return true;
    sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                    "the simulator has no global data share");
    return false;
}

/* ---- reads and writes ---- */

static void read(struct wave *w, const struct insn *in, struct form form)
{
    struct places p = {.space = SPACE_LDS, .lanes = w->mask};

    if (!not_gds(w, in))
        return;
    locate(w, &in->op[1], (uint32_t)in->offset, p.at);
    count(w, p.at, form.nbytes);
    sim_vmem_load(w, &p, &in->op[0], form);
}

static void write(struct wave *w, const struct insn *in, struct form form)
{
    struct places p = {.space = SPACE_LDS, .lanes = w->mask};

    if (!not_gds(w, in))
        return;
    locate(w, &in->op[0], (uint32_t)in->offset, p.at);
    count(w, p.at, form.nbytes);
    sim_vmem_store(w, &p, &in->op[1], form);
}

static void read_transposed(struct wave *w, const struct insn *in,
                            unsigned nbytes, unsigned nbits)
{
    struct places p = {.space = SPACE_LDS, .lanes = w->full};

    locate(w, &in->op[1], (uint32_t)in->offset, p.at);
    count(w, p.at, nbytes);
    sim_vmem_load_transposed(w, &p, &in->op[0], nbytes, nbits);
}

/* Two values of `n` bytes, at offset0 and offset1 times `unit`. */
static void read2(struct wave *w, const struct insn *in, unsigned n,
                  unsigned unit)
{
    struct form form = {(uint8_t)n, false, 0};
    struct places p = {.space = SPACE_LDS, .lanes = w->mask};
    struct operand second = in->op[0];
    struct operand addr = in->op[1];
    uint32_t copy[MAX_LANES];

    if (!not_gds(w, in))
        return;
    /* The first value may land on the address register. */
    memcpy(copy, *tuple_reg(w, &addr, 0), sizeof(copy));
    second.reg = (uint16_t)(second.reg + n / 4);
    for (int half = 0; half < 2; half++) {
        uint32_t offset = (half ? in->offset1 : in->offset0) * unit;

        LANES(i)
        p.at[i] = copy[i] + offset;
        count(w, p.at, n);
        sim_vmem_load(w, &p, half ? &second : &in->op[0], form);
    }
}

static void write2(struct wave *w, const struct insn *in, unsigned n,
                   unsigned unit)
{
    struct form form = {(uint8_t)n, false, 0};
    struct places p = {.space = SPACE_LDS, .lanes = w->mask};

    if (!not_gds(w, in))
        return;
    for (int half = 0; half < 2; half++) {
        locate(w, &in->op[0], (half ? in->offset1 : in->offset0) * unit, p.at);
        count(w, p.at, n);
        sim_vmem_store(w, &p, &in->op[1 + half], form);
    }
}

/* Offset is the wave's, in M0: reads of consecutive dwords. */
static void addtid(struct wave *w, const struct insn *in, struct places *p)
{
    p->space = SPACE_LDS;
    p->lanes = w->mask;
    LANES(i)
    p->at[i] =
        (uint64_t)(w->s[SREG_M0] & 0xffff) + (uint32_t)in->offset + 4 * i;
}

static void run_ds_read_addtid_b32(struct wave *w, const struct insn *in)
{
    struct places p;

    addtid(w, in, &p);
    count(w, p.at, 4);
    sim_vmem_load(w, &p, &in->op[0], (struct form){4, false, 0});
}

static void run_ds_write_addtid_b32(struct wave *w, const struct insn *in)
{
    struct places p;

    addtid(w, in, &p);
    count(w, p.at, 4);
    sim_vmem_store(w, &p, &in->op[0], (struct form){4, false, 0});
}

/* clang-format off */
/* X(name up to gfx10, name from gfx11 on, bytes, sign, d16) */
#define READ_TABLE(X)                                                       \
    X(ds_read_u8,          ds_load_u8,          1,  false, 0)               \
    X(ds_read_i8,          ds_load_i8,          1,  true,  0)               \
    X(ds_read_u16,         ds_load_u16,         2,  false, 0)               \
    X(ds_read_i16,         ds_load_i16,         2,  true,  0)               \
    X(ds_read_u8_d16,      ds_load_u8_d16,      1,  false, 1)               \
    X(ds_read_u8_d16_hi,   ds_load_u8_d16_hi,   1,  false, 2)               \
    X(ds_read_i8_d16,      ds_load_i8_d16,      1,  true,  1)               \
    X(ds_read_i8_d16_hi,   ds_load_i8_d16_hi,   1,  true,  2)               \
    X(ds_read_u16_d16,     ds_load_u16_d16,     2,  false, 1)               \
    X(ds_read_u16_d16_hi,  ds_load_u16_d16_hi,  2,  false, 2)               \
    X(ds_read_b32,         ds_load_b32,         4,  false, 0)               \
    X(ds_read_b64,         ds_load_b64,         8,  false, 0)               \
    X(ds_read_b96,         ds_load_b96,         12, false, 0)               \
    X(ds_read_b128,        ds_load_b128,        16, false, 0)
#define WRITE_TABLE(X)                                                      \
    X(ds_write_b8,         ds_store_b8,         1,  false, 0)               \
    X(ds_write_b16,        ds_store_b16,        2,  false, 0)               \
    X(ds_write_b8_d16_hi,  ds_store_b8_d16_hi,  1,  false, 2)               \
    X(ds_write_b16_d16_hi, ds_store_b16_d16_hi, 2,  false, 2)               \
    X(ds_write_b32,        ds_store_b32,        4,  false, 0)               \
    X(ds_write_b64,        ds_store_b64,        8,  false, 0)               \
    X(ds_write_b96,        ds_store_b96,        12, false, 0)               \
    X(ds_write_b128,       ds_store_b128,       16, false, 0)
/* X(name on gfx950, name on gfx1250, bytes, bits of a value) */
#define TRANSPOSED_TABLE(X)                                                 \
    X(ds_read_b64_tr_b4,   ds_load_tr4_b64,   8,  4)                        \
    X(ds_read_b96_tr_b6,   ds_load_tr6_b96,   12, 6)                        \
    X(ds_read_b64_tr_b8,   ds_load_tr8_b64,   8,  8)                        \
    X(ds_read_b64_tr_b16,  ds_load_tr16_b64,  8,  16)                       \
    X(ds_load_tr16_b128,   ds_load_tr_b128,   16, 16)
/* X(name, newer name, bytes of a value, bytes per unit of the offset) */
#define READ2_TABLE(X)                                                      \
    X(ds_read2_b32,        ds_load_2addr_b32,         4, 4)                 \
    X(ds_read2_b64,        ds_load_2addr_b64,         8, 8)                 \
    X(ds_read2st64_b32,    ds_load_2addr_stride64_b32, 4, 256)              \
    X(ds_read2st64_b64,    ds_load_2addr_stride64_b64, 8, 512)
#define WRITE2_TABLE(X)                                                     \
    X(ds_write2_b32,       ds_store_2addr_b32,         4, 4)                \
    X(ds_write2_b64,       ds_store_2addr_b64,         8, 8)                \
    X(ds_write2st64_b32,   ds_store_2addr_stride64_b32, 4, 256)             \
    X(ds_write2st64_b64,   ds_store_2addr_stride64_b64, 8, 512)
/* clang-format on */

#define READ_RUN(name, new, nbytes, sign, d16)                                 \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        read(w, in, (struct form){nbytes, sign, d16});                         \
    }
#define WRITE_RUN(name, new, nbytes, sign, d16)                                \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        write(w, in, (struct form){nbytes, sign, d16});                        \
    }
#define READ2_RUN(name, new, nbytes, unit)                                     \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        read2(w, in, nbytes, unit);                                            \
    }
#define WRITE2_RUN(name, new, nbytes, unit)                                    \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        write2(w, in, nbytes, unit);                                           \
    }
#define TRANSPOSED_RUN(name, new, nbytes, nbits)                               \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        read_transposed(w, in, nbytes, nbits);                                 \
    }
READ_TABLE(READ_RUN)
TRANSPOSED_TABLE(TRANSPOSED_RUN)
WRITE_TABLE(WRITE_RUN)
READ2_TABLE(READ2_RUN)
WRITE2_TABLE(WRITE2_RUN)

/* ---- atomics ----
 *
 * ds_NAME vaddr, vdata [, vdata2] and ds_NAME_rtn vdst, vaddr, vdata [, ...].
 * Compare-and-swap has two data operands: cmpst takes (compare, new), its
 * successor cmpstore of gfx11 takes (new, compare).
 */

enum order { ONE_VALUE, COMPARE_FIRST, COMPARE_SECOND };

static uint64_t value_at(struct wave *w, const struct operand *o, int lane,
                         unsigned nbytes)
{
    uint64_t v = (*tuple_reg(w, o, 0))[lane];

    return nbytes == 8 ? v | (uint64_t)(*tuple_reg(w, o, 1))[lane] << 32 : v;
}

static void put_at(struct wave *w, const struct operand *o, int lane,
                   unsigned nbytes, uint64_t v)
{
    (*tuple_reg(w, o, 0))[lane] = (uint32_t)v;
    if (nbytes == 8)
        (*tuple_reg(w, o, 1))[lane] = (uint32_t)(v >> 32);
}

/* One value of LDS, updated; the group runs on one thread. */
static bool update(struct wave *w, uint64_t at, unsigned nbytes, int lane,
                   uint64_t data, uint64_t compare, atomic_fn *fn,
                   uint64_t *old)
{
    uint8_t *p;

    if (at & (nbytes - 1)) {
        sim_fault_raise(w, SIM_FAULT_MISALIGNED, lane, at,
                        "LDS atomic of %u bytes at offset %llu", nbytes,
                        (unsigned long long)at);
        return false;
    }
    p = sim_lds(w, at, nbytes, ACCESS_ATOMIC, lane);
    if (!p)
        return false;
    *old = 0;
    memcpy(old, p, nbytes);
    data = fn(*old, data, compare);
    memcpy(p, &data, nbytes);
    return true;
}

/* The adder of LDS flushes denormals as MODE says; the rest passes them on. */
static atomic_fn *as_mode_says(const struct wave *w, atomic_fn *fn)
{
    static atomic_fn *const adds[] = {sim_atomic_fadd32_flush,
                                      sim_atomic_fadd32_ftz,
                                      sim_atomic_fadd32_daz, sim_atomic_fadd32};

    return fn == sim_atomic_fadd32 ? adds[w->mode >> MODE_DENORM32 & 3] : fn;
}

static void atomic(struct wave *w, const struct insn *in, bool returns,
                   unsigned nbytes, enum order order, atomic_fn *fn)
{
    const struct operand *op = &in->op[returns];
    uint64_t at[MAX_LANES], old[MAX_LANES] = {0};

    if (!not_gds(w, in))
        return;
    fn = as_mode_says(w, fn);
    locate(w, &op[0], (uint32_t)in->offset, at);
    count(w, at, nbytes);
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        uint64_t first = value_at(w, &op[1], lane, nbytes), second = 0;

        if (order != ONE_VALUE)
            second = value_at(w, &op[2], lane, nbytes);
        if (order == COMPARE_FIRST) {
            uint64_t t = first;

            first = second;
            second = t;
        }
        if (!update(w, at[lane], nbytes, lane, first, second, fn, &old[lane]))
            return;
    }
    if (!returns)
        return;
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        put_at(w, &in->op[0], lane, nbytes, old[lane]);
    }
}

/* vdst, vaddr, vdata0, vdata1: two exchanges. */
static void exchange2(struct wave *w, const struct insn *in, unsigned nbytes,
                      unsigned unit)
{
    uint64_t at[MAX_LANES], old[2][MAX_LANES] = {{0}};
    struct operand second = in->op[0];

    second.reg = (uint16_t)(second.reg + nbytes / 4);
    locate(w, &in->op[1], 0, at);
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        for (int k = 0; k < 2; k++) {
            uint32_t to =
                (uint32_t)at[lane] + (k ? in->offset1 : in->offset0) * unit;

            if (!update(w, to, nbytes, lane,
                        value_at(w, &in->op[2 + k], lane, nbytes), 0,
                        sim_atomic_swap64, &old[k][lane]))
                return;
        }
    }
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        put_at(w, &in->op[0], lane, nbytes, old[0][lane]);
        put_at(w, &second, lane, nbytes, old[1][lane]);
    }
}

/* (old & ~data0) | data1 */
static uint64_t masked_or(uint64_t old, uint64_t mask, uint64_t bits)
{
    return (old & ~mask) | bits;
}

/* clang-format off */
/* X(operation, type, bytes, order of operands, function): ds_OP_TYPE, and
 * ds_OP_rtn_TYPE which gives the old value back */
#define ATOMIC_TABLE(X)                                            \
    X(add,       u32,  4, ONE_VALUE,      sim_atomic_add32)        \
    X(sub,       u32,  4, ONE_VALUE,      sim_atomic_sub32)        \
    X(rsub,      u32,  4, ONE_VALUE,      sim_atomic_rsub32)       \
    X(inc,       u32,  4, ONE_VALUE,      sim_atomic_inc32)        \
    X(dec,       u32,  4, ONE_VALUE,      sim_atomic_dec32)        \
    X(min,       i32,  4, ONE_VALUE,      sim_atomic_smin32)       \
    X(max,       i32,  4, ONE_VALUE,      sim_atomic_smax32)       \
    X(min,       u32,  4, ONE_VALUE,      sim_atomic_umin32)       \
    X(max,       u32,  4, ONE_VALUE,      sim_atomic_umax32)       \
    X(and,       b32,  4, ONE_VALUE,      sim_atomic_and64)        \
    X(or,        b32,  4, ONE_VALUE,      sim_atomic_or64)         \
    X(xor,       b32,  4, ONE_VALUE,      sim_atomic_xor64)        \
    X(min,       f32,  4, ONE_VALUE,      sim_atomic_fmin32)       \
    X(max,       f32,  4, ONE_VALUE,      sim_atomic_fmax32)       \
    X(min_num,   f32,  4, ONE_VALUE,      sim_atomic_fmin32)       \
    X(max_num,   f32,  4, ONE_VALUE,      sim_atomic_fmax32)       \
    X(add,       f32,  4, ONE_VALUE,      sim_atomic_fadd32)       \
    X(pk_add,    f16,  4, ONE_VALUE,      sim_atomic_pk_add_f16)   \
    X(pk_add,    bf16, 4, ONE_VALUE,      sim_atomic_pk_add_bf16)  \
    X(cond_sub,  u32,  4, ONE_VALUE,      sim_atomic_cond_sub32)   \
    X(sub_clamp, u32,  4, ONE_VALUE,      sim_atomic_clamp_sub32)  \
    X(add,       u64,  8, ONE_VALUE,      sim_atomic_add64)        \
    X(sub,       u64,  8, ONE_VALUE,      sim_atomic_sub64)        \
    X(rsub,      u64,  8, ONE_VALUE,      sim_atomic_rsub64)       \
    X(inc,       u64,  8, ONE_VALUE,      sim_atomic_inc64)        \
    X(dec,       u64,  8, ONE_VALUE,      sim_atomic_dec64)        \
    X(min,       i64,  8, ONE_VALUE,      sim_atomic_smin64)       \
    X(max,       i64,  8, ONE_VALUE,      sim_atomic_smax64)       \
    X(min,       u64,  8, ONE_VALUE,      sim_atomic_umin64)       \
    X(max,       u64,  8, ONE_VALUE,      sim_atomic_umax64)       \
    X(and,       b64,  8, ONE_VALUE,      sim_atomic_and64)        \
    X(or,        b64,  8, ONE_VALUE,      sim_atomic_or64)         \
    X(xor,       b64,  8, ONE_VALUE,      sim_atomic_xor64)        \
    X(min,       f64,  8, ONE_VALUE,      sim_atomic_fmin64)       \
    X(max,       f64,  8, ONE_VALUE,      sim_atomic_fmax64)       \
    X(min_num,   f64,  8, ONE_VALUE,      sim_atomic_fmin64)       \
    X(max_num,   f64,  8, ONE_VALUE,      sim_atomic_fmax64)       \
    X(add,       f64,  8, ONE_VALUE,      sim_atomic_fadd64)       \
    X(mskor,     b32,  4, COMPARE_SECOND, masked_or)               \
    X(mskor,     b64,  8, COMPARE_SECOND, masked_or)               \
    X(cmpst,     b32,  4, COMPARE_FIRST,  sim_atomic_cmpswap32)    \
    X(cmpst,     b64,  8, COMPARE_FIRST,  sim_atomic_cmpswap64)    \
    X(cmpst,     f32,  4, COMPARE_FIRST,  sim_atomic_fcmpswap32)   \
    X(cmpst,     f64,  8, COMPARE_FIRST,  sim_atomic_fcmpswap64)   \
    X(cmpstore,  b32,  4, COMPARE_SECOND, sim_atomic_cmpswap32)    \
    X(cmpstore,  b64,  8, COMPARE_SECOND, sim_atomic_cmpswap64)    \
    X(cmpstore,  f32,  4, COMPARE_SECOND, sim_atomic_fcmpswap32)   \
    X(cmpstore,  f64,  8, COMPARE_SECOND, sim_atomic_fcmpswap64)
/* gfx9 (not the accelerators from gfx90a on) and gfx10.1: ds_OP_src2_TYPE */
#define SRC2_TABLE(X)                                              \
    X(add,   u32, 4, sim_atomic_add32)                             \
    X(sub,   u32, 4, sim_atomic_sub32)                             \
    X(rsub,  u32, 4, sim_atomic_rsub32)                            \
    X(inc,   u32, 4, sim_atomic_inc32)                             \
    X(dec,   u32, 4, sim_atomic_dec32)                             \
    X(min,   i32, 4, sim_atomic_smin32)                            \
    X(max,   i32, 4, sim_atomic_smax32)                            \
    X(min,   u32, 4, sim_atomic_umin32)                            \
    X(max,   u32, 4, sim_atomic_umax32)                            \
    X(and,   b32, 4, sim_atomic_and64)                             \
    X(or,    b32, 4, sim_atomic_or64)                              \
    X(xor,   b32, 4, sim_atomic_xor64)                             \
    X(write, b32, 4, sim_atomic_swap64)                            \
    X(min,   f32, 4, sim_atomic_fmin32)                            \
    X(max,   f32, 4, sim_atomic_fmax32)                            \
    X(add,   f32, 4, sim_atomic_fadd32)                            \
    X(add,   u64, 8, sim_atomic_add64)                             \
    X(sub,   u64, 8, sim_atomic_sub64)                             \
    X(rsub,  u64, 8, sim_atomic_rsub64)                            \
    X(inc,   u64, 8, sim_atomic_inc64)                             \
    X(dec,   u64, 8, sim_atomic_dec64)                             \
    X(min,   i64, 8, sim_atomic_smin64)                            \
    X(max,   i64, 8, sim_atomic_smax64)                            \
    X(min,   u64, 8, sim_atomic_umin64)                            \
    X(max,   u64, 8, sim_atomic_umax64)                            \
    X(and,   b64, 8, sim_atomic_and64)                             \
    X(or,    b64, 8, sim_atomic_or64)                              \
    X(xor,   b64, 8, sim_atomic_xor64)                             \
    X(write, b64, 8, sim_atomic_swap64)                            \
    X(min,   f64, 8, sim_atomic_fmin64)                            \
    X(max,   f64, 8, sim_atomic_fmax64)
/* Exchanges exist only in the form that returns the old value. */
#define EXCHANGE_TABLE(X)                                                   \
    X(ds_wrxchg_rtn_b32,       ds_storexchg_rtn_b32, 4)                     \
    X(ds_wrxchg_rtn_b64,       ds_storexchg_rtn_b64, 8)
#define EXCHANGE2_TABLE(X)                                                  \
    X(ds_wrxchg2_rtn_b32,      ds_storexchg_2addr_rtn_b32,          4, 4)   \
    X(ds_wrxchg2_rtn_b64,      ds_storexchg_2addr_rtn_b64,          8, 8)   \
    X(ds_wrxchg2st64_rtn_b32,  ds_storexchg_2addr_stride64_rtn_b32, 4, 256) \
    X(ds_wrxchg2st64_rtn_b64,  ds_storexchg_2addr_stride64_rtn_b64, 8, 512)
/* clang-format on */

#define ATOMIC_RUN(op, type, nbytes, order, fn)                                \
    static void run_ds_##op##_##type(struct wave *w, const struct insn *in)    \
    {                                                                          \
        atomic(w, in, false, nbytes, order, fn);                               \
    }                                                                          \
    static void run_ds_##op##_rtn_##type(struct wave *w,                       \
                                         const struct insn *in)                \
    {                                                                          \
        atomic(w, in, true, nbytes, order, fn);                                \
    }
#define EXCHANGE_RUN(name, new, nbytes)                                        \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        atomic(w, in, true, nbytes, ONE_VALUE, sim_atomic_swap64);             \
    }
#define EXCHANGE2_RUN(name, new, nbytes, unit)                                 \
    static void run_##name(struct wave *w, const struct insn *in)              \
    {                                                                          \
        exchange2(w, in, nbytes, unit);                                        \
    }
ATOMIC_TABLE(ATOMIC_RUN)
EXCHANGE_TABLE(EXCHANGE_RUN)
EXCHANGE2_TABLE(EXCHANGE2_RUN)

/* old >= data0 ? old - data0 : old + data1 */
static uint64_t wrap(uint64_t old, uint64_t least, uint64_t more)
{
    uint32_t o = (uint32_t)old, l = (uint32_t)least;

    return o >= l ? o - l : o + (uint32_t)more;
}

static void run_ds_wrap_rtn_b32(struct wave *w, const struct insn *in)
{
    atomic(w, in, true, 4, COMPARE_SECOND, wrap);
}

/* Two dwords, each exchanged if its new value's top bit says so, which is not
 * part of the value. */
static uint64_t exchange_marked(uint64_t old, uint64_t data, uint64_t compare)
{
    uint64_t low = UINT32_MAX, high = low << 32;

    (void)compare;
    if (data >> 31 & 1)
        old = (old & high) | (data & 0x7fffffff);
    if (data >> 63)
        old = (old & low) | (data & (UINT64_C(0x7fffffff) << 32));
    return old;
}

static void run_ds_condxchg32_rtn_b64(struct wave *w, const struct insn *in)
{
    atomic(w, in, true, 8, ONE_VALUE, exchange_marked);
}

/* Two places in LDS: the second is the operand. Its distance is in the offset,
 * or with the top bit set in the address, in dwords. */
static void atomic_src2(struct wave *w, const struct insn *in, unsigned nbytes,
                        atomic_fn *fn)
{
    uint32_t offset = in->raw & 0xffff;
    uint64_t at[MAX_LANES];

    locate(w, &in->op[0], 0, at);
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        uint32_t a = (uint32_t)at[lane];
        int32_t distance =
            offset >> 15 ? (int32_t)a >> 17 : (int32_t)(offset << 17) >> 17;
        uint64_t data = 0, old;
        const uint8_t *p;

        a &= offset >> 15 ? 0x1ffff : UINT32_MAX;
        p = sim_lds(w, a + 4 * (uint32_t)distance, nbytes, ACCESS_READ, lane);
        if (!p)
            return;
        memcpy(&data, p, nbytes);
        if (!update(w, a, nbytes, lane, data, 0, fn, &old))
            return;
    }
}

/* Adds or subtracts the number of active lanes once for the wave, at M0's upper
 * half plus the offset, and returns the old value. */
static void count_lanes(struct wave *w, const struct insn *in, int direction)
{
    uint64_t at = (uint64_t)(w->s[SREG_M0] >> 16) + (uint32_t)in->offset;
    int64_t lanes = __builtin_popcountll(w->mask);
    uint32_t value[MAX_LANES];
    uint64_t old;

    if (!not_gds(w, in) || !update(w, at, 4, -1, (uint64_t)(lanes * direction),
                                   0, sim_atomic_add32, &old))
        return;
    LANES(i)
    value[i] = (uint32_t)old;
    sim_write32(w, &in->op[0], value);
}

static void run_ds_append(struct wave *w, const struct insn *in)
{
    count_lanes(w, in, 1);
}

static void run_ds_consume(struct wave *w, const struct insn *in)
{
    count_lanes(w, in, -1);
}

#define SRC2_RUN(op, type, nbytes, fn)                                         \
    static void run_ds_##op##_src2_##type(struct wave *w,                      \
                                          const struct insn *in)               \
    {                                                                          \
        atomic_src2(w, in, nbytes, fn);                                        \
    }
SRC2_TABLE(SRC2_RUN)

#define DS_TYPES                                                               \
    {                                                                          \
        T_tuple, T_tuple, T_tuple, T_tuple                                     \
    }
#define LOADS_ROW(name, ...) {#name, run_##name, CLASS_LDS, DS_TYPES, 0},
#define STORES_ROW(name, ...)                                                  \
    {#name, run_##name, CLASS_LDS, DS_TYPES, ROW_NO_DST},
#define ATOMIC_ROW(op, type, nbytes, order, fn)                                \
    {"ds_" #op "_" #type, run_ds_##op##_##type, CLASS_LDS, DS_TYPES,           \
     ROW_NO_DST},                                                              \
        {"ds_" #op "_rtn_" #type, run_ds_##op##_rtn_##type, CLASS_LDS,         \
         DS_TYPES, 0},
#define SRC2_ROW(op, type, nbytes, fn)                                         \
    {"ds_" #op "_src2_" #type, run_ds_##op##_src2_##type, CLASS_LDS, DS_TYPES, \
     ROW_NO_DST},
#define DS_ALIAS(old, new, ...) {#new, #old},

/* clang-format off */
static const struct insn_row rows[] = {
    READ_TABLE(LOADS_ROW)
    READ2_TABLE(LOADS_ROW)
    TRANSPOSED_TABLE(LOADS_ROW)
    WRITE_TABLE(STORES_ROW)
    WRITE2_TABLE(STORES_ROW)
    ATOMIC_TABLE(ATOMIC_ROW)
    EXCHANGE_TABLE(LOADS_ROW)
    EXCHANGE2_TABLE(LOADS_ROW)
    {"ds_read_addtid_b32",  run_ds_read_addtid_b32,  CLASS_LDS, DS_TYPES, 0},
    {"ds_write_addtid_b32", run_ds_write_addtid_b32, CLASS_LDS, DS_TYPES, ROW_NO_DST},
    SRC2_TABLE(SRC2_ROW)
    {"ds_wrap_rtn_b32",     run_ds_wrap_rtn_b32,     CLASS_LDS, DS_TYPES, 0},
    {"ds_condxchg32_rtn_b64", run_ds_condxchg32_rtn_b64, CLASS_LDS, DS_TYPES, 0},
    {"ds_append",           run_ds_append,           CLASS_LDS, DS_TYPES, 0},
    {"ds_consume",          run_ds_consume,          CLASS_LDS, DS_TYPES, 0},
    {"ds_nop",              sim_run_nothing,             CLASS_OTHER, {T_none}, ROW_RAW},
};
static const struct insn_alias aliases[] = {
    READ_TABLE(DS_ALIAS)
    READ2_TABLE(DS_ALIAS)
    TRANSPOSED_TABLE(DS_ALIAS)
    WRITE_TABLE(DS_ALIAS)
    WRITE2_TABLE(DS_ALIAS)
    EXCHANGE_TABLE(DS_ALIAS)
    EXCHANGE2_TABLE(DS_ALIAS)
    {"ds_load_addtid_b32",  "ds_read_addtid_b32"},
    {"ds_store_addtid_b32", "ds_write_addtid_b32"},
};
/* clang-format on */

ROW_SET(ds, rows, aliases);
