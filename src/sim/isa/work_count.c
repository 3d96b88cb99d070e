/* work_count.c - counts the work of each pipe, for bounds of time
 * (base/time_bounds.h) */
#include "work_count.h"

#include "../base/touched.h"

/* ---- ALUs ---- */

/* RDNA takes 32 lanes at a time, and none of a half that is off. */
static unsigned passes(const struct wave *w, const struct cost *c)
{
    bool low = (uint32_t)w->mask != 0, high = w->mask >> 32 != 0;

    return w->target->major == 9 || c->one_pass || !(low && high) ? 1 : 2;
}

static void count_valu(struct wave *w, const struct cost *c)
{
    struct sim_work *k = &w->group->stats.work;
    unsigned n = passes(w, c);

    k->valu_insns[c->rate]++;
    k->valu_cycles[c->rate] += (uint64_t)n * c->valu;
    k->trans_cycles += (uint64_t)n * c->trans;
}

static void count_matrix(struct wave *w, const struct cost *c)
{
    struct sim_work *k = &w->group->stats.work;

    k->matrix_insns++;
    k->matrix_cycles += c->matrix;
    k->matrix_unknown += c->matrix == 0;
    if (c->matrix_blocks_valu)
        k->matrix_blocks_valu += c->matrix;
}

/* ---- loads under way ---- */

static void land_oldest(struct flight *f)
{
    uint32_t done = f->done[f->first];

    if (done > f->now)
        f->now = done;
    f->first = (f->first + 1) % FLIGHT_MOST;
    f->n--;
}

/* They come back in order, so none before the last. */
static void take_off(struct flight *f, uint32_t done)
{
    if (f->n == FLIGHT_MOST)
        land_oldest(f);
    if (f->n) {
        uint32_t last = f->done[(f->first + f->n - 1) % FLIGHT_MOST];

        done = last > done ? last : done;
    }
    f->done[(f->first + f->n++) % FLIGHT_MOST] = done;
}

static void wait_for_loads(struct wave *w, const struct insn *in)
{
    unsigned left = in->waits.most[COUNTER_LOAD];
    uint32_t before = w->flight->now;

    while (w->flight->n > left)
        land_oldest(w->flight);
    w->group->stats.work.load_waits += w->flight->now - before;
}

void sim_work_insn(struct wave *w, const struct insn *in)
{
    struct sim_work *k = &w->group->stats.work;

    switch (in->class) {
    case CLASS_VALU:
        count_valu(w, &in->cost);
        break;
    case CLASS_MATRIX:
        count_matrix(w, &in->cost);
        break;
    case CLASS_SALU:
        k->salu_insns++;
        break;
    case CLASS_VMEM:
        k->vmem_insns++;
        break;
    case CLASS_LDS:
        k->lds_insns++;
        if (in->cost.lds == LDS_LANES)
            k->lds_cycles += w->nlanes / 32;
        break;
    default:
        if (in->waits.is_wait)
            wait_for_loads(w, in);
        break;
    }
}

/* ---- vector memory ---- */

