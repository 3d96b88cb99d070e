/* test_tokenizer.c - text to tokens and back
 *
 * Words are cut as the families' regular expressions say (pretoken.h); the
 * pieces here were worked out by hand. Real vocabularies are compared with
 * llama.cpp's tokens by check-model.
 */
#include "colliding.h"
#include "harness.h"
#include "model/pretoken.h"
#include "model/specials.h"
#include "model/tokenizer.h"
#include "tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned passed, failed;

static void report(const char *what, const char *text, const char *got,
                   const char *want)
{
    const bool good = strcmp(got, want) == 0;

    passed += good;
    failed += !good;
    if (!good)
        printf("FAILED: %s '%s': want %s, got %s\n", what, text, want, got);
}

/* ---- words ---- */

static const struct {
    const char *rules, *text, *words; /* with a bar behind each */
} cuts[] = {
    {"gpt-2", "Hello world's  end 123 !?\n\n x",
     "Hello| world|'s| | end| 123| !?|\n\n| x|"},
    {"gpt-2", "DON'T #tag", "DON|'|T| #|tag|"},
    {"gpt-2", "a  ", "a|  |"},
    {"gpt-2", " \t", " \t|"},
    {"gpt-2", "x=1;", "x|=|1|;|"},
    {"gpt-2", "we'll've", "we|'ll|'ve|"},
    {"gpt-2", "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac", /* two letters */
     "na\xc3\xafve| \xe6\x97\xa5\xe6\x9c\xac|"},
    {"gpt-2",
     "\xff"
     "a",
     "\xef\xbf\xbd|a|"}, /* no UTF-8 */
    /* an overlong form, a surrogate, the first code that is too large */
    {"gpt-2", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd|"},
    {"gpt-2", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
    {"gpt-2", "\xf4\x90\x80\x80",
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
    {"gpt-2", "\xed\x9f\xbf", "\xed\x9f\xbf|"}, /* the last before them */
    {"smollm", " 42a 7", " |4|2|a| |7|"},
    {"smollm", "pi is 3.14", "pi| is| |3|.|1|4|"},
    {"smollm", "\xd9\xa3x", "\xd9\xa3|x|"}, /* an Arabic digit */
    {"llama-bpe", "It's 12345 ok!!\n\n  x", "It|'s| |123|45| ok|!!\n\n| | x|"},
    {"llama-bpe", "DON'T #tag", "DON|'T| #|tag|"},
    {"llama-bpe", "a \r\n b", "a| \r\n| b|"},
    {"llama-bpe", "a\n\n\nb", "a|\n\n\n|b|"},
    {"llama-bpe", "(x)", "(x|)|"},
    {"qwen2", "1234 x", "1|2|3|4| x|"},
    {"qwen2", "\tif", "\tif|"},
    {"qwen2", " .,\n", " .,\n|"},
    {"minicpm5", "12345 x", "123|45| x|"},
    {"seed-coder", "a+ \nb!\n", "a|+| \n|b|!|\n|"},
    {"bailingmoe", "x\n\ny", "x|\n\n|y|"},
    {"ufakzeka", "it's", "it|'s|"},
    {"qwen35", "ab\xcc\x81" /* a mark */ "c 12",
     "ab\xcc\x81"
     "c| |1|2|"},
    {"tekken", "HelloWorld ABCdef don't", "Hello|World| ABCdef| don|'t|"},
    {"tekken", "12 a/b\n/\n", "1|2| a|/b|\n|/\n|"},
    {"gpt-4o", "it's XYZ'll 12345", "it's| XYZ'll| |123|45|"},
    {"deepseek-v3", "x.y 1234 (a)!!\n", "x|.y| |123|4| (|a|)!!\n|"},
    {"deepseek-v3",
     "a\xe4\xb8\x80\xe4\xb8\x81"
     "b", /* two ideographs */
     "a|\xe4\xb8\x80\xe4\xb8\x81|b|"},
    {"deepseek-llm", "Hi there, 42\n  ", "Hi| there|,| |42|\n|  |"},
    {"deepseek-coder", "f(x) 42", "f|(|x|)| |4|2|"},
    {"falcon", "a==1234 !", "a|==|123|4| |!|"},
    {"default", "a$b 12345", "a|$|b| |123|45|"},
    {"", "a$b 12345", "a|$|b| |123|45|"},
    {"bloom", " (a) b,c", " (|a|)| b|,|c|"},
    {"viking", "ab12", "ab|1|2|"},
};

static void check_cuts(void)
{
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        const struct text name = {cuts[i].rules, strlen(cuts[i].rules)};
        const struct pretoken_rules *rules = pretoken_rules_of(name);
        size_t n, count, length = 0;
        uint32_t *code =
            pretoken_decode(cuts[i].text, strlen(cuts[i].text), &n);
        size_t *ends = pretoken_cut(rules, code, n, &count);
        char got[256];

        for (size_t at = 0, word = 0; word < count; word++) {
            for (; at < ends[word]; at++)
                length += pretoken_encode(code[at], got + length);
            got[length++] = '|';
        }
        got[length] = 0;
        free(code);
        free(ends);
        report(cuts[i].rules, cuts[i].text, got, cuts[i].words);
    }
}

/* Blanks that no word takes, in front of what is no word: a rule of blanks at
 * the end of a text would try each of them. */
static void check_long_cut(void)
{
    static const char name[] = "deepseek-llm";
    const struct text rules = {name, sizeof(name) - 1};
    const size_t n = 1 << 17;
    uint32_t *code = malloc(n * sizeof(*code));
    size_t count = 0, *ends = NULL;

    for (size_t i = 0; code && i < n; i++)
        code[i] = i + 2 < n ? 0xa0 : i + 1 < n ? NO_CHARACTER : 'x';
    alarm(10);
    if (code)
        ends = pretoken_cut(pretoken_rules_of(rules), code, n, &count);
    alarm(0);
    report("a long cut", name,
           ends && count == 2 && ends[0] == n - 1 ? "two words" : "others",
           "two words");
    free(ends);
    free(code);
}

/* ---- tokens ---- */

/* Tokens of tiny.c: 1 begins, 3 + b is byte b, 259 + w word w, 275 + w the same
 * behind a blank, 291 <|go|>, 292 SentencePiece's blank. */
static const struct {
    bool spm, special;
    const char *text, *ids;
} encodings[] = {
    {false, true, "hello world", "1 270 35 274 "},
    {false, true, "<|go|>hello", "1 291 270 "},
    {false, false, "<|go|>", "1 63 127 106 114 127 65 "},
    {false, true, "the thing", "1 260 35 259 266 "},
    {false, true, "\xc3\xa9", "1 198 172 "},
    {false, true, "", "1 "},
    {true, true, "hello world", "1 286 290 "},
    {true, true, "<|go|>hello", "1 291 286 "},
    {true, true, "hello<|go|>", "1 286 291 "},
    {true, true, "\xc3\xa9", "1 292 198 172 "},
    {true, true, "the  the", "1 276 292 276 "},
    {true, true, "", "1 "},
};

static void check_encodings(const struct tokenizer *t, bool spm)
{
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
        struct fault fault = {""};
        struct tokens tokens = {0};
        char got[256] = "", back[256] = "";
        const char *text = encodings[i].text;
        size_t n = 0;

        if (encodings[i].spm != spm)
            continue;
        if (!tokenizer_encode(t, text, strlen(text), encodings[i].special,
                              &tokens, &fault))
            report("encoding", text, fault.text, "");
        for (size_t k = 0; k < tokens.n; k++) {
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u ",
                           (unsigned)tokens.id[k]);
            n += tokenizer_piece(t, tokens.id[k], back + n, sizeof(back) - n);
        }
        back[n] = 0;
        report("tokens of", text, got, encodings[i].ids);
        /* special tokens say nothing, and SentencePiece begins with a blank */
        if (!strstr(text, "<|go|>"))
            report("text of the tokens of", text, back + (spm && n > 0), text);
        free(tokens.id);
    }
}

