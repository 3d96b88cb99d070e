/* image_test.h - images in memory, and instructions on them, for tests
 *
 * The reference here knows nothing of the interpreter: a texel's place and
 * value are computed anew, in double.
 */
#ifndef SIM_TESTS_IMAGE_TEST_H
#define SIM_TESTS_IMAGE_TEST_H

#include "memory_test.h"
#include "sim/base/image_descriptor.h"

#include <math.h>
#include <stdlib.h>

/* The registers that the tests use. */
enum { IMAGE_SGPR = 8, SAMPLER_SGPR = 16, COORD_VGPR = 0, DATA_VGPR = 20 };

/* All data formats; those from 16 on are no buffers'. */
extern const enum sim_data_format datas[18];
/* An image in memory of its own, whose end is the last texel's. */
struct test_image {
    const char *target;
    struct sim_image image;
    struct sim_image_layout layout;
    struct sim_alloc *memory;
};

struct test_image *image_new(const char *target, struct sim_image image);
void image_free(struct test_image *t);

/* Random bytes; of floats such that are numbers between -8 and 8. */
void image_fill(struct test_image *t);

/* A texel's bytes, NULL if it is outside. Level and layer are absolute. */
uint8_t *image_texel(const struct test_image *t, unsigned level, int64_t x,
                     int64_t y, int64_t z);

/* Channels of a texel as numbers, in double; integers too. */
void image_value(const struct test_image *t, const uint8_t *texel,
                 double value[4]);

/* A state with the descriptors in s[8:15] and s[16:19]. */
struct asm_state *image_state(const struct test_image *t,
                              const struct sim_sampler *sampler);

/*
 * The text of an instruction on this image: data from v20 on (`ndata`
 * registers), `ncoords` coordinates from v0 on, and `more` modifiers.
 */
const char *image_text(const struct test_image *t, const char *name,
                       unsigned ndata, unsigned ncoords, unsigned dmask,
                       const char *more);

/* Coordinates x, y, z of the image's type, layer included. */
unsigned image_ncoords(enum sim_image_type type);

bool image_is_integer(const struct test_image *t);

static inline float as_float(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

static inline uint32_t as_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

/* Numbers from 0 to 2^31 - 1, the same ones after the same seed. */
void image_seed(unsigned seed);
int image_random(void);

/* Uniform between two numbers. */
static inline double between(double least, double most)
{
    return least + (most - least) * image_random() / INT32_MAX;
}

#endif
