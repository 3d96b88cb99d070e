/* hostcall.h - requests of running kernels to the host */
#ifndef SIM_HIP_HOSTCALL_H
#define SIM_HIP_HOSTCALL_H

#include "process_state.h"

/* Most waves in flight of one launch whose kernel may ask the host. A
 * cooperative grid needs every wave in flight, and has no more than a card
 * holds. */
enum { HOSTCALL_MAX_WAVES = 2048 };

/* The device's buffer, for hidden_hostcall_buffer; 0 if there is no memory. */
uint64_t hostcall_buffer(const struct device *device);

/* The heap of malloc() in kernels, for hidden_heap_v1; 0 likewise. */
uint64_t hostcall_heap(const struct device *device);

/* Serves a device from start to stop, and what is still ready at the stop. */
struct hostcall_server {
    struct device *device;
    pthread_t thread;
    bool stop;
};
bool hostcall_start(struct hostcall_server *server, struct device *device);
void hostcall_stop(struct hostcall_server *server);

void hostcalls_shutdown(void);

#endif
