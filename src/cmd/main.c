/* main.c - the kpack command: looks into the pack that it carries, runs it
 *
 * A file each does the work of a subcommand; see commands.c.
 */
#include "commands.h"
#include "exit_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(void)
{
    printf("kpack %s - the GPU kernels that this program carries\n\n"
           "usage: kpack COMMAND [OPTION]...\n\n",
           KPK_VERSION_STRING);
    for (int i = 0; i < ncommands; i++) {
        char left[48];

        (void)snprintf(left, sizeof(left), "%s %s", commands[i].name,
                       commands[i].words);
        printf("  %-32s  %s\n", left, commands[i].summary);
    }
    printf("\noptions, where a command takes them:\n");
    for (int i = 0; i < noptions; i++) {
        char taken[64] = "";
        char left[48];

        for (int c = 0; c < ncommands; c++) {
            if (strchr(commands[c].letters, all_options[i].letter))
                (void)snprintf(taken + strlen(taken),
                               sizeof(taken) - strlen(taken), "%s%s",
                               *taken ? ", " : "", commands[c].name);
        }
        (void)snprintf(left, sizeof(left), "%s %s", all_options[i].name,
                       all_options[i].word ? all_options[i].word : "");
        printf("  %-32s  %s (%s)\n", left, all_options[i].summary, taken);
    }
    printf("  %-32s  %s\n  %-32s  %s\n  %-32s  %s\n  %-32s  %s\n", "--",
           "what follows is no option", "--help", "this text", "--version",
           "the version of kpack", "--manual",
           "the manual page, for `man -l -`");
    printf("\nexit status:\n");
#define X(name, number, text) printf("  %d  %s\n", number, text);
    EXIT_TABLE(X)
#undef X
    printf(
        "\nOnly devices and run need a GPU and its library. HIP is looked for\n"
        "in KPK_HIP_LIBRARY if that is set, else in libamdhip64.so.20 to .5\n"
        "and libamdhip64.so, also below /opt/rocm; CUDA in KPK_CUDA_LIBRARY,\n"
        "else in libcuda.so.1.\n");
}

static int usage(const struct command *command, const char *fault,
                 const char *word)
{
    (void)fprintf(stderr, "kpack: %s%s%s\n", fault, *word ? ": " : "", word);
    if (command)
        (void)fprintf(stderr, "usage: kpack %s %s [OPTION]...\n", command->name,
                      command->words);
    (void)fprintf(stderr, "`kpack --help` lists commands and options\n");
    return EXIT_USAGE;
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
 * One option of the command line; how many words it took, 0 if it is none.
 * given: which options with a word there were, a bit each; none comes twice.
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
    struct options options = {.device = -1, .shared = -1};
    unsigned given = 0;
    bool words_alone = false; /* behind "--" */

    while (*argv) {
        const bool option =
            !words_alone && (*argv)[0] == '-' && (*argv)[1] != '\0';
        int taken = 1;

        if (option && strcmp(*argv, "--help") == 0) {
            print_help();
            return EXIT_DONE;
        }
        if (option && strcmp(*argv, "--") == 0) {
            words_alone = true;
        } else if (option) {
            taken = take_option(command, argv, &options, &given);
            if (!taken)
                return usage(command,
                             "option unknown here, given twice, or its value "
                             "is missing or wrong",
                             *argv);
        } else {
            if (options.nwords == command->most)
                return usage(command, "one word too many", *argv);
            options.words[options.nwords++] = *argv;
        }
        argv += taken;
    }
    if (options.nwords < command->least)
        return usage(command, "something is missing", "");
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

/* If a standard file is closed, the next open() gets its number, and output
 * would go into that file or GPU. Fill the number with /dev/null, opened so
 * that reads and writes still fail. */
static void hold_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    hold_standard_files();
    if (argc < 2)
        return usage(NULL, "no command given", "");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return finish(EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("kpack %s\n", KPK_VERSION_STRING);
        return finish(EXIT_DONE);
    }
    if (strcmp(argv[1], "--manual") == 0) {
        print_manual();
        return finish(EXIT_DONE);
    }
    for (int i = 0; i < ncommands; i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return finish(run_command(&commands[i], argv + 2));
    }
    return usage(NULL, "no such command", argv[1]);
}
