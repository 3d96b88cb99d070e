/* test_csv.c - the CSV reader on good, odd and damaged files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "csv.h"

static struct csv *parse(const char *text, char *error)
{
    return csv_parse("t.csv", text, strlen(text), error);
}

static void test_cells_lose_spaces_and_comments_vanish(void **state)
{
    char error[CSV_ERROR_MAX];
    struct csv *csv =
        parse("# why\n kernel , b\r\n\nx, 1 \r\n# no\ny,2", error);

    (void)state;
    assert_non_null(csv);
    assert_int_equal(csv->ncolumns, 2);
    assert_int_equal(csv->nrows, 2);
    assert_string_equal(csv->names[0], "kernel");
    assert_string_equal(csv->cells[1], "1");
    assert_string_equal(csv->cells[2], "y");
    assert_string_equal(csv->cells[3], "2");
    assert_int_equal(csv->lines[0], 4);
    assert_int_equal(csv->lines[1], 6);
    assert_int_equal(csv_column(csv, "b"), 1);
    assert_int_equal(csv_column(csv, "c"), 2);
    csv_free(csv);
}

static void test_quoted_cells_keep_commas_and_quotes(void **state)
{
    char error[CSV_ERROR_MAX];
    struct csv *csv = parse("a,b\n\" x, \"\"y\"\" \",\"\"\n", error);

    (void)state;
    assert_non_null(csv);
    assert_string_equal(csv->cells[0], " x, \"y\" ");
    assert_string_equal(csv->cells[1], "");
    csv_free(csv);
}

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "t.csv:1: the file names no columns"},
    {"# only\n\n", "the file names no columns"},
    {"a,a\n", "t.csv:1: two columns have one name"},
    {"a,\n", "t.csv:1: a column has no name"},
    {"a,b\n1\n", "t.csv:2: 1 cells where 2 columns are named"},
    {"a,b\n1,2\n1,2,3\n", "t.csv:3: 3 cells where 2 columns are named"},
    {"a\n\"x\n", "t.csv:2: a quoted cell is not closed"},
    {"a\n\"x", "t.csv:2: a quoted cell is not closed"},
    {"a\n\"x\"y\n", "t.csv:2: text follows a quoted cell"},
};

static void test_bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char error[CSV_ERROR_MAX] = "";
        struct csv *csv = parse(bad[i].text, error);

        if (csv || !strstr(error, bad[i].says))
            fail_msg("case %zu: want \"%s\", got \"%s\"", i, bad[i].says,
                     csv ? "a table" : error);
    }
    assert_null(csv_parse("t.csv", "a\n\0", 3, (char[CSV_ERROR_MAX]){0}));
}

/* Any bytes give a table or a sentence, and nothing else. */
static void test_random_bytes_do_no_harm(void **state)
{
    static const char alphabet[] = "a,\"\n\r #\t1";
    uint32_t random = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[64], error[CSV_ERROR_MAX] = "";
        size_t n = 0;
        struct csv *csv;

        while (n < sizeof(text) && (random >> 16) % 40 != 0) {
            random = random * 1664525u + 1013904223u;
            text[n++] = alphabet[(random >> 20) % (sizeof(alphabet) - 1)];
        }
        random = random * 1664525u + 1013904223u;
        csv = csv_parse("t.csv", text, n, error);
        if (!csv)
            assert_true(strncmp(error, "t.csv:", 6) == 0);
        for (size_t c = 0; csv && c < csv->nrows * csv->ncolumns; c++)
            assert_true(strlen(csv->cells[c]) < sizeof(text));
        csv_free(csv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_lose_spaces_and_comments_vanish),
        cmocka_unit_test(test_quoted_cells_keep_commas_and_quotes),
        cmocka_unit_test(test_bad_files_are_refused_with_their_line),
        cmocka_unit_test(test_random_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
