/* records.c - rows of the generated tables, one function a record */
#include "write/records.h"

#include <stdlib.h>

void record_write_top(FILE *f, const char *what, const char *name)
{
    fprintf(f,
            "/* Written by kpack-gen; do not edit. The tables of %s %s. */\n"
            "#include \"kpack/format.h\"\n\n"
            "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n",
            what, name);
}

void record_write_arg(FILE *f, uint32_t name, const struct codeobj_arg *arg)
{
    static const char *const kinds[] = {
        [KPK_ARG_BY_VALUE] = "KPK_ARG_BY_VALUE",
        [KPK_ARG_GLOBAL_BUFFER] = "KPK_ARG_GLOBAL_BUFFER",
        [KPK_ARG_DYNAMIC_SHARED_POINTER] = "KPK_ARG_DYNAMIC_SHARED_POINTER",
        [KPK_ARG_OTHER] = "KPK_ARG_OTHER",
        [KPK_ARG_UNKNOWN] = "KPK_ARG_UNKNOWN",
    };

    fprintf(f, "    {%u, %u, %u, %s},\n", (unsigned)name, (unsigned)arg->offset,
            (unsigned)arg->size, kinds[arg->kind]);
}

void record_write_attrs(FILE *f, const struct kpk_kernel_attrs *a)
{
    fprintf(f,
            "    {%u, %u, %u, %u, %u, {%u, %u, %u}, %u, %u, %u, %u, %u, "
            "%u, %u, %u, %u, 0, %u},\n",
            (unsigned)a->kernarg_nbytes, (unsigned)a->kernarg_align,
            (unsigned)a->lds_nbytes, (unsigned)a->scratch_nbytes,
            (unsigned)a->max_block, (unsigned)a->reqd_block[0],
            (unsigned)a->reqd_block[1], (unsigned)a->reqd_block[2], a->vgprs,
            a->agprs, a->sgprs, a->vgpr_spills, a->sgpr_spills, a->wave_size,
            a->uses_dynamic_stack, a->has_hidden_args, a->waits,
            (unsigned)a->least_shared_nbytes);
}

void record_write_sha256(FILE *f, const uint8_t sha256[32])
{
    for (size_t i = 0; i < 32; i++)
        fprintf(f, "%s0x%02x",
                i == 0  ? ""
                : i % 8 ? ", "
                        : ",\n      ",
                sha256[i]);
}

void record_write_column(FILE *f, uint32_t name, enum kpk_cell_type type)
{
    static const char *const types[] = {
        [KPK_CELL_INT] = "KPK_CELL_INT",
        [KPK_CELL_FLOAT] = "KPK_CELL_FLOAT",
        [KPK_CELL_STRING] = "KPK_CELL_STRING",
    };

    fprintf(f, "    {%u, %s},\n", (unsigned)name, types[type]);
}

void record_write_cell(FILE *f, enum kpk_cell_type type, const char *cell,
                       uint32_t string)
{
    switch (type) {
    case KPK_CELL_INT: /* C has no literal for INT64_MIN */
        if (strtoll(cell, NULL, 10) == INT64_MIN)
            fputs("{.i = INT64_MIN}", f);
        else
            fprintf(f, "{.i = %lld}", strtoll(cell, NULL, 10));
        break;
    case KPK_CELL_FLOAT:
        fprintf(f, "{.f = %a}", strtod(cell, NULL));
        break;
    case KPK_CELL_STRING:
        fprintf(f, "{.s = %u}", (unsigned)string);
        break;
    }
}
