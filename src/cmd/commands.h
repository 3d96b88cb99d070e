/* commands.h - the subcommands and options, with their help texts
 *
 * The tables of both serve the parser of the command line, `kpack --help`, the
 * manual page and shells' completion.
 *
 * In texts `word` is typed literally, and *word* is a placeholder.
 */
#ifndef KPK_CMD_COMMANDS_H
#define KPK_CMD_COMMANDS_H

#include "cmd.h"

struct command {
    const char *name;
    const char *words;   /* its arguments */
    const char *letters; /* options the command takes */
    int least, most;     /* words */
    int (*run)(const struct options *);
    const char *summary;
    const char *about;
};
extern const struct command commands[];
extern const int ncommands;

struct option {
    const char *name; /* as typed */
    const char *word; /* names its value; NULL: it takes none */
    char letter;
    const char *summary;
    const char *about; /* for the manual; NULL: the summary is enough */
};
extern const struct option all_options[];
extern const int noptions;

/* Options in a command's place. */
extern const struct option plain_options[];
extern const int nplain_options;

/* help.c */
void print_help(void);
void print_command_help(const struct command *command);

/* manual.c: the page, in the language of man(7). */
void print_manual(void);

/* completion.c: what completes the command line in a shell; false, and nothing
 * printed, if it is none of bash, zsh and fish. */
bool print_completion(const char *shell);

#endif
