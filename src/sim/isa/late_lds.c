/* late_lds.c - LDS operations of a wave that LDS performs later */
#include "late_lds.h"

#include "late_memory.h"
#include "mode.h"

enum { TURNS_MOST = 8 };

static struct late_op *op_of(struct late *l, uint64_t number)
{
    return &l->op[number % LATE_OPS];
}

/* ---- registers ---- */

static vreg *register_of(struct wave *w, const struct operand *o, unsigned k)
{
    return o->kind == OPERAND_VGPR   ? &w->v[o->reg + k]
           : o->kind == OPERAND_AGPR ? &w->a[o->reg + k]
                                     : NULL;
}

/* The vector registers that an instruction reads; how many. */
static unsigned sources(struct wave *w, const struct insn *in,
                        vreg *out[LATE_REGISTERS])
{
    unsigned n = 0;

    for (unsigned k = in->waits.first_read; k < in->nops; k++)
        for (unsigned i = 0; i < (in->op[k].width ? in->op[k].width : 1u);
             i++) {
            vreg *r = register_of(w, &in->op[k], i);

            if (r && n < LATE_REGISTERS)
                out[n++] = r;
        }
    return n;
}

/* The lanes of a register that an instruction's result has. */
static uint64_t lanes_written(struct wave *w, const struct insn *in,
                              const vreg *r, uint64_t mask)
{
    const struct operand *o = &in->op[0];

    if (!in->waits.returns)
        return 0;
    for (unsigned i = 0; i < (o->width ? o->width : 1u); i++)
        if (register_of(w, o, i) == r)
            return mask;
    return 0;
}

static void copy_lanes(vreg *to, vreg *from, uint64_t lanes)
{
    for (uint64_t m = lanes; m; m &= m - 1) {
        const int lane = __builtin_ctzll(m);

        (*to)[lane] = (*from)[lane];
    }
}

/* ---- performing ---- */

static void perform_oldest(struct wave *w)
{
    struct late_op *op = op_of(w->late, w->late->performed++);
    const struct insn *in = w->insn;
    const uint64_t pc = w->insn_pc, mask = w->mask;
    const uint32_t m0 = w->s[SREG_M0];
    vreg now[LATE_REGISTERS], *r[LATE_REGISTERS];
    const unsigned n = sources(w, op->insn, r);

    for (unsigned k = 0; k < n; k++) {
        memcpy(now[k], *r[k], sizeof(vreg));
        memcpy(*r[k], op->kept[k], sizeof(vreg));
    }
    w->insn = op->insn;
    w->insn_pc = op->pc;
    w->mask = op->mask;
    w->s[SREG_M0] = op->m0;
    if (!w->fp_default && w->insn->fp && w->insn->fp != w->fp_now)
        sim_mode_obey(w, (enum fp_rule)w->insn->fp);
    op->insn->run(w, op->insn);
    w->insn = in;
    w->insn_pc = pc;
    w->mask = mask;
    w->s[SREG_M0] = m0;
    for (unsigned k = n; k-- > 0;) /* a register may be there twice */
        copy_lanes(r[k], &now[k],
                   w->full & ~lanes_written(w, op->insn, r[k], op->mask));
}

void sim_late_perform(struct wave *w, uint64_t number)
{
    struct late *l = w->late;

    while (l->performed < number && l->performed < l->issued &&
           w->state != WAVE_FAULTED)
        perform_oldest(w);
}

static void move_oldest(struct wave *w)
{
    struct late_move *f = &w->late->move[w->late->moved++ % LATE_MOVES];
    const struct insn *in = w->insn;
    const uint64_t pc = w->insn_pc, mask = w->mask;
    const uint64_t serial = w->memory ? w->memory->serial : 0;

    w->insn = f->insn;
    w->insn_pc = f->pc;
    w->mask = f->places.lanes;
    if (w->memory)
        w->memory->serial = f->serial;
    f->move(w, &f->places, f->nbytes, f->values);
    if (w->memory)
        w->memory->serial = serial;
    w->insn = in;
    w->insn_pc = pc;
    w->mask = mask;
}