/* Ascending; lanes mostly come so. */
static void sort(uint64_t *v, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        uint64_t x = v[i];
        unsigned j = i;

        for (; j && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* How many different values are left when `shift` low bits are cut off. */
static unsigned different(const uint64_t *sorted, unsigned n, unsigned shift)
{
    unsigned d = n > 0;

    for (unsigned i = 1; i < n; i++)
        d += sorted[i] >> shift != sorted[i - 1] >> shift;
    return d;
}

/* Lanes at the same address take turns; different addresses within 64 bytes are
 * one request. */
static void count_atomic(struct wave *w, uint64_t *at, unsigned n)
{
    struct sim_work *k = &w->group->stats.work;
    unsigned run = 0, turns = 0;

    k->atomic_lanes += n;
    for (unsigned i = 0; i < n; i++) {
        run = i && at[i] == at[i - 1] ? run + 1 : 1;
        turns = run > turns ? run : turns;
        if (i + 1 == n || at[i + 1] >> 6 != at[i] >> 6) {
            k->atomic_requests++;
            k->untracked += !sim_touched_atomic(w->run->touched, at[i], turns);
            turns = 0;
        }
    }
}

/* Kernel arguments and packets are no part of a kernel's own traffic. */
static bool is_internal(uint64_t at)
{
    const struct sim_alloc *a = sim_mem_find(at);

    return a && a->kind == SIM_MEM_INTERNAL;
}

static void note(struct wave *w, uint64_t at, unsigned n, bool write)
{
    w->group->stats.work.untracked +=
        !sim_touched_note(w->run->touched, at, n, write);
}

/* Lanes of a flat access that lead to LDS or scratch are left out. */
static unsigned in_memory(const struct places *p, uint64_t at[MAX_LANES])
{
    unsigned n = 0;

    if (p->space != SPACE_GLOBAL && p->space != SPACE_FLAT)
        return 0;
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        uint64_t a = p->at[__builtin_ctzll(m)];

        if (p->space == SPACE_GLOBAL ||
            (a >> 32 != SHARED_BASE >> 32 && a >> 32 != PRIVATE_BASE >> 32))
            at[n++] = a;
    }
    return n;
}

/* Counts the lanes whose flat address lies in LDS as one LDS access. */
static void count_flat_lds(struct wave *w, const struct places *p,
                           unsigned nbytes)
{
    uint32_t offset[MAX_LANES] = {0};
    uint64_t lanes = 0;

    for (uint64_t m = p->lanes; m; m &= m - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(m);

        if (p->at[lane] >> 32 == SHARED_BASE >> 32) {
            offset[lane] = (uint32_t)p->at[lane];
            lanes |= m & -m;
        }
    }
    if (lanes) {
        w->group->stats.work.lds_insns++;
        sim_work_lds(w, lanes, offset, nbytes);
    }
}

static void note_all(struct wave *w, const uint64_t *at, unsigned n,
                     unsigned nbytes, enum work_kind kind)
{
    if (n == 0 || is_internal(at[0]))
        return;
    for (unsigned i = 0; i < n; i++) {
        if (kind != WORK_STORES)
            note(w, at[i], nbytes, false);
        if (kind != WORK_LOADS)
            note(w, at[i], nbytes, true);
    }
}

/* Up to gfx9 stores count among what is waited for; they take no time. */
static void depart(struct wave *w, unsigned n, unsigned segments, bool loads)
{
    if (loads) {
        w->group->stats.work.load_bytes += 64ull * segments;
        take_off(w->flight, w->flight->now + (n > 0));
    } else if (w->target->major == 9) {
        take_off(w->flight, w->flight->now);
    }
}

void sim_work_vmem(struct wave *w, const struct places *p, unsigned nbytes,
                   enum work_kind kind)
{
    struct sim_work *k = &w->group->stats.work;
    uint64_t at[MAX_LANES], ends[2 * MAX_LANES];
    unsigned n = in_memory(p, at), segments;
    bool loads = kind == WORK_LOADS || kind == WORK_ATOMIC_RETURNS;

    if (p->space == SPACE_LDS)
        return;
    if (p->space == SPACE_FLAT)
        count_flat_lds(w, p, nbytes);
    if (p->space == SPACE_SCRATCH) /* interleaved: dense lines */
        k->scratch_bytes +=
            (uint64_t)(unsigned)__builtin_popcountll(p->lanes) * nbytes;
    for (unsigned i = 0; i < n; i++) {
        ends[2 * i] = at[i];
        ends[2 * i + 1] = at[i] + nbytes - 1;
    }
    sort(ends, 2 * n);
    segments = different(ends, 2 * n, 6);
    k->segments64 += segments;
    k->segments128 += different(ends, 2 * n, 7);
    note_all(w, at, n, nbytes, kind);
    if (kind == WORK_ATOMIC || kind == WORK_ATOMIC_RETURNS) {
        sort(at, n);
        count_atomic(w, at, n);
    }
    depart(w, n, segments, loads);
}

/* ---- texels ---- */

/* Number of segments of `size` bytes that the texels touch. Most texels lie in
 * few segments, so the segments found are kept sorted. */
unsigned sim_work_segments(const uint64_t *at, unsigned n, unsigned nbytes,
                           unsigned size)
{
    uint64_t known[2 * MAX_TEXELS], last = UINT64_MAX;
    unsigned nknown = 0;

    for (unsigned i = 0; i < 2 * n; i++) {
        const uint64_t segment = (at[i / 2] + i % 2 * (nbytes - 1)) / size;
        unsigned low = 0, high = nknown;

        if (segment == last)
            continue;
        last = segment;
        while (low < high) {
            const unsigned middle = (low + high) / 2;

            if (known[middle] < segment)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < nknown && known[low] == segment)
            continue;
        memmove(&known[low + 1], &known[low],
                (nknown++ - low) * sizeof(known[0]));
        known[low] = segment;
    }
    return nknown;
}

void sim_work_texels(struct wave *w, const uint64_t *at, unsigned n,
                     unsigned nbytes, enum work_kind kind)
{
    struct sim_work *k = &w->group->stats.work;
    const unsigned segments = sim_work_segments(at, n, nbytes, 64);

    k->segments64 += segments;
    k->segments128 += sim_work_segments(at, n, nbytes, 128);
    note_all(w, at, n, nbytes, kind);
    depart(w, n, segments, kind == WORK_LOADS);
}

void sim_work_scalar(struct wave *w, uint64_t at, unsigned n, bool write)
{
    if (!is_internal(at))
        note(w, at, n, write);
}

/* ---- LDS ---- */

/*
 * An access goes in phases: groups of lanes that the banks serve at once. A
 * phase takes as many cycles as its busiest bank has different dwords to serve;
 * what goes beyond one is a conflict. quad[] gives the phase of each four lanes
 * of 32; the other half of a wave of 64 goes the same way after.
 *
 * CDNA 1 to 3: AMD's "Avoiding LDS Bank Conflicts on AMD GPUs Using CK-Tile
 * Framework". CDNA 4: measured with conflicts by the authors of HipKittens
 * (arXiv 2511.08083); there reads of 96 bits pair the lanes that CDNA 3's of
 * 128 do, and so they are taken to on CDNA 1 to 3. RDNA: 128 bytes a clock and
 * consecutive lanes, which no source contradicts.
 */
struct phases {
    uint8_t banks;
    uint8_t quad[8];
};

static const struct phases all_32 = {32, {0}};
static const struct phases halves = {32, {0, 0, 0, 0, 1, 1, 1, 1}};
static const struct phases eights = {32, {0, 0, 1, 1, 2, 2, 3, 3}};
static const struct phases crossed = {32, {0, 1, 2, 3, 1, 0, 3, 2}};
static const struct phases all_32_of_64_banks = {64, {0}};
static const struct phases crossed_of_64_banks = {64, {0, 1, 1, 0, 1, 0, 0, 1}};

static const struct phases *phases_of(const struct wave *w, unsigned n)
{
    bool reads = w->insn->cost.lds == LDS_READS;
    bool cdna4 = w->target->major == 9 && w->target->minor >= 5;

    if (cdna4 && reads && n != 12)
        return n == 16 ? &crossed_of_64_banks : &all_32_of_64_banks;
    if (n <= 4)
        return &all_32;
    if (n <= 8)
        return &halves;
    return w->target->major == 9 && reads ? &crossed : &eights;
}

struct banks {
    uint8_t depth[64];
    uint32_t dword[64][32];
    unsigned worst;
};

static void serve(struct banks *b, unsigned nbanks, uint32_t dword, bool merge)
{
    unsigned bank = dword % nbanks, depth = b->depth[bank];

    for (unsigned i = 0; merge && i < depth; i++)
        if (b->dword[bank][i] == dword)
            return;
    b->dword[bank][depth] = dword;
    b->depth[bank] = (uint8_t)++depth;
    b->worst = depth > b->worst ? depth : b->worst;
}

/* Bank cycles for the lanes in one phase; 0 if every lane is off. */
static unsigned phase_cycles(const struct phases *p, unsigned phase,
                             uint32_t mask, const uint32_t *offset, unsigned n,
                             bool merge)
{
    struct banks b;

    memset(b.depth, 0, sizeof(b.depth));
    b.worst = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);

        if (p->quad[lane / 4] != phase)
            continue;
        for (uint32_t d = offset[lane] / 4; d <= (offset[lane] + n - 1) / 4;
             d++)
            serve(&b, p->banks, d, merge || d != offset[lane] / 4);
    }
    return b.worst;
}

void sim_work_lds(struct wave *w, uint64_t mask, const uint32_t *offset,
                  unsigned n)
{
    struct sim_work *k = &w->group->stats.work;
    const struct phases *p = phases_of(w, n);
    bool merge = w->insn->cost.lds != LDS_ATOMIC;

    for (unsigned half = 0; half < w->nlanes; half += 32)
        for (unsigned phase = 0; phase < 4; phase++) {
            unsigned cycles = phase_cycles(p, phase, (uint32_t)(mask >> half),
                                           offset + half, n, merge);

            k->lds_cycles += cycles;
            k->lds_conflict_cycles += cycles ? cycles - 1 : 0;
        }
}

void sim_work_lds_row(struct wave *w, uint64_t mask, unsigned n)
{
    enum { BYTES_A_CLOCK = 128 };
    unsigned nbytes = (unsigned)__builtin_popcountll(mask) * n;

    w->group->stats.work.lds_cycles +=
        (nbytes + BYTES_A_CLOCK - 1) / BYTES_A_CLOCK;
}
