/* cmocka.c - as much of cmocka as the unit tests use */
#include "cmocka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where a failed check returns to. Checks are made by the thread that runs the
 * tests, as cmocka wants it. */
static jmp_buf test_end;

/* How a test ended; setjmp() answers one of the later two. */
enum outcome { PASSED, FAILED, SKIPPED, NOUTCOMES };
static const char *const outcome_names[] = {"      OK", " FAILED ", " SKIPPED"};

void kpk_cmocka_fail(const char *file, int line, const char *format, ...)
{
    va_list list;

    fprintf(stderr, "%s:%d: error: ", file, line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    longjmp(test_end, FAILED); /* NOLINT(cert-err52-cpp): from C, to C */
}

void kpk_cmocka_skip(void)
{
    longjmp(test_end, SKIPPED); /* NOLINT(cert-err52-cpp) */
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

/* How the test and its fixtures went. */
static enum outcome run(const struct CMUnitTest *test)
{
    void *state = test->initial_state;
    volatile enum outcome outcome = PASSED;

    printf("[ RUN      ] %s\n", test->name);
    (void)fflush(stdout);
    if (test->setup_func && test->setup_func(&state) != 0) {
        printf("[  FAILED  ] %s: its setup\n", test->name);
        return FAILED;
    }
    switch (setjmp(test_end)) { /* NOLINT(cert-err52-cpp) */
    case 0:
        test->test_func(&state);
        break;
    case SKIPPED:
        outcome = SKIPPED;
        break;
    default:
        outcome = FAILED;
    }
    if (test->teardown_func && test->teardown_func(&state) != 0) {
        fprintf(stderr, "%s: its teardown failed\n", test->name);
        outcome = FAILED;
    }
    printf("[ %s ] %s\n", outcome_names[outcome], test->name);
    return outcome;
}

int kpk_cmocka_run(const char *name, const struct CMUnitTest *tests, size_t n,
                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    void *state = NULL;
    size_t count[NOUTCOMES] = {0};
    int fixtures_failed = setup && setup(&state) != 0;

    printf("[==========] %s: Running %zu test(s).\n", name, n);
    for (size_t i = 0; i < n && !fixtures_failed; i++)
        count[run(&tests[i])]++;
    if (teardown && teardown(&state) != 0)
        fixtures_failed = 1;
    printf("[  PASSED  ] %zu test(s).\n", count[PASSED]);
    if (count[SKIPPED])
        printf("[  SKIPPED ] %zu test(s).\n", count[SKIPPED]);
    if (count[FAILED])
        printf("[  FAILED  ] %zu test(s).\n", count[FAILED]);
    return (int)count[FAILED] + fixtures_failed;
}
