/* fnv1a.h - hashes of names, and of a module's layout
 *
 * FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
 *
 * The layout is what a launchers' header and the module that it is used with
 * have to agree on: each kernel's name, and where its arguments lie. The
 * generator hashes it into the header, the runtime into kpk_kernels_get().
 */
#ifndef KPK_FNV1A_H
#define KPK_FNV1A_H

#include <stdint.h>

#define FNV1A_EMPTY UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv1a_byte(uint64_t h, unsigned char byte)
{
    return (h ^ byte) * UINT64_C(0x100000001b3);
}

/* Without the NUL at its end. */
static inline uint64_t fnv1a_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = fnv1a_byte(h, (unsigned char)*text);
    return h;
}

/* Hashes a word as its four bytes, little-endian. */
static inline uint64_t fnv1a_word(uint64_t h, uint32_t word)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        h = fnv1a_byte(h, (unsigned char)(word >> shift));
    return h;
}

/* One kernel of a layout; its arguments follow in order. */
static inline uint64_t fnv1a_layout_kernel(uint64_t h, const char *name)
{
    return fnv1a_byte(fnv1a_text(h, name), 0);
}

static inline uint64_t fnv1a_layout_arg(uint64_t h, uint32_t offset,
                                        uint32_t nbytes)
{
    return fnv1a_word(fnv1a_word(h, offset), nbytes);
}

#endif
