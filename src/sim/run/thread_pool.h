/* thread_pool.h - worker threads for dispatches, kept from one to the next
 *
 * When the work is done, the call for helpers that have not started is
 * withdrawn, so the caller never waits for a thread with nothing left to do.
 */
#ifndef SIM_RUN_THREAD_POOL_H
#define SIM_RUN_THREAD_POOL_H

/* A request for helpers. The caller owns it and must not change it between
 * sim_pool_call() and sim_pool_end(). */
struct sim_help {
    void (*work)(void *arg);
    void *arg;
    unsigned wanted; /* threads that may still come */
    unsigned active; /* threads at work */
    struct sim_help *next;
};

/* Lets up to `wanted` threads run work(arg). */
void sim_pool_call(struct sim_help *help, void (*work)(void *), void *arg,
                   unsigned wanted);

/* Withdraws the request and waits for the threads that run work(). */
void sim_pool_end(struct sim_help *help);

/* Ends the threads, before the library is unloaded. The next sim_pool_call()
 * starts them again. */
void sim_pool_stop(void);

#endif
