/* sha256.c - the generator's SHA-256, for the runtime under a hidden name */
#include "internal.h"

#define sha256 kpk_i_sha256
#include "base/sha256.c" /* NOLINT(bugprone-suspicious-include) */