void sim_late_move(struct wave *w, uint64_t number)
{
    struct late *l = w->late;

    while (l->moved < number && l->moved < l->moves && w->state != WAVE_FAULTED)
        move_oldest(w);
}

void sim_late_keep(struct wave *w, const struct places *places, unsigned nbytes,
                   const vreg values[4], late_move_fn *move)
{
    struct late *l = w->late;
    struct late_move *f;

    if (l->moves - l->moved == LATE_MOVES)
        sim_late_move(w, l->moved + 1);
    f = &l->move[l->moves++ % LATE_MOVES];
    f->insn = w->insn;
    f->pc = w->insn_pc;
    f->serial = w->memory ? w->memory->serial : 0;
    f->places = *places;
    f->nbytes = nbytes;
    f->move = move;
    memcpy(f->values, values, sizeof(f->values));
}

/* Whether all lanes of a FLAT instruction go to LDS, by vector addresses. */
static bool goes_to_lds(struct wave *w, const struct insn *in)
{
    const struct operand *at = &in->op[in->waits.returns];
    const vreg *high;

    for (unsigned k = 0; k < in->nops; k++)
        if (in->op[k].kind == OPERAND_SGPR && in->op[k].reg != SREG_NULL)
            return false;
    if (at->kind != OPERAND_VGPR)
        return false;
    high = &w->v[at->reg + 1];
    for (uint64_t m = w->mask; m; m &= m - 1)
        if ((*high)[__builtin_ctzll(m)] != SHARED_BASE >> 32)
            return false;
    return true;
}

bool sim_late_takes(struct wave *w, const struct insn *in)
{
    struct late *l = w->late;
    struct late_op *op;
    vreg *r[LATE_REGISTERS];
    unsigned n;
    const bool takes = in->waits.lds == LDS_LATE ||
                       (in->waits.lds == LDS_BY_ADDRESS && goes_to_lds(w, in));

    if (!takes &&
        (in->waits.lds == LDS_AT_ONCE || in->waits.lds == LDS_BY_ADDRESS))
        sim_late_perform(w, l->issued);
    if (!takes)
        return w->state == WAVE_FAULTED; /* which runs no further */
    if (l->issued - l->performed == LATE_OPS)
        sim_late_perform(w, l->performed + 1);
    op = op_of(l, l->issued++);
    op->insn = in;
    op->pc = w->insn_pc;
    op->mask = w->mask;
    op->m0 = w->s[SREG_M0];
    n = sources(w, in, r);
    for (unsigned k = 0; k < n; k++)
        memcpy(op->kept[k], *r[k], sizeof(vreg));
    return true;
}

/* ---- chance ---- */

/* True once in `of` times. */
static bool chance(struct wave *w, unsigned of)
{
    struct late *l = w->late;

    if (l->random == 0)
        l->random = (w->run->config.weak + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                    (w->group->index << 10) + w->index;
    l->random = l->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (l->random >> 33) % of == 0;
}

void sim_late_step(struct wave *w)
{
    static const unsigned of[] = {2, 8, 64};
    const uint64_t seed = w->run->config.weak;
    const struct late *l = w->late;

    if (seed && l->performed < l->issued && chance(w, of[seed % 3]))
        sim_late_perform(w, l->performed + 1);
    if (seed && l->moved < l->moves && chance(w, of[seed % 3]))
        sim_late_move(w, l->moved + 1);
}

void sim_late_turn(struct wave *w)
{
    struct late *l = w->late;

    if (l->performed == l->issued && l->moved == l->moves) {
        l->turns = 0;
        return;
    }
    if (++l->turns >= TURNS_MOST || w->group->nended == w->group->nwaves) {
        sim_late_perform(w, l->issued);
        sim_late_move(w, l->moves);
    } else if (w->run->config.weak && chance(w, 2)) {
        sim_late_perform(w, l->performed + 1);
        sim_late_move(w, l->moved + 1);
    }
}
