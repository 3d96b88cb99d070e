/* number.h - numbers in files */
#ifndef KPK_GEN_NUMBER_H
#define KPK_GEN_NUMBER_H

#include <stdint.h>

/* Little-endian, on any host. */
static inline uint64_t number_read(const unsigned char *at, int nbytes)
{
    uint64_t value = 0;

    while (nbytes-- > 0)
        value = value << 8 | at[nbytes];
    return value;
}

#endif
