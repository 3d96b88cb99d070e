/* textures.hip - reads of kernels through textures
 *
 * Every function of HIP's device headers, for every kind of array, address
 * mode, filter, format and read mode, against a plain reference on the host.
 * Places lie on 256ths of an element, and values are such that weights of 8
 * bits and sums of floats are exact; so results are, but for fractions and
 * sRGB, which have a tolerance.
 */
#include "sampled.h"

#include <type_traits>

/* ---- kernels ------------------------------------------------------------ */

enum Call {
    FETCH,
    T1D,
    T1D_LOD,
    T1D_GRAD,
    T1D_LAYERED,
    T1D_LAYERED_LOD,
    T1D_LAYERED_GRAD,
    T2D,
    T2D_LOD,
    T2D_GRAD,
    T2D_LAYERED,
    T2D_LAYERED_LOD,
    T2D_LAYERED_GRAD,
    T3D,
    T3D_LOD,
    T3D_GRAD,
    GATHER,
    CUBE,
    CUBE_LOD,
    CUBE_LAYERED,
    CUBE_LAYERED_LOD,
    NCALLS
};

static const char *const call_names[NCALLS] = {"tex1Dfetch",
                                               "tex1D",
                                               "tex1DLod",
                                               "tex1DGrad",
                                               "tex1DLayered",
                                               "tex1DLayeredLod",
                                               "tex1DLayeredGrad",
                                               "tex2D",
                                               "tex2DLod",
                                               "tex2DGrad",
                                               "tex2DLayered",
                                               "tex2DLayeredLod",
                                               "tex2DLayeredGrad",
                                               "tex3D",
                                               "tex3DLod",
                                               "tex3DGrad",
                                               "tex2Dgather",
                                               "texCubemap",
                                               "texCubemapLod",
                                               "texCubemapLayered",
                                               "texCubemapLayeredLod"};

struct Place {
    float x, y, z;
    int layer;        /* gather: the channel */
    float level;      /* gradients: how many elements, as a power of 2 */
    float dx, dy, dz; /* a step of one element, as coordinates */
};

template <typename T, int CALL>
__global__ void sample(hipTextureObject_t t, const Place *places, T *out,
                       unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
#ifndef NO_IMAGES
    const Place p = places[i];
    const float step = exp2f(p.level);

    if constexpr (CALL == FETCH)
        out[i] = tex1Dfetch<T>(t, (int)p.x);
    else if constexpr (CALL == T1D)
        out[i] = tex1D<T>(t, p.x);
    else if constexpr (CALL == T1D_LOD)
        out[i] = tex1DLod<T>(t, p.x, p.level);
    else if constexpr (CALL == T1D_GRAD)
        out[i] = tex1DGrad<T>(t, p.x, step * p.dx, 0);
    else if constexpr (CALL == T1D_LAYERED)
        out[i] = tex1DLayered<T>(t, p.x, p.layer);
    else if constexpr (CALL == T1D_LAYERED_LOD)
        out[i] = tex1DLayeredLod<T>(t, p.x, p.layer, p.level);
    else if constexpr (CALL == T1D_LAYERED_GRAD)
        out[i] = tex1DLayeredGrad<T>(t, p.x, p.layer, step * p.dx, 0);
    else if constexpr (CALL == T2D)
        out[i] = tex2D<T>(t, p.x, p.y);
    else if constexpr (CALL == T2D_LOD)
        out[i] = tex2DLod<T>(t, p.x, p.y, p.level);
    else if constexpr (CALL == T2D_GRAD)
        out[i] = tex2DGrad<T>(t, p.x, p.y, float2(step * p.dx, 0),
                              float2(0, step * p.dy));
    else if constexpr (CALL == T2D_LAYERED)
        out[i] = tex2DLayered<T>(t, p.x, p.y, p.layer);
    else if constexpr (CALL == T2D_LAYERED_LOD)
        out[i] = tex2DLayeredLod<T>(t, p.x, p.y, p.layer, p.level);
    else if constexpr (CALL == T2D_LAYERED_GRAD)
        out[i] =
            tex2DLayeredGrad<T>(t, p.x, p.y, p.layer, float2(step * p.dx, 0),
                                float2(0, step * p.dy));
    else if constexpr (CALL == T3D)
        out[i] = tex3D<T>(t, p.x, p.y, p.z);
    else if constexpr (CALL == T3D_LOD)
        out[i] = tex3DLod<T>(t, p.x, p.y, p.z, p.level);
    else if constexpr (CALL == T3D_GRAD)
        out[i] = tex3DGrad<T>(t, p.x, p.y, p.z, float4(step * p.dx, 0, 0, 0),
                              float4(0, step * p.dy, 0, 0));
#ifndef __gfx90a__
    else if constexpr (CALL == GATHER)
        out[i] = tex2Dgather<T>(t, p.x, p.y, p.layer);
#endif
    else if constexpr (CALL == CUBE)
        out[i] = texCubemap<T>(t, p.x, p.y, p.z);
    else if constexpr (CALL == CUBE_LOD)
        out[i] = texCubemapLod<T>(t, p.x, p.y, p.z, p.level);
    else if constexpr (CALL == CUBE_LAYERED)
        out[i] = texCubemapLayered<T>(t, p.x, p.y, p.z, p.layer);
    else if constexpr (CALL == CUBE_LAYERED_LOD)
        out[i] = texCubemapLayeredLod<T>(t, p.x, p.y, p.z, p.layer, p.level);
#endif
}

