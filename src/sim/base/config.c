/* config.c - the settings from environment variables KPK_SIM_* */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE = 64 };

static struct sim_config config;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    uint64_t value;

    if (!text || !*text)
        return otherwise;
    value = strtoull(text, &end, 0);
    return *end ? otherwise : value;
}

static bool is_word(const char *name, const char *word)
{
    const char *text = getenv(name);

    return text && strcmp(text, word) == 0;
}

/* The part of KPK_SIM_WEAK that n characters name; false if none. */
static bool read_part(const char *name, size_t n, unsigned *parts)
{
    static const struct {
        const char *name;
        unsigned part;
    } words[] = {{"registers", 0}, {"lds", WEAK_LDS}, {"caches", WEAK_CACHES}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (n == strlen(words[i].name) &&
            strncmp(name, words[i].name, n) == 0) {
            *parts |= words[i].part;
            return true;
        }
    return false;
}

/* A seed, and the parts that it is for. */
static void read_weak(void)
{
    const char *text = getenv("KPK_SIM_WEAK");
    bool understood;
    char *p;

    config.weak = 1;
    config.weak_parts = WEAK_ALL;
    if (!text || !*text)
        return;
    config.weak = strtoull(text, &p, 0);
    understood = p > text;
    if (*p == ',')
        config.weak_parts = 0;
    while (*p == ',') {
        const size_t n = strcspn(++p, ",");

        understood &= read_part(p, n, &config.weak_parts);
        p += n;
    }
    if (!understood || *p)
        fprintf(stderr,
                "KPK_SIM_WEAK: '%s' is not SEED or SEED,PART,... with parts "
                "registers, lds and caches\n",
                text);
}

static void read_environment(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    config.threads =
        (unsigned)number("KPK_SIM_THREADS", cores > 0 ? (uint64_t)cores : 1);
    if (config.threads == 0)
        config.threads = 1;
    config.stats = number("KPK_SIM_STATS", 0) != 0;
    config.bounds = is_word("KPK_SIM_STATS", "bounds");
    config.print_bounds = config.bounds;
    config.uninit = number("KPK_SIM_UNINIT", 0) != 0;
    config.races = number("KPK_SIM_RACES", 0) != 0;
    config.barriers = (unsigned)number("KPK_SIM_BARRIERS", 1);
    config.dropped = number("KPK_SIM_DROPPED", 0) != 0;
    config.large_bar = number("KPK_SIM_LARGE_BAR", 0) != 0;
    read_weak();
    config.trace = number("KPK_SIM_TRACE", 0) != 0;
    config.trace_waits = is_word("KPK_SIM_TRACE", "waits");
    config.slice = number("KPK_SIM_SLICE", SLICE);
    if (config.slice == 0)
        config.slice = SLICE;
    config.max_insns = number("KPK_SIM_MAX_INSNS", UINT64_C(1) << 33);
}

const struct sim_config *sim_config(void)
{
    pthread_once(&once, read_environment);
    return &config;
}

struct sim_config *sim_config_mutable(void)
{
    pthread_once(&once, read_environment);
    return &config;
}
