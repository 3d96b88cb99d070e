/* code_cache.c - decoded instructions, kept with their code allocation
 *
 * They are made when a wave first reaches an allocation, and go with it or
 * when its bytes change.
 */
#include "code_cache.h"

#include "basic_block.h"
#include "decode.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forget(struct sim_code *code)
{
    sim_blocks_free(code);
    for (int s = 0; s < 2; s++) {
        free(code->slot[s]);
        code->slot[s] = NULL;
    }
}

static void drop(struct sim_code *code)
{
    if (code)
        forget(code);
    free(code);
}

static bool make_slots(struct sim_code *code)
{
    const size_t n = code->size / 4 + 1;

    for (int s = 0; s < 2; s++) {
        code->slot[s] = calloc(n, sizeof(*code->slot[s]));
        code->block[s] = calloc(n, sizeof(*code->block[s]));
    }
    return code->slot[0] && code->slot[1] && code->block[0] && code->block[1];
}

struct sim_code *sim_code_of(const struct sim_alloc *alloc,
                             const struct sim_target *target)
{
    struct sim_code *code;

    pthread_mutex_lock(&lock);
    code = alloc->code;
    if (code && code->generation != alloc->code_generation) {
        /* The host rewrote the code; it must not do so under a kernel. */
        forget(code);
        code->generation = alloc->code_generation;
        if (!make_slots(code))
            code = NULL;
    } else if (!code) {
        code = calloc(1, sizeof(*code));
        if (code) {
            code->bytes = alloc->bytes;
            code->base = alloc->base;
            code->size = alloc->size;
            code->generation = alloc->code_generation;
            code->target = target;
            if (make_slots(code)) {
                /* The cache belongs to the interpreter: not a change of the
                 * allocation that anyone else sees. */
                ((struct sim_alloc *)alloc)->drop_code = drop;
                ((struct sim_alloc *)alloc)->code = code;
            } else {
                drop(code);
                code = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* Whether the code bytes have changed since they were decoded. */
static bool is_stale(const struct sim_alloc *alloc)
{
    const struct sim_code *code;
    bool stale = false;

    pthread_mutex_lock(&lock);
    code = alloc->code;
    for (int s = 0; s < 2 && code && code->slot[0] && code->slot[1]; s++)
        for (uint64_t i = 0; i < code->size / 4 && !stale; i++) {
            const struct insn *in =
                atomic_load_explicit(&code->slot[s][i], memory_order_acquire);

            stale = in && !sim_is_decoded_from(in, code->bytes + 4 * i,
                                               code->size - 4 * i);
        }
    pthread_mutex_unlock(&lock);
    return stale;
}

void sim_code_rewritten(void)
{
    sim_mem_pin();
    for (struct sim_alloc *a = sim_mem_find_above(0); a;
         a = sim_mem_find_above(a->base))
        if (a->kind == SIM_MEM_CODE && is_stale(a))
            __atomic_fetch_add(&a->code_generation, 1, __ATOMIC_RELEASE);
    sim_mem_unpin();
}
