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
#define _GNU_SOURCE /* qsort_r */
#include "tokenizer.h"

#include "pretoken.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPT-2's letters for bytes ---- */

/* Printable bytes of Latin-1 stand for themselves, the others for U+0100 and
 * up, in order. */
static bool is_printable(unsigned byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
           byte >= 0xae;
}

/* There are 68 bytes that are not. */
enum { MOVED = 0x100, NMOVED = 68 };

struct letters {
    uint16_t of_byte[256];
    uint8_t moved[NMOVED]; /* the bytes of letters from MOVED on */
};

static void make_letters(struct letters *letters)
{
    unsigned moved = 0;

    for (unsigned b = 0; b < 256; b++) {
        letters->of_byte[b] = (uint16_t)(is_printable(b) ? b : MOVED + moved);
        if (!is_printable(b))
            letters->moved[moved++] = (uint8_t)b;
    }
}

/* 256 if the letter stands for none */
static unsigned byte_of_letter(const struct letters *letters, uint32_t code)
{
    if (code < MOVED)
        return is_printable(code) ? code : 256;
    return code - MOVED < NMOVED ? letters->moved[code - MOVED] : 256;
}

/* ---- the vocabulary ---- */

enum kind { BPE, SPM };

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, BYTE = 6 };

#define NO_TOKEN UINT32_MAX

/* Texts by their bytes: a table with open addressing. */
struct map {
    const struct text *texts;
    uint32_t *slot; /* a text's number + 1; 0: empty */
    size_t mask;
};

struct tokenizer {
    const struct gguf *gguf;
    struct letters letters; /* of BPE */
    enum kind kind;
    const struct pretoken_rules *rules; /* of BPE */
    uint32_t n;
    struct text *tokens;
    struct map by_text;
    const struct gguf_value *scores; /* of SPM */
    uint8_t *types;
    struct text *merges; /* of BPE: "left right" */
    struct map by_merge;
    uint32_t *specials; /* longest first: control, unknown, user-defined */
    size_t nspecials;
    uint8_t *ends; /* per token */
    uint32_t bos, eos, unknown;
    uint32_t bytes[256]; /* the token of a byte; NO_TOKEN */
    bool add_bos, add_eos, add_blank;
};

/* ---- maps ---- */

static uint64_t hash_bytes(uint64_t hash, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)at[i]) * 0x100000001b3;
    return hash;
}

#define HASH_START 0xcbf29ce484222325

static bool begins_with(const char *at, struct text text)
{
    return text.n == 0 || memcmp(at, text.at, text.n) == 0;
}

static bool is_same(struct text a, struct text b)
{
    return a.n == b.n && begins_with(a.at, b);
}

/* The first of equal texts, and none that is empty. *twice, if that is not
 * NULL: one that is there twice; or n. */
static bool map_make(struct map *map, const struct text *texts, uint32_t n,
                     uint32_t *twice, struct fault *fault)
{
    size_t nslots = 16;

    while (nslots < 2 * (size_t)n)
        nslots *= 2;
    map->texts = texts;
    map->mask = nslots - 1;
    map->slot = calloc(nslots, sizeof(*map->slot));
    if (!map->slot)
        return fail(fault, "no memory for a vocabulary of %" PRIu32 " entries",
                    n);
    if (twice)
        *twice = n;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = hash_bytes(HASH_START, texts[i].at, texts[i].n) & map->mask;

        /* many of one text would make long ways of all */
        while (map->slot[at] && !is_same(texts[map->slot[at] - 1], texts[i]))
            at = (at + 1) & map->mask;
        if (texts[i].n == 0)
            continue;
        if (map->slot[at] && twice)
            *twice = i;
        if (!map->slot[at])
            map->slot[at] = i + 1;
    }
    return true;
}

