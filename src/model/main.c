/* main.c - runs a language model: a GGUF file and prompts in, text out
 *
 *     model -m model.gguf -p 'The capital of France is'
 *
 * Exit status: 0, or 1 with a sentence on stderr. Text goes to stdout as it is
 * made; progress and speeds go to stderr.
 */
#include "clock.h"
#include "generate.h"
#include "open.h"
#include "options.h"
#include "pretoken.h"
#include "tokenizer.h"

#include <kpack.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program's open files and buffers. */
struct session {
    struct options options;
    struct gguf gguf;
    struct tokenizer *tokenizer;
    struct model *model;
    char **prompts;
    struct answer *answers;
    size_t n;
    char *piece;    /* room for a token's bytes */
    size_t longest; /* the longest token's bytes */
    double load_s;
    struct speeds speeds;
};

/* ---- prompts ---- */

static bool add_prompt(struct session *s, const char *text, size_t nbytes,
                       struct fault *fault)
{
    char **bigger = realloc(s->prompts, (s->n + 1) * sizeof(*bigger));

    if (bigger) {
        s->prompts = bigger;
        bigger[s->n] = malloc(nbytes + 1);
    }
    if (!bigger || !bigger[s->n])
        return fail(fault, "no memory for %zu prompts", s->n + 1);
    memcpy(bigger[s->n], text, nbytes);
    bigger[s->n++][nbytes] = 0;
    return true;
}

/* Replaces \n, \t and \\ in a line, in place; returns its new length. */
static size_t unescape(char *line, size_t n)
{
    size_t to = 0;

    for (size_t i = 0; i < n; i++) {
        if (line[i] == '\\' && i + 1 < n && strchr("nt\\", line[i + 1])) {
            i++;
            line[to++] = (char)(line[i] == 'n'   ? '\n'
                                : line[i] == 't' ? '\t'
                                                 : '\\');
        } else {
            line[to++] = line[i];
        }
    }
    return to;
}

/* The whole of a file, or of standard input, is one prompt. */
static bool read_text(struct session *s, const char *path, struct fault *fault)
{
    const bool named = path && strcmp(path, "-") != 0;
    FILE *file = named ? fopen(path, "rb") : stdin;
    char *text = NULL, *bigger;
    size_t n = 0, room = 0, got = 1;
    bool good = true;

    if (!file)
        return fail(fault, "cannot open %s: %s", path, strerror(errno));
    if (!named && isatty(STDIN_FILENO))
        (void)fputs("type the prompt; Ctrl-D ends it\n", stderr);
    path = named ? path : "standard input";
    while (good && got > 0) {
        room = 2 * room + 4096;
        bigger = realloc(text, room);
        good = bigger || fail(fault, "no memory for the text of %s", path);
        text = bigger ? bigger : text;
        got = good ? fread(text + n, 1, room - n, file) : 0;
        n += got;
    }
    if (good && ferror(file))
        good = fail(fault, "cannot read %s: %s", path, strerror(errno));
    if (good && n == 0)
        good = fail(fault, "no prompt: %s is empty; give -p TEXT", path);
    if (good && memchr(text, 0, n))
        good = fail(fault, "%s has a byte of value 0", path);
    /* The line end of `echo` and of editors is no part of the prompt. */
    n -= good && n > 1 && text[n - 1] == '\n';
    n -= good && n > 1 && text[n - 1] == '\r';
    good = good && add_prompt(s, text, n, fault);
    free(text);
    if (named)
        (void)fclose(file);
    return good;
}

