/* triton.c - reads the JSON file that Triton writes beside a kernel */
#include "read/triton.h"

#include "util/file.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NBYTES_MAX ((size_t)1 << 20)

/* Fields with numbers; a missing number is 0. Not above a launch's limits. */
static const struct field {
    const char *key;
    size_t offset;
    bool required;
    uint32_t least, most;
} fields[] = {
#define FIELD(key, member, required, least, most)                              \
    {                                                                          \
        key, offsetof(struct triton, member), required, least, most            \
    }
    FIELD("num_warps", num_warps, true, 1, 1024),
    FIELD("shared", shared_nbytes, true, 0, INT32_MAX),
    FIELD("num_ctas", num_ctas, false, 1, 1024),
    FIELD("global_scratch_size", global_scratch_nbytes, false, 0, INT32_MAX),
    FIELD("global_scratch_align", global_scratch_align, false, 0, INT32_MAX),
    FIELD("profile_scratch_size", profile_scratch_nbytes, false, 0, INT32_MAX),
    FIELD("profile_scratch_align", profile_scratch_align, false, 0, INT32_MAX),
};

static bool read_number(const cJSON *root, const struct field *f,
                        struct triton *out, char error[TRITON_ERROR_MAX])
{
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, f->key);
    uint32_t value;

    if (!o && !f->required)
        return true;
    if (!o || !cJSON_IsNumber(o) || o->valuedouble < f->least ||
        o->valuedouble > f->most ||
        o->valuedouble != (double)(uint32_t)o->valuedouble) {
        snprintf(error, TRITON_ERROR_MAX,
                 "%s is no number from %u to %u, as Triton writes it", f->key,
                 (unsigned)f->least, (unsigned)f->most);
        return false;
    }
    value = (uint32_t)o->valuedouble;
    memcpy((char *)out + f->offset, &value, sizeof(value));
    return true;
}

/* Copies a text; leaves out other values and texts that are too long. */
static void copy_text(const cJSON *o, char *out, size_t room)
{
    const size_t n = cJSON_IsString(o) ? strlen(o->valuestring) : room;

    if (n < room)
        memcpy(out, o->valuestring, n + 1);
}

/* Triton releases that write a scratch size also have the argument. Triton 3.3
 * and 3.4 have the global one's argument for AMDGPU, and write no size. */
static unsigned count_scratch(const cJSON *root)
{
    static const char *const silent[] = {"3.3.", "3.4."};
    const char *version = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(root, "triton_version"));

    if (cJSON_GetObjectItemCaseSensitive(root, "profile_scratch_size"))
        return 2;
    if (cJSON_GetObjectItemCaseSensitive(root, "global_scratch_size"))
        return 1;
    for (size_t i = 0; version && i < sizeof(silent) / sizeof(silent[0]); i++)
        if (strncmp(version, silent[i], strlen(silent[i])) == 0)
            return 1;
    return 0;
}

enum triton_status triton_parse(const char *text, size_t nbytes,
                                struct triton *out,
                                char error[TRITON_ERROR_MAX])
{
    cJSON *root = cJSON_ParseWithLength(text, nbytes);
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(root, "target");
    enum triton_status status = TRITON_READ;

    *out = (struct triton){.num_ctas = 1};
    if (!root) {
        snprintf(error, TRITON_ERROR_MAX,
                 "no JSON that can be read; remove it, if it says nothing of "
                 "the code beside it");
        return TRITON_BAD;
    }
    if (!cJSON_GetObjectItemCaseSensitive(root, "num_warps") ||
        !cJSON_GetObjectItemCaseSensitive(root, "shared"))
        status = TRITON_OTHER;
    for (size_t i = 0;
         status == TRITON_READ && i < sizeof(fields) / sizeof(fields[0]); i++)
        if (!read_number(root, &fields[i], out, error))
            status = TRITON_BAD;
    copy_text(cJSON_GetObjectItemCaseSensitive(root, "name"), out->kernel,
              sizeof(out->kernel));
    copy_text(cJSON_GetObjectItemCaseSensitive(target, "arch"), out->processor,
              sizeof(out->processor));
    out->nscratch = count_scratch(root);
    cJSON_Delete(root);
    return status;
}

enum triton_status triton_read(const char *path, struct triton *out,
                               char error[TRITON_ERROR_MAX])
{
    char why[FILE_ERROR_MAX];
    unsigned char *text;
    size_t nbytes;
    enum triton_status status;

    if (!file_read(path, FILE_NBYTES_MAX, &text, &nbytes, why)) {
        snprintf(error, TRITON_ERROR_MAX, "%s", why);
        return TRITON_BAD;
    }
    status = triton_parse((const char *)text, nbytes, out, error);
    free(text);
    return status;
}
