/* elf_view.c - finds the bytes of a code object while it is loaded */
#include "elf_view.h"

#include "allocation.h"

#include <stdarg.h>
#include <stdio.h>

enum sim_load_status sim_load_fail(struct loader *l,
                                   enum sim_load_status status,
                                   const char *format, ...)
{
    va_list args;

    if (l->why) {
        va_start(args, format);
        vsnprintf(l->why, 256, format, args);
        va_end(args);
    }
    return status;
}

const uint8_t *sim_load_at_file(const struct loader *l, uint64_t offset,
                                uint64_t n)
{
    if (offset > l->size || n > l->size - offset)
        return NULL;
    return l->file + offset;
}

uint8_t *sim_load_at_image(const struct loader *l, uint64_t vaddr, uint64_t n)
{
    uint32_t i;

    for (i = 0; i < l->nload; i++)
        if (vaddr >= l->load[i].p_vaddr &&
            vaddr - l->load[i].p_vaddr < l->load[i].p_memsz &&
            n <= l->load[i].p_memsz - (vaddr - l->load[i].p_vaddr))
            return l->object->segments[i]->bytes + (vaddr - l->load[i].p_vaddr);
    return NULL;
}

uint64_t sim_load_address(const struct loader *l, uint64_t vaddr)
{
    return l->object->segments[0]->base - l->load[0].p_vaddr + vaddr;
}
