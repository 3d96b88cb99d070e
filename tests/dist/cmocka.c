/* cmocka.c - as much of cmocka as the unit tests use */
#include "cmocka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where a failed check returns to. Checks are made by the thread that runs the
 * tests, as cmocka wants it. */
static jmp_buf test_end;

void kpk_cmocka_fail(const char *file, int line, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s:%d: error: ", file, line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    longjmp(test_end, 1); /* NOLINT(cert-err52-cpp): from C, to C */
}

void kpk_cmocka_integers(uintmax_t a, uintmax_t b, int wanted_equal,
                         const char *file, int line)
{
    if ((a == b) != wanted_equal)
        kpk_cmocka_fail(file, line, "%#jx %s %#jx", a,
                        wanted_equal ? "!=" : "==", b);
}

void kpk_cmocka_range(uintmax_t x, uintmax_t least, uintmax_t most,
                      const char *file, int line)
{
    if (x < least || x > most)
        kpk_cmocka_fail(file, line, "%ju is not within %ju and %ju", x, least,
                        most);
}

void kpk_cmocka_strings(const char *a, const char *b, const char *file,
                        int line)
{
    if (!a || !b || strcmp(a, b) != 0)
        kpk_cmocka_fail(file, line, "\"%s\" != \"%s\"", a ? a : "(null)",
                        b ? b : "(null)");
}

void kpk_cmocka_bytes(const void *a, const void *b, size_t n, const char *file,
                      int line)
{
    const unsigned char *x = a, *y = b;

    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            kpk_cmocka_fail(file, line, "byte %zu: 0x%02x != 0x%02x", i, x[i],
                            y[i]);
}

/* True if the test and its fixtures went well. */
static int run(const struct CMUnitTest *test)
{
    void *state = test->initial_state;
    volatile int ok = 0;

    printf("[ RUN      ] %s\n", test->name);
    (void)fflush(stdout);
    if (test->setup_func && test->setup_func(&state) != 0) {
        printf("[  FAILED  ] %s: its setup\n", test->name);
        return 0;
    }
    if (setjmp(test_end) == 0) { /* NOLINT(cert-err52-cpp) */
        test->test_func(&state);
        ok = 1;
    }
    if (test->teardown_func && test->teardown_func(&state) != 0) {
        fprintf(stderr, "%s: its teardown failed\n", test->name);
        ok = 0;
    }
    printf("[ %s ] %s\n", ok ? "      OK" : " FAILED ", test->name);
    return ok;
}

int kpk_cmocka_run(const char *name, const struct CMUnitTest *tests, size_t n,
                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    void *state = NULL;
    size_t passed = 0;
    int fixtures_failed = setup && setup(&state) != 0;

    printf("[==========] %s: Running %zu test(s).\n", name, n);
    for (size_t i = 0; i < n && !fixtures_failed; i++)
        passed += (size_t)run(&tests[i]);
    if (teardown && teardown(&state) != 0)
        fixtures_failed = 1;
    printf("[  PASSED  ] %zu test(s).\n", passed);
    if (passed < n)
        printf("[  FAILED  ] %zu test(s).\n", n - passed);
    return (int)(n - passed) + fixtures_failed;
}
