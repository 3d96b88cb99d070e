/* vmem.c - loads, stores and atomics that vector lanes make */
#include "vmem.h"
#include "fault_report.h"
#include "late_lds.h"
#include "late_memory.h"
#include "lds_marks.h"
#include "stale_read.h"
#include "work_count.h"

/* ---- counting ---- */

/*
 * Coalescing is counted in segments of 64 bytes, aligned: an instruction costs
 * the number of different segments that its lanes touch, whatever their order.
 * 64 bytes is the smallest cache line request of the L2 on all targets here.
 */
enum { SEGMENT = 64, SEEN_SLOTS = 512 };

/* Range of the addresses of the lanes that access memory. */
struct extent {
    uint64_t lowest, highest;
    bool side_by_side; /* all lanes access memory, each behind the last one */
};

static struct extent extent_of(const struct wave *w, const struct places *p,
                               unsigned nbytes)
{
    struct extent e = {UINT64_MAX, 0, false};
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    uint64_t off = 0;

    if (p->lanes != w->full) {
        for (uint64_t m = p->lanes; m; m &= m - 1) {
            const uint64_t at = p->at[__builtin_ctzll(m)];

            e.lowest = at < e.lowest ? at : e.lowest;
            e.highest = at > e.highest ? at : e.highest;
        }
        return e;
    }
    /* Signed numbers, because the host's vector instructions compare these. */
    LANES(i)
    {
        const int64_t at = (int64_t)(p->at[i] ^ UINT64_C(1) << 63);

        lowest = at < lowest ? at : lowest;
        highest = at > highest ? at : highest;
        off |= p->at[i] - p->at[0] - i * nbytes;
    }
    e.lowest = (uint64_t)lowest ^ UINT64_C(1) << 63;
    e.highest = (uint64_t)highest ^ UINT64_C(1) << 63;
    e.side_by_side = off == 0;
    return e;
}

/* The segments, fewer than 64, that all lanes touch: a bit for each. The bit
 * comes out of the mask because the compiler makes no vectors of 1 << n. */
static unsigned count_close_segments(const struct wave *w,
                                     const struct places *p, unsigned nbytes,
                                     uint64_t first)
{
    uint64_t bits = 0;

    LANES(i)
    {
        const uint64_t on = p->lanes >> i & 1;
        const uint64_t from = p->at[i] / SEGMENT - first;
        const uint64_t to = (p->at[i] + nbytes - 1) / SEGMENT - first;

        bits |= on << (from & 63) | on << (to & 63);
    }
    return (unsigned)__builtin_popcountll(bits);
}

static uint64_t count_segments(const struct wave *w, const struct places *p,
                               unsigned nbytes, const struct extent *e)
{
    uint64_t seen[SEEN_SLOTS], n = 0;
    uint64_t first = e->lowest / SEGMENT;
    uint64_t last = (e->highest + nbytes - 1) / SEGMENT;

    if (e->side_by_side)
        return last - first + 1;
    if (last - first < 64 && p->lanes == w->full)
        return count_close_segments(w, p, nbytes, first);
    if (last - first < 64) {
        uint64_t bits = 0;

        for (uint64_t m = p->lanes; m; m &= m - 1) {
            const uint64_t at = p->at[__builtin_ctzll(m)];

            bits |= UINT64_C(1) << (at / SEGMENT - first) |
                    UINT64_C(1) << ((at + nbytes - 1) / SEGMENT - first);
        }
        return (unsigned)__builtin_popcountll(bits);
    }
    memset(seen, 0xff, sizeof(seen));
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        uint64_t at = p->at[__builtin_ctzll(m)];

        for (uint64_t s = at / SEGMENT; s <= (at + nbytes - 1) / SEGMENT; s++) {
            uint64_t slot = s * UINT64_C(0x9e3779b97f4a7c15) >> 55;

            while (seen[slot] != s && seen[slot] != UINT64_MAX)
                slot = (slot + 1) % SEEN_SLOTS;
            n += seen[slot] != s;
            seen[slot] = s;
        }
    }
    return n;
}

static void count(struct wave *w, const struct places *p, unsigned nbytes,
                  enum work_kind kind, const struct extent *e)
{
    struct sim_stats *s = &w->group->stats;
    uint64_t asked =
        (uint64_t)(unsigned)__builtin_popcountll(p->lanes) * nbytes;
    uint64_t moved;

