/* symbols.c - functions by name, from the list of what is exported
 *
 * No question to the dynamic linker, which a static program does not have: the
 * answer is this library's own function, whatever else is in the process. No
 * header declares the functions here, as only their addresses matter.
 */
#include "symbols.h"

#include <string.h>

#define WORKS(release, name)                                                   \
    __attribute__((visibility("default"))) void name(void);
#define REFUSED(release, name) WORKS(release, name)
#include "functions.def"
#undef WORKS
#undef REFUSED

static const struct {
    const char *name;
    void (*function)(void);
} functions[] = {
#define WORKS(release, name) {#name, name},
#define REFUSED(release, name) WORKS(release, name)
#include "functions.def"
};

void *function_by_name(const char *name)
{
    void *pointer;
    size_t i;

    for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0) {
            memcpy(&pointer, &functions[i].function, sizeof(pointer));
            return pointer;
        }
    return NULL;
}
