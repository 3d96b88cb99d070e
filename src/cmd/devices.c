/* devices.c - kpack devices: the GPUs that HIP sees */
#include "cmd.h"

#include <stdio.h>

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

int cmd_devices(const struct options *options)
{
    struct table *table = NULL;
    const char *path;
    kpk_device device;
    int version;
    int n;
    kpk_status st = kpk_hip_info(&version, &path);

    if (st == KPK_OK)
        st = kpk_device_count(&n);
    /* For the message that says what to look at. */
    if (st == KPK_OK && n == 0)
        st = kpk_device_get(0, &device);
    if (st != KPK_OK)
        return cmd_failed(st);
    if (options->json) {
        json_open(NULL, '{');
        json_string("hip_library", path);
        json_number("hip_version", (uint64_t)version);
        json_open("devices", '[');
    } else {
        printf("HIP %d.%d.%d from %s\n\n", version / 10000000,
               version / 100000 % 100, version % 100000, path);
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
