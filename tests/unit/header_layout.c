/* header_layout.c - a module's layout, from its public description alone */
#include "header_layout.h"

static uint64_t fnv(uint64_t h, const char *data, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        h = (h ^ (unsigned char)data[i]) * 0x100000001b3u;
    return h;
}

static uint64_t with_kernel(uint64_t h, const kpk_module *module, size_t k)
{
    kpk_kernel_decl kernel = {0};

    (void)kpk_module_kernel(module, k, &kernel);
    h = fnv(h, kernel.name, strlen(kernel.name) + 1);
    for (size_t a = 0; a < kernel.nargs; a++) {
        char words[2 * sizeof(uint32_t)];
        uint32_t offset, size;
        kpk_arg_decl arg = {0};

        (void)kpk_module_arg(module, k, a, &arg);
        offset = (uint32_t)arg.offset;
        size = (uint32_t)arg.nbytes;
        memcpy(words, &offset, 4);
        memcpy(words + 4, &size, 4);
        h = fnv(h, words, sizeof(words));
    }
    return h;
}

uint64_t header_layout(const kpk_module *module)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t k = 0; k < kpk_module_kernel_count(module); k++)
        h = with_kernel(h, module, k);
    return h;
}
