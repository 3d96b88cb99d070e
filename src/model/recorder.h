/* recorder.h - launches recorded once, to be replayed as they were */
#ifndef MODEL_RECORDER_H
#define MODEL_RECORDER_H

#include <kpack.h>

#include <stdbool.h>
#include <stddef.h>

/* A recorder has a stream, on which launches are recorded and replayed. Calls
 * return false where the driver refuses; kpk_error_message() says why. */
struct recorder;

/* NULL where the driver cannot, or memory is lacking: plain launches do. */
struct recorder *recorder_open(kpk_instance *inst);
void recorder_close(struct recorder *r);
void *recorder_stream(const struct recorder *r);
/* Launches between recorder_start() and recorder_end() are recorded and not
 * run; the previous recording is dropped. */
bool recorder_start(struct recorder *r);
bool recorder_end(struct recorder *r);
bool recorder_replay(struct recorder *r);
/* Copies from the device when all that the stream has until now is done;
 * recorder_fetched() waits for the copy, and for nothing that comes behind. */
bool recorder_fetch(struct recorder *r, const void *from, size_t nbytes);
bool recorder_fetched(struct recorder *r, void *to, size_t nbytes);

#endif
