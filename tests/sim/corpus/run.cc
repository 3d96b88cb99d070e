/* run.cc - runs the corpus on every device and compares it with the CPU
 *
 * usage: run DIR [-k GLOB] [-O LEVEL] [-d DEVICE]
 *
 * DIR holds PROCESSOR/LEVEL.hsaco: the same text at each optimisation level
 * (O0w64: for waves of 64 lanes where a target has both). Missing files are
 * skipped. Prints differences and ends with "N passed, M failed", counted in
 * kernels times devices times levels.
 */
#include "bits.h"
#include "builtins.h"
#include "control.h"
#include "floating.h"
#include "groups.h"
#include "integer.h"
#include "lanes.h"
#include "matrix.h"
#include "numbers.h"
#include "places.h"
#include "published.h"

#include "exact.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fnmatch.h>
#include <map>
#include <string>
#include <unistd.h>

/* The few HIP functions used; their types have been the same since HIP 4. */
extern "C" {
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipGetDevicePropertiesR0600(void *properties, int device);
int hipModuleLoad(hipModule_t *module, const char *file);
int hipModuleUnload(hipModule_t module);
int hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name);
int hipModuleLaunchKernel(hipFunction_t f, u32 gx, u32 gy, u32 gz, u32 bx,
                          u32 by, u32 bz, u32 shared, void *stream, void **args,
                          void **extra);
int hipMalloc(void **p, size_t n);
int hipFree(void *p);
int hipMemcpy(void *to, const void *from, size_t n, int kind);
int hipMemset(void *p, int value, size_t n);
int hipDeviceSynchronize(void);
const char *hipGetErrorName(int error);
}

#define CHECK(call) check((call), #call)

static void check(int error, const char *what)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
    exit(2);
}

static const char *kernel_glob = "*", *level_wanted, *device_wanted;
static unsigned passed, failed;

/* ---- what the CPU's library may lack: rounding to bf16, once ---- */

extern "C" __bf16 __truncdfbf2(double v)
{
    float f = (float)v;
    u32 u = bits_as<u32>(f);

    if (v != v)
        return bits_as<__bf16>((u16)(u >> 16 | 0x40));
    if ((double)f != v && __builtin_isfinite(f)) /* cut off, and odd */
        u = (__builtin_fabs((double)f) > __builtin_fabs(v) ? u - 1 : u) | 1;
    return bits_as<__bf16>((u16)((u + 0x7fff + (u >> 16 & 1)) >> 16));
}

extern "C" __bf16 __truncsfbf2(float v)
{
    return __truncdfbf2(v);
}

/* ---- inputs ---- */

static u64 random_state;

