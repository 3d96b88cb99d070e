/* test_csv.c - the CSV reader on good, odd and damaged files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/csv.h"

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

/* Lines that count as comments, and lines that do not. */
static const struct {
    const char *text;
    size_t nrows;
    const char *cells; /* joined by '|' */
} commented[] = {
    {"\xef\xbb\xbfk\n1\n", 1, "1"},
    {"\xef\xbb\xbf# why\nk\n1\n", 1, "1"},
    {"// why\n//\n k,l \n1,2 // two\n", 1, "1|2"},
    {"; why\nk,l\n1 ; no,2\n3,4\n", 0, NULL},
    {"k\na;b\n", 1, "a;b"},
    {"k\na ;b\n", 1, "a"},
    {"k\nhttp://x\n", 1, "http://x"},
    {"k\na//x\n", 1, "a"},
    {"k\n\"a // # ; /* b\"\n", 1, "a // # ; /* b"},
    {"/* a,b\n1,2\n*/k\n1\n/* open", 1, "1"},
    {"k,l\n1,/* two */2\n", 1, "1|2"},
    {"k\r\n1\r\n\r\n2\r\n", 2, "1|2"},
    {"k\n\"open # not a comment,\n", 0, NULL},
};

static void test_comments_count_as_blanks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(commented) / sizeof(commented[0]); i++) {
        char error[CSV_ERROR_MAX] = "", got[200] = "";
        size_t used = 0;
        struct csv *csv = parse(commented[i].text, error);

        for (size_t c = 0; csv && c < csv->nrows * csv->ncolumns; c++)
            used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s",
                                     c ? "|" : "", csv->cells[c]);
        if (!csv != !commented[i].cells ||
            (csv && (csv->nrows != commented[i].nrows ||
                     strcmp(got, commented[i].cells) != 0)))
            fail_msg("case %zu: want \"%s\", got \"%s\"", i,
                     commented[i].cells ? commented[i].cells : "a refusal",
                     csv ? got : error);
        csv_free(csv);
    }
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
        cmocka_unit_test(test_comments_count_as_blanks),
        cmocka_unit_test(test_bad_files_are_refused_with_their_line),
        cmocka_unit_test(test_random_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
