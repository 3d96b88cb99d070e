/* import_bundle.c - the code objects in bundles and offload binaries */
#include "pack/import_bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/bundle.h"
#include "base/ptx.h"
#include "read/offload.h"
#include "util/alloc_or_exit.h"

/* The AMDGPU code objects of a plain bundle; 0 bytes of extent if it is
 * damaged, which has been said then. */
static size_t add_bundle(struct import_found *f, const unsigned char *data,
                         size_t nbytes)
{
    const char *where = f->what;
    struct bundle bundle;
    struct bundle_entry entry;
    size_t n = 0;

    if (bundle_open(&bundle, data, nbytes)) {
        while (bundle_next(&bundle, &entry)) {
            char target[BUNDLE_TARGET_MAX];

            if (!entry.nbytes || !bundle_entry_target(&entry, target))
                continue;
            n++;
            f->what = alloc_text("%sentry %.*s: ", where, (int)entry.id_nbytes,
                                 entry.id);
            import_image(f, entry.data, entry.nbytes, target);
        }
        f->what = where;
    }
    if (bundle.message)
        import_bad(f->in, f->place->file, "%s%s", where, bundle.message);
    else if (n == 0)
        import_bad(f->in, f->place->file,
                   "%sthe bundle has no code object for AMDGPU", where);
    return bundle.message ? 0 : bundle.extent;
}

/* The target of an image; PTX labelled sm_90 has target compute_90. */
static const char *label_of(const struct offload_image *image)
{
    const char *number =
        strncmp(image->target, "sm_", 3) == 0 ? image->target + 3 : NULL;

    return number && ptx_is(image->data, image->nbytes)
               ? alloc_text("compute_%s", number)
               : image->target;
}

/* The images for GPUs in an offload binary; returns its size, 0 if it is
 * damaged. */
static size_t add_offload(struct import_found *f, const unsigned char *data,
                          size_t nbytes, size_t *nimages)
{
    const char *where = f->what;
    struct offload offload;
    struct offload_image image;

    if (offload_open(&offload, data, nbytes)) {
        while (offload_next(&offload, &image)) {
            if (!image.nbytes || !offload_image_is_gpu(&image))
                continue;
            ++*nimages;
            f->what = alloc_text("%simage for %s: ", where, image.target);
            import_image(f, image.data, image.nbytes, label_of(&image));
        }
        f->what = where;
    }
    if (offload.message)
        import_bad(f->in, f->place->file, "%s%s", where, offload.message);
    return offload.message ? 0 : offload.nbytes;
}

/* How many zero bytes a stretch begins with. */
static size_t zeros(const unsigned char *data, size_t nbytes)
{
    size_t n = 0;

    while (n < nbytes && data[n] == 0)
        n++;
    return n;
}

/* Objects from number `first` on: the k-th code object for a target becomes
 * part of module NAME.k. If no target comes twice, all become module NAME. */
static void number_by_target(struct import *in, size_t first, const char *name)
{
    size_t *numbers = alloc_new(in->nobjects - first, sizeof(*numbers));
    bool any = false;

    for (size_t i = first; i < in->nobjects; i++)
        for (size_t k = i; k-- > first && !numbers[i - first];)
            if (strcmp(in->objects[k].object.co->target,
                       in->objects[i].object.co->target) == 0) {
                numbers[i - first] = numbers[k - first] + 1;
                any = true;
            }
    for (size_t i = first; i < in->nobjects; i++)
        in->objects[i].place.module =
            any ? alloc_text("%s.%zu", name, numbers[i - first]) : name;
    free(numbers);
}

/* Takes offload binaries one behind the other: each has another target's image,
 * or another source's. Returns the number of bytes taken; 0 at a damaged
 * one. */
static size_t add_offloads(struct import_found *f, const unsigned char *data,
                           size_t nbytes)
{
    const size_t first = f->in->nobjects;
    size_t at = 0, nimages = 0, used = 0;

    while (offload_is(data + at, nbytes - at)) {
        used = add_offload(f, data + at, nbytes - at, &nimages);
        if (used == 0)
            return 0;
        at += used;
        at += zeros(data + at, nbytes - at);
    }
    if (nimages == 0)
        import_bad(f->in, f->place->file,
                   "%sthe offload binary has no image for AMDGPU or NVIDIA",
                   f->what);
    number_by_target(f->in, first, f->module);
    return at;
}

bool import_is_bundle(const unsigned char *data, size_t nbytes)
{
    return bundle_kind(data, nbytes) != BUNDLE_NONE || offload_is(data, nbytes);
}

/* A bundle of any kind; returns how many bytes of the file it takes. */
static size_t add_any_bundle(struct import_found *f, const unsigned char *data,
                             size_t nbytes)
{
    char error[BUNDLE_ERROR_MAX];
    unsigned char *plain;
    size_t plain_nbytes, used;

    if (offload_is(data, nbytes))
        return add_offloads(f, data, nbytes);
    if (bundle_kind(data, nbytes) == BUNDLE_PLAIN)
        return add_bundle(f, data, nbytes);
    if (!bundle_expand(data, nbytes, &plain, &plain_nbytes, &used, error)) {
        import_bad(f->in, f->place->file, "%s%s", f->what, error);
        return 0;
    }
    if (add_bundle(f, plain, plain_nbytes) == 0)
        used = 0;
    free(plain);
    return used;
}

void import_bundles(struct import_found *f, const unsigned char *data,
                    size_t nbytes, const char *module)
{
    size_t at = zeros(data, nbytes), first = f->in->nobjects, n = 0, used;

    if (at == nbytes) {
        import_bad(f->in, f->place->file, "%sno bundle in it", f->what);
        return;
    }
    for (; at < nbytes;
         at += used + zeros(data + at + used, nbytes - at - used)) {
        if (!import_is_bundle(data + at, nbytes - at)) {
            import_bad(f->in, f->place->file,
                       "%sno bundle at byte %zu, but something else", f->what,
                       at);
            return;
        }
        f->module = alloc_text("%s.%zu", module, n++);
        used = add_any_bundle(f, data + at, nbytes - at);
        if (used == 0)
            return;
    }
    for (size_t i = first; n == 1 && i < f->in->nobjects; i++)
        f->in->objects[i].place.module = alloc_text(
            "%s%s", module, f->in->objects[i].place.module + strlen(f->module));
}
