/* hip_test.c - see hip_test.h */
#define _GNU_SOURCE
#include "hip_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void expect_error(hipError_t want, hipError_t got, const char *call,
                  const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s\n    returned %s (%d), not %s (%d)\n", call,
                hipGetErrorName(got), (int)got, hipGetErrorName(want),
                (int)want);
    _fail(file, line);
}

void *read_api(const char *target, size_t *n)
{
    return read_program(target, "api", n);
}

void *read_program(const char *target, const char *program, size_t *n)
{
    const char *build = getenv("B");
    char name[512];
    FILE *file;
    void *bytes;
    long size;

    snprintf(name, sizeof(name), "%s/program/%s/%s.hsaco",
             build ? build : "build", target, program);
    file = fopen(name, "rb");
    if (!file) {
        fail_msg("%s is missing: make tests", name);
        return NULL;
    }
    (void)fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    bytes = malloc((size_t)size);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        fail_msg("%s cannot be read", name);
    (void)fclose(file);
    *n = (size_t)size;
    return bytes;
}

static void (*child_body)(void);

static void child_test(void **state)
{
    (void)state;
    child_body();
}

void in_child(const char *const environment[], void (*body)(void))
{
    FILE *output = tmpfile();
    int status, c;
    pid_t pid;

    assert_non_null(output);
    fflush(stdout);
    fflush(stderr);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(child_test)};

        for (; *environment; environment++)
            putenv((char *)(uintptr_t)*environment);
        child_body = body;
        dup2(fileno(output), STDOUT_FILENO);
        dup2(fileno(output), STDERR_FILENO);
        exit(cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rewind(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        while ((c = fgetc(output)) != EOF)
            fputc(c, stderr);
    (void)fclose(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status 0x%x", (unsigned)status);
}
