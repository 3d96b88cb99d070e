/* visible.c - which of the devices a process sees
 *
 * As ROCm has it: ROCr picks from all devices by ROCR_VISIBLE_DEVICES, and HIP
 * from those by HIP_VISIBLE_DEVICES, or by CUDA_VISIBLE_DEVICES if that is not
 * set. Both lists hold ordinals and UUIDs ("GPU-" and 16 characters), and end
 * at the first entry that is no device. They differ in small things, which
 * AMD's runtime showed: see the two parsers.
 */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

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

/* The entry as a place in `from`, by UUID; -1 if it is none. */
static int by_uuid(const struct list *from, const char *text, size_t n)
{
    enum { HEAD = 4, BODY = 16 };

    if (n != HEAD + BODY || strncmp(text, "GPU-", HEAD) != 0)
        return -1;
    for (int i = 0; i < from->n; i++) {
        char uuid[BODY];

        device_uuid(sim_device_get(from->device[i]), uuid);
        if (memcmp(uuid, text + HEAD, BODY) == 0)
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
        return by_uuid(from, text, n);
    return (int)place;
}

/* HIP takes them only as it would print them: no blank, no leading zero. */
static int hip_entry(const struct list *from, const char *text, size_t n)
{
    if (n == 0 || strspn(text, "0123456789") < n || (n > 1 && *text == '0'))
        return by_uuid(from, text, n);
    return rocr_entry(from, text, n);
}

/* A device named twice ends ROCr's list, and counts once in HIP's. */
static void pick(struct list *l, const char *text, bool rocr)
{
    const struct list from = *l;

    l->n = 0;
    while (*text) {
        size_t n = strcspn(text, ",");
        int place =
            rocr ? rocr_entry(&from, text, n) : hip_entry(&from, text, n);

        if (place < 0 || (rocr && holds(l, from.device[place])))
            return;
        if (!holds(l, from.device[place]))
            l->device[l->n++] = from.device[place];
        text += n;
        if (*text == ',')
            text++;
    }
}

int visible_devices(int list[MAX_DEVICES])
{
    const char *rocr = getenv("ROCR_VISIBLE_DEVICES");
    const char *hip = getenv("HIP_VISIBLE_DEVICES");
    struct list l = {.n = sim_device_count()};

    for (int i = 0; i < l.n; i++)
        l.device[i] = i;
    if (!hip || !*hip)
        hip = getenv("CUDA_VISIBLE_DEVICES");
    if (rocr) /* an empty one shows no device, */
        pick(&l, rocr, true);
    if (hip && *hip) /* HIP's is none */
        pick(&l, hip, false);
    memcpy(list, l.device, sizeof(l.device));
    return l.n;
}