    if (w->flight)
        sim_work_vmem(w, p, nbytes, kind);
    if (!asked || p->space == SPACE_LDS)
        return;
    if (p->space == SPACE_SCRATCH) /* lanes interleaved: no waste */
        moved = (asked + SEGMENT - 1) / SEGMENT * SEGMENT;
    else
        moved = SEGMENT * count_segments(w, p, nbytes, e);
    if (kind != WORK_LOADS) {
        s->bytes_written += asked;
        s->segment_bytes_written += moved;
    } else {
        s->bytes_read += asked;
        s->segment_bytes_read += moved;
    }
}

/* ---- one lane's bytes ---- */

static enum space space_of(enum space space, uint64_t *at)
{
    if (space != SPACE_FLAT)
        return space;
    if (*at >> 32 == SHARED_BASE >> 32) {
        *at &= UINT32_MAX;
        return SPACE_LDS;
    }
    if (*at >> 32 == PRIVATE_BASE >> 32) {
        *at &= UINT32_MAX;
        return SPACE_SCRATCH;
    }
    return SPACE_GLOBAL;
}

static uint8_t *whole(struct wave *w, enum space space, uint64_t at, unsigned n,
                      enum access how, int lane)
{
    return space == SPACE_LDS ? sim_lds(w, at, n, how, lane)
                              : sim_global(w, at, n, how, lane);
}

/* The bytes as a load of the running instruction sees them through caches. */
static void read_cached(struct wave *w, const struct sim_alloc *a, uint8_t *at,
                        unsigned n, uint8_t *buffer, int lane)
{
    struct caches *c = w->run->caches;
    const enum cache_level level = sim_load_level(c, w->insn);

    sim_caches_read(c, w->memory->cu, a, at, n, level, buffer);
    sim_stale_check(w, at, n, buffer, level > LEVEL_CU, lane);
}

static bool copy_cached(struct wave *w, uint64_t addr, unsigned n,
                        uint8_t *buffer, enum access how, int lane)
{
    uint8_t *at;
    const struct sim_alloc *a = sim_global_place(w, addr, n, how, lane, &at);

    if (!a)
        return false;
    if (how == ACCESS_READ) {
        sim_memory_order(w, at, n, false);
        read_cached(w, a, at, n, buffer, lane);
    } else {
        sim_memory_store(w, a, at, n, buffer);
        sim_stale_note(w, at, n, buffer);
    }
    return true;
}

/* Scratch is interleaved by dwords, so it goes piece by piece. */
static bool copy_lane(struct wave *w, const struct places *p, unsigned n,
                      uint8_t *buffer, enum access how, int lane)
{
    uint64_t at = p->at[lane];
    enum space space = space_of(p->space, &at);

    if (space == SPACE_GLOBAL && w->memory)
        return copy_cached(w, at, n, buffer, how, lane);
    if (space != SPACE_SCRATCH) {
        uint8_t *bytes;

        w->stores = buffer;
        bytes = whole(w, space, at, n, how, lane);
        w->stores = NULL;

        if (!bytes)
            return false;
        if (how == ACCESS_READ)
            memcpy(buffer, bytes, n);
        else
            memcpy(bytes, buffer, n);
        return true;
    }
    for (unsigned done = 0, piece; done < n; done += piece) {
        uint8_t *bytes;

        piece = 4 - (unsigned)((at + done) & 3);
        if (piece > n - done)
            piece = n - done;
        bytes = sim_scratch(w, at + done, piece, how, lane);
        if (!bytes)
            return false;
        if (how == ACCESS_READ)
            memcpy(buffer + done, bytes, piece);
        else
            memcpy(bytes, buffer + done, piece);
    }
    return true;
}

/* The same for LDS, if no check needs each byte. */
static uint8_t *common_lds(const struct wave *w, const struct extent *e,
                           unsigned n, enum access how, uint64_t *base)
{
    struct group *g = w->group;
    const uint32_t size = w->run->lds_nbytes;

    *base = 0;
    if (g->lds_written || w->run->config.races || size < n ||
        e->highest > size - n)
        return NULL;
    if (how != ACCESS_READ)
        sim_lds_used(g, e->highest + n);
    return g->lds;
}

/*
 * Where all lanes' accesses lie in one allocation, the checks are made once
 * for the instruction: returns what to add to an address to get the
 * simulator's pointer, or NULL if each lane has to be looked at.
 */
