/* select_sm.c - which of NVIDIA's cubins and PTX run on which processor
 *
 * The rules are the driver's (CUDA C++ Programming Guide, "Binary
 * Compatibility" and "PTX Compatibility"; nvcc's manual, "GPU Feature List"):
 * a cubin runs on its own processor and on later ones of the same major
 * version, PTX on its own and on all later ones. The suffix 'a' ties either to
 * one processor, 'f' to one major version.
 */
#include "select_sm.h"
#include "base/sm_table.h"

static bool take(const char **at, const char *text)
{
    const size_t n = strlen(text);

    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

bool kpk_i_sm_parse(const char *text, struct kpk_i_sm *out)
{
    const char *at = text;
    unsigned number = 0;
    int ndigits = 0;

    *out = (struct kpk_i_sm){0};
    out->is_ptx = take(&at, "compute_");
    if (!out->is_ptx && !take(&at, "sm_"))
        return false;
    for (; *at >= '0' && *at <= '9' && ndigits < 4; at++, ndigits++)
        number = number * 10 + (unsigned)(*at - '0');
    if (ndigits < 2 || text[at - text - ndigits] == '0')
        return false;
    if (*at == 'a' || *at == 'f')
        out->suffix = *at++;
    if (*at != '\0')
        return false;
    out->number = number;
    return true;
}

static bool is_tegra(unsigned number)
{
    static const struct {
        unsigned number, tegra;
    } rows[] = {
#define X(number, tegra, shared) {number, tegra},
        KPK_SM_TABLE(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].number == number)
            return rows[i].tegra != 0;
    }
    return false;
}

static kpk_fit fit_ptx(const struct kpk_i_sm *device,
                       const struct kpk_i_sm *object, struct kpk_i_text *why)
{
    kpk_i_append(why,
                 "PTX for compute_%u, which the driver compiles for sm_%u when "
                 "it is loaded",
                 object->number, device->number);
    return KPK_FIT_GENERIC;
}

static kpk_fit fit_cubin(const struct kpk_i_sm *device,
                         const struct kpk_i_sm *object, struct kpk_i_text *why)
{
    if (object->number == device->number) {
        kpk_i_append(why, "exact processor");
        return KPK_FIT_EXACT;
    }
    if (is_tegra(device->number) || is_tegra(object->number)) {
        kpk_i_append(why,
                     "sm_%u and sm_%u do not run each other's cubins: one is "
                     "a system on a chip",
                     device->number, object->number);
        return KPK_FIT_NONE;
    }
    kpk_i_append(why, "cubin for sm_%u, which sm_%u runs", object->number,
                 device->number);
    return KPK_FIT_GENERIC;
}

kpk_fit kpk_i_sm_fit(const struct kpk_i_sm *device,
                     const struct kpk_i_sm *object, struct kpk_i_text *why)
{
    const char *kind = object->is_ptx ? "compute" : "sm";
    const bool same_major = object->number / 10 == device->number / 10;

    if (object->suffix == 'a' && object->number != device->number) {
        kpk_i_append(why, "needs sm_%u exactly, the device is sm_%u",
                     object->number, device->number);
        return KPK_FIT_NONE;
    }
    if (!same_major && (!object->is_ptx || object->suffix == 'f')) {
        kpk_i_append(why, "is for another major version than sm_%u",
                     device->number);
        return KPK_FIT_NONE;
    }
    if (object->number > device->number) {
        kpk_i_append(why, "%s_%u is newer than sm_%u", kind, object->number,
                     device->number);
        return KPK_FIT_NONE;
    }
    return object->is_ptx ? fit_ptx(device, object, why)
                          : fit_cubin(device, object, why);
}

unsigned kpk_i_sm_rank(const struct kpk_i_sm *object)
{
    const unsigned suffix = object->suffix == 'a'   ? 2
                            : object->suffix == 'f' ? 1
                                                    : 0;
    const unsigned cubin = object->is_ptx ? 0 : 1u << 20;

    return cubin + object->number * 4 + suffix;
}
