/* run.c - kpack run: loads all kernels, or launches one with given arguments
 *
 * Without a word, every module that fits is loaded and each of its kernels
 * found in it. With a kernel's name the kernel is launched once, and its
 * buffers are shown after that.
 */
#include "argument.h"
#include "cmd.h"
#include "exit_status.h"
#include "hex.h"
#include "json.h"
#include "own_pack.h"
#include "pattern.h"
#include "xmalloc.h"

#include "base/sha256.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- all kernels ---------------------------------------------------- */

struct counts {
    unsigned found, failed, elsewhere;
};

static void find_kernel(kpk_instance *gpu, const kpk_module *module,
                        const char *name, bool json, struct counts *counts)
{
    const kpk_kernel *kernel;
    const kpk_status st =
        kpk_kernel_get_in(gpu, kpk_module_name(module), name, &kernel);

    if (st == KPK_OK) {
        counts->found++;
        return;
    }
    if (st == KPK_ERR_NO_TARGET || st == KPK_ERR_NO_KERNEL) {
        counts->elsewhere++; /* an imported pack's, for other processors */
        return;
    }
    counts->failed++;
    if (json) {
        json_open(NULL, '{');
        json_string("kernel", name);
        json_string("error", kpk_error_message());
        json_close('}');
        return;
    }
    printf("FAILED %s: %s\n", name, kpk_error_message());
}

static struct counts find_kernels(kpk_instance *gpu,
                                  const struct options *options)
{
    struct counts counts = {0, 0, 0};

    for (size_t i = 0; i < kpk_pack_module_count(cmd_pack); i++) {
        const kpk_module *module = kpk_pack_module(cmd_pack, i);
        kpk_kernel_decl kernel;

        for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
            cmd_need(kpk_module_kernel(module, k, &kernel));
            if (!options->only || pattern_matches(options->only, kernel.name))
                find_kernel(gpu, module, kernel.name, options->json, &counts);
        }
    }
    return counts;
}

static kpk_status try_device(int ordinal, const struct options *options,
                             struct counts *total)
{
    kpk_instance *gpu = NULL;
    const kpk_device *device;
    struct counts counts;
    kpk_status st = kpk_open(cmd_pack, ordinal, &gpu);

    if (st != KPK_OK)
        return st;
    device = kpk_instance_device(gpu);
    if (options->json) {
        json_open(NULL, '{');
        json_number("device", (uint64_t)ordinal);
        json_string("target", device->target);
        json_open("failures", '[');
    }
    counts = find_kernels(gpu, options);
    if (options->json) {
        json_close(']');
        json_number("found", counts.found);
        json_number("failed", counts.failed);
        json_number("for_other_targets", counts.elsewhere);
        json_close('}');
    } else {
        printf("%s device %d, %s, %s: %u kernels loaded, %u failed, %u for "
               "other targets\n",
               counts.failed ? "FAILED" : "PASSED", ordinal, device->target,
               device->name, counts.found, counts.failed, counts.elsewhere);
    }
    total->found += counts.found;
    total->failed += counts.failed;
    return kpk_close(gpu);
}

static int try_devices(const struct options *options)
{
    struct counts total = {0, 0, 0};
    int first = options->device;
    int last = first;
    kpk_device device;
    int status = EXIT_DONE;
    kpk_status st;
    int n = 0;

    /* Reports a missing HIP, a missing GPU, or a number without a GPU. */
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
        st = try_device(i, options, &total);
        if (st != KPK_OK)
            status = cmd_failed(st);
    }
    if (options->json) {
        json_close(']');
        json_end();
    }
    if (total.found + total.failed == 0 && status == EXIT_DONE) {
        (void)fprintf(stderr, "kpack: no kernel for these devices%s%s\n",
                      options->only ? " matches " : "",
                      options->only ? options->only : "");
        return EXIT_NO;
    }
    return total.failed ? EXIT_NO : status;
}

/* ---- one kernel ----------------------------------------------------- */

/* Parses X[,Y[,Z]]; none may be 0. */
static bool read_extent(const char *text, uint32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long long value;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno || end == text || *text == '-' || value == 0 ||
            value > UINT32_MAX)
            return false;
        out[i] = (uint32_t)value;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

/* The shape from the kernel's table for the longest buffer; -g, -b and -s
 * override it. */
static kpk_status find_shape(const kpk_kernel *kernel,
                             const struct options *options,
                             const struct argument *arguments, int n,
                             kpk_shape *out)
{
    const kpk_shape one = {{1, 1, 1}, {1, 1, 1}, 0};
    kpk_status st = KPK_OK;
    uint64_t longest = 1;

    for (int i = 0; i < n; i++) {
        if (longest < arguments[i].count)
            longest = arguments[i].count;
    }
    *out = one;
    if (!options->block)
        st = kpk_kernel_shape(kernel, longest, 0, out);
    if (st != KPK_OK) {
        (void)fprintf(stderr, "kpack: %s; give -b and -g\n",
                      kpk_error_message());
        return st;
    }
    if ((options->block && !read_extent(options->block, out->block)) ||
        (options->grid && !read_extent(options->grid, out->grid))) {
        (void)fprintf(stderr, "kpack: -b and -g take X, X,Y or X,Y,Z\n");
        return KPK_ERR_ARG;
    }
    if (options->block && !options->grid)
        out->grid[0] = kpk_shape_1d(longest, out->block[0]).grid[0];
    if (options->shared >= 0)
        out->shared_nbytes = (uint32_t)options->shared;
    return KPK_OK;
}

