/* stream.c - queues of work on an instance's device */
#include "on_device.h"
#include "stream_memory.h"

static kpk_status create(kpk_instance *inst, unsigned flags, hipStream_t *out)
{
    KPK_I_ON_DEVICE(inst, hipStreamCreateWithFlags, (out, flags),
                    "cannot create a stream on device %d", inst->ordinal);
}

kpk_status kpk_stream_create(kpk_instance *inst, unsigned flags, void **out)
{
    hipStream_t stream = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (flags & ~(unsigned)KPK_STREAM_NON_BLOCKING)
        return kpk_i_fail(KPK_ERR_ARG,
                          "kpk_stream_create: flags 0x%x has bits other than "
                          "KPK_STREAM_NON_BLOCKING",
                          flags);
    st = create(inst, flags, &stream);
    KPK_I_HAND_OVER(inst, hipStreamCreateWithFlags, st, stream,
                    hipStreamDestroy, out);
}

kpk_status kpk_stream_destroy(kpk_instance *inst, void *stream)
{
    KPK_I_NEED(inst);
    if (!stream)
        return KPK_OK;
    kpk_i_pool_forget(inst, stream);
    KPK_I_ON_DEVICE(inst, hipStreamDestroy, (stream),
                    "cannot destroy stream %p of device %d", stream,
                    inst->ordinal);
}

static kpk_status query(kpk_instance *inst, void *stream, int *done)
{
    KPK_I_ON_DEVICE_AS(inst, hipStreamQuery,
                       kpk_i_answer(inst->gpu->hipStreamQuery(stream), done),
                       "a stream of device %d has failed", inst->ordinal);
}

kpk_status kpk_stream_query(kpk_instance *inst, void *stream, int *out)
{
    int done = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    st = query(inst, stream, &done);
    if (st == KPK_OK)
        *out = done;
    return st;
}

kpk_status kpk_stream_wait(kpk_instance *inst, void *stream, void *event)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(event);
    KPK_I_ON_DEVICE(inst, hipStreamWaitEvent, (stream, event, 0),
                    "cannot let a stream of device %d wait for an event",
                    inst->ordinal);
}
