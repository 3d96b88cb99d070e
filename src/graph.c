/* graph.c - streams that record instead of working, and the graphs of it */
#include "graph.h"
#include "on_device.h"

kpk_status kpk_capture_begin(kpk_instance *inst, void *stream,
                             kpk_capture_mode mode)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(stream);
    KPK_I_ON_DEVICE(inst, hipStreamBeginCapture, (stream, (int)mode),
                    "a stream of device %d cannot record in mode %d",
                    inst->ordinal, (int)mode);
}

static kpk_status end(kpk_instance *inst, void *stream, hipGraph_t *out)
{
    KPK_I_ON_DEVICE(inst, hipStreamEndCapture, (stream, out),
                    "what a stream of device %d recorded is no graph",
                    inst->ordinal);
}

kpk_status kpk_capture_end(kpk_instance *inst, void *stream, void **out)
{
    hipGraph_t graph = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(stream);
    KPK_I_NEED(out);
    st = end(inst, stream, &graph);
    KPK_I_HAND_OVER(inst, hipStreamEndCapture, st, graph, hipGraphDestroy, out);
}

hipError_t kpk_i_capture_state(const kpk_instance *inst, void *stream, int *out)
{
    *out = KPK_CAPTURE_NONE;
    if (!inst->gpu->hipStreamIsCapturing)
        return hipSuccess;
    return inst->gpu->hipStreamIsCapturing(stream, out);
}

static kpk_status query(kpk_instance *inst, void *stream, int *state)
{
    KPK_I_ON_DEVICE_AS(
        inst, hipStreamIsCapturing, kpk_i_capture_state(inst, stream, state),
        "cannot tell whether a stream of device %d records", inst->ordinal);
}

kpk_status kpk_capture_query(kpk_instance *inst, void *stream,
                             kpk_capture_state *out)
{
    int state = 0;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(out);
    if (!inst->gpu->hipStreamIsCapturing)
        return kpk_i_lacks(inst->gpu, "the state of a recording",
                           "hipStreamIsCapturing");
    st = query(inst, stream, &state);
    if (st == KPK_OK)
        *out = (kpk_capture_state)state;
    return st;
}

static kpk_status instantiate(kpk_instance *inst, void *graph,
                              hipGraphExec_t *out)
{
    KPK_I_ON_DEVICE(inst, hipGraphInstantiate, (out, graph, NULL, NULL, 0),
                    "cannot prepare a graph for device %d", inst->ordinal);
}

kpk_status kpk_graph_instantiate(kpk_instance *inst, void *graph, void **out)
{
    hipGraphExec_t exec = NULL;
    kpk_status st;

    KPK_I_NEED(inst);
    KPK_I_NEED(graph);
    KPK_I_NEED(out);
    if (!inst->gpu->hipGraphInstantiate)
        return kpk_i_lacks(inst->gpu, "a graph", "hipGraphInstantiate");
    st = instantiate(inst, graph, &exec);
    KPK_I_HAND_OVER(inst, hipGraphInstantiate, st, exec, hipGraphExecDestroy,
                    out);
}

kpk_status kpk_graph_launch(kpk_instance *inst, void *exec, void *stream)
{
    KPK_I_NEED(inst);
    KPK_I_NEED(exec);
    KPK_I_ON_DEVICE(inst, hipGraphLaunch, (exec, stream),
                    "cannot launch a graph on device %d", inst->ordinal);
}

kpk_status kpk_graph_destroy(kpk_instance *inst, void *graph)
{
    KPK_I_NEED(inst);
    if (!graph)
        return KPK_OK;
    KPK_I_ON_DEVICE(inst, hipGraphDestroy, (graph),
                    "cannot destroy graph %p of device %d", graph,
                    inst->ordinal);
}

kpk_status kpk_graph_exec_destroy(kpk_instance *inst, void *exec)
{
    KPK_I_NEED(inst);
    if (!exec)
        return KPK_OK;
    KPK_I_ON_DEVICE(inst, hipGraphExecDestroy, (exec),
                    "cannot destroy executable graph %p of device %d", exec,
                    inst->ordinal);
}
