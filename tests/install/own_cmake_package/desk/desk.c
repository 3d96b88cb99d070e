#include <levels.h>

/* A quarter of them. */
int desk_fade(float *samples, unsigned n)
{
    return levels_halve(samples, n) || levels_halve(samples, n);
}