/* The number of the first text that is left, then `between`, then right. */
static uint32_t map_find(const struct map *map, struct text left,
                         const char *between, struct text right)
{
    const size_t gap = strlen(between);
    uint64_t hash = hash_bytes(HASH_START, left.at, left.n);
    uint32_t best = NO_TOKEN;

    hash = hash_bytes(hash, between, gap);
    hash = hash_bytes(hash, right.at, right.n);
    for (size_t at = hash & map->mask; map->slot[at];
         at = (at + 1) & map->mask) {
        const uint32_t i = map->slot[at] - 1;
        const struct text *t = &map->texts[i];

        if (i < best && t->n == left.n + gap + right.n &&
            begins_with(t->at, left) &&
            memcmp(t->at + left.n, between, gap) == 0 &&
            begins_with(t->at + left.n + gap, right))
            best = i;
    }
    return best;
}

static uint32_t find_token(const struct tokenizer *t, const char *at, size_t n)
{
    return map_find(&t->by_text, (struct text){at, n}, "",
                    (struct text){at, 0});
}

/* ---- opening ---- */

static bool read_texts(const struct gguf_value *value, struct text **out,
                       struct fault *fault)
{
    const uint8_t *at = value->data;

    *out = calloc((size_t)value->count + 1, sizeof(**out));
    if (!*out)
        return fail(fault, "no memory for a vocabulary of %" PRIu64 " entries",
                    value->count);
    for (uint64_t i = 0; i < value->count; i++)
        (*out)[i] = gguf_next_text(&at);
    return true;
}

static int longer_first(const void *a, const void *b, void *context)
{
    const struct tokenizer *t = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const size_t m = t->tokens[i].n, n = t->tokens[j].n;

    return m != n ? (m < n) - (m > n) : (i > j) - (i < j);
}

static bool read_types(struct tokenizer *t, struct fault *fault)
{
    const struct gguf_value *types;

    t->types = malloc(t->n);
    t->ends = calloc(t->n, 1);
    t->specials = calloc(t->n, sizeof(*t->specials));
    if (!t->types || !t->ends || !t->specials)
        return fail(fault, "no memory for %" PRIu32 " tokens", t->n);
    if (!gguf_array(t->gguf, "tokenizer.ggml.token_type", GGUF_I32, &types,
                    fault))
        return false;
    if (types && types->count != t->n)
        return fail(fault,
                    "%s is damaged: it has %" PRIu32 " tokens and types of "
                    "%" PRIu64 " (tokenizer.ggml.token_type). Fetch it again",
                    t->gguf->path, t->n, types->count);
    for (uint32_t i = 0; i < t->n; i++) {
        const double type = types ? gguf_number(types, i) : NORMAL;

        if (type < 0 || type > BYTE)
            return fail(fault,
                        "%s is damaged: token %" PRIu32
                        " has type %.0f (tokenizer.ggml.token_type), 0 to %d "
                        "are known. Fetch it again",
                        t->gguf->path, i, type, BYTE);
        t->types[i] = (uint8_t)type;
    }
    return true;
}

static void find_specials(struct tokenizer *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        /* an empty token would be found everywhere */
        if (t->tokens[i].n &&
            (t->types[i] == CONTROL || t->types[i] == UNKNOWN ||
             t->types[i] == USER_DEFINED))
            t->specials[t->nspecials++] = i;
    qsort_r(t->specials, t->nspecials, sizeof(*t->specials), longer_first, t);
}

static bool read_id(struct tokenizer *t, const char *key, uint32_t *out,
                    struct fault *fault)
{
    uint32_t id = 0;

    if (!gguf_find(t->gguf, key))
        return true;
    if (!gguf_u32(t->gguf, key, false, &id, fault))
        return false;
    if (id >= t->n)
        return fail(fault,
                    "%s is damaged: %s is %" PRIu32 ", and it has %" PRIu32
                    " tokens. Fetch it again",
                    t->gguf->path, key, id, t->n);
    *out = id;
    return true;
}

