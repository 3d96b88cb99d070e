/* insn_rows.h - the instruction tables, one set per encoding
 *
 * Each encoding's file holds a table of rows and a table of aliases (names
 * that another generation gives to the same thing). insn_rows.c joins them.
 * Mnemonics are looked up without their encoding suffix (_e32, _e64, _dpp,
 * _dpp8, _e64_dpp, _sdwa).
 */
#ifndef SIM_ISA_INSN_ROWS_H
#define SIM_ISA_INSN_ROWS_H

#include "insn.h"

#include <stdbool.h>
#include <stddef.h>

struct insn_alias {
    const char *name; /* another generation's mnemonic */
    const char *row;  /* the row's mnemonic */
};

struct row_set {
    const struct insn_row *rows;
    size_t nrows;
    const struct insn_alias *aliases; /* may be NULL */
    size_t naliases;
};

#define ALIAS(alias, row) {#alias, #row},

/* X(encoding): struct row_set sim_rows_ENCODING, defined in ENCODING.c */
#define ROW_SETS(X)                                                            \
    X(sop1)                                                                    \
    X(sop2)                                                                    \
    X(sopc)                                                                    \
    X(sopk)                                                                    \
    X(sopp)                                                                    \
    X(smem)                                                                    \
    X(transcendental)                                                          \
    X(vop1)                                                                    \
    X(vop2)                                                                    \
    X(vop3)                                                                    \
    X(vopc)                                                                    \
    X(vop3p)                                                                   \
    X(mfma)                                                                    \
    X(lane)                                                                    \
    X(ds)                                                                      \
    X(dslane)                                                                  \
    X(gws)                                                                     \
    X(flat)                                                                    \
    X(mubuf)                                                                   \
    X(mtbuf)                                                                   \
    X(mimg)                                                                    \
    X(image_sample)                                                            \
    X(image_lod)                                                               \
    X(dot)                                                                     \
    X(convert8)                                                                \
    X(wmma)                                                                    \
    X(convert_scale)

#define X(encoding) extern const struct row_set sim_rows_##encoding;
ROW_SETS(X)
#undef X

#define ROW_SET(encoding, rows, aliases)                                       \
    const struct row_set sim_rows_##encoding = {                               \
        rows, sizeof(rows) / sizeof((rows)[0]), aliases,                       \
        sizeof(aliases) / sizeof((aliases)[0])}

#define ROW_SET_NO_ALIASES(encoding, rows)                                     \
    const struct row_set sim_rows_##encoding = {                               \
        rows, sizeof(rows) / sizeof((rows)[0]), NULL, 0}

/*
 * sim_rows_check() says whether tables can be joined: names of rows and aliases
 * are unique, and each alias names an existing row. If not, `fault` gets a
 * sentence with the name. The first look-up of an instruction checks our own
 * tables, and a fault ends the program with the sentence.
 */
#define ROW_FAULT_MAX 256
bool sim_rows_check(const struct row_set *const sets[], size_t nsets,
                    char fault[ROW_FAULT_MAX]);

/* The row for a canonical mnemonic, or NULL. Any thread. */
const struct insn_row *sim_row_find(const char *name);

#endif
