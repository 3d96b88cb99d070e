/* pattern.h - patterns of names, as a shell has them */
#ifndef KPK_CMD_PATTERN_H
#define KPK_CMD_PATTERN_H

#include <stdbool.h>

/* Whether all of a name is what a pattern says: '*' is any text, '?' any byte,
 * "[a-z]" one of these and "[!a-z]" another one. */
bool pattern_matches(const char *pattern, const char *name);

#endif
