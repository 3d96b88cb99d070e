/* event.c - points in streams, which streams and the host wait for */
#include "on_device.h"

static kpk_status create(kpk_instance *inst, unsigned flags, hipEvent_t *out)
{
    KPK_I_ON_DEVICE(inst, hipEventCreateWithFlags, (out, flags),
                    "cannot create an event on device %d", inst->ordinal);
}

kpk_status kpk_event_create(kpk_instance *inst, unsigned flags, void **out)
{
    hipEvent_t event = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (flags & ~(unsigned)(KPK_EVENT_SLEEP | KPK_EVENT_NO_TIMING))
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_event_create: flags 0x%x has bits other than "
                          "KPK_EVENT_SLEEP and KPK_EVENT_NO_TIMING",
                          flags);
    st = create(inst, flags, &event);
    KPK_I_HAND_OVER(inst, hipEventCreateWithFlags, st, event, hipEventDestroy,
                    out);
}

kpk_status kpk_event_destroy(kpk_instance *inst, void *event)
{
    KPK_I_NEED(inst);
    if (!event)
        return KPK_OK;
    KPK_I_ON_DEVICE(inst, hipEventDestroy, (event),
                    "cannot destroy event %p of device %d", event,
                    inst->ordinal);
}

kpk_status kpk_event_record(kpk_instance *inst, void *event, void *stream)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(event);
    KPK_I_ON_DEVICE(inst, hipEventRecord, (event, stream),
                    "cannot record an event in a stream of device %d",
                    inst->ordinal);
}

static kpk_status query(kpk_instance *inst, void *event, int *done)
{
    KPK_I_ON_DEVICE_AS(inst, hipEventQuery,
                       kpk_i_answer(inst->gpu->hipEventQuery(event), done),
                       "work before an event of device %d has failed",
                       inst->ordinal);
}

kpk_status kpk_event_query(kpk_instance *inst, void *event, int *out)
{
    int done = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(event);
    KPK_I_NEED(out);
    st = query(inst, event, &done);
    if (st == KPK_OK)
        *out = done;
    return st;
}

kpk_status kpk_event_sync(kpk_instance *inst, void *event)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(event);
    KPK_I_ON_DEVICE(inst, hipEventSynchronize, (event),
                    "waiting for an event of device %d failed", inst->ordinal);
}

static kpk_status elapsed(kpk_instance *inst, void *start, void *stop,
                          float *ms)
{
    KPK_I_ON_DEVICE(inst, hipEventElapsedTime, (ms, start, stop),
                    "cannot tell the time between two events of device %d: "
                    "both must have been recorded, with timing, and have "
                    "passed",
                    inst->ordinal);
}

kpk_status kpk_event_elapsed(kpk_instance *inst, void *start, void *stop,
                             float *out)
{
    float ms = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(start);
    KPK_I_NEED(stop);
    KPK_I_NEED(out);
    st = elapsed(inst, start, stop, &ms);
    if (st == KPK_OK)
        *out = ms;
    return st;
}
