/* test_pack.h - a small pack with every kind of table row, for unit tests
 *
 * Its code objects are bare ELF headers: the fake HIP looks no further. The
 * tables are written by hand against kpack/format.h, apart from the generator.
 */
#ifndef TEST_PACK_H
#define TEST_PACK_H

#include "kpack.h"

/* Modules alpha and beta, see test_pack.c. */
extern const kpk_pack test_pack;
extern const kpk_module test_module_alpha;
extern const kpk_module test_module_beta;

/* Two modules with one name, with different targets and kernels. */
extern const kpk_module test_module_alpha_gfx11;
extern const kpk_module test_module_alpha_gfx90a;

extern const kpk_pack test_pack_namesakes;

/* beta for device 0 exactly; beta of code object version 6; beta for gfx1030,
 * with what was pruned and what has no target ID. */
extern const kpk_module test_module_beta_exact;
extern const kpk_module test_module_newest;
extern const kpk_module test_module_odd;

/* A table of an imported pack, whose rows are about alpha's scale: for any
 * target, and for gfx1030. No code. */
extern const kpk_module test_module_tables;

/* Modules with one fault each. */
extern const kpk_module test_module_old_format;
extern const kpk_module test_module_not_elf;
extern const kpk_module test_module_short_elf;
extern const kpk_module test_module_other_machine;
extern const kpk_module test_module_other_blob;
extern const kpk_module test_module_empty;
extern const kpk_pack test_pack_old_format;

/* alpha for sm_90 and, as PTX, for compute_80. */
extern const kpk_module test_module_alpha_nvidia;
extern const kpk_pack test_pack_nvidia;

#endif
