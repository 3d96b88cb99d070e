/* thread_state.c - state of a thread: device, streams, last error
 *
 * If a program linked with -static loads this library, the process gets a
 * second C library whose thread-local variables are not set up: their addresses
 * are close to 0. LLVM and malloc need such variables, as this file does.
 */
#include "thread_state.h"

#include "op_queue.h"
#include "process_state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t thread_key;
static __thread struct thread *self;

bool thread_has_variables(void)
{
    struct thread **volatile address = &self;

    return (uintptr_t)address > 65536;
}

static void drop_thread(void *pointer)
{
    struct thread *t = pointer;
    int i;

    for (i = 0; i < MAX_DEVICES; i++)
        if (t->queues[i])
            queue_close(t->queues[i]);
    while (t->calls) {
        struct call_configuration *c = t->calls;

        t->calls = c->below;
        free(c->arguments);
        free(c);
    }
    while (t->contexts) {
        struct context_entry *e = t->contexts;

        t->contexts = e->below;
        free(e);
    }
    free(t);
    self = NULL;
}

void threads_begin(void)
{
    pthread_key_create(&thread_key, drop_thread);
}

void threads_shutdown(void)
{
    if (self) {
        memset(self->queues, 0, sizeof(self->queues)); /* closed by now */
        drop_thread(self);
    }
    pthread_key_delete(thread_key);
}

struct thread *thread_self(void)
{
    if (!self) {
        self = calloc(1, sizeof(*self));
        if (self)
            pthread_setspecific(thread_key, self);
    }
    return self;
}

struct device *thread_device(void)
{
    return &process.devices[thread_self()->device];
}
