/* symbols.h - functions by name */
#ifndef SIM_HIP_SYMBOLS_H
#define SIM_HIP_SYMBOLS_H

/* Looks an exported function up by name; NULL without such a function. */
void *function_by_name(const char *name);

#endif
