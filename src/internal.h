/* internal.h - the public headers, as all files of the runtime see them
 *
 * Everything is declared with hidden visibility, the public calls too: two
 * shared objects of one process can each hold their own copy of the library,
 * and neither's calls can land in the other's. What a file gives to others is
 * in the header of its name.
 */
#ifndef KPK_INTERNAL_H
#define KPK_INTERNAL_H

/* Before the pragma: the system's own functions are not hidden. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(hidden)

#include "kpack.h"
#include "kpack/format.h"
#include "kpack/host_code.h"

#pragma GCC visibility pop

#endif
