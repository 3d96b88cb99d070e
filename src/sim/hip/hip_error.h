/* hip_error.h - logging of errors */
#ifndef SIM_HIP_ERROR_H
#define SIM_HIP_ERROR_H

#include <stddef.h>

/* AMD_LOG_LEVEL, or what the program set instead. */
size_t log_level(void);

#endif
