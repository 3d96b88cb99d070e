/* select_object.c - which code object runs on which device
 *
 * The rules are the loader's (LLVM AMDGPUUsage, "Target ID", "Generic
 * processors"): the processor has to be the device's, or a generic one that
 * covers it, and every feature that the code object names has to have the
 * device's setting. select_sm.c has the rules for NVIDIA's processors. HIP
 * answers a wrong choice with one of four error numbers and no reason, so the
 * choice is made here, before HIP is asked.
 */
#include "select_object.h"
#include "base/target_table.h"
#include "error.h"
#include "module.h"
#include "select_sm.h"

#include <stdio.h>
#include <string.h>

/* Two exist; a future device may report others. */
#define MAX_FEATURES 4
/* No target ID is as long. Bounds what messages have to hold: a reason, which
 * may name a feature twice, 256 bytes. */
#define MAX_TARGET_NBYTES 96

struct name {
    const char *at;
    size_t nbytes;
};

struct feature {
    struct name name;
    char setting; /* '+' or '-' */
};

struct target {
    struct kpk_i_sm sm; /* NVIDIA's target, without features; number 0: AMD's */
    struct name processor;
    size_t nfeatures;
    struct feature features[MAX_FEATURES];
};

static const struct {
    const char *processor;
    const char *generic; /* "" if none covers it */
} covers[] = {
#define X(name, mach, major, minor, stepping, generic, ...) {#name, generic},
    KPK_PROCESSOR_TABLE(X)
#undef X
};

static bool same(struct name a, struct name b)
{
    return a.nbytes == b.nbytes && memcmp(a.at, b.at, a.nbytes) == 0;
}

static bool name_is(struct name a, const char *text)
{
    return same(a, (struct name){text, strlen(text)});
}

/* Takes the longest run of lower-case letters, digits and hyphens. */
static struct name take_name(const char **at)
{
    static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    struct name name = {*at, strspn(*at, set)};

    /* A trailing hyphen is a feature's setting. */
    while (name.nbytes && name.at[name.nbytes - 1] == '-')
        name.nbytes--;
    *at += name.nbytes;
    return name;
}

/* One name and its setting; false, at the end of the piece, if it is none. */
static bool take_feature(const char **at, struct feature *out)
{
    out->name = take_name(at);
    if (out->name.nbytes == 0 || (**at != '+' && **at != '-'))
        return false;
    out->setting = *(*at)++;
    return **at == '\0' || **at == ':';
}

/* Parses a target of NVIDIA; otherwise returns false with no features set. */
static bool parse_sm(const char *text, struct target *out)
{
    out->nfeatures = 0;
    if (!kpk_i_sm_parse(text, &out->sm))
        return false;
    out->processor = (struct name){text, strlen(text)};
    return true;
}

/* processor(:feature(+|-))*, or one of NVIDIA's, as a person or a pack writes
 * it. */
static bool parse(const char *text, struct target *out)
{
    const char *at = text;

    if (strlen(text) > MAX_TARGET_NBYTES)
        return false;
    if (parse_sm(text, out))
        return true;
    out->processor = take_name(&at);
    if (out->processor.nbytes == 0)
        return false;
    while (*at == ':') {
        at++;
        if (out->nfeatures == MAX_FEATURES ||
            !take_feature(&at, &out->features[out->nfeatures++]))
            return false;
    }
    return *at == '\0';
}

/* Parses a target as HIP reports it. Unknown or excess features are skipped,
 * because no code object names them yet. */
static void parse_reported(const char *text, struct target *out)
{
    const char *at = text;

    if (parse_sm(text, out))
        return;
    out->processor = (struct name){text, strcspn(text, ":")};
    for (at += out->processor.nbytes; *at == ':'; at += strcspn(at, ":")) {
        at++;
        if (out->nfeatures < MAX_FEATURES)
            out->nfeatures += take_feature(&at, &out->features[out->nfeatures]);
    }
}

static kpk_status parse_or_fail(const char *text, struct target *out)
{
    if (parse(text, out))
        return KPK_OK;
    *out = (struct target){.processor = {"", 0}};
    return kpk_i_fail(KPK_ERR_ARG,
                      "\"%.*s\" is no target ID. One looks like gfx1100, "
                      "gfx90a:sramecc+:xnack- or sm_90",
                      MAX_TARGET_NBYTES, text);
}