/* The first elements, and a hash of all. */
static void show_buffer(const struct argument *argument, int number, bool json)
{
    enum { SHOWN = 8 };
    uint8_t digest[32];
    char hex[65];
    char element[64];

    sha256(argument->host, argument->nbytes, digest);
    cmd_hex(digest, hex);
    if (json) {
        json_open(NULL, '{');
        json_number("argument", (uint64_t)number);
        json_string("type", argument_type_name(argument));
        json_number("count", argument->count);
        json_string("sha256", hex);
        json_open("first", '[');
    } else {
        printf("argument %d, %s x %zu, SHA-256 %.16s:", number,
               argument_type_name(argument), argument->count, hex);
    }
    for (size_t i = 0; i < argument->count && i < SHOWN; i++) {
        argument_print_element(argument, i, element, sizeof(element));
        if (json)
            json_string(NULL, element); /* NaN is no number of JSON's */
        else
            printf(" %s", element);
    }
    if (json) {
        json_close(']');
        json_close('}');
    } else {
        printf("%s\n", argument->count > SHOWN ? " ..." : "");
    }
}

static kpk_status copy_in(kpk_instance *gpu, struct argument *arguments, int n,
                          kpk_arg *list)
{
    kpk_status st = KPK_OK;

    for (int i = 0; i < n && st == KPK_OK; i++) {
        struct argument *a = &arguments[i];

        list[i] = (kpk_arg){a->value, a->nbytes};
        if (!a->host)
            continue;
        list[i] = (kpk_arg){&a->device, sizeof(a->device)};
        st = kpk_malloc(gpu, a->nbytes, &a->device);
        if (st == KPK_OK)
            st = kpk_copy_to(gpu, a->device, a->host, a->nbytes);
    }
    return st;
}

static kpk_status copy_out(kpk_instance *gpu, const struct argument *arguments,
                           int n)
{
    kpk_status st = kpk_sync(gpu, NULL);

    for (int i = 0; i < n && st == KPK_OK; i++) {
        if (arguments[i].host)
            st = kpk_copy_from(gpu, arguments[i].host, arguments[i].device,
                               arguments[i].nbytes);
    }
    return st;
}

static void show(const kpk_instance *gpu, const kpk_shape *shape,
                 const struct argument *arguments, int n,
                 const struct options *options)
{
    const char *target = kpk_instance_device(gpu)->target;

    if (options->json) {
        json_open(NULL, '{');
        json_string("kernel", options->words[0]);
        json_string("target", target);
        json_open("buffers", '[');
    } else {
        printf("%s on %s, grid %u x %u x %u, block %u x %u x %u\n",
               options->words[0], target, shape->grid[0], shape->grid[1],
               shape->grid[2], shape->block[0], shape->block[1],
               shape->block[2]);
    }
    for (int i = 0; i < n; i++) {
        if (arguments[i].host)
            show_buffer(&arguments[i], i, options->json);
    }
    if (options->json) {
        json_close(']');
        json_close('}');
        json_end();
    }
}

static int no_kernel(const char *name)
{
    struct nearest nearest = nearest_to(name);

    cmd_offer_names(&nearest, false, true);
    (void)fprintf(stderr, "kpack: %s%s\n", kpk_error_message(),
                  nearest_hint(&nearest));
    return EXIT_NO;
}

static int launch(kpk_instance *gpu, struct argument *arguments, int n,
                  const struct options *options)
{
    kpk_arg list[OPTIONS_MAX_WORDS];
    const kpk_kernel *kernel;
    kpk_shape shape;
    kpk_status st = kpk_kernel_get(gpu, options->words[0], &kernel);

    if (st == KPK_ERR_NO_KERNEL)
        return no_kernel(options->words[0]);
    if (st != KPK_OK)
        return cmd_failed(st);
    st = find_shape(kernel, options, arguments, n, &shape);
    if (st != KPK_OK)
        return st == KPK_ERR_ARG ? EXIT_USAGE : EXIT_NO;
    st = copy_in(gpu, arguments, n, list);
    if (st == KPK_OK)
        st = kpk_launch(kernel, &shape, NULL, list, (size_t)n);
    if (st == KPK_OK)
        st = copy_out(gpu, arguments, n);
    if (st != KPK_OK)
        return cmd_failed(st);
    show(gpu, &shape, arguments, n, options);
    return EXIT_DONE;
}

static int run_kernel(const struct options *options)
{
    const int n = options->nwords - 1;
    struct argument *arguments = cmd_calloc((size_t)n, sizeof(*arguments));
    kpk_instance *gpu = NULL;
    int status = EXIT_DONE;
    kpk_status st;

    for (int i = 0; i < n && status == EXIT_DONE; i++) {
        if (!argument_parse(options->words[i + 1], &arguments[i]))
            status = EXIT_USAGE;
    }
    if (status == EXIT_DONE) {
        st = kpk_open(cmd_pack, options->device, &gpu);
        status =
            st == KPK_OK ? launch(gpu, arguments, n, options) : cmd_failed(st);
    }
    for (int i = 0; i < n; i++) {
        if (arguments[i].device)
            (void)kpk_free(gpu, arguments[i].device);
        argument_free(&arguments[i]);
    }
    free(arguments);
    st = kpk_close(gpu);
    return st == KPK_OK || status != EXIT_DONE ? status : cmd_failed(st);
}

int cmd_run(const struct options *options)
{
    if (options->nwords == 0)
        return try_devices(options);
    if (options->only) {
        (void)fprintf(stderr, "kpack: run takes a kernel's name or -k\n");
        return EXIT_USAGE;
    }
    return run_kernel(options);
}
