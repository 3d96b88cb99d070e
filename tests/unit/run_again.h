/* run_again.h - the running test starts anew, with other words */
#ifndef RUN_AGAIN_H
#define RUN_AGAIN_H

/* In a child of fork(): becomes the running program, its words NULL at the end.
 * An emulator that runs it, RUN_BY in the environment, runs it again. Ends with
 * status 127 if there is no such program. */
_Noreturn void run_again(const char *const *words);

#endif
