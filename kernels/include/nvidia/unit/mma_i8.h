/* mma_i8.h - sm_80's matrix instructions for signed bytes */
#pragma once

#include "device.h"

/*
 * A warp multiplies 16 rows of x with 8 columns of y. Lane l holds, of a
 * fragment of 8 rows (or columns) and 16 bytes, the word l % 4 of row l / 4;
 * and of the results rows l / 4 and l / 4 + 8 in columns 2 (l % 4) and the
 * next: d[0], d[1] in the first row, d[2], d[3] in the second. All results
 * start at c.
 */

/* 32 bytes of each: rows 0..7 and 8..15 of the first 16 bytes, then of the
 * second; columns of the first and of the second 16 bytes */
DEV void mma_32(int (&d)[4], const u32 (&x)[4], u32 y0, u32 y1, int c)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1), "r"(c));
}

/* the same with 16 bytes along K; x0, x1: rows 0 to 7 and 8 to 15 of x */
DEV void mma_16(int (&d)[4], u32 x0, u32 x1, u32 y, int c)
{
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%7,%7,%7};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(x0), "r"(x1), "r"(y), "r"(c));
}

/* the same, added to d */
DEV void mma_16_onto(int (&d)[4], u32 x0, u32 x1, u32 y)
{
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(x0), "r"(x1), "r"(y));
}
