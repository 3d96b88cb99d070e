/* meeting.h - gathers bytes among several processes
 *
 * Rank 0 listens on a socket in the file system, to which the other processes
 * of the same user connect. A gather waits as long as all processes live. A
 * process that ends closes its connections, so the other gathers fail.
 */
#ifndef MODEL_MEETING_H
#define MODEL_MEETING_H

#include "error_text.h"

#include <stddef.h>
#include <stdint.h>

struct meeting;

/* Returns when all ranks have called it; fails if one has not in a minute. */
bool meeting_open(const char *path, uint32_t rank, uint32_t ranks,
                  struct meeting **out, struct fault *fault);
void meeting_close(struct meeting *m);

/* A kpk_comm_gather, of a struct meeting. */
int meeting_gather(void *meeting, const void *mine, void *all, size_t nbytes);

#endif
