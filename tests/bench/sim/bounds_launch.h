/* bounds_launch.h - families of launches that shapes_launch.c lacks */
#ifndef BENCH_SIM_BOUNDS_LAUNCH_H
#define BENCH_SIM_BOUNDS_LAUNCH_H

#include "../gpu/shapes.h"

/* The family of a row of bounds.csv, by its kernel and layout; NULL if the row
 * belongs to a family of shapes_launch.c. */
const struct shape_family *bounds_family_of(const struct shape *shape);

#endif
