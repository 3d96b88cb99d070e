/* wait_rules.c - the waits of an instruction, by its mnemonic */
#include "wait_rules.h"

#include "../base/processor.h"
#include "insn.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* ---- waits ---- */

/* A field of a wait's SIMM16: `bits` from `shift` on and, above them, two bits
 * from `high` on if that is not 0. */
static const struct {
    const char *name;
    uint8_t first, last; /* major versions of processors */
    uint8_t counter;     /* enum counter */
    uint8_t shift, bits, high;
} fields[] = {
    {"s_waitcnt", 9, 10, COUNTER_LOAD, 0, 4, 14},
    {"s_waitcnt", 9, 9, COUNTER_DS, 8, 4, 0},
    {"s_waitcnt", 10, 10, COUNTER_DS, 8, 6, 0},
    {"s_waitcnt", 11, 11, COUNTER_LOAD, 10, 6, 0},
    {"s_waitcnt", 11, 11, COUNTER_DS, 4, 6, 0},
    {"s_waitcnt_vmcnt", 10, 11, COUNTER_LOAD, 0, 6, 0},
    {"s_waitcnt_vscnt", 10, 11, COUNTER_STORE, 0, 6, 0},
    {"s_waitcnt_lgkmcnt", 10, 11, COUNTER_DS, 0, 6, 0},
    {"s_wait_loadcnt", 12, 99, COUNTER_LOAD, 0, 6, 0},
    {"s_wait_storecnt", 12, 99, COUNTER_STORE, 0, 6, 0},
    {"s_wait_samplecnt", 12, 99, COUNTER_SAMPLE, 0, 6, 0},
    {"s_wait_bvhcnt", 12, 99, COUNTER_BVH, 0, 3, 0},
    {"s_wait_dscnt", 12, 99, COUNTER_DS, 0, 6, 0},
    {"s_wait_kmcnt", 12, 99, COUNTER_KM, 0, 5, 0},
    {"s_wait_asynccnt", 12, 99, COUNTER_ASYNC, 0, 6, 0},
    {"s_wait_loadcnt_dscnt", 12, 99, COUNTER_LOAD, 8, 6, 0},
    {"s_wait_loadcnt_dscnt", 12, 99, COUNTER_DS, 0, 6, 0},
    {"s_wait_storecnt_dscnt", 12, 99, COUNTER_STORE, 8, 6, 0},
    {"s_wait_storecnt_dscnt", 12, 99, COUNTER_DS, 0, 6, 0},
};

static bool is_of(size_t field, const struct sim_target *t)
{
    return t->major >= fields[field].first && t->major <= fields[field].last;
}

/* A field's value in a wait's SIMM16. */
static unsigned field_of(size_t i, uint32_t raw)
{
    const unsigned full = (1u << fields[i].bits) - 1;
    unsigned n = raw >> fields[i].shift & full;

    if (fields[i].high)
        n |= (raw >> fields[i].high & 3) << fields[i].bits;
    return n;
}

/* The largest number that fits is as many as a counter can hold: no wait. */
static void read_wait(struct waits *w, const char *name, uint32_t raw,
                      const struct sim_target *t)
{
    const bool all = strcmp(name, "s_wait_idle") == 0;

    memset(w->most, all ? 0 : NO_WAIT, sizeof(w->most));
    w->is_wait = all;
    for (size_t i = 0; i < COUNT(fields); i++) {
        const unsigned n = field_of(i, raw);

        if (strcmp(name, fields[i].name) != 0 || !is_of(i, t))
            continue;
        w->is_wait = true;
        if (n < field_of(i, UINT32_MAX))
            w->most[fields[i].counter] = (uint8_t)n;
    }
}

static uint8_t counter_holds(enum counter counter, const struct sim_target *t)
{
    unsigned holds = 0;

    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].counter == counter && is_of(i, t) &&
            field_of(i, UINT32_MAX) > holds)
            holds = field_of(i, UINT32_MAX);
    return (uint8_t)holds;
}

/* ---- operations ---- */

enum kind {
    KIND_NONE,
    KIND_VMEM,
    KIND_SAMPLER,
    KIND_BVH,
    KIND_FLAT,
    KIND_TO_LDS,
    KIND_FROM_LDS,
    KIND_WRITE_BACK,
    KIND_INVALIDATE,
    KIND_LDS,
    KIND_SCALAR,
    KIND_MESSAGE
};

/* The first row that fits counts. LLVM counts no invalidation up to gfx11. */
static const struct {
    const char *begin;
    uint8_t kind;
} kinds[] = {
    {"flat_prefetch", KIND_NONE},
    {"flat_", KIND_FLAT},
    {"global_prefetch", KIND_NONE},
    {"global_inv", KIND_INVALIDATE},
    {"global_wb", KIND_WRITE_BACK},
    {"global_load_async", KIND_TO_LDS},
    {"global_store_async", KIND_FROM_LDS},
    {"global_", KIND_VMEM},
    {"scratch_", KIND_VMEM},
    {"buffer_inv", KIND_NONE},
    {"buffer_gl", KIND_NONE},
    {"buffer_wbinv", KIND_NONE},
    {"buffer_wbl2", KIND_WRITE_BACK},
    {"buffer_", KIND_VMEM},
    {"tbuffer_", KIND_VMEM},
    {"image_sample", KIND_SAMPLER},
    {"image_gather", KIND_SAMPLER},
    {"image_get_lod", KIND_SAMPLER},
    {"image_bvh", KIND_BVH},
    {"image_", KIND_VMEM},
    {"ds_nop", KIND_NONE},
    {"ds_", KIND_LDS},
    {"s_prefetch", KIND_NONE},
    {"s_buffer_prefetch", KIND_NONE},
    {"s_load", KIND_SCALAR},
    {"s_buffer_", KIND_SCALAR},
    {"s_store", KIND_SCALAR},
    {"s_scratch_", KIND_SCALAR},
    {"s_atomic", KIND_SCALAR},
    {"s_dcache", KIND_SCALAR},
    {"s_gl1_inv", KIND_SCALAR},
    {"s_memtime", KIND_SCALAR},
    {"s_memrealtime", KIND_SCALAR},
    {"s_get_waveid", KIND_SCALAR},
    {"s_sendmsg", KIND_MESSAGE},
};

