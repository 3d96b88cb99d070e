/* model_options.h - how a model is opened */
#ifndef MODEL_MODEL_OPTIONS_H
#define MODEL_MODEL_OPTIONS_H

#include "arch.h"
#include "cache.h"

enum { MODEL_MOST_DEVICES = 16 };

/* What several devices share. */
enum split_type {
    SPLIT_LAYERS,  /* each has some layers */
    SPLIT_TENSORS, /* each has a slice of every tensor */
    NSPLIT_TYPES
};

extern const char *const split_names[NSPLIT_TYPES];

struct model_options {
    int devices[MODEL_MOST_DEVICES]; /* numbers, as kpk_device_get() counts */
    size_t ndevices;
    enum split_type split;
    /* Of several processes with a device each that share the tensors: this one,
     * and how many there are; 0: one process. They meet at a path. */
    uint32_t rank, ranks;
    const char *meet;
    uint64_t alike;    /* any number; must be the same in all processes */
    uint32_t limit_ms; /* longest wait of a device for another; 0: 10000 */
    /* The largest sum that devices send each other without a barrier. In bytes;
     * 0: what is fast */
    uint32_t small_nbytes;
    uint32_t context;   /* most tokens in a sequence */
    uint32_t sequences; /* at once */
    uint32_t batch;     /* most tokens of a run */
    uint32_t answers;   /* most wanted tokens in a run; 0: one per sequence */
    enum cache_type cache; /* format of K and V */
    bool unrecorded;       /* never record launches */
    /* model_likeliest() begins with the run of the tokens that it gives, where
     * that would be a replay: so the device does not wait for the host. The
     * logits are then that run's. */
    bool ahead;
    /* Called while weights are copied; may be NULL. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
};

#endif
