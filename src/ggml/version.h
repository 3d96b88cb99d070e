/* version.h - checks that the process's ggml fits the backend */
#ifndef KPK_GGML_VERSION_H
#define KPK_GGML_VERSION_H

#include <stdbool.h>

/*
 * version_fits() compares the ggml of the process with the headers that the
 * backend was compiled with. ggml keeps neither the layout of its backend
 * structs nor the numbers of its operations from release to release, and its
 * own GGML_BACKEND_API_VERSION does not follow. If they differ, one sentence on
 * stderr names both.
 */
bool version_fits(void);

#endif
