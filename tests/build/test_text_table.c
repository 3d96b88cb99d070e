/* test_text_table.c - the table of strings that generated files have */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "colliding.h"
#include "util/text_table.h"

#include <unistd.h>

static void test_strings_are_kept_once(void **state)
{
    struct strings *s = strings_new();
    uint32_t first;

    (void)state;
    assert_non_null(s);
    assert_int_equal(strings_add(s, ""), 0);
    first = strings_add(s, "one");
    assert_int_equal(first, 1);
    assert_int_equal(strings_add(s, "two"), 5);
    assert_int_equal(strings_add(s, "one"), first);
    strings_free(s);
}

/* Names of a file that was made to take half a minute. */
static void test_strings_that_collide_take_no_time(void **state)
{
    struct strings *s = strings_new();
    char text[16];

    (void)state;
    assert_non_null(s);
    alarm(10);
    for (uint32_t i = 0; i < COLLIDING_COUNT; i++) {
        colliding_text(i, text);
        assert_int_equal(strings_add(s, text), 1 + 7 * i);
    }
    alarm(0);
    strings_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_are_kept_once),
        cmocka_unit_test(test_strings_that_collide_take_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
