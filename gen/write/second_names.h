/* second_names.h - gives kernels of a code object second names */
#ifndef KPK_GEN_SECOND_NAMES_H
#define KPK_GEN_SECOND_NAMES_H

#include <stdbool.h>
#include <stdio.h>

#include "read/csv.h"

#define SECOND_NAMES_ERROR_MAX 1024

/*
 * second_names_write() writes a relocatable object, not linked yet, whose
 * kernels have the second names that rules give them (alias.h): the same code
 * and descriptor under two more symbols (ALIAS and ALIAS.kd), and a second
 * entry in the metadata, by which HIP and kpack-gen find kernels.
 *
 *   path    the object
 *   rules   aliases.csv
 *   error   the fault, as `FILE: what`, if it returns false
 *
 * A second name is an error if another kernel has it, or if two rules make it.
 */
bool second_names_write(FILE *f, const char *path, const char *module,
                        const struct csv *rules,
                        char error[SECOND_NAMES_ERROR_MAX]);

#endif
