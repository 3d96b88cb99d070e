/* kmt_event.h - the driver's events */
#ifndef SIM_THUNK_KMT_EVENT_H
#define SIM_THUNK_KMT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Sets the event with this ID; an ID that no event has is no fault. */
void thunk_event_set(uint32_t id);
/*
 * Writes a memory fault into the events that wait for one and sets them. False
 * if there are none: the runtime polls.
 */
bool thunk_event_memory_fault(uint32_t node, uint64_t address,
                              uint32_t reasons);

#endif
