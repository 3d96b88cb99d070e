/* test_config_table.c - CSVs of configurations, and their index */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "base/target_table.h"
#include "pack/alias.h"
#include "pack/config_table.h"
#include "scratch.h"
#include "write/records.h"
#include "write/table_index.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_processors_are_those_of_the_table(void **state)
{
    static const char *const others[] = {
        "",    "gfx",   "gfx94",  "gfx9420",  "gfx942:xnack+", "gfx9-generic",
        "sm_", "sm_9x", "sm_90a", "compute_", "compute_9x",    "sn_90"};

    (void)state;
#define X(processor, ...) assert_true(config_is_processor(#processor));
    KPK_PROCESSOR_TABLE(X)
#undef X
    assert_true(config_is_processor("sm_90"));
    assert_true(config_is_processor("sm_999"));     /* a future processor */
    assert_true(config_is_processor("compute_80")); /* PTX */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (config_is_processor(others[i]))
            fail_msg("'%s' is taken for a processor", others[i]);
}

/* Reads a table about the kernels `one` and `two`; the error if it is refused.
 */
static struct config_table *read_text(const char *text, const char *ending,
                                      char error[CSV_ERROR_MAX])
{
    struct codeobj_kernel kernels[] = {{.name = "one"}, {.name = "two"}};
    const struct codeobj co = {.kernels = kernels, .nkernels = 2};
    char path[SCRATCH_PATH_MAX];
    const int fd = scratch_file(path);
    char name[SCRATCH_PATH_MAX + 16];
    struct config_table *table;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    snprintf(name, sizeof(name), "%s%s", path, ending);
    assert_int_equal(rename(path, name), 0);
    table = config_table_read(name, &co, error);
    (void)remove(name);
    return table;
}

static void test_a_glob_is_a_row_for_each_kernel(void **state)
{
    char error[CSV_ERROR_MAX];
    struct config_table *t = read_text("kernel,block,rate,note\n"
                                       "*,64,1,x\n"
                                       "two,128,2.5,y\n",
                                       "", error);

    (void)state;
    assert_non_null(t);
    assert_int_equal(t->table.nrows, 3);
    assert_int_equal(t->table.ncolumns, 3);
    assert_int_equal(t->table.columns[0].type, KPK_CELL_INT);
    assert_int_equal(t->table.columns[1].type, KPK_CELL_FLOAT);
    assert_int_equal(t->table.columns[2].type, KPK_CELL_STRING);
    assert_int_equal(t->table.rows[0].kernel, 0);
    assert_int_equal(t->table.rows[1].kernel, 1);
    assert_string_equal(t->table.rows[2].cells[0], "128");
    assert_string_equal(t->table.rows[0].target, ""); /* no such column */
    assert_null(strchr(t->name, '.'));
    config_table_free(t);
    t = read_text("kernel,target\ntwo,gfx942\n", ".plan.csv", error);
    assert_non_null(t);
    assert_int_equal(t->table.ncolumns, 0);
    assert_string_equal(t->table.rows[0].target, "gfx942");
    config_table_free(t);
    t = read_text("kernel,target\none,gfx*\ntwo,gfx12*\n", ".plan.csv", error);
    assert_non_null(t);
    assert_string_equal(t->table.rows[0].target, "gfx*");
    assert_string_equal(t->table.rows[1].target, "gfx12*");
    assert_non_null(strstr(t->name, ".plan"));
    assert_null(strstr(t->name, ".csv"));
    config_table_free(t);
}

static void test_what_is_no_table_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"block\n1\n", ":1: no column is named 'kernel'"},
        {"kernel,block\none,1\nthree,2\n",
         ":3: the module has no kernel 'three'"},
        {"kernel,target\none,gfx1\n", ":2: no such processor: 'gfx1'"},
        {"kernel,target\none,gfx13*\n", ":2: no such processor: 'gfx13*'"},
        {"kernel,target\none,g*2\n", ":2: no such processor: 'g*2'"},
        {"kernel,block\none,1\ntwo,x\n",
         ":3: column block holds numbers above this line, but not 'x'"},
        {"kernel,block\none,1e999\ntwo,1\n", NULL}, /* no number: a text */
        {"kernel,block\none,inf\ntwo,1\n", NULL},
        {"kernel,block\none,99999999999999999999\ntwo,1\n", NULL},
        {"kernel,block\none,\ntwo,1\n", NULL},
    };
    char error[CSV_ERROR_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config_table *t = read_text(cases[i].text, ".csv", error);

        if (!cases[i].error != !!t)
            fail_msg("case %zu: %s", i, t ? "accepted" : error);
        if (cases[i].error && !strstr(error, cases[i].error))
            fail_msg("case %zu: %s", i, error);
        config_table_free(t);
    }
    config_table_free(NULL);
}

