/* module.h - the constant tables of a module */
#ifndef KPK_MODULE_H
#define KPK_MODULE_H

#include "internal.h"

#pragma GCC visibility push(hidden)

const char *kpk_i_string(const kpk_module *module, uint32_t offset);

/* "argument 6", with its name if known: "argument 6 \"mul\"". `entry` is the
 * argument's index in the list, `number` the caller's number of it. */
enum { KPK_I_ARG_TEXT_NBYTES = 128 };
const char *kpk_i_arg_text(const kpk_module *module,
                           const struct kpk_kernel_desc *desc, uint32_t entry,
                           size_t number, char text[KPK_I_ARG_TEXT_NBYTES]);

/* True if argument `arg` of a kernel is an entry that only fills space. */
bool kpk_i_arg_is_padding(const kpk_module *module,
                          const struct kpk_kernel_desc *desc, uint32_t arg);

/* Size of the zeros that padding entries are copied from; no padding entry is
 * larger. */
#define KPK_I_MAX_PADDING 64u

kpk_status kpk_i_module_check(const kpk_module *module);

void kpk_i_attrs(const struct kpk_kernel_attrs *from, kpk_attrs *to);

#pragma GCC visibility pop

#endif
