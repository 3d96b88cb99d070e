/* driver.h - calls of HIP and CUDA that kpack does not wrap */
#ifndef MODEL_DRIVER_H
#define MODEL_DRIVER_H

#include "error_text.h"

#include <kpack.h>

/* Copies from one device's memory to another's, when both have done their
 * work; done when it returns. */
bool driver_copy_peer(const kpk_device *to_device, void *to,
                      const kpk_device *from_device, const void *from,
                      size_t nbytes, struct fault *fault);

/*
 * Launches recorded once, to be replayed as they were: HIP's and CUDA's graphs.
 * A recorder has a stream, on which launches are recorded and replayed.
 */
struct recorder;

/* NULL where the driver cannot, or memory is lacking: plain launches do. */
struct recorder *recorder_open(const kpk_device *device);
void recorder_close(struct recorder *r);
void *recorder_stream(const struct recorder *r);
/* Launches between recorder_start() and recorder_end() are recorded and not
 * run; the previous recording is dropped. False if the driver refuses. */
bool recorder_start(struct recorder *r);
bool recorder_end(struct recorder *r);
bool recorder_replay(struct recorder *r);
/* Copies from the device when all that the stream has until now is done;
 * recorder_fetched() waits for that, and for nothing that comes behind. */
bool recorder_fetch(struct recorder *r, const void *from, size_t nbytes);
bool recorder_fetched(struct recorder *r, void *to, size_t nbytes);

#endif
