/* hip_facts.c - the facts as HIP's own headers have them */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <stddef.h>

#include "facts.h"

FACTS(hip_facts);
