/* launch_report.c - counters and faults of launches, and calls that read them
 */
#define _GNU_SOURCE
#include "launch_report.h"

#include "kpk_sim.h"
#include "op_queue.h"
#include "process_state.h"

#include "../base/config.h"
#include "../run/dispatch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_stats total;
static int nlaunches;
static char last_fault[640];
static enum sim_fault_kind last_kind;

void report_stats(const struct sim_stats *s)
{
    pthread_mutex_lock(&lock);
    sim_stats_add(&total, s);
    nlaunches++;
    pthread_mutex_unlock(&lock);
}

HIP_API int kpkSimGetStats(struct sim_stats *stats)
{
    int n;

    pthread_mutex_lock(&lock);
    if (stats)
        *stats = total;
    n = nlaunches;
    pthread_mutex_unlock(&lock);
    return n;
}

HIP_API void kpkSimResetStats(void)
{
    pthread_mutex_lock(&lock);
    memset(&total, 0, sizeof(total));
    nlaunches = 0;
    pthread_mutex_unlock(&lock);
}

void report_fault(const struct sim_fault *fault)
{
    pthread_mutex_lock(&lock);
    snprintf(last_fault, sizeof(last_fault), "%s", fault->text);
    last_kind = fault->kind;
    pthread_mutex_unlock(&lock);
    process_complain("%s", fault->text);
}

HIP_API const char *kpkSimLastFault(void)
{
    static __thread char copy_for_caller[sizeof(last_fault)];

    pthread_mutex_lock(&lock);
    memcpy(copy_for_caller, last_fault, sizeof(last_fault));
    pthread_mutex_unlock(&lock);
    return copy_for_caller;
}

HIP_API int kpkSimLastFaultKind(void)
{
    int kind;

    pthread_mutex_lock(&lock);
    kind = (int)last_kind;
    pthread_mutex_unlock(&lock);
    return kind;
}

HIP_API void kpkSimClearFault(void)
{
    int i;

    pthread_mutex_lock(&lock);
    last_fault[0] = '\0';
    last_kind = SIM_FAULT_NONE;
    pthread_mutex_unlock(&lock);
    for (i = 0; i < process.ndevices; i++)
        queues_wait(&process.devices[i]);
    pthread_mutex_lock(&process.lock);
    for (i = 0; i < process.ndevices; i++)
        process.devices[i].fault = hipSuccess;
    pthread_mutex_unlock(&process.lock);
}

HIP_API struct sim_config *kpkSimConfig(void)
{
    return sim_config_mutable();
}
