/* gws.c - global wave sync: barriers and semaphores that all workgroups of a
 * queue share
 *
 * A cooperative launch gives its dispatch 64 resources. A barrier counts down
 * the waves that come; the one that finds zero turns the flag over, which lets
 * the others go, and sets the counter for the next round from its own operand
 * (AMD's ISA documents, DS_GWS_*). A wave that waits is asked again each time
 * its turn comes, so that the groups it waits for can run.
 */
#include "../base/group_races.h"
#include "fault_report.h"
#include "insn_rows.h"
#include "matrix_unit.h"

#include <pthread.h>

/* Held for a few instructions of a few waves: one for all dispatches. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sim_gws_resource *resource_of(struct wave *w,
                                            const struct insn *in)
{
    struct sim_gws *gws = w->run->dispatch->gws;

    if (!gws) {
        sim_fault_raise(w, SIM_FAULT_ILLEGAL_INSN, -1, 0,
                        "global wave sync is for cooperative launches");
        return NULL;
    }
    return &gws->resource[((w->s[SREG_M0] >> 16) + (uint32_t)in->offset) %
                          SIM_GWS_RESOURCES];
}

/* The value of the data register in the first active lane. */
static int32_t value_of(struct wave *w, const struct insn *in)
{
    return w->mask
               ? (int32_t)sim_tuple_element(
                     w, &in->op[0], (unsigned)__builtin_ctzll(w->mask), 0, 32)
               : 0;
}

static void ask_again(struct wave *w)
{
    w->pc = w->insn_pc;
    w->state = WAVE_YIELDS;
}

static void run_ds_gws_init(struct wave *w, const struct insn *in)
{
    struct sim_gws_resource *r = resource_of(w, in);

    if (!r)
        return;
    pthread_mutex_lock(&lock);
    r->counter = value_of(w, in);
    r->flag = false;
    pthread_mutex_unlock(&lock);
}

static void run_ds_gws_barrier(struct wave *w, const struct insn *in)
{
    struct sim_gws_resource *r = resource_of(w, in);

    if (!r)
        return;
    if (w->run->races) /* on arrival and on release */
        sim_races_meet(w->run->races, w->group->index);
    pthread_mutex_lock(&lock);
    if (!w->gws_waits) {
        w->gws_waits = true;
        w->gws_flag = r->flag;
        if (r->counter <= 0) {
            r->flag = !r->flag;
            r->counter = value_of(w, in);
        } else {
            r->counter--;
        }
    }
    if (r->flag == w->gws_flag)
        ask_again(w);
    else
        w->gws_waits = false;
    pthread_mutex_unlock(&lock);
}

static void raise_semaphore(struct wave *w, const struct insn *in, int32_t by)
{
    struct sim_gws_resource *r = resource_of(w, in);

    if (!r)
        return;
    pthread_mutex_lock(&lock);
    r->counter += by;
    pthread_mutex_unlock(&lock);
}

static void run_ds_gws_sema_v(struct wave *w, const struct insn *in)
{
    raise_semaphore(w, in, 1);
}

static void run_ds_gws_sema_br(struct wave *w, const struct insn *in)
{
    raise_semaphore(w, in, value_of(w, in));
}

static void run_ds_gws_sema_p(struct wave *w, const struct insn *in)
{
    struct sim_gws_resource *r = resource_of(w, in);

    if (!r)
        return;
    pthread_mutex_lock(&lock);
    if (r->counter > 0)
        r->counter--;
    else
        ask_again(w);
    pthread_mutex_unlock(&lock);
}

#define GWS_TYPES                                                              \
    {                                                                          \
        T_tuple                                                                \
    }
/* clang-format off */
static const struct insn_row rows[] = {
    {"ds_gws_init",    run_ds_gws_init,    CLASS_OTHER, GWS_TYPES, ROW_NO_DST},
    {"ds_gws_barrier", run_ds_gws_barrier, CLASS_OTHER, GWS_TYPES, ROW_NO_DST},
    {"ds_gws_sema_v",  run_ds_gws_sema_v,  CLASS_OTHER, GWS_TYPES, ROW_NO_DST},
    {"ds_gws_sema_br", run_ds_gws_sema_br, CLASS_OTHER, GWS_TYPES, ROW_NO_DST},
    {"ds_gws_sema_p",  run_ds_gws_sema_p,  CLASS_OTHER, GWS_TYPES, ROW_NO_DST},
};
/* clang-format on */

ROW_SET_NO_ALIASES(gws, rows);
