/* basic_block.c - cuts decoded code into blocks */
#include "basic_block.h"
#include "decode.h"
#include "hint.h"
#include "insn_rows.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INSNS = 64 }; /* the default slice takes whole blocks */

static bool is_last(const struct insn *in)
{
    if (in->run == sim_run_nothing)
        return false;
    return in->class == CLASS_BRANCH || in->class == CLASS_OTHER ||
           (in->row->flags & ROW_SETS_MODE);
}

static bool is_quiet(const struct insn *in)
{
    if (!in->row || !(in->row->flags & ROW_QUIET)) /* illegal: no row */
        return false;
    for (unsigned k = 0; k < in->nops; k++)
        if (in->op[k].kind == OPERAND_SPECIAL)
            return false;
    return true;
}

static void add(struct block *b, const struct insn *in)
{
    b->count[in->class]++;
    b->ninsns++;
    if (in->nvgprs > b->nvgprs)
        b->nvgprs = in->nvgprs;
    if (in->nagprs > b->nagprs)
        b->nagprs = in->nagprs;
    if (in->run != sim_run_nothing)
        b->steps[b->nsteps++] =
            (struct step){in->run, in, (uint32_t)(b->end - b->begin),
                          is_quiet(in), sim_class_on_lanes(in->class)};
    b->end += in->size;
}

static struct block *make(struct sim_code *code, uint64_t pc,
                          unsigned wave_size)
{
    const struct insn *in = NULL;
    struct block *b, *fitted;

    b = calloc(1, sizeof(*b) + MAX_INSNS * sizeof(b->steps[0]));
    if (!b)
        return NULL;
    b->begin = b->end = pc;
    do {
        in = sim_decode(code, b->end, wave_size);
        if (!in)
            break;
        add(b, in);
    } while (b->ninsns < MAX_INSNS && !is_last(in) &&
             b->end - code->base < code->size);
    if (!in) {
        free(b);
        return NULL;
    }
    fitted = realloc(b, sizeof(*b) + b->nsteps * sizeof(b->steps[0]));
    return fitted ? fitted : b;
}

const struct block *sim_block_at(struct sim_code *code, uint64_t pc,
                                 unsigned wave_size)
{
    _Atomic(struct block *) *slot =
        &code->block[wave_size == 32][(pc - code->base) / 4];
    struct block *b = atomic_load_explicit(slot, memory_order_acquire);
    struct block *made;

    if (b)
        return b;
    made = make(code, pc, wave_size);
    if (!made)
        return NULL;
    /* Another thread may have been first. */
    if (!atomic_compare_exchange_strong(slot, &b, made)) {
        free(made);
        return b;
    }
    made->older = atomic_load(&code->newest);
    while (!atomic_compare_exchange_weak(&code->newest, &made->older, made))
        ;
    return made;
}

void sim_blocks_free(struct sim_code *code)
{
    struct block *b = atomic_exchange(&code->newest, NULL);

    while (b) {
        struct block *const older = b->older;

        free(b);
        b = older;
    }
    for (int s = 0; s < 2; s++) {
        free(code->block[s]);
        code->block[s] = NULL;
    }
}
