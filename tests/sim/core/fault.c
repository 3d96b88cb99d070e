/* fault.c - the report of what a wave did wrong */
#include "../isa/decode.h"
#include "../isa/wave.h"

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

void sim_fault_raise(struct wave *w, enum sim_fault_kind kind, int lane,
                     uint64_t address, const char *format, ...)
{
    struct group *g = w->group;
    struct sim_fault *f = &g->fault;
    const char *kernel = w->run->dispatch->kernel_name;
    char text[200], what[256], where[64] = "";
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
    instruction_text(w, text);
    if (lane >= 0)
        snprintf(where, sizeof(where), ", lane %d", lane);
    snprintf(
        f->text, sizeof(f->text),
        "%s in kernel '%s' at +0x%llx '%.120s', workgroup (%u,%u,%u), wave "
        "%u%s: %s",
        kind_names[kind], kernel ? kernel : "?", (unsigned long long)f->pc,
        text, g->id[0], g->id[1], g->id[2], w->index, where, what);
}
