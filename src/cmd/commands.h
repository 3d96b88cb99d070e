/* commands.h - the subcommands and options, and what is said of them
 *
 * One table of each: the command line is read by them, and `kpack --help` and
 * the manual page are written from them.
 *
 * In texts `word` is typed as it stands and *word* stands for something.
 */
#ifndef KPK_CMD_COMMANDS_H
#define KPK_CMD_COMMANDS_H

#include "cmd.h"

struct command {
    const char *name;
    const char *words;   /* what follows it */
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
    const char *about; /* for the manual; NULL: the summary says it all */
};
extern const struct option all_options[];
extern const int noptions;

/* manual.c: the page, in the language of man(7). */
void print_manual(void);

#endif
