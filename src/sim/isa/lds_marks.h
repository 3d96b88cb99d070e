/* lds_marks.h - waves of a workgroup that touch LDS between the same barriers
 *
 * A unit of LDS has a mark of 32 bits: the last wave that wrote it and the last
 * that read it since the last barrier, and the barrier's number, the epoch. Two
 * waves race if they touch a unit in one epoch and one of them writes: chance
 * decides the order of the two accesses.
 *
 * With KPK_SIM_RACES=1 a unit is a byte, and a race is a fault. Without it a
 * unit is a dword, accesses of less are not watched, an LDS atomic of any wave
 * begins a new epoch, a race is a warning, and only some groups of a launch
 * have marks.
 */
#ifndef SIM_ISA_LDS_MARKS_H
#define SIM_ISA_LDS_MARKS_H

#include "lane_places.h"

/* Bytes that the marks of a workgroup of this launch take, 0 without marks. */
uint64_t sim_lds_marks_nbytes(const struct run *run);

/* A barrier: accesses before it and after it do not race. */
void sim_lds_new_epoch(struct group *g);

/* One access with KPK_SIM_RACES=1; false if it raised a fault. */
bool sim_lds_check_race(struct wave *w, uint32_t offset, unsigned n,
                        enum access how, int lane);

/* All accesses of an instruction, without KPK_SIM_RACES. All places lie in LDS.
 * `stores` are the registers of a store: a store that changes nothing does not
 * race. */
void sim_lds_watch(struct wave *w, const struct places *p, unsigned nbytes,
                   bool side_by_side, const vreg *stores);

#endif