/* The smallest possible model, for tests of the vocabulary. */
static struct tiny smallest(bool spm)
{
    return (struct tiny){.arch = "llama",
                         .layers = 1,
                         .width = 32,
                         .inner = 32,
                         .heads = 1,
                         .kv_heads = 1,
                         .head = 32,
                         .spm = spm};
}

/* A file that calls the end's token user-defined, as Gemma's do: it is none of
 * plain text all the same. */
static void check_end_of_plain_text(bool spm)
{
    static const char key[] = "tokenizer.ggml.token_type";
    const size_t behind = sizeof(key) - 1 + 4 + 4 + 8; /* types, length */
    const struct tiny tiny = smallest(spm);
    struct fault fault = {""};
    struct tokenizer *t = NULL;
    struct gguf gguf = {0};
    size_t nbytes, at = 0;
    uint8_t *file = tiny_make(&tiny, &nbytes);

    while (memcmp(file + at, key, sizeof(key) - 1) != 0)
        at++;
    file[at + behind + 2 * sizeof(int32_t)] = 4;
    if (!gguf_parse("tiny", file, nbytes, &gguf, &fault) ||
        !tokenizer_open(&gguf, &t, &fault))
        report("vocabulary", "user-defined end", fault.text, "");
    for (int special = 0; t && special < 2; special++) {
        struct tokens tokens = {0};
        char got[64] = "";

        (void)tokenizer_encode(t, "</s>", 4, special, &tokens, &fault);
        for (size_t k = 0; k < tokens.n; k++)
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u ",
                           (unsigned)tokens.id[k]);
        report(special ? "an end's tokens" : "a plain end's tokens", "</s>",
               got,
               special ? "1 2 "
               : spm   ? "1 292 63 50 118 65 "
                       : "1 63 50 118 65 ");
        free(tokens.id);
    }
    tokenizer_close(t);
    gguf_close(&gguf);
    free(file);
}

