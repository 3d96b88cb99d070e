/* image_format.c - the formats of texels and their numbers
 *
 * Data and number formats have numbers of their own on gfx9; gfx10 and gfx11
 * on have one for both. Sources: ROCr's tables and the ISA manuals'. The
 * images of HIP need the first fourteen and the sRGB ones.
 */
#include "image_format.h"

#include <stddef.h>

/* In the order of the columns below. */
static const enum sim_number_format numbers[] = {
    SIM_NUMBER_UNORM, SIM_NUMBER_SNORM, SIM_NUMBER_USCALED, SIM_NUMBER_SSCALED,
    SIM_NUMBER_UINT,  SIM_NUMBER_SINT,  SIM_NUMBER_FLOAT,   SIM_NUMBER_SRGB};

enum { NUM_NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* A format's codes by number format; 0: no such format. gfx9 has the formats of
 * gfx10. */
struct codes {
    enum sim_data_format data;
    struct sim_texel_format format;
    uint8_t gfx10[NUM_NUMBERS], gfx11[NUM_NUMBERS];
};

/* clang-format off */
static const struct codes table[] = {
    /* data, bytes, channels, bits     unorm snorm uscaled sscaled uint sint float srgb */
    {SIM_DATA_8,           {1, 1, {8}},
     {1, 2, 3, 4, 5, 6, 0, 128},        {1, 2, 3, 4, 5, 6, 0, 64}},
    {SIM_DATA_16,          {2, 1, {16}},
     {7, 8, 9, 10, 11, 12, 13, 0},      {7, 8, 9, 10, 11, 12, 13, 0}},
    {SIM_DATA_8_8,         {2, 2, {8, 8}},
     {14, 15, 16, 17, 18, 19, 0, 129},  {14, 15, 16, 17, 18, 19, 0, 65}},
    {SIM_DATA_32,          {4, 1, {32}},
     {0, 0, 0, 0, 20, 21, 22, 0},       {0, 0, 0, 0, 20, 21, 22, 0}},
    {SIM_DATA_16_16,       {4, 2, {16, 16}},
     {23, 24, 25, 26, 27, 28, 29, 0},   {23, 24, 25, 26, 27, 28, 29, 0}},
    {SIM_DATA_10_11_11,    {4, 3, {11, 11, 10}},
     {0, 0, 0, 0, 0, 0, 36, 0},         {0, 0, 0, 0, 0, 0, 30, 0}},
    {SIM_DATA_11_11_10,    {4, 3, {10, 11, 11}},
     {0, 0, 0, 0, 0, 0, 43, 0},         {0, 0, 0, 0, 0, 0, 31, 0}},
    {SIM_DATA_10_10_10_2,  {4, 4, {2, 10, 10, 10}},
     {44, 45, 46, 47, 48, 49, 0, 0},    {32, 33, 0, 0, 34, 35, 0, 0}},
    {SIM_DATA_2_10_10_10,  {4, 4, {10, 10, 10, 2}},
     {50, 51, 52, 53, 54, 55, 0, 0},    {36, 37, 38, 39, 40, 41, 0, 0}},
    {SIM_DATA_8_8_8_8,     {4, 4, {8, 8, 8, 8}},
     {56, 57, 58, 59, 60, 61, 0, 130},  {42, 43, 44, 45, 46, 47, 0, 66}},
    {SIM_DATA_32_32,       {8, 2, {32, 32}},
     {0, 0, 0, 0, 62, 63, 64, 0},       {0, 0, 0, 0, 48, 49, 50, 0}},
    {SIM_DATA_16_16_16_16, {8, 4, {16, 16, 16, 16}},
     {65, 66, 67, 68, 69, 70, 71, 0},   {51, 52, 53, 54, 55, 56, 57, 0}},
    {SIM_DATA_32_32_32,    {12, 3, {32, 32, 32}},
     {0, 0, 0, 0, 72, 73, 74, 0},       {0, 0, 0, 0, 58, 59, 60, 0}},
    {SIM_DATA_32_32_32_32, {16, 4, {32, 32, 32, 32}},
     {0, 0, 0, 0, 75, 76, 77, 0},       {0, 0, 0, 0, 61, 62, 63, 0}},
    {SIM_DATA_5_6_5,       {2, 3, {5, 6, 5}},
     {133, 0, 0, 0, 0, 0, 0, 0},        {68, 0, 0, 0, 0, 0, 0, 0}},
    {SIM_DATA_1_5_5_5,     {2, 4, {5, 5, 5, 1}},
     {134, 0, 0, 0, 0, 0, 0, 0},        {69, 0, 0, 0, 0, 0, 0, 0}},
    {SIM_DATA_5_5_5_1,     {2, 4, {1, 5, 5, 5}},
     {135, 0, 0, 0, 0, 0, 0, 0},        {70, 0, 0, 0, 0, 0, 0, 0}},
    {SIM_DATA_4_4_4_4,     {2, 4, {4, 4, 4, 4}},
     {136, 0, 0, 0, 0, 0, 0, 0},        {71, 0, 0, 0, 0, 0, 0, 0}},
};
/* clang-format on */

enum { NUM_ROWS = sizeof(table) / sizeof(table[0]) };

static const struct codes *row_of(enum sim_data_format data)
{
    for (unsigned r = 0; r < NUM_ROWS; r++)
        if (table[r].data == data)
            return &table[r];
    return NULL;
}

static unsigned column_of(enum sim_number_format number)
{
    unsigned n = 0;

    while (n < NUM_NUMBERS && numbers[n] != number)
        n++;
    return n;
}

const struct sim_texel_format *sim_format_of(enum sim_data_format data,
                                             enum sim_number_format number)
{
    const struct codes *row = row_of(data);
    unsigned n = column_of(number);

    return row && n < NUM_NUMBERS && row->gfx10[n] ? &row->format : NULL;
}

uint32_t sim_format_encode(enum sim_data_format data,
                           enum sim_number_format number,
                           const struct sim_target *target)
{
    const struct codes *row = row_of(data);
    unsigned n = column_of(number);

    if (!row || n == NUM_NUMBERS)
        return 0;
    return target->major <= 10 ? row->gfx10[n] : row->gfx11[n];
}

bool sim_format_decode(uint32_t code, const struct sim_target *target,
                       enum sim_data_format *data,
                       enum sim_number_format *number)
{
    for (unsigned r = 0; code && r < NUM_ROWS; r++)
        for (unsigned n = 0; n < NUM_NUMBERS; n++) {
            const struct codes *row = &table[r];

            if ((target->major <= 10 ? row->gfx10 : row->gfx11)[n] != code)
                continue;
            *data = row->data;
            *number = numbers[n];
            return true;
        }
    return false;
}
