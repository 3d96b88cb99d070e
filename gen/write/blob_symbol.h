/* blob_symbol.h - what a code object's bytes are called in C */
#ifndef KPK_GEN_BLOB_SYMBOL_H
#define KPK_GEN_BLOB_SYMBOL_H

#define BLOB_SYMBOL_MAX 1536

/*
 * blob_symbol() makes kpk_i_PACK__MODULE_TARGET: of the signs of features _on
 * and _off, and of what C does not take '_'. A dictionary, whose module and
 * target are "", is kpk_i_PACK__dictionary. A pack's name is part of it, so
 * that packs of several vendors with modules of one name live in one program.
 */
void blob_symbol(char out[BLOB_SYMBOL_MAX], const char *pack,
                 const char *module, const char *target);

#endif
