/*
 * few_columns.h - products of few columns on AMD's GPUs, in numbers
 *
 * Such a tile cuts K into GGUF_FEW_PARTS parts (TileCut in tile_layout.h). It
 * has up to GGUF_FEW_COLUMNS columns, and one row for each GGUF_FEW_PARTS rows
 * of a tile in gguf/formats.h. Plain C reads this file, too: launch shapes
 * (quantized.csv.c) and tests.
 */
#pragma once

#define GGUF_FEW_COLUMNS 16
/* Up to so many columns have grids with a workgroup for the rows of such a
 * tile: one for the rows of a large tile would leave compute units idle. */
#define GGUF_FINE_COLUMNS 64
#define GGUF_FEW_PARTS 4
