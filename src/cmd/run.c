/* run.c - kpack run: launches the kernels it knows and checks the results
 *
 * Every check computes with small whole numbers that all element types hold
 * exactly, f8 too, and so compares bits: it tells a kernel that works on a
 * device from one that does not. How exact kernels are is what the project's
 * own tests measure.
 */
#include "cmd.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4099, MAX_ELEMENT = 8, MAX_BUFFERS = 4 };

static const struct type {
    const char *suffix;
    unsigned nbytes;
    unsigned exponent_bits, mantissa_bits; /* 0, 0: an integer */
} types[] = {
    {"fp8_e4m3", 1, 4, 3}, {"u8", 1, 0, 0},    {"i16", 2, 0, 0},
    {"i32", 4, 0, 0},      {"u32", 4, 0, 0},   {"i64", 8, 0, 0},
    {"f8_e4m3", 1, 4, 3},  {"bf16", 2, 8, 7},  {"f16", 2, 5, 10},
    {"f32", 4, 8, 23},     {"f64", 8, 11, 52},
};

/* The code of a whole number from 0 to 16 in a type. IEEE 754: the exponent
 * is stored plus a bias, of the mantissa all but the leading one. */
static void encode(const struct type *type, unsigned number, void *to)
{
    uint64_t code = number;

    if (type->exponent_bits && number) {
        const unsigned bias = (1u << (type->exponent_bits - 1)) - 1;
        unsigned exponent = 0;

        while (number >> (exponent + 1))
            exponent++;
        code = (uint64_t)(exponent + bias) << type->mantissa_bits;
        code += ((uint64_t)number << type->mantissa_bits >> exponent) -
                (1ull << type->mantissa_bits);
    }
    memcpy(to, &code, type->nbytes); /* little-endian, as HIP's hosts are */
}

/* One check in progress: buffers of N elements on host and device. */
struct check {
    kpk_instance *gpu;
    const kpk_kernel *kernel;
    const struct type *type;   /* of the kernel's name, the first one */
    const struct type *second; /* of casts and selections */
    unsigned char *host[MAX_BUFFERS];
    void *device[MAX_BUFFERS];
};

static kpk_status make_typed(struct check *c, int i, const struct type *type,
                             unsigned (*number)(size_t))
{
    const size_t nbytes = (size_t)N * type->nbytes;
    kpk_status st = kpk_malloc(c->gpu, nbytes, &c->device[i]);

    c->host[i] = malloc(nbytes);
    if (!c->host[i])
        return KPK_ERR_NOMEM;
    for (size_t e = 0; e < N; e++)
        encode(type, number(e), c->host[i] + e * type->nbytes);
    if (st == KPK_OK)
        st = kpk_copy_to(c->gpu, c->device[i], c->host[i], nbytes);
    return st;
}

static kpk_status make_buffer(struct check *c, int i,
                              unsigned (*number)(size_t))
{
    return make_typed(c, i, c->type, number);
}

static void free_buffers(struct check *c)
{
    for (int i = 0; i < MAX_BUFFERS; i++) {
        free(c->host[i]);
        (void)kpk_free(c->gpu, c->device[i]);
    }
}

/* Compares buffer i with what it should hold; the first wrong element. */
static kpk_status compare_typed(struct check *c, int i, const struct type *type,
                                unsigned (*wanted)(size_t), long *wrong)
{
    const size_t nbytes = type->nbytes;
    kpk_status st = kpk_copy_from(c->gpu, c->host[i], c->device[i], N * nbytes);

    for (size_t e = 0; st == KPK_OK && e < N && *wrong < 0; e++) {
        unsigned char code[MAX_ELEMENT];

        encode(type, wanted(e), code);
        if (memcmp(code, c->host[i] + e * nbytes, nbytes) != 0)
            *wrong = (long)e;
    }
    return st;
}

static kpk_status compare(struct check *c, int i, unsigned (*wanted)(size_t),
                          long *wrong)
{
    return compare_typed(c, i, c->type, wanted, wrong);
}

static unsigned ramp(size_t i)
{
    return (unsigned)(i % 8);
}

static unsigned ramp_by_3(size_t i)
{
    return (unsigned)(i / 3 % 8);
}

static unsigned nine(size_t i)
{
    (void)i;
    return 9;
}

static unsigned ramp_sum(size_t i)
{
    return ramp(i) + ramp_by_3(i);
}

static unsigned ramp_max(size_t i)
{
    return ramp(i) > ramp_by_3(i) ? ramp(i) : ramp_by_3(i);
}

static unsigned ramp_min(size_t i)
{
    return ramp(i) < ramp_by_3(i) ? ramp(i) : ramp_by_3(i);
}

static unsigned ramp_equal(size_t i)
{
    return ramp(i) == ramp_by_3(i);
}

