/* object_image.c - a code object's bytes as the driver takes them
 *
 * HIP checks little before it parses an image, so the runtime looks first
 * whether the bytes can be one.
 */
#include "object_image.h"
#include "error.h"
#include "module.h"
#include "select_sm.h"
#include "unpack.h"

/* Why the bytes cannot be an ELF file for the machine; NULL if they can. */
static const char *elf_fault(const unsigned char *data, uint64_t nbytes,
                             bool cuda)
{
    /* ELF64, little-endian, current version; OS ABI of HSA or CUDA's two. */
    static const unsigned char ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    enum { HEADER_NBYTES = 64, OSABI_AT = 7, MACHINE_AT = 18 };
    enum { OSABI_HSA = 64, OSABI_CUDA = 0x33, OSABI_CUDA_13 = 0x41 };
    enum { MACHINE_AMDGPU = 224, MACHINE_CUDA = 190 };

    if (nbytes < HEADER_NBYTES)
        return "is shorter than an ELF header";
    if (memcmp(data, ident, sizeof(ident)) != 0 ||
        (cuda ? data[OSABI_AT] != OSABI_CUDA && data[OSABI_AT] != OSABI_CUDA_13
              : data[OSABI_AT] != OSABI_HSA))
        return cuda ? "does not start as a cubin does"
                    : "does not start as an ELF file for HSA does";
    if (data[MACHINE_AT] != (cuda ? MACHINE_CUDA : MACHINE_AMDGPU) ||
        data[MACHINE_AT + 1] != 0)
        return cuda ? "is an ELF file for another machine than CUDA"
                    : "is an ELF file for another machine than AMDGPU";
    return NULL;
}

/* The driver takes PTX as a string, so a NUL stands behind it. */
static const char *ptx_fault(const unsigned char *data, uint64_t nbytes)
{
    if (nbytes < 8)
        return "is shorter than PTX can be";
    return memchr(data, 0, (size_t)nbytes) ? "has a byte 0, which PTX has not"
                                           : NULL;
}

kpk_status kpk_i_object_image(const kpk_module *module, size_t object,
                              const unsigned char **out)
{
    const struct kpk_code_object *from = &module->objects[object];
    const unsigned char *data = NULL;
    const char *fault = NULL;
    struct kpk_i_sm sm;
    kpk_status st = kpk_i_object_bytes(module, object, &data);

    if (st != KPK_OK)
        return st;
    (void)kpk_i_sm_parse(kpk_i_string(module, from->target), &sm);
    if (memcmp(from->sha256, from->blob->sha256, sizeof(from->sha256)) != 0)
        fault = "is another one than the module's table was made for";
    else if (sm.is_ptx)
        fault = ptx_fault(data, from->blob->nbytes);
    else
        fault = elf_fault(data, from->blob->nbytes, sm.number != 0);
    if (fault)
        return kpk_i_fail(KPK_ERR_FORMAT,
                          "the code object of module %s for %s (%llu bytes) "
                          "%s. The program file is damaged, or the pack was "
                          "built from something else than code objects",
                          kpk_module_name(module),
                          kpk_i_string(module, from->target),
                          (unsigned long long)from->blob->nbytes, fault);
    *out = data;
    return KPK_OK;
}
