/* hint.c - waits, hints and other instructions without effect here */
#include "hint.h"

void sim_run_nothing(struct wave *w, const struct insn *in)
{
    (void)w;
    (void)in;
}
