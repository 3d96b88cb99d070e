/*
 * few_columns.h - products of few columns, in numbers
 *
 * Up to GGUF_FINE_COLUMNS columns may have a grid as fine as the rows of a
 * small tile: a workgroup for the rows of a large one would leave compute units
 * idle. On AMD's GPUs a small tile has up to GGUF_FEW_COLUMNS columns, and one
 * row for each GGUF_FEW_PARTS rows of a tile in gguf/formats.h; it cuts K into
 * as many parts (TileCut in tile_layout.h). On sm_90 it has GGUF_FINE_ROWS rows
 * (nvidia/quantized/mul_mat_bulk.h), for twice as many columns, and workgroups
 * in y take 16, 32 or 64 of them. Plain C reads this file, too: launch shapes
 * (quantized.csv.c) and tests.
 */
#pragma once

#define GGUF_FEW_COLUMNS 16
#define GGUF_FINE_COLUMNS 64
#define GGUF_FEW_PARTS 4
#define GGUF_FINE_ROWS 32
