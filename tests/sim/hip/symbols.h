/* symbols.h - functions by name */
#ifndef SIM_HIP_SYMBOLS_H
#define SIM_HIP_SYMBOLS_H

/* The exported function of that name, NULL if there is none. */
void *function_by_name(const char *name);

#endif
