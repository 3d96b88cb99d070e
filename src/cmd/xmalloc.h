/* xmalloc.h - memory for the command: never NULL, freed by free()
 *
 * Where there is none the command ends, with EXIT_NO_MEMORY.
 */
#ifndef KPK_CMD_XMALLOC_H
#define KPK_CMD_XMALLOC_H

#include <stddef.h>

_Noreturn void cmd_no_memory(void);
void *cmd_malloc(size_t nbytes);
void *cmd_calloc(size_t n, size_t nbytes);
void *cmd_realloc(void *memory, size_t nbytes);

#endif
