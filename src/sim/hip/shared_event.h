/* shared_event.h - an event's state that several processes map */
#ifndef SIM_HIP_SHARED_EVENT_H
#define SIM_HIP_SHARED_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct shared_event;
struct shared_event *shared_event_new(void);
/* Makes an event from its file's descriptor, which it takes over; NULL for -1.
 */
struct shared_event *shared_event_of(int fd);
int shared_event_descriptor(const struct shared_event *s);
struct shared_event *shared_event_ref(struct shared_event *s);
void shared_event_unref(struct shared_event *s);
/* record() returns the turn of a new record; reach() says that the stream has
 * executed it; turn() is the latest record's. */
uint64_t shared_event_record(struct shared_event *s);
void shared_event_reach(struct shared_event *s, uint64_t turn);
uint64_t shared_event_turn(const struct shared_event *s);
bool shared_event_is_done(const struct shared_event *s, uint64_t turn);
void shared_event_wait(const struct shared_event *s, uint64_t turn);

#endif
