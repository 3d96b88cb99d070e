/* hsa_signal.h - HSA signals, which lie in ROCr's memory */
#ifndef SIM_THUNK_HSA_SIGNAL_H
#define SIM_THUNK_HSA_SIGNAL_H

#include <stdint.h>

/* The host address of [addr, addr + n); NULL if the GPU may not access it. */
void *thunk_memory(uint64_t addr, uint64_t n);
int64_t thunk_signal_value(uint64_t signal);
/* Completes a packet's signal, as a packet processor does; signal may be 0. */
void thunk_signal_complete(uint64_t signal, uint64_t start, uint64_t end);
/* Stores a value and wakes the threads that wait for the signal. */
void thunk_signal_store(uint64_t signal, int64_t value);

#endif
