/* kernel_symbol.c - the name of a kernel, from the loaded image that holds it
 *
 * ROCr loads a code object as one image, from the ELF header on. The dynamic
 * symbol table in it has each descriptor as NAME.kd. Nothing in an image is
 * relied on: what leads out of it ends the search.
 */
#include "kernel_symbol.h"

#include "../base/allocation.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, MACHINE_AMDGPU = 224, MAX_SYMBOLS = 1 << 20 };

struct image {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t symbols, strings, nstrings;
};

static bool copy_out(const struct image *im, uint64_t at, void *to, uint64_t n)
{
    if (at > im->size || n > im->size - at)
        return false;
    memcpy(to, im->bytes + at, n);
    return true;
}

/* The image starts on a page, at an ELF header, at or below the descriptor. */
static bool find_image(uint64_t descriptor, struct image *im, uint64_t *base)
{
    const struct sim_alloc *a = sim_mem_find(descriptor);
    uint64_t at;
    Elf64_Ehdr h;

    if (!a || a->freed)
        return false;
    at = (descriptor - a->base) & ~(uint64_t)(PAGE - 1);
    for (;; at -= PAGE) {
        im->bytes = a->bytes + at;
        im->size = a->size - at;
        if (copy_out(im, 0, &h, sizeof(h)) &&
            memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
            h.e_machine == MACHINE_AMDGPU) {
            *base = a->base + at;
            return true;
        }
        if (at == 0)
            return false;
    }
}

static bool find_dynamic(const struct image *im, Elf64_Phdr *dynamic)
{
    Elf64_Ehdr h;
    unsigned i;

    if (!copy_out(im, 0, &h, sizeof(h)))
        return false;
    for (i = 0; i < h.e_phnum; i++)
        if (copy_out(im, h.e_phoff + i * sizeof(*dynamic), dynamic,
                     sizeof(*dynamic)) &&
            dynamic->p_type == PT_DYNAMIC)
            return true;
    return false;
}

static bool read_dynamic(struct image *im)
{
    Elf64_Phdr dynamic;
    Elf64_Dyn d;
    uint64_t at;

    if (!find_dynamic(im, &dynamic))
        return false;
    for (at = dynamic.p_vaddr; copy_out(im, at, &d, sizeof(d)); at += sizeof(d))
        switch (d.d_tag) {
        case DT_NULL:
            return im->symbols && im->nstrings;
        case DT_SYMTAB:
            im->symbols = d.d_un.d_ptr;
            break;
        case DT_STRTAB:
            im->strings = d.d_un.d_ptr;
            break;
        case DT_STRSZ:
            im->nstrings = d.d_un.d_val;
            break;
        default:
            break;
        }
    return false;
}

static bool copy_name(const struct image *im, uint32_t at, char *name,
                      size_t nname)
{
    const char *text;
    size_t n;

    if (at >= im->nstrings || im->strings > im->size ||
        im->nstrings > im->size - im->strings)
        return false;
    text = (const char *)im->bytes + im->strings + at;
    n = strnlen(text, im->nstrings - at);
    if (n > 3 && memcmp(text + n - 3, ".kd", 3) == 0)
        n -= 3;
    snprintf(name, nname, "%.*s", (int)n, text);
    return n > 0;
}

bool thunk_kernel_name(uint64_t descriptor, char *name, size_t nname)
{
    struct image im = {0};
    uint64_t base, i;
    Elf64_Sym s;
    bool found = false;

    name[0] = '\0';
    sim_mem_pin();
    if (find_image(descriptor, &im, &base) && read_dynamic(&im))
        /* The table ends where its strings begin, or at a bad index. */
        for (i = 1; i < MAX_SYMBOLS && !found &&
                    copy_out(&im, im.symbols + i * sizeof(s), &s, sizeof(s)) &&
                    s.st_name < im.nstrings;
             i++)
            if (base + s.st_value == descriptor)
                found = copy_name(&im, s.st_name, name, nname);
    sim_mem_unpin();
    return found;
}
