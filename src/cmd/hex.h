/* hex.h - a SHA-256 in hex digits */
#ifndef KPK_CMD_HEX_H
#define KPK_CMD_HEX_H

#include <stdint.h>

/* The 64 hex digits of a SHA-256, NUL-terminated. */
static inline void cmd_hex(const uint8_t *sha256, char hex[65])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 32; i++) {
        hex[2 * i] = digits[sha256[i] >> 4];
        hex[2 * i + 1] = digits[sha256[i] & 15];
    }
    hex[64] = '\0';
}

#endif
