#pragma once
#include <hip/hip_runtime.h>
#define VOLUME (1.0f * BY)
