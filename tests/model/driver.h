/* driver.h - calls of HIP and CUDA that kpack does not wrap */
#ifndef MODEL_DRIVER_H
#define MODEL_DRIVER_H

#include "fault.h"

#include <kpack.h>

/* Copies from one device's memory to another's, when both have done their
 * work; done when it returns. */
bool driver_copy_peer(const kpk_device *to_device, void *to,
                      const kpk_device *from_device, const void *from,
                      size_t nbytes, struct fault *fault);

#endif
