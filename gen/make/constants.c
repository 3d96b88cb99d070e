/* constants.c - what newer device libraries have for each target
 *
 * Compiled to bitcode with ISA_VERSION, 9402 for gfx942, and ABI_VERSION, 500
 * for code object version 5.
 */
__attribute__((address_space(4))) const int __oclc_ISA_version = ISA_VERSION;
__attribute__((address_space(4))) const int __oclc_ABI_version = ABI_VERSION;
