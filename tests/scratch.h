/* scratch.h - a file of a test's own, in the folder for temporary files */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

enum { SCRATCH_PATH_MAX = 4096 };

/* Opens a new file and writes its name; to be removed. -1 on failure. */
static inline int scratch_file(char path[SCRATCH_PATH_MAX])
{
    const char *folder = getenv("TMPDIR");

    (void)snprintf(path, SCRATCH_PATH_MAX, "%s/kpack-test-XXXXXX",
                   folder && *folder ? folder : "/tmp");
    return mkstemp(path);
}

#endif
