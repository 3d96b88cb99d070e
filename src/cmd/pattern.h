/* pattern.h - matches names by patterns, as a shell does */
#ifndef KPK_CMD_PATTERN_H
#define KPK_CMD_PATTERN_H

#include <stdbool.h>

/* Whether a pattern matches a whole name: '*' is any text, '?' any byte,
 * "[a-z]" a byte from a to z, "[!a-z]" any other byte. */
bool pattern_matches(const char *pattern, const char *name);

#endif