static uint8_t *common_base(const struct wave *w, const struct places *p,
                            const struct extent *e, unsigned n, enum access how,
                            uint64_t *base)
{
    const struct sim_alloc *a = w->last_hit[how != ACCESS_READ];

    if (p->space == SPACE_LDS)
        return common_lds(w, e, n, how, base);
    if (!a || a->freed || w->run->config.uninit || w->run->races || w->memory ||
        (p->space != SPACE_GLOBAL && p->space != SPACE_FLAT) || a->size < n)
        return NULL;
    *base = a->base;
    if (e->lowest < a->base || e->highest - a->base > a->size - n)
        return NULL;
    return a->bytes;
}

/* ---- loads ---- */

static uint32_t extend(uint32_t v, struct form form)
{
    if (form.nbytes == 1)
        return form.sign ? (uint32_t)(int8_t)v : (v & 0xff);
    return form.sign ? (uint32_t)(int16_t)v : (v & 0xffff);
}

static void put_small(uint32_t *reg, uint32_t v, struct form form)
{
    v = extend(v, form);
    if (form.d16 == 1)
        v = (*reg & 0xffff0000) | (v & 0xffff);
    else if (form.d16 == 2)
        v = (*reg & 0xffff) | v << 16;
    *reg = v;
}

/* Values of one to four dwords: side by side in memory, in all lanes, or here
 * and there in some. */
#define FAST_LOAD(ndwords)                                                     \
    static void fast_load_##ndwords(                                           \
        const struct wave *w, const struct places *p, const struct extent *e,  \
        vreg *restrict reg, const uint8_t *restrict bytes, uint64_t base)      \
    {                                                                          \
        enum { N = 4 * (ndwords) };                                            \
        const uint8_t *begin = bytes + (e->lowest - base);                     \
        uint32_t v[ndwords];                                                   \
                                                                               \
        if (e->side_by_side) {                                                 \
            LANES(i)                                                           \
            {                                                                  \
                memcpy(v, begin + N * i, N);                                   \
                for (unsigned d = 0; d < (ndwords); d++)                       \
                    reg[d][i] = v[d];                                          \
            }                                                                  \
        } else if (p->lanes == w->full) {                                      \
            for (unsigned i = 0; i < w->nlanes; i++) {                         \
                memcpy(v, bytes + (p->at[i] - base), N);                       \
                for (unsigned d = 0; d < (ndwords); d++)                       \
                    reg[d][i] = v[d];                                          \
            }                                                                  \
        } else {                                                               \
            for (uint64_t m = p->lanes; m; m &= m - 1) {                       \
                const int i = __builtin_ctzll(m);                              \
                                                                               \
                memcpy(v, bytes + (p->at[i] - base), N);                       \
                for (unsigned d = 0; d < (ndwords); d++)                       \
                    reg[d][i] = v[d];                                          \
            }                                                                  \
        }                                                                      \
    }
FAST_LOAD(1)
FAST_LOAD(2)
FAST_LOAD(3)
FAST_LOAD(4)

static void fast_load(const struct wave *w, const struct places *p,
                      const struct extent *e, vreg *reg, const uint8_t *bytes,
                      uint64_t base, struct form form)
{
    switch (form.nbytes) {
    case 4:
        fast_load_1(w, p, e, reg, bytes, base);
        break;
    case 8:
        fast_load_2(w, p, e, reg, bytes, base);
        break;
    case 12:
        fast_load_3(w, p, e, reg, bytes, base);
        break;
    case 16:
        fast_load_4(w, p, e, reg, bytes, base);
        break;
    default:
        for (uint64_t m = p->lanes; m; m &= m - 1) {
            const int lane = __builtin_ctzll(m);
            const uint8_t *at = bytes + (p->at[lane] - base);
            uint16_t v = *at;

            if (form.nbytes == 2)
                memcpy(&v, at, sizeof(v));
            put_small(&reg[0][lane], v, form);
        }
    }
}

static void put_lane(vreg *reg, int lane, const uint32_t v[4], struct form form)
{
    if (form.nbytes < 4)
        put_small(&reg[0][lane], v[0], form);
    for (unsigned d = 0; d < form.nbytes / 4u; d++)
        reg[d][lane] = v[d];
}

static void perform_load(struct wave *w, const struct memory_op *op)
{
    vreg *reg = tuple_reg(w, &op->dst, 0);

    for (uint64_t m = op->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint32_t v[4] = {0};

        read_cached(w, op->memory, op->at[lane], op->form.nbytes, (uint8_t *)v,
                    lane);
        put_lane(reg, lane, v, op->form);
    }
}

/* Lanes of one allocation, found and checked; false if an access is no such: a
 * fault, LDS, scratch. */