static unsigned ramp_less(size_t i)
{
    return ramp(i) < ramp_by_3(i);
}

static unsigned ramp_selected(size_t i)
{
    return ramp(i) ? ramp_by_3(i) : nine(i);
}

static unsigned ramp_times_2_plus_1(size_t i)
{
    return ramp(i) * 2 + 1;
}

static unsigned three(size_t i)
{
    (void)i;
    return 3;
}

/* Rows of 5 of which a copy takes the first 4. */
enum { PITCH = 5, TAKEN = 4, WHOLE_ROWS = N / PITCH };

static unsigned copied_rows(size_t i)
{
    return i % PITCH < TAKEN && i / PITCH < WHOLE_ROWS ? ramp(i) : nine(i);
}

static kpk_status check_vector_add(struct check *c, long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 256);
    uint32_t n = N;
    kpk_status st = make_buffer(c, 0, ramp);

    if (st == KPK_OK)
        st = make_buffer(c, 1, ramp_by_3);
    if (st == KPK_OK)
        st = make_buffer(c, 2, nine);
    if (st == KPK_OK)
        st = kpk_launch(c->kernel, &shape, NULL,
                        KPK_ARGS(c->device[0], c->device[1], c->device[2], n));
    return st == KPK_OK ? compare(c, 2, ramp_sum, wrong) : st;
}

static kpk_status check_affine(struct check *c, long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 1024);
    const size_t numel = N;
    const size_t rank = 1;
    const void *info = NULL; /* contiguous */
    unsigned char mul[MAX_ELEMENT];
    unsigned char add[MAX_ELEMENT];
    kpk_status st = make_buffer(c, 0, ramp);

    encode(c->type, 2, mul);
    encode(c->type, 1, add);
    if (st == KPK_OK)
        st = make_buffer(c, 1, nine);
    if (st == KPK_OK) {
        const kpk_arg args[] = {
            {&numel, sizeof(numel)},         {&rank, sizeof(rank)},
            {&info, sizeof(info)},           {&c->device[0], sizeof(void *)},
            {&c->device[1], sizeof(void *)}, {mul, c->type->nbytes},
            {add, c->type->nbytes}};
        st = kpk_launch(c->kernel, &shape, NULL, args, 7);
    }
    return st == KPK_OK ? compare(c, 1, ramp_times_2_plus_1, wrong) : st;
}

static kpk_status check_fill(struct check *c, long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 256);
    const size_t numel = N;
    unsigned char value[MAX_ELEMENT];
    kpk_status st = make_buffer(c, 0, nine);

    encode(c->type, 3, value);
    if (st == KPK_OK) {
        const kpk_arg args[] = {{&c->device[0], sizeof(void *)},
                                {value, c->type->nbytes},
                                {&numel, sizeof(numel)}};
        st = kpk_launch(c->kernel, &shape, NULL, args, 3);
    }
    return st == KPK_OK ? compare(c, 0, three, wrong) : st;
}

static kpk_status check_const_set(struct check *c, long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 1024);
    const size_t numel = N;
    const size_t rank = 1;
    const void *info = NULL;
    unsigned char value[MAX_ELEMENT];
    kpk_status st = make_buffer(c, 0, nine);

    encode(c->type, 3, value);
    if (st == KPK_OK) {
        const kpk_arg args[] = {{&numel, sizeof(numel)},
                                {&rank, sizeof(rank)},
                                {&info, sizeof(info)},
                                {value, c->type->nbytes},
                                {&c->device[0], sizeof(void *)}};
        st = kpk_launch(c->kernel, &shape, NULL, args, 5);
    }
    return st == KPK_OK ? compare(c, 0, three, wrong) : st;
}

static kpk_status check_copy2d(struct check *c, long *wrong)
{
    const uint32_t rows = WHOLE_ROWS;
    const uint32_t columns = TAKEN;
    const uint32_t pitch = PITCH;
    const kpk_shape shape = kpk_shape_1d((uint64_t)rows * columns, 1024);
    kpk_status st = make_buffer(c, 0, ramp);

    if (st == KPK_OK)
        st = make_buffer(c, 1, nine);
    if (st == KPK_OK)
        st = kpk_launch(
            c->kernel, &shape, NULL,
            KPK_ARGS(c->device[0], c->device[1], rows, columns, pitch, pitch));
    return st == KPK_OK ? compare(c, 1, copied_rows, wrong) : st;
}

/* out = in, of kernels that leave small positive numbers alone or change
 * their type only. */
static kpk_status check_identity(struct check *c, long *wrong)
{
    const struct type *to = c->second ? c->second : c->type;
    const kpk_shape shape = kpk_shape_1d(N, 1024);
    size_t numel = N;
    size_t rank = 1;
    const void *info = NULL;
    kpk_status st = make_buffer(c, 0, ramp);

    if (st == KPK_OK)
        st = make_typed(c, 1, to, nine);
    if (st == KPK_OK)
        st =
            kpk_launch(c->kernel, &shape, NULL,
                       KPK_ARGS(numel, rank, info, c->device[0], c->device[1]));
    return st == KPK_OK ? compare_typed(c, 1, to, ramp, wrong) : st;
}

