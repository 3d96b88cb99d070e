/* decode.h - instructions decoded from a code allocation, kept with it */
#ifndef SIM_ISA_DECODE_H
#define SIM_ISA_DECODE_H

#include "insn.h"

#include "../base/allocation.h"
#include "../base/processor.h"

#include <stdatomic.h>
#include <stddef.h>

struct block; /* see basic_block.h */

struct sim_code {
    const uint8_t *bytes;
    uint64_t base, size;
    uint32_t generation; /* the allocation's code_generation */
    const struct sim_target *target;
    /* A slot per dword of code, filled when first reached; [0] as decoded for
     * waves of 64 lanes, [1] for 32. */
    _Atomic(struct insn *) *slot[2];
    _Atomic(struct block *) *block[2]; /* the same for blocks' beginnings */
    _Atomic(struct block *) newest;    /* of all blocks */
    _Atomic uint32_t warned;           /* a bit for each enum sim_fault_kind */
};

/* The decoded form of an allocation, made now if need be; NULL: no memory. */
struct sim_code *sim_code_of(const struct sim_alloc *alloc,
                             const struct sim_target *target);

/* Decodes the instruction at `addr` (dword aligned, inside the code). Never
 * fails: what cannot be run is an instruction that raises a fault. */
const struct insn *sim_decode(struct sim_code *code, uint64_t addr,
                              unsigned wave_size);

/* Whether it does something else than to raise a fault. */
bool sim_is_runnable(const struct insn *in);

/* LLVM's text of the instruction at `addr`; returns its size, 0 if illegal. */
size_t sim_disassemble(const struct sim_code *code, uint64_t addr,
                       unsigned wave_size, char *text, size_t ntext);

/*
 * Takes one line of LLVM's text apart into `in`, looking its row up. False
 * with a reason in `why` if there is no row or the text has a part that is not
 * understood; in->row tells which. Exposed for tests.
 */
bool sim_parse(const char *text, const struct sim_target *target,
               struct insn *in, char why[128]);

/* Parts of it (parse_image.c): what follows "dim:" of an image instruction, and
 * "format:" of one on typed buffers, up to `end`. */
bool sim_parse_dim(const char *p, const char *end, struct insn *in);
bool sim_parse_buffer_format(const char *p, const char *end, struct insn *in);

/* Copies the mnemonic of LLVM's text without the suffix that names its
 * encoding (empty if it is too long); returns what follows it. */
const char *sim_parse_mnemonic(const char *text, char name[MAX_NAME]);

#endif
