/* objfile.h - archives and the object files in them, changed in memory */
#ifndef KPK_CMD_OBJFILE_H
#define KPK_CMD_OBJFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct objfile_bytes {
    unsigned char *data; /* from malloc() */
    size_t nbytes;
};

bool objfile_is_archive(const unsigned char *bytes, size_t nbytes);

/* How large a file is at least, by its own headers, if it is an archive or a
 * little-endian ELF64 file; else 0. A result above nbytes means a truncated
 * file. */
uint64_t objfile_whole_nbytes(const unsigned char *bytes, size_t nbytes);

/*
 * objfile_each_member() copies an archive and lets `change` at each member
 * that is an ELF file; the archive's symbol index follows what moves.
 *
 *   change  given the member's place in the archive and its bytes, which it
 *           may replace by others from malloc(); false stops it all
 *   out     the new archive, to be freed
 *
 * Returns NULL, or what is wrong with the archive; "" if `change` stopped.
 */
typedef bool objfile_change(void *context, size_t from,
                            struct objfile_bytes *member);
const char *objfile_each_member(const unsigned char *bytes, size_t nbytes,
                                objfile_change *change, void *context,
                                struct objfile_bytes *out);

/*
 * objfile_resize() gives the section that is [at, at + nbytes) of an object
 * file other content, of another size.
 *
 * Returns false, having changed nothing, if there is no section of just that
 * extent, or it has relocations or symbols within, or the file is no sound
 * relocatable ELF64 file.
 */
bool objfile_resize(struct objfile_bytes *member, size_t at, size_t nbytes,
                    const struct objfile_bytes *content);

#endif