/* out = in, in */
static kpk_status check_binary(struct check *c, const struct type *to,
                               unsigned (*wanted)(size_t), long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 1024);
    size_t numel = N;
    size_t rank = 1;
    const void *info = NULL;
    kpk_status st = make_buffer(c, 0, ramp);

    if (st == KPK_OK)
        st = make_buffer(c, 1, ramp_by_3);
    if (st == KPK_OK)
        st = make_typed(c, 2, to, nine);
    if (st == KPK_OK)
        st = kpk_launch(c->kernel, &shape, NULL,
                        KPK_ARGS(numel, rank, info, c->device[0], c->device[1],
                                 c->device[2]));
    return st == KPK_OK ? compare_typed(c, 2, to, wanted, wrong) : st;
}

static const struct type *find_type(const char *suffix);

static kpk_status check_add(struct check *c, long *wrong)
{
    return check_binary(c, c->type, ramp_sum, wrong);
}

static kpk_status check_max(struct check *c, long *wrong)
{
    return check_binary(c, c->type, ramp_max, wrong);
}

static kpk_status check_min(struct check *c, long *wrong)
{
    return check_binary(c, c->type, ramp_min, wrong);
}

static kpk_status check_equal(struct check *c, long *wrong)
{
    return check_binary(c, find_type("u8"), ramp_equal, wrong);
}

static kpk_status check_less(struct check *c, long *wrong)
{
    return check_binary(c, find_type("u8"), ramp_less, wrong);
}

/* out = in != 0 ? in : in. Without strides its layout is that of rank 0,
 * which has one element only: so dims and three groups of strides. */
static kpk_status check_where(struct check *c, long *wrong)
{
    const kpk_shape shape = kpk_shape_1d(N, 1024);
    const size_t layout[4] = {N, 1, 1, 1};
    size_t numel = N;
    size_t rank = 1;
    void *info = NULL;
    kpk_status st = make_buffer(c, 0, ramp);

    if (st == KPK_OK)
        st = make_typed(c, 1, c->second, ramp_by_3);
    if (st == KPK_OK)
        st = make_typed(c, 2, c->second, nine);
    if (st == KPK_OK)
        st = make_typed(c, 3, c->second, three);
    if (st == KPK_OK)
        st = kpk_malloc(c->gpu, sizeof(layout), &info);
    if (st == KPK_OK)
        st = kpk_copy_to(c->gpu, info, layout, sizeof(layout));
    if (st == KPK_OK)
        st = kpk_launch(c->kernel, &shape, NULL,
                        KPK_ARGS(numel, rank, info, c->device[0], c->device[1],
                                 c->device[2], c->device[3]));
    if (st == KPK_OK)
        st = compare_typed(c, 3, c->second, ramp_selected, wrong);
    (void)kpk_free(c->gpu, info);
    return st;
}

/* The kernels known: a prefix before one type or two, or a whole name with
 * the type it works on. */
/* clang-format off */
static const struct family {
    const char *name;
    const char *only_type; /* NULL: the suffix of the kernel's name */
    int ntypes;
    kpk_status (*check)(struct check *, long *);
} families[] = {
    {"affine_",    NULL,  1, check_affine},
    {"badd_",      NULL,  1, check_add},
    {"bmaximum_",  NULL,  1, check_max},
    {"bminimum_",  NULL,  1, check_min},
    {"cast_",      NULL,  2, check_identity},
    {"const_set_", NULL,  1, check_const_set},
    {"copy2d_",    NULL,  1, check_copy2d},
    {"eq_",        NULL,  1, check_equal},
    {"fill_",      NULL,  1, check_fill},
    {"lt_",        NULL,  1, check_less},
    {"uabs_",      NULL,  1, check_identity},
    {"uceil_",     NULL,  1, check_identity},
    {"ucopy_",     NULL,  1, check_identity},
    {"ufloor_",    NULL,  1, check_identity},
    {"urelu_",     NULL,  1, check_identity},
    {"uround_",    NULL,  1, check_identity},
    {"vector_add", "f32", 1, check_vector_add},
    {"where_",     NULL,  2, check_where},
};
/* clang-format on */

static const struct type *find_type(const char *suffix)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].suffix, suffix) == 0)
            return &types[i];
    }
    return NULL;
}

/* One type's name, or two with an underscore between, which names have too:
 * the first that leaves a name behind it. */
