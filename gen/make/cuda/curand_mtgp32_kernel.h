/* curand_mtgp32_kernel.h - in place of cuRAND's, where there is none
 *
 * Clang includes it in front of every CUDA source. CUDA's compiler comes
 * without cuRAND on PyPI, and no kernel needs it: this folder is looked in
 * last.
 */
