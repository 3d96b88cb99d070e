/* json.h - JSON on standard output
 *
 * Objects and arrays are opened and closed by the caller. `key` is NULL inside
 * arrays. Commas and escapes are taken care of.
 */
#ifndef KPK_CMD_JSON_H
#define KPK_CMD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_open(const char *key, char bracket); /* '{' or '[' */
void json_close(char bracket);                 /* '}' or ']' */
void json_string(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/* Text in JSON's syntax, such as a number of another kind. */
void json_raw(const char *key, const char *format, ...)
    __attribute__((format(__printf__, 2, 3)));
void json_end(void); /* a newline after the outermost */
/* Sends later JSON to a stream of open_memstream(), which gets all of the text
 * unless the command ends without memory. NULL: to standard output. */
void json_to(FILE *file);

#endif
