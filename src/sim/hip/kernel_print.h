/* kernel_print.h - the texts of kernels, from format and arguments */
#ifndef SIM_HIP_KERNEL_PRINT_H
#define SIM_HIP_KERNEL_PRINT_H

#include "process_state.h"

#include "../base/loaded_object.h"

#include <stdio.h>

/* The rest of a text's arguments; the word at `end` is 0. */
struct print_args {
    const uint64_t *at, *end;
};

uint64_t print_take(struct print_args *args);
/* Texts fill up whole words. */
const char *print_take_text(struct print_args *args);

/* Returns what printf() would. */
int print_format(FILE *to, const char *format, struct print_args *args);

/*
 * For hidden_printf_buffer: kernels compiled with -mprintf-kind=buffered leave
 * records there, which are printed when the kernel has ended. 0: no memory.
 */
uint64_t print_buffer_new(const struct device *device);
void print_buffer_flush(uint64_t buffer, const struct sim_code_object *object);

#endif
