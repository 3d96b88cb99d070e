/* target_unit.h - the target's row of matrix_unit.h, NVIDIA's too */
#pragma once

#include "matrix_unit.h"
#if KPK_SM >= 80
#include "nvidia/unit/mma_unit.h"
#endif
