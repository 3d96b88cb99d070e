// numbers.hip - arguments of every type that Python's launch() converts
#include <device.h>

struct numbers_pair {
    int a;
    float b;
};

extern "C" __global__ void numbers(double *out, float f, double d, f16 h,
                                   bf16 b, int i, unsigned char c, long long l,
                                   numbers_pair pair)
{
    out[0] = f;
    out[1] = d;
    out[2] = (double)(float)h;
    out[3] = (double)(float)b;
    out[4] = i;
    out[5] = c;
    out[6] = (double)l;
    out[7] = pair.a;
    out[8] = pair.b;
}
