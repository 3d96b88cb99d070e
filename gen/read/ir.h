/* ir.h - the debug metadata in a file of LLVM IR, as text
 *
 * A kernel's source is compiled once more with -g and without optimisation, to
 * IR: what the metadata says of a function is its real signature, with the
 * names of types and parameters, templates resolved, whatever the source did
 * with macros. Records look like
 *
 *     !17 = !DILocalVariable(name: "n", arg: 1, scope: !9, type: !21)
 *     !21 = !{null, !22, !23}
 *
 * and are read on demand. A record that is not there or does not have what is
 * asked for reads as absent; nothing is read out of bounds.
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

/* True if record `id` is of that kind, "DIBasicType". */
bool ir_is(const struct ir *ir, unsigned id, const char *kind);

/* A field as it is written, without the quotes of a string, cut to fit; false,
 * and "", if the record has none. */
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

/* The list `!{...}` of record `id`: how many it has, and number i of them,
 * IR_NONE for null. */
size_t ir_list_count(const struct ir *ir, unsigned id);
unsigned ir_list_item(const struct ir *ir, unsigned id, size_t i);

/* The name of parameter number `arg`, counted from 1, of a function; false if
 * it has none. */
bool ir_parameter(const struct ir *ir, unsigned subprogram, unsigned arg,
                  char *out, size_t nbytes);

#endif
