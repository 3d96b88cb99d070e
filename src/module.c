/* module.c - reads the constant tables of packs and modules
 *
 * The tables come out of kpack's own generator and are linked in, so they are
 * trusted; what is checked is that they are of this version.
 */
#include "module.h"
#include "error.h"

#include <string.h>

_Static_assert((int)KPK_KIND_VALUE == (int)KPK_ARG_BY_VALUE &&
                   (int)KPK_KIND_BUFFER == (int)KPK_ARG_GLOBAL_BUFFER &&
                   (int)KPK_KIND_DYNAMIC_SHARED ==
                       (int)KPK_ARG_DYNAMIC_SHARED_POINTER &&
                   (int)KPK_KIND_OTHER == (int)KPK_ARG_OTHER &&
                   (int)KPK_KIND_UNKNOWN == (int)KPK_ARG_UNKNOWN,
               "kpack.h and format.h number argument kinds alike");

const char *kpk_i_string(const kpk_module *module, uint32_t offset)
{
    return module->strings + offset;
}

/* Name number i of a sorted table, for search(). */
typedef const char *name_at(const void *table, size_t i);

static bool search(const void *table, size_t n, name_at *at, const char *name,
                   size_t *out)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(at(table, middle), name);

        if (order == 0) {
            *out = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static const char *pack_name_at(const void *table, size_t i)
{
    return kpk_module_name(((const kpk_pack *)table)->modules[i]);
}

static const char *kernel_name_at(const void *table, size_t i)
{
    const kpk_module *module = table;

    return kpk_i_string(module, module->kernels[i].name);
}

static const char *object_name_at(const void *table, size_t i)
{
    const kpk_module *module = table;

    return kpk_i_string(module, module->objects[i].target);
}

const char *kpk_pack_name(const kpk_pack *pack)
{
    return pack ? pack->name : NULL;
}

size_t kpk_pack_module_count(const kpk_pack *pack)
{
    return pack ? pack->nmodules : 0;
}

const kpk_module *kpk_pack_module(const kpk_pack *pack, size_t i)
{
    return pack && i < pack->nmodules ? pack->modules[i] : NULL;
}

const kpk_module *kpk_pack_find(const kpk_pack *pack, const char *name)
{
    size_t i;

    if (!pack || !name || !search(pack, pack->nmodules, pack_name_at, name, &i))
        return NULL;
    while (i > 0 && strcmp(pack_name_at(pack, i - 1), name) == 0)
        i--;
    return pack->modules[i];
}

const char *kpk_module_name(const kpk_module *module)
{
    return module ? kpk_i_string(module, module->name) : NULL;
}

size_t kpk_module_kernel_count(const kpk_module *module)
{
    return module ? module->nkernels : 0;
}

size_t kpk_module_object_count(const kpk_module *module)
{
    return module ? module->nobjects : 0;
}

static kpk_status check_number(const kpk_module *module, const char *what,
                               size_t i, size_t n)
{
    if (i < n)
        return KPK_OK;
    return kpk_i_fail(KPK_ERR_ARG,
                      "module %s has %zu %s, so none has the number %zu",
                      kpk_module_name(module), n, what, i);
}

const char *kpk_i_arg_text(const kpk_module *module,
                           const struct kpk_kernel_desc *desc, uint32_t entry,
                           size_t number, char text[KPK_I_ARG_TEXT_NBYTES])
{
    const char *name =
        kpk_i_string(module, module->args[desc->first_arg + entry].name);
    struct kpk_i_text to = {text, KPK_I_ARG_TEXT_NBYTES};

    kpk_i_append(&to, "argument %zu", number);
    if (*name)
        kpk_i_append(&to, " \"%s\"", name);
    return text;
}

/* An entry named "pad" fills a slot of a hand-written kernel. There is one
 * behind nearly every argument, so the name repeats, which parameters of a
 * compiled kernel cannot: one of those that is called pad is an argument. */
bool kpk_i_arg_is_padding(const kpk_module *module,
                          const struct kpk_kernel_desc *desc, uint32_t arg)
{
    const struct kpk_arg_desc *args = module->args + desc->first_arg;

    if (args[arg].kind != KPK_ARG_BY_VALUE ||
        args[arg].size > KPK_I_MAX_PADDING ||
        strcmp(kpk_i_string(module, args[arg].name), "pad") != 0)
        return false;
    for (uint32_t i = 0; i < desc->nargs; i++) {
        if (i != arg && strcmp(kpk_i_string(module, args[i].name), "pad") == 0)
            return true;
    }
    return false;
}

kpk_status kpk_module_kernel(const kpk_module *module, size_t kernel,
                             kpk_kernel_decl *out)
{
    const struct kpk_kernel_desc *desc;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_number(module, "kernels", kernel, module->nkernels);
    if (st != KPK_OK)
        return st;
    desc = &module->kernels[kernel];
    out->name = kpk_i_string(module, desc->name);
    out->nargs = desc->nargs;
    out->nargs_given = desc->nargs;
    out->packed_nbytes = desc->explicit_nbytes;
    for (uint32_t i = 0; i < desc->nargs; i++)
        out->nargs_given -= kpk_i_arg_is_padding(module, desc, i);
    return KPK_OK;
}

kpk_status kpk_module_find_kernel(const kpk_module *module, const char *name,
                                  size_t *out)
{
    size_t i;

    KPK_I_NEED(module);
    KPK_I_NEED(name);
    KPK_I_NEED(out);
    if (!search(module, module->nkernels, kernel_name_at, name, &i))
        return kpk_i_fail(
            KPK_ERR_NO_KERNEL, "module %s has no kernel \"%s\" among its %u",
            kpk_module_name(module), name, (unsigned)module->nkernels);
    *out = i;
    return KPK_OK;
}

kpk_status kpk_module_arg(const kpk_module *module, size_t kernel, size_t arg,
                          kpk_arg_decl *out)
{
    const struct kpk_kernel_desc *desc;
    const struct kpk_arg_desc *from;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_number(module, "kernels", kernel, module->nkernels);
    if (st != KPK_OK)
        return st;
    desc = &module->kernels[kernel];
    if (arg >= desc->nargs)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kernel %s has %u arguments, so none has the number "
                          "%zu",
                          kpk_i_string(module, desc->name),
                          (unsigned)desc->nargs, arg);
    from = &module->args[desc->first_arg + arg];
    out->name = kpk_i_string(module, from->name);
    out->offset = from->offset;
    out->nbytes = from->size;
    out->kind = (kpk_kind)from->kind;
    out->is_padding = kpk_i_arg_is_padding(module, desc, (uint32_t)arg);
    return KPK_OK;
}