static u64 random64()
{
    u64 z = random_state += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One record: random words, small ones, or edges of one of the float types. */
static void fill_record(u32 *words, u32 n)
{
    static const u32 edges32[] = {
        0,          1,          2,          31,         32,         0x7fffffff,
        0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7f7fffff, 0x00800000, 0x007fffff, 0x00000001, 0x80000001,
        0x4f000000, 0x3effffff, 0x3f000000, 0x3fc00000, 0x4b000001, 0x33800000,
        0x3f7fffff, 0x40490fdb};
    static const u64 edges64[] = {0,
                                  1,
                                  ~UINT64_C(0),
                                  UINT64_C(1) << 63,
                                  (UINT64_C(1) << 63) - 1,
                                  UINT64_C(0x3ff0000000000000),
                                  UINT64_C(0x7ff0000000000000),
                                  UINT64_C(0xfff0000000000000),
                                  UINT64_C(0x7ff8000000000000),
                                  UINT64_C(0x0010000000000000),
                                  UINT64_C(0x000fffffffffffff),
                                  UINT64_C(0x7fefffffffffffff),
                                  UINT64_C(0x3fe0000000000000),
                                  UINT64_C(0x3fefffffffffffff),
                                  UINT64_C(0x4340000000000001),
                                  UINT64_C(0x41dfffffffc00000),
                                  UINT64_C(0x8000000000000001)};
    static const u16 edges16[] = {
        0,      1,      0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7bff,
        0x0400, 0x03ff, 0x8001, 0x3bff, 0x7fff, 0xffff, 0x3800, 0x6400};
    const u64 kind = random64() % 6;

    for (u32 i = 0; i < n; i++) {
        const u64 r = random64();

        if (kind == 2 && i % 2 == 1)
            continue; /* the high half of the pair before */
        words[i] = (u32)r;
        if (kind == 0)
            words[i] = (u32)(r % 40);
        else if (kind == 1 && (r >> 32) % 3)
            words[i] = edges32[(r >> 40) % (sizeof(edges32) / 4)];
        else if (kind == 2 && i % 2 == 0 && i + 1 < n)
            put_pair(&words[i], edges64[(r >> 40) % (sizeof(edges64) / 8)]);
        else if (kind == 3)
            words[i] =
                (u32)edges16[(r >> 8) % 16] << 16 | edges16[(r >> 16) % 16];
        else if (kind == 4) /* floats near one, whose sums cancel */
            words[i] = 0x3f000000u | ((u32)r & 0x80ffffffu);
    }
}

/* ---- running one kernel ---- */

struct place {
    hipModule_t module;
    std::string device, level;
};

static bool launch(const place &where, const std::string &name,
                   const std::vector<u32> &in, std::vector<u32> &out, u32 n)
{
    hipFunction_t f;
    void *d_in, *d_out;
    void *args[] = {&d_in, &d_out, &n};
    int error =
        hipModuleGetFunction(&f, where.module, ("corpus_" + name).c_str());

    if (error == 0) {
        CHECK(hipMalloc(&d_in, in.size() * 4));
        CHECK(hipMalloc(&d_out, out.size() * 4));
        CHECK(hipMemcpy(d_in, in.data(), in.size() * 4, 1));
        CHECK(hipMemset(d_out, 0, out.size() * 4));
        error = hipModuleLaunchKernel(f, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK,
                                      1, 1, BLOCK * 4, nullptr, args, nullptr);
        if (error == 0)
            error = hipDeviceSynchronize();
        if (error == 0)
            CHECK(hipMemcpy(out.data(), d_out, out.size() * 4, 2));
        CHECK(hipFree(d_in));
        CHECK(hipFree(d_out));
    }
    if (error)
        printf("FAIL %s %s %s: %s\n", name.c_str(), where.device.c_str(),
               where.level.c_str(), hipGetErrorName(error));
    return error == 0;
}

static void count(bool ok)
{
    ok ? passed++ : failed++;
    fflush(stdout);
}

/* ---- tests that must agree to the bit ---- */

static bool is_absent(const place &where, const corpus_test &test)
{
    hipFunction_t f;

    return test.optional &&
           hipModuleGetFunction(&f, where.module,
                                (std::string("corpus_") + test.name).c_str());
}

static void run_exact(const place &where, const corpus_test &test)
{
    const u32 n = 2 * BLOCK;
    std::vector<u32> in((size_t)n * test.nin), want((size_t)n * test.nout);
    std::vector<u32> got(want.size());
    unsigned wrong = 0;

    if (is_absent(where, test))
        return;
    random_state = test.nin * 1000 + test.nout;
    for (u32 i = 0; i < n; i++)
        fill_record(&in[(size_t)i * test.nin], test.nin);
    test.host(in.data(), want.data(), n);
    if (!launch(where, test.name, in, got, n))
        return count(false);
    for (size_t k = 0; k < want.size(); k++) {
        const size_t record = k / test.nout;

        if (got[k] == want[k] || wrong++ >= 3)
            continue;
        printf("FAIL %s %s %s: record %zu word %zu: want 0x%08x, got 0x%08x;"
               " input",
               test.name, where.device.c_str(), where.level.c_str(), record,
               k % test.nout, want[k], got[k]);
        for (u32 j = 0; j < test.nin && j < 8; j++)
            printf(" 0x%08x", in[record * test.nin + j]);
        printf("\n");
    }
    count(wrong == 0);
}

/* ---- the math library, within its bounds ---- */

typedef long double real;
static const real PI = 3.14159265358979323846264338327950288L;

struct format {
    const char *name;
    int digits, min_exponent, max_exponent; /* of the last place, of 2^e */
};
static const format formats[] = {
    {"f32", 24, -149, 128}, {"f64", 53, -1074, 1024}, {"f16", 11, -24, 16}};

static real round_to(const format &f, real v)
{
    int e;

    if (v == 0 || std::isnan(v) || std::isinf(v))
        return v;
    (void)frexpl(v, &e);
    e = std::max(e - f.digits, f.min_exponent);
    v = ldexpl(rintl(ldexpl(v, -e)), e);
    return fabsl(v) >= ldexpl(1, f.max_exponent) ? copysignl((real)INFINITY, v)
                                                 : v;
}

static real ulp_of(const format &f, real v)
{
    int e;

    (void)frexpl(v, &e);
    return ldexpl(1, v == 0 ? f.min_exponent
                            : std::max(e - f.digits, f.min_exponent));
}

static u64 encode(const format &f, real v)
{
    switch (f.digits) {
    case 24:
        return bits_as<u32>((float)v);
    case 53:
        return bits_as<u64>((double)v);
    default:
        return bits_as<u16>((f16)v);
    }
}

static real decode(const format &f, u64 bits)
{
    switch (f.digits) {
    case 24:
        return bits_as<float>((u32)bits);
    case 53:
        return bits_as<double>(bits);
    default:
        return (float)bits_as<f16>((u16)bits);
    }
}

/* An argument in [low, high], evenly or by magnitude, that the format has. */
static real argument(const format &f, real low, real high)
{
    for (;;) {
        const u64 r = random64();
        const real unit = ldexpl((real)(random64() >> 1), -63);
        real v = low + (high - low) * unit;

        if (r % 3 == 0) {
            v = ldexpl(1 + unit, (int)((r >> 8) % 240) - 120);
            if (r >> 40 & 1)
                v = -v;
        } else if (r % 64 == 1) {
            v = low;
        } else if (r % 64 == 2) {
            v = high;
        }
        v = round_to(f, v);
        if (v >= low && v <= high && !std::isinf(v))
            return v;
    }
}

typedef exact (*reference)(const exact &x, const exact &y);

struct ocml_row {
    const char *name;
    int arity;
    real low, high;
    real ulps[3]; /* f32, f64, f16 */
    reference value;
};

#define ROW1(name, low, high, u32_, u64_, u16_, ref)                           \
    {#name,                                                                    \
     1,                                                                        \
     low,                                                                      \
     high,                                                                     \
     {u32_, u64_, u16_},                                                       \
     [](const exact &x, const exact &) -> exact { return ref; }},
#define ROW2(name, low, high, u32_, u64_, u16_, ref)                           \
    {#name,                                                                    \
     2,                                                                        \
     low,                                                                      \
     high,                                                                     \
     {u32_, u64_, u16_},                                                       \
     [](const exact &x, const exact &y) -> exact { return ref; }},
static const ocml_row ocml_rows[] = {OCML_TABLE1(ROW1) OCML_TABLE2(ROW2)};

/* Arguments of a function in one format, as a kernel reads them, with its
 * values; made once for all devices and levels. */
struct samples {
    std::vector<u32> in;
    std::vector<real> x, y, want;
};

static const samples &samples_of(const std::string &key, const format &f,
                                 int arity, const real (&low)[2],
                                 const real (&high)[2], reference value)
{
    static std::map<std::string, samples> made;
    const u32 n = 2 * BLOCK, nin = 2 * (u32)arity;
    samples &s = made[key];

    if (!s.in.empty())
        return s;
    s.in.resize((size_t)n * nin);
    s.x.resize(n);
    s.y.resize(n);
    random_state = 7;
    for (u32 i = 0; i < n; i++) {
        s.x[i] = argument(f, low[0], high[0]);
        put_pair(&s.in[(size_t)i * nin], encode(f, s.x[i]));
        if (arity == 2) {
            s.y[i] = argument(f, low[1], high[1]);
            put_pair(&s.in[(size_t)i * nin + 2], encode(f, s.y[i]));
        }
        s.want.push_back(nearest_odd(value(s.x[i], s.y[i])));
    }
    return s;
}

static bool good(const format &f, real want, real got, real ulps)
{
    const real rounded = round_to(f, want);

    if (std::isnan(want))
        return std::isnan(got);
    if (std::isinf(rounded) || std::isinf(got)) /* at the edge of the range */
        return std::isinf(got)
                   ? fabsl(want) >=
                         ldexpl(1 - ldexpl(ulps, -f.digits), f.max_exponent)
                   : fabsl(got) >= ldexpl(1 - ldexpl(ulps + 1, -f.digits),
                                          f.max_exponent);
    if (ulps == 0)
        return got == rounded;
    return fabsl(got - want) <= ulps * ulp_of(f, want);
}

static void print_number(const place &where, const std::string &name,
                         const format &f, const samples &s, u32 i, int arity,
                         real got)
{
    printf("FAIL %s %s %s: of %.21Lg", name.c_str(), where.device.c_str(),
           where.level.c_str(), s.x[i]);
    if (arity == 2)
        printf(" and %.21Lg", s.y[i]);
    printf(": want %.21Lg, got %.21Lg, %.3Lg ulp\n", s.want[i], got,
           fabsl(got - s.want[i]) / ulp_of(f, s.want[i]));
}

/* No result may be further off than OCML's manual says. */
static void run_ocml(const place &where, const ocml_row &row, int type)
{
    const format &f = formats[type];
    const std::string name = std::string("ocml_") + row.name + "_" + f.name;
    const u32 n = 2 * BLOCK;
    std::vector<u32> got((size_t)n * 2);
    unsigned wrong = 0;

    if (row.ulps[type] == SKIP || fnmatch(kernel_glob, name.c_str(), 0) != 0)
        return;
    const samples &s = samples_of(name, f, row.arity, {row.low, row.low},
                                  {row.high, row.high}, row.value);
    if (!launch(where, name, s.in, got, n))
        return count(false);
    for (u32 i = 0; i < n; i++) {
        const real v = decode(f, pair(&got[(size_t)i * 2]));

        if (!good(f, s.want[i], v, row.ulps[type]) && wrong++ < 3)
            print_number(where, name, f, s, i, row.arity, v);
    }
    count(wrong == 0);
}

/* ---- ... and as near as HIP's manual says ---- */

struct published_row {
    std::string kernel;
    int type, arity;
    real low[2], high[2], ulps;
    reference value;
};

static reference value_of(const char *name)
{
    for (const ocml_row &row : ocml_rows)
        if (strcmp(row.name, name) == 0)
            return row.value;
    abort();
}

static int arity_of(real low, real high)
{
    return low < high ? 2 : 1;
}

static int type_of(float)
{
    return 0;
}

static int type_of(double)
{
    return 1;
}

#define PUBLISHED_ROWS(name, low, high, low2, high2, u32_, u64_)               \
    {"ocml_" #name "_f32", 0,    arity_of(low2, high2), {low, low2},           \
     {high, high2},        u32_, value_of(#name)},                             \
        {"ocml_" #name "_f64", 1,    arity_of(low2, high2), {low, low2},       \
         {high, high2},        u64_, value_of(#name)},
#define BY_NAME_ROW1(call, T, low, high, low2, high2, ulps, ref)               \
    {"math_" #call,                                                            \
     type_of(T()),                                                             \
     1,                                                                        \
     {low, low2},                                                              \
     {high, high2},                                                            \
     ulps,                                                                     \
     [](const exact &x, const exact &) -> exact { return ref; }},
#define BY_NAME_ROW2(call, T, low, high, low2, high2, ulps, ref)               \
    {"math_" #call,                                                            \
     type_of(T()),                                                             \
     2,                                                                        \
     {low, low2},                                                              \
     {high, high2},                                                            \
     ulps,                                                                     \
     [](const exact &x, const exact &y) -> exact { return ref; }},
static const published_row published_rows[] = {
    PUBLISHED_TABLE(PUBLISHED_ROWS) BY_NAME_TABLE(BY_NAME_ROW1, BY_NAME_ROW2)};

/* The distance from the correctly rounded value where the absolute error is
 * largest, as HIP's manual takes it. */
static void run_published(const place &where, const published_row &row)
{
    const format &f = formats[row.type];
    const u32 n = 2 * BLOCK;
    std::vector<u32> got((size_t)n * 2);
    real most = -1, at_most = 0;
    u32 worst = 0;

    if (fnmatch(kernel_glob, row.kernel.c_str(), 0) != 0)
        return;
    const samples &s = samples_of("published " + row.kernel, f, row.arity,
                                  row.low, row.high, row.value);
    if (!launch(where, row.kernel, s.in, got, n))
        return count(false);
    for (u32 i = 0; i < n; i++) {
        const real v = decode(f, pair(&got[(size_t)i * 2]));
        const real want = round_to(f, s.want[i]);
        const bool same = v == want || (std::isnan(v) && std::isnan(want));
        const real error = same ? 0 : fabsl(v - want);

        if (error > most || std::isnan(error)) {
            most = error;
            at_most = v;
            worst = i;
        }
    }
    if (most <= row.ulps * ulp_of(f, round_to(f, s.want[worst])))
        return count(true);
    print_number(where, row.kernel, f, s, worst, row.arity, at_most);
    count(false);
}

/* ---- the program ---- */

static void run_level(const std::string &dir, const std::string &processor,
                      const char *level)
{
    const std::string file = dir + "/" + processor + "/" + level + ".hsaco";
    place where = {nullptr, processor, level};

    if (access(file.c_str(), R_OK) != 0 ||
        (level_wanted && strcmp(level, level_wanted) != 0))
        return;
    check(hipModuleLoad(&where.module, file.c_str()), file.c_str());
    for (const corpus_test *t = corpus_test::first; t; t = t->next)
        if (fnmatch(kernel_glob, t->name, 0) == 0)
            run_exact(where, *t);
    for (const ocml_row &row : ocml_rows)
        for (int type = 0; type < 3; type++)
            run_ocml(where, row, type);
    for (const published_row &row : published_rows)
        run_published(where, row);
    CHECK(hipModuleUnload(where.module));
}

int main(int argc, char **argv)
{
    enum { PROPERTIES = 4096, ARCH_NAME = 1160 };
    int ndevices = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: run DIR [-k GLOB] [-O LEVEL] [-d DEVICE]\n");
        return 2;
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "-k") == 0)
            kernel_glob = argv[i + 1];
        else if (strcmp(argv[i], "-O") == 0)
            level_wanted = argv[i + 1];
        else if (strcmp(argv[i], "-d") == 0)
            device_wanted = argv[i + 1];
    }
    CHECK(hipGetDeviceCount(&ndevices));
    for (int d = 0; d < ndevices; d++) {
        static char properties[PROPERTIES];
        std::string processor;

        CHECK(hipGetDevicePropertiesR0600(properties, d));
        processor = properties + ARCH_NAME;
        processor = processor.substr(0, processor.find(':'));
        if (device_wanted && processor != device_wanted)
            continue;
        CHECK(hipSetDevice(d));
        for (const char *level : {"O0", "O1", "O2", "O3", "Os", "O0w64",
                                  "O1w64", "O2w64", "O3w64", "Osw64"})
            run_level(argv[1], processor, level);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !passed;
}
