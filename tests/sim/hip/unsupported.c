/* unsupported.c - what is exported only so that programs link
 *
 * Textures and surfaces, memory shared with graphics, and what else
 * functions.def calls refused. Each says so: hipErrorNotSupported.
 */
#include "runtime.h"

/* The arguments are not looked at, whatever they are. */
#define REFUSED(release, name)                                                 \
    HIP_API hipError_t name(void)                                              \
    {                                                                          \
        ENTER();                                                               \
        LEAVE(hipErrorNotSupported);                                           \
    }
#define WORKS(release, name)
#include "functions.def"
