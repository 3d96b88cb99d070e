/* functions.h - the list of HIP's functions, asked */
#ifndef SIM_HIP_FUNCTIONS_H
#define SIM_HIP_FUNCTIONS_H

#include <stdint.h>

/* An exported function; NULL without such a function. */
void *function_by_name(const char *name);

/* The function that profilers know by that number; NULL if none. */
const char *function_name_of_id(uint32_t id);

/* Whether a call is refused while streams are captured; functions.def explains
 * the values. */
enum {
    REFUSES_NOTHING = 0,
    REFUSES_UNSAFE = 1,
    REFUSES_SETTING = 2,
    REFUSES_BLOCKING = 4,
    REFUSES_WAITING = 8
};
unsigned function_refusal(const char *name, int release);

#endif
