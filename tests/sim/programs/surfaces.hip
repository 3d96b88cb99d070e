/* surfaces.hip - reads and writes of kernels through surfaces
 *
 * Every function of HIP's device headers, for every kind of array: kernels must
 * read the texels that were copied in, and copies must return the texels that
 * kernels wrote.
 */
#include "images.h"

/* ---- kernels ------------------------------------------------------------ */

enum Surface { S1D, S2D, S3D, S1D_LAYERED, S2D_LAYERED, S_CUBE, NSURFACES };
static const char *const surface_names[NSURFACES] = {
    "surf1D",        "surf2D",        "surf3D",
    "surf1DLayered", "surf2DLayered", "surfCubemap"};

/* Reads an element, writes what it read to the second surface, mirrored. */
template <typename T, int CALL>
__global__ void copy_surface(hipSurfaceObject_t from, hipSurfaceObject_t to,
                             T *out, int width, int height, int depth)
{
#ifndef NO_IMAGES
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = i % width, y = i / width % height, z = i / width / height;

    if (i >= width * height * depth)
        return;
    const int at = x * (int)sizeof(T), to_x = (width - 1 - x) * (int)sizeof(T);
    T value;

    if constexpr (CALL == S1D) {
        surf1Dread(&value, from, at);
        surf1Dwrite(value, to, to_x);
    } else if constexpr (CALL == S2D) {
        surf2Dread(&value, from, at, y);
        surf2Dwrite(value, to, to_x, y);
    } else if constexpr (CALL == S3D) {
        surf3Dread(&value, from, at, y, z);
        surf3Dwrite(value, to, to_x, y, z);
    } else if constexpr (CALL == S1D_LAYERED) {
        surf1DLayeredread(&value, from, at, 0);
        surf1DLayeredwrite(value, to, to_x, 0);
    } else if constexpr (CALL == S2D_LAYERED) {
        surf2DLayeredread(&value, from, at, y, 0);
        surf2DLayeredwrite(value, to, to_x, y, 0);
    } else if constexpr (CALL == S_CUBE) {
        surfCubemapread(&value, from, at, y, z);
        surfCubemapwrite(value, to, to_x, y, z);
    }
    out[i] = value;
#endif
}

/* Reads outside of a surface give 0, writes do nothing. */
__global__ void leave_surface(hipSurfaceObject_t s, float4 *out, int width,
                              int height)
{
#ifndef NO_IMAGES
    const int n = (int)sizeof(float4);
    const float4 value = make_float4(7, 7, 7, 7);

    surf2Dread(&out[0], s, width * n, 0);
    surf2Dread(&out[1], s, -n, 0);
    surf2Dread(&out[2], s, 0, height);
    surf2Dread(&out[3], s, 0, -1);
    surf2Dwrite(value, s, width * n, 0);
    surf2Dwrite(value, s, -n, 0);
    surf2Dwrite(value, s, 0, height);
    surf2Dwrite(value, s, 0, -1);
#endif
}

/* ---- comparing ---------------------------------------------------------- */

static hipSurfaceObject_t new_surface(hipArray_t a)
{
    hipSurfaceObject_t s;
    hipResourceDesc d;

    std::memset(&d, 0, sizeof(d));
    d.resType = hipResourceTypeArray;
    d.res.array.array = a;
    CHECK(hipCreateSurfaceObject(&s, &d));
    return s;
}

static std::vector<unsigned char> bytes_of(hipArray_t a, const Image &m)
{
    std::vector<unsigned char> bytes(m.bytes.size());
    hipMemcpy3DParms p = {};

    p.srcArray = a;
    p.dstPtr = make_hipPitchedPtr(bytes.data(), m.width * m.element(),
                                  m.width * m.element(), m.height);
    p.extent = {(size_t)m.width, (size_t)m.height, (size_t)m.depth};
    p.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&p));
    return bytes;
}

