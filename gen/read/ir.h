/* ir.h - the debug metadata in a file of LLVM IR, as text
 *
 * A kernel's source is compiled once more to IR, with -g and without
 * optimisation. The metadata of a function has its real signature: names of
 * types and parameters, templates and macros resolved. Records look like
 *
 *     !17 = !DILocalVariable(name: "n", arg: 1, scope: !9, type: !21)
 *     !21 = !{null, !22, !23}
 *
 * and are read on demand. A record or field that the file lacks reads as
 * absent; nothing is read out of bounds.
 */
#ifndef KPK_GEN_IR_H
#define KPK_GEN_IR_H

#include <stdbool.h>
#include <stddef.h>

#define IR_ERROR_MAX 512

struct ir;

/* A kernel that the file defines. */
struct ir_kernel {
    const char *name;    /* exported name */
    unsigned subprogram; /* its DISubprogram */
};

/*
 * ir_read() reads a file. NULL on failure, with the reason, without the path,
 * in error. Free with ir_free(). ir_parse() is the same for text in memory,
 * which is copied.
 */
struct ir *ir_read(const char *path, char error[IR_ERROR_MAX]);
struct ir *ir_parse(const char *text, size_t nbytes, char error[IR_ERROR_MAX]);
void ir_free(struct ir *ir);

size_t ir_nkernels(const struct ir *ir);
const struct ir_kernel *ir_kernel(const struct ir *ir, size_t i);

/* No record has this number. */
#define IR_NONE 0xffffffffu

/* True if record `id` is of this kind, like "DIBasicType". */
bool ir_is(const struct ir *ir, unsigned id, const char *kind);

/* Copies a field's text to out, without the quotes of a string and cut to fit.
 * Gives false and "" if the record lacks the field. */
bool ir_text(const struct ir *ir, unsigned id, const char *field, char *out,
             size_t nbytes);
/* True if the record has the field with this word. */
bool ir_says(const struct ir *ir, unsigned id, const char *field,
             const char *word);
/* The record that a field refers to, or IR_NONE. */
unsigned ir_ref(const struct ir *ir, unsigned id, const char *field);
/* A field's number, or `otherwise`. */
unsigned long long ir_number(const struct ir *ir, unsigned id,
                             const char *field, unsigned long long otherwise);

/* The list `!{...}` of record `id`: its length, and item number i, IR_NONE for
 * null. */
size_t ir_list_count(const struct ir *ir, unsigned id);
unsigned ir_list_item(const struct ir *ir, unsigned id, size_t i);

/* The name of a function's parameter number `arg`, counted from 1; false if the
 * parameter has no name. */
bool ir_parameter(const struct ir *ir, unsigned subprogram, unsigned arg,
                  char *out, size_t nbytes);

#endif
