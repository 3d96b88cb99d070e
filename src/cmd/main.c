/* main.c - the kpack command: looks into the pack that it carries, runs it
 *
 * Each subcommand has a file of its own; see commands.c.
 */
#include "commands.h"
#include "exit_status.h"
#include "nearest.h"
#include "os.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(const struct command *command, const char *fault,
                 const char *word, const char *hint)
{
    (void)fprintf(stderr, "kpack: %s%s%s%s\n", fault, *word ? ": " : "", word,
                  hint);
    if (command)
        (void)fprintf(stderr,
                      "usage: kpack %s %s [OPTION]...\n"
                      "`kpack %s --help` tells more\n",
                      command->name, command->words, command->name);
    else
        (void)fprintf(stderr, "`kpack --help` lists commands and options\n");
    return EXIT_USAGE;
}

static int unknown_command(const char *word)
{
    struct nearest nearest = nearest_to(word);

    for (int i = 0; i < ncommands; i++)
        nearest_offer(&nearest, commands[i].name);
    for (int i = 0; i < nplain_options; i++)
        nearest_offer(&nearest, plain_options[i].name);
    return usage(NULL, "no such command", word, nearest_hint(&nearest));
}

/* An option that the command does not take as it stands. */
static int wrong_option(const struct command *command, const char *word)
{
    struct nearest nearest = nearest_to(word);

    for (int i = 0; i < noptions; i++)
        if (strchr(command->letters, all_options[i].letter) &&
            strlen(all_options[i].name) > 2) /* any letter is near to another */
            nearest_offer(&nearest, all_options[i].name);
    nearest_offer(&nearest, "--help");
    return usage(command,
                 "option unknown here, given twice, or its value is missing or "
                 "wrong",
                 word, nearest.distance ? nearest_hint(&nearest) : "");
}

static bool parse_number(const char *text, int *out)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > INT_MAX)
        return false;
    *out = (int)value;
    return true;
}

/*
 * Parses an option of the command line. Returns the number of words that it
 * took, 0 if it is no option. given: a bit for each option with a word so far;
 * no option may come twice.
 */
static int take_option(const struct command *command, char **argv,
                       struct options *out, unsigned *given)
{
    for (int i = 0; i < noptions; i++) {
        const char letter = all_options[i].letter;

        if (strcmp(argv[0], all_options[i].name) != 0 ||
            !strchr(command->letters, letter))
            continue;
        if (all_options[i].word && (!argv[1] || *given >> i & 1))
            return 0;
        *given |= 1u << i;
        switch (letter) {
        case 'j':
            out->json = true;
            return 1;
        case 'K':
            out->kernels = true;
            return 1;
        case 'a':
            out->all = true;
            return 1;
        case 'A':
            out->kpack = argv[1];
            return 2;
        case 'y':
            out->keys = argv[1];
            return 2;
        case 'p':
            out->keep = argv[1];
            return 2;
        case 'o':
            out->output = argv[1];
            return 2;
        case 'g':
            out->grid = argv[1];
            return 2;
        case 'b':
            out->block = argv[1];
            return 2;
        case 's':
            return parse_number(argv[1], &out->shared) ? 2 : 0;
        case 'k':
            out->only = argv[1];
            return 2;
        default:
            return parse_number(argv[1], &out->device) ? 2 : 0;
        }
    }
    return 0;
}

static int run_command(const struct command *command, char **argv)
{
    struct options options = {.device = KPK_ANY_DEVICE, .shared = -1};
    unsigned given = 0;
    bool words_alone = false; /* behind "--" */

    while (*argv) {
        const bool option =
            !words_alone && (*argv)[0] == '-' && (*argv)[1] != '\0';
        int taken = 1;

        if (option &&
            (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)) {
            print_command_help(command);
            return EXIT_DONE;
        }
        if (option && strcmp(*argv, "--") == 0) {
            words_alone = true;
        } else if (option) {
            taken = take_option(command, argv, &options, &given);
            if (!taken)
                return wrong_option(command, *argv);
        } else {
            if (options.nwords == command->most)
                return usage(command, "one word too many", *argv, "");
            options.words[options.nwords++] = *argv;
        }
        argv += taken;
    }
    if (options.nwords < command->least)
        return usage(command, "something is missing", "", "");
    return command->run(&options);
}

/* Output may be lost as late as here: a full disk, a closed pipe. */
static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    (void)fprintf(stderr, "kpack: cannot write to standard output: %s\n",
                  strerror(errno));
    return EXIT_NO_OUTPUT;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < ncommands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static bool is_option(const char *word, char letter, const char *name)
{
    const char alone[] = {'-', letter, '\0'};

    return strcmp(word, alone) == 0 || strcmp(word, name) == 0;
}

static int help(const char *word)
{
    const struct command *command = word ? find_command(word) : NULL;

    if (word && !command)
        return unknown_command(word);
    if (command)
        print_command_help(command);
    else
        print_help();
    return EXIT_DONE;
}

/* The command line begins with an option of the command's own: plain_options.
 * Below 0 if it does not. */
static int run_plain(char **argv)
{
    if (is_option(argv[0], 'h', "--help") || strcmp(argv[0], "help") == 0)
        return help(argv[1]);
    if (is_option(argv[0], 'V', "--version")) {
        printf("kpack %s\n", KPK_VERSION_STRING);
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "--manual") == 0) {
        print_manual();
        return EXIT_DONE;
    }
    if (strcmp(argv[0], "--completion") != 0)
        return -1;
    if (argv[1] && print_completion(argv[1]))
        return EXIT_DONE;
    return usage(NULL, "--completion takes bash, zsh or fish",
                 argv[1] ? argv[1] : "", "");
}

int main(int argc, char **argv)
{
    const struct command *command;
    int status;

    os_begin(&argc, &argv);
    if (argc < 2)
        return usage(NULL, "no command given", "", "");
    status = run_plain(argv + 1);
    if (status >= 0)
        return finish(status);
    command = find_command(argv[1]);
    return command ? finish(run_command(command, argv + 2))
                   : unknown_command(argv[1]);
}
