/* shape.h - the launch shapes of an instance's kernels */
#ifndef KPK_SHAPE_H
#define KPK_SHAPE_H

#include "instance.h"

#pragma GCC visibility push(hidden)

/* Finds which rows of launch shapes are for the slot's kernels on the device.
 * The slot has a code object. */
void kpk_i_find_shapes(struct kpk_i_slot *slot, const char *device);

#pragma GCC visibility pop

#endif
