/* swap_loop.c - recognizes loads in front of compare-and-swap loops
 *
 * The loaded value is tracked through copies in registers and, in unoptimized
 * code, on the stack, up to the compare-and-swap.
 */
#include "swap_loop.h"

#include "decode.h"
#include "wave.h"

#include <string.h>

/* The most instructions to follow, and the most places with the value. */
enum { FAR = 64, COPIES = 8 };

/* A register; or a dword of the stack, with kind OPERAND_OFF and its offset. */
struct place {
    uint8_t kind;
    int32_t at;
};
struct copies {
    struct place place[COPIES];
    unsigned n;
};

static bool has(const struct copies *c, struct place p)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->place[i].kind == p.kind && c->place[i].at == p.at)
            return true;
    return false;
}

/* Records that a place is written, with the tracked value or another one. */
static void set(struct copies *c, struct place p, bool value)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->place[i].kind == p.kind && c->place[i].at == p.at)
            c->place[i--] = c->place[--c->n];
    if (value && c->n < COPIES)
        c->place[c->n++] = p;
}

static int32_t width_of(const struct operand *o)
{
    return o->width ? o->width : 1;
}

static struct place dword_of(const struct operand *o, int32_t k)
{
    return (struct place){o->kind, o->reg + k};
}

static struct place stack_of(const struct insn *in, int32_t k)
{
    return (struct place){OPERAND_OFF, in->offset + 4 * k};
}

static bool is_stack(const struct insn *in)
{
    const char *name = in->row->name;

    return (strncmp(name, "scratch_", 8) == 0 ||
            strncmp(name, "buffer_", 7) == 0) &&
           (in->op[0].kind == OPERAND_OFF || in->op[1].kind == OPERAND_OFF);
}

static bool is_move(const char *name)
{
    return strncmp(name, "v_mov_b", 7) == 0 ||
           strncmp(name, "s_mov_b", 7) == 0 ||
           strncmp(name, "v_accvgpr_", 10) == 0 ||
           strcmp(name, "v_dual_mov_b32") == 0;
}

static void follow(struct copies *c, const struct insn *in)
{
    const bool stores = in->row->flags & ROW_NO_DST;
    const bool stack = is_stack(in), moves = is_move(in->row->name);
    const struct operand *data = &in->op[in->op[0].kind == OPERAND_OFF];

    for (int32_t k = 0; stack && stores && k < width_of(data); k++)
        set(c, stack_of(in, k), has(c, dword_of(data, k)));
    for (int32_t k = 0; !stores && k < width_of(&in->op[0]); k++)
        set(c, dword_of(&in->op[0], k),
            stack   ? has(c, stack_of(in, k))
            : moves ? has(c, dword_of(&in->op[1], k))
                    : false);
    if (in->pair)
        follow(c, in->pair);
}

/* A load's or an atomic's operand that has the address's VGPRs, and what a
 * compare-and-swap compares, behind what it stores. */
static const struct operand *address_of(const struct insn *in)
{
    const bool buffer = strncmp(in->row->name, "buffer_", 7) == 0;

    return &in->op[buffer || in->waits.returns];
}

static struct place compared_by(const struct insn *in)
{
    const bool buffer = strncmp(in->row->name, "buffer_", 7) == 0;
    const struct operand *data = &in->op[buffer ? 0 : 1 + in->waits.returns];

    return dword_of(data, width_of(data) / 2);
}

static bool overlap(const struct operand *a, const struct operand *b)
{
    return a->kind == b->kind && a->reg < b->reg + width_of(b) &&
           b->reg < a->reg + width_of(a);
}

static bool follows(const struct wave *w)
{
    const struct insn *load = w->insn, *in = load;
    const struct operand *at = address_of(load);
    struct copies copies = {.n = 0};
    uint64_t pc = w->insn_pc;
    bool moved = false; /* the address's registers were overwritten */

    if (load->row->flags & ROW_NO_DST)
        return false;
    set(&copies, dword_of(&load->op[0], 0), true);
    for (unsigned i = 0; i < FAR; i++) {
        moved = moved ||
                (!(in->row->flags & ROW_NO_DST) && overlap(&in->op[0], at));
        pc += in->size;
        in = pc - w->code->base < w->code->size
                 ? sim_decode(w->code, pc, w->nlanes)
                 : NULL;
        if (!in || !in->row)
            return false;
        if (strstr(in->row->name, "_cmpswap")) {
            const struct operand *its = address_of(in);

            return has(&copies, compared_by(in)) &&
                   (moved || its->kind != at->kind || its->reg != at->reg ||
                    in->offset == load->offset);
        }
        follow(&copies, in);
    }
    return false;
}

bool sim_swap_loop_follows(struct wave *w)
{
    const size_t n = sizeof(w->swap_loop) / sizeof(*w->swap_loop);
    struct swap_loop *s = &w->swap_loop[w->insn_pc / 4 % n];

    if (s->load_pc != w->insn_pc) {
        s->load_pc = w->insn_pc;
        s->follows = follows(w);
    }
    return s->follows;
}
