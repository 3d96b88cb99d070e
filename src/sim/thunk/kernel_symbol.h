/* kernel_symbol.h - a kernel's name */
#ifndef SIM_THUNK_KERNEL_SYMBOL_H
#define SIM_THUNK_KERNEL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The name of the kernel whose descriptor lies at `descriptor`, from the ELF
 * image around it. False, and an empty name, if there is none.
 */
bool thunk_kernel_name(uint64_t descriptor, char *name, size_t nname);

#endif
