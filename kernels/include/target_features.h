/*
 * target_features.h - what the target that is compiled for has
 *
 * The columns of its row in target_table.h, as numbers for #if alone:
 *
 *   KPK_TARGET_MAJOR  major ISA version: 9 GCN and CDNA, from 10 on RDNA
 *   KPK_TARGET_WAVE   lanes of a wave, unless a kernel is compiled for others
 *   KPK_TARGET_DOT4, KPK_TARGET_MFMA, KPK_TARGET_WMMA, KPK_TARGET_PK32,
 *   KPK_TARGET_BF16   as in the table
 *
 * All are 0 on NVIDIA's targets.
 */
#pragma once

#include "../../src/base/target_table.h"

/* Clang defines __gfx942__ as 1 for gfx942. In #if the names of all other
 * targets are 0, so a sum over the rows is the target's own column. */
#define KPK_MAJOR_OF(name, mach, major, ...) +__##name##__ *major
#define KPK_WAVE_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, ...)                                                 \
    +__##name##__ *wave
#define KPK_DOT4_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, dot4, ...)                                           \
    +__##name##__ *dot4
#define KPK_MFMA_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, dot4, mfma, ...)                                     \
    +__##name##__ *mfma
#define KPK_WMMA_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, dot4, mfma, wmma, ...)                               \
    +__##name##__ *wmma
#define KPK_PK32_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, dot4, mfma, wmma, pk32, ...)                         \
    +__##name##__ *pk32
#define KPK_BF16_OF(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    wave, dot4, mfma, wmma, pk32, bf16, ...)                   \
    +__##name##__ *bf16
#define KPK_OF_TARGET(column)                                                  \
    KPK_PROCESSOR_TABLE(column) KPK_GENERIC_TABLE(column)

#define KPK_TARGET_MAJOR (0 KPK_OF_TARGET(KPK_MAJOR_OF))
#define KPK_TARGET_WAVE (0 KPK_OF_TARGET(KPK_WAVE_OF))
#define KPK_TARGET_DOT4 (0 KPK_OF_TARGET(KPK_DOT4_OF))
#define KPK_TARGET_MFMA (0 KPK_OF_TARGET(KPK_MFMA_OF))
#define KPK_TARGET_WMMA (0 KPK_OF_TARGET(KPK_WMMA_OF))
#define KPK_TARGET_PK32 (0 KPK_OF_TARGET(KPK_PK32_OF))
#define KPK_TARGET_BF16 (0 KPK_OF_TARGET(KPK_BF16_OF))
