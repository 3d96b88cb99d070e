/* loader.h - loads AMDGPU ELF code objects into simulated memory
 *
 * Accepts and refuses by the rules of the real loader: ELF identification,
 * target ID against the device (features, generic targets), relocations. A
 * file that is truncated or lies about its offsets is refused, never read
 * outside its bounds when the size is known.
 */
#ifndef SIM_BASE_LOADER_H
#define SIM_BASE_LOADER_H

#include "loaded_object.h"

/*
 * Loads an ELF of `size` bytes (SIZE_MAX if unknown: the headers say) for one
 * device. On failure `*out` is NULL and `why` (may be NULL) holds a sentence.
 */
enum sim_load_status sim_code_object_load(struct sim_device *device,
                                          const void *elf, size_t size,
                                          struct sim_code_object **out,
                                          char why[256]);

#endif