static bool locate(struct wave *w, const struct places *p, unsigned nbytes,
                   enum access how, struct memory_op *op)
{
    if (!w->memory || !p->lanes || p->space == SPACE_LDS ||
        p->space == SPACE_SCRATCH)
        return false;
    *op = (struct memory_op){.lanes = p->lanes,
                             .form = {.nbytes = (uint8_t)nbytes}};
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint64_t addr = p->at[lane];
        const struct sim_alloc *a =
            space_of(p->space, &addr) == SPACE_GLOBAL
                ? sim_global_place(w, addr, nbytes, how, lane, &op->at[lane])
                : NULL;

        if (!a || (op->memory && a != op->memory))
            return false;
        op->memory = a;
        if (!op->lowest || op->at[lane] < op->lowest)
            op->lowest = op->at[lane];
        if (op->at[lane] + nbytes > op->end)
            op->end = op->at[lane] + nbytes;
    }
    return true;
}

/* Keeps a load for later; false if it is not to be kept, or faulted. */
static bool load_later(struct wave *w, const struct places *p,
                       const struct operand *dst, struct form form)
{
    struct memory_op op;

    if (!locate(w, p, form.nbytes, ACCESS_READ, &op))
        return false;
    op.perform = perform_load;
    op.form = form;
    op.returns = true;
    op.dst = *dst;
    sim_memory_keep(w, &op);
    return true;
}

void sim_vmem_load(struct wave *w, const struct places *p,
                   const struct operand *dst, struct form form)
{
    const struct extent e = extent_of(w, p, form.nbytes);
    vreg *reg = tuple_reg(w, dst, 0);
    uint64_t base;
    const uint8_t *bytes =
        common_base(w, p, &e, form.nbytes, ACCESS_READ, &base);

    count(w, p, form.nbytes, WORK_LOADS, &e);
    for (uint64_t m = w->mask & ~p->lanes; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        if (form.nbytes < 4)
            put_small(&reg[0][lane], 0, form);
        for (unsigned d = 0; d < form.nbytes / 4u; d++)
            reg[d][lane] = 0;
    }
    if (bytes && p->space == SPACE_LDS)
        sim_lds_watch(w, p, form.nbytes, e.side_by_side, NULL);
    if (bytes && p->lanes) {
        fast_load(w, p, &e, reg, bytes, base, form);
        return;
    }
    if (load_later(w, p, dst, form))
        return;
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        uint32_t v[4] = {0};

        if (!copy_lane(w, p, form.nbytes, (uint8_t *)v, ACCESS_READ, lane))
            return;
        put_lane(reg, lane, v, form);
    }
}

/* Bit fields of up to 16 bits in a lane's loaded dwords. */
static uint32_t field(const uint32_t v[4], unsigned index, unsigned nbits)
{
    unsigned bit = index * nbits;
    uint64_t two = v[bit / 32];

    if (bit / 32 < 3)
        two |= (uint64_t)v[bit / 32 + 1] << 32;
    return (uint32_t)(two >> bit % 32) & ((1u << nbits) - 1);
}

static void put_field(uint32_t v[4], unsigned index, unsigned nbits,
                      uint32_t value)
{
    unsigned bit = index * nbits;

    v[bit / 32] |= value << bit % 32;
    if (bit % 32 + nbits > 32)
        v[bit / 32 + 1] |= value >> (32 - bit % 32);
}

void sim_vmem_load_transposed(struct wave *w, const struct places *p,
                              const struct operand *dst, unsigned nbytes,
                              unsigned nbits)
{
    vreg *reg = tuple_reg(w, dst, 0);
    unsigned n = 8 * nbytes / nbits; /* values of a lane */
    uint32_t loaded[MAX_LANES][4] = {{0}};
    const struct extent e = extent_of(w, p, nbytes);

    count(w, p, nbytes, WORK_LOADS, &e);
    for (unsigned lane = 0; lane < w->nlanes; lane++)
        if (!copy_lane(w, p, nbytes, (uint8_t *)loaded[lane], ACCESS_READ,
                       (int)lane))
            return;
    for (unsigned lane = 0; lane < w->nlanes; lane++) {
        unsigned column = lane % 16;
        uint32_t v[4] = {0};

        for (unsigned row = 0; row < n; row++) {
            unsigned from = (lane & ~15u) + row * 16 / n + column / n;

            put_field(v, row, nbits, field(loaded[from], column % n, nbits));
        }
        for (unsigned d = 0; d < nbytes / 4; d++)
            reg[d][lane] = v[d];
    }
}

