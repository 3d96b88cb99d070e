/* tokenizer.c - text to a model's tokens and back, by the model's vocabulary
 *
 * Two kinds of vocabulary, both merged by one engine: pieces of a text begin as
 * characters, and of all neighbours that form a token those with the highest
 * priority become one, the leftmost first, until none are left.
 *
 *   BPE  (tokenizer.ggml.model "gpt2") words of the text (pretoken.h), bytes
 *        written as printable characters; priority by the list of merges
 *   SPM  ("llama", SentencePiece) the whole text, blanks written as U+2581;
 *        priority by the tokens' scores; what is no token becomes byte tokens
 */
#include "tokenizer.h"
#include "heap.h"
#include "vocabulary.h"

#include <stdlib.h>
#include <string.h>

/* ---- merging ---- */

/* A piece of the text; n is 0 after merging into the previous piece. */
struct piece {
    size_t at, n;
    size_t prev, next; /* pieces; NONE */
};

#define NONE SIZE_MAX

struct merger {
    const struct tokenizer *t;
    const char *text;
    struct piece *pieces; /* a character each at first */
    size_t n;
    struct heap heap; /* mergeable pairs: left piece, bytes of both */
};

/* Pieces left and its next, if they may become one. */
static void offer(struct merger *m, size_t left)
{
    const struct tokenizer *t = m->t;
    size_t right;
    struct text a, b;
    uint32_t found;

    if (left == NONE || m->pieces[left].next == NONE)
        return;
    right = m->pieces[left].next;
    a = (struct text){m->text + m->pieces[left].at, m->pieces[left].n};
    b = (struct text){m->text + m->pieces[right].at, m->pieces[right].n};
    found = t->kind == BPE ? map_find(&t->by_merge, a, " ", b)
                           : map_find(&t->by_text, a, "", b);
    if (found == NO_TOKEN)
        return;
    heap_push(&m->heap,
              (struct choice){t->kind == BPE ? -(double)found
                                             : gguf_number(t->scores, found),
                              left, a.n + b.n});
}

static size_t character_length(const char *text, size_t left)
{
    const unsigned char lead = (unsigned char)*text;
    const size_t n = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

    return n < left ? n : left;
}

static bool merger_open(struct merger *m, const struct tokenizer *t,
                        const char *text, size_t nbytes, struct fault *fault)
{
    m->t = t;
    m->text = text;
    m->n = 0;
    m->pieces = calloc(nbytes + 1, sizeof(*m->pieces));
    /* each merge takes a pair away and offers two at most */
    if (!heap_open(&m->heap, 3 * nbytes) || !m->pieces)
        return fail(fault, "no memory for a text of %zu bytes", nbytes);
    for (size_t at = 0; at < nbytes; m->n++) {
        struct piece *p = &m->pieces[m->n];

        p->at = at;
        p->n = character_length(text + at, nbytes - at);
        p->prev = m->n ? m->n - 1 : NONE;
        at += p->n;
        p->next = at < nbytes ? m->n + 1 : NONE;
    }
    return true;
}

static void merger_close(struct merger *m)
{
    free(m->pieces);
    heap_close(&m->heap);
}

static void merge(struct merger *m)
{
    for (size_t i = 0; i < m->n; i++)
        offer(m, i);
    while (m->heap.n > 0) {
        const struct choice pair = heap_pop(&m->heap);
        struct piece *left = &m->pieces[pair.left], *right;

        /* one of the two pieces was merged into another one meanwhile */
        if (left->n == 0 || left->next == NONE)
            continue;
        right = &m->pieces[left->next];
        if (left->n + right->n != pair.what)
            continue;
        left->n += right->n;
        right->n = 0;
        left->next = right->next;
        if (left->next != NONE)
            m->pieces[left->next].prev = pair.left;
        offer(m, left->prev);
        offer(m, pair.left);
    }
}

/* ---- encoding ---- */

