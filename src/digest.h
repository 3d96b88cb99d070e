/* digest.h - SHA-256, for the runtime */
#ifndef KPK_DIGEST_H
#define KPK_DIGEST_H

#include "internal.h"

#pragma GCC visibility push(hidden)

void kpk_i_sha256(const void *data, size_t nbytes, uint8_t digest[32]);

#pragma GCC visibility pop

#endif