/* ---- comparing ---------------------------------------------------------- */

static void expect(const std::string &what, const Place &p, int channels,
                   const double want[4], const double got[4], double tolerance)
{
    for (int c = 0; c < channels; c++) {
        compared++;
        if (std::fabs(want[c] - got[c]) <= tolerance)
            continue;
        if (failures++ % 64 == 0)
            std::printf("%s: %s at (%g, %g, %g) layer %d level %g: channel %d "
                        "is %.9g, not %.9g\n",
                        device_name.c_str(), what.c_str(), p.x, p.y, p.z,
                        p.layer, p.level, c, got[c], want[c]);
    }
}

template <typename T, int CALL>
static std::vector<T> run_call(hipTextureObject_t t,
                               const std::vector<Place> &places)
{
    const unsigned n = (unsigned)places.size();
    Buffer<Place> in(n);
    Buffer<T> out(n);
    std::vector<T> back(n);

    CHECK(hipMemcpy(in.at, places.data(), n * sizeof(Place),
                    hipMemcpyHostToDevice));
    sample<T, CALL><<<(n + 63) / 64, 64>>>(t, in.at, out.at, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(back.data(), out.at, n * sizeof(T), hipMemcpyDeviceToHost));
    return back;
}

/* ---- objects ------------------------------------------------------------ */

static hipTextureDesc texture_desc(const Format &f, const Sampler &s)
{
    hipTextureDesc t;

    std::memset(&t, 0, sizeof(t));
    t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = s.address;
    t.filterMode = s.linear ? hipFilterModeLinear : hipFilterModePoint;
    t.readMode =
        f.normalized ? hipReadModeNormalizedFloat : hipReadModeElementType;
    t.normalizedCoords = s.normalized;
    t.sRGB = f.srgb;
    return t;
}

static hipTextureObject_t new_texture(hipArray_t a, const Format &f,
                                      const Sampler &s)
{
    const hipTextureDesc t = texture_desc(f, s);
    hipResourceDesc d;
    hipTextureObject_t object;

    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypeArray;
    d.res.array.array = a;
    CHECK(hipCreateTextureObject(&object, &d, &t, nullptr));
    return object;
}

/* Fractions are rounded where hardware does; elements and floats are exact. */
static double tolerance_of(const Format &f)
{
    return f.srgb ? 1.0 / 512 : f.normalized && f.bits < 32 ? 2e-6 : 0;
}

/* ---- the calls, over places --------------------------------------------- */

/* Places from well before the first element to well behind the last. */
static std::vector<Place> places_of(const Image &m, int dims, const Sampler &s,
                                    bool layered, int nplaces)
{
    std::vector<Place> places;
    unsigned random = 12345;

    for (int i = 0; i < nplaces; i++) {
        const int sizes[3] = {m.width, m.height, m.depth};
        float at[3] = {0, 0, 0};
        Place p = {};

        for (int d = 0; d < dims; d++) {
            random = random * 1664525u + 1013904223u;
            /* 64ths, never on an edge, where either side may be nearest. */
            at[d] = (float)((int)(random >> 16) % (192 * sizes[d])) / 64 -
                    (float)sizes[d] + 1.0f / 128;
            if (s.normalized)
                at[d] /= (float)sizes[d];
        }
        p.x = at[0];
        p.y = at[1];
        p.z = at[2];
        p.layer = layered ? i % m.depth : 0;
        p.dx = s.normalized ? 1.0f / (float)m.width : 1;
        p.dy = s.normalized ? 1.0f / (float)m.height : 1;
        p.dz = s.normalized ? 1.0f / (float)m.depth : 1;
        places.push_back(p);
    }
    return places;
}

