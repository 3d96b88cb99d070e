/* fuzz_csv.c - any bytes as a CSV file and its columns' types */
#include "fuzz.h"
#include "pack/config_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    char error[CSV_ERROR_MAX] = "";
    struct csv *csv = csv_parse("fuzz", (const char *)data, nbytes, error);

    if (!csv) {
        FUZZ_ASSERT(strncmp(error, "fuzz:", 5) == 0);
        return 0;
    }
    for (size_t c = 0; c < csv->ncolumns; c++) {
        enum kpk_cell_type type;
        bool known;

        FUZZ_ASSERT(*csv->names[c] && csv_column(csv, csv->names[c]) == c);
        for (size_t r = 0; r < csv->nrows; r++)
            FUZZ_ASSERT(strlen(csv->cells[r * csv->ncolumns + c]) <= nbytes);
        if (!config_column_type(csv, c, nbytes % 2, &type, &known, error))
            FUZZ_ASSERT(strncmp(error, "fuzz:", 5) == 0);
    }
    for (size_t r = 1; r < csv->nrows; r++)
        FUZZ_ASSERT(csv->lines[r - 1] < csv->lines[r]);
    csv_free(csv);
    return 0;
}