static enum kind kind_of(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (begins(name, kinds[i].begin))
            return (enum kind)kinds[i].kind;
    return KIND_NONE;
}

static bool goes_to_lds(const char *name, const struct insn *in)
{
    return (in->flags & F_LDS) || strstr(name, "_lds");
}

/* Whether op[0] receives what the operation brings. */
static bool returns(const char *name, const struct insn *in)
{
    if (in->row->flags & ROW_RAW || in->nops == 0)
        return false;
    if (strstr(name, "_atomic_"))
        return in->flags & F_GLC;
    return !(in->row->flags & ROW_NO_DST) && !goes_to_lds(name, in);
}

static void add(struct waits *w, enum counter counter, enum issue_order order)
{
    const unsigned k = w->counter[0] != COUNTER_NONE;

    w->counter[k] = (uint8_t)counter;
    w->order[k] = (uint8_t)order;
}

static void count(struct waits *w, const char *name, const struct insn *in,
                  const struct sim_target *t)
{
    const bool gfx9 = t->major == 9, gfx12 = t->major >= 12;
    const bool loads = gfx9 || w->returns || goes_to_lds(name, in);
    const enum counter memory = loads ? COUNTER_LOAD : COUNTER_STORE;
    const enum counter scalar = gfx12 ? COUNTER_KM : COUNTER_DS;

    switch (kind_of(name)) {
    case KIND_NONE:
        break;
    case KIND_VMEM:
        w->type = LOAD_PLAIN;
        add(w, memory, ORDER_VMEM);
        break;
    case KIND_SAMPLER:
        w->type = LOAD_SAMPLER;
        add(w, gfx12 ? COUNTER_SAMPLE : COUNTER_LOAD, ORDER_VMEM);
        break;
    case KIND_BVH:
        w->type = LOAD_BVH;
        add(w, gfx12 ? COUNTER_BVH : COUNTER_LOAD, ORDER_VMEM);
        break;
    case KIND_FLAT: /* to memory and to LDS, as the addresses say */
        add(w, memory, gfx9 ? ORDER_NONE : ORDER_VMEM);
        add(w, COUNTER_DS, gfx9 ? ORDER_NONE : ORDER_LDS);
        break;
    case KIND_TO_LDS: /* in order, and so are those from LDS */
        add(w, COUNTER_ASYNC, ORDER_VMEM);
        break;
    case KIND_FROM_LDS:
        add(w, COUNTER_ASYNC, ORDER_FROM_LDS);
        break;
    case KIND_WRITE_BACK:
        add(w, gfx9 ? COUNTER_LOAD : COUNTER_STORE, ORDER_VMEM);
        break;
    case KIND_INVALIDATE:
        add(w, COUNTER_LOAD, ORDER_VMEM);
        break;
    case KIND_LDS:
        w->type = LOAD_LDS;
        add(w, COUNTER_DS, ORDER_LDS);
        break;
    case KIND_SCALAR:
        add(w, scalar, ORDER_NONE);
        break;
    case KIND_MESSAGE:
        add(w, scalar, ORDER_MESSAGE);
        break;
    }
}

/* Exchanges of lanes touch no LDS. */
static enum lds_use lds_use_of(const char *name, const struct insn *in)
{
    const enum kind kind = kind_of(name);

    if (kind == KIND_TO_LDS || kind == KIND_FROM_LDS ||
        (kind == KIND_VMEM && goes_to_lds(name, in) && !strstr(name, "store")))
        return LDS_MOVED;
    if (kind == KIND_FLAT)
        return LDS_BY_ADDRESS;
    if (goes_to_lds(name, in))
        return LDS_AT_ONCE;
    if (kind != KIND_LDS || strstr(name, "permute") || strstr(name, "swizzle"))
        return LDS_NOT;
    return in->flags & F_GDS || strstr(name, "gws") || strstr(name, "bvh")
               ? LDS_AT_ONCE
               : LDS_LATE;
}

/* Rows of atomics serve two forms: without a result op[0] is a source. Those of
 * buffers, images and scalar memory return the result in their data. */
static unsigned first_read(const char *name, const struct insn *in,
                           bool returns)
{
    const bool in_data = !begins(name, "global_") && !begins(name, "flat_");

    if (!in->row)
        return 0;
    return strstr(name, "_atomic_") && (!returns || in_data)
               ? 0
               : sim_first_source(in);
}

struct waits sim_waits_of(const char *name, const struct insn *in,
                          const struct sim_target *target)
{
    struct waits w = {0};

    read_wait(&w, name, in->raw, target);
    w.returns = in->class != CLASS_VALU && returns(name, in);
    count(&w, name, in, target);
    for (unsigned k = 0; k < 2; k++)
        w.holds[k] = counter_holds((enum counter)w.counter[k], target);
    w.returns &= w.counter[0] != COUNTER_NONE;
    w.first_read = (uint8_t)first_read(name, in, w.returns);
    w.lds = (uint8_t)lds_use_of(name, in);
    w.reads_vcc = begins(name, "s_cbranch_vcc") || begins(name, "v_div_fmas");
    w.all_lanes = in->dpp.kind != DPP_NONE || in->class == CLASS_MATRIX ||
                  strstr(name, "lane");
    return w;
}
