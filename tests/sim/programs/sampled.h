/*
 * sampled.h - a texture's value at a coordinate, by plain arithmetic
 *
 * Address modes, nearest and linear filters as the programming guide has them.
 */
#pragma once

#include "images.h"

struct Sampler {
    hipTextureAddressMode address;
    bool linear, normalized;
};

/* A whole place by its address mode; -1 is the border. */
inline int place_of(double x, int size, hipTextureAddressMode mode)
{
    int i = (int)std::floor(x);

    switch (mode) {
    case hipAddressModeWrap:
        return ((i % size) + size) % size;
    case hipAddressModeMirror:
        i = ((i % (2 * size)) + 2 * size) % (2 * size);
        return i < size ? i : 2 * size - 1 - i;
    case hipAddressModeBorder:
        return i < 0 || i >= size ? -1 : i;
    default:
        return i < 0 ? 0 : i >= size ? size - 1 : i;
    }
}

struct Spot {
    int at[2];
    double weight[2];
    int n;
};

/* Elements read in one direction: one, or two with their weights. */
inline Spot spot_of(double coordinate, int size, const Sampler &s)
{
    const double x = s.normalized ? coordinate * size : coordinate;
    Spot spot = {{place_of(x, size, s.address), 0}, {1, 0}, 1};

    if (s.linear) {
        const double low = std::floor(x - 0.5), share = x - 0.5 - low;

        spot.at[0] = place_of(low, size, s.address);
        spot.at[1] = place_of(low + 1, size, s.address);
        spot.weight[0] = 1 - share;
        spot.weight[1] = share;
        spot.n = 2;
    }
    return spot;
}

inline void read(const Image &m, const Sampler &s, int dims, double x, double y,
                 double z, int layer, double out[4])
{
    const Spot none = {{0, 0}, {1, 0}, 1}, on_layer = {{layer, 0}, {1, 0}, 1};
    const Spot sx = spot_of(x, m.width, s);
    const Spot sy = dims > 1 ? spot_of(y, m.height, s) : none;
    const Spot sz = dims > 2 ? spot_of(z, m.depth, s) : on_layer;

    for (int c = 0; c < 4; c++)
        out[c] = 0;
    for (int k = 0; k < sz.n; k++)
        for (int j = 0; j < sy.n; j++)
            for (int i = 0; i < sx.n; i++) {
                if (sx.at[i] < 0 || sy.at[j] < 0 || sz.at[k] < 0)
                    continue; /* the border is 0 */
                for (int c = 0; c < 4; c++)
                    out[c] += sx.weight[i] * sy.weight[j] * sz.weight[k] *
                              m.at(sx.at[i], sy.at[j], sz.at[k])[c];
            }
}
