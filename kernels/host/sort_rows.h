/*
 * sort_rows.h - sorting long rows with many blocks each
 *
 *     uint64_t nbytes;
 *
 *     kpk_sort_workspace("asort_desc_f32", nrows, ncols, &nbytes);
 *     kpk_sort_launch(inst, "asort_desc_f32", x, dst, nrows, ncols, workspace,
 *                     nbytes, stream);
 *
 * dst[r][i] becomes the column of row r's i-th value; equal values keep the
 * order of their columns. The kernel alone gives the same result. Nothing is
 * allocated, measured or kept.
 */
#ifndef KPACK_SORT_ROWS_H
#define KPACK_SORT_ROWS_H

#include <kpack.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * kpk_sort_workspace() tells how much device memory a sort can use: 16 bytes
 * for each element, or 24 for elements of 8 bytes; 0 for rows of up to 4096
 * columns, which one block sorts.
 *
 *   kernel  a kernel's name, "asort_asc_T" or "asort_desc_T"; not kept
 *   nbytes  set on success, left alone on failure
 *
 * Fails with KPK_ERR_ARG for a NULL, a name that does not begin so, or more
 * than 2^31 - 1 columns. Any thread may call.
 */
kpk_status kpk_sort_workspace(const char *kernel, uint32_t nrows,
                              uint32_t ncols, uint64_t *nbytes);

/*
 * kpk_sort_launch() starts the kernels of a sort and returns without waiting.
 *
 *   inst       an instance of the pack that has module sort
 *   x          [nrows, ncols] of the kernel's type, device memory, contiguous
 *   dst        [nrows, ncols] u32, device memory
 *   workspace  device memory of workspace_nbytes, aligned to 8, which must stay
 *              until the kernels are done. If it is smaller than
 *              kpk_sort_workspace() tells, fewer rows are sorted at a time. If
 *              it is too small for one row, or NULL, one block sorts each row,
 *              which takes hundreds of times as long for 250,000 columns
 *   stream     a hipStream_t of the instance's device; NULL for the default one
 *
 * Fails as kpk_sort_workspace(), kpk_kernel_get(), kpk_kernel_shape() and
 * kpk_launch(). Only loading the module, the first time, allocates memory.
 */
kpk_status kpk_sort_launch(kpk_instance *inst, const char *kernel,
                           const void *x, uint32_t *dst, uint32_t nrows,
                           uint32_t ncols, void *workspace,
                           uint64_t workspace_nbytes, void *stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
