/* formats.h - the types of GGUF tensors, by the table that src reads, too */
#pragma once

#include "../../../src/base/gguf_formats.h"
