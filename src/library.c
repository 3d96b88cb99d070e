/* library.c - the files that may be a driver's library
 *
 * Files are tried from a number higher than today's newest release down to the
 * oldest supported one. So a future release is found, and the newest of several
 * installed ones is taken.
 */
#include "library.h"
#include "error.h"

#include <stdio.h>

void kpk_i_tried(struct kpk_i_tried *tried, const char *name, const char *why)
{
    struct kpk_i_text text = {tried->why + strlen(tried->why), 0};

    text.room = sizeof(tried->why) - (size_t)(text.at - tried->why);
    kpk_i_append(&text, "%s%s: %s", *tried->why ? "; " : "", name, why);
}

void *kpk_i_open_library(const char *name, struct kpk_i_tried *tried)
{
    void *handle = kpk_i_library_open(name);
    const char *error = handle ? NULL : kpk_i_library_error();

    /* Report a library that is present but whose own dependency is missing. */
    if (error && !kpk_i_library_is_absent(name, error))
        kpk_i_tried(tried, name, error);
    return handle;
}

kpk_status kpk_i_does_not_load(const char *what, const char *variable,
                               const char *path)
{
    const char *error = kpk_i_library_error();

    return kpk_i_fail(KPK_ERR_NO_DRIVER,
                      "%s%s names %s, which does not load: %s. Correct the "
                      "variable, or unset it to search the system's libraries",
                      what, variable, path, error ? error : "no reason given");
}

/* A place to look in, and what to do with each name there. */
struct places {
    kpk_i_try_file *try;
    void *what;
};

/* All numbers in one folder, which ends with its separator, or in the
 * loader's. */
static bool in_folder(const struct kpk_i_library *library, const char *folder,
                      void *what)
{
    const struct places *places = what;
    char name[512];

    for (int n = library->newest; n >= library->oldest; n--) {
        kpk_i_library_name(library, folder, n, name, sizeof(name));
        if (places->try(name, places->what))
            return true;
    }
    kpk_i_library_name(library, folder, -1, name, sizeof(name));
    return places->try(name, places->what);
}

bool kpk_i_each_file(const struct kpk_i_library *library, kpk_i_try_file *try,
                     void *what)
{
    struct places places = {try, what};
    bool found = in_folder(library, "", &places);

    for (size_t i = 0; library->folders[i] && !found; i++)
        found = in_folder(library, library->folders[i], &places);
    return found ||
           (library->root && kpk_i_each_release(library, in_folder, &places));
}
