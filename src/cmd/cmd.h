/* cmd.h - what the files of the kpack command share */
#ifndef KPK_CMD_H
#define KPK_CMD_H

#include "kpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses. The manual page and --help list them from this table. */
/* clang-format off */
#define EXIT_TABLE(X)                                                        \
    X(DONE,      0, "success")                                               \
    X(NO,        1, "the answer is no, or a check failed")                   \
    X(USAGE,     2, "the command line is wrong")                             \
    X(NO_GPU,    3, "there is no HIP and no CUDA, or no GPU")                \
    X(NO_OUTPUT, 4, "output could not be written")                           \
    X(NO_MEMORY, 5, "out of memory")
/* clang-format on */

enum exit_status {
#define X(name, number, text) EXIT_##name = number,
    EXIT_TABLE(X)
#undef X
};

/* A kernel's name and its arguments. */
enum { OPTIONS_MAX_WORDS = 64 };

/* The command line after the command's name. */
struct options {
    bool json;          /* --json */
    bool kernels;       /* --kernels */
    const char *output; /* -o FILE; NULL if not given */
    const char *only;   /* -k GLOB; NULL if not given */
    const char *keep;   /* --keep TARGET,...; NULL if not given */
    bool all;           /* --all */
    const char *kpack;  /* --kpack DIR; NULL if not given */
    const char *keys;   /* --keys KIND; NULL if not given */
    int device;         /* -d N; -1 if not given */
    const char *grid;   /* -g X,Y,Z; NULL if not given */
    const char *block;  /* -b X,Y,Z; NULL if not given */
    int shared;         /* -s BYTES; -1 if not given */
    int nwords;
    const char *words[OPTIONS_MAX_WORDS];
};

/* The pack that the command carries. */
extern const kpk_pack *const cmd_pack;

/* A file each. They return an exit status. */
int cmd_list(const struct options *options);
int cmd_info(const struct options *options);
int cmd_devices(const struct options *options);
int cmd_select(const struct options *options);
int cmd_extract(const struct options *options);
int cmd_run(const struct options *options);
int cmd_verify(const struct options *options);
int cmd_prune(const struct options *options);

/* The same for the packs in somebody's file, options->words[0]. */
int cmd_list_file(const struct options *options);
int cmd_extract_file(const struct options *options);

/* export.c: `kpack extract --kpack`, of the pack or of the packs in a file. */
int cmd_export(const struct options *options);

/* Prints what `info` has of one of AMD's archives, or of a library whose code
 * is in some. False, and nothing printed, if the file is neither; *sound tells
 * whether all code that it wants is there. */
bool cmd_info_file(const struct options *options, bool *sound);

/* Writes a file whole or not at all; "-" is standard output. A new one gets the
 * mode of the file `like`, if that is not NULL. */
int cmd_write_file(const char *name, const void *data, size_t nbytes,
                   const char *like);
/* Says that it cannot be written, and why: errno. */
int cmd_write_failed(const char *name);

/* foreign.c: makes a folder, unless it exists. False: errno says why not. */
bool cmd_make_folder(const char *folder);

/* Makes of a name the name of a file, which stays in its folder. */
void cmd_file_name(char *name);

/* The extension of a code object's file for a target, without the dot. */
const char *cmd_extension(const char *target);

/* foreign.c: says which heads in a file are not to be believed, and gives how
 * many there are of these. */
struct scan;
size_t cmd_print_faults(const struct scan *scan);

/* Prints kpack's last message on standard error. The exit status for `st`. */
int cmd_failed(kpk_status st);

/* For calls that cannot fail at this place: ends the command if one does. */
void cmd_need(kpk_status st);

/* The module of that name; of several, which imported packs have, the one for
 * that target. NULL, with a sentence printed, if there is none. */
const kpk_module *cmd_find_module(const char *name, const char *target);

/* The code object of exactly that target ID that is still in the module: what
 * `kpack prune` took out has left its row. */
kpk_status cmd_find_object(const kpk_module *module, const char *target,
                           size_t *out);

/* The 64 hex digits of a SHA-256, NUL-terminated. */
void cmd_hex(const uint8_t *sha256, char hex[65]);

/* json.c: objects and arrays are opened and closed by the caller. `key` is
 * NULL inside arrays. Commas and escapes are taken care of. */
void json_open(const char *key, char bracket); /* '{' or '[' */
void json_close(char bracket);                 /* '}' or ']' */
void json_string(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_bool(const char *key, bool value);
/* Text in JSON's syntax, such as a number of another kind. */
void json_raw(const char *key, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void json_end(void); /* a newline after the outermost */
/* Sends later JSON to a stream of open_memstream(), which gets all of the text
 * unless the command ends without memory. NULL: to standard output. */
void json_to(FILE *file);

/* table.c: text in columns as wide as their widest cell. Cells are copied. */
enum { TABLE_MAX_COLUMNS = 12 };
struct table;
/* Column titles, blank-separated; a leading '>' aligns the column right. */
struct table *table_new(const char *titles);
void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void table_print(struct table *table); /* and frees it */

#endif
