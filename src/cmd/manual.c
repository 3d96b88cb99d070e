/* manual.c - writes the manual page of the command, kpack(1)
 *
 * `kpack --manual | man -l -` shows it where it is not installed.
 */
#include "commands.h"
#include "exit_status.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Escapes hyphens, which man would print as dashes. The texts have no
 * backslash, and none begins with a dot. */
static void put(char c)
{
    if (c == '-')
        putchar('\\');
    putchar(c);
}

static void put_all(const char *text)
{
    for (; *text; text++)
        put(*text);
}

/* A text with its marks: `typed`, *stands for something*. */
static void put_text(const char *text)
{
    bool marked = false;

    for (; *text; text++) {
        if (*text != '`' && *text != '*') {
            put(*text);
            continue;
        }
        printf(marked ? "\\fP" : *text == '`' ? "\\fB" : "\\fI");
        marked = !marked;
    }
    putchar('\n');
}

/* Words of a synopsis: those in capitals stand for something. */
static void put_words(const char *words)
{
    bool italic = false;

    for (; *words; words++) {
        const bool capital = isupper((unsigned char)*words) ||
                             (italic && (*words == '-' || *words == '.'));

        if (capital != italic)
            printf(capital ? "\\fI" : "\\fP");
        italic = capital;
        put(*words);
    }
    if (italic)
        printf("\\fP");
}

static void put_option(const struct option *option)
{
    printf("\\fB");
    put_all(option->name);
    printf("\\fP");
    if (option->word) {
        putchar(' ');
        put_words(option->word);
    }
}

static void put_synopsis(const struct command *command)
{
    printf("\\fBkpack %s\\fP ", command->name);
    for (int i = 0; i < noptions; i++) {
        if (!strchr(command->letters, all_options[i].letter))
            continue;
        putchar('[');
        put_option(&all_options[i]);
        printf("] ");
    }
    put_words(command->words);
    printf("\n.br\n");
}

/* "Lists kernels instead of modules." of a summary. */
static void put_sentence(const char *summary)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "%c%s.",
                   toupper((unsigned char)*summary), summary + 1);
    put_all(text);
    putchar('\n');
}

static void put_title(const char *name, const char *words)
{
    printf(".TP\n\\fB");
    put_all(name);
    printf("\\fP ");
    put_words(words);
    putchar('\n');
}

static const struct {
    const char *title, *text;
} environment[] = {
    {"KPK_HIP_LIBRARY",
     "File or name of the HIP runtime to use. Without it "
     "*libamdhip64.so.20* down to *.5* and *libamdhip64.so* are tried, in "
     "the loader's path and below */opt/rocm*."},
    {"KPK_CUDA_LIBRARY",
     "File or name of the CUDA driver to use. Without it *libcuda.so.1* is "
     "tried."},
    {"HIP_VISIBLE_DEVICES",
     "HIP's own, as is `ROCR_VISIBLE_DEVICES`: which GPUs it shows, and in "
     "which order."},
};

static const struct {
    const char *question, *command;
} examples[] = {
    {"For which GPUs was this program built, and is it whole?",
     "kpack verify ./program"},
    {"A library for one GPU out of a library for many",
     "kpack prune libkpack.a --keep gfx942 -o libkpack-mi300.a"},
    {"Will this program run on an MI300X?",
     "kpack select gfx942:sramecc+:xnack- ./program"},
    {"Which kernels are in this program?", "kpack list --kernels ./program"},
    {"Do the kernels load on the first GPU of this machine?", "kpack run -d 0"},
    {"What does a kernel compute?",
     "kpack run vector_add f32x1000:ramp f32x1000:0.5 f32x1000:0 u32:1000"},
    {"What is inside a code object?",
     "kpack extract -o - affine gfx942 | llvm-readelf --notes -"},
};

static void put_commands(void)
{
    printf(".SH SYNOPSIS\n");
    for (int i = 0; i < ncommands; i++)
        put_synopsis(&commands[i]);
    for (int i = 0; i < nplain_options; i++) {
        printf("\\fBkpack\\fP ");
        put_option(&plain_options[i]);
        printf("\n.br\n");
    }
    printf(".SH DESCRIPTION\n");
    put_text("`kpack` carries a pack of GPU kernels inside itself, the way any "
             "program does that links *libkpack.a*. It shows what is in the "
             "pack and which code object a GPU would run and why, loads and "
             "launches kernels, and checks and changes packs in other files. "
             "Only `devices` and `run` need a HIP runtime and a GPU.");
    printf(".SH COMMANDS\n");
    for (int i = 0; i < ncommands; i++) {
        put_title(commands[i].name, commands[i].words);
        put_text(commands[i].about);
    }
}

static void put_options(const struct option *options, int n)
{
    for (int i = 0; i < n; i++) {
        printf(".TP\n");
        put_option(&options[i]);
        putchar('\n');
        if (options[i].about)
            put_text(options[i].about);
        else
            put_sentence(options[i].summary);
    }
}

void print_manual(void)
{
    printf(".\\\" kpack.1 - written by kpack --manual; do not edit\n"
           ".TH KPACK 1 \"\" \"kpack %s\" \"User Commands\"\n"
           ".SH NAME\nkpack \\- look into a pack of GPU kernels, and run it\n",
           KPK_VERSION_STRING);
    put_commands();
    printf(".SH OPTIONS\n");
    put_options(all_options, noptions);
    put_options(plain_options, nplain_options);
    printf(".TP\n\\fB\\-\\-\\fP\n");
    put_text("What follows is no option: names of modules and files may begin "
             "with a hyphen.");
    printf(".SH EXIT STATUS\n");
#define X(name, number, text) printf(".TP\n\\fB%d\\fP\n%s\n", number, text);
    EXIT_TABLE(X)
#undef X
    printf(".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++) {
        put_title(environment[i].title, "");
        put_text(environment[i].text);
    }
    printf(".SH FILES\n");
    put_text("Compressed packs are read with *libzstd.so.1*, which is loaded "
             "when it is needed.");
    printf(".SH EXAMPLES\n");
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        printf(".TP\n%s\n\\fB", examples[i].question);
        put_all(examples[i].command);
        printf("\\fP\n");
    }
}
