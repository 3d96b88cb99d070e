/* completion.c - kpack --completion SHELL: what completes its command line
 *
 * Written from the tables of commands and options, as --help and the manual
 * page are. A word that is no option is completed with names of files; names of
 * modules, kernels and target IDs are asked of `kpack list` when they are
 * needed.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

/* What a command's words can stand for. */
static bool takes_file(const struct command *command)
{
    return strstr(command->words, "FILE") != NULL;
}

static bool takes_module(const struct command *command)
{
    return strstr(command->words, "MODULE") != NULL;
}

static bool takes_kernel(const struct command *command)
{
    return strstr(command->words, "KERNEL") != NULL;
}

/* Writes the commands that take one kind of word, as a pattern of `case`. */
static void put_cases(bool (*takes)(const struct command *))
{
    const char *bar = "";

    for (int i = 0; i < ncommands; i++) {
        if (!takes(&commands[i]))
            continue;
        printf("%s%s", bar, commands[i].name);
        bar = "|";
    }
}

static void put_options(const struct command *command)
{
    for (int i = 0; i < noptions; i++)
        if (strchr(command->letters, all_options[i].letter))
            printf("%s ", all_options[i].name);
    printf("--help");
}

/* Options whose value is a file or a folder, or any other. */
static void put_option_cases(bool file)
{
    const char *bar = "";

    for (int i = 0; i < noptions; i++) {
        const char *word = all_options[i].word;

        if (!word ||
            (strcmp(word, "FILE") == 0 || strcmp(word, "DIR") == 0) != file)
            continue;
        printf("%s%s", bar, all_options[i].name);
        bar = "|";
    }
}

static const char list_modules[] =
    "kpack list 2>/dev/null | sed -e 1d -e \"s/ .*//\"";
static const char list_kernels[] =
    "kpack list --kernels 2>/dev/null | sed -e 1d -e \"s/ .*//\"";

static void put_bash(void)
{
    printf("# bash completion of kpack, written by kpack --completion bash\n"
           "_kpack()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words= files=\n\n"
           "    COMPREPLY=()\n"
           "    case ${COMP_WORDS[COMP_CWORD - 1]} in\n    ");
    put_option_cases(true);
    printf(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n    ");
    put_option_cases(false);
    printf(") return ;;\n"
           "    esac\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        words='");
    for (int i = 0; i < ncommands; i++)
        printf("%s ", commands[i].name);
    for (int i = 0; i < nplain_options; i++)
        printf("%s ", plain_options[i].name);
    printf("'\n    elif [ \"${word#-}\" != \"$word\" ]; then\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < ncommands; i++) {
        printf("        %s) words='", commands[i].name);
        put_options(&commands[i]);
        printf("' ;;\n");
    }
    printf("        esac\n"
           "    else\n"
           "        case ${COMP_WORDS[1]} in ");
    put_cases(takes_module);
    printf(") words+=\" $(%s)\" ;; esac\n        case ${COMP_WORDS[1]} in ",
           list_modules);
    put_cases(takes_kernel);
    printf(") words+=\" $(%s)\" ;; esac\n        case ${COMP_WORDS[1]} in ",
           list_kernels);
    put_cases(takes_file);
    printf(") files=-f ;; esac\n"
           "    fi\n"
           "    COMPREPLY=($(compgen $files -W \"$words\" -- \"$word\"))\n"
           "}\n"
           "complete -o filenames -F _kpack kpack\n");
}

/* A text in single quotes of zsh's and fish's; it has none itself. zsh's
 * brackets and colons end descriptions. */
static void put_quoted(const char *text, const char *escaped)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'') {
            printf("'\\''");
            continue;
        }
        if (strchr(escaped, *text))
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void put_zsh_option(const struct option *option)
{
    printf("            '%s[", option->name);
    for (const char *c = option->summary; *c; c++) {
        if (*c == '\'') {
            printf("'\\''");
            continue;
        }
        if (strchr("[]:", *c))
            putchar('\\');
        putchar(*c);
    }
    putchar(']');
    if (option->word && strcmp(option->word, "FILE") == 0)
        printf(":file:_files");
    else if (option->word && strcmp(option->word, "DIR") == 0)
        printf(":folder:_files -/");
    else if (option->word)
        printf(":value: ");
    printf("'\n");
}

