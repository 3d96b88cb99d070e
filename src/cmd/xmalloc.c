/* xmalloc.c - memory for the command, which ends if there is none
 *
 * Going on would give wrong answers: a table without a row, an archive pruned
 * in part. No file is written before all memory for it is allocated.
 */
#include "xmalloc.h"
#include "exit_status.h"

#include <stdio.h>
#include <stdlib.h>

void cmd_no_memory(void)
{
    (void)fprintf(stderr, "kpack: out of memory\n");
    exit(EXIT_NO_MEMORY);
}

static void *there(void *memory)
{
    if (!memory)
        cmd_no_memory();
    return memory;
}

void *cmd_malloc(size_t nbytes)
{
    return there(malloc(nbytes ? nbytes : 1));
}

void *cmd_calloc(size_t n, size_t nbytes)
{
    return there(calloc(n ? n : 1, nbytes));
}

void *cmd_realloc(void *memory, size_t nbytes)
{
    return there(realloc(memory, nbytes));
}