static bool find_types(const char *suffix, int ntypes,
                       const struct type **first, const struct type **second)
{
    *second = NULL;
    if (ntypes == 1) {
        *first = find_type(suffix);
        return *first != NULL;
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const size_t n = strlen(types[i].suffix);

        if (strncmp(suffix, types[i].suffix, n) != 0 || suffix[n] != '_')
            continue;
        *first = &types[i];
        *second = find_type(suffix + n + 1);
        if (*second)
            return true;
    }
    return false;
}

static const struct family *find_family(const char *kernel,
                                        const struct type **first,
                                        const struct type **second)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const struct family *family = &families[i];
        const size_t n = strlen(family->name);
        const char *suffix = family->only_type;

        if (!suffix && strncmp(kernel, family->name, n) == 0)
            suffix = kernel + n;
        else if (!suffix || strcmp(kernel, family->name) != 0)
            continue;
        if (find_types(suffix, family->ntypes, first, second))
            return family;
    }
    return NULL;
}

struct counts {
    unsigned passed, failed, unknown;
};

static void check_kernel(kpk_instance *gpu, const kpk_module *module,
                         const char *name, const struct options *options,
                         struct counts *counts)
{
    const kpk_device *device = kpk_instance_device(gpu);
    struct check c = {.gpu = gpu};
    const struct family *family = find_family(name, &c.type, &c.second);
    long wrong = -1;
    kpk_status st;

    if (!family) {
        counts->unknown++;
        return;
    }
    st = kpk_kernel_get_in(gpu, kpk_module_name(module), name, &c.kernel);
    if (st == KPK_OK)
        st = family->check(&c, &wrong);
    free_buffers(&c);
    if (st == KPK_OK && wrong < 0)
        counts->passed++;
    else
        counts->failed++;
    if (options->json) {
        json_open(NULL, '{');
        json_string("kernel", name);
        json_bool("passed", st == KPK_OK && wrong < 0);
        if (st != KPK_OK)
            json_string("error", kpk_error_message());
        else if (wrong >= 0)
            json_number("first_wrong_element", (uint64_t)wrong);
        json_close('}');
    } else if (st != KPK_OK) {
        printf("FAILED %s on %s: %s\n", name, device->target,
               kpk_error_message());
    } else if (wrong >= 0) {
        printf("FAILED %s on %s: element %ld is wrong\n", name, device->target,
               wrong);
    }
}

static kpk_status run_device(int ordinal, const struct options *options,
                             struct counts *total)
{
    struct counts counts = {0, 0, 0};
    kpk_instance *gpu = NULL;
    const kpk_device *device;
    kpk_status st = kpk_open(cmd_pack, ordinal, &gpu);

    if (st != KPK_OK)
        return st;
    device = kpk_instance_device(gpu);
    if (options->json) {
        json_open(NULL, '{');
        json_number("device", (uint64_t)ordinal);
        json_string("target", device->target);
        json_open("kernels", '[');
    }
    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);
        kpk_kernel_decl kernel;

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
            if (kpk_module_kernel(module, k, &kernel) != KPK_OK ||
                (options->only && fnmatch(options->only, kernel.name, 0) != 0))
                continue;
            check_kernel(gpu, module, kernel.name, options, &counts);
        }
    }
    if (options->json) {
        json_close(']');
        json_number("passed", counts.passed);
        json_number("failed", counts.failed);
        json_number("without_a_check", counts.unknown);
        json_close('}');
    } else {
        printf("%s device %d, %s, %s: %u kernels right, %u wrong, %u without "
               "a check here\n",
               counts.failed ? "FAILED" : "PASSED", ordinal, device->target,
               device->name, counts.passed, counts.failed, counts.unknown);
    }
    total->passed += counts.passed;
    total->failed += counts.failed;
    return kpk_close(gpu);
}

int cmd_run(const struct options *options)
{
    struct counts total = {0, 0, 0};
    int first = options->device;
    int last = first;
    kpk_device device;
    int status = EXIT_DONE;
    kpk_status st;
    int n = 0;

    /* Says what is wrong if there is no HIP, no GPU, or not that one. */
    st = kpk_device_get(first < 0 ? 0 : first, &device);
    if (st == KPK_OK && first < 0) {
        st = kpk_device_count(&n);
        first = 0;
        last = n - 1;
    }
    if (st != KPK_OK)
        return cmd_failed(st);
    if (options->json)
        json_open(NULL, '[');
    for (int i = first; i <= last; i++) {
        st = run_device(i, options, &total);
        if (st != KPK_OK)
            status = cmd_failed(st);
    }
    if (options->json) {
        json_close(']');
        json_end();
    }
    if (options->only && total.passed + total.failed == 0 &&
        status == EXIT_DONE) {
        (void)fprintf(stderr,
                      "kpack: no kernel with a check here matches \"%s\"\n",
                      options->only);
        return EXIT_NO;
    }
    return total.failed ? EXIT_NO : status;
}
