/* bounds_launch.h - launches that shapes_launch.c has no family for */
#ifndef BENCH_SIM_BOUNDS_LAUNCH_H
#define BENCH_SIM_BOUNDS_LAUNCH_H

#include "../gpu/shapes.h"

/* Rows of bounds.csv with these kernels and this layout are launched by
 * prepare(); NULL if the families of shapes_launch.c do it. */
const struct shape_family *bounds_family_of(const struct shape *shape);

#endif