static bool read_prompts(struct session *s, struct fault *fault)
{
    const char *path = s->options.prompts;
    FILE *file = path ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t n;
    bool good = true;

    if (s->options.prompt)
        return add_prompt(s, s->options.prompt, strlen(s->options.prompt),
                          fault);
    if (!path)
        return read_text(s, s->options.text, fault);
    if (!file)
        return fail(fault, "cannot open %s: %s", path, strerror(errno));
    while (good && (n = getline(&line, &room, file)) > 0) {
        number++;
        if (line[n - 1] == '\n')
            n--;
        if (n > 0 && line[n - 1] == '\r') /* a line end from Windows */
            n--;
        if (memchr(line, 0, (size_t)n))
            good =
                fail(fault, "%s: line %zu has a byte of value 0", path, number);
        else if (n > 0)
            good = add_prompt(s, line, unescape(line, (size_t)n), fault);
    }
    if (good && !feof(file))
        good = fail(fault, "cannot read %s: %s", path, strerror(errno));
    free(line);
    (void)fclose(file);
    return good && (s->n > 0 || fail(fault, "%s has no prompts", path));
}

/* ---- output ---- */

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    static const char bar[] = "########################################";
    const int width = (int)sizeof(bar) - 1;
    const int part = total ? (int)(done * (uint64_t)width / total) : width;

    (void)context;
    (void)fprintf(stderr, "\rloading [%-*.*s] %3d %%", width, part, bar,
                  total ? (int)(done * 100 / total) : 100);
    if (done >= total)
        (void)fputs("\r\033[K", stderr);
}

/* A sign of life before the first weights: drivers take seconds to start, and
 * what is no terminal shows no progress. */
static void show_start(struct session *s)
{
    struct model_options *o = &s->options.model;

    if (s->options.quiet)
        return;
    if (isatty(STDERR_FILENO)) {
        o->progress = show_progress;
        show_progress(NULL, 0, 1);
    } else {
        (void)fprintf(stderr, "loading %s, %.1f MB\n", s->options.file,
                      (double)s->gguf.nbytes / 1e6);
    }
}

static void print_piece(const struct session *s, uint32_t id)
{
    if (s->options.ids)
        printf("%" PRIu32 " ", id);
    else
        (void)fwrite(s->piece, 1,
                     tokenizer_piece(s->tokenizer, id, s->piece, s->longest),
                     stdout);
}

/* Prints a token at once, for prompts that run one at a time. */
static void show_token(void *context, size_t answer, uint32_t id)
{
    (void)answer;
    print_piece(context, id);
    (void)fflush(stdout);
}

static void print_ids(const struct tokens *list)
{
    putchar('[');
    for (size_t i = 0; i < list->n; i++)
        printf("%s%" PRIu32, i ? ", " : "", list->id[i]);
    putchar(']');
}

static void print_json_text(const char *text, size_t n)
{
    putchar('"');
    for (size_t i = 0, used; i < n; i += used) {
        if (pretoken_read(text + i, n - i, &used) == NO_CHARACTER)
            printf("\\ufffd");
        else if (text[i] == '"' || text[i] == '\\')
            printf("\\%c", text[i]);
        else if (used == 1 && (unsigned char)text[i] < ' ')
            printf("\\u%04x", (unsigned)text[i]);
        else
            (void)fwrite(text + i, 1, used, stdout);
    }
    putchar('"');
}

static bool print_json_answer(const struct session *s, size_t number,
                              struct fault *fault)
{
    static const char *const stops[] = {[STOP_END] = "end",
                                        [STOP_TOKENS] = "tokens",
                                        [STOP_CONTEXT] = "context"};
    const struct answer *answer = &s->answers[number];
    size_t room = 0, n = 0;
    char *text;

    for (size_t i = 0; i < answer->made.n; i++)
        room += tokenizer_piece(s->tokenizer, answer->made.id[i], NULL, 0);
    text = malloc(room + 1);
    if (!text)
        return fail(fault, "no memory for an answer of %zu bytes", room);
    for (size_t i = 0; i < answer->made.n; i++)
        n += tokenizer_piece(s->tokenizer, answer->made.id[i], text + n,
                             room - n);
    printf("%s\n    {\"prompt\": ", number ? "," : "");
    print_json_text(s->prompts[number], strlen(s->prompts[number]));
    printf(", \"prompt_ids\": ");
    print_ids(&answer->prompt);
    printf(", \"ids\": ");
    print_ids(&answer->made);
    printf(", \"text\": ");
    print_json_text(text, n);
    printf(", \"stop\": \"%s\"}", stops[answer->stop]);
    free(text);
    return true;
}