static void put_zsh_command(const struct command *command)
{
    printf("    %s)\n        arguments=(\n", command->name);
    for (int i = 0; i < noptions; i++)
        if (strchr(command->letters, all_options[i].letter))
            put_zsh_option(&all_options[i]);
    printf("            '--help[help on this command]'\n        )\n");
    if (takes_module(command))
        printf("        names+=($(%s))\n", list_modules);
    if (takes_kernel(command))
        printf("        names+=($(%s))\n", list_kernels);
    if (takes_file(command))
        printf("        files=_files\n");
    printf("        ;;\n");
}

static void put_zsh(void)
{
    printf("#compdef kpack\n"
           "# zsh completion of kpack, written by kpack --completion zsh\n"
           "_kpack_word() {\n"
           "    (( $#names )) && compadd -a names\n"
           "    [[ -n $files ]] && _files\n"
           "}\n"
           "_kpack() {\n"
           "    local -a all arguments names\n"
           "    local files=\n\n"
           "    if (( CURRENT == 2 )); then\n"
           "        all=(\n");
    for (int i = 0; i < ncommands; i++) {
        char text[200];

        (void)snprintf(text, sizeof(text), "%s:%s", commands[i].name,
                       commands[i].summary);
        printf("            ");
        put_quoted(text, "");
        putchar('\n');
    }
    for (int i = 0; i < nplain_options; i++) {
        char text[200];

        (void)snprintf(text, sizeof(text), "%s:%s", plain_options[i].name,
                       plain_options[i].summary);
        printf("            ");
        put_quoted(text, "");
        putchar('\n');
    }
    printf("        )\n"
           "        _describe command all\n"
           "        return\n"
           "    fi\n"
           "    case $words[2] in\n");
    for (int i = 0; i < ncommands; i++)
        put_zsh_command(&commands[i]);
    printf("    *) return 1 ;;\n"
           "    esac\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    _arguments -S $arguments '*:word:_kpack_word'\n"
           "}\n"
           "if [[ $funcstack[1] = _kpack ]]; then _kpack \"$@\"; else compdef "
           "_kpack kpack; fi\n");
}

/* fish names options of one letter and of more apart. */
static void put_fish_name(const char *name)
{
    if (name[1] == '-')
        printf(" -l %s", name + 2);
    else
        printf(" -s %c", name[1]);
}

static void put_fish_command(const struct command *command)
{
    printf("complete -c kpack -n __fish_use_subcommand -f -a %s -d ",
           command->name);
    put_quoted(command->summary, "\\");
    putchar('\n');
    for (int i = 0; i < noptions; i++) {
        const struct option *option = &all_options[i];

        if (!strchr(command->letters, option->letter))
            continue;
        printf("complete -c kpack -n '__fish_seen_subcommand_from %s'",
               command->name);
        put_fish_name(option->name);
        if (option->word)
            printf(" -r");
        printf(" -d ");
        put_quoted(option->summary, "\\");
        putchar('\n');
    }
    if (!takes_file(command))
        printf("complete -c kpack -n '__fish_seen_subcommand_from %s' -f\n",
               command->name);
    if (takes_module(command))
        printf("complete -c kpack -n '__fish_seen_subcommand_from %s' -a "
               "'(%s)'\n",
               command->name, list_modules);
    if (takes_kernel(command))
        printf("complete -c kpack -n '__fish_seen_subcommand_from %s' -a "
               "'(%s)'\n",
               command->name, list_kernels);
}

static void put_fish(void)
{
    printf("# fish completion of kpack, written by kpack --completion fish\n");
    for (int i = 0; i < ncommands; i++)
        put_fish_command(&commands[i]);
    for (int i = 0; i < nplain_options; i++) {
        printf("complete -c kpack -n __fish_use_subcommand");
        put_fish_name(plain_options[i].name);
        printf(" -d ");
        put_quoted(plain_options[i].summary, "\\");
        putchar('\n');
    }
}

static const struct {
    const char *name;
    void (*put)(void);
} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

bool print_completion(const char *shell)
{
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        shells[i].put();
        return true;
    }
    return false;
}
