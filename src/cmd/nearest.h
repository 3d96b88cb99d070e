/* nearest.h - "did you mean": which of some names a mistyped word is nearest to
 *
 *     struct nearest nearest = nearest_to("afine_f32");
 *
 *     nearest_offer(&nearest, "affine_f32"); // and all the others
 *     fprintf(stderr, "no such kernel%s\n", nearest_hint(&nearest));
 */
#ifndef KPK_CMD_NEAREST_H
#define KPK_CMD_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;
    const char *name; /* the nearest so far; NULL if none is near */
    size_t distance;  /* the nearest name's, in edits of one letter */
    char hint[160];
};

struct nearest nearest_to(const char *word);

/* Offers a name, which stays the caller's. */
void nearest_offer(struct nearest *nearest, const char *name);

/* ". Did you mean \"affine_f32\"?", or "" if no name is near. */
const char *nearest_hint(struct nearest *nearest);

#endif
