/* import_image.c - adds one code object to the import, or refuses it */
#include "pack/import_image.h"

#include <string.h>

#include "base/sha256.h"
#include "read/codeobj_read.h"
#include "util/alloc_or_exit.h"

/* Whether a label fits the code object. It may omit features, but not name
 * other ones. A cubin that does not record its suffix takes the label's:
 * sm_90a. */
static bool label_fits(const char *label, struct codeobj *co)
{
    const size_t n = strlen(label);
    const char *target = co->target;

    if (codeobj_is_nvidia(co))
        return n == 0 || codeobj_take_target(co, label);
    if (strncmp(label, target, n) != 0)
        return false;
    return n == 0 || target[n] == '\0' ||
           (target[n] == ':' && !strchr(label, ':'));
}

/* A module's name stands in the heads of its code objects, where tools look
 * for it: they take printable ASCII without blanks. */
static bool is_name(const char *module)
{
    enum { NAME_MAX_NBYTES = 1024 };
    size_t n = 0;

    while (module[n] > ' ' && module[n] <= '~')
        n++;
    return module[n] == '\0' && n > 0 && n < NAME_MAX_NBYTES;
}

static void add_object(const struct import_found *f, const unsigned char *data,
                       size_t nbytes, const char *entry)
{
    const char *label = f->place->label;
    struct import *in = f->in;
    char error[CODEOBJ_ERROR_MAX];
    struct codeobj *co = codeobj_parse(f->place->file, data, nbytes, error);
    struct import_object *object;

    if (!co) {
        import_bad(in, f->place->file, "%s%s", f->what, error);
        return;
    }
    if (!is_name(f->module)) {
        import_bad(in, f->place->file,
                   "rename it: a module's name is of printable ASCII "
                   "characters without blanks, 1,023 at most");
        codeobj_free(co);
        return;
    }
    if (!label_fits(label, co) || !label_fits(entry, co)) {
        import_bad(in, f->place->file, "%sis for %s, but labelled %s", f->what,
                   co->target, label_fits(label, co) ? entry : label);
        codeobj_free(co);
        return;
    }
    in->nbytes += nbytes;
    if (in->nbytes > IMPORT_TREE_NBYTES_MAX) {
        import_bad(in, f->place->file, "the tree has more than 4 GiB");
        codeobj_free(co);
        return;
    }
    in->objects = alloc_grow(in->objects, in->nobjects, sizeof(*in->objects));
    object = &in->objects[in->nobjects++];
    *object = (struct import_object){.place = *f->place, .object.co = co};
    object->place.module = f->module;
    sha256(co->data, co->nbytes, object->object.sha256);
}

/* ---- known formats that are not read ------------------------------------- */

const char import_no_fatbin[] =
    "NVIDIA's fat binary, which kpack does not read; take its parts out first "
    "(cuobjdump -xelf all -xptx all)";
static const char no_bitcode[] =
    "LLVM bitcode, not a code object; compile without -fgpu-rdc, or link the "
    "device code first";

static const struct import_foreign foreign[] = {
    {"\x50\xed\x55\xba", 4, true, false, import_no_fatbin},
    {"!<arch>\n", 8, true, true,
     "an archive; take its members out first (ar x)"},
    {"!<thin>\n", 8, true, true,
     "a thin archive, of the names of object files alone; import those"},
    {"BC\xc0\xde", 4, false, false, no_bitcode},
    {"\xde\xc0\x17\x0b", 4, false, false, no_bitcode},
    {"\x03\x02\x23\x07", 4, false, false,
     "SPIR-V, not a code object; compile it for a processor first"},
};

const struct import_foreign *import_find_foreign(const unsigned char *data,
                                                 size_t nbytes)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (nbytes >= foreign[i].nbytes &&
            memcmp(data, foreign[i].magic, foreign[i].nbytes) == 0)
            return &foreign[i];
    return NULL;
}

void import_image(const struct import_found *f, const unsigned char *data,
                  size_t nbytes, const char *target)
{
    const struct import_foreign *known = import_find_foreign(data, nbytes);

    if (known)
        import_bad(f->in, f->place->file, "%s%s", f->what, known->message);
    else
        add_object(f, data, nbytes, target);
}
