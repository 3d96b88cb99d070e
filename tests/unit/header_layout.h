/* header_layout.h - the number that a launchers' header has of a module */
#ifndef HEADER_LAYOUT_H
#define HEADER_LAYOUT_H

#include "kpack.h"

uint64_t header_layout(const kpk_module *module);

#endif
