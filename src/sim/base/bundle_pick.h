/* bundle_pick.h - finds a device's code object in an offload bundle
 *
 * clang wraps the code objects of several targets into a bundle, plain
 * ("__CLANG_OFFLOAD_BUNDLE__") or compressed ("CCOB", versions 1 to 3).
 */
#ifndef SIM_BASE_BUNDLE_PICK_H
#define SIM_BASE_BUNDLE_PICK_H

#include "processor.h"

#include <stddef.h>

enum sim_bundle_status {
    SIM_BUNDLE_OK,
    SIM_BUNDLE_NONE,     /* not a bundle: something else */
    SIM_BUNDLE_NO_ENTRY, /* none of the entries fits the device */
    SIM_BUNDLE_CORRUPT,
    SIM_BUNDLE_NO_MEMORY
};

/*
 * Picks the entry for the device out of `size` bytes (SIZE_MAX if unknown): a
 * native one before a generic one, the first of each in the bundle's order. On
 * success [*elf, *elf + *nbytes) is the code object; it lies in the image or,
 * if that was compressed, in *expanded, which the caller frees. `why` as for
 * sim_code_object_load().
 */
enum sim_bundle_status sim_bundle_pick(const struct sim_device *device,
                                       const void *image, size_t size,
                                       const void **elf, size_t *nbytes,
                                       void **expanded, char why[256]);

#endif
