/* blob_symbol.h - what a code object's bytes are called in C */
#ifndef KPK_GEN_BLOB_SYMBOL_H
#define KPK_GEN_BLOB_SYMBOL_H

#define BLOB_SYMBOL_MAX 1536

/*
 * blob_symbol() makes kpk_i_PACK__MODULE_TARGET. Signs of features become _on
 * and _off, other characters that C forbids become '_'. A dictionary, whose
 * module and target are "", gets kpk_i_PACK__dictionary. The symbol contains
 * the pack's name, so that a program can link packs of several vendors with
 * equal module names.
 */
void blob_symbol(char out[BLOB_SYMBOL_MAX], const char *pack,
                 const char *module, const char *target);

#endif
