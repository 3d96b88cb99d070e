/* scratch.h - files and folders of a test's own, among the temporary ones */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_PATH_MAX = 4096 };

static inline void scratch_name(char path[SCRATCH_PATH_MAX])
{
    const char *folder = getenv("TMPDIR");

    (void)snprintf(path, SCRATCH_PATH_MAX, "%s/kpack-test-XXXXXX",
                   folder && *folder ? folder : "/tmp");
}

/* Opens a new file and writes its name; to be removed. -1 on failure. */
static inline int scratch_file(char path[SCRATCH_PATH_MAX])
{
    scratch_name(path);
    return mkstemp(path);
}

/* Makes a new folder and writes its name; to be removed. NULL on failure. */
static inline char *scratch_folder(char path[SCRATCH_PATH_MAX])
{
    scratch_name(path);
    return mkdtemp(path);
}

#endif
