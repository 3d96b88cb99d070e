/* system.h - what the unit tests ask of the system, be it POSIX or Windows */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>

/* A variable of the environment; NULL unsets it. */
void set_variable(const char *name, const char *value);

/* The running program's path; "" if it is not known. */
void name_program(char *out, size_t nbytes);

/* The file of one of the fake drivers, "fake_hip.so": Windows knows a driver by
 * its file's name alone. */
const char *driver_file(const char *name);

/* An object that a library exports, by the library's path; NULL if either is
 * not there. The library stays. */
void *load_object(const char *path, const char *name);

/* Starts the running program anew, with other words and with variables of the
 * environment set: NAME, VALUE, NAME, VALUE. NULL ends the words, and a name
 * of NULL the variables. An emulator that runs the program, RUN_BY in the
 * environment, runs it again. Returns its status when it has ended. */
int run_again(const char *const *words, const char *const *variables);

#endif
