/* test_pattern.c - kpack's patterns match the same names as fnmatch() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include <fnmatch.h>

#include "cmd/pattern.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_each_pattern_on_each_name_is_as_fnmatch_has_it(void **state)
{
    static const char *const patterns[] = {
        "",     "*",    "a",     "?",       "??",      "a*",
        "*a",   "*a*",  "a*b*c", "*ab*ab",  "[ab]",    "[a-c]*",
        "[!a]", "[^a]", "[]a]",  "[!]a]*",  "[a",      "[a-",
        "[",    "a[",   "**",    "*?*",     "a?c",     "*_f[13]*",
        "[a-]", "[-a]", "[b-a]", "x[0-9]y", "affine_*"};
    static const char *const names[] = {
        "",     "a",          "b",   "c",    "ab",           "abc",   "aXbYc",
        "abab", "]",          "-",   "[",    "[a",           "a[",    "x5y",
        "xay",  "affine_f32", "aab", "abcb", "affine_f16_x", "ababab"};

    (void)state;
    for (size_t p = 0; p < COUNT(patterns); p++)
        for (size_t n = 0; n < COUNT(names); n++)
            if (pattern_matches(patterns[p], names[n]) !=
                (fnmatch(patterns[p], names[n], 0) == 0))
                fail_msg("pattern \"%s\", name \"%s\": not as fnmatch()",
                         patterns[p], names[n]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pattern_on_each_name_is_as_fnmatch_has_it),
    };

    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
