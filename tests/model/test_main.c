/* test_main.c - the program: prompts that it refuses, outputs that fail
 *
 * Runs the program that lies two folders above this one, with a small model.
 */
#include "scratch.h"
#include "tiny.h"

#include <kpack.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned passed, failed;
static char folder[SCRATCH_PATH_MAX];

static void write_file(const char *name, const void *bytes, size_t n)
{
    char path[SCRATCH_PATH_MAX + 16];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* Makes a socket that listens until it is closed. */
static int make_socket(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", folder, name) >=
            (int)sizeof(at.sun_path) ||
        made < 0 || bind(made, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(made, 1) != 0) {
        perror(name);
        exit(1);
    }
    return made;
}

/* Reads the beginning of a file of the folder. */
static const char *read_file(const char *name, char *text, size_t room)
{
    char path[SCRATCH_PATH_MAX + 16];
    FILE *file;
    size_t n = 0;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file) {
        n = fread(text, 1, room - 1, file);
        (void)fclose(file);
    }
    text[n] = 0;
    return text;
}

#define TEAM "-p a -n 6 --ids --quiet --split tensor "
#define RANK(r) "--rank " r "/2 --meet $D/meet $D/m.gguf "
#define LOST "-p a -n 200 --split tensor --limit-ms 2000 "
#define MEET(path) TEAM "--rank 0/2 --meet " path " $D/m.gguf"

/* A command line, the redirection of its output with commands to run after it,
 * the status, and a text that is printed. $D is the folder, $M the program. */
