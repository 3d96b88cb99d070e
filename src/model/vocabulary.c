/* vocabulary.c - reads a model's tokens, their types, merges and scores */
#include "vocabulary.h"

#include "base/keyed_hash.h"

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

static void make_letters(struct letters *letters)
{
    unsigned moved = 0;

    for (unsigned b = 0; b < 256; b++) {
        letters->of_byte[b] = (uint16_t)(is_printable(b) ? b : MOVED + moved);
        if (!is_printable(b))
            letters->moved[moved++] = (uint8_t)b;
    }
}

unsigned letters_byte(const struct letters *letters, uint32_t code)
{
    if (code < MOVED)
        return is_printable(code) ? code : 256;
    return code - MOVED < NMOVED ? letters->moved[code - MOVED] : 256;
}

/* ---- maps ---- */

static bool begins_with(const char *at, struct text text)
{
    return text.n == 0 || memcmp(at, text.at, text.n) == 0;
}

static bool is_same(struct text a, struct text b)
{
    return a.n == b.n && begins_with(a.at, b);
}

/* Maps each text to the first of its copies; empty texts are left out. *twice,
 * unless NULL, receives the number of a second copy, or n. */
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
    map->key = keyed_hash_key(map->slot);
    if (twice)
        *twice = n;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = keyed_hash_slot(keyed_hash_bytes(map->key, KEYED_HASH_EMPTY,
                                                     texts[i].at, texts[i].n),
                                    map->mask);

        /* equal texts share a slot: many copies would make every search long */
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

uint32_t map_find(const struct map *map, struct text left, const char *between,
                  struct text right)
{
    const size_t gap = strlen(between);
    uint64_t hash =
        keyed_hash_bytes(map->key, KEYED_HASH_EMPTY, left.at, left.n);
    uint32_t best = NO_TOKEN;

    hash = keyed_hash_bytes(map->key, hash, between, gap);
    hash = keyed_hash_bytes(map->key, hash, right.at, right.n);
    for (size_t at = keyed_hash_slot(hash, map->mask); map->slot[at];
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

uint32_t vocabulary_find(const struct tokenizer *t, const char *at, size_t n)
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

static bool read_types(struct tokenizer *t, struct fault *fault)
{
    const struct gguf_value *types;

    t->types = malloc(t->n);
    t->ends = calloc(t->n, 1);
    if (!t->types || !t->ends)
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

static bool find_specials(struct tokenizer *t, struct fault *fault)
{
    uint32_t *ids = calloc(t->n, sizeof(*ids));

    for (int all = 0; ids && all < 2; all++) {
        size_t n = 0;

        for (uint32_t i = 0; i < t->n; i++)
            /* an empty token would be found everywhere */
            if (t->tokens[i].n &&
                (t->types[i] == USER_DEFINED ||
                 (all && (t->types[i] == CONTROL || t->types[i] == UNKNOWN))))
                ids[n++] = i;
        t->specials[all] = specials_open(t->tokens, ids, n);
    }
    free(ids);
    return (t->specials[0] && t->specials[1]) ||
           fail(fault, "no memory for special tokens");
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
 * Roles of tokens, found as llama.cpp does: by keys, and without a key by the
 * usual names. A token that is found by such a name is a control token,
 * whatever the file calls it: to Gemma's, "</s>" is a word of HTML.
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
    return vocabulary_find(t, name, strlen(name));
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

/* Takes the role of end from a name that has it only without other ends. */
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
    /* harmony's tokens, always written out */
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
                    "those that it knows are in src/model/pretoken.c",
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
            t->kind == SPM ? vocabulary_find(t, name, sizeof(name)) : NO_TOKEN;
        if (t->bytes[b] == NO_TOKEN)
            t->bytes[b] = vocabulary_find(t, &byte, 1);
    }
}

static bool read_vocabulary(struct tokenizer *t, struct fault *fault)
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
    /* defaults without keys, as in llama.cpp */
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
    t->add_bos = t->add_bos && t->bos != NO_TOKEN;
    t->add_eos = t->add_eos && t->eos != NO_TOKEN;
    return find_specials(t, fault);
}

bool vocabulary_open(const struct gguf *gguf, struct tokenizer **out,
                     struct fault *fault)
{
    struct tokenizer *t = calloc(1, sizeof(*t));

    if (!t)
        return fail(fault, "no memory for the vocabulary of %s", gguf->path);
    t->gguf = gguf;
    make_letters(&t->letters);
    if (read_vocabulary(t, fault)) {
        *out = t;
        return true;
    }
    vocabulary_close(t);
    return false;
}

void vocabulary_close(struct tokenizer *t)
{
    if (!t)
        return;
    free(t->tokens);
    free(t->by_text.slot);
    free(t->merges);
    free(t->by_merge.slot);
    free(t->types);
    free(t->ends);
    specials_close(t->specials[0]);
    specials_close(t->specials[1]);
    free(t);
}
