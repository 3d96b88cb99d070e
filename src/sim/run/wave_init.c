/* wave_init.c - a wave's registers at its start
 *
 * After LLVM's AMDGPU guide, "Initial Kernel Execution State". Registers that
 * are undefined on hardware hold a pattern that makes mistakes visible: no
 * pointer, an odd number, a small negative float.
 */
#include "wave_init.h"

#include "../isa/mode.h"

enum { POISON_BYTE = 0xa5 };
#define POISON 0xa5a5a5a5u

/* Fields of compute_pgm_rsrc1 and 2 and of kernel_code_properties. */
static unsigned bits(uint32_t value, unsigned first, unsigned count)
{
    return value >> first & ((1u << count) - 1);
}

enum { ENABLE_PRIVATE_SEGMENT = 1 };

static bool is_gfx125(const struct sim_target *t)
{
    return t->major == 12 && t->minor >= 5;
}

static unsigned user_sgpr_count(const struct run *run)
{
    return bits(run->rsrc2, 1, is_gfx125(run->target) ? 6 : 5);
}

static uint32_t field32(const uint8_t *bytes, unsigned offset)
{
    uint32_t v;

    memcpy(&v, bytes + offset, sizeof(v));
    return v;
}

/* VGPRs per step of rsrc1's VGPR field. */
static unsigned vgpr_step(const struct run *run)
{
    const struct sim_target *t = run->target;

    if (is_gfx125(t))
        return 16;
    if (t->major >= 10)
        return run->wave_size == 32 ? 8 : 4;
    return t->unified_vgprs ? 8 : 4;
}

/* Sets the numbers of VGPRs and AGPRs from the descriptor's total. */
static void set_registers(struct run *run, unsigned total)
{
    const struct sim_target *t = run->target;
    unsigned accum_offset = (bits(run->rsrc3, 0, 6) + 1) * 4;

    run->nvgprs = total;
    run->nagprs = 0;
    run->first_agpr = total;
    run->nregs = total;
    if (t->unified_vgprs) {
        if (accum_offset < total)
            run->first_agpr = accum_offset;
        run->nvgprs = total < 256 ? total : 256; /* v0 to v255 */
        run->nagprs = total - run->first_agpr;
    } else if (t->accum_vgprs) {
        run->nagprs = total;
        run->nregs = 2 * total;
    }
}

void sim_run_read_descriptor(struct run *run,
                             const uint8_t bytes[DESCRIPTOR_NBYTES])
{
    const struct sim_target *t = run->target;
    int64_t entry_offset;

    memcpy(&entry_offset, bytes + 16, sizeof(entry_offset));
    run->rsrc3 = field32(bytes, 44);
    run->rsrc1 = field32(bytes, 48);
    run->rsrc2 = field32(bytes, 52);
    run->properties = field32(bytes, 56) & 0xffff;
    run->preload = field32(bytes, 56) >> 16;
    run->entry = run->dispatch->descriptor + (uint64_t)entry_offset;
    run->wave_size = t->major >= 10 && bits(run->properties, 10, 1) ? 32 : 64;
    run->scratch_nbytes = run->dispatch->scratch_nbytes;
    if (run->scratch_nbytes < field32(bytes, 4))
        run->scratch_nbytes = field32(bytes, 4);
    run->scratch_nbytes = (run->scratch_nbytes + 15) & ~15u;
    run->lds_nbytes = run->dispatch->lds_nbytes;
    if (run->lds_nbytes < field32(bytes, 0))
        run->lds_nbytes = field32(bytes, 0);

    set_registers(run, (bits(run->rsrc1, 0, 6) + 1) * vgpr_step(run));
}

uint64_t sim_wave_scratch_nbytes(const struct run *run)
{
    return (uint64_t)run->scratch_nbytes * run->wave_size;
}

/* ---- scalar registers ---- */