/* Loads the dwords of each lane; false if a lane raised a fault. */
static bool load_values(struct wave *w, const struct places *p,
                        const struct extent *e, struct form form,
                        vreg loaded[4])
{
    uint64_t base;
    const uint8_t *const bytes =
        common_base(w, p, e, form.nbytes, ACCESS_READ, &base);

    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        const bool reads = p->lanes >> lane & 1;
        uint32_t v[4] = {0};

        if (reads && bytes)
            memcpy(v, bytes + (p->at[lane] - base), form.nbytes);
        else if (reads &&
                 !copy_lane(w, p, form.nbytes, (uint8_t *)v, ACCESS_READ, lane))
            return false;
        if (form.nbytes < 4)
            v[0] = extend(v[0], form);
        for (unsigned d = 0; d < 4; d++)
            loaded[d][lane] = v[d];
    }
    return true;
}

unsigned sim_lds_step(struct form form)
{
    return form.nbytes > 4 ? 16 : 4; /* 16 for three dwords, too */
}

static void fill_lds(struct wave *w, const struct places *to, unsigned nbytes,
                     const vreg loaded[4])
{
    const struct extent e = extent_of(w, to, nbytes);
    uint64_t base;
    uint8_t *lds = common_lds(w, &e, nbytes, ACCESS_WRITE, &base);

    if (lds)
        sim_lds_watch(w, to, nbytes, e.side_by_side, loaded);
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint8_t *const at =
            lds ? lds + to->at[lane]
                : sim_lds(w, to->at[lane], nbytes, ACCESS_WRITE, lane);

        if (!at)
            return;
        for (unsigned d = 0; 4 * d < nbytes; d++)
            memcpy(at + 4 * d, &loaded[d][lane], nbytes < 4 ? nbytes : 4);
    }
}

void sim_vmem_load_lds_at(struct wave *w, const struct places *p,
                          const struct places *to, unsigned nbytes,
                          struct form form)
{
    const struct extent e = extent_of(w, p, form.nbytes);
    vreg loaded[4];

    count(w, p, form.nbytes, WORK_LOADS, &e);
    if (w->flight)
        sim_work_lds_row(w, w->mask, nbytes);
    if (w->mask == 0 || !load_values(w, p, &e, form, loaded))
        return;
    if (w->late && w->insn->waits.lds == LDS_MOVED)
        sim_late_keep(w, to, nbytes, loaded, fill_lds);
    else
        fill_lds(w, to, nbytes, loaded);
}

void sim_vmem_load_lds(struct wave *w, const struct places *p, int32_t offset,
                       unsigned step, struct form form)
{
    const uint32_t reach = w->target->lds_nbytes > 65536 ? 0x3ffff : 0xffff;
    const uint64_t start =
        (uint64_t)(w->s[SREG_M0] & reach) + (uint64_t)(int64_t)offset;
    struct places to = {.space = SPACE_LDS, .lanes = w->mask};

    LANES(i)
    to.at[i] = start + i * step;
    sim_vmem_load_lds_at(w, p, &to, form.nbytes < 4 ? 4 : form.nbytes, form);
}

/* Values of LDS to memory; from[0] has their places. */
static void move_from_lds(struct wave *w, const struct places *to,
                          unsigned nbytes, const vreg from[4])
{
    for (uint64_t m = w->mask; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        const uint8_t *const lds =
            sim_lds(w, from[0][lane], nbytes, ACCESS_READ, lane);
        uint8_t bytes[16];

        if (!lds)
            return;
        memcpy(bytes, lds, nbytes);
        if (!copy_lane(w, to, nbytes, bytes, ACCESS_WRITE, lane))
            return;
    }
}

void sim_vmem_store_lds(struct wave *w, const struct places *p,
                        const struct places *from, unsigned nbytes)
{
    const struct extent e = extent_of(w, p, nbytes);
    vreg at[4] = {{0}};

    count(w, p, nbytes, WORK_STORES, &e);
    if (w->flight)
        sim_work_lds_row(w, w->mask, nbytes);
    LANES(i)
    at[0][i] = (uint32_t)from->at[i];
    if (w->late)
        sim_late_keep(w, p, nbytes, at, move_from_lds);
    else
        move_from_lds(w, p, nbytes, at);
}

/* ---- stores ---- */

