/* sha256.h - the hash that names a code object's bytes (FIPS 180-4) */
#ifndef KPK_GEN_SHA256_H
#define KPK_GEN_SHA256_H

#include <stddef.h>
#include <stdint.h>

void sha256(const void *data, size_t nbytes, uint8_t digest[32]);

#endif
