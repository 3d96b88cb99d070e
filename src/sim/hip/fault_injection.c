/* fault_injection.c - errors on demand: KPK_SIM_FAULTS
 *
 * A list of FUNCTION[:WHEN]=ERROR, separated by commas. WHEN is the number of
 * the call that is to fail, counted from 1; "3+" is that call and all later
 * ones; left out, every call. ERROR is a name (hipErrorOutOfMemory), a number,
 * or "lost": the thread's current device is lost and every call fails on it.
 */
#define _GNU_SOURCE
#include "fault_injection.h"

#include "process_state.h"
#include "thread_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 64, LOST = -1 };

static struct rule {
    char function[64];
    unsigned long first, last; /* calls that fail, counted from 1 */
    int error;
    atomic_ulong calls;
} rules[MAX_RULES];
static int nrules;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool read_error(const char *text, size_t n, int *out)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {
#define X(number, name, phrase) {#name, number},
        HIP_ERROR_TABLE(X)
#undef X
            {"hipErrorMemoryAllocation", hipErrorOutOfMemory},
        {"hipErrorInitializationError", hipErrorNotInitialized},
        {"hipErrorInvalidResourceHandle", hipErrorInvalidHandle},
        {"lost", LOST},
    };
    char *end;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].name) == n &&
            strncmp(names[i].name, text, n) == 0) {
            *out = names[i].number;
            return true;
        }
    *out = (int)strtol(text, &end, 10);
    return end == text + n && n > 0 && *out > 0;
}

static bool read_rule(const char *text, size_t n, struct rule *r)
{
    const char *equals = memchr(text, '=', n), *colon;
    size_t name;

    if (!equals ||
        !read_error(equals + 1, n - (size_t)(equals + 1 - text), &r->error))
        return false;
    r->first = 1;
    r->last = (unsigned long)-1;
    colon = memchr(text, ':', (size_t)(equals - text));
    name = (size_t)((colon ? colon : equals) - text);
    if (colon) {
        char *end;

        r->first = strtoul(colon + 1, &end, 10);
        if (end == colon + 1 || r->first == 0)
            return false;
        if (*end == '+')
            end++;
        else
            r->last = r->first;
        if (end != equals)
            return false;
    }
    if (name == 0 || name >= sizeof(r->function))
        return false;
    memcpy(r->function, text, name);
    return true;
}

static void read_rules(void)
{
    const char *text = getenv("KPK_SIM_FAULTS");

    while (text && *text) {
        size_t n = strcspn(text, ",");

        if (nrules == MAX_RULES || !read_rule(text, n, &rules[nrules]))
            process_complain(
                "KPK_SIM_FAULTS: '%.*s' is not FUNCTION[:WHEN]=ERROR", (int)n,
                text);
        else
            nrules++;
        text += n;
        if (*text == ',')
            text++;
    }
}

static hipError_t apply(const struct rule *r)
{
    if (r->error != LOST)
        return (hipError_t)r->error;
    if (process.ndevices)
        __atomic_store_n(&thread_device()->sim->lost, true, __ATOMIC_RELAXED);
    return hipErrorLaunchFailure;
}

hipError_t fault_injected(const char *function)
{
    hipError_t error = hipSuccess;
    int i;

    pthread_once(&once, read_rules);
    for (i = 0; i < nrules; i++) {
        unsigned long call;

        if (strcmp(rules[i].function, function) != 0)
            continue;
        call = atomic_fetch_add(&rules[i].calls, 1) + 1;
        if (error == hipSuccess && call >= rules[i].first &&
            call <= rules[i].last)
            error = apply(&rules[i]);
    }
    return error;
}
