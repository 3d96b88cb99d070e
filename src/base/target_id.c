/* target_id.c - names of targets: AMD's from the table, NVIDIA's by their form
 */
#include "target_id.h"

#include <stddef.h>
#include <string.h>

#include "target_table.h"

#define GENERIC_ROW(name, mach, major, minor, step, generic, sramecc, xnack,   \
                    ...)                                                       \
    {generic, mach, sramecc, xnack, true},
#define PROCESSOR_ROW(name, mach, major, minor, step, generic, sramecc, xnack, \
                      ...)                                                     \
    {#name, mach, sramecc, xnack, false},
static const struct target_processor processors[] = {
    KPK_GENERIC_TABLE(GENERIC_ROW) KPK_PROCESSOR_TABLE(PROCESSOR_ROW)};

const struct target_processor *target_processor_find(unsigned mach)
{
    for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
        if (processors[i].mach == mach)
            return &processors[i];
    return NULL;
}

/* Takes ":FEATURE+" or ":FEATURE-" off the front of *at if it is there. */
static void take_feature(const char **at, const char *feature)
{
    const size_t n = strlen(feature);

    if (strncmp(*at, feature, n) == 0 && ((*at)[n] == '+' || (*at)[n] == '-'))
        *at += n + 1;
}

bool target_is_amd(const char *name)
{
    for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
        const struct target_processor *p = &processors[i];
        const char *at = name + strlen(p->name);

        if (strncmp(name, p->name, strlen(p->name)) != 0)
            continue;
        if (p->sramecc)
            take_feature(&at, ":sramecc");
        if (p->xnack)
            take_feature(&at, ":xnack");
        if (!*at)
            return true;
    }
    return false;
}

bool target_is_nvidia(const char *name)
{
    const size_t prefix = strncmp(name, "sm_", 3) == 0        ? 3
                          : strncmp(name, "compute_", 8) == 0 ? 8
                                                              : 0;
    const size_t n = strspn(name + prefix, "0123456789");
    const char *suffix = name + prefix + n;

    return prefix && (n == 2 || n == 3) && name[prefix] != '0' &&
           (!*suffix || ((*suffix == 'a' || *suffix == 'f') && !suffix[1]));
}
