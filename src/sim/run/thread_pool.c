/* thread_pool.c - threads that help with a dispatch, kept from one to the next
 */
#include "thread_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { MAX_THREADS = 256 };

static struct {
    pthread_mutex_t lock; /* guards all of this and every open call */
    pthread_cond_t called, done;
    struct sim_help *calls;
    pthread_t threads[MAX_THREADS];
    unsigned nthreads, nidle;
    bool quit;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .called = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

/* Takes the oldest request that needs another thread. A request leaves the list
 * when it gets its last thread. */
static struct sim_help *take_call(void)
{
    struct sim_help *help = pool.calls;

    if (help) {
        help->active++;
        if (--help->wanted == 0)
            pool.calls = help->next;
    }
    return help;
}

static void *serve(void *arg)
{
    struct sim_help *help;

    pthread_mutex_lock(&pool.lock);
    while (!pool.quit) {
        help = take_call();
        if (!help) {
            pool.nidle++;
            pthread_cond_wait(&pool.called, &pool.lock);
            pool.nidle--;
            continue;
        }
        pthread_mutex_unlock(&pool.lock);
        help->work(help->arg);
        pthread_mutex_lock(&pool.lock);
        if (--help->active == 0)
            pthread_cond_broadcast(&pool.done);
    }
    pthread_mutex_unlock(&pool.lock);
    return arg;
}

void sim_pool_call(struct sim_help *help, void (*work)(void *), void *arg,
                   unsigned wanted)
{
    struct sim_help **last = &pool.calls;
    unsigned n;

    *help = (struct sim_help){.work = work, .arg = arg, .wanted = wanted};
    if (wanted == 0)
        return;
    pthread_mutex_lock(&pool.lock);
    while (*last)
        last = &(*last)->next;
    *last = help;
    for (n = 0; n < wanted && n < pool.nidle; n++)
        pthread_cond_signal(&pool.called);
    /* without this thread the dispatch takes longer, and is right */
    for (; n < wanted && pool.nthreads < MAX_THREADS; n++)
        if (pthread_create(&pool.threads[pool.nthreads], NULL, serve, NULL))
            break;
        else
            pool.nthreads++;
    pthread_mutex_unlock(&pool.lock);
}

void sim_pool_end(struct sim_help *help)
{
    struct sim_help **at;

    pthread_mutex_lock(&pool.lock);
    for (at = &pool.calls; *at; at = &(*at)->next)
        if (*at == help) {
            *at = help->next;
            break;
        }
    while (help->active > 0)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void sim_pool_stop(void)
{
    unsigned n;

    pthread_mutex_lock(&pool.lock);
    pool.quit = true;
    pthread_cond_broadcast(&pool.called);
    n = pool.nthreads;
    pthread_mutex_unlock(&pool.lock);
    while (n > 0)
        pthread_join(pool.threads[--n], NULL);
    pthread_mutex_lock(&pool.lock);
    pool.nthreads = 0;
    pool.quit = false;
    pthread_mutex_unlock(&pool.lock);
}

__attribute__((destructor)) static void stop_at_exit(void)
{
    sim_pool_stop();
}
