/* tree.c - writes an imported pack: a table and a data file for each kind */
#include "write/tree.h"

#include <stdlib.h>

#include "util/alloc_or_exit.h"
#include "util/output.h"
#include "write/pack_files.h"
#include "write/part.h"
#include "write/records.h"

static bool write_part(const char *folder, const struct pack_part *part)
{
    struct output c, bin;
    char *symbol, *name;
    bool ok;

    if (!output_open(&c, "%s/kind.%s.c", folder, part->name))
        return false;
    if (!output_open(&bin, "%s/kind.%s.bin", folder, part->name))
        return output_close(&c, false);
    symbol = alloc_text("%s_%s", part->pack, part->name);
    name = alloc_text("%s/%s", part->pack, part->name);
    part_write(c.f, bin.f, part);
    pack_write_table(c.f, symbol, name, part, 1);
    ok = output_close(&bin, true);
    ok &= output_close(&c, ok);
    free(symbol);
    free(name);
    return ok;
}

bool tree_write(const char *folder, const char *pack,
                const struct pack_part *parts, size_t nparts)
{
    struct output out;
    bool ok = true;

    for (size_t i = 0; ok && i < nparts; i++)
        ok = write_part(folder, &parts[i]);
    if (!ok || !output_open(&out, "%s/pack.c", folder))
        return false;
    record_write_top(out.f, "pack", pack);
    pack_write_table(out.f, pack, pack, parts, nparts);
    if (!output_close(&out, true) ||
        !output_open(&out, "%s/%s.h", folder, pack))
        return false;
    pack_write_import_header(out.f, pack, parts, nparts);
    if (!output_close(&out, true) ||
        !output_open(&out, "%s/%s_launch.h", folder, pack))
        return false;
    pack_write_launchers(out.f, pack, NULL, 0);
    if (!output_close(&out, true) || !output_open(&out, "%s/kinds.mk", folder))
        return false;
    fputs("KPACK_IMPORT_KINDS :=", out.f);
    for (size_t i = 0; i < nparts; i++)
        fprintf(out.f, " %s", parts[i].name);
    fputc('\n', out.f);
    return output_close(&out, true);
}