static double rate(uint64_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds : 0;
}

static bool print_json(const struct session *s, struct fault *fault)
{
    const struct speeds *v = &s->speeds;
    kpk_device device;

    if (kpk_device_get(s->options.model.devices[0], &device) != KPK_OK)
        return fail(fault, "%s", kpk_error_message());
    printf("{\n  \"file\": ");
    print_json_text(s->options.file, strlen(s->options.file));
    printf(",\n  \"device\": ");
    print_json_text(device.name, strlen(device.name));
    printf(",\n  \"target\": ");
    print_json_text(device.target, strlen(device.target));
    printf(",\n  \"answers\": [");
    for (size_t i = 0; i < s->n; i++)
        if (!print_json_answer(s, i, fault))
            return false;
    printf("\n  ],\n  \"device_nbytes\": %" PRIu64 ", \"load_s\": %.3f, "
           "\"first_token_s\": %.3f,\n  \"read_tokens\": %" PRIu64
           ", \"read_per_s\": %.2f, \"made_tokens\": %" PRIu64
           ", \"made_per_s\": %.2f\n}\n",
           model_allocated(s->model), s->load_s, v->first_s, v->read,
           rate(v->read, v->read_s), v->made, rate(v->made, v->made_s));
    return true;
}

static void print_speeds(const struct session *s)
{
    const struct speeds *v = &s->speeds;

    (void)fprintf(stderr,
                  "loaded in %.2f s; read %" PRIu64
                  " tokens, %.1f a second; made %" PRIu64
                  ", %.1f a second; first token after %.2f s\n",
                  s->load_s, v->read, rate(v->read, v->read_s), v->made,
                  rate(v->made, v->made_s), v->first_s);
}

/* ---- a file that goes away ---- */

static const struct gguf *watched; /* for the handler */

static void say(const char *text)
{
    const size_t n = strlen(text);

    if (write(STDERR_FILENO, text, n) != (ssize_t)n)
        _exit(1);
}

/* A page of the file that can no longer be read: it became shorter, or its disk
 * fails. */
static void lose_file(int number, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;

    (void)context;
    if (at < watched->map || at >= watched->map + watched->nbytes) {
        (void)signal(number, SIG_DFL); /* another fault: let it happen again */
        return;
    }
    say("model: ");
    say(watched->path);
    say(" became shorter while it was read, or its disk fails. Fetch it again, "
        "and do not write to it while the program runs\n");
    _exit(1);
}

static void watch_file(const struct gguf *gguf)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};

    watched = gguf;
    action.sa_sigaction = lose_file;
    (void)sigaction(SIGBUS, &action, NULL);
}

/* ---- processes that share a model ---- */

/* FNV-1a */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Differs where processes would launch or choose differently: by their options,
 * by their prompts, or by either end of the file. */
static uint64_t number_of(const struct session *s)
{
    enum { END_NBYTES = 1 << 20 };
    const struct options *o = &s->options;
    const struct model_options *m = &o->model;
    const struct sampler *draws = &o->sampler;
    const size_t all = s->gguf.nbytes;
    const size_t end = all < END_NBYTES ? all : END_NBYTES;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "%" PRIu32 " %" PRIu32 " %" PRIu32 " %d %d %d %" PRIu32
                   " %.9g %" PRIu32 " %.9g %" PRIu64 " %zu",
                   m->context, m->batch, m->sequences, (int)m->cache,
                   m->unrecorded, o->plain, o->tokens,
                   (double)draws->temperature, draws->top_k,
                   (double)draws->top_p, draws->seed, all);
    hash = add_bytes(hash, text, strlen(text));
    hash = add_bytes(hash, s->gguf.map, end);
    hash = add_bytes(hash, s->gguf.map + all - end, end);
    for (size_t i = 0; i < s->n; i++)
        hash = add_bytes(hash, s->prompts[i], strlen(s->prompts[i]) + 1);
    return hash;
}

/* ---- the whole ---- */