kpk_status kpk_module_object_info(const kpk_module *module, size_t object,
                                  kpk_object *out)
{
    const struct kpk_code_object *from;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_number(module, "code objects", object, module->nobjects);
    if (st != KPK_OK)
        return st;
    from = &module->objects[object];
    out->target = kpk_i_string(module, from->target);
    out->cov = from->cov;
    out->data = NULL;
    out->nbytes = (size_t)from->blob->nbytes;
    out->sha256 = from->sha256;
    out->stored_nbytes = (size_t)from->blob->stored_nbytes;
    return KPK_OK;
}

kpk_status kpk_module_find_object(const kpk_module *module, const char *target,
                                  size_t *out)
{
    char held[1024];
    struct kpk_i_text text = {held, sizeof(held)};
    size_t i;

    KPK_I_NEED(module);
    KPK_I_NEED(target);
    KPK_I_NEED(out);
    if (search(module, module->nobjects, object_name_at, target, &i)) {
        *out = i;
        return KPK_OK;
    }
    held[0] = '\0';
    for (i = 0; i < module->nobjects; i++)
        kpk_i_append(&text, " %s", object_name_at(module, i));
    return kpk_i_fail(KPK_ERR_NO_TARGET,
                      "module %s has no code object for exactly \"%s\"; it "
                      "has:%s",
                      kpk_module_name(module), target, held);
}

void kpk_i_attrs(const struct kpk_kernel_attrs *from, kpk_attrs *to)
{
    to->kernarg_nbytes = from->kernarg_nbytes;
    to->kernarg_align = from->kernarg_align;
    to->lds_nbytes = from->lds_nbytes;
    to->scratch_nbytes = from->scratch_nbytes;
    to->max_block = from->max_block;
    memcpy(to->reqd_block, from->reqd_block, sizeof(to->reqd_block));
    to->wave_size = from->wave_size;
    to->vgprs = from->vgprs;
    to->agprs = from->agprs;
    to->sgprs = from->sgprs;
    to->vgpr_spills = from->vgpr_spills;
    to->sgpr_spills = from->sgpr_spills;
    to->dynamic_stack = from->uses_dynamic_stack;
    to->hidden_args = from->has_hidden_args;
    to->waits = from->waits;
}

kpk_status kpk_module_attrs(const kpk_module *module, size_t kernel,
                            size_t object, kpk_attrs *out)
{
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = check_number(module, "kernels", kernel, module->nkernels);
    if (st == KPK_OK)
        st = check_number(module, "code objects", object, module->nobjects);
    if (st == KPK_OK)
        kpk_i_attrs(&module->objects[object].attrs[kernel], out);
    return st;
}

kpk_status kpk_i_module_check(const kpk_module *module)
{
    if (!module)
        return kpk_i_fail(KPK_ERR_ARG, "a module pointer is NULL");
    if (module->format != KPK_FORMAT_VERSION)
        return kpk_i_fail(KPK_ERR_FORMAT,
                          "a module's tables are of format %u, but this "
                          "library reads format %u. Build the pack and "
                          "libkpack.a with the same release of kpack",
                          (unsigned)module->format,
                          (unsigned)KPK_FORMAT_VERSION);
    return KPK_OK;
}
