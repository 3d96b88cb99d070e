/* import_file.c - the code objects in one file of a tree
 *
 * A file is what its first bytes say: an AMDGPU ELF, a cubin, PTX, a bundle, an
 * offload binary, an archive of AMD's, or an ELF of the host with sections of
 * these or a reference to such archives. Known containers that kpack does not
 * read are refused, with advice. Other files are passed over, unless their
 * names claim that they hold code objects.
 */
#include "pack/import_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kpak.h"
#include "base/ptx.h"
#include "pack/import_archive.h"
#include "pack/import_bundle.h"
#include "pack/import_host_elf.h"
#include "pack/import_library.h"
#include "util/alloc_or_exit.h"
#include "util/file.h"

/* An ELF file for a GPU, by its machine; anything of the host is not. */
static bool is_gpu_elf(const unsigned char *data, size_t nbytes)
{
    enum { MACHINE = 18, OF_CUDA = 190, OF_AMDGPU = 224 };

    return nbytes < MACHINE + 2 ||
           (data[MACHINE + 1] == 0 &&
            (data[MACHINE] == OF_AMDGPU || data[MACHINE] == OF_CUDA));
}

static bool is_elf(const unsigned char *data, size_t nbytes)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F'};

    return nbytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* A library that refers to AMD's archives. Its own sections for code are zeros,
 * and its archives are looked up after all files have been read. A library may
 * have several names, like x.so and x.so.1, each of which is looked up. */
static bool is_library(const struct import_found *f, const unsigned char *data,
                       size_t nbytes)
{
    struct hipk hipk;
    enum hipk_kind kind;

    if (!is_elf(data, nbytes))
        return false;
    kind = hipk_open(&hipk, data, nbytes);
    if (kind == HIPK_MOVED) {
        import_library(f->in, f->place, &hipk);
        return true;
    }
    if (kind == HIPK_DAMAGED && errno == ENOMEM)
        alloc_none();
    if (kind == HIPK_DAMAGED)
        import_bad(f->in, f->place->file, "%s; copy the library again",
                   hipk.error);
    hipk_close(&hipk);
    return kind == HIPK_DAMAGED;
}

/* Told by the first bytes or by the name. An archive with the name alone is
 * damaged. */
static bool is_archive(const char *file, const unsigned char *data,
                       size_t nbytes)
{
    const char *dot = strrchr(file, '.');

    return kpak_is(data, nbytes) || (dot && strcmp(dot, ".kpack") == 0);
}

/* How much is read to recognize a file; comments before PTX are shorter. */
enum { START_NBYTES = 1 << 20 };

/* A tree may hold large files without code, so only their beginnings are
 * read. */
static bool may_hold_code(struct import *in, const char *file)
{
    static unsigned char start[START_NBYTES];
    const struct import_foreign *known;
    char error[FILE_ERROR_MAX];
    size_t n;

    if (import_ending_of(file))
        return true;
    if (!file_read_start(file, start, sizeof(start), &n, error)) {
        import_bad(in, file, "%s", error);
        return false;
    }
    known = import_find_foreign(start, n);
    return import_is_bundle(start, n) || is_elf(start, n) ||
           kpak_is(start, n) || (known && known->holds_code) ||
           ptx_is(start, n);
}

void import_file(struct import *in, const struct import_place *place,
                 const char *original)
{
    struct import_found f = {in, place, place->module, ""};
    const struct import_foreign *known;
    unsigned char *data;
    size_t nbytes;
    char error[FILE_ERROR_MAX];

    if (!may_hold_code(in, place->file))
        return;
    if (!file_read(place->file, IMPORT_FILE_NBYTES_MAX, &data, &nbytes,
                   error)) {
        import_bad(in, place->file, "%s", error);
        return;
    }
    known = import_find_foreign(data, nbytes);
    if (is_library(&f, data, nbytes))
        ; /* import_libraries() follows it */
    else if (original &&
             (import_is_bundle(data, nbytes) || is_elf(data, nbytes) ||
              kpak_is(data, nbytes) || ptx_is(data, nbytes)))
        fprintf(stderr, "%s: note: passed over, for %s is there\n", place->file,
                original);
    else if (import_is_bundle(data, nbytes))
        import_bundles(&f, data, nbytes, place->module);
    else if (is_archive(place->file, data, nbytes))
        import_archive(in, place, data, nbytes);
    else if (is_elf(data, nbytes) && !is_gpu_elf(data, nbytes))
        import_host_elf(&f, data, nbytes);
    else if (known && known->of_host)
        import_host(in, place->file, known->message);
    else
        import_image(&f, data, nbytes, "");
    free(data);
}