/*
 * What tokens are for, as llama.cpp knows them: by keys, and where a file has
 * no key, by the names that models give them. A token that is found by such a
 * name is a control token, whatever the file calls it: to Gemma's, "</s>" is a
 * word of HTML.
 *
 * The roles of filling in the middle of a text end an answer or do not; their
 * names are tried in order. Some have U+FF5C and U+2581 in them.
 */
static const struct {
    const char *keys[2];
    bool ends;
    const char *names[8];
} roles[] = {
    {{"fim_pre_token_id", "prefix_token_id"},
     false,
     {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>",
      "<\357\275\234fim\342\226\201begin\357\275\234>", "<PRE>",
      "\342\226\201<PRE>", "<|code_prefix|>", "<|prefix|>"}},
    {{"fim_suf_token_id", "suffix_token_id"},
     false,
     {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>",
      "<\357\275\234fim\342\226\201hole\357\275\234>", "<SUF>",
      "\342\226\201<SUF>", "<|code_suffix|>", "<|suffix|>"}},
    {{"fim_mid_token_id", "middle_token_id"},
     false,
     {"<|fim_middle|>", "<fim-middle>", "<fim_middle>",
      "<\357\275\234fim\342\226\201end\357\275\234>", "<MID>",
      "\342\226\201<MID>", "<|code_middle|>", "<|middle|>"}},
    {{"fim_pad_token_id"},
     true,
     {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
    {{"fim_rep_token_id"},
     true,
     {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
    {{"fim_sep_token_id"}, true, {"<|file_sep|>"}},
};

/* These end an answer whatever the keys say. */
static const char *const end_names[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<\357\275\234end\342\226\201of\342\226\201sentence\357\275\234>",
    "[e~[",
};

static uint32_t find_name(const struct tokenizer *t, const char *name)
{
    return find_token(t, name, strlen(name));
}

static bool is_end(const struct tokenizer *t, const char *name)
{
    const uint32_t id = find_name(t, name);

    return id != NO_TOKEN && t->ends[id];
}

static bool read_role(struct tokenizer *t, size_t role, struct fault *fault)
{
    uint32_t id = NO_TOKEN;

    for (size_t k = 0; k < 2 && roles[role].keys[k]; k++) {
        char key[64];

        (void)snprintf(key, sizeof(key), "tokenizer.ggml.%s",
                       roles[role].keys[k]);
        if (!read_id(t, key, &id, fault))
            return false;
    }
    for (size_t i = 0; id == NO_TOKEN && i < 8 && roles[role].names[i]; i++) {
        id = find_name(t, roles[role].names[i]);
        if (id != NO_TOKEN)
            t->types[id] = CONTROL;
    }
    if (id != NO_TOKEN && roles[role].ends)
        t->ends[id] = 1;
    return true;
}

/* A name of an end that is none beside others. */
static void take_back(struct tokenizer *t, const char *name, uint8_t type)
{
    const uint32_t id = find_name(t, name);

    if (id != NO_TOKEN && t->ends[id]) {
        t->ends[id] = 0;
        t->types[id] = type;
    }
}

static bool read_ends(struct tokenizer *t, struct fault *fault)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    /* of the format called harmony, that are always written out */
    static const char *const written[] = {"<|channel|>", "<|message|>",
                                          "<|start|>", "<|constrain|>"};
    bool calls;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        if (!read_role(t, i, fault))
            return false;
    for (size_t i = 0; i < sizeof(end_names) / sizeof(end_names[0]); i++) {
        const uint32_t id = find_name(t, end_names[i]);

        if (id != NO_TOKEN) {
            t->ends[id] = 1;
            t->types[id] = CONTROL;
        }
    }
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        const uint32_t id = find_name(t, written[i]);

        if (id != NO_TOKEN)
            t->types[id] = USER_DEFINED;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        uint32_t id = i == 0 ? t->eos : NO_TOKEN;

        if (!read_id(t, keys[i], &id, fault))
            return false;
        if (id != NO_TOKEN)
            t->ends[id] = 1;
    }
    calls = is_end(t, "<|call|>") || is_end(t, "<|calls|>");
    if (calls && (is_end(t, "<|return|>") || is_end(t, "<|flush|>")))
        take_back(t, "<|end|>", USER_DEFINED);
    if (is_end(t, "<|tool_response>") || is_end(t, "<|plamo:eos|>"))
        take_back(t, "</s>", NORMAL);
    return true;
}

static bool read_merges(struct tokenizer *t, struct fault *fault)
{
    const struct gguf_value *merges;
    struct text pre = {"", 0};

    if (!gguf_array(t->gguf, "tokenizer.ggml.merges", GGUF_STRING, &merges,
                    fault) ||
        !gguf_text(t->gguf, "tokenizer.ggml.pre", false, &pre, fault))
        return false;
    if (!merges || merges->count >= NO_TOKEN)
        return fail(fault,
                    "%s has no tokenizer.ggml.merges, which a BPE "
                    "vocabulary needs",
                    t->gguf->path);
    t->rules = pretoken_rules_of(pre);
    if (!t->rules)
        return fail(fault,
                    "%s cuts text by the rules '" TEXT_FORMAT
                    "' (tokenizer.ggml.pre), which this program does not know: "
                    "those that it knows are in tests/model/pretoken.c",
                    t->gguf->path, TEXT_ARGS(pre));
    t->add_bos = t->rules->begins_marked;
    if (!read_texts(merges, &t->merges, fault))
        return false;
    for (uint64_t i = 0; i < merges->count; i++)
        if (t->merges[i].n < 3 ||
            !memchr(t->merges[i].at + 1, ' ', t->merges[i].n - 2))
            return fail(fault,
                        "%s is damaged: number %" PRIu64
                        " of tokenizer.ggml.merges is not two pieces with a "
                        "blank between them. Fetch it again",
                        t->gguf->path, i);
    return map_make(&t->by_merge, t->merges, (uint32_t)merges->count, NULL,
                    fault);
}

static bool read_scores(struct tokenizer *t, struct fault *fault)
{
    if (!gguf_array(t->gguf, "tokenizer.ggml.scores", GGUF_F32, &t->scores,
                    fault))
        return false;
    if (!t->scores || t->scores->count != t->n)
        return fail(fault,
                    "%s has %" PRIu32 " tokens and scores of %" PRIu64
                    ": tokenizer.ggml.scores is needed for each",
                    t->gguf->path, t->n, t->scores ? t->scores->count : 0);
    for (uint32_t i = 0; i < t->n; i++)
        if (!isfinite(gguf_number(t->scores, i)))
            return fail(fault,
                        "%s is damaged: token %" PRIu32
                        " has a score that is no number "
                        "(tokenizer.ggml.scores). Fetch it again",
                        t->gguf->path, i);
    t->add_bos = t->add_blank = true;
    return gguf_bool(t->gguf, "tokenizer.ggml.add_space_prefix", &t->add_blank,
                     fault);
}

static void find_bytes(struct tokenizer *t)
{
    static const char digits[] = "0123456789ABCDEF";

    for (unsigned b = 0; b < 256; b++) {
        const char name[] = {'<', '0', 'x', digits[b >> 4], digits[b & 15],
                             '>'};
        const char byte = (char)b;

        t->bytes[b] =
            t->kind == SPM ? find_token(t, name, sizeof(name)) : NO_TOKEN;
        if (t->bytes[b] == NO_TOKEN)
            t->bytes[b] = find_token(t, &byte, 1);
    }
}

static bool open_tokenizer(struct tokenizer *t, struct fault *fault)
{
    const struct gguf_value *tokens;
    struct text model = {"", 0};
    uint32_t twice = 0;

    if (!gguf_text(t->gguf, "tokenizer.ggml.model", true, &model, fault) ||
        !gguf_array(t->gguf, "tokenizer.ggml.tokens", GGUF_STRING, &tokens,
                    fault))
        return false;
    if (!text_is(model, "gpt2") && !text_is(model, "llama"))
        return fail(fault,
                    "%s has a vocabulary of kind '" TEXT_FORMAT
                    "' (tokenizer.ggml.model); gpt2 (BPE) and llama "
                    "(SentencePiece) can be used",
                    t->gguf->path, TEXT_ARGS(model));
    t->kind = text_is(model, "gpt2") ? BPE : SPM;
    if (!tokens || tokens->count == 0 || tokens->count >= 1U << 24)
        return fail(fault, "%s has no tokens: tokenizer.ggml.tokens is %s",
                    t->gguf->path, tokens ? "empty or too long" : "missing");
    t->n = (uint32_t)tokens->count;
    /* what they are where no key tells, as in llama.cpp */
    t->bos = t->eos = t->unknown = NO_TOKEN;
    if (t->kind == SPM && t->n > 2) {
        t->unknown = 0;
        t->bos = 1;
        t->eos = 2;
    } else if (t->kind == BPE && t->n > 11) {
        t->bos = t->eos = 11;
    }
    if (!read_texts(tokens, &t->tokens, fault) ||
        !map_make(&t->by_text, t->tokens, t->n, &twice, fault))
        return false;
    if (twice < t->n)
        return fail(fault,
                    "%s is damaged: token %" PRIu32 ", '" TEXT_FORMAT
                    "', is in tokenizer.ggml.tokens twice. Fetch it again",
                    t->gguf->path, twice, TEXT_ARGS(t->tokens[twice]));
    if (!(t->kind == BPE ? read_merges(t, fault) : read_scores(t, fault)))
        return false;
    find_bytes(t);
    if (!read_types(t, fault) || !read_ends(t, fault) ||
        !read_id(t, "tokenizer.ggml.bos_token_id", &t->bos, fault) ||
        !read_id(t, "tokenizer.ggml.eos_token_id", &t->eos, fault) ||
        !read_id(t, "tokenizer.ggml.unknown_token_id", &t->unknown, fault) ||
        !gguf_bool(t->gguf, "tokenizer.ggml.add_bos_token", &t->add_bos,
                   fault) ||
        !gguf_bool(t->gguf, "tokenizer.ggml.add_eos_token", &t->add_eos, fault))
        return false;
    find_specials(t);
    t->add_bos = t->add_bos && t->bos != NO_TOKEN;
    t->add_eos = t->add_eos && t->eos != NO_TOKEN;
    return true;
}

bool tokenizer_open(const struct gguf *gguf, struct tokenizer **out,
                    struct fault *fault)
{
    struct tokenizer *t = calloc(1, sizeof(*t));

    if (!t)
        return fail(fault, "no memory for the vocabulary of %s", gguf->path);
    t->gguf = gguf;
    make_letters(&t->letters);
    if (open_tokenizer(t, fault)) {
        *out = t;
        return true;
    }
    tokenizer_close(t);
    return false;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    free(t->tokens);
    free(t->by_text.slot);
    free(t->merges);
    free(t->by_merge.slot);
    free(t->types);
    free(t->ends);
    free(t->specials);
    free(t);
}

uint32_t tokenizer_count(const struct tokenizer *t)
{
    return t->n;
}

bool tokenizer_ends(const struct tokenizer *t, uint32_t id)
{
    return id < t->n && t->ends[id];
}

/* ---- merging ---- */

/* A piece of the text; n is 0 once it is part of the one before. */
struct piece {
    size_t at, n;
    size_t prev, next; /* pieces; NONE */
};

/* Two neighbours that may become one. */
struct pair {
    double priority;
    size_t left, nbytes;
};

#define NONE SIZE_MAX

struct merger {
    const struct tokenizer *t;
    const char *text;
    struct piece *pieces; /* a character each at first */
    size_t n;
    struct pair *heap; /* the best first */
    size_t nheap;
};

static bool is_better(const struct pair *a, const struct pair *b)
{
    return a->priority != b->priority ? a->priority > b->priority
                                      : a->left < b->left;
}

static void swap_pairs(struct pair *a, struct pair *b)
{
    const struct pair c = *a;

    *a = *b;
    *b = c;
}

static void push(struct merger *m, struct pair pair)
{
    size_t at = m->nheap++;

    m->heap[at] = pair;
    for (; at > 0 && is_better(&m->heap[at], &m->heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap_pairs(&m->heap[at], &m->heap[(at - 1) / 2]);
}

static struct pair pop(struct merger *m)
{
    const struct pair top = m->heap[0];
    size_t at = 0, child;

    m->heap[0] = m->heap[--m->nheap];
    for (; (child = 2 * at + 1) < m->nheap; at = child) {
        if (child + 1 < m->nheap &&
            is_better(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_better(&m->heap[child], &m->heap[at]))
            break;
        swap_pairs(&m->heap[child], &m->heap[at]);
    }
    return top;
}

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
    push(m, (struct pair){t->kind == BPE ? -(double)found
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
    m->n = m->nheap = 0;
    m->pieces = calloc(nbytes + 1, sizeof(*m->pieces));
    /* each merge takes a pair away and offers two at most */
    m->heap = calloc(3 * nbytes + 1, sizeof(*m->heap));
    if (!m->pieces || !m->heap)
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
    free(m->heap);
}

static void merge(struct merger *m)
{
    for (size_t i = 0; i < m->n; i++)
        offer(m, i);
    while (m->nheap > 0) {
        const struct pair pair = pop(m);
        struct piece *left = &m->pieces[pair.left], *right;

        /* one of the two has become part of another since */
        if (left->n == 0 || left->next == NONE)
            continue;
        right = &m->pieces[left->next];
        if (left->n + right->n != pair.nbytes)
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
    const uint32_t id = find_token(t, text, n);

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

/* A text, or one word of it, that holds no special tokens. */
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
        if (t->rules->whole_words && find_token(t, word, length) != NO_TOKEN)
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

static const char *find_text(struct text in, struct text what)
{
    if (what.n > in.n)
        return NULL;
    for (const char *at = in.at; at <= in.at + in.n - what.n; at++) {
        at = memchr(at, what.at[0], (size_t)(in.at + in.n - what.n - at) + 1);
        if (!at || memcmp(at, what.at, what.n) == 0)
            return at;
    }
    return NULL;
}

/* Text in which specials before number `from` are not looked for. */
static bool encode_between(const struct tokenizer *t, struct text text,
                           size_t from, bool special, bool *begins,
                           struct tokens *out, struct fault *fault)
{
    for (size_t s = from; s < t->nspecials; s++) {
        const uint32_t id = t->specials[s];
        const char *found;

        if (!special && t->types[id] != USER_DEFINED)
            continue;
        while ((found = find_text(text, t->tokens[id]))) {
            const struct text before = {text.at, (size_t)(found - text.at)};

            if (!encode_between(t, before, s + 1, special, begins, out,
                                fault) ||
                !tokens_add(out, id, fault))
                return false;
            *begins = true;
            text.at = found + t->tokens[id].n;
            text.n -= before.n + t->tokens[id].n;
        }
    }
    return encode_plain(t, text, begins, out, fault);
}

bool tokenizer_encode(const struct tokenizer *t, const char *text,
                      size_t nbytes, bool special, struct tokens *out,
                      struct fault *fault)
{
    bool begins = true;

    return (!t->add_bos || tokens_add(out, t->bos, fault)) &&
           encode_between(t, (struct text){text, nbytes}, 0, special, &begins,
                          out, fault) &&
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
        const unsigned byte = byte_of_letter(letters, code);
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
