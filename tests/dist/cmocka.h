/* cmocka.h - as much of cmocka's interface as the unit tests use
 *
 * Trees of `make dist` use it where cmocka is not installed (dist.mk). A check
 * that fails prints what it wanted and got, and ends its test.
 */
#ifndef KPK_CMOCKA_H
#define KPK_CMOCKA_H

#include <stddef.h>
#include <stdint.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
    void *initial_state;
};

/* clang-format off */
#define cmocka_unit_test(f) {#f, f, NULL, NULL, NULL}
#define cmocka_unit_test_setup(f, setup) {#f, f, setup, NULL, NULL}
#define cmocka_unit_test_teardown(f, teardown) {#f, f, NULL, teardown, NULL}
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                    \
    {#f, f, setup, teardown, NULL}
/* clang-format on */

/* Runs tests, and the group's own fixtures around them; how many failed. */
int kpk_cmocka_run(const char *name, const struct CMUnitTest *tests, size_t n,
                   CMFixtureFunction setup, CMFixtureFunction teardown);
#define cmocka_run_group_tests_name(name, tests, setup, teardown)              \
    kpk_cmocka_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup,     \
                   teardown)
#define cmocka_run_group_tests(tests, setup, teardown)                         \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)

/* Each ends the test unless it holds. */
void kpk_cmocka_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(__printf__, 3, 4), noreturn));
void kpk_cmocka_integers(uintmax_t a, uintmax_t b, int wanted_equal,
                         const char *file, int line);
void kpk_cmocka_range(uintmax_t x, uintmax_t least, uintmax_t most,
                      const char *file, int line);
void kpk_cmocka_strings(const char *a, const char *b, const char *file,
                        int line);
void kpk_cmocka_bytes(const void *a, const void *b, size_t n, const char *file,
                      int line);

/* Ends the test, which then counts as neither passed nor failed. */
void kpk_cmocka_skip(void) __attribute__((noreturn));
#define skip() kpk_cmocka_skip()

#define fail_msg(...) kpk_cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(x)                                                         \
    do {                                                                       \
        if (!(x))                                                              \
            fail_msg("not true: %s", #x);                                      \
    } while (0)
#define assert_false(x) assert_true(!(x))
#define assert_null(x) assert_true((x) == NULL)
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (b))
#define assert_ptr_not_equal(a, b) assert_true((const void *)(a) != (b))
#define assert_int_equal(a, b)                                                 \
    kpk_cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 1, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                             \
    kpk_cmocka_integers((uintmax_t)(a), (uintmax_t)(b), 0, __FILE__, __LINE__)
#define assert_in_range(x, least, most)                                        \
    kpk_cmocka_range((uintmax_t)(x), (uintmax_t)(least), (uintmax_t)(most),    \
                     __FILE__, __LINE__)
#define assert_string_equal(a, b) kpk_cmocka_strings(a, b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n)                                           \
    kpk_cmocka_bytes(a, b, n, __FILE__, __LINE__)

#endif