static const struct {
    const char *options, *out;
    int status;
    const char *says;
} runs[] = {
    {"--prompts $D/lines --tokens 1 --json $D/m.gguf", ">$D/out", 0,
     "\"prompt\": \"b\""},
    {"--prompts $D/lines --tokens 1 --json $D/m.gguf", ">$D/out", 0,
     "\"prompt\": \"a\""},
    /* short options; a text of several lines, less its last line end */
    {"-m $D/m.gguf -p a -n 1 -c 64 --json", ">$D/out", 0, "\"prompt\": \"a\""},
    {"-m $D/m.gguf -n 1 -c 1 -p a --json", ">$D/out", 1, "and the context 1"},
    {"-m $D/m.gguf -n 1 --json", ">$D/out <$D/text", 0,
     "\"prompt\": \"a\\u000a\\u000ab\""},
    {"-f - -n 1 --json $D/m.gguf", ">$D/out <$D/text", 0,
     "\"prompt\": \"a\\u000a\\u000ab\""},
    {"-f $D/text -n 1 --json $D/m.gguf", ">$D/out", 0,
     "\"prompt\": \"a\\u000a\\u000ab\""},
    {"-n 1 $D/m.gguf", ">$D/out </dev/null", 1, "standard input is empty"},
    {"-f $D/none -n 1 $D/m.gguf", ">$D/out", 1, "/none: No such"},
    {"-f $D -n 1 $D/m.gguf", ">$D/out", 1, "cannot read "},
    {"-f $D/zero -n 1 $D/m.gguf", ">$D/out", 1, "has a byte of value 0"},
    {"-p a -f $D/text $D/m.gguf", ">$D/out", 1, "two kinds of prompts"},
    {"-p a --prompts $D/lines $D/m.gguf", ">$D/out", 1, "two kinds of prompts"},
    {"-m $D/m.gguf $D/m.gguf -p a", ">$D/out", 1, "one model is wanted"},
    {"$D/m.gguf -m $D/m.gguf -p a", ">$D/out", 1, "one model is wanted"},
    {"-p a", ">$D/out", 1, "no model: give a GGUF file"},
    {"-m $D/m.gguf -n", ">$D/out", 1, "-n wants a value"},
    {"-h", ">$D/out", 0, "-m, --model"},
    /* a sign of life where there is no terminal */
    {"-p a -n 1 $D/m.gguf", ">$D/out", 0, "m.gguf, 0."},
    /* bytes that are not UTF-8's: overlong, surrogates, above U+10FFFF */
    {"--prompts $D/bytes --tokens 1 --json $D/m.gguf", ">$D/out", 0,
     "\"prompt\": \"\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|"
     "\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|"
     "\xed\x9f\xbf\xf4\x8f\xbf\xbf\""},
    /* tokens of 1500 bytes to their ends */
    {"--prompt a --tokens 9 --json $D/long.gguf", ">$D/out", 0, ".>"},
    {"--prompt a --tokens 9 $D/long.gguf", ">$D/out", 0, ".>"},
    {"--prompts $D/lines --tokens 9 $D/long.gguf", ">$D/out", 0, ".>"},
    {"--prompts $D/zero --tokens 1 $D/m.gguf", ">$D/out", 1,
     "line 2 has a byte of"},
    {"--prompts $D --tokens 1 $D/m.gguf", ">$D/out", 1, "cannot read "},
    {"--prompts $D/none --tokens 1 $D/m.gguf", ">$D/out", 1, "/none: No such"},
    {"--prompts $D/blank --tokens 1 $D/m.gguf", ">$D/out", 1,
     "blank has no prompts"},
    {"--prompt a --devices 0,0,0 $D/m.gguf", ">$D/out", 1,
     "2 layers cannot be"},
    /* devices that split the tensors, in one process or two, print the same as
     * one device */
    {"-p a -n 6 --ids --quiet $D/m.gguf",
     ">$D/one && $M " TEAM "--devices 0,0 $D/m.gguf >$D/two && "
     "cmp $D/one $D/two && echo same >$D/out",
     0, "same"},
    {TEAM RANK("1"),
     ">$D/none & $M " TEAM RANK(
         "0") ">$D/two && wait $! && "
              "cmp $D/one $D/two && ! test -s $D/none && echo same >$D/out",
     0, "same"},
    /* a process that is killed; the status is cat's */
    {LOST RANK("1"),
     ">$D/none 2>&1 & $M " LOST RANK(
         "0") "2>$D/said | { head -c 1 >$D/out; "
              "kill -9 $!; cat >>$D/out; cat $D/said >>$D/out; }",
     0, "rank 0 waited for rank 1 for 2000 ms in vain"},
    /* files and live sockets at the path stay */
    {MEET("$D/text"), "2>$D/out || cmp $D/text $D/copy", 0, "already in use"},
    {MEET("$D/busy"), ">$D/out", 1, "other processes meet there"},
    {MEET("$D/absent/meet"), ">$D/out", 1, "No such file or directory"},
    {MEET("$D/0123456789012345678901234567890123456789012345678901234567890123"
          "4567890123456789012345678901234567890123456789"),
     ">$D/out", 1, "less than 108 bytes"},
    {TEAM "--rank 1/2 --meet $D/text/meet $D/m.gguf", ">$D/out", 1,
     "Not a directory"},
    /* an earlier run's socket is replaced; a process that is no other rank */
    {TEAM "--rank 1/3 --meet $D/stale $D/many.gguf",
     "2>$D/said & $M " TEAM "--rank 0/2 --meet $D/stale $D/many.gguf "
     ">$D/out 2>&1; s=$?; wait $!; cat $D/said >>$D/out; test $s = 1 && ! test "
     "-e $D/stale",
     0, "is no other rank of 2"},
    /* a process that ends before it has a model */
    {TEAM "--devices 999 " RANK("1"),
     "2>$D/said & $M " TEAM RANK("0") ">$D/out", 1,
     "another process has ended"},
    /* processes that would choose other tokens: by prompt, option and file */
    {TEAM RANK("1"), "2>$D/said & $M " TEAM "-p b " RANK("0") ">$D/out", 1,
     "ranks 0 and 1 have different"},
    {TEAM RANK("1"), "2>$D/said & $M " TEAM "--seed 2 " RANK("0") ">$D/out", 1,
     "ranks 0 and 1 have different"},
    {TEAM "--rank 1/2 --meet $D/meet $D/other.gguf",
     "2>$D/said & $M " TEAM RANK("0") ">$D/out", 1,
     "ranks 0 and 1 have different"},
    {"-p a --split tensor --devices 0,0,0 $D/m.gguf", ">$D/out", 1,
     "are not cut. Give 2 devices, or --split layer"},
    {"-p a --split tensor --devices 0,0,0,0,0,0,0,0,0 $D/many.gguf", ">$D/out",
     1, "Give 2, 3, 4, 5, 6, 7, 8 devices, or"},
    {"-p a --split tensor --devices 0,0 $D/odd.gguf", ">$D/out", 1,
     "Use --split layer"},
    {"-p a --split tensor --meet $D/meet $D/m.gguf", ">$D/out", 1,
     "it wants --rank"},
    {"-p a --split tensor --devices 0,999 $D/m.gguf", ">$D/out", 1,
     "cannot use device 999"},
    {"-p a --split rows $D/m.gguf", ">$D/out", 1, "layer or tensor is wanted"},
    {"-p a --split tensor --rank 2/2 $D/m.gguf", ">$D/out", 1, "R/N is wanted"},
    {"-p a --split tensor --rank 0/2 $D/m.gguf", ">$D/out", 1, "wants --meet"},
    {"-p a --rank 0/2 --meet $D/meet $D/m.gguf", ">$D/out", 1,
     "is for --split tensor"},
    {"-p a --split tensor --devices 0,0 " RANK("0"), ">$D/out", 1,
     "have a device each"},
    {"--prompt a --tokens 2 $D/m.gguf", ">&-", 1, "standard output is closed"},
    {"--prompt a --tokens 2 $D/m.gguf", ">/dev/full", 1, "cannot write"},
    {"--prompt a --tokens 2 --json $D/m.gguf", ">/dev/full", 1, "cannot write"},
    {"--help", ">/dev/full", 1, "cannot write"},
    /* the status is the pipe's */
    {"--prompt a --tokens 200 $D/shrinks.gguf",
     "2>$D/said | { head -c 1 >$D/out; : >$D/shrinks.gguf; cat >>$D/out; "
     "cat $D/said >>$D/out; }",
     0, "shrinks.gguf became shorter"},
};

