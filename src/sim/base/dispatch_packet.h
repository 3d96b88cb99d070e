/* dispatch_packet.h - a kernel dispatch, as an AQL packet describes it */
#ifndef SIM_BASE_DISPATCH_PACKET_H
#define SIM_BASE_DISPATCH_PACKET_H

#include "processor.h"

#include <stdbool.h>
#include <stdint.h>

/* Global wave sync, which belongs to a queue. */
enum { SIM_GWS_RESOURCES = 64 };
struct sim_gws {
    struct sim_gws_resource {
        int32_t counter;
        bool flag; /* flips when a barrier is complete */
    } resource[SIM_GWS_RESOURCES];
};

struct sim_dispatch {
    struct sim_device *device;
    const char *kernel_name; /* for messages; NULL if unknown */
    uint64_t descriptor;     /* address of the kernel descriptor */
    uint64_t kernarg;        /* address of the filled kernarg segment */
    uint64_t packet;         /* address of the AQL packet, for dispatch_ptr */
    uint64_t queue;          /* address of the amd_queue_t, for queue_ptr */
    uint32_t grid[3];        /* work-items */
    uint16_t block[3];       /* work-items */
    uint32_t lds_nbytes;     /* static and dynamic */
    uint32_t scratch_nbytes; /* per work-item */
    struct sim_gws *gws;     /* NULL if the queue has none */
    uint32_t max_waves;      /* the most waves at once; 0: no limit */
};

#endif
