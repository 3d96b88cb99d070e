/* bundle_pick.c - finds a device's code object in an offload bundle */
#include "bundle_pick.h"

#include "../../base/bundle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum sim_bundle_status fail(char *why, enum sim_bundle_status status,
                                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum sim_bundle_status fail(char *why, enum sim_bundle_status status,
                                   const char *format, ...)
{
    va_list args;

    if (why) {
        va_start(args, format);
        vsnprintf(why, 256, format, args);
        va_end(args);
    }
    return status;
}

/* A native entry before a generic one, the first of each. */
static enum sim_bundle_status pick_plain(const struct sim_device *device,
                                         const uint8_t *image, size_t size,
                                         const void **elf, size_t *nbytes,
                                         char *why)
{
    struct bundle bundle;
    struct bundle_entry entry;
    char target[BUNDLE_TARGET_MAX];
    bool have_generic = false;

    if (!bundle_open(&bundle, image, size))
        return fail(why, SIM_BUNDLE_CORRUPT, "%s", bundle.message);
    while (bundle_next(&bundle, &entry)) {
        bool generic;

        if (!entry.nbytes || !bundle_entry_target(&entry, target) ||
            !sim_device_accepts_id(device, target, NULL))
            continue;
        generic = strstr(target, "-generic") != NULL;
        if (!generic || !have_generic) {
            *elf = entry.data;
            *nbytes = entry.nbytes;
        }
        if (!generic)
            return SIM_BUNDLE_OK;
        have_generic = true;
    }
    if (bundle.message)
        return fail(why, SIM_BUNDLE_CORRUPT, "%s", bundle.message);
    if (have_generic)
        return SIM_BUNDLE_OK;
    return fail(why, SIM_BUNDLE_NO_ENTRY,
                "none of the bundle's %llu entries is for %s",
                (unsigned long long)bundle.nentries, device->target_id);
}

enum sim_bundle_status sim_bundle_pick(const struct sim_device *device,
                                       const void *image, size_t size,
                                       const void **elf, size_t *nbytes,
                                       void **expanded, char why[256])
{
    enum sim_bundle_status status;
    char error[BUNDLE_ERROR_MAX];
    unsigned char *plain;
    size_t plain_nbytes;

    *expanded = NULL;
    switch (bundle_kind(image, size)) {
    case BUNDLE_NONE:
        return SIM_BUNDLE_NONE;
    case BUNDLE_PLAIN:
        return pick_plain(device, image, size, elf, nbytes, why);
    case BUNDLE_COMPRESSED:
        break;
    }
    if (!bundle_expand(image, size, &plain, &plain_nbytes, NULL, error))
        return fail(why, SIM_BUNDLE_CORRUPT, "%s", error);
    status = pick_plain(device, plain, plain_nbytes, elf, nbytes, why);
    if (status == SIM_BUNDLE_OK)
        *expanded = plain;
    else
        free(plain);
    return status;
}