/* ---- names ---- */

/* Two fillers of a vocabulary take other names: which of both, and of the end
 * that is there, end an answer, and which are no plain text. */
static const struct {
    const char *names[2], *ends, *specials;
} named[] = {
    {{"<|eot_id|>", "<other>"}, "0 end", "0"},
    {{"[EOT]", "[EOS]"}, "0 1 end", "0 1"},
    {{"<\357\275\234end\342\226\201of\342\226\201sentence\357\275\234>",
      "_<EOT>"},
     "0 1 end",
     "0 1"},
    {{"<|fim_prefix|>", "<|fim_pad|>"}, "1 end", "0 1"},
    {{"<fim-pad>", "<|fim_pad|>"}, "1 end", "1"}, /* the first known one */
    {{"<|repo_name|>", "<|file_sep|>"}, "0 1 end", "0 1"},
    {{"<|end|>", "<|call|>"}, "0 1 end", "0 1"},
    {{"<|end|>", "<|return|>"}, "0 1 end", "0 1"},
    {{"<|channel|>", "<|start|>"}, "end", "0 1"},
    {{"<|tool_response>", "<turn|>"}, "0 1", "0 1"}, /* "</s>" is a word */
};

static void rename_token(uint8_t *file, size_t nbytes, const char *old,
                         const char *name, uint8_t *made, size_t *nmade)
{
    const size_t n = strlen(old), length = strlen(name);
    size_t at = 0;

    while (at + n < nbytes && memcmp(file + at, old, n) != 0)
        at++;
    memcpy(made, file, at);
    made[at - 8] = (uint8_t)length;
    for (size_t i = 0; i < length; i++)
        made[at + i] = (uint8_t)name[i];
    memcpy(made + at + length, file + at + n, nbytes - at - n);
    *nmade = nbytes - n + length;
}