/* User SGPRs are packed from s0 on: `n` points at the next one. */
static void user64(struct wave *w, unsigned *n, uint64_t value)
{
    w->s[(*n)++] = (uint32_t)value;
    w->s[(*n)++] = (uint32_t)(value >> 32);
}

/* The descriptor of scratch: swizzled by four bytes and the lane's number. */
static void private_segment_buffer(struct wave *w, unsigned *n)
{
    const uint32_t swizzle = 1u << 31;

    user64(w, n, SCRATCH_BASE | (uint64_t)swizzle << 32);
    w->s[(*n)++] = 0xffffffff;
    w->s[(*n)++] = w->target->major >= 10 ? 0x20c14000 : 0x00e00000;
}

static bool preload_kernargs(struct wave *w, unsigned n)
{
    unsigned count = w->run->preload & 127;
    uint64_t from =
        w->run->dispatch->kernarg + 4ull * (w->run->preload >> 7 & 511);
    const struct sim_alloc *a;

    if (count == 0)
        return true;
    a = sim_mem_find(from);
    if (!a || a->freed || from - a->base + 4ull * count > a->size ||
        n + count > SREG_VCC)
        return false;
    memcpy(&w->s[n], a->bytes + (from - a->base), 4ull * count);
    /* Firmware that preloads starts behind the code that loads the same. */
    if (w->target->major == 9)
        w->pc += 256;
    return true;
}

static bool set_user_sgprs(struct wave *w)
{
    const struct sim_dispatch *d = w->run->dispatch;
    uint32_t enabled = w->run->properties;
    unsigned n = 0;

    if (enabled & 1)
        private_segment_buffer(w, &n);
    if (enabled & 2)
        user64(w, &n, w->run->packet);
    if (enabled & 4)
        user64(w, &n, w->run->queue);
    if (enabled & 8)
        user64(w, &n, d->kernarg);
    if (enabled & 16)
        user64(w, &n, 0); /* dispatch ID */
    if (enabled & 32)
        user64(w, &n, SCRATCH_BASE);
    if (enabled & 64)
        w->s[n++] = w->run->scratch_nbytes;
    return preload_kernargs(w, n);
}

static void set_system_sgprs(struct wave *w)
{
    const struct group *g = w->group;
    unsigned n = user_sgpr_count(w->run);
    uint32_t rsrc2 = w->run->rsrc2;

    for (unsigned axis = 0; axis < 3; axis++)
        if (bits(rsrc2, 7 + axis, 1))
            w->s[n++] = g->id[axis];
    if (bits(rsrc2, 10, 1))
        w->s[n++] = (w->index == 0 ? 1u << 31 : 0) | g->nwaves;
    if ((rsrc2 & ENABLE_PRIVATE_SEGMENT) &&
        !w->target->architected_flat_scratch)
        w->s[n++] = (uint32_t)(w->scratch_base - SCRATCH_BASE);
    if (w->target->major >= 12) {
        w->s[SREG_TTMP + 9] = g->id[0];
        w->s[SREG_TTMP + 7] = g->id[1] | g->id[2] << 16;
        w->s[SREG_TTMP + 8] = w->index << 25 | 1u << 30;
    }
}

/* ---- vector registers and EXEC ---- */

