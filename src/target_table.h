/* target_table.h - every GPU target that a pack can be built for
 *
 * One row a processor, then one row a generic target. The build checks ARCHS
 * against it and reads MACH back out of the code objects; the runtime takes
 * the generic target that covers a processor from it.
 *
 * Sources: LLVM's AMDGPUUsage, "Processors" and "Generic processors";
 * llvm/BinaryFormat/ELF.h for MACH (the low byte of e_flags).
 */
#ifndef KPK_TARGET_TABLE_H
#define KPK_TARGET_TABLE_H

/* clang-format off */
#define KPK_TARGET_TABLE(X)                                                   \
    /* processor         MACH  covered by         sramecc xnack wave */       \
    X("gfx900",          0x2c, "gfx9-generic",    0, 1, 64)                   \
    X("gfx902",          0x2d, "gfx9-generic",    0, 1, 64)                   \
    X("gfx904",          0x2e, "gfx9-generic",    0, 1, 64)                   \
    X("gfx906",          0x2f, "gfx9-generic",    1, 1, 64)                   \
    X("gfx908",          0x30, "",                1, 1, 64)                   \
    X("gfx909",          0x31, "gfx9-generic",    0, 1, 64)                   \
    X("gfx90a",          0x3f, "",                1, 1, 64)                   \
    X("gfx90c",          0x32, "gfx9-generic",    0, 1, 64)                   \
    X("gfx942",          0x4c, "gfx9-4-generic",  1, 1, 64)                   \
    X("gfx950",          0x4f, "gfx9-4-generic",  1, 1, 64)                   \
    X("gfx1010",         0x33, "gfx10-1-generic", 0, 1, 32)                   \
    X("gfx1011",         0x34, "gfx10-1-generic", 0, 1, 32)                   \
    X("gfx1012",         0x35, "gfx10-1-generic", 0, 1, 32)                   \
    X("gfx1013",         0x42, "gfx10-1-generic", 0, 1, 32)                   \
    X("gfx1030",         0x36, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1031",         0x37, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1032",         0x38, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1033",         0x39, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1034",         0x3e, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1035",         0x3d, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1036",         0x45, "gfx10-3-generic", 0, 0, 32)                   \
    X("gfx1100",         0x41, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1101",         0x46, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1102",         0x47, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1103",         0x44, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1150",         0x43, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1151",         0x4a, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1152",         0x55, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1153",         0x58, "gfx11-generic",   0, 0, 32)                   \
    X("gfx1200",         0x48, "gfx12-generic",   0, 0, 32)                   \
    X("gfx1201",         0x4e, "gfx12-generic",   0, 0, 32)                   \
    X("gfx1250",         0x49, "gfx12-5-generic", 0, 0, 32)                   \
    X("gfx1251",         0x5a, "gfx12-5-generic", 0, 0, 32)                   \
    X("gfx9-generic",    0x51, "",                0, 1, 64)                   \
    X("gfx9-4-generic",  0x5f, "",                1, 1, 64)                   \
    X("gfx10-1-generic", 0x52, "",                0, 1, 32)                   \
    X("gfx10-3-generic", 0x53, "",                0, 0, 32)                   \
    X("gfx11-generic",   0x54, "",                0, 0, 32)                   \
    X("gfx12-generic",   0x59, "",                0, 0, 32)                   \
    X("gfx12-5-generic", 0x5b, "",                0, 0, 32)
/* clang-format on */

#endif
