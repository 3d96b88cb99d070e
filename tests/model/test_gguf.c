/* test_gguf.c - files that are damaged, foreign or cut off get a sentence
 *
 * A small model's file is cut at every byte of its head, and every byte of the
 * head takes other values: the reader either refuses the file in words, or what
 * it gives lies in the file. Then the test sets impossible values, one field
 * after the other.
 */
#include "model/arch.h"
#include "model/tokenizer.h"
#include "scratch.h"
#include "tiny.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned passed, failed;

static void report(bool good, const char *what, const char *got)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s: %s\n", what, got);
}

/* A copy that ends against unreadable memory. */
struct guarded {
    uint8_t *map, *at;
    size_t nbytes;
};

static struct guarded guard(const uint8_t *bytes, size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (n + page - 1) / page * page;
    struct guarded g = {.nbytes = room + page};

    g.map = mmap(NULL, g.nbytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + room, page, PROT_NONE) != 0) {
        perror("test_gguf");
        exit(1);
    }
    g.at = g.map + room - n;
    if (n)
        memcpy(g.at, bytes, n);
    return g;
}

/* Reads all that a program reads before it copies weights; how it went. */
static bool read_all(const uint8_t *bytes, size_t n, struct fault *fault)
{
    struct gguf gguf;
    struct sizes sizes;
    struct tokenizer *tokenizer = NULL;
    struct tokens tokens = {0};
    char piece[64];
    bool good;

    fault->text[0] = 0;
    if (!gguf_parse("tiny.gguf", bytes, n, &gguf, fault))
        return false;
    for (uint64_t i = 0; i < gguf.ntensors; i++)
        if (gguf.tensors[i].data < bytes || gguf.tensors[i].nbytes > n ||
            gguf.tensors[i].data + gguf.tensors[i].nbytes > bytes + n)
            report(false, "a tensor", "lies outside of the file");
    good = sizes_read(&gguf, &sizes, fault) &&
           tokenizer_open(&gguf, &tokenizer, fault) &&
           tokenizer_encode(tokenizer, "hello, <|go|> world\xff", 20, true,
                            &tokens, fault);
    for (size_t i = 0; i < tokens.n; i++)
        (void)tokenizer_piece(tokenizer, tokens.id[i], piece, sizeof(piece));
    free(tokens.id);
    tokenizer_close(tokenizer);
    gguf_close(&gguf);
    return good;
}

/* The head ends where the first tensor's bytes begin. */
static size_t head_of(const uint8_t *bytes, size_t n)
{
    struct fault fault = {""};
    struct gguf gguf;
    size_t head = n;

    if (!gguf_parse("tiny.gguf", bytes, n, &gguf, &fault)) {
        report(false, "the whole file", fault.text);
        return 0;
    }
    for (uint64_t i = 0; i < gguf.ntensors; i++)
        if ((size_t)(gguf.tensors[i].data - bytes) < head)
            head = (size_t)(gguf.tensors[i].data - bytes);
    gguf_close(&gguf);
    return head;
}

static void check_cuts(const uint8_t *bytes, size_t n)
{
    const size_t head = head_of(bytes, n);
    unsigned accepted = 0, silent = 0;
    struct fault fault;

    for (size_t cut = 0; cut < n; cut += cut < head ? 1 : 4097) {
        struct guarded g = guard(bytes, cut);

        accepted += read_all(g.at, cut, &fault);
        silent += !fault.text[0];
        munmap(g.map, g.nbytes);
    }
    report(accepted == 0 && silent == 0, "a file that is cut off",
           "was accepted, or refused without a word");
}

static void check_edits(const uint8_t *bytes, size_t n)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x10};
    const size_t head = head_of(bytes, n);
    struct guarded g = guard(bytes, n);
    unsigned silent = 0;
    struct fault fault;

    for (size_t at = 0; at < head; at++)
        for (size_t c = 0; c < sizeof(changes); c++) {
            g.at[at] ^= changes[c];
            silent += !read_all(g.at, n, &fault) && !fault.text[0];
            g.at[at] ^= changes[c];
        }
    report(silent == 0, "an edited file", "was refused without a word");
    munmap(g.map, g.nbytes);
}

/* ---- fields ---- */

/* The offset of a text, searched from byte `from` on. */
static size_t find(const uint8_t *bytes, size_t n, const char *text)
{
    const size_t length = strlen(text);

    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(bytes + i, text, length) == 0)
            return i;
    printf("FAILED: no '%s' in the file\n", text);
    exit(1);
}