/* If several lanes write to one address, the highest lane comes last. */
#define FAST_STORE(ndwords)                                                    \
    static void fast_store_##ndwords(                                          \
        const struct wave *w, const struct places *p, const struct extent *e,  \
        const vreg *restrict reg, uint8_t *restrict bytes, uint64_t base)      \
    {                                                                          \
        enum { N = 4 * (ndwords) };                                            \
        uint8_t *begin = bytes + (e->lowest - base);                           \
        uint32_t v[ndwords];                                                   \
                                                                               \
        if (e->side_by_side) {                                                 \
            LANES(i)                                                           \
            {                                                                  \
                for (unsigned d = 0; d < (ndwords); d++)                       \
                    v[d] = reg[d][i];                                          \
                memcpy(begin + N * i, v, N);                                   \
            }                                                                  \
            return;                                                            \
        }                                                                      \
        for (uint64_t m = p->lanes; m; m &= m - 1) {                           \
            const int i = __builtin_ctzll(m);                                  \
                                                                               \
            for (unsigned d = 0; d < (ndwords); d++)                           \
                v[d] = reg[d][i];                                              \
            memcpy(bytes + (p->at[i] - base), v, N);                           \
        }                                                                      \
    }
FAST_STORE(1)
FAST_STORE(2)
FAST_STORE(3)
FAST_STORE(4)

static void fast_store(const struct wave *w, const struct places *p,
                       const struct extent *e, vreg *reg, uint8_t *bytes,
                       uint64_t base, struct form form)
{
    switch (form.nbytes) {
    case 4:
        fast_store_1(w, p, e, reg, bytes, base);
        break;
    case 8:
        fast_store_2(w, p, e, reg, bytes, base);
        break;
    case 12:
        fast_store_3(w, p, e, reg, bytes, base);
        break;
    case 16:
        fast_store_4(w, p, e, reg, bytes, base);
        break;
    default:
        for (uint64_t m = p->lanes; m; m &= m - 1) {
            const int lane = __builtin_ctzll(m);
            const uint32_t v = reg[0][lane] >> (form.d16 == 2 ? 16 : 0);

            memcpy(bytes + (p->at[lane] - base), &v, form.nbytes);
        }
    }
}

void sim_vmem_store(struct wave *w, const struct places *p,
                    const struct operand *src, struct form form)
{
    const struct extent e = extent_of(w, p, form.nbytes);
    vreg *reg = tuple_reg(w, src, 0);
    uint64_t base;
    uint8_t *bytes = common_base(w, p, &e, form.nbytes, ACCESS_WRITE, &base);

    count(w, p, form.nbytes, WORK_STORES, &e);
    if (bytes && p->space == SPACE_LDS)
        sim_lds_watch(w, p, form.nbytes, e.side_by_side, reg);
    if (bytes && p->lanes) {
        fast_store(w, p, &e, reg, bytes, base, form);
        return;
    }
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        uint32_t v[4] = {0};

        if (form.nbytes < 4)
            v[0] = form.d16 == 2 ? reg[0][lane] >> 16 : reg[0][lane];
        for (unsigned d = 0; d < form.nbytes / 4u; d++)
            v[d] = reg[d][lane];
        if (!copy_lane(w, p, form.nbytes, (uint8_t *)v, ACCESS_WRITE, lane))
            return;
    }
}

/* ---- texels ---- */

bool sim_vmem_put(struct wave *w, uint64_t at, const uint8_t *bytes,
                  unsigned nbytes, int lane)
{
    uint8_t *to;

    w->stores = bytes;
    to = sim_global(w, at, nbytes, ACCESS_WRITE, lane);
    w->stores = NULL;
    if (to)
        memcpy(to, bytes, nbytes);
    return to != NULL;
}

void sim_vmem_count(struct wave *w, const uint64_t *at, unsigned n,
                    unsigned nbytes, unsigned kind)
{
    struct sim_stats *s = &w->group->stats;
    const uint64_t asked = (uint64_t)n * nbytes;
    const uint64_t moved =
        (uint64_t)SEGMENT * sim_work_segments(at, n, nbytes, SEGMENT);

    if (w->flight)
        sim_work_texels(w, at, n, nbytes, (enum work_kind)kind);
    if (kind == WORK_LOADS) {
        s->bytes_read += asked;
        s->segment_bytes_read += moved;
    } else {
        s->bytes_written += asked;
        s->segment_bytes_written += moved;
    }
}

/* ---- atomics ---- */

