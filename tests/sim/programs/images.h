/*
 * images.h - images of any format, on the host and in arrays
 *
 * Shared by textures.hip and surfaces.hip: formats, an image with the raw and
 * the converted value of each channel, arrays that hold the image, and the loop
 * over devices.
 */
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                            \
    do {                                                                       \
        hipError_t e = (call);                                                 \
        if (e != hipSuccess) {                                                 \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call,          \
                        hipGetErrorString(e));                                 \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

/* CDNA 3 and later have no textures; gfx90a has no gather, no levels. */
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1250__)
#define NO_IMAGES
#endif

inline int failures;
inline std::string device_name;
inline unsigned compared; /* values */

/* ---- formats ------------------------------------------------------------ */

enum Kind { SIGNED, UNSIGNED, FLOATING };

struct Format {
    int bits;
    Kind kind;
    int channels;
    bool normalized, srgb;
};

inline hipChannelFormatDesc desc_of(const Format &f)
{
    return {f.bits, f.channels > 1 ? f.bits : 0, f.channels > 2 ? f.bits : 0,
            f.channels > 3 ? f.bits : 0,
            f.kind == SIGNED     ? hipChannelFormatKindSigned
            : f.kind == UNSIGNED ? hipChannelFormatKindUnsigned
                                 : hipChannelFormatKindFloat};
}

inline std::string name_of(const Format &f)
{
    const char *kinds = "iuf";
    std::string s(1, kinds[f.kind]);

    s += std::to_string(f.bits) + "x" + std::to_string(f.channels);
    if (f.normalized)
        s += f.srgb ? " sRGB" : " normalized";
    return s;
}

inline unsigned half_of(float value) /* small integers and halves only */
{
    const _Float16 h = (_Float16)value;
    unsigned short bits;

    std::memcpy(&bits, &h, 2);
    return bits;
}

/* An image on the host, with raw channels and with what they mean. */
struct Image {
    Format format;
    int width, height, depth; /* layers are slices */
    std::vector<unsigned char> bytes;
    std::vector<double> values; /* four for each element */

    size_t element() const
    {
        return (size_t)format.bits / 8 * format.channels;
    }
    const double *at(int x, int y, int z) const
    {
        return &values[4 * (((size_t)z * height + y) * width + x)];
    }
};

inline double linear_of(double srgb)
{
    return srgb <= 0.04045 ? srgb / 12.92
                           : std::pow((srgb + 0.055) / 1.055, 2.4);
}

/* Value number i of a format, raw and as it is read. */
inline unsigned raw_of(const Format &f, unsigned i, int channel, double *value)
{
    const unsigned mixed = i * 37u + (unsigned)channel * 11u;
    const unsigned mask = f.bits == 32 ? ~0u : (1u << f.bits) - 1;
    unsigned raw;

    if (f.kind == FLOATING) {
        const float v = (float)(mixed % 512) / 2 - 100;

        *value = v;
        if (f.bits == 16)
            return half_of(v);
        std::memcpy(&raw, &v, 4);
        return raw;
    }
    raw = f.bits == 8 ? mixed : mixed * 251u;
    if (f.bits == 32)
        raw &= 0xffff; /* keeps sums exact */
    raw &= mask;
    if (f.kind == SIGNED) {
        const int v = f.bits == 8    ? (signed char)raw
                      : f.bits == 16 ? (short)raw
                                     : (int)raw;
        const int most = f.bits == 8 ? 127 : 32767;

        *value =
            f.normalized && f.bits < 32 ? std::fmax(-1, (double)v / most) : v;
    } else {
        *value = f.normalized && f.bits < 32 ? (double)raw / mask : raw;
        if (f.srgb && channel < 3)
            *value = linear_of(*value);
    }
    return raw;
}

inline Image make_image(const Format &f, int width, int height, int depth,
                        unsigned seed)
{
    Image m = {f, width, height, depth, {}, {}};
    const size_t n = (size_t)width * height * depth;

    m.bytes.resize(n * m.element());
    m.values.assign(4 * n, 0);
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < f.channels; c++) {
            const unsigned raw =
                raw_of(f, (unsigned)i + seed, c, &m.values[4 * i + c]);

            std::memcpy(&m.bytes[i * m.element() + (size_t)c * f.bits / 8],
                        &raw, (size_t)f.bits / 8);
        }
        if (f.channels < 4) /* missing channels read 0, W reads 1 */
            m.values[4 * i + 3] = 1;
    }
    return m;
}

/* ---- on a device --------------------------------------------------------- */

template <typename T> struct Buffer {
    T *at;
    explicit Buffer(size_t n)
    {
        CHECK(hipMalloc((void **)&at, n * sizeof(T)));
    }
    ~Buffer()
    {
        CHECK(hipFree(at));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
};

template <typename T> double channel_of(const T &v, int c)
{
    return c == 0 ? v.x : c == 1 ? v.y : c == 2 ? v.z : v.w;
}

inline hipArray_t new_array(const Image &m, int dims, bool layered,
                            unsigned flags)
{
    const hipChannelFormatDesc desc = desc_of(m.format);
    const hipExtent extent = {(size_t)m.width, dims > 1 ? (size_t)m.height : 0,
                              dims > 2 || layered ? (size_t)m.depth : 0};
    hipMemcpy3DParms p = {};
    hipArray_t a;

    CHECK(hipMalloc3DArray(&a, &desc, extent,
                           flags | (layered ? hipArrayLayered : 0)));
    p.dstArray = a;
    p.srcPtr = make_hipPitchedPtr((void *)m.bytes.data(), m.width * m.element(),
                                  m.width * m.element(), m.height);
    p.extent = {(size_t)m.width, (size_t)m.height, (size_t)m.depth};
    p.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&p));
    return a;
}

/*
 * Calls compare(whether it is gfx90a) for each device that has images, and
 * refused() for each other; says how much was compared. The program's status.
 */
template <typename Compare, typename Refused>
int on_each_device(Compare compare, Refused refused)
{
    int n, images;

    CHECK(hipGetDeviceCount(&n));
    for (int i = 0; i < n; i++) {
        hipDeviceProp_t properties;

        CHECK(hipSetDevice(i));
        CHECK(hipGetDeviceProperties(&properties, i));
        CHECK(
            hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, i));
        device_name = properties.gcnArchName;
        if (images)
            compare(device_name.rfind("gfx90a", 0) == 0);
        else
            refused();
    }
    std::printf("%u values compared on %d devices, %d wrong\n", compared, n,
                failures);
    return failures != 0;
}
