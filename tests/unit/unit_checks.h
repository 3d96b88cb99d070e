/* unit_checks.h - cmocka and the checks that kpack's unit tests share */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "kpack.h"

#include <stdio.h>
#include <string.h>

/* Both statuses by name, and the message, when they differ. */
#define assert_status(call, wanted)                                            \
    do {                                                                       \
        kpk_status got_ = (call);                                              \
        if (got_ != (wanted))                                                  \
            fail_msg("%s: wanted %s, got %s: %s", #call,                       \
                     kpk_status_name(wanted), kpk_status_name(got_),           \
                     kpk_error_message());                                     \
    } while (0)

#define assert_ok(call) assert_status(call, KPK_OK)

/* The thread's last message has this in it. */
#define assert_message(part)                                                   \
    do {                                                                       \
        if (!strstr(kpk_error_message(), part))                                \
            fail_msg("wanted a message with \"%s\", got \"%s\"", part,         \
                     kpk_error_message());                                     \
    } while (0)

/* The same without cmocka: ends a function, which returns 0 for a success. */
#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n  last message: %s\n",         \
                    __FILE__, __LINE__, #condition, kpk_error_message());      \
            return 1;                                                          \
        }                                                                      \
    } while (0)

#endif
