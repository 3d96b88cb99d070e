/* parse_image.c - words that only instructions on images and formats have */
#include "parse_image.h"

#include "../base/image_layout.h"

#include <string.h>

static int index_of(const char *p, size_t n, const char *const *words,
                    int nwords)
{
    for (int i = 0; i < nwords; i++)
        if (strlen(words[i]) == n && memcmp(p, words[i], n) == 0)
            return i;
    return -1;
}

#define COUNT(words) ((int)(sizeof(words) / sizeof((words)[0])))

bool sim_parse_dim(const char *p, const char *end, struct insn *in)
{
    static const char *const types[] = {
        /* from SIM_IMAGE_1D on */
        "SQ_RSRC_IMG_1D",       "SQ_RSRC_IMG_2D",
        "SQ_RSRC_IMG_3D",       "SQ_RSRC_IMG_CUBE",
        "SQ_RSRC_IMG_1D_ARRAY", "SQ_RSRC_IMG_2D_ARRAY",
        "SQ_RSRC_IMG_2D_MSAA",  "SQ_RSRC_IMG_2D_MSAA_ARRAY"};
    int type = index_of(p, (size_t)(end - p), types, COUNT(types));

    in->dim = (uint8_t)(SIM_IMAGE_1D + type);
    return type >= 0;
}

/* ---- [BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_FLOAT], [BUF_FMT_16_16_FLOAT] */

static const char *const datas[] = {
    "INVALID", "8",        "16",          "8_8",        "32",
    "16_16",   "10_11_11", "11_11_10",    "10_10_10_2", "2_10_10_10",
    "8_8_8_8", "32_32",    "16_16_16_16", "32_32_32",   "32_32_32_32"};
static const char *const numbers[] = {"UNORM", "SNORM", "USCALED", "SSCALED",
                                      "UINT",  "SINT",  "",        "FLOAT"};

static bool set_data(const char *p, size_t n, struct insn *in)
{
    int index = index_of(p, n, datas, COUNT(datas));

    in->data_format = (uint8_t)index;
    return index >= 0;
}

static bool set_number(const char *p, size_t n, struct insn *in)
{
    int index = index_of(p, n, numbers, COUNT(numbers));

    in->number_format = (uint8_t)index;
    return index >= 0;
}

static bool starts(const char *p, const char *end, const char *with, size_t *n)
{
    *n = strlen(with);
    return (size_t)(end - p) > *n && memcmp(p, with, *n) == 0;
}

/* Reads one name in the list of format:[...]. */
static bool set_format(const char *p, const char *end, struct insn *in)
{
    const char *number = end;
    size_t n;

    if (starts(p, end, "BUF_DATA_FORMAT_", &n))
        return set_data(p + n, (size_t)(end - p) - n, in);
    if (starts(p, end, "BUF_NUM_FORMAT_", &n))
        return set_number(p + n, (size_t)(end - p) - n, in);
    if (!starts(p, end, "BUF_FMT_", &n))
        return false;
    while (number > p && number[-1] != '_')
        number--;
    return number > p + n &&
           set_data(p + n, (size_t)(number - 1 - p) - n, in) &&
           set_number(number, (size_t)(end - number), in);
}

bool sim_parse_buffer_format(const char *p, const char *end, struct insn *in)
{
    if (*p != '[' || end[-1] != ']')
        return false;
    for (p++, end--; p < end; p++) {
        const char *stop = memchr(p, ',', (size_t)(end - p));

        stop = stop ? stop : end;
        if (!set_format(p, stop, in))
            return false;
        p = stop;
    }
    return true;
}
