/*
 * wgmma_shapes.h - the tiles of module gemm on sm_90, a row for each, for the
 * kernels and for gemm.csv.c, which prints launch shapes and costs
 *
 * A tile's name has its rows of C, columns of C and stages in LDS. To add a
 * tile, add a row to the list of its kernel; the launch's LDS size, made by
 * KPK_TILE_LDS(), selects it.
 */
#pragma once

/* Bytes of LDS for `stages` stages, aligned to 1024 bytes. A stage holds 64 *
 * `deep` of K for `rows` rows of A and `cols` columns of B. */
#define KPK_WARPGROUP_LDS(rows, cols, deep, stages, more)                      \
    ((stages) * (deep)*128 * ((rows) + (cols)) + 1024 * (1 + (more)))

/* The launch's LDS size encodes the tile's number, 0 to 6: the bytes that the
 * tile needs, rounded up to 2048, plus 128 times the number. */
#define KPK_TILE_LDS(tile, rows, cols, deep, stages, more)                     \
    ((KPK_WARPGROUP_LDS(rows, cols, deep, stages, more) + 2047) / 2048 *       \
         2048 +                                                                \
     128 * KPK_TILE_##tile)
#define KPK_TILE_OF_LDS(nbytes) ((nbytes) / 128 % 16)

/* Added to a tile's number for launches of pairs: two blocks of a cluster make
 * two tiles, one below the other (tensor_map_tile.h). */
#define KPK_PAIRS 8
#define KPK_PAIRS_LDS(tile, rows, cols, deep, stages, more)                    \
    (KPK_TILE_LDS(tile, rows, cols, deep, stages, more) + 128 * KPK_PAIRS)

/* For which layouts of B a tile exists: all, or only contiguous along K. */
enum { KPK_B_ANY, KPK_B_ALONG };

/* clang-format off */
/*
 * X(tile, rows, columns, deep, stages, more, shares, b, costs where A lies
 * along K, costs where A does not)
 *
 *   deep    pieces of 64 of K in a step, one for each warpgroup of the same
 *           rows
 *   more    KiB of LDS, for results (tensor_map_tile.h) or the sums that others
 *           send
 *   shares  how many blocks of a cluster may share a tile, 0 for none: LDS must
 *           have room for their sums
 *   costs   (least and most rows of C; tiles that a multiprocessor works on at
 *           once; ns of a step, of a step alone, besides steps, of sharing; of
 *           a step when shared, 0: as otherwise), or KPK_NOT_MADE
 *   pairs   of 256 threads: costs of pairs, where A lies along K. Pairs of more
 *           than 256 rows win and lose on an H200, because some tiles have no
 *           partner
 */
#define KPK_ROOM(least, most, room, ...) room
#define KPK_NOT_MADE (0, 0, 0, 0, 0, 0, 0, 0)
#define KPK_ANY_M 0x7fffffff
/* of 256 threads: gemm_*_m128 */
#define KPK_GEMM_TILES_128(X)                                                                                                                                                         \
    X(128x256x4, 128, 256, 1,  4, 18, 4, KPK_B_ANY,   (33, KPK_ANY_M, 1, 580, 580, 3170, 4120, 720), (0, KPK_ANY_M, 1, 720, 720, 2440, 6500, 0), (129, 256, 1, 565, 565, 3170, 0, 0)) \
    X(128x192x5, 128, 192, 1,  5, 18, 4, KPK_B_ALONG, (33, KPK_ANY_M, 1, 447, 447, 2520, 4385, 530), (0, KPK_ANY_M, 1, 530, 530, 2325, 3260, 0), KPK_NOT_MADE)                        \
    X(128x160x6, 128, 160, 1,  6,  0, 4, KPK_B_ALONG, (33, KPK_ANY_M, 1, 411, 411, 3000, 3190, 445), (0, KPK_ANY_M, 1, 445, 445, 2545, 2630, 0), KPK_NOT_MADE)                        \
    X(128x96x7,  128,  96, 1,  7,  0, 4, KPK_B_ALONG, (33, KPK_ANY_M, 1, 335, 335, 2655, 1985,   0), (0, KPK_ANY_M, 1, 380, 380, 1760, 1355, 0), KPK_NOT_MADE)                        \
    X(128x80x8,  128,  80, 1,  8,  0, 4, KPK_B_ALONG, (33, KPK_ANY_M, 1, 265, 265, 2800, 1655,   0), (0, KPK_ANY_M, 1, 295, 295, 1925, 1550, 0), KPK_NOT_MADE)                        \
    X(128x64x8,  128,  64, 1,  8,  2, 4, KPK_B_ANY,   (33, KPK_ANY_M, 1, 305, 305, 1795, 1415,   0), (0, KPK_ANY_M, 1, 265, 265, 1450, 1365, 0), KPK_NOT_MADE)                        \
    X(128x128x6, 128, 128, 1,  6, 19, 8, KPK_B_ANY,   (33, KPK_ANY_M, 1, 400, 400, 1250, 2615, 405), (0, KPK_ANY_M, 1, 365, 365, 2225, 2420, 0), (129, 256, 1, 335, 335, 1250, 0, 0))
/* of 128 threads: gemm_*_m64 */
#define KPK_GEMM_TILES_64(X)                                                                                                                       \
    X(64x64x12,   64,  64, 1, 12, 28, 8, KPK_B_ANY,   ( 0, KPK_ANY_M, 1, 160, 160, 1435,  755,   0), (0, KPK_ANY_M, 1, 185, 185, 1495,  765, 0)) \
    X(64x80x12,   64,  80, 1, 12,  2, 4, KPK_B_ALONG, ( 0, KPK_ANY_M, 1, 200, 200, 1220, 1230,   0), (0, KPK_ANY_M, 1, 220, 220, 1360, 1465, 0)) \
    X(64x128x8,   64, 128, 1,  8, 24, 4, KPK_B_ANY,   ( 0, KPK_ANY_M, 1, 275, 275, 1295, 1535,   0), (0, KPK_ANY_M, 1, 275, 275, 1035, 1535, 0)) \
    X(64x96x9,    64,  96, 1,  9, 24, 4, KPK_B_ALONG, ( 0, KPK_ANY_M, 1, 245, 245, 1415, 1495,   0), (0, KPK_ANY_M, 1, 245, 245, 1500, 1080, 0)) \
    X(64x160x7,   64, 160, 1,  7,  5, 4, KPK_B_ALONG, ( 0, KPK_ANY_M, 1, 275, 275, 1900, 2900, 365), (0, KPK_ANY_M, 1, 300, 300, 1720, 2360, 0)) \
    X(64x128x4,   64, 128, 1,  4,  0, 0, KPK_B_ANY,   (33, KPK_ANY_M, 2, 281, 400, 1825,    0,   0), (0, KPK_ANY_M, 2, 241, 400, 1900,    0, 0)) \
    X(128x128x3, 128, 128, 1,  3,  2, 0, KPK_B_ANY,   (33, KPK_ANY_M, 2, 370, 475, 3000,    0,   0), (0, KPK_ANY_M, 2, 475, 475, 2200,    0, 0))
/* tiles of 256 threads, for few rows: gemm_n*_m8. They compute C transposed: a
 * tile's columns are rows of C, as in the tiles' names. */
#define KPK_GEMM_TILES_8(X)                                                                                                                        \
    X(few_16x64x9,   64, 16, 2,  9, 0, 0, KPK_B_ANY,    (0,   16, 1, 100, 100, 4320,    0, 0), KPK_NOT_MADE)                                        \
    X(few_16x64x4,   64, 16, 2,  4, 0, 0, KPK_B_ANY,    (0,   16, 2,  85, 165, 2665,    0, 0), KPK_NOT_MADE)
/* clang-format on */

/* tiles' numbers: KPK_TILE_128x256x4 ... */
#define KPK_TILE_NUMBER(tile, ...) KPK_TILE_##tile,
enum { KPK_GEMM_TILES_128(KPK_TILE_NUMBER) };
enum { KPK_GEMM_TILES_64(KPK_TILE_NUMBER) };
enum { KPK_GEMM_TILES_8(KPK_TILE_NUMBER) };
#undef KPK_TILE_NUMBER

/* Bytes of LDS for ragged_tile.h: two steps of 64 along K, of `size` rows of A
 * and 64 columns of B; `more` for results; and 128 * 15 bytes, which stand for
 * a number that no tile has. */
#define KPK_RAGGED_LDS(size, more) (2 * 128 * ((size) + 64) + (more) + 128 * 15)
#define KPK_RAGGED_MORE 20480 /* of 64 rows by 256 threads */

/* Bytes of LDS for bf16x3_tile.h: two steps of 64 along K, each number of both
 * operands as three limbs of 2 bytes. */
#define KPK_LIMB_LDS(size) (2 * 64 * 3 * 2 * 2 * (size))

/* Bytes of static LDS in gemm_n*_m8 for sums of f16 and bf16. */
#define KPK_SKINNY_OWN_LDS (8 * 8 * 68 * 4)

/* Bytes of LDS for skinny_f32_f64.h: 8 warps with KPK_COPIED_STAGES stages
 * each, of 32 lines of B and 8 of A. */
#define KPK_COPIED_STAGES 4
#define KPK_COPIED_LDS (8 * KPK_COPIED_STAGES * (32 + 8) * 128)
