/* functions.c - finds HIP's functions by name
 *
 * The table replaces the dynamic linker, which a static program does not have.
 * It has this library's own functions, whatever else is in the process. No
 * header declares the functions here, as only their addresses matter.
 */
#include "functions.h"

#include <string.h>

#define WORKS(release, name, ...)                                              \
    __attribute__((visibility("default"))) void name(void);
#define REFUSED(...) WORKS(__VA_ARGS__)
#include "functions.def"
#undef WORKS

/* The words of the rows. */
enum {
    NOTHING = REFUSES_NOTHING,
    UNSAFE = REFUSES_UNSAFE,
    SETTING = REFUSES_SETTING,
    BLOCKING = REFUSES_BLOCKING,
    WAITING = REFUSES_WAITING
};

static const struct function {
    const char *name;
    void (*address)(void);
    uint32_t id;
    unsigned char refusal[3]; /* of HIP 5, 6, 7 */
} functions[] = {
#define WORKS(release, name, id, ...) {#name, name, id, {__VA_ARGS__}},
#include "functions.def"
};

enum { NFUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* By the first n characters, which must be all. */
static const struct function *find(const char *name, size_t n)
{
    size_t i;

    for (i = 0; i < NFUNCTIONS; i++)
        if (strncmp(functions[i].name, name, n) == 0 &&
            functions[i].name[n] == '\0')
            return &functions[i];
    return NULL;
}

void *function_by_name(const char *name)
{
    const struct function *f = find(name, strlen(name));
    void *pointer = NULL;

    if (f)
        memcpy(&pointer, &f->address, sizeof(pointer));
    return pointer;
}

const char *function_name_of_id(uint32_t id)
{
    size_t i;

    for (i = 0; i < NFUNCTIONS; i++)
        if (id && functions[i].id == id)
            return functions[i].name;
    return NULL;
}

unsigned function_refusal(const char *name, int release)
{
    static const char variant[] = "_spt";
    size_t n = strlen(name), end = sizeof(variant) - 1;
    const struct function *f;

    if (n > end && strcmp(name + n - end, variant) == 0)
        n -= end;
    f = find(name, n);
    return f ? f->refusal[release - 5] : REFUSES_NOTHING;
}
