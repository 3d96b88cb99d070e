/* system.c - what the unit tests ask of the system, be it POSIX or Windows */
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_variables(const char *const *variables)
{
    for (; variables[0]; variables += 2)
        set_variable(variables[0], variables[1]);
}

#ifdef _WIN32

#include <process.h>
#include <windows.h>

void set_variable(const char *name, const char *value)
{
    (void)_putenv_s(name, value ? value : ""); /* "" unsets it */
}

void name_program(char *out, size_t nbytes)
{
    if (GetModuleFileNameA(NULL, out, (DWORD)nbytes) == 0)
        *out = '\0';
    for (char *c = out; *c; c++)
        if (*c == '\\')
            *c = '/';
}

const char *driver_file(const char *name)
{
    return strcmp(name, "fake_hip.so") == 0    ? "amdhip64-fake.dll"
           : strcmp(name, "fake_cuda.so") == 0 ? "nvcuda-fake.dll"
                                               : name;
}

void *load_object(const char *path, const char *name)
{
    HMODULE library = LoadLibraryA(path);
    FARPROC found = library ? GetProcAddress(library, name) : NULL;
    void *object = NULL;

    memcpy(&object, &found, sizeof(object));
    return object;
}

/* The variables stay: Windows starts a program with its parent's. */
int run_again(const char *const *words, const char *const *variables)
{
    char program[4000];
    const char *argv[32] = {program};
    size_t n = 1;

    name_program(program, sizeof(program));
    while (*words && n + 1 < sizeof(argv) / sizeof(argv[0]))
        argv[n++] = *words++;
    set_variables(variables);
    return (int)_spawnv(_P_WAIT, program, argv);
}

#else

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

void set_variable(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

void name_program(char *out, size_t nbytes)
{
    const ssize_t n = readlink("/proc/self/exe", out, nbytes - 1);

    out[n > 0 ? n : 0] = '\0';
}

const char *driver_file(const char *name)
{
    return name;
}

void *load_object(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    return library ? dlsym(library, name) : NULL;
}

static void become_program(const char *const *words)
{
    enum { MOST = 32 };
    const char *by = getenv("RUN_BY");
    char emulator[1024], program[4000];
    char *argv[MOST + 1];
    int n = 0;

    (void)snprintf(emulator, sizeof(emulator), "%s", by ? by : "");
    for (char *word = strtok(emulator, " "); word && n < MOST;
         word = strtok(NULL, " "))
        argv[n++] = word;
    name_program(program, sizeof(program));
    if (n < MOST)
        argv[n++] = program;
    while (*words && n < MOST)
        argv[n++] = (char *)*words++;
    argv[n] = NULL;
    (void)execvp(argv[0], argv);
}

int run_again(const char *const *words, const char *const *variables)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        set_variables(variables);
        become_program(words);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

#endif