static void check_named(size_t i)
{
    static const char *const fillers[] = {"<unused34>", "<unused35>"};
    const uint32_t ids[] = {293, 294};
    const struct tiny tiny = smallest(false);
    struct fault fault = {""};
    struct tokenizer *t = NULL;
    struct gguf gguf = {0};
    size_t n, head;
    uint8_t *file = tiny_make(&tiny, &n), *other = malloc(n + 256);
    char ends[64] = "", specials[64] = "";

    if (!other || !gguf_parse("tiny", file, n, &gguf, &fault)) {
        report("names", named[i].names[0], fault.text, "");
        free(file);
        free(other);
        return;
    }
    /* only the keys: a vocabulary does not read the tensors' places */
    head = (size_t)(gguf_find_tensor(&gguf, "token_embd.weight")->name.at -
                    (const char *)file) -
           8;
    gguf_close(&gguf);
    memset(file + 8, 0, 8);
    rename_token(file, head, fillers[0], named[i].names[0], other, &n);
    rename_token(other, n, fillers[1], named[i].names[1], file, &n);
    if (!gguf_parse("tiny", file, n, &gguf, &fault) ||
        !tokenizer_open(&gguf, &t, &fault))
        report("names", named[i].names[0], fault.text, "");
    for (size_t k = 0; t && k < 3; k++) {
        const char *name = k < 2 ? named[i].names[k] : "</s>";
        struct tokens tokens = {0};

        if (tokenizer_ends(t, k < 2 ? ids[k] : 2))
            (void)snprintf(ends + strlen(ends), sizeof(ends) - strlen(ends),
                           k < 2 ? "%s%zu" : "%send", *ends ? " " : "", k);
        (void)tokenizer_encode(t, name, strlen(name), true, &tokens, &fault);
        if (k < 2 && tokens.n == 2 && tokens.id[1] == ids[k])
            (void)snprintf(specials + strlen(specials),
                           sizeof(specials) - strlen(specials), "%s%zu",
                           *specials ? " " : "", k);
        free(tokens.id);
    }
    report("ends of an answer", named[i].names[0], ends, named[i].ends);
    report("special tokens", named[i].names[0], specials, named[i].specials);
    tokenizer_close(t);
    gguf_close(&gguf);
    free(file);
    free(other);
}

static void check_vocabulary(bool spm)
{
    const struct tiny tiny = smallest(spm);
    struct fault fault = {""};
    struct tokenizer *t = NULL;
    struct gguf gguf;
    size_t nbytes;
    uint8_t *file = tiny_make(&tiny, &nbytes);
    char piece[4] = "";

    if (!gguf_parse("tiny", file, nbytes, &gguf, &fault) ||
        !tokenizer_open(&gguf, &t, &fault)) {
        report("vocabulary", "tiny", fault.text, "");
        free(file);
        return;
    }
    check_encodings(t, spm);
    report("the end's token", "</s>", tokenizer_ends(t, 2) ? "yes" : "no",
           "yes");
    report("another token", "hello", tokenizer_ends(t, 270) ? "yes" : "no",
           "no");
    /* a piece longer than its buffer */
    report("a long piece", "hello",
           tokenizer_piece(t, 270, piece, 3) == 5 ? piece : "", "hel");
    report("a number that is no token", "320",
           tokenizer_piece(t, TINY_VOCABULARY, piece, 3) == 0 ? "" : piece, "");
    tokenizer_close(t);
    gguf_close(&gguf);
    free(file);
}

/* ---- vocabularies that are made to take long ---- */