/* Parses a device's target; a device never reports PTX. */
static kpk_status parse_device(const char *text, struct target *out)
{
    kpk_status st = parse_or_fail(text, out);

    if (st == KPK_OK && out->sm.is_ptx)
        st = kpk_i_fail(KPK_ERR_ARG,
                        "\"%s\" names PTX, not a device. A device is sm_%u",
                        text, out->sm.number);
    return st;
}

static const struct feature *find_feature(const struct target *in,
                                          struct name name)
{
    for (size_t i = 0; i < in->nfeatures; i++) {
        if (same(in->features[i].name, name))
            return &in->features[i];
    }
    return NULL;
}

static const char *generic_of(struct name processor)
{
    for (size_t i = 0; i < sizeof(covers) / sizeof(covers[0]); i++) {
        if (name_is(processor, covers[i].processor))
            return covers[i].generic;
    }
    return "";
}

/* True if the device has each feature setting that the object names. */
static bool features_agree(const struct target *device,
                           const struct target *object, struct kpk_i_text *why)
{
    for (size_t i = 0; i < object->nfeatures; i++) {
        const struct feature *wanted = &object->features[i];
        const struct feature *found = find_feature(device, wanted->name);
        const struct name *name = &wanted->name;

        if (found && found->setting == wanted->setting)
            continue;
        if (found)
            kpk_i_append(why, "needs %.*s%c, the device has %.*s%c",
                         (int)name->nbytes, name->at, wanted->setting,
                         (int)name->nbytes, name->at, found->setting);
        else
            kpk_i_append(why, "needs %.*s%c, which the device does not report",
                         (int)name->nbytes, name->at, wanted->setting);
        return false;
    }
    return true;
}

/* "; sramecc+ as the device, xnack left as any". True if none is left. */
static bool tell_features(const struct target *device,
                          const struct target *object, struct kpk_i_text *why)
{
    bool all = true;

    for (size_t i = 0; i < device->nfeatures; i++) {
        const struct feature *has = &device->features[i];
        bool named = find_feature(object, has->name) != NULL;

        kpk_i_append(why, "%s%.*s", i ? ", " : "; ", (int)has->name.nbytes,
                     has->name.at);
        if (named)
            kpk_i_append(why, "%c as the device", has->setting);
        else
            kpk_i_append(why, " left as any");
        all = all && named;
    }
    return all;
}

static bool is_generic(struct name processor)
{
    static const char ending[] = "-generic";
    const size_t n = sizeof(ending) - 1;

    return processor.nbytes > n &&
           memcmp(processor.at + processor.nbytes - n, ending, n) == 0;
}

static kpk_fit fit(const struct target *device, const struct target *object,
                   struct kpk_i_text *why)
{
    const int n = (int)device->processor.nbytes;
    const char *name = device->processor.at;

    if (device->sm.number && object->sm.number)
        return kpk_i_sm_fit(&device->sm, &object->sm, why);
    if (same(device->processor, object->processor)) {
        if (!features_agree(device, object, why))
            return KPK_FIT_NONE;
        kpk_i_append(why, "exact processor");
        return tell_features(device, object, why) ? KPK_FIT_EXACT : KPK_FIT_ANY;
    }
    if (!is_generic(object->processor)) {
        kpk_i_append(why, "is for another processor than %.*s", n, name);
        return KPK_FIT_NONE;
    }
    if (!name_is(object->processor, generic_of(device->processor))) {
        kpk_i_append(why, "does not cover %.*s", n, name);
        return KPK_FIT_NONE;
    }
    if (!features_agree(device, object, why))
        return KPK_FIT_NONE;
    kpk_i_append(why, "generic target that covers %.*s", n, name);
    return KPK_FIT_GENERIC;
}

kpk_status kpk_target_fit(const char *device, const char *object, kpk_fit *out,
                          char *why, size_t why_nbytes)
{
    struct kpk_i_text text = {why, why ? why_nbytes : 0};
    struct target d;
    struct target o;
    kpk_status st;

    KPK_I_NEED(device);
    KPK_I_NEED(object);
    KPK_I_NEED(out);
    st = parse_device(device, &d);
    if (st == KPK_OK)
        st = parse_or_fail(object, &o);
    if (st != KPK_OK)
        return st;
    *out = fit(&d, &o, &text);
    return KPK_OK;
}

/* kpack prune leaves the row, and a blob without content. */
static bool taken_out(const kpk_module *module, uint32_t object)
{
    return module->objects[object].blob->nbytes == 0;
}

/* An object for the device's own processor, or a generic one that covers it;
 * of NVIDIA's all: which runs where is less plain there. */
