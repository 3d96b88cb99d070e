/* peer.c - access of a device's kernels to the memory of another device */
#include "on_device.h"

static hipError_t enable(const kpk_instance *inst, int peer)
{
    const hipError_t error = inst->gpu->hipDeviceEnablePeerAccess(peer, 0);

    return error == hipErrorPeerAccessAlreadyEnabled ? hipSuccess : error;
}

static kpk_status reach(kpk_instance *inst, const kpk_instance *peer)
{
    KPK_I_ON_DEVICE_AS(
        inst, hipDeviceEnablePeerAccess, enable(inst, peer->device.index),
        "cannot give device %d access to the memory of device %d",
        inst->ordinal, peer->ordinal);
}

static kpk_status can_reach(kpk_instance *inst, const kpk_instance *peer,
                            int *can)
{
    KPK_I_ON_DEVICE(inst, hipDeviceCanAccessPeer,
                    (can, inst->device.index, peer->device.index),
                    "cannot tell whether device %d reaches device %d",
                    inst->ordinal, peer->ordinal);
}

kpk_status kpk_peer_enable(kpk_instance *inst, const kpk_instance *peer)
{
    kpk_status st;
    int can = 0;

    KPK_I_NEED(inst);
    KPK_I_NEED(peer);
    if (inst->gpu != peer->gpu)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "device %d (%s) cannot reach the memory of device %d "
                          "(%s): they have different drivers",
                          inst->ordinal, inst->device.target, peer->ordinal,
                          peer->device.target);
    if (inst->ordinal == peer->ordinal)
        return KPK_OK;
    st = can_reach(inst, peer, &can);
    if (st == KPK_OK && !can)
        return kpk_i_fail(KPK_ERR_UNSUPPORTED,
                          "device %d (%s) cannot reach the memory of device %d "
                          "(%s): the machine has no direct way between them. "
                          "Copy by kpk_copy_peer_async()",
                          inst->ordinal, inst->device.target, peer->ordinal,
                          peer->device.target);
    return st == KPK_OK ? reach(inst, peer) : st;
}