template <typename T, int CALL>
static void compare_call(const Image &m, const Sampler &s, int dims,
                         bool layered, hipTextureObject_t t,
                         const std::string &what)
{
    const std::vector<Place> places = places_of(m, dims, s, layered, 96);
    const std::vector<T> got = run_call<T, CALL>(t, places);

    for (size_t i = 0; i < places.size(); i++) {
        const Place &p = places[i];
        double want[4], g[4];

        read(m, s, dims, p.x, p.y, p.z, p.layer, want);
        for (int c = 0; c < 4; c++)
            g[c] = channel_of(got[i], c);
        expect(std::string(call_names[CALL]) + what, p, m.format.channels, want,
               g, tolerance_of(m.format));
    }
}

static const char *const address_names[] = {"wrap", "clamp", "mirror",
                                            "border"};

static std::string name_of(const Format &f, const Sampler &s)
{
    return " " + name_of(f) + ", " + address_names[s.address] +
           (s.linear ? ", linear" : ", point") +
           (s.normalized ? ", normalized" : "");
}

/* Every address mode and filter that the device and the coordinates allow. */
template <typename F> static void each_sampler(bool filters, F &&f)
{
    for (int mode = 0; mode < 4; mode++)
        for (int linear = 0; linear <= (int)filters; linear++)
            for (int normalized = 0; normalized < 2; normalized++) {
                if (!normalized && (mode == hipAddressModeWrap ||
                                    mode == hipAddressModeMirror))
                    continue;
                f(Sampler{(hipTextureAddressMode)mode, linear != 0,
                          normalized != 0});
            }
}

template <typename T, int PLAIN, int LOD, int GRAD>
static void compare_kind(const Format &f, int dims, bool layered, bool filters,
                         bool all)
{
    /* Sizes are powers of 2, so that their fractions are exact. */
    const Image m =
        make_image(f, 16, dims > 1 ? 8 : 1, dims > 2 || layered ? 4 : 1, 3);
    const hipArray_t a = new_array(m, dims, layered, 0);

    each_sampler(filters, [&](const Sampler &s) {
        const hipTextureObject_t t = new_texture(a, f, s);
        const std::string what = name_of(f, s);

        compare_call<T, PLAIN>(m, s, dims, layered, t, what);
        if (all) {
            compare_call<T, LOD>(m, s, dims, layered, t, what);
            compare_call<T, GRAD>(m, s, dims, layered, t, what);
        }
        CHECK(hipDestroyTextureObject(t));
    });
    CHECK(hipFreeArray(a));
}

template <typename T>
static void compare_format(const Format &f, bool layers_filter, bool all)
{
    const bool filters = std::is_same<T, float4>::value;

    compare_kind<T, T1D, T1D_LOD, T1D_GRAD>(f, 1, false, filters, all);
    compare_kind<T, T2D, T2D_LOD, T2D_GRAD>(f, 2, false, filters, all);
    compare_kind<T, T1D_LAYERED, T1D_LAYERED_LOD, T1D_LAYERED_GRAD>(
        f, 1, true, filters && layers_filter, all);
    compare_kind<T, T2D_LAYERED, T2D_LAYERED_LOD, T2D_LAYERED_GRAD>(
        f, 2, true, filters && layers_filter, all);
    compare_kind<T, T3D, T3D_LOD, T3D_GRAD>(f, 3, false,
                                            filters && layers_filter, all);
}

/* ---- memory of the program's -------------------------------------------- */

