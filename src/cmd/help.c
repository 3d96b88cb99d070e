/* help.c - kpack --help, and kpack COMMAND --help */
#include "commands.h"
#include "exit_status.h"

#include <stdio.h>
#include <string.h>

/* Columns of a line, and of its left part; a longer word gets its own line. */
enum { WIDTH = 78, LEFT = 32 };

/* A text in lines of WIDTH columns, `indent` of them blank, without the letters
 * that are marks. The first line begins at column `indent`. */
static void put_wrapped(const char *text, const char *marks, int indent)
{
    int at = indent;

    while (*text) {
        const size_t nbytes = strcspn(text, " ");
        int columns = 0;

        for (size_t i = 0; i < nbytes; i++)
            columns += !strchr(marks, text[i]);
        if (at > indent && at + 1 + columns > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        for (size_t i = 0; i < nbytes; i++)
            if (!strchr(marks, text[i]))
                putchar(text[i]);
        at += columns;
        text += nbytes + strspn(text + nbytes, " ");
    }
    putchar('\n');
}

static void option_title(const struct option *option, char *out, size_t nbytes)
{
    (void)snprintf(out, nbytes, "%s%s%s", option->name, option->word ? " " : "",
                   option->word ? option->word : "");
}

void print_help(void)
{
    printf("kpack %s - the GPU kernels that this program carries\n\n"
           "usage: kpack COMMAND [OPTION]...\n\n",
           KPK_VERSION_STRING);
    for (int i = 0; i < ncommands; i++) {
        char left[48];

        (void)snprintf(left, sizeof(left), "%s %s", commands[i].name,
                       commands[i].words);
        printf("  %-*s  %s\n", LEFT, left, commands[i].summary);
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
        option_title(&all_options[i], left, sizeof(left));
        printf("  %-*s  %s (%s)\n", LEFT, left, all_options[i].summary, taken);
    }
    printf("  %-*s  %s\n", LEFT, "--", "what follows is no option");
    for (int i = 0; i < nplain_options; i++) {
        char left[48];

        option_title(&plain_options[i], left, sizeof(left));
        printf("  %-*s  %s\n", LEFT, left, plain_options[i].summary);
    }
    printf("\nexit status:\n");
#define X(name, number, text) printf("  %d  %s\n", number, text);
    EXIT_TABLE(X)
#undef X
    printf(
        "\n`kpack COMMAND --help` tells more of one command.\n\n"
        "Only devices and run need a GPU and its library. HIP is looked for\n"
        "in KPK_HIP_LIBRARY if that is set, else in libamdhip64.so.20 to .5\n"
        "and libamdhip64.so, also below /opt/rocm; CUDA in KPK_CUDA_LIBRARY,\n"
        "else in libcuda.so.1.\n");
}

void print_command_help(const struct command *command)
{
    printf("usage: kpack %s %s%s\n\n", command->name, command->words,
           *command->letters ? " [OPTION]..." : "");
    put_wrapped(command->about, "`*", 0);
    if (*command->letters)
        printf("\noptions:\n");
    for (int i = 0; i < noptions; i++) {
        const struct option *option = &all_options[i];
        char left[48];

        if (!strchr(command->letters, option->letter))
            continue;
        option_title(option, left, sizeof(left));
        printf("  %-16s  ", left);
        if (option->about)
            put_wrapped(option->about, "`*", 20);
        else
            put_wrapped(option->summary, "", 20);
    }
    printf("\n`kpack --help` lists all commands, and the exit statuses.\n");
}
