/* msgpack_scan.h - is a piece of msgpack whole? */
#ifndef KPK_GEN_MSGPACK_SCAN_H
#define KPK_GEN_MSGPACK_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * msgpack_scan() walks one object without making anything of it. True if it is
 * all there and nests no deeper than any metadata does: then a reader that
 * allocates by the counts in it allocates in proportion to its bytes.
 */
bool msgpack_scan(const void *data, size_t nbytes);

#endif