/* A field: `skip` bytes behind the end of a text. */
static const struct field {
    const char *behind;
    size_t skip, nbytes;
    uint64_t value;
    const char *says;
} fields[] = {
    {"GGUF", 0, 4, 1, "version 1"},
    {"GGUF", 0, 4, 0x03000000, "big-endian"},
    {"GGUF", 4, 8, UINT64_MAX, "damaged"},
    {"GGUF", 12, 8, 1ULL << 40, "damaged"},
    {"general.architecture", 4, 8, UINT64_MAX, "ends early"},
    {"general.architecture", 12, 5, 0x6162636465, "has architecture 'edcba'"},
    {"general.architecture", 12, 5, 0x4a325b1b0a, "has architecture '??[2J'"},
    {"general.architecture", 0, 4, 77, "type 77"},
    {"general.architecture", 0, 4, 9, "damaged"},
    {"llama.rope.freq_base", 4, 4, 0, "rope.freq_base is 0, a positive"},
    {"llama.block_count", 0, 4, 6, "type f32, an integer is wanted"},
    {"llama.block_count", 4, 4, 0, "1 to 4096"},
    {"llama.block_count", 4, 4, 100000, "1 to 4096"},
    {"llama.attention.head_count", 4, 4, 0, "1 to 4096"},
    {"llama.attention.head_count_kv", 4, 4, 3, "cannot share"},
    {"llama.attention.key_length", 4, 4, 512, "8 to 256"},
    {"llama.attention.key_length", 4, 4, 60, "heads of 60"},
    {"llama.attention.value_length", 4, 4, 32, "only 64"},
    {"epsilon", 4, 4, 0x7fc00000, "not a finite number"},
    {"tokenizer.ggml.model", 12, 4, 0x74726562, "kind 'bert'"},
    {"tokenizer.ggml.pre", 12, 6, 0x616161616161, "rules 'aaaaaa'"},
    {"tokenizer.ggml.tokens", 8, 8, 1ULL << 60, "ends early"},
    {"tokenizer.ggml.bos_token_id", 4, 4, 5000, "5000, and it has 320"},
    {"tokenizer.ggml.eos_token_id", 4, 4, UINT32_MAX, "4294967295, and it"},
    {"tokenizer.ggml.token_type", 16, 4, 7, "token 0 has type 7"},
    {"tokenizer.ggml.merges", 25, 1, 'x', "number 0 of tokenizer.ggml.merges"},
    /* "<s>", as another token is called */
    {"tokenizer.ggml.tokens", 37, 3, 0x656874, "'the', is in tokenizer"},
    {"tokenizer.ggml.add_bos_token", 4, 1, 2, "bool of value 2"},
    {"output_norm.weight", 0, 4, 0, "has 0 dimensions"},
    {"output_norm.weight", 0, 4, 5, "has 5 dimensions"},
    {"output_norm.weight", 4, 8, 0, "impossible dimension"},
    {"output_norm.weight", 4, 8, UINT64_MAX / 2, "goes on beyond"},
    {"output_norm.weight", 12, 4, 4, "does not know"},
    {"output_norm.weight", 12, 4, 99, "does not know"},
    {"output_norm.weight", 16, 8, 1, "no multiple of 32"},
    {"output_norm.weight", 16, 8, 0, "overlap"},
    {"output_norm.weight", 16, 8, 1ULL << 62, "goes on beyond"},
    {"blk.0.attn_q.weight", 4, 8, 33, "has blocks of 32"},
    {"blk.0.attn_q.weight", 20, 4, 20, ""}, /* Q4_0 as IQ4_NL */
    {"blk.0.attn_q.weight", 20, 4, 39, "belong to no tensor"}, /* as MXFP4 */
    {"blk.0.attn_q.weight", 20, 4, 23, "has blocks of 256"},   /* as IQ4_XS */
    {"blk.0.attn_q.weight", 20, 4, 30, "overlap"},             /* as BF16 */
    {"blk.0.attn_q.weigh", 0, 1, 'T', ""},
    {"blk.0.attn_q.weigh", 0, 1, 1, "control characters"},
    {"blk.1.attn_q.weight", (size_t)-15, 1, '0', "is there twice"},
};

/* Fields in a vocabulary of SentencePiece's kind. */
static const struct field spm_fields[] = {
    {"tokenizer.ggml.scores", 16, 4, 0x7fc00000, "score that is no number"},
};

static void check_fields(const uint8_t *bytes, size_t n,
                         const struct field *list, size_t nlist)
{
    for (size_t i = 0; i < nlist; i++) {
        const struct field *f = &list[i];
        struct guarded g = guard(bytes, n);
        const size_t at =
            find(bytes, n, f->behind) + strlen(f->behind) + f->skip;
        struct fault fault;
        char what[96];
        bool good;

        memcpy(g.at + at, &f->value, f->nbytes);
        good = read_all(g.at, n, &fault);
        (void)snprintf(what, sizeof(what), "%s, byte %zu, wants '%s'",
                       f->behind, f->skip, f->says);
        report(good ? !*f->says : *f->says && strstr(fault.text, f->says), what,
               fault.text);
        munmap(g.map, g.nbytes);
    }
}

/* ---- files ---- */

static void check_file(const char *what, const char *path, const char *says)
{
    struct fault fault = {""};
    struct gguf gguf;
    const bool good = gguf_open(path, &gguf, &fault);

    report(!good && strstr(fault.text, says), what, fault.text);
    if (good)
        gguf_close(&gguf);
}

/* Opening a pipe without a writer does not wait. */
static void check_pipe(void)
{
    char folder[SCRATCH_PATH_MAX], path[SCRATCH_PATH_MAX + 8];

    if (!scratch_folder(folder)) {
        report(false, "a pipe", "no folder for it");
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/pipe", folder);
    report(mkfifo(path, 0600) == 0, "a pipe", strerror(errno));
    check_file("a pipe", path, "is not a file");
    (void)unlink(path);
    (void)rmdir(folder);
}

int main(void)
{
    struct tiny other = tiny_llama;
    size_t n;
    uint8_t *bytes = tiny_make(&tiny_llama, &n);
    struct fault fault = {""};

    report(read_all(bytes, n, &fault), "the file itself", fault.text);
    check_fields(bytes, n, fields, sizeof(fields) / sizeof(fields[0]));
    check_cuts(bytes, n);
    check_edits(bytes, n);
    free(bytes);
    other.spm = true;
    bytes = tiny_make(&other, &n);
    report(read_all(bytes, n, &fault), "the file itself", fault.text);
    check_fields(bytes, n, spm_fields,
                 sizeof(spm_fields) / sizeof(spm_fields[0]));
    check_edits(bytes, n);
    free(bytes);
    check_file("no file", "/nonexistent/model.gguf", "cannot open");
    check_file("a folder", "/", "is not a file");
    check_file("an empty file", "/dev/null", "is not a file");
    check_pipe();
    check_file("a program", "/proc/self/exe", "is not a GGUF file");
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
