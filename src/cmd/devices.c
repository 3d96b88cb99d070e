/* devices.c - kpack devices: the GPUs that HIP and the CUDA driver see */
#include "cmd.h"
#include "exit_status.h"
#include "json.h"
#include "text_columns.h"

#include <stdio.h>
#include <stdlib.h>

static void row(struct table *table, int i, const kpk_device *device)
{
    table_cell(table, "%d", i);
    table_cell(table, "%s", device->target);
    table_cell(table, "%u", device->compute_units);
    table_cell(table, "%llu",
               (unsigned long long)(device->memory_nbytes >> 20));
    table_cell(table, "%llu", (unsigned long long)(device->lds_nbytes >> 10));
    table_cell(table, "%u", device->wave_size);
    table_cell(table, "%s", device->name);
}

static void json_row(int i, const kpk_device *device)
{
    json_open(NULL, '{');
    json_number("device", (uint64_t)i);
    json_string("name", device->name);
    json_string("target", device->target);
    json_number("compute_units", device->compute_units);
    json_number("memory_nbytes", device->memory_nbytes);
    json_number("lds_nbytes", device->lds_nbytes);
    json_number("wave_size", device->wave_size);
    json_number("max_block", device->max_block);
    json_bool("cooperative", device->cooperative);
    json_close('}');
}

/* A driver's version and path. Without a driver prints nothing, unless the user
 * names its library. A driver that is there and fails is told of. */
static void driver(kpk_platform platform, bool json)
{
    const bool cuda = platform == KPK_CUDA;
    const char *named = getenv(cuda ? "KPK_CUDA_LIBRARY" : "KPK_HIP_LIBRARY");
    const char *path;
    int v;
    const kpk_status st = kpk_driver_info(platform, &v, &path);

    if (st == KPK_ERR_NO_DRIVER && !(named && *named))
        return;
    if (st != KPK_OK) {
        (void)fprintf(stderr, "kpack: %s\n", kpk_error_message());
        if (json)
            json_string(cuda ? "cuda_error" : "hip_error", kpk_error_message());
    } else if (json) {
        json_string(cuda ? "cuda_library" : "hip_library", path);
        json_number(cuda ? "cuda_version" : "hip_version", (uint64_t)v);
    } else if (cuda) {
        printf("CUDA driver %d.%d from %s\n", v / 1000, v % 1000 / 10, path);
    } else {
        printf("HIP %d.%d.%d from %s\n", v / 10000000, v / 100000 % 100,
               v % 100000, path);
    }
}

/* Without a GPU: a sentence on standard error, and for programs the same. */
static int no_devices(kpk_status st, bool json)
{
    if (json) {
        json_open(NULL, '{');
        json_string("error", kpk_error_message());
        json_open("devices", '[');
        json_close(']');
        json_close('}');
        json_end();
    }
    return cmd_failed(st);
}

int cmd_devices(const struct options *options)
{
    struct table *table = NULL;
    kpk_device device;
    int n;
    kpk_status st = kpk_device_count(&n);

    /* It fails with a message that says what to check. */
    if (st == KPK_OK && n == 0)
        st = kpk_device_get(0, &device);
    if (st != KPK_OK)
        return no_devices(st, options->json);
    if (options->json)
        json_open(NULL, '{');
    driver(KPK_HIP, options->json);
    driver(KPK_CUDA, options->json);
    if (options->json) {
        json_open("devices", '[');
    } else {
        putchar('\n');
        table = table_new(">DEVICE TARGET >CUS >MIB >LDS-KIB >WAVE NAME");
    }
    for (int i = 0; i < n && st == KPK_OK; i++) {
        st = kpk_device_get(i, &device);
        if (st == KPK_OK && options->json)
            json_row(i, &device);
        else if (st == KPK_OK)
            row(table, i, &device);
    }
    if (options->json) {
        json_close(']');
        json_close('}');
        json_end();
    } else {
        table_print(table);
    }
    return st == KPK_OK ? EXIT_DONE : cmd_failed(st);
}