template <typename T, int CALL>
static void compare_surface(const Format &f, int dims, bool layered)
{
    const Image m =
        make_image(f, 13, dims > 1 ? 7 : 1, dims > 2 || layered ? 6 : 1, 19);
    const hipArray_t a = new_array(m, dims, layered, hipArraySurfaceLoadStore);
    const hipArray_t b = new_array(m, dims, layered, hipArraySurfaceLoadStore);
    const hipSurfaceObject_t from = new_surface(a), to = new_surface(b);
    const size_t n = m.bytes.size() / sizeof(T);
    std::vector<T> read_back(n);
    Buffer<T> out(n);

    copy_surface<T, CALL><<<(unsigned)(n + 63) / 64, 64>>>(
        from, to, out.at, m.width, m.height, m.depth);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(read_back.data(), out.at, n * sizeof(T),
                    hipMemcpyDeviceToHost));
    const std::vector<unsigned char> stored = bytes_of(b, m);
    for (size_t i = 0; i < n; i++) {
        const size_t x = i % m.width, mirrored = i - x + (m.width - 1 - x);
        const bool same =
            !std::memcmp(&read_back[i], &m.bytes[i * sizeof(T)], sizeof(T)) &&
            !std::memcmp(&stored[mirrored * sizeof(T)], &m.bytes[i * sizeof(T)],
                         sizeof(T));

        compared++;
        if (!same && failures++ < 20)
            std::printf("%s: %s %s: element %zu is wrong\n",
                        device_name.c_str(), surface_names[CALL],
                        name_of(f).c_str(), i);
    }
    CHECK(hipDestroySurfaceObject(from));
    CHECK(hipDestroySurfaceObject(to));
    CHECK(hipFreeArray(a));
    CHECK(hipFreeArray(b));
}

template <typename T> static void compare_surfaces(const Format &f)
{
    compare_surface<T, S1D>(f, 1, false);
    compare_surface<T, S2D>(f, 2, false);
    compare_surface<T, S3D>(f, 3, false);
    /* AMD's headers take the layer for a level, so that there is but one.
     */
    compare_surface<T, S1D_LAYERED>(f, 1, false);
    compare_surface<T, S2D_LAYERED>(f, 2, false);
    compare_surface<T, S_CUBE>(f, 2, true);
}

static void compare_outside()
{
    const Format f = {32, FLOATING, 4, false, false};
    const Image m = make_image(f, 5, 3, 1, 23);
    const hipArray_t a = new_array(m, 2, false, hipArraySurfaceLoadStore);
    const hipSurfaceObject_t s = new_surface(a);
    Buffer<float4> out(4);
    float4 back[4];

    leave_surface<<<1, 1>>>(s, out.at, m.width, m.height);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(back, out.at, sizeof(back), hipMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 4; c++) {
            compared++;
            if (channel_of(back[i], c) != 0 && failures++ < 20)
                std::printf("%s: read %d outside of a surface gave %g\n",
                            device_name.c_str(), i, channel_of(back[i], c));
        }
    if (bytes_of(a, m) != m.bytes && failures++ < 20)
        std::printf("%s: a write outside of a surface changed it\n",
                    device_name.c_str());
    CHECK(hipDestroySurfaceObject(s));
    CHECK(hipFreeArray(a));
}

static void compare_all(bool)
{
    /* The headers of HIP 5 convert integers to floats on the way. */
    compare_surfaces<float4>({32, FLOATING, 4, false, false});
    compare_surfaces<float2>({32, FLOATING, 2, false, false});
    compare_surfaces<float>({32, FLOATING, 1, false, false});
    compare_outside();
}

static void refused()
{
    const hipChannelFormatDesc desc = {32, 0, 0, 0, hipChannelFormatKindFloat};
    hipArray_t a = nullptr;

    if (hipMalloc3DArray(&a, &desc, hipExtent{16, 16, 0},
                         hipArraySurfaceLoadStore) != hipErrorNotSupported ||
        a) {
        failures++;
        std::printf("%s: an array without images\n", device_name.c_str());
    }
    (void)hipGetLastError();
}

int main()
{
    return on_each_device(compare_all, refused);
}
