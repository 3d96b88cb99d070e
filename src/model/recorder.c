/* recorder.c - launches recorded once, to be replayed as they were */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

struct recorder {
    kpk_instance *inst;
    void *stream, *exec;
    void *event, *host; /* of recorder_fetch() */
    size_t host_nbytes;
};

struct recorder *recorder_open(kpk_instance *inst)
{
    struct recorder *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->inst = inst;
    if (kpk_stream_create(inst, 0, &r->stream) == KPK_OK)
        return r;
    free(r);
    return NULL;
}

void recorder_close(struct recorder *r)
{
    if (!r)
        return;
    (void)kpk_graph_exec_destroy(r->inst, r->exec);
    (void)kpk_event_destroy(r->inst, r->event);
    (void)kpk_free_host(r->inst, r->host);
    (void)kpk_stream_destroy(r->inst, r->stream);
    free(r);
}

void *recorder_stream(const struct recorder *r)
{
    return r ? r->stream : NULL;
}

bool recorder_start(struct recorder *r)
{
    (void)kpk_graph_exec_destroy(r->inst, r->exec);
    r->exec = NULL;
    /* relaxed: other threads may call the driver meanwhile */
    return kpk_capture_begin(r->inst, r->stream, KPK_CAPTURE_RELAXED) == KPK_OK;
}

bool recorder_end(struct recorder *r)
{
    void *graph = NULL;
    const bool good = kpk_capture_end(r->inst, r->stream, &graph) == KPK_OK &&
                      kpk_graph_instantiate(r->inst, graph, &r->exec) == KPK_OK;

    (void)kpk_graph_destroy(r->inst, graph);
    return good;
}

bool recorder_replay(struct recorder *r)
{
    return r->exec && kpk_graph_launch(r->inst, r->exec, r->stream) == KPK_OK;
}

/* Memory of the host that the device writes to while the host goes on. */
static bool make_host(struct recorder *r, size_t nbytes)
{
    if (!r->event &&
        kpk_event_create(r->inst, KPK_EVENT_NO_TIMING, &r->event) != KPK_OK)
        return false;
    if (nbytes <= r->host_nbytes)
        return true;
    (void)kpk_free_host(r->inst, r->host);
    r->host = NULL, r->host_nbytes = 0;
    if (kpk_malloc_host(r->inst, nbytes, &r->host) != KPK_OK)
        return false;
    r->host_nbytes = nbytes;
    return true;
}

bool recorder_fetch(struct recorder *r, const void *from, size_t nbytes)
{
    return make_host(r, nbytes) &&
           kpk_copy_from_async(r->inst, r->host, from, nbytes, r->stream) ==
               KPK_OK &&
           kpk_event_record(r->inst, r->event, r->stream) == KPK_OK;
}

bool recorder_fetched(struct recorder *r, void *to, size_t nbytes)
{
    if (kpk_event_sync(r->inst, r->event) != KPK_OK)
        return false;
    memcpy(to, r->host, nbytes);
    return true;
}
