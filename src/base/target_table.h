/* target_table.h - the processors and generic targets that kpack knows
 *
 * The only list of them: the runtime selects by it, kpack-gen checks code
 * objects with it, kernels ask it what their target has
 * (kernels/include/target_features.h), the report counts waves by it, and the
 * simulated GPU has a card for each. kpack.mk reads it with awk, for the valid
 * ARCHS, their ISA versions and waves: so every row stays on one line, begins
 * with X( and keeps its columns in order.
 *
 * Source: LLVM AMDGPUUsage (processors, target IDs, generic processors), the
 * EF_AMDGPU_MACH values of llvm/BinaryFormat/ELF.h, the processors' features in
 * LLVM's AMDGPU target and AMDGPUBaseInfo (registers, waves), the ISA manuals
 * (LDS); tests/build/target_features.sh compares the rows with clang.
 */
#ifndef KPK_TARGET_TABLE_H
#define KPK_TARGET_TABLE_H

/* clang-format off */

/*
 * X(name, mach, major, minor, stepping, generic, sramecc, xnack, wave, dot4,
 *   mfma, wmma, pk32, bf16, vgprs, granule, waves, simds, lds)
 *
 *   name      processor, as in a target ID
 *   mach      low byte of the ELF header's e_flags
 *   major, minor, stepping
 *             ISA version; the device libraries' number is
 *             major * 1000 + minor * 100 + stepping
 *   generic   the generic target whose code objects run on it, "" if none
 *   sramecc, xnack
 *             1 if a target ID may name the feature
 *   wave      work-items in a wavefront, as compiled by default
 *   dot4      products of four bytes in an instruction: 1 v_dot4_i32_i8,
 *             2 v_dot4_i32_iu8, 0 none
 *   mfma      the generation of CDNA whose matrix instructions it has, 0 none
 *   wmma      the generation of GFX whose matrix instructions it has: 11, 12;
 *             0 none, or other ones
 *   pk32      1 if an instruction computes two f32, as v_pk_fma_f32 does
 *   bf16      1 if an instruction rounds f32 to bf16
 *   vgprs     registers of a lane in a SIMD, shared by its wavefronts of `wave`
 *             work-items. They include AGPRs where mfma is 2 or more; gfx908 has
 *             a second file of the same size
 *   granule   registers that such a wavefront gets at a time
 *   waves     wavefronts of a SIMD at most
 *   simds     SIMDs of a compute unit. If there are two, a workgroup may run on
 *             two compute units, with the LDS of both
 *   lds       KiB of LDS of a compute unit; a workgroup has no more
 */
#define KPK_PROCESSOR_TABLE(X)                                                                             \
    /* name    mach   version   generic            s. x. w.  d. m. wm. p. b. vgprs g.  w.  s. lds */       \
    X(gfx900,  0x2c,  9, 0,  0, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx902,  0x2d,  9, 0,  2, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx904,  0x2e,  9, 0,  4, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx906,  0x2f,  9, 0,  6, "gfx9-generic",    1, 1, 64, 1, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx908,  0x30,  9, 0,  8, "",                1, 1, 64, 1, 1,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx909,  0x31,  9, 0,  9, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx90a,  0x3f,  9, 0, 10, "",                1, 1, 64, 1, 2,  0, 1, 0,  512,  8,  8, 4,  64)         \
    X(gfx90c,  0x32,  9, 0, 12, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64)         \
    X(gfx942,  0x4c,  9, 4,  2, "gfx9-4-generic",  1, 1, 64, 1, 3,  0, 1, 0,  512,  8,  8, 4,  64)         \
    X(gfx950,  0x4f,  9, 5,  0, "gfx9-4-generic",  1, 1, 64, 1, 4,  0, 1, 1,  512,  8,  8, 4, 160)         \
    X(gfx1010, 0x33, 10, 1,  0, "gfx10-1-generic", 0, 1, 32, 0, 0,  0, 0, 0, 1024,  8, 20, 2,  64)         \
    X(gfx1011, 0x34, 10, 1,  1, "gfx10-1-generic", 0, 1, 32, 1, 0,  0, 0, 0, 1024,  8, 20, 2,  64)         \
    X(gfx1012, 0x35, 10, 1,  2, "gfx10-1-generic", 0, 1, 32, 1, 0,  0, 0, 0, 1024,  8, 20, 2,  64)         \
    X(gfx1013, 0x42, 10, 1,  3, "gfx10-1-generic", 0, 1, 32, 0, 0,  0, 0, 0, 1024,  8, 20, 2,  64)         \
    X(gfx1030, 0x36, 10, 3,  0, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1031, 0x37, 10, 3,  1, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1032, 0x38, 10, 3,  2, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1033, 0x39, 10, 3,  3, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1034, 0x3e, 10, 3,  4, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1035, 0x3d, 10, 3,  5, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1036, 0x45, 10, 3,  6, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1100, 0x41, 11, 0,  0, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1536, 24, 16, 2,  64)         \
    X(gfx1101, 0x46, 11, 0,  1, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1536, 24, 16, 2,  64)         \
    X(gfx1102, 0x47, 11, 0,  2, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1103, 0x44, 11, 0,  3, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1150, 0x43, 11, 5,  0, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1151, 0x4a, 11, 5,  1, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1536, 24, 16, 2,  64)         \
    X(gfx1152, 0x55, 11, 5,  2, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1153, 0x58, 11, 5,  3, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64)         \
    X(gfx1200, 0x48, 12, 0,  0, "gfx12-generic",   0, 0, 32, 2, 0, 12, 0, 0, 1536, 24, 16, 2,  64)         \
    X(gfx1201, 0x4e, 12, 0,  1, "gfx12-generic",   0, 0, 32, 2, 0, 12, 0, 0, 1536, 24, 16, 2,  64)         \
    X(gfx1250, 0x49, 12, 5,  0, "",                0, 0, 32, 2, 0,  0, 1, 1, 1024, 16, 16, 4, 320)         \
    X(gfx1251, 0x5a, 12, 5,  1, "",                0, 0, 32, 2, 0,  0, 1, 1, 1024, 16, 16, 4, 320)

/*
 * The generic targets. The name is a C name; `generic` is the target's own, with
 * hyphens. The version is that of the least processor covered, as the device
 * libraries want it; the features are those that all covered processors have.
 */
#define KPK_GENERIC_TABLE(X)                                                                               \
    X(gfx9_generic,    0x51,  9, 0,  0, "gfx9-generic",    0, 1, 64, 0, 0,  0, 0, 0,  256,  4, 10, 4,  64) \
    X(gfx9_4_generic,  0x5f,  9, 4,  2, "gfx9-4-generic",  1, 1, 64, 1, 3,  0, 1, 0,  512,  8,  8, 4,  64) \
    X(gfx10_1_generic, 0x52, 10, 1,  0, "gfx10-1-generic", 0, 1, 32, 0, 0,  0, 0, 0, 1024,  8, 20, 2,  64) \
    X(gfx10_3_generic, 0x53, 10, 3,  0, "gfx10-3-generic", 0, 0, 32, 1, 0,  0, 0, 0, 1024, 16, 16, 2,  64) \
    X(gfx11_generic,   0x54, 11, 0,  3, "gfx11-generic",   0, 0, 32, 2, 0, 11, 0, 0, 1024, 16, 16, 2,  64) \
    X(gfx12_generic,   0x59, 12, 0,  0, "gfx12-generic",   0, 0, 32, 2, 0, 12, 0, 0, 1536, 24, 16, 2,  64)

/* clang-format on */

#endif
