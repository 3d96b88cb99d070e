/* aiter.h - AMD's prebuilt kernels, launched as AITER's host code does it
 *
 * A family is a kind of kernels, a folder of the tree that AITER ships. Its
 * function runs one of them on several shapes and holds what comes out against
 * plain C in double. Names of the objects say what a kernel is: older releases
 * have no table for some kinds.
 */
#ifndef TESTS_AITER_H
#define TESTS_AITER_H

#include <kpack.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel to be run, in a process of its own. */
struct subject {
    kpk_instance *inst;
    const kpk_kernel *kernel;
    const char *name;   /* name of the object, without folders */
    const char *path;   /* with them */
    size_t args_nbytes; /* declared size of the arguments, sometimes above the
                           given size */
    bool gfx950;
    bool old; /* a release before AITER had tables of all families */
    unsigned ncus;
    unsigned nwrong;
    char why[400]; /* the first wrong result */
};

/* Reports a kernel's case with wrong results; run_*() call it. */
void wrong(struct subject *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends the process: nothing can be said of this kernel. */
_Noreturn void left_out(const char *why);

bool has(const struct subject *s, const char *part);
/* The number behind `part` in the name; `otherwise` if it is not there. */
unsigned number_behind(const struct subject *s, const char *part,
                       unsigned otherwise);
/* The numbers of the first _MxN or _MxNxK of the name; how many there are. */
unsigned sizes_of(const struct subject *s, unsigned *sizes, unsigned most);

/* ---- memory; aiter_forget() frees every block ---- */

void *aiter_host(size_t nbytes); /* zeros */
/* Device memory of exactly nbytes: an access beyond faults. */
void *aiter_device(struct subject *s, const void *from, size_t nbytes);
void *aiter_device_filled(struct subject *s, uint8_t byte, size_t nbytes);
void aiter_fetch(struct subject *s, void *to, const void *from, size_t nbytes);
void aiter_forget(struct subject *s);

/* Values in slots of 16 bytes. False, with wrong(), if it failed. */
bool aiter_launch(struct subject *s, uint32_t x, uint32_t y, uint32_t z,
                  uint32_t block, const kpk_value *values, size_t n);

/* ---- numbers ---- */

/* bf16, f16, and e4m3: AMD's own (fnuz) on gfx942, OCP's on gfx950. */
enum type { BF16, F16, FP8_FNUZ, FP8, INT8, F32 };
size_t type_nbytes(enum type t);
void put(enum type t, void *array, size_t i, double value);
double get(enum type t, const void *array, size_t i);

double uniform(double least, double most);
double normal(void);
/* Normal values of type t. */
void *random_values(enum type t, size_t n, double deviation);

/* ---- families ---- */

void run_fmha_fwd(struct subject *s);
void run_topksoftmax(struct subject *s);
void run_bf16gemm(struct subject *s);
void run_fmoe(struct subject *s);
void run_pa(struct subject *s);
void run_mla(struct subject *s);

#endif