static uint64_t lowest_bits(uint64_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* In a group of one row of work-items, `left` of which the grid has. */
static uint64_t set_row(struct wave *w, unsigned axes, uint64_t left)
{
    const uint32_t first = w->index * w->nlanes;
    const uint64_t rest = left < first ? 0 : left - first;
    const unsigned n = rest < w->nlanes ? (unsigned)rest : w->nlanes;

    for (unsigned lane = 0; lane < n; lane++)
        w->v[0][lane] = first + lane;
    if (!w->target->packed_work_item_ids)
        for (unsigned axis = 1; axis <= axes && axis < 3; axis++)
            memset(w->v[axis], 0, n * sizeof(w->v[axis][0]));
    return lowest_bits(n);
}

/* Sets each work-item's place in its group. Returns the lanes that are in the
 * grid. */
static uint64_t set_places(struct wave *w)
{
    const struct sim_dispatch *d = w->run->dispatch;
    const unsigned axes = bits(w->run->rsrc2, 11, 2);
    const uint32_t sx = d->block[0], sy = d->block[1];
    const uint32_t first = w->index * w->nlanes, nitems = sx * sy * d->block[2];
    uint32_t id[3] = {first % sx, first / sx % sy, first / sx / sy};
    uint64_t left[3]; /* work-items from this group to the grid's end */
    uint64_t exec = 0;

    for (unsigned axis = 0; axis < 3; axis++)
        left[axis] =
            d->grid[axis] - (uint64_t)w->group->id[axis] * d->block[axis];
    if (nitems == sx)
        return set_row(w, axes, left[0] < sx ? left[0] : sx);
    for (unsigned lane = 0; lane < w->nlanes && first + lane < nitems; lane++) {
        if (id[0] < left[0] && id[1] < left[1] && id[2] < left[2]) {
            exec |= UINT64_C(1) << lane;
            if (w->target->packed_work_item_ids)
                w->v[0][lane] = id[0] | (axes >= 1 ? id[1] << 10 : 0) |
                                (axes >= 2 ? id[2] << 20 : 0);
            else
                for (unsigned axis = 0; axis <= axes && axis < 3; axis++)
                    w->v[axis][lane] = id[axis];
        }
        if (++id[0] == sx) {
            id[0] = 0;
            if (++id[1] == sy) {
                id[1] = 0;
                id[2]++;
            }
        }
    }
    return exec;
}

static void set_work_items(struct wave *w)
{
    set_mask_sreg(w, SREG_EXEC, set_places(w));
    if (w->nlanes == 32)
        w->s[SREG_EXEC + 1] = 0;
}

/* MODE's bits 7:0 are rsrc1's bits 19:12; its other bits are elsewhere in
 * rsrc1.
 */
static uint32_t initial_mode(const struct run *run)
{
    uint32_t mode = bits(run->rsrc1, 12, 8);

    if (run->target->major < 12) {
        mode |= bits(run->rsrc1, 21, 1) ? MODE_DX10_CLAMP : 0;
        mode |= bits(run->rsrc1, 23, 1) ? MODE_IEEE : 0;
    }
    return mode | (bits(run->rsrc1, 26, 1) ? MODE_FP16_OVFL : 0);
}

bool sim_wave_init(struct wave *w)
{
    const struct run *run = w->run;

    w->target = run->target;
    w->nlanes = run->wave_size;
    w->full = w->nlanes == 64 ? UINT64_MAX : UINT32_MAX;
    w->nvgprs = run->nvgprs;
    w->nagprs = run->nagprs;
    memset(w->v, POISON_BYTE, sizeof(vreg) * w->used_vgprs);
    if (w->used_agprs)
        memset(w->a, POISON_BYTE, sizeof(vreg) * w->used_agprs);
    w->used_vgprs = 3; /* the most that work-items' places take */
    w->used_agprs = 0;
    for (unsigned i = 0; i < NUM_SREGS; i++)
        w->s[i] = POISON;
    w->scc = true;
    w->pc = run->entry;
    w->scratch_base = SCRATCH_BASE + w->index * sim_wave_scratch_nbytes(run);
    if (w->target->architected_flat_scratch)
        set_sreg64(w, SREG_FLAT_SCRATCH, w->scratch_base);
    set_work_items(w);
    w->start_exec = wave_exec(w);
    w->never_ran = w->start_exec == 0;
    w->state = w->never_ran ? WAVE_ENDED : WAVE_RUNS;
    sim_wave_set_mode(w, initial_mode(run));
    if (!set_user_sgprs(w))
        return false;
    set_system_sgprs(w);
    return true;
}
