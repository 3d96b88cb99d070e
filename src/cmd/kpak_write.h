/* kpak_write.h - the bytes of AMD's kernel archives (NAME_TARGET.kpack)
 *
 * AMD calls the format "kpack", too: ROCm 7.13 and later ship device code in
 * such files beside a library. Little-endian: "KPAK", u32 version 1, u64 offset
 * of a table of contents; from byte 64 on the code objects, each on 64 bytes;
 * the table, MessagePack, up to the end of the file. Layout: ROCm's
 * rocm-systems, shared/kpack.
 */
#ifndef KPK_CMD_KPAK_WRITE_H
#define KPK_CMD_KPAK_WRITE_H

#include <stddef.h>

struct kpak_object {
    const char *key; /* ascending, as strcmp; no two are equal */
    const void *data;
    size_t nbytes;
};

/* The archive of one pack's code objects for one target ID, to be freed. Code
 * objects are stored uncompressed: scheme "none". */
unsigned char *kpak_write(const char *group, const char *target,
                          const struct kpak_object *objects, size_t n,
                          size_t *nbytes);

#endif