bool tokens_add(struct tokens *list, uint32_t id, struct fault *fault)
{
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        uint32_t *bigger = realloc(list->id, room * sizeof(*bigger));

        if (!bigger)
            return fail(fault, "no memory for %zu tokens", room);
        list->id = bigger;
        list->room = room;
    }
    list->id[list->n++] = id;
    return true;
}

static bool add_piece(const struct tokenizer *t, const char *text, size_t n,
                      struct tokens *out, struct fault *fault)
{
    const uint32_t id = vocabulary_find(t, text, n);

    if (id != NO_TOKEN)
        return tokens_add(out, id, fault);
    for (size_t i = 0; i < n; i++) {
        const uint32_t byte = t->bytes[(unsigned char)text[i]];

        if (byte != NO_TOKEN ? !tokens_add(out, byte, fault)
            : t->kind == SPM && t->unknown != NO_TOKEN
                ? !tokens_add(out, t->unknown, fault)
                : false)
            return false;
    }
    return true;
}

/* Encodes a text, or a word of it, without special tokens. */
static bool encode_merged(const struct tokenizer *t, const char *text,
                          size_t nbytes, struct tokens *out,
                          struct fault *fault)
{
    struct merger m;
    bool good = merger_open(&m, t, text, nbytes, fault);

    if (good)
        merge(&m);
    for (size_t i = m.n ? 0 : NONE; good && i != NONE; i = m.pieces[i].next)
        good = add_piece(t, text + m.pieces[i].at, m.pieces[i].n, out, fault);
    merger_close(&m);
    return good;
}

/* A word in GPT-2's letters: at most two bytes a byte. */
static size_t spell(const struct letters *letters, const uint32_t *code,
                    size_t n, char *out)
{
    size_t nbytes = 0;

    for (size_t i = 0; i < n; i++) {
        char bytes[4];
        const size_t count = pretoken_encode(code[i], bytes);

        for (size_t b = 0; b < count; b++)
            nbytes += pretoken_encode(letters->of_byte[(unsigned char)bytes[b]],
                                      out + nbytes);
    }
    return nbytes;
}

static bool encode_bpe(const struct tokenizer *t, const char *text,
                       size_t nbytes, struct tokens *out, struct fault *fault)
{
    size_t n, count = 0;
    uint32_t *code = pretoken_decode(text, nbytes, &n);
    char *word = code ? malloc(8 * n + 4) : NULL;
    size_t *ends = word ? pretoken_cut(t->rules, code, n, &count) : NULL;
    bool good =
        ends || fail(fault, "no memory for a text of %zu bytes", nbytes);

    for (size_t i = 0; good && i < count; i++) {
        const size_t at = i ? ends[i - 1] : 0, end = ends[i];
        const size_t length = spell(&t->letters, code + at, end - at, word);
        if (t->rules->whole_words &&
            vocabulary_find(t, word, length) != NO_TOKEN)
            good = add_piece(t, word, length, out, fault);
        else
            good = encode_merged(t, word, length, out, fault);
    }
    free(code);
    free(word);
    free(ends);
    return good;
}

static const char blank[3] = {'\xe2', '\x96', '\x81'}; /* U+2581 */

static bool encode_spm(const struct tokenizer *t, const char *text,
                       size_t nbytes, bool begins, struct tokens *out,
                       struct fault *fault)
{
    char *escaped = malloc(3 * nbytes + 4);
    size_t n = 0;
    bool good;

    if (!escaped)
        return fail(fault, "no memory for a text of %zu bytes", nbytes);
    if (begins && t->add_blank) {
        memcpy(escaped, blank, 3);
        n = 3;
    }
    for (size_t i = 0; i < nbytes; i++) {
        const size_t wide = text[i] == ' ';

        memcpy(escaped + n, wide ? blank : text + i, wide ? 3 : 1);
        n += wide ? 3 : 1;
    }
    good = encode_merged(t, escaped, n, out, fault);
    free(escaped);
    return good;
}

/* A text between special tokens. *begins: the text does, or a special token is
 * before it. */
