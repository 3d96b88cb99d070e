/* visible.c - devices that a process sees
 *
 * As ROCm has it: ROCr picks from all devices by ROCR_VISIBLE_DEVICES, and HIP
 * from those by HIP_VISIBLE_DEVICES, or by CUDA_VISIBLE_DEVICES if that is not
 * set. Before HIP 7 an empty variable counts as not set; from then on it shows
 * no device. Both lists hold ordinals and UUIDs ("GPU-" and 16 characters), and
 * end at the first entry that is no device. They differ in small things, which
 * AMD's runtime showed: see the two parsers.
 */
#include "visible.h"

#include "process_state.h"

#include "../base/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void device_uuid(const struct sim_device *d, char out[16])
{
    char text[17];

    snprintf(text, sizeof(text), "kpk-sim-%08x", (unsigned)d->ordinal);
    memcpy(out, text, 16);
}

struct list {
    int n;
    int device[MAX_DEVICES]; /* ordinals of the simulator */
};

static bool holds(const struct list *l, int device)
{
    for (int i = 0; i < l->n; i++)
        if (l->device[i] == device)
            return true;
    return false;
}

/* The entry as a place in `from`, by UUID; -1 if it is none. HIP 5 knows no
 * UUIDs, HIP 7 takes the first that begins so, ROCr letters of either case. */
static int by_uuid(const struct list *from, const char *text, size_t n,
                   bool rocr)
{
    enum { HEAD = 4, BODY = 16 };
    const size_t body = n - HEAD;

    if (n < HEAD || body > BODY || strncmp(text, "GPU-", HEAD) != 0 ||
        (body < BODY && (rocr || process.release < 7)) ||
        (!rocr && process.release == 5))
        return -1;
    for (int i = 0; i < from->n; i++) {
        char uuid[BODY];

        device_uuid(sim_device_get(from->device[i]), uuid);
        if (rocr ? strncasecmp(uuid, text + HEAD, body) == 0
                 : memcmp(uuid, text + HEAD, body) == 0)
            return i;
    }
    return -1;
}

/* ROCr reads numbers as people write them. */
static int rocr_entry(const struct list *from, const char *text, size_t n)
{
    char *end;
    long place = strtol(text, &end, 10);

    if (end != text + n || n == 0 || place < 0 || place >= from->n)
        return by_uuid(from, text, n, true);
    return (int)place;
}

/* HIP takes them only as it would print them: no blank, no leading zero. */
static int hip_entry(const struct list *from, const char *text, size_t n)
{
    if (n == 0 || strspn(text, "0123456789") < n || (n > 1 && *text == '0'))
        return by_uuid(from, text, n, false);
    return rocr_entry(from, text, n);
}

/* ROCr leaves out the blanks around an entry. */
static void trim(const char **text, size_t *n)
{
    static const char blank[] = " \t\n\v\f\r";

    while (*n && strchr(blank, **text)) {
        ++*text;
        --*n;
    }
    while (*n && strchr(blank, (*text)[*n - 1]))
        --*n;
}

/* A device named twice ends ROCr's list, and counts once in HIP's. An entry of
 * nothing fails ROCr's start: no device is left. */
static void pick(struct list *l, const char *list, bool rocr)
{
    const struct list from = *l;

    l->n = 0;
    while (*list) {
        const char *text = list;
        size_t n = strcspn(text, ",");
        int place;

        list += n;
        if (*list == ',')
            list++;
        if (rocr)
            trim(&text, &n);
        if (rocr && n == 0)
            l->n = 0;
        place = rocr ? rocr_entry(&from, text, n) : hip_entry(&from, text, n);
        if (place < 0 || (rocr && holds(l, from.device[place])))
            return;
        if (!holds(l, from.device[place]))
            l->device[l->n++] = from.device[place];
    }
}

/* A variable's value, unless it counts as not set. */
static const char *if_set(const char *value)
{
    return value && !*value && process.release < 7 ? NULL : value;
}

int visible_devices(int list[MAX_DEVICES])
{
    const char *rocr = getenv("ROCR_VISIBLE_DEVICES");
    const char *hip = if_set(getenv("HIP_VISIBLE_DEVICES"));
    struct list l = {.n = sim_device_count()};

    for (int i = 0; i < l.n; i++)
        l.device[i] = i;
    if (!hip)
        hip = if_set(getenv("CUDA_VISIBLE_DEVICES"));
    if (rocr)
        pick(&l, rocr, true);
    if (hip)
        pick(&l, hip, false);
    memcpy(list, l.device, sizeof(l.device));
    return l.n;
}
