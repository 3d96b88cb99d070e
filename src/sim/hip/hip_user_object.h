/* hip_user_object.h - objects of the program that live as long as graphs */
#ifndef SIM_HIP_USER_OBJECT_H
#define SIM_HIP_USER_OBJECT_H

#include <stdbool.h>

typedef struct hipUserObject *hipUserObject_t;

/* Numbers of references that HIP takes. */
bool user_object_is_count(unsigned n);

/* A graph's references: a list, NULL if empty. */
struct user_held;
/* Holds n references, the caller's or new ones; false: no memory. */
bool user_object_hold(struct user_held **list, hipUserObject_t object,
                      unsigned n, bool takes_over);
/* Adds references to all objects that another graph holds. */
bool user_object_hold_as(struct user_held **list, const struct user_held *from);
/* Drops n references, or none if the list has fewer. */
void user_object_give_back(struct user_held *list, hipUserObject_t object,
                           unsigned n);
void user_object_let_go(struct user_held **list);

#endif
