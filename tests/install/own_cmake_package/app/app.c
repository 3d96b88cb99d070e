#include <stdio.h>

int desk_fade(float *samples, unsigned n);

int main(void)
{
    float samples[300];

    for (unsigned i = 0; i < 300; i++)
        samples[i] = (float)i;
    if (desk_fade(samples, 300))
        return 1;
    printf("%g\n", samples[299]);
    return 0;
}
