/* select_sm.h - how well a target of NVIDIA's fits a device */
#ifndef KPK_SELECT_SM_H
#define KPK_SELECT_SM_H

#include "error.h"
#include "internal.h"

#pragma GCC visibility push(hidden)

/* A target of NVIDIA's: sm_90a, a cubin, or compute_80, PTX. */
struct kpk_i_sm {
    unsigned number; /* major * 10 + minor; 0: none of NVIDIA's */
    char suffix;     /* 'a', 'f' or '\0' */
    bool is_ptx;
};
bool kpk_i_sm_parse(const char *text, struct kpk_i_sm *out);

/* How well `object` fits a device, which is an sm_NN; why, in words. */
kpk_fit kpk_i_sm_fit(const struct kpk_i_sm *device,
                     const struct kpk_i_sm *object, struct kpk_i_text *why);

/* Among objects that fit alike the highest wins: cubins before PTX, the
 * higher number, the suffix that names more. */
unsigned kpk_i_sm_rank(const struct kpk_i_sm *object);

#pragma GCC visibility pop

#endif