template <typename T> static void compare_fetch(const Format &f)
{
    enum { N = 100 };
    const Image m = make_image(f, N, 1, 1, 5);
    const Sampler s = {hipAddressModeClamp, false, false};
    const hipTextureDesc t = texture_desc(f, s);
    Buffer<unsigned char> memory(m.bytes.size());
    std::vector<Place> places;
    hipTextureObject_t object;
    hipResourceDesc d;

    CHECK(hipMemcpy(memory.at, m.bytes.data(), m.bytes.size(),
                    hipMemcpyHostToDevice));
    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypeLinear;
    d.res.linear.devPtr = memory.at;
    d.res.linear.desc = desc_of(f);
    d.res.linear.sizeInBytes = m.bytes.size();
    CHECK(hipCreateTextureObject(&object, &d, &t, nullptr));
    for (int i = 0; i <= N; i++) { /* the last index is outside */
        Place p = {};
        p.x = (float)i;
        places.push_back(p);
    }
    const std::vector<T> got = run_call<T, FETCH>(object, places);
    for (int i = 0; i <= N; i++) {
        const double zero[4] = {};
        double g[4];

        for (int c = 0; c < 4; c++)
            g[c] = channel_of(got[i], c);
        expect("tex1Dfetch " + name_of(f), places[i], f.channels,
               i < N ? m.at(i, 0, 0) : zero, g, tolerance_of(f));
    }
    CHECK(hipDestroyTextureObject(object));
}

static void compare_pitch_2d(const Format &f)
{
    const Image m = make_image(f, 16, 8, 1, 7);
    const size_t row = m.width * m.element();
    Buffer<unsigned char> memory(m.height * 512);
    hipResourceDesc d;

    CHECK(hipMemcpy2D(memory.at, 512, m.bytes.data(), row, row, m.height,
                      hipMemcpyHostToDevice));
    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypePitch2D;
    d.res.pitch2D.devPtr = memory.at;
    d.res.pitch2D.desc = desc_of(f);
    d.res.pitch2D.width = m.width;
    d.res.pitch2D.height = m.height;
    d.res.pitch2D.pitchInBytes = 512;
    each_sampler(true, [&](const Sampler &s) {
        const hipTextureDesc t = texture_desc(f, s);
        hipTextureObject_t object;

        CHECK(hipCreateTextureObject(&object, &d, &t, nullptr));
        compare_call<float4, T2D>(m, s, 2, false, object,
                                  " of rows" + name_of(f, s));
        CHECK(hipDestroyTextureObject(object));
    });
}

/* ---- gather, cubes ------------------------------------------------------ */

/* With point filters the device library moves a place to its element's edge. */
static double gathered(double coordinate, int size, const Sampler &s)
{
    const double x = s.normalized ? coordinate * size : coordinate;

    return s.linear ? x : std::floor(x);
}

static void compare_gather()
{
    const Format f = {32, FLOATING, 4, false, false};
    const Image m = make_image(f, 16, 8, 1, 11);
    const hipArray_t a = new_array(m, 2, false, hipArrayTextureGather);

    each_sampler(true, [&](const Sampler &s) {
        const hipTextureObject_t t = new_texture(a, f, s);
        std::vector<Place> places = places_of(m, 2, s, false, 96);

        for (size_t i = 0; i < places.size(); i++)
            places[i].layer = (int)i % 4;
        const std::vector<float4> got = run_call<float4, GATHER>(t, places);
        for (size_t i = 0; i < places.size(); i++) {
            /* The four that a linear filter would take, in this order. */
            static const int column[4] = {0, 1, 1, 0}, row[4] = {1, 1, 0, 0};
            const Sampler two = {s.address, true, false};
            const Spot x =
                spot_of(gathered(places[i].x, m.width, s), m.width, two);
            const Spot y =
                spot_of(gathered(places[i].y, m.height, s), m.height, two);
            /* AMD's headers count the channels from 1; all else is the last. */
            const int channel = places[i].layer ? places[i].layer - 1 : 3;
            double want[4], g[4];

            for (int c = 0; c < 4; c++) {
                const int tx = x.at[column[c]], ty = y.at[row[c]];

                want[c] = tx < 0 || ty < 0 ? 0 : m.at(tx, ty, 0)[channel];
                g[c] = channel_of(got[i], c);
            }
            expect("tex2Dgather" + name_of(f, s), places[i], 4, want, g, 0);
        }
        CHECK(hipDestroyTextureObject(t));
    });
    CHECK(hipFreeArray(a));
}

/*
 * AMD's runtime makes no cube maps; their calls read faces of a 2D array. The
 * device library of HIP 5 divides by the signed axis, and so turns the faces of
 * negative ones: those are left out.
 */