/* Globs multiply: 1024 lines of 1024 kernels are one row too many. */
static void test_more_than_a_million_rows_are_refused(void **state)
{
    enum { N = 1024 };
    static struct codeobj_kernel kernels[N];
    static char names[N][8];
    const struct codeobj co = {.kernels = kernels, .nkernels = N};
    char path[SCRATCH_PATH_MAX];
    FILE *f = fdopen(scratch_file(path), "w");
    char error[CSV_ERROR_MAX];

    (void)state;
    assert_non_null(f);
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof(names[i]), "k%zu", i);
        kernels[i].name = names[i];
    }
    fputs("kernel,n\n", f);
    for (size_t i = 0; i < N; i++)
        fputs("*,1\n", f);
    assert_int_equal(fclose(f), 0);
    assert_null(config_table_read(path, &co, error));
    (void)remove(path);
    assert_non_null(strstr(error, ":978: too many rows at kernel '*'"));
}

static char *written(const struct pack_table *t)
{
    char *text = NULL;
    size_t nbytes;
    FILE *f = open_memstream(&text, &nbytes);

    assert_non_null(f);
    table_index_write(f, t, 3);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void test_an_index_has_a_code_for_each_value(void **state)
{
    struct pack_column columns[] = {{"f", KPK_CELL_FLOAT, true},
                                    {"i", KPK_CELL_INT, true},
                                    {"s", KPK_CELL_STRING, true}};
    const char *cells[][3] = {
        {"2.5", "10", "b"}, {"-1", "9", "a"}, {"2.5", "9", "b"}};
    struct pack_row rows[] = {{.target = "", .cells = cells[0]},
                              {.target = "gfx942", .cells = cells[1]},
                              {.target = "", .cells = cells[2]}};
    const struct pack_table t = {"t", columns, 3, rows, 3, false};
    char *text = written(&t);

    (void)state;
    /* -1 before 2.5, 9 before 10, "a" before "b", "" before "gfx942" */
    assert_non_null(strstr(text, "codes_3[] = {\n    1,0,1,0,"));
    assert_non_null(strstr(text, "\n    1,0,0,0,"));
    assert_non_null(strstr(text, "\n    0,1,0,0,"));
    assert_non_null(
        strstr(text, "values_3[] = {\n    1, 0, 1, 0, 1, 0, 0, 1,"));
    free(text);
}

/* A code is 16 bits. */
static void test_a_column_of_too_many_values_has_no_index(void **state)
{
    enum { N = 65537 };
    static char texts[N][8];
    static const char *cells[N];
    static struct pack_row rows[N];
    struct pack_column column = {"i", KPK_CELL_INT, true};
    struct pack_table t = {"t", &column, 1, rows, N, false};
    char *text;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%zu", i);
        cells[i] = texts[i];
        rows[i] = (struct pack_row){.target = "", .cells = &cells[i]};
    }
    text = written(&t);
    assert_string_equal(text, "#define index_3 0\n\n");
    free(text);
    t.nrows = N - 1;
    text = written(&t);
    assert_non_null(strstr(text, "struct kpk_table_index index_3[]"));
    free(text);
}

static void test_the_least_integer_has_a_literal_that_compiles(void **state)
{
    char *text = NULL;
    size_t nbytes;
    FILE *f = open_memstream(&text, &nbytes);

    (void)state;
    assert_non_null(f);
    record_write_cell(f, KPK_CELL_INT, "-9223372036854775808", 0);
    record_write_cell(f, KPK_CELL_INT, "-9223372036854775807", 0);
    record_write_cell(f, KPK_CELL_FLOAT, "0.5", 0);
    record_write_cell(f, KPK_CELL_STRING, "x", 7);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "{.i = INT64_MIN}{.i = -9223372036854775807}"
                              "{.f = 0x1p-1}{.s = 7}");
    free(text);
}

static void test_aliases_want_three_columns_and_room(void **state)
{
    static const char *const heads[] = {"module,text", "module,alias",
                                        "text,alias", "a,b,c"};
    char error[CSV_ERROR_MAX], text[1200], out[ALIAS_NAME_MAX];
    struct csv *csv;

    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        csv = csv_parse("a.csv", heads[i], strlen(heads[i]), error);
        assert_non_null(csv);
        assert_false(alias_is_table(csv));
        csv_free(csv);
    }
    snprintf(text, sizeof(text), "module,text,alias\n*,x,%0600d\n*,,y\n", 0);
    csv = csv_parse("a.csv", text, strlen(text), error);
    assert_non_null(csv);
    assert_true(alias_is_table(csv));
    assert_false(alias_make(csv, 0, "m", "x", out)); /* longer than a name */
    assert_false(alias_make(csv, 1, "m", "x", out)); /* nothing to replace */
    csv_free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processors_are_those_of_the_table),
        cmocka_unit_test(test_a_glob_is_a_row_for_each_kernel),
        cmocka_unit_test(test_what_is_no_table_is_refused_by_line),
        cmocka_unit_test(test_more_than_a_million_rows_are_refused),
        cmocka_unit_test(test_an_index_has_a_code_for_each_value),
        cmocka_unit_test(test_a_column_of_too_many_values_has_no_index),
        cmocka_unit_test(test_the_least_integer_has_a_literal_that_compiles),
        cmocka_unit_test(test_aliases_want_three_columns_and_room),
    };

    return cmocka_run_group_tests_name("config_table", tests, NULL, NULL);
}
