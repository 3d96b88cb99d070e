/* build.h - what a module is made of: the words of `kpack-gen module`
 *
 *   TARGET=FILE      its code object for a target; one at least
 *   table=FILE.csv   a configuration table beside its source
 *   ir=FILE.ll       its source's IR, with debug metadata (read/ir.h)
 *   types=FILE.csv   what types are called on the host (write/host_type.h)
 *   aliases=FILE.csv second names of kernels (alias.h)
 *   taken=HEADER     a header whose names no launcher may have
 */
#ifndef KPK_GEN_BUILD_H
#define KPK_GEN_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "pack/config_table.h"
#include "pack/contents.h"
#include "read/csv.h"
#include "read/ir.h"

struct build {
    const char *pack, *module;
    struct codeobj **objects; /* [nobjects], sorted by target */
    size_t nobjects;
    const struct codeobj *reference; /* one of `objects`, see objects_agree.h */
    struct config_table **configs;   /* [nconfigs], by file */
    size_t nconfigs;
    struct ir *ir; /* NULL without one; types and aliases, too */
    struct csv *types, *aliases;
    char **taken; /* [ntaken], the headers' text less comments */
    size_t ntaken;

    /* The module's part of the pack, made from the fields above. */
    struct pack_part part;
    struct pack_module only; /* of the part */
    struct pack_object *contents;
    const struct pack_object **object_list;
    const struct pack_table **table_list;
};

/*
 * build_read() reads what words name and fills the part. False after it has
 * reported a fault on stderr, as `FILE: what`. Free it in either case.
 */
bool build_read(struct build *b, char *const *words, size_t nwords);
void build_free(struct build *b);

#endif