/* Workgroups run in parallel threads, so the host's update is atomic, too. */
static uint64_t update32(void *at, uint64_t data, uint64_t compare,
                         atomic_fn *fn)
{
    uint32_t old = (uint32_t)compare;

    if (fn == sim_atomic_cmpswap32) {
        __atomic_compare_exchange_n((uint32_t *)at, &old, (uint32_t)data, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return old;
    }
    old = __atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n((uint32_t *)at, &old,
                                        (uint32_t)fn(old, data, compare), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return old;
}

static uint64_t update64(void *at, uint64_t data, uint64_t compare,
                         atomic_fn *fn)
{
    uint64_t old = compare;

    if (fn == sim_atomic_cmpswap64) {
        __atomic_compare_exchange_n((uint64_t *)at, &old, data, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return old;
    }
    old = __atomic_load_n((uint64_t *)at, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n((uint64_t *)at, &old,
                                        fn(old, data, compare), false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return old;
}

static uint64_t reg_value(vreg *reg, unsigned first, int lane, unsigned nbytes)
{
    uint64_t v = reg[first][lane];

    return nbytes == 8 ? v | (uint64_t)reg[first + 1][lane] << 32 : v;
}

/* An atomic on a lane's scratch, whose dwords are not contiguous. */
static bool update_scratch(struct wave *w, uint64_t at, unsigned nbytes,
                           uint64_t data, uint64_t compare, atomic_fn *fn,
                           int lane, uint64_t *old)
{
    uint8_t *part[2] = {0};

    *old = 0;
    for (unsigned i = 0; i < nbytes / 4; i++) {
        uint32_t v;

        part[i] = sim_scratch(w, at + 4ull * i, 4, ACCESS_ATOMIC, lane);
        if (!part[i])
            return false;
        memcpy(&v, part[i], 4);
        *old |= (uint64_t)v << 32 * i;
    }
    data = fn(*old, data, compare);
    for (unsigned i = 0; i < nbytes / 4; i++)
        memcpy(part[i], (uint8_t *)&data + 4ull * i, 4);
    return true;
}

/* ---- float atomics that get lost ---- */

/* Float atomics of the caches of gfx90a; a sum of f32 is fadd32 or a kind of
 * it. */
/* cppcheck-suppress constParameter ; a function cannot be const */
static bool is_float(atomic_fn *fn)
{
    static atomic_fn *const floats[] = {
        sim_atomic_fadd32, sim_atomic_fadd32_flush, sim_atomic_fadd64,
        sim_atomic_fmin64, sim_atomic_fmax64,       sim_atomic_pk_add_f16};

    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        if (fn == floats[i])
            return true;
    return false;
}

static bool report_dropped(struct wave *w, uint64_t at, int lane)
{
    sim_fault_raise(w, SIM_FAULT_DROPPED, lane, at,
                    "atomic on floats at 0x%llx, which is fine-grained memory: "
                    "the card does nothing and returns 0",
                    (unsigned long long)at);
    return false;
}

static bool update(struct wave *w, enum space space, uint64_t at, int lane,
                   unsigned nbytes, uint64_t data, uint64_t compare,
                   atomic_fn *fn, uint64_t *old)
{
    uint8_t *bytes;

    space = space_of(space, &at);
    if (at & (nbytes - 1)) {
        sim_fault_raise(w, SIM_FAULT_MISALIGNED, lane, at,
                        "atomic of %u bytes at 0x%llx", nbytes,
                        (unsigned long long)at);
        return false;
    }
    if (space == SPACE_SCRATCH)
        return update_scratch(w, at, nbytes, data, compare, fn, lane, old);
    bytes = whole(w, space, at, nbytes, ACCESS_ATOMIC, lane);
    if (!bytes)
        return false;
    if (w->target->drops_fine_atomics && space == SPACE_GLOBAL &&
        is_float(fn) && w->last_hit[1]->fine_grained) {
        *old = 0;
        return !w->run->config.dropped || report_dropped(w, at, lane);
    }
    *old = nbytes == 8 ? update64(bytes, data, compare, fn)
                       : update32(bytes, data, compare, fn);
    return true;
}

bool sim_scalar_atomic(struct wave *w, uint64_t addr, unsigned nbytes,
                       uint64_t data, uint64_t compare, atomic_fn *fn,
                       uint64_t *old)
{
    return update(w, SPACE_GLOBAL, addr, -1, nbytes, data, compare, fn, old);
}

/* Atomics on aligned values in one allocation, without checks per lane. False
 * if the lanes need such checks. */
static bool fast_atomic(const struct wave *w, const struct places *p,
                        const struct extent *e, vreg *from, unsigned nbytes,
                        bool has_compare, atomic_fn *fn, uint64_t *old)
{
    uint64_t base, unaligned = 0;
    uint8_t *bytes;

    if (p->space != SPACE_GLOBAL || w->target->drops_fine_atomics)
        return false;
    bytes = common_base(w, p, e, nbytes, ACCESS_ATOMIC, &base);
    for (uint64_t m = p->lanes; m; m &= m - 1)
        unaligned |= p->at[__builtin_ctzll(m)] & (nbytes - 1);
    if (!bytes || unaligned)
        return false;
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint8_t *const at = bytes + (p->at[lane] - base);
        const uint64_t data = reg_value(from, 0, lane, nbytes);
        const uint64_t compare =
            has_compare ? reg_value(from, nbytes / 4, lane, nbytes) : 0;

        old[lane] = nbytes == 8 ? update64(at, data, compare, fn)
                                : update32(at, data, compare, fn);
    }
    return true;
}

/* The caches' adders of f32 flush denormals before gfx940 and on gfx10, 11. */
static atomic_fn *as_caches_do(const struct sim_target *t, atomic_fn *fn)
{
    bool keeps = t->major >= 12 || (t->major == 9 && t->minor >= 4);

    return fn == sim_atomic_fadd32 && !keeps ? sim_atomic_fadd32_flush : fn;
}

static void put_old(struct wave *w, const struct operand *dst, unsigned nbytes,
                    const uint64_t old[MAX_LANES])
{
    for (uint64_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);

        (*tuple_reg(w, dst, 0))[lane] = (uint32_t)old[lane];
        if (nbytes == 8)
            (*tuple_reg(w, dst, 1))[lane] = (uint32_t)(old[lane] >> 32);
    }
}

static void perform_atomic(struct wave *w, const struct memory_op *op)
{
    const unsigned nbytes = op->form.nbytes;
    uint64_t old[MAX_LANES] = {0};

    for (uint64_t m = op->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);
        uint8_t *at = op->at[lane];

        sim_memory_open(w, op->memory, at, nbytes, true);
        old[lane] =
            nbytes == 8
                ? update64(at, op->data[lane], op->compare[lane], op->fn)
                : update32(at, op->data[lane], op->compare[lane], op->fn);
        sim_stale_note(w, at, nbytes, at);
    }
    if (op->returns)
        put_old(w, &op->dst, nbytes, old);
}

/* Defers an atomic; false if it may not be deferred, or has faulted. */
static bool atomic_later(struct wave *w, const struct places *p,
                         const struct operand *dst, vreg *from, unsigned nbytes,
                         bool has_compare, atomic_fn *fn)
{
    struct memory_op op;

    for (uint64_t m = p->lanes; m; m &= m - 1)
        if (p->at[__builtin_ctzll(m)] & (nbytes - 1))
            return false;
    if (!locate(w, p, nbytes, ACCESS_ATOMIC, &op) ||
        (w->target->drops_fine_atomics && op.memory->fine_grained))
        return false;
    op.perform = perform_atomic;
    op.writes = true;
    op.fn = fn;
    op.returns = dst != NULL;
    if (dst)
        op.dst = *dst;
    for (uint64_t m = p->lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);

        op.data[lane] = reg_value(from, 0, lane, nbytes);
        if (has_compare)
            op.compare[lane] = reg_value(from, nbytes / 4, lane, nbytes);
    }
    sim_memory_keep(w, &op);
    return true;
}

void sim_vmem_atomic(struct wave *w, const struct places *p,
                     const struct operand *dst, const struct operand *data,
                     unsigned nbytes, bool has_compare, atomic_fn *fn)
{
    vreg *from = tuple_reg(w, data, 0);
    uint64_t old[MAX_LANES] = {0};
    const struct extent e = extent_of(w, p, nbytes);

    fn = as_caches_do(w->target, fn);
    count(w, p, nbytes, dst ? WORK_ATOMIC_RETURNS : WORK_ATOMIC, &e);
    if (atomic_later(w, p, dst, from, nbytes, has_compare, fn))
        return;
    const bool done =
        p->lanes && fast_atomic(w, p, &e, from, nbytes, has_compare, fn, old);
    for (uint64_t m = done ? 0 : p->lanes; m; m &= m - 1) {
        int lane = __builtin_ctzll(m);
        uint64_t compare =
            has_compare ? reg_value(from, nbytes / 4, lane, nbytes) : 0;

        if (!update(w, p->space, p->at[lane], lane, nbytes,
                    reg_value(from, 0, lane, nbytes), compare, fn, &old[lane]))
            return;
    }
    if (dst)
        put_old(w, dst, nbytes, old);
}