/* A command's exit status. */
static int shell(const char *command)
{
    /* a shell redirects such outputs; the test writes the whole command */
    const int status = system(command); // NOLINT(cert-env33-c)

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_runs(const char *program)
{
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        char command[4096], text[4096], said[4096];
        int status;
        bool good;

        write_file("out", "", 0);
        (void)snprintf(command, sizeof(command), "IFS=; '%s' %s %s 2>$D/err",
                       program, runs[i].options, runs[i].out);
        status = shell(command);
        read_file("out", text, sizeof(text));
        read_file("err", said, sizeof(said));
        good = status == runs[i].status &&
               (strstr(text, runs[i].says) || strstr(said, runs[i].says));
        passed += good;
        failed += !good;
        if (!good)
            printf("FAILED: model %s %s: want %d and '%s', got %d, %s%s\n",
                   runs[i].options, runs[i].out, runs[i].status, runs[i].says,
                   status, text, said);
    }
}

int main(int argc, char **argv)
{
    static const char lines[] = "a\r\n\r\nb\r\n", zero[] = "a\nb\0c\n",
                      odd[] = "\xc0\xaf|\xe0\x9f\xbf|\xed\xa0\x80|"
                              "\xf4\x90\x80\x80|\xed\x9f\xbf"
                              "\xf4\x8f\xbf\xbf\n";
    struct tiny tiny = tiny_llama;
    char path[2048];
    char *program, *end = argc > 0 ? strrchr(argv[0], '/') : NULL;
    uint8_t *bytes;
    size_t n;
    int ndevices;

    if (kpk_device_count(&ndevices) != KPK_OK || ndevices == 0) {
        puts("0 passed, 0 failed, 1 skipped");
        return 0;
    }
    (void)snprintf(path, sizeof(path), "%.*s/../../model",
                   end ? (int)(end - argv[0]) : 1, end ? argv[0] : ".");
    program = realpath(path, NULL);
    if (!program || !scratch_folder(folder) || setenv("D", folder, 1) != 0 ||
        setenv("M", program, 1) != 0) {
        perror(path);
        return 1;
    }
    bytes = tiny_make(&tiny_llama, &n);
    write_file("m.gguf", bytes, n);
    write_file("shrinks.gguf", bytes, n);
    bytes[n - 1] ^= 1; /* of a weight */
    write_file("other.gguf", bytes, n);
    write_file("lines", lines, sizeof(lines) - 1);
    write_file("bytes", odd, sizeof(odd) - 1);
    write_file("zero", zero, sizeof(zero) - 1);
    write_file("text", "a\n\nb\r\n", 6);
    write_file("copy", "a\n\nb\r\n", 6);
    (void)make_socket("busy");
    (void)close(make_socket("stale"));
    write_file("blank", "\r\n\n", 3);
    free(bytes);
    tiny.vocabulary = 2048; /* mostly fillers */
    tiny.filler = 1500;
    bytes = tiny_make(&tiny, &n);
    write_file("long.gguf", bytes, n);
    free(bytes);
    /* heads for more devices than a team may have; a width that no sum takes */
    tiny = tiny_llama;
    tiny.heads = tiny.kv_heads = 16;
    tiny.head = 8;
    tiny.width = 128;
    tiny.inner = 512;
    tiny.format = 0;
    bytes = tiny_make(&tiny, &n);
    write_file("many.gguf", bytes, n);
    free(bytes);
    tiny.width = 90;
    bytes = tiny_make(&tiny, &n);
    write_file("odd.gguf", bytes, n);
    free(bytes);
    check_runs(program);
    free(program);
    if (shell("rm -r \"$D\"") != 0)
        puts("test_main: cannot remove its folder");
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
