/* recorder.h - records a run's launches once and replays them */
#ifndef MODEL_RECORDER_H
#define MODEL_RECORDER_H

#include <kpack.h>

#include <stdbool.h>
#include <stddef.h>

/* A recorder has a stream, on which launches are recorded and replayed. Calls
 * return false if the driver refuses; kpk_error_message() says why. */
struct recorder;

/* NULL if the driver cannot record or memory is lacking; use plain launches. */
struct recorder *recorder_open(kpk_instance *inst);
void recorder_close(struct recorder *r);
void *recorder_stream(const struct recorder *r);
/* Launches between recorder_start() and recorder_end() are recorded and not
 * run; the previous recording is dropped. */
bool recorder_start(struct recorder *r);
bool recorder_end(struct recorder *r);
bool recorder_replay(struct recorder *r);
/* recorder_fetch() queues a copy from the device on the stream;
 * recorder_fetched() waits for this copy, and not for later work. */
bool recorder_fetch(struct recorder *r, const void *from, size_t nbytes);
bool recorder_fetched(struct recorder *r, void *to, size_t nbytes);

#endif
