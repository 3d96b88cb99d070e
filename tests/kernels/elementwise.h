/* elementwise.h - the cases that every elementwise kernel must pass
 *
 * A kernel out[i] = f(in0[i], in1[i], ...) is described by its types, the
 * scalars among its arguments and a function that says what an element should
 * be. ew_run() launches it over sizes, layouts, launch shapes, alignments and,
 * where the kernel allows it, in place, and checks every element.
 */
#ifndef KT_ELEMENTWISE_H
#define KT_ELEMENTWISE_H

#include "harness.h"

#define EW_MAX_INPUTS 3

struct ew_want {
    kt_real value; /* the exact result, if ew.bits is false */
    kt_real scale; /* scales the gate's absolute part; set to 1 before */
    uint64_t bits; /* the code, if ew.bits is true */
};

struct ew {
    enum kt_type out;
    size_t nin;
    enum kt_type in[EW_MAX_INPUTS];
    bool bits; /* compare codes; every NaN equals every other */
    struct kt_gate gate;
    /* element[k] is the element of input k, `with` is ew.with */
    void (*want)(const struct ew *e, const void *const element[],
                 struct ew_want *want);
    const void *with;
    /* scalars: between info and the inputs, and behind the output */
    kpk_arg before[2], after[2];
    size_t nbefore, nafter;
    bool in_place;   /* the first input may be null, and may be the output */
    bool all_codes;  /* one input of 8 or 16 bits: try each code */
    bool no_hostile; /* only small numbers are meaningful */
    bool moves;      /* data as it is: large enough for several tiles, too */
    bool large_grid; /* so large that most blocks leave at once, too, and on a
                      * real GPU more than 2^31 outputs */
    bool huge;       /* as many on the first simulated one: 15 s */
    /* puts numbers that matter into input k's data, or takes some out */
    void (*tame)(const struct ew *e, size_t k, void *data, size_t n);
};

void ew_run(struct kt *t, const struct ew *e);
/* The values alone, contiguous: all codes, small and hostile numbers. */
void ew_run_values(struct kt *t, const struct ew *e);

#endif
