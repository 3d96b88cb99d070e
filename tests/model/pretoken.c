/* pretoken.c - cuts text into the words that BPE works on */
#include "pretoken.h"

#include "unicode_ranges.h"

#include <stdlib.h>

/* clang-format off */
static const struct pretoken_rules rules[] = {
    /* name              lines  digits apart  whole  begins */
    {"gpt-2",            false, 0,     false, false, false},
    {"phi-2",            false, 0,     false, false, false},
    {"mpt",              false, 0,     false, false, false},
    {"olmo",             false, 0,     false, false, false},
    {"exaone4",          false, 0,     false, false, false},
    {"smollm",           false, 0,     true,  false, false},
    {"starcoder",        false, 0,     true,  false, false},
    {"refact",           false, 0,     true,  false, false},
    {"command-r",        false, 0,     true,  false, false},
    {"codeshell",        false, 0,     true,  false, false},
    {"exaone",           false, 0,     true,  false, false},
    {"minerva-7b",       false, 0,     true,  false, false},
    {"llama-bpe",        true,  3,     false, true,  true},
    {"llama3",           true,  3,     false, true,  true},
    {"llama-v3",         true,  3,     false, true,  true},
    {"falcon3",          true,  3,     false, true,  true},
    {"pixtral",          true,  3,     false, true,  true},
    {"lfm2",             true,  3,     false, true,  true},
    {"dbrx",             true,  3,     false, false, false},
    {"smaug-bpe",        true,  3,     false, false, false},
    {"qwen2",            true,  1,     false, false, false},
    {"deepseek-r1-qwen", true,  1,     false, false, false},
    {"stablelm2",        true,  1,     false, false, false},
    {"megrez",           true,  1,     false, false, false},
    {"hunyuan",          true,  1,     false, false, false},
};
/* clang-format on */

const struct pretoken_rules *pretoken_rules_of(struct text name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (text_is(name, rules[i].name))
            return &rules[i];
    return NULL;
}

/* ---- UTF-8 ---- */

static uint32_t decode_one(const unsigned char *at, size_t left, size_t *used)
{
    const unsigned lead = at[0];
    const size_t n = lead < 0x80             ? 1
                     : (lead & 0xe0) == 0xc0 ? 2
                     : (lead & 0xf0) == 0xe0 ? 3
                     : (lead & 0xf8) == 0xf0 ? 4
                                             : 0;
    uint32_t code = n == 1 ? lead : n ? lead & (0x7fu >> n) : 0;

    *used = 1;
    if (n == 0 || n > left)
        return 0xfffd;
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (at[i] & 0x3fu);
    }
    *used = n;
    return code <= 0x10ffff ? code : 0xfffd;
}

uint32_t *pretoken_decode(const char *text, size_t nbytes, size_t *n)
{
    uint32_t *code = malloc((nbytes + 1) * sizeof(*code));
    size_t used;

    *n = 0;
    for (size_t at = 0; code && at < nbytes; at += used)
        code[(*n)++] =
            decode_one((const unsigned char *)text + at, nbytes - at, &used);
    return code;
}

size_t pretoken_encode(uint32_t code, char out[4])
{
    const size_t n = code < 0x80      ? 1
                     : code < 0x800   ? 2
                     : code < 0x10000 ? 3
                                      : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(lead[n == 1 ? 0 : n] | code);
    return n;
}

/* ---- classes ---- */

static bool is_in(const struct code_range *ranges, size_t n, uint32_t code)
{
    size_t low = 0;

    while (n > 0) {
        const size_t half = n / 2;

        if (ranges[low + half].last < code) {
            low += half + 1;
            n -= half + 1;
        } else if (ranges[low + half].first > code) {
            n = half;
        } else {
            return true;
        }
    }
    return false;
}

static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

enum class { END, SPACE, LETTER, NUMBER, OTHER };

static enum class class_at(const uint32_t *code, size_t n, size_t at) {
    if (at >= n) return END;
    if (is_in(letters, sizeof(letters) / sizeof(*letters),
              code[at])) return LETTER;
    if (is_in(numbers, sizeof(numbers) / sizeof(*numbers),
              code[at])) return NUMBER;
    return is_space(code[at]) ? SPACE : OTHER;
}

/* ---- words ---- */

/* The length of a contraction's ending at code[at], an apostrophe; or 0. */
static size_t contraction(const uint32_t *code, size_t n, size_t at, bool fold)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};

    if (code[at] != '\'')
        return 0;
    for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
        size_t i = 0;

        while (endings[e][i] && at + 1 + i < n) {
            uint32_t c = code[at + 1 + i];

            if (fold && c >= 'A' && c <= 'Z')
                c += 'a' - 'A';
            if (c != (uint32_t)endings[e][i])
                break;
            i++;
        }
        if (!endings[e][i])
            return 1 + i;
    }
    return 0;
}

static size_t run_of(const uint32_t *code, size_t n, size_t at,
                     enum class which, size_t most)
{
    size_t run = 0;

    while (run < most && class_at(code, n, at + run) == which)
        run++;
    return run;
}

static bool ends_line(uint32_t code)
{
    return code == '\r' || code == '\n';
}

/* White space: up to its last line end; else less its last character if a
 * word follows, which takes that. */
static size_t space_end(const uint32_t *code, size_t n, size_t at, bool lines)
{
    const size_t run = run_of(code, n, at, SPACE, SIZE_MAX);

    for (size_t i = run; lines && i > 0; i--)
        if (ends_line(code[at + i - 1]))
            return at + i;
    return at + (run > 1 && at + run < n ? run - 1 : run);
}

size_t pretoken_next(const struct pretoken_rules *r, const uint32_t *code,
                     size_t n, size_t from)
{
    const size_t ending = contraction(code, n, from, r->lines);
    const size_t lead = code[from] == ' ';
    const enum class own = class_at(code, n, from);
    const enum class next = class_at(code, n, from + 1);
    const enum class led = lead ? next : own;

    if (r->digits_apart) {
        size_t end = from;

        if (own == NUMBER)
            return from + 1;
        while (end < n && class_at(code, n, end) != NUMBER)
            end++;
        n = end; /* what follows does not see beyond */
        if (lead && next == NUMBER)
            return from + 1;
    }
    if (ending)
        return from + ending;
    if (r->lines ? own == LETTER || (next == LETTER && own != NUMBER &&
                                     !ends_line(code[from]))
                 : led == LETTER) {
        const size_t skip = own != LETTER;

        return from + skip + run_of(code, n, from + skip, LETTER, SIZE_MAX);
    }
    if (r->digits > 0 && own == NUMBER)
        return from + run_of(code, n, from, NUMBER, r->digits);
    if (r->digits == 0 && led == NUMBER)
        return from + lead + run_of(code, n, from + lead, NUMBER, SIZE_MAX);
    if (led == OTHER) {
        size_t end = from + lead;

        end += run_of(code, n, end, OTHER, SIZE_MAX);
        while (r->lines && end < n && ends_line(code[end]))
            end++;
        return end;
    }
    if (own == SPACE)
        return space_end(code, n, from, r->lines);
    return from + 1;
}