template <int CALL> static void compare_cube()
{
    enum { SIZE = 4, FACES = 6 };
    const Format f = {32, FLOATING, 4, false, false};
    const Image m = make_image(f, SIZE, SIZE, FACES, 13);
    const hipArray_t a = new_array(m, 2, true, 0);
    const Sampler s = {hipAddressModeClamp, false, true};
    const hipTextureObject_t t = new_texture(a, f, s);
    std::vector<Place> places;

    for (int face = 0; face < FACES; face += 2)
        for (int i = 0; i < SIZE * SIZE; i++) {
            /* From the middle of an element back to a direction. */
            const float u = 2 * ((float)(i % SIZE) + 0.5f) / SIZE - 1;
            const float v = 2 * ((float)(i / SIZE) + 0.5f) / SIZE - 1;
            const float faces[FACES][3] = {{1, -v, -u}, {-1, -v, u},
                                           {u, 1, v},   {u, -1, -v},
                                           {u, -v, 1},  {-u, -v, -1}};
            Place p = {};

            p.x = 3 * faces[face][0];
            p.y = 3 * faces[face][1];
            p.z = 3 * faces[face][2];
            places.push_back(p);
        }
    const std::vector<float4> got = run_call<float4, CALL>(t, places);
    for (size_t i = 0; i < places.size(); i++) {
        double g[4];

        for (int c = 0; c < 4; c++)
            g[c] = channel_of(got[i], c);
        expect(call_names[CALL], places[i], 4,
               m.at((int)i % SIZE, (int)i / SIZE % SIZE,
                    2 * ((int)i / SIZE / SIZE)),
               g, 0);
    }
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(a));
}

/* ---- levels ------------------------------------------------------------- */

/* Two levels of 2D images, between which a level of a half is halfway. */
static void compare_levels(bool between)
{
    const Format f = {32, FLOATING, 4, false, false};
    enum { LEVELS = 4, SIZE = 16 };
    const hipChannelFormatDesc desc = desc_of(f);
    std::vector<Image> images;
    hipMipmappedArray_t mip;
    hipResourceDesc d;

    CHECK(hipMallocMipmappedArray(&mip, &desc, hipExtent{SIZE, SIZE / 2, 0},
                                  LEVELS, 0));
    for (int l = 0; l < LEVELS; l++) {
        const int w = SIZE >> l, h = SIZE / 2 >> l;
        hipArray_t level;

        images.push_back(make_image(f, w, h, 1, 17u * (unsigned)l));
        CHECK(hipGetMipmappedArrayLevel(&level, mip, l));
        CHECK(hipMemcpy2DToArray(
            level, 0, 0, images[l].bytes.data(), w * images[l].element(),
            w * images[l].element(), h, hipMemcpyHostToDevice));
        CHECK(hipFreeArray(level));
    }
    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypeMipmappedArray;
    d.res.mipmap.mipmap = mip;
    each_sampler(true, [&](const Sampler &s) {
        if (!s.normalized)
            return; /* refused */
        hipTextureDesc t = texture_desc(f, s);
        hipTextureObject_t object;

        t.mipmapFilterMode = between ? hipFilterModeLinear : hipFilterModePoint;
        t.maxMipmapLevelClamp = LEVELS - 1;
        CHECK(hipCreateTextureObject(&object, &d, &t, nullptr));
        std::vector<Place> places = places_of(images[0], 2, s, false, 96);
        for (size_t i = 0; i < places.size(); i++) {
            /* On 256ths of the smallest level's elements, too. */
            places[i].x = (std::floor(places[i].x * 256) + 0.5f) / 256;
            places[i].y = (std::floor(places[i].y * 128) + 0.5f) / 128;
            places[i].level = between ? (float)(i % 7) / 2 : (float)(i % 4);
        }
        const std::vector<float4> lod =
            run_call<float4, T2D_LOD>(object, places);
        const std::vector<float4> grad =
            run_call<float4, T2D_GRAD>(object, places);
        for (size_t i = 0; i < places.size(); i++) {
            const Place &p = places[i];
            const int low = (int)p.level;
            const double share = p.level - low;
            double a[4], b[4] = {0, 0, 0, 0}, want[4], g[4], h[4];

            read(images[low], s, 2, p.x, p.y, 0, 0, a);
            if (share > 0)
                read(images[low + 1], s, 2, p.x, p.y, 0, 0, b);
            for (int c = 0; c < 4; c++) {
                want[c] = (1 - share) * a[c] + share * b[c];
                g[c] = channel_of(lod[i], c);
                h[c] = channel_of(grad[i], c);
            }
            expect("tex2DLod of levels" + name_of(f, s), p, 4, want, g, 0);
            if (share == 0) /* a gradient of a power of 2 */
                expect("tex2DGrad of levels" + name_of(f, s), p, 4, want, h, 0);
        }
        CHECK(hipDestroyTextureObject(object));
    });
    CHECK(hipFreeMipmappedArray(mip));
}

