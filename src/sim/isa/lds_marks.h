/* lds_marks.h - detects races between waves of a workgroup in LDS
 *
 * A unit of LDS has a mark of 32 bits: the last wave that wrote the unit and
 * the last that read it since the last barrier, and the barrier's number, the
 * epoch. Two waves race if both access a unit in one epoch and one writes: the
 * order of the two accesses is then undefined.
 *
 * With KPK_SIM_RACES=1 a unit is a byte, and a race is a fault. Without it a
 * unit is a dword, a race is a warning, smaller accesses are not checked, an
 * LDS atomic of any wave begins a new epoch, and only some groups of a launch
 * have marks.
 */
#ifndef SIM_ISA_LDS_MARKS_H
#define SIM_ISA_LDS_MARKS_H

#include "lane_places.h"

/* Size of the marks of a workgroup of this launch, 0 without marks. */
uint64_t sim_lds_marks_nbytes(const struct run *run);

/* Begins an epoch at a barrier: accesses before and after it do not race. */
void sim_lds_new_epoch(struct group *g);

/* Checks one access with KPK_SIM_RACES=1; false if it raised a fault. */
bool sim_lds_check_race(struct wave *w, uint32_t offset, unsigned n,
                        enum access how, int lane);

/* Checks all accesses of an instruction, without KPK_SIM_RACES. All places lie
 * in LDS. `stores` are a store's registers, because a store that changes no
 * byte does not race. */
void sim_lds_watch(struct wave *w, const struct places *p, unsigned nbytes,
                   bool side_by_side, const vreg *stores);

#endif