static bool open_all(struct session *s, struct fault *fault)
{
    struct options *o = &s->options;
    const double start = seconds_now();
    struct sizes sizes;

    watch_file(&s->gguf);
    if (!read_prompts(s, fault) || !gguf_open(o->file, &s->gguf, fault) ||
        !sizes_read(&s->gguf, &sizes, fault) ||
        !tokenizer_open(&s->gguf, &s->tokenizer, fault))
        return false;
    s->longest = tokenizer_longest(s->tokenizer);
    s->piece = malloc(s->longest + 1);
    if (!s->piece)
        return fail(fault, "no memory for a token of %zu bytes", s->longest);
    if (tokenizer_count(s->tokenizer) > sizes.vocabulary)
        return fail(fault,
                    "%s is damaged: it has %" PRIu32 " tokens and embeddings "
                    "of %" PRIu32,
                    o->file, tokenizer_count(s->tokenizer), sizes.vocabulary);
    if (o->model.context == 0)
        o->model.context = sizes.context < 2048 ? sizes.context : 2048;
    if (o->model.batch < o->model.sequences)
        o->model.batch = o->model.sequences;
    if (o->model.ranks)
        o->model.alike = number_of(s);
    show_start(s);
    if (!model_open(&s->gguf, &o->model, &s->model, fault))
        return false;
    s->load_s = seconds_now() - start;
    return true;
}

static bool answer_all(struct session *s, struct fault *fault)
{
    const struct options *o = &s->options;
    const bool silent = o->model.rank > 0;
    const bool stream =
        !silent && !o->json && o->model.sequences == 1 && s->n == 1;
    struct generator g = {
        .model = s->model,
        .tokenizer = s->tokenizer,
        .sampler = o->sampler,
        .tokens = o->tokens,
        .context = o->model.context,
        .batch = o->model.batch,
        .sequences = o->model.sequences,
        .made = stream ? show_token : NULL,
        .made_context = s,
    };

    s->answers = calloc(s->n, sizeof(*s->answers));
    if (!s->answers)
        return fail(fault, "no memory for %zu answers", s->n);
    for (size_t i = 0; i < s->n; i++)
        if (!tokenizer_encode(s->tokenizer, s->prompts[i],
                              strlen(s->prompts[i]), !o->plain,
                              &s->answers[i].prompt, fault))
            return false;
    if (!generate(&g, s->answers, s->n, &s->speeds, fault))
        return false;
    if (silent)
        return true;
    if (o->json)
        return print_json(s, fault);
    for (size_t i = 0; !stream && i < s->n; i++) {
        for (size_t t = 0; t < s->answers[i].made.n; t++)
            print_piece(s, s->answers[i].made.id[t]);
        putchar('\n');
    }
    if (stream)
        putchar('\n');
    return true;
}

static void close_all(struct session *s)
{
    model_close(s->model);
    tokenizer_close(s->tokenizer);
    gguf_close(&s->gguf);
    for (size_t i = 0; i < s->n; i++) {
        if (s->answers) {
            free(s->answers[i].prompt.id);
            free(s->answers[i].made.id);
        }
        free(s->prompts[i]);
    }
    free(s->answers);
    free(s->prompts);
    free(s->piece);
}

int main(int argc, char **argv)
{
    struct session s = {0};
    struct fault fault = {""};
    /* else a file that is opened next would take the answer */
    bool good = fcntl(STDOUT_FILENO, F_GETFD) >= 0 ||
                fail(&fault, "the standard output is closed");

    good = good && options_read(argc, argv, &s.options, &fault);
    if (good && s.options.help)
        options_help();
    else
        good = good && open_all(&s, &fault) && answer_all(&s, &fault);
    if (good && !s.options.quiet && !s.options.json && !s.options.help)
        print_speeds(&s);
    close_all(&s);
    /* An earlier write of a token may have failed; its errno is lost. */
    if (good && ferror(stdout))
        good = fail(&fault, "cannot write the answer");
    if (good && fflush(stdout) != 0)
        good = fail(&fault, "cannot write the answer: %s", strerror(errno));
    if (!good)
        (void)fprintf(stderr, "model: %s\n", fault.text);
    return good ? 0 : 1;
}