/* ---- references ----------------------------------------------------- */

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
texture<float, hipTextureType2D, hipReadModeElementType> reference;

__global__ void read_reference(float *out, int width, int height)
{
#ifndef NO_IMAGES
    const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x) % width;
    const int y = (int)(blockIdx.x * blockDim.x + threadIdx.x) / width;

    if (y >= height)
        return;
    out[y * width + x] = tex2D(reference, (float)x + 0.5f, (float)y + 0.5f);
#endif
}

static void compare_reference()
{
    const Format f = {32, FLOATING, 1, false, false};
    const Image m = make_image(f, 16, 8, 1, 29);
    const hipArray_t a = new_array(m, 2, false, 0);
    const size_t n = (size_t)m.width * m.height;
    std::vector<float> back(n);
    Buffer<float> out(n);

    CHECK(hipBindTextureToArray(reference, a));
    read_reference<<<2, 64>>>(out.at, m.width, m.height);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(back.data(), out.at, n * sizeof(float),
                    hipMemcpyDeviceToHost));
    CHECK(hipUnbindTexture(reference));
    for (size_t i = 0; i < n; i++) {
        compared++;
        if (back[i] != (float)m.values[4 * i] && failures++ < 20)
            std::printf("%s: the reference's element %zu is %g, not %g\n",
                        device_name.c_str(), i, back[i], m.values[4 * i]);
    }
    CHECK(hipFreeArray(a));
}

/* ---- all ---------------------------------------------------------------- */

static void refused()
{
    const Format f = {32, FLOATING, 1, false, false};
    const Sampler s = {hipAddressModeClamp, false, false};
    const hipTextureDesc t = texture_desc(f, s);
    hipTextureObject_t object = nullptr;
    Buffer<float> memory(64);
    hipResourceDesc d;

    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypeLinear;
    d.res.linear.devPtr = memory.at;
    d.res.linear.desc = desc_of(f);
    d.res.linear.sizeInBytes = 256;
    if (hipCreateTextureObject(&object, &d, &t, nullptr) !=
            hipErrorNotSupported ||
        object) {
        failures++;
        std::printf("%s: a texture without images\n", device_name.c_str());
    }
    (void)hipGetLastError(); /* or the next launch would have it */
}

static void compare_all(bool gfx90a)
{
    static const Format floats[] = {
        {32, FLOATING, 4, false, false}, {32, FLOATING, 2, false, false},
        {16, FLOATING, 4, false, false}, {8, UNSIGNED, 4, true, false},
        {8, SIGNED, 2, true, false},     {16, UNSIGNED, 1, true, false},
        {16, SIGNED, 4, true, false}};
    static const Format ints[] = {
        {8, SIGNED, 4, false, false},    {16, SIGNED, 2, false, false},
        {32, SIGNED, 1, false, false},   {8, UNSIGNED, 1, false, false},
        {16, UNSIGNED, 4, false, false}, {32, UNSIGNED, 4, false, false}};
    const Format srgb = {8, UNSIGNED, 4, true, true};

    for (const Format &f : floats) {
        compare_format<float4>(f, !gfx90a, &f == floats && !gfx90a);
        compare_fetch<float4>(f);
        compare_pitch_2d(f);
    }
    for (const Format &f : ints) {
        compare_format<int4>(f, !gfx90a, false);
        compare_fetch<int4>(f);
    }
    compare_kind<float4, T2D, T2D_LOD, T2D_GRAD>(srgb, 2, false, false, false);
    if (!gfx90a) {
        compare_gather();
        compare_levels(false);
        compare_levels(true);
    }
    compare_cube<CUBE>();
    compare_cube<CUBE_LAYERED>();
    if (!gfx90a) {
        compare_cube<CUBE_LOD>();
        compare_cube<CUBE_LAYERED_LOD>();
    }
    compare_reference();
}

int main()
{
    return on_each_device(compare_all, refused);
}
