/* test_rows.c - tables of instructions that contradict are refused */
#include "sim/isa/insn_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct insn_row adds[] = {{.name = "v_add"}, {.name = "v_sub"}};
static const struct insn_row more[] = {{.name = "v_mul"}, {.name = "v_sub"}};
static const struct insn_alias good[] = {ALIAS(v_plus, v_add)};
static const struct insn_alias none[] = {ALIAS(v_plus, v_div)};
static const struct insn_alias taken[] = {ALIAS(v_sub, v_add)};
static const struct insn_alias twice[] = {ALIAS(v_plus, v_add)
                                              ALIAS(v_plus, v_sub)};

static const struct row_set set_good = {adds, 2, good, 1};
static const struct row_set set_more = {more, 2, NULL, 0};
static const struct row_set set_none = {adds, 2, none, 1};
static const struct row_set set_taken = {adds, 2, taken, 1};
static const struct row_set set_twice = {adds, 2, twice, 2};

static void refused(const struct row_set *a, const struct row_set *b,
                    const char *sentence)
{
    const struct row_set *const sets[] = {a, b};
    char fault[ROW_FAULT_MAX] = "";

    assert_false(sim_rows_check(sets, b ? 2 : 1, fault));
    assert_string_equal(fault, sentence);
}

static void test_names_that_differ_are_joined(void **state)
{
    const struct row_set *const sets[] = {&set_good};
    char fault[ROW_FAULT_MAX] = "";

    (void)state;
    assert_true(sim_rows_check(sets, 1, fault));
    assert_string_equal(fault, "");
}

static void test_a_row_may_not_be_there_twice(void **state)
{
    (void)state;
    refused(&set_good, &set_more,
            "row v_sub is there twice: as v_sub and as v_sub; take one out");
}

static void test_an_alias_may_not_be_of_nothing(void **state)
{
    (void)state;
    refused(&set_none, NULL,
            "alias v_plus is of row v_div, which is not there");
}

static void test_an_alias_may_not_hide_a_row_or_an_alias(void **state)
{
    (void)state;
    refused(&set_taken, NULL,
            "alias v_sub is there twice: as v_sub and as v_add; take one out");
    refused(&set_twice, NULL,
            "alias v_plus is there twice: as v_add and as v_sub; take one out");
}

static void test_our_own_tables_are_joined(void **state)
{
    (void)state;
    assert_non_null(sim_row_find("v_mov_b32")); /* ends the program if not */
    assert_null(sim_row_find("v_no_such_instruction"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_differ_are_joined),
        cmocka_unit_test(test_a_row_may_not_be_there_twice),
        cmocka_unit_test(test_an_alias_may_not_be_of_nothing),
        cmocka_unit_test(test_an_alias_may_not_hide_a_row_or_an_alias),
        cmocka_unit_test(test_our_own_tables_are_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