static bool encode_plain(const struct tokenizer *t, struct text text,
                         bool *begins, struct tokens *out, struct fault *fault)
{
    if (text.n == 0)
        return true;
    if (t->kind == BPE)
        return encode_bpe(t, text.at, text.n, out, fault);
    if (!encode_spm(t, text.at, text.n, *begins, out, fault))
        return false;
    *begins = false;
    return true;
}

static bool encode_named(const struct tokenizer *t, struct text text,
                         bool special, struct tokens *out, struct fault *fault)
{
    uint32_t *found = specials_find(t->specials[special], text);
    struct text plain = {text.at, 0};
    bool begins = true, good = true;

    if (!found)
        return fail(fault, "no memory for a text of %zu bytes", text.n);
    while (good && plain.at + plain.n < text.at + text.n) {
        const uint32_t id = found[plain.at + plain.n - text.at];

        if (id == NO_SPECIAL) {
            plain.n++;
            continue;
        }
        good = encode_plain(t, plain, &begins, out, fault) &&
               tokens_add(out, id, fault);
        begins = true;
        plain.at += plain.n + t->tokens[id].n;
        plain.n = 0;
    }
    free(found);
    return good && encode_plain(t, plain, &begins, out, fault);
}

bool tokenizer_encode(const struct tokenizer *t, const char *text,
                      size_t nbytes, bool special, struct tokens *out,
                      struct fault *fault)
{
    return (!t->add_bos || tokens_add(out, t->bos, fault)) &&
           encode_named(t, (struct text){text, nbytes}, special, out, fault) &&
           (!t->add_eos || tokens_add(out, t->eos, fault));
}

/* ---- decoding ---- */

static size_t put(char byte, char *out, size_t at, size_t room)
{
    if (at < room)
        out[at] = byte;
    return at + 1;
}

static size_t decode_bpe(const struct letters *letters, struct text text,
                         char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0, used; i < text.n; i += used) {
        const uint32_t code = pretoken_read(text.at + i, text.n - i, &used);
        const unsigned byte = letters_byte(letters, code);
        char plain[4];
        const size_t wide = byte < 256 ? 1 : pretoken_encode(code, plain);

        if (byte < 256)
            plain[0] = (char)byte;
        for (size_t b = 0; b < wide; b++)
            n = put(plain[b], out, n, room);
    }
    return n;
}

static size_t decode_spm(struct text text, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        const bool is_blank =
            text.n - i >= 3 && memcmp(text.at + i, blank, 3) == 0;

        char plain = text.at[i];

        if (is_blank)
            plain = ' ';
        n = put(plain, out, n, room);
        i += is_blank ? 2 : 0;
    }
    return n;
}

size_t tokenizer_piece(const struct tokenizer *t, uint32_t id, char *out,
                       size_t room)
{
    struct text text;

    if (id >= t->n)
        return 0;
    text = t->tokens[id];
    switch (t->types[id]) {
    case CONTROL:
    case UNKNOWN:
        return 0;
    case USER_DEFINED:
        for (size_t i = 0; i < text.n && i < room; i++)
            out[i] = text.at[i];
        return text.n;
    case BYTE:
        if (text.n == 6) {
            const char digits[3] = {text.at[3], text.at[4], 0};

            return put((char)strtoul(digits, NULL, 16), out, 0, room);
        }
        return 0;
    default:
        return t->kind == BPE ? decode_bpe(&t->letters, text, out, room)
                              : decode_spm(text, out, room);
    }
}

size_t tokenizer_longest(const struct tokenizer *t)
{
    size_t most = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        const size_t n = tokenizer_piece(t, i, NULL, 0);

        most = n > most ? n : most;
    }
    return most;
}

bool tokenizer_open(const struct gguf *gguf, struct tokenizer **out,
                    struct fault *fault)
{
    return vocabulary_open(gguf, out, fault);
}

void tokenizer_close(struct tokenizer *t)
{
    vocabulary_close(t);
}

uint32_t tokenizer_count(const struct tokenizer *t)
{
    return t->n;
}

bool tokenizer_ends(const struct tokenizer *t, uint32_t id)
{
    return id < t->n && t->ends[id];
}
