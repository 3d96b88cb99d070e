/* cuda_pack.h - a pack for AMD and NVIDIA, of the tests on CUDA's driver */
#pragma once

#include "kpack.h"
#include "kpack/format.h"

#include <string.h>

static const char strings[] = "\0both\0scale\0gfx90a\0sm_90\0compute_80\0x\0by";
enum {
    BOTH = 1,
    SCALE = 6,
    GFX90A = 12,
    SM_90 = 19,
    COMPUTE_80 = 25,
    X = 36,
    BY = 38
};

#define BLOB(id, n, ...)                                                       \
    static const struct {                                                      \
        struct kpk_blob head;                                                  \
        unsigned char data[128];                                               \
    } id = {{.version = KPK_BLOB_VERSION,                                      \
             .data_at = sizeof(struct kpk_blob),                               \
             .nbytes = (n),                                                    \
             .stored_nbytes = (n)},                                            \
            __VA_ARGS__}
#define ELF(osabi, machine)                                                    \
    {                                                                          \
        0x7f, 'E', 'L', 'F', 2, 1, 1, (osabi), [18] = (machine)                \
    }
BLOB(amd, 128, ELF(64, 224));
BLOB(cubin, 128, ELF(0x41, 190));
BLOB(ptx, 13, ".version 7.8\n");

#define ATTRS(waiting)                                                         \
    {                                                                          \
        .kernarg_nbytes = 16, .kernarg_align = 8, .max_block = 256,            \
        .lds_nbytes = 2448, .wave_size = 32, .waits = (waiting)                \
    }
static const struct kpk_kernel_attrs attrs[] = {ATTRS(0), ATTRS(0)};
static const struct kpk_kernel_attrs scale_waits[] = {ATTRS(0), ATTRS(1)};
/* clang-format off */
static const struct kpk_code_object objects[] = {
    {COMPUTE_80, 78, &ptx.head, attrs, {0}, NULL},
    {GFX90A, 5, &amd.head, attrs, {0}, NULL},
    {SM_90, 130, &cubin.head, scale_waits, {0}, NULL}};
static const struct kpk_arg_desc args[] = {
    {X, 0, 8, KPK_ARG_GLOBAL_BUFFER}, {BY, 8, 8, KPK_ARG_BY_VALUE}};
/* Kernel "both" has 16 bytes of arguments that no list names. */
static const struct kpk_kernel_desc kernels[] = {{BOTH, 0, 0, 16},
                                                 {SCALE, 0, 2, 16}};
/* clang-format on */

#define MODULE(id, list)                                                       \
    static const kpk_module id = {.format = KPK_FORMAT_VERSION,                \
                                  .name = BOTH,                                \
                                  .strings = strings,                          \
                                  .kernels = kernels,                          \
                                  .args = args,                                \
                                  .objects = (list),                           \
                                  .nkernels = 2,                               \
                                  .nobjects = 3}
MODULE(both, objects);

static const kpk_module *const modules[] = {&both};
static const kpk_pack pack = {KPK_FORMAT_VERSION, 1, "both", modules};

static inline int says(const char *part)
{
    return strstr(kpk_error_message(), part) != NULL;
}
