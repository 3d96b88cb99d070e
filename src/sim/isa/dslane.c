/* dslane.c - moves between lanes through the LDS hardware, without its memory
 *
 * Reading a lane that is off gives 0.
 */
#include "fault_report.h"
#include "vop.h"

static void take(struct wave *w, const struct insn *in,
                 const uint32_t data[MAX_LANES], const uint8_t from[MAX_LANES],
                 uint64_t valid)
{
    uint32_t out[MAX_LANES];

    LANES(i)
    out[i] = valid >> from[i] & 1 ? data[from[i]] : 0;
    sim_write32(w, &in->op[0], out);
}

/* A wave of 64 lanes permutes within its halves on gfx10 and gfx11. */
static unsigned permute_span(const struct wave *w)
{
    return w->target->major == 10 || w->target->major == 11 ? 32 : w->nlanes;
}

static void lanes_addressed(struct wave *w, const struct insn *in,
                            uint8_t lane[MAX_LANES])
{
    const uint32_t *addr = *tuple_reg(w, &in->op[1], 0);
    uint32_t span = permute_span(w);

    LANES(i)
    {
        uint32_t at = (addr[i] + (uint32_t)in->offset) / 4;

        lane[i] = (uint8_t)((i & ~(size_t)(span - 1)) | (at & (span - 1)));
    }
}

/* vdst, vaddr, vdata: vaddr names the lane to read. */
static void run_ds_bpermute_b32(struct wave *w, const struct insn *in)
{
    uint8_t from[MAX_LANES];

    lanes_addressed(w, in, from);
    take(w, in, *tuple_reg(w, &in->op[2], 0), from, w->mask);
}

static void run_ds_bpermute_fi_b32(struct wave *w, const struct insn *in)
{
    uint8_t from[MAX_LANES];

    lanes_addressed(w, in, from);
    take(w, in, *tuple_reg(w, &in->op[2], 0), from, w->full);
}

/* Each lane names the lane that it sends to; the highest sender wins. */
static void run_ds_permute_b32(struct wave *w, const struct insn *in)
{
    const uint32_t *data = *tuple_reg(w, &in->op[2], 0);
    uint32_t out[MAX_LANES] = {0};
    uint8_t to[MAX_LANES];

    lanes_addressed(w, in, to);
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        out[to[lane]] = data[lane];
    }
    sim_write32(w, &in->op[0], out);
}

/* The offset is a pattern over groups of 32 lanes. */
static void run_ds_swizzle_b32(struct wave *w, const struct insn *in)
{
    uint32_t pattern = in->raw & 0xffff;
    uint32_t keep = pattern & 31, turn = pattern >> 5 & 31;
    uint8_t from[MAX_LANES];

    if (pattern >= 0xe000) {
        sim_fault_raise(w, SIM_FAULT_UNKNOWN_INSN, -1, 0,
                        "the simulator has no FFT swizzle");
        return;
    }
    if (pattern >> 10 & 1)
        turn = 32 - turn; /* the rotation goes the other way */
    LANES(i)
    {
        uint32_t lane = i & 31;

        if (pattern >= 0xc000)
            lane = (lane & keep) | ((lane + turn) & ~keep & 31);
        else if (pattern & 0x8000)
            lane = (lane & 28) | (pattern >> 2 * (lane & 3) & 3);
        else
            lane =
                (((lane & keep) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
        from[i] = (uint8_t)((i & 32) | lane);
    }
    take(w, in, *tuple_reg(w, &in->op[1], 0), from, w->mask);
}

/* clang-format off */
static const struct insn_row rows[] = {
    {"ds_bpermute_b32",    run_ds_bpermute_b32,    CLASS_LDS, {T_u32, T_u32, T_u32}, 0},
    {"ds_bpermute_fi_b32", run_ds_bpermute_fi_b32, CLASS_LDS, {T_u32, T_u32, T_u32}, 0},
    {"ds_permute_b32",     run_ds_permute_b32,     CLASS_LDS, {T_u32, T_u32, T_u32}, 0},
    {"ds_swizzle_b32",     run_ds_swizzle_b32,     CLASS_LDS, {T_u32, T_u32}, 0},
};
/* clang-format on */

ROW_SET_NO_ALIASES(dslane, rows);
