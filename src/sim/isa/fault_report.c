/* fault_report.c - the report of what a wave did wrong */
#include "fault_report.h"

#include "code.h"
#include "disassemble.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const kind_names[] = {
    [SIM_FAULT_NONE] = "no fault",
    [SIM_FAULT_MEMORY] = "memory access fault",
    [SIM_FAULT_USE_AFTER_FREE] = "use after free",
    [SIM_FAULT_READONLY] = "write to read-only memory",
    [SIM_FAULT_MISALIGNED] = "misaligned access",
    [SIM_FAULT_LDS] = "access outside LDS",
    [SIM_FAULT_SCRATCH] = "access outside scratch",
    [SIM_FAULT_UNINITIALISED] = "read of memory never written",
    [SIM_FAULT_RACE] = "data race in LDS",
    [SIM_FAULT_GROUP_RACE] = "data race between workgroups",
    [SIM_FAULT_BARRIER] = "barrier divergence",
    [SIM_FAULT_BUDGET] = "endless loop",
    [SIM_FAULT_UNKNOWN_INSN] = "unknown instruction",
    [SIM_FAULT_ILLEGAL_INSN] = "illegal instruction",
    [SIM_FAULT_TRAP] = "trap",
    [SIM_FAULT_UNWAITED] = "missing wait",
    [SIM_FAULT_STALE] = "stale read",
    [SIM_FAULT_DROPPED] = "dropped operation",
    [SIM_FAULT_DESCRIPTOR] = "bad descriptor",
};

/* The instruction's text on one line, as a reader would write it. */
static void instruction_text(struct wave *w, char text[200])
{
    char *p = text;

    if (!w->code || !w->insn ||
        sim_disassemble(w->code, w->insn_pc, w->nlanes, text, 200) == 0) {
        snprintf(text, 200, "?");
        return;
    }
    while (*p == '\t' || *p == ' ')
        p++;
    memmove(text, p, strlen(p) + 1);
    for (p = text; *p; p++)
        if (*p == '\t')
            *p = ' ';
}

/* KIND in kernel 'NAME' at +OFFSET 'INSTRUCTION', workgroup, wave, lane: WHAT
 */
static void describe(struct wave *w, enum sim_fault_kind kind, int lane,
                     const char *what, char *to, size_t size)
{
    const uint32_t *id = w->group->id;
    const char *kernel = w->run->dispatch->kernel_name;
    char text[200], where[64] = "";

    instruction_text(w, text);
    if (lane >= 0)
        snprintf(where, sizeof(where), ", lane %d", lane);
    snprintf(to, size,
             "%s in kernel '%s' at +0x%llx '%.120s', workgroup (%u,%u,%u), "
             "wave %u%s: %s",
             kind_names[kind], kernel ? kernel : "?",
             (unsigned long long)(w->insn_pc - w->run->entry), text, id[0],
             id[1], id[2], w->index, where, what);
}

void sim_fault_raise(struct wave *w, enum sim_fault_kind kind, int lane,
                     uint64_t address, const char *format, ...)
{
    struct group *g = w->group;
    struct sim_fault *f = &g->fault;
    char what[256];
    va_list args;

    w->state = WAVE_FAULTED;
    if (g->faulted)
        return;
    g->faulted = true;
    f->kind = kind;
    f->pc = w->insn_pc - w->run->entry;
    f->address = address;
    memcpy(f->workgroup, g->id, sizeof(f->workgroup));
    f->wave = w->index;
    f->lane = lane;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    describe(w, kind, lane, what, f->text, sizeof(f->text));
}

/* ---- warnings ---- */

static pthread_mutex_t warning_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_warning[1024];

bool sim_warned(const struct wave *w, enum sim_fault_kind kind)
{
    return w->code &&
           atomic_load_explicit(&w->code->warned, memory_order_relaxed) >>
                   kind &
               1;
}

void sim_warn(struct wave *w, enum sim_fault_kind kind, int lane,
              const char *format, ...)
{
    char what[512];
    va_list args;

    if (!w->code || atomic_fetch_or(&w->code->warned, 1u << kind) >> kind & 1)
        return;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    pthread_mutex_lock(&warning_lock);
    describe(w, kind, lane, what, last_warning, sizeof(last_warning));
    fprintf(stderr, "kpk-sim: warning: %s\n", last_warning);
    pthread_mutex_unlock(&warning_lock);
}

const char *sim_last_warning(void)
{
    return last_warning;
}

void sim_forget_warning(void)
{
    last_warning[0] = 0;
}