static bool near_miss(const struct target *device, const struct target *object)
{
    if (device->sm.number)
        return object->sm.number != 0;
    return same(object->processor, device->processor) ||
           name_is(object->processor, generic_of(device->processor));
}

/* A wider target that also serves the device; "" without one. */
static const char *wider_target(const struct target *device)
{
    if (device->sm.number)
        return device->sm.number >= 80 ? "compute_80" : "";
    return generic_of(device->processor);
}

/* Lists the module's targets, with a reason for each near miss. */
static kpk_status none_fits(const kpk_module *module, const char *device_text,
                            const struct target *device)
{
    const char *wider = wider_target(device);
    char held[1536];
    struct kpk_i_text text = {held, sizeof(held)};
    char archs[384];
    struct kpk_i_text add = {archs, sizeof(archs)};
    bool all = true; /* archs holds every name whole: half a name would be
                        another name */

    held[0] = '\0';
    archs[0] = '\0';
    for (uint32_t i = 0; i < module->nobjects; i++) {
        const char *name = kpk_i_string(module, module->objects[i].target);
        struct target object;

        if (taken_out(module, i))
            continue;
        kpk_i_append(&text, "%s%s", text.at > held ? ", " : "", name);
        all = all && strlen(name) + 1 < add.room;
        if (all)
            kpk_i_append(&add, "%s ", name);
        if (!parse(name, &object))
            kpk_i_append(&text, " (not a target ID)");
        else if (near_miss(device, &object)) {
            kpk_i_append(&text, " (");
            (void)fit(device, &object, &text);
            kpk_i_append(&text, ")");
        }
    }
    return kpk_i_fail(
        KPK_ERR_NO_TARGET,
        "no code object of module %s fits device %s. It holds: %s. Rebuild the "
        "pack with %s%s%.*s%s%s%s%s",
        kpk_module_name(module), device_text, held[0] ? held : "nothing",
        all ? "ARCHS=\"" : "", all ? archs : "", (int)device->processor.nbytes,
        device->processor.at, all ? "\"" : " in its ARCHS",
        *wider ? " or with " : "", wider, *wider ? " in it" : "");
}

/* Orders objects with the same fit: a more specific target ranks higher. */
static size_t rank(const struct target *object)
{
    return object->sm.number ? kpk_i_sm_rank(&object->sm) : object->nfeatures;
}

size_t kpk_i_target_rank(const char *target)
{
    struct target object = {.nfeatures = 0};

    (void)parse(target, &object); /* cannot fail: a device fits it */
    return rank(&object);
}

/* Best fit first, then rank, then the order of the table. */
static bool better(kpk_fit a, size_t a_rank, kpk_fit b, size_t b_rank)
{
    return a != b ? a < b : a_rank > b_rank;
}

static kpk_status select_for(const kpk_module *module, const char *text,
                             const struct target *device, kpk_selection *out)
{
    struct kpk_i_text why = {out->why, sizeof(out->why)};
    kpk_fit best = KPK_FIT_NONE;
    struct target best_object = {.nfeatures = 0};
    size_t best_rank = 0;
    size_t number = 0;

    for (uint32_t i = 0; i < module->nobjects; i++) {
        const char *name = kpk_i_string(module, module->objects[i].target);
        struct kpk_i_text no_text = {NULL, 0};
        struct target object;
        kpk_fit this_fit;

        if (taken_out(module, i) || !parse(name, &object))
            continue;
        this_fit = fit(device, &object, &no_text);
        if (better(this_fit, rank(&object), best, best_rank)) {
            best = this_fit;
            best_rank = rank(&object);
            best_object = object;
            number = i;
        }
    }
    if (best == KPK_FIT_NONE)
        return none_fits(module, text, device);
    out->object = number;
    out->target = kpk_i_string(module, module->objects[number].target);
    out->fit = fit(device, &best_object, &why);
    return KPK_OK;
}

kpk_status kpk_select(const kpk_module *module, const char *target,
                      kpk_selection *out)
{
    struct target device;
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(target);
    KPK_I_NEED(out);
    st = kpk_i_module_check(module);
    if (st == KPK_OK)
        st = parse_device(target, &device);
    return st == KPK_OK ? select_for(module, target, &device, out) : st;
}

kpk_status kpk_i_select_reported(const kpk_module *module, const char *target,
                                 kpk_selection *out)
{
    struct target device;

    parse_reported(target, &device);
    return select_for(module, target, &device, out);
}