static uint8_t *put_bytes(uint8_t *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

static uint8_t *put_text(uint8_t *to, const char *text)
{
    const uint64_t n = strlen(text);

    return put_bytes(put_bytes(to, &n, sizeof(n)), text, n);
}

static uint8_t *put_key(uint8_t *to, const char *key, const char *value)
{
    const uint32_t string = GGUF_STRING;

    return put_text(put_bytes(put_text(to, key), &string, sizeof(string)),
                    value);
}

static uint8_t *put_array(uint8_t *to, const char *key, uint32_t type,
                          uint64_t n)
{
    const uint32_t types[2] = {GGUF_ARRAY, type};

    to = put_bytes(put_text(to, key), types, sizeof(types));
    return put_bytes(to, &n, sizeof(n));
}

/* A vocabulary in a file of its own; t is NULL where it cannot be read. */
struct made {
    uint8_t *file;
    struct gguf gguf;
    struct tokenizer *t;
};

/* Each of these takes a tenth of a second at most. */
enum { LIMIT_S = 10 };

/* Opens a vocabulary of `count` tokens of one type and `count` equal merges. */
static void made_open(struct made *made, const char *what, uint64_t count,
                      void (*name)(uint64_t i, char out[16]), const char *merge,
                      uint32_t type)
{
    static const uint64_t counts[2] = {0, 5}; /* tensors, keys */
    uint8_t *end = malloc(count * (8 + 16 + 11 + 4) + 4096);
    struct fault fault = {""};
    char text[16];

    *made = (struct made){.file = end};
    if (!end) {
        report(what, "", "no memory", "");
        return;
    }
    end = put_bytes(end, "GGUF\3\0\0\0", 8);
    end = put_bytes(end, counts, sizeof(counts));
    end = put_key(end, "tokenizer.ggml.model", "gpt2");
    end = put_key(end, "tokenizer.ggml.pre", "gpt-2");
    end = put_array(end, "tokenizer.ggml.tokens", GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++) {
        name(i, text);
        end = put_text(end, text);
    }
    end = put_array(end, "tokenizer.ggml.token_type", GGUF_I32, count);
    for (uint64_t i = 0; i < count; i++)
        end = put_bytes(end, &type, sizeof(type));
    end = put_array(end, "tokenizer.ggml.merges", GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        end = put_text(end, merge);
    alarm(LIMIT_S);
    report(what, "",
           gguf_parse("made", made->file, (size_t)(end - made->file),
                      &made->gguf, &fault) &&
                   tokenizer_open(&made->gguf, &made->t, &fault)
               ? ""
               : fault.text,
           "");
    alarm(0);
}

static void made_close(struct made *made)
{
    tokenizer_close(made->t);
    gguf_close(&made->gguf);
    free(made->file);
}

static void no_name(uint64_t i, char out[16])
{
    (void)i;
    out[0] = 0;
}

/* Empty tokens, and equal merges: compared with all before it, each would take
 * hours. */
static void check_equal_entries(void)
{
    struct made made;

    made_open(&made, "equal entries", 1 << 19, no_name, "a b", 1);
    made_close(&made);
}

/* Takes half a minute if all entries have one slot of the hash table. */
static void check_colliding_entries(void)
{
    struct made made;

    made_open(&made, "colliding entries", COLLIDING_COUNT, colliding_text,
              "a b", 1);
    made_close(&made);
}

/* ---- special tokens ---- */

enum { MANY = 60000 };

static void name_of_special(uint64_t i, char out[16])
{
    (void)snprintf(out, 16, "<%05u>", (unsigned)i);
}

/* More special tokens than any model has, in two texts: the first names every
 * token, the last token first; in the second each byte could begin any. */
static void check_many_specials(void)
{
    const size_t n = 1 << 20;
    struct fault fault = {""};
    struct tokens tokens = {0};
    struct made made;
    char *text = malloc(n + 1), got[64] = "";
    size_t right = 0;

    made_open(&made, "many special tokens", MANY, name_of_special, "< <", 4);
    for (uint64_t i = 0; text && i < MANY; i++)
        name_of_special(MANY - 1 - i, text + 7 * i);
    alarm(LIMIT_S);
    if (text && made.t &&
        tokenizer_encode(made.t, text, 7 * (size_t)MANY, true, &tokens, &fault))
        for (size_t i = 0; i < MANY && i < tokens.n; i++)
            right += tokens.id[i] == MANY - 1 - i;
    (void)snprintf(got, sizeof(got), "%zu of %zu", right, tokens.n);
    report("special tokens in a row", "", got, "60000 of 60000");
    tokens.n = 0;
    if (text && made.t) {
        memset(text, '<', n);
        memcpy(text + n - 7, "<04711>", 7);
        (void)tokenizer_encode(made.t, text, n, true, &tokens, &fault);
    }
    (void)snprintf(got, sizeof(got), "%zu, the last %u", tokens.n,
                   tokens.n ? (unsigned)tokens.id[tokens.n - 1] : 0);
    report("beginnings of special tokens", "", got, "1, the last 4711");
    alarm(0);
    made_close(&made);
    free(tokens.id);
    free(text);
}

/* The rule for special tokens, literally: look for each token in turn in the
 * rest of the text. */
static void find_by_rule(const struct text *tokens, size_t ntokens,
                         struct text text, uint32_t *found)
{
    bool has[64] = {false};

    for (size_t i = 0; i < text.n; i++)
        found[i] = NO_SPECIAL;
    for (size_t n = text.n; n > 0; n--)
        for (size_t id = 0; id < ntokens; id++)
            for (size_t i = 0; tokens[id].n == n && i + n <= text.n; i++) {
                bool is_free = memcmp(text.at + i, tokens[id].at, n) == 0;

                for (size_t k = 0; k < n; k++)
                    is_free = is_free && !has[i + k];
                for (size_t k = 0; is_free && k < n; k++)
                    has[i + k] = true;
                if (is_free)
                    found[i] = (uint32_t)id;
            }
}

/* Tokens and texts of two letters, so that all overlap. */
static void check_overlapping_specials(void)
{
    enum { ROUNDS = 3000, MOST = 12, LENGTH = 48 };
    uint64_t state = 36;
    unsigned wrong = 0, nfound = 0;

    for (int round = 0; round < ROUNDS; round++) {
        char names[MOST][8], bytes[LENGTH];
        struct text tokens[MOST], text = {bytes, 0};
        uint32_t ids[MOST], want[LENGTH], *got;
        struct specials *s;
        size_t n = 0;

        for (size_t i = 0; i < MOST; i++) {
            const uint64_t r = kt_random(&state);
            bool is_new = true;

            tokens[n] = (struct text){names[n], 1 + r % 7};
            for (size_t k = 0; k < tokens[n].n; k++)
                names[n][k] = r >> (8 + k) & 1 ? 'a' : 'b';
            for (size_t k = 0; k < n; k++)
                is_new = is_new && (tokens[k].n != tokens[n].n ||
                                    memcmp(names[k], names[n], tokens[n].n));
            ids[n] = (uint32_t)n;
            n += is_new;
        }
        text.n = kt_random(&state) % (LENGTH + 1);
        for (size_t i = 0; i < text.n; i++)
            bytes[i] = kt_random(&state) % 8 < 4   ? 'a'
                       : kt_random(&state) % 8 < 7 ? 'b'
                                                   : 'c';
        n = round % 16 ? n : 0; /* none at times */
        s = specials_open(tokens, ids, n);
        got = s ? specials_find(s, text) : NULL;
        find_by_rule(tokens, n, text, want);
        wrong += !got || memcmp(got, want, text.n * sizeof(*got)) != 0;
        for (size_t i = 0; i < text.n; i++)
            nfound += want[i] != NO_SPECIAL;
        free(got);
        specials_close(s);
    }
    report("overlapping special tokens", "",
           wrong == 0 && nfound > ROUNDS ? "" : "differ from their rule", "");
}

int main(void)
{
    check_cuts();
    check_long_cut();
    check_equal_entries();
    check_colliding_entries();
    check_many_specials();
    check_overlapping_specials();
    check_vocabulary(false);
    check_vocabulary(true);
    check_end_of_plain_text(false);
    check_end_of_plain_text(true);
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        check_named(i);
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
