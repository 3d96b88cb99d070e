/* handle.h - the set of live handles */
#ifndef SIM_HIP_HANDLE_H
#define SIM_HIP_HANDLE_H

#include <stdbool.h>

enum handle_kind {
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_POOL,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_GRAPH_EXEC,
    HANDLE_USER_OBJECT,
    HANDLE_ARRAY,
    HANDLE_MIPMAPPED_ARRAY,
    HANDLE_TEXTURE,
    HANDLE_TEXTURE_REFERENCE,
    HANDLE_SURFACE,
    HANDLE_PHYSICAL,
    HANDLE_LINK
};

bool handle_add(const void *handle, enum handle_kind kind);
bool handle_remove(const void *handle, enum handle_kind kind);
bool handle_valid(const void *handle, enum handle_kind kind);
void handles_shutdown(void);

#endif
