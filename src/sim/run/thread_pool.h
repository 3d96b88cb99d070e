/* thread_pool.h - threads that help with a dispatch, kept from one to the next
 *
 * Help that has not come when the work is done is called off: nobody waits for
 * a thread to be given a processor only to find nothing left to do.
 */
#ifndef SIM_RUN_THREAD_POOL_H
#define SIM_RUN_THREAD_POOL_H

/* A call for help; made by its user, untouched while it is open. */
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

/* Takes the call back and waits for those that are at work. */
void sim_pool_end(struct sim_help *help);

/* Ends the threads, before the library is unloaded. They come back if called.
 */
void sim_pool_stop(void);

#endif
