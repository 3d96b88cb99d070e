/* import_image.h - adds one code object of a file to the import */
#ifndef KPK_GEN_IMPORT_IMAGE_H
#define KPK_GEN_IMPORT_IMAGE_H

#include "pack/imported.h"

/* A place in a file where a code object is. */
struct import_found {
    struct import *in;
    const struct import_place *place;
    const char *module;
    const char *what; /* "" or where in the file, for messages */
};

/* Adds data that should be a code object for `target`; "" stands for any. */
void import_image(const struct import_found *f, const unsigned char *data,
                  size_t nbytes, const char *target);

/* A file format that the import knows but does not read. */
struct import_foreign {
    const char *magic;
    size_t nbytes;
    bool holds_code; /* has GPU code: refused, whatever the file's name is */
    bool of_host;    /* a static archive, which AMD's trees may contain */
    const char *message;
};

/* The row of the data's format; NULL for a format without a row. */
const struct import_foreign *import_find_foreign(const unsigned char *data,
                                                 size_t nbytes);

extern const char import_no_fatbin[]; /* refusal of NVIDIA's fat binary */

#endif
