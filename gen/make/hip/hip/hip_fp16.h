/* hip_fp16.h - HIP 5.2's, with the two reciprocals that it calls
 *
 * Debian 12 has HIP 5.2. Its hip_fp16.h declares these two only for compilers
 * that bring no wrapper of their own for HIP, and clang's wrapper has none of
 * them. kpack.mk puts this folder before HIP's where it finds that release.
 */
#pragma once
#include <hip/hip_runtime.h>

static __device__ inline _Float16 kpk_rcp_f16(_Float16 x)
{
    return __builtin_amdgcn_rcph(x);
}
typedef _Float16 kpk_2f16 __attribute__((ext_vector_type(2)));
static __device__ inline kpk_2f16 kpk_rcp_2f16(kpk_2f16 x)
{
    return kpk_2f16{kpk_rcp_f16(x.x), kpk_rcp_f16(x.y)};
}
#define __llvm_amdgcn_rcp_f16 kpk_rcp_f16
#define __llvm_amdgcn_rcp_2f16 kpk_rcp_2f16

#include_next <hip/hip_fp16.h>
