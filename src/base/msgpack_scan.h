/* msgpack_scan.h - walks msgpack without making anything of it */
#ifndef KPK_GEN_MSGPACK_SCAN_H
#define KPK_GEN_MSGPACK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * msgpack_scan() walks one object. True if it is all there and nests no deeper
 * than any metadata does: then a reader that allocates by the counts in it
 * allocates in proportion to its bytes.
 */
bool msgpack_scan(const void *data, size_t nbytes);

/* The bytes still to be read. */
struct msgpack {
    const uint8_t *at, *end;
};

/*
 * msgpack_skip() steps over one object of any kind; the others take one object
 * of their kind. Each says false if the next object is cut or is of another
 * kind, and msgpack_take_*() have stayed in front of it then.
 *
 *   text  in the data, without a NUL
 *   out   a number that is not negative
 *   n     the objects of the list, or the pairs of the map, that come next
 */
bool msgpack_skip(struct msgpack *m);
bool msgpack_take_text(struct msgpack *m, const char **text, size_t *nbytes);
bool msgpack_take_number(struct msgpack *m, uint64_t *out);
bool msgpack_take_list(struct msgpack *m, uint64_t *n);
bool msgpack_take_map(struct msgpack *m, uint64_t *n);

#endif
