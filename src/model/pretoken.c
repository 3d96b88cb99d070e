/* pretoken.c - cuts text into the words that BPE works on
 *
 * The expressions of GPT-2, Llama 3 and Qwen 2, which most files name, are
 * written out as code. The others are read by a small matcher, below.
 */
#include "pretoken.h"

#include "unicode_ranges.h"

#include <stdlib.h>
#include <string.h>

/* ---- rules ---- */

#define CONTRACTION "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
                           "| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
static const char llama3[] =
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES;
static const char qwen2[] =
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES;
static const char qwen35[] =
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES;
static const char seed[] = CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                                       "| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES;
static const char bailing[] =
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
static const char turkish[] = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES;
/* small letters end a word that capital ones begin */
static const char tekken[] =
    "[^\\r\\n\\p{L}\\p{N}]?\\p{U}*\\p{D}+|[^\\r\\n\\p{L}\\p{N}]?\\p{U}+\\p{D}*"
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES;
static const char gpt4o[] =
    "[^\\r\\n\\p{L}\\p{N}]?\\p{U}*\\p{D}+" CONTRACTION
    "?|[^\\r\\n\\p{L}\\p{N}]?\\p{U}+\\p{D}*" CONTRACTION
    "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES;
static const char deepseek3[] =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES;
/* letters of scripts that have two cases */
static const char cased[] =
    "\\s?[A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba"
    "\\u01bc-\\u01bf\\u01c4-\\u0293\\u0295-\\u02af\\u0370-\\u0373\\u0376"
    "\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-\\u038a\\u038c"
    "\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f"
    "\\u0531-\\u0556\\u10a0-\\u10c5\\u13a0-\\u13f5\\u13f8-\\u13fd"
    "\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-\\u1d77"
    "\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45"
    "\\u1f48-\\u1f4d\\u1f50-\\u1f57\\u1f59\\u1f5b\\u1f5d\\u1f5f-\\u1f7d"
    "\\u1f80-\\u1fb4\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-\\u1fc4\\u1fc6-\\u1fcc"
    "\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4"
    "\\u1ff6-\\u1ffc\\u2102\\u2107\\u210a-\\u2113\\u2115\\u2119-\\u211d"
    "\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-\\u2134\\u2139"
    "\\u213c-\\u213f\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b"
    "\\u2c7e-\\u2ce4\\u2ceb-\\u2cee\\u2cf2\\u2cf3\\ua640-\\ua66d"
    "\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-\\ua78e"
    "\\uab70-\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a"
    "\\uff41-\\uff5a\\U00010400-\\U0001044f\\U000104b0-\\U000104d3"
    "\\U000104d8-\\U000104fb\\U00010c80-\\U00010cb2\\U00010cc0-\\U00010cf2"
    "\\U000118a0-\\U000118df\\U0001e900-\\U0001e943"
    "]+";
static const char signs[] =
    "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-"
    "\\u3002]+";
static const char asian[] = "[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+";
static const char nordic[] =
    " ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+";
static const char digit[] = "\\p{N}", digits[] = "\\p{N}+",
                  three[] = "\\p{N}{1,3}", ascii[] = "[0-9][0-9][0-9]",
                  line[] = "[\\r\\n]";

/* clang-format off */
static const struct pretoken_rules rules[] = {
    /* name              stages                whole  begins */
    {"gpt-2",             {gpt2}, false, false},
    {"phi-2",             {gpt2}, false, false},
    {"mpt",               {gpt2}, false, false},
    {"olmo",              {gpt2}, false, false},
    {"exaone4",           {gpt2}, false, false},
    {"jais",              {gpt2}, false, false},
    {"trillion",          {gpt2}, false, false},
    {"granite-docling",   {gpt2}, false, false},
    {"gigachat",          {gpt2}, false, false},
    {"a.x-4.0",           {gpt2}, false, false},
    {"mellum",            {gpt2}, false, false},
    {"jina-es",           {gpt2}, false, false},
    {"jina-de",           {gpt2}, false, false},
    {"jina-v2-es",        {gpt2}, false, false},
    {"jina-v2-de",        {gpt2}, false, false},
    {"modern-bert",       {gpt2}, false, false},
    {"smollm",            {digit, gpt2}, false, false},
    {"starcoder",         {digit, gpt2}, false, false},
    {"refact",            {digit, gpt2}, false, false},
    {"command-r",         {digit, gpt2}, false, false},
    {"codeshell",         {digit, gpt2}, false, false},
    {"exaone",            {digit, gpt2}, false, false},
    {"minerva-7b",        {digit, gpt2}, false, false},
    {"mellum2",           {digit, gpt2}, false, false},
    {"llama-bpe",         {llama3}, true, true},
    {"llama3",            {llama3}, true, true},
    {"llama-v3",          {llama3}, true, true},
    {"falcon3",           {llama3}, true, true},
    {"falcon-h1",         {llama3}, true, true},
    {"pixtral",           {llama3}, true, true},
    {"lfm2",              {llama3}, true, true},
    {"midm-2.0",          {llama3}, true, true},
    {"jina-v5-nano",      {llama3}, true, true},
    {"dbrx",              {llama3}, false, false},
    {"smaug-bpe",         {llama3}, false, false},
    {"chatglm-bpe",       {llama3}, false, false},
    {"glm4",              {llama3}, true, false},
    {"glm5",              {llama3}, true, false},
    {"minicpm5",          {three, llama3}, true, false},
    {"qwen2",             {qwen2}, false, false},
    {"deepseek-r1-qwen",  {qwen2}, false, false},
    {"stablelm2",         {qwen2}, false, false},
    {"megrez",            {qwen2}, false, false},
    {"hunyuan",           {qwen2}, false, false},
    {"kormo",             {qwen2}, false, false},
    {"f2llmv2",           {qwen2}, false, false},
    {"solar-open",        {qwen2}, false, false},
    {"grok-2",            {qwen2}, false, false},
    {"qwen35",            {qwen35}, false, false},
    {"seed-coder",        {seed}, false, false},
    {"bailingmoe",        {bailing}, false, false},
    {"bailingmoe2",       {bailing}, false, false},
    {"llada-moe",         {bailing}, false, false},
    {"ufakzeka",          {turkish}, false, false},
    {"tekken",            {tekken}, true, true},
    {"gpt-4o",            {gpt4o}, false, false},
    {"llama4",            {gpt4o}, false, false},
    {"kanana2",           {gpt4o}, false, false},
    {"talkie",            {gpt4o}, false, false},
    {"minimax-m2",        {gpt4o}, false, false},
    {"deepseek-llm",      {line, cased, signs, "\\s+$", asian, digits}, false, false},
    {"deepseek-coder",    {line, "\\s?\\p{L}+", "\\s?\\p{P}+", asian, digit}, false, false},
    {"deepseek-v3",       {three, "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", deepseek3}, false, false},
    {"hunyuan-dense",     {three, "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", deepseek3}, false, false},
    {"joyai-llm",         {three, "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", deepseek3}, false, false},
    {"hy_v4",             {three, "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+", deepseek3}, false, false},
    {"poro-chat",         {nordic}, false, false},
    {"bloom",             {nordic}, false, false},
    {"gpt3-finnish",      {nordic}, false, false},
    {"viking",            {nordic, digit}, false, false},
    {"falcon",            {"[\\p{P}$+<=>^~|`]+", gpt2, ascii}, false, false},
    {"default",           {"[\\p{P}$+<=>^~|]+", gpt2, digits, ascii}, false, false},
    {"",                  {"[\\p{P}$+<=>^~|]+", gpt2, digits, ascii}, false, false},
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

uint32_t pretoken_read(const char *text, size_t left, size_t *used)
{
    /* the least code point of so many bytes: RFC 3629, section 3 */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    const unsigned lead = at[0];
    const size_t n = lead < 0x80             ? 1
                     : (lead & 0xe0) == 0xc0 ? 2
                     : (lead & 0xf0) == 0xe0 ? 3
                     : (lead & 0xf8) == 0xf0 ? 4
                                             : 0;
    uint32_t code = n == 1 ? lead : n ? lead & (0x7fu >> n) : 0;

    *used = 1;
    if (n == 0 || n > left)
        return NO_CHARACTER;
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return NO_CHARACTER;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return NO_CHARACTER;
    *used = n;
    return code;
}

uint32_t *pretoken_decode(const char *text, size_t nbytes, size_t *n)
{
    uint32_t *code = malloc((nbytes + 1) * sizeof(*code));
    size_t used;

    *n = 0;
    for (size_t at = 0; code && at < nbytes; at += used)
        code[(*n)++] = pretoken_read(text + at, nbytes - at, &used);
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

enum sort { END, SPACE, LETTER, NUMBER, OTHER };

#define IS_IN(table, code)                                                     \
    is_in(table, sizeof(table) / sizeof((table)[0]), code)

static enum sort class_at(const uint32_t *code, size_t n, size_t at)
{
    if (at >= n)
        return END;
    if (IS_IN(letters, code[at]))
        return LETTER;
    if (IS_IN(numbers, code[at]))
        return NUMBER;
    return is_space(code[at]) ? SPACE : OTHER;
}

/* ---- words ---- */

/* The length of a contraction, such as 's or 're, at code[at]; 0 if there is
 * none. */
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

static size_t run_of(const uint32_t *code, size_t n, size_t at, enum sort which,
                     size_t most)
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

/*
 * The end of the word that begins at code[from], by the expression of GPT-2; or
 * with `lines` of Llama 3, where at most `most` digits are a word.
 */
static size_t next_word(const uint32_t *code, size_t n, size_t from, bool lines,
                        size_t most)
{
    const size_t ending = contraction(code, n, from, lines);
    const size_t lead = code[from] == ' ';
    const enum sort own = class_at(code, n, from);
    const enum sort next = class_at(code, n, from + 1);
    const enum sort led = lead ? next : own;

    if (ending)
        return from + ending;
    if (lines ? own == LETTER ||
                    (next == LETTER && own != NUMBER && !ends_line(code[from]))
              : led == LETTER) {
        const size_t skip = own != LETTER;

        return from + skip + run_of(code, n, from + skip, LETTER, SIZE_MAX);
    }
    if (lines && own == NUMBER)
        return from + run_of(code, n, from, NUMBER, most);
    if (!lines && led == NUMBER)
        return from + lead + run_of(code, n, from + lead, NUMBER, most);
    if (led == OTHER) {
        size_t end = from + lead;

        end += run_of(code, n, end, OTHER, SIZE_MAX);
        while (lines && end < n && ends_line(code[end]))
            end++;
        return end;
    }
    if (own == SPACE)
        return space_end(code, n, from, lines);
    return from + 1;
}

/* ---- regular expressions ---- */

/*
 * The supported syntax: alternatives; characters, classes, \s, \S, \p{.} and
 * \uXXXX; ?, *, +, {m} and {m,n}, as many as match; groups (?:) with ? at most,
 * without backtracking into them; (?!) of one character; $. \p{U} and \p{D} are
 * letters but small and but capital ones of ASCII: llama.cpp takes these for
 * the capital and the small letters of Unicode.
 */
struct pattern {
    const uint32_t *at, *end;
};

#define NO_MATCH SIZE_MAX

/* The number of digits behind \u or \U. */
static size_t digits_of(uint32_t letter)
{
    return letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

/* The end of the character, class or group that starts at p. */
static const uint32_t *behind(const uint32_t *p)
{
    const uint32_t close = *p == '[' ? ']' : ')';

    if (*p == '\\')
        return p[1] == 'p' ? p + 5 : p + 2 + digits_of(p[1]);
    if (*p != '[' && *p != '(')
        return p + 1;
    for (p++; *p != close;)
        p = close == ']' && *p != '\\' ? p + 1 : behind(p);
    return p + 1;
}

/* Reads a literal character of a pattern and moves *p past it. */
static uint32_t literal(const uint32_t **p)
{
    const uint32_t *at = *p;
    uint32_t code = *at;

    *p = *at == '\\' ? behind(at) : at + 1;
    if (*at != '\\')
        return code;
    if (digits_of(at[1]) == 0)
        return at[1] == 'r' ? '\r' : at[1] == 'n' ? '\n' : at[1];
    code = 0;
    for (at += 2; at < *p; at++)
        code = code * 16 + (*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return code;
}

static bool is_letter(uint32_t code)
{
    return IS_IN(letters, code);
}

/* Whether a code point is of a category, by its letter. */
static bool is_of(uint32_t category, uint32_t code)
{
    switch (category) {
    case 'L':
        return is_letter(code);
    case 'N':
        return IS_IN(numbers, code);
    case 'M':
        return IS_IN(marks, code);
    case 'P':
        return IS_IN(punctuation, code);
    case 'S':
        return IS_IN(symbols, code);
    case 'U':
        return is_letter(code) && !(code >= 'a' && code <= 'z');
    default:
        return is_letter(code) && !(code >= 'A' && code <= 'Z');
    }
}

/* Whether code matches the class element, or single character, at *p; moves *p
 * past it. */
static bool element_has(const uint32_t **p, uint32_t code)
{
    const uint32_t *at = *p;
    uint32_t first, last;

    if (*at == '\\' && (at[1] == 's' || at[1] == 'S' || at[1] == 'p')) {
        *p = behind(at);
        return at[1] == 'p' ? is_of(at[3], code)
                            : is_space(code) == (at[1] == 's');
    }
    first = last = literal(p);
    if (**p == '-' && (*p)[1] != ']') {
        ++*p;
        last = literal(p);
    }
    return code >= first && code <= last;
}

static bool atom_has(const uint32_t *p, uint32_t code)
{
    bool has = false, negated;

    /* treated as an ASCII space, so that no range of other characters has it */
    if (code > 127 && is_space(code))
        code = 11;
    if (*p != '[')
        return *p == '\\' ? element_has(&p, code) : *p == code;
    negated = p[1] == '^';
    for (p += 1 + negated; *p != ']';)
        has |= element_has(&p, code);
    return has != negated;
}

/* Reads the quantifier behind an atom; returns the pattern behind it. */
static const uint32_t *read_times(const uint32_t *p, size_t *least,
                                  size_t *most)
{
    *least = *p == '?' || *p == '*' ? 0 : 1;
    *most = *p == '*' || *p == '+' ? SIZE_MAX : 1;
    if (*p == '{') { /* single digits */
        *least = p[1] - '0';
        *most = p[2] == ',' ? p[3] - '0' : *least;
        return p + (p[2] == ',' ? 5 : 3);
    }
    return p + (*p == '?' || *p == '*' || *p == '+');
}

static size_t match_any(struct pattern p, const uint32_t *code, size_t n,
                        size_t at);

/* The end of what matches a sequence from code[at] on. */
static size_t match(struct pattern p, const uint32_t *code, size_t n, size_t at)
{
    const uint32_t *atom = p.at, *next;
    size_t least, most, count = 0, end = NO_MATCH;

    if (p.at == p.end)
        return at;
    next = behind(atom);
    if (*atom == '$')
        return at == n ? at : NO_MATCH;
    if (*atom == '(' && atom[2] == '!')
        return at < n && atom_has(atom + 3, code[at])
                   ? NO_MATCH
                   : match((struct pattern){next, p.end}, code, n, at);
    p.at = read_times(next, &least, &most);
    if (*atom == '(') {
        const struct pattern inner = {atom + 3, next - 1};

        end = match_any(inner, code, n, at);
        return end != NO_MATCH ? match(p, code, n, end)
               : least == 0    ? match(p, code, n, at)
                               : NO_MATCH;
    }
    while (at + count < n && count < most && atom_has(atom, code[at + count]))
        count++;
    for (; end == NO_MATCH && count >= least; count--) {
        end = match(p, code, n, at + count);
        if (count == 0)
            break;
    }
    return end;
}

/* The same for the first alternative that matches. */
static size_t match_any(struct pattern p, const uint32_t *code, size_t n,
                        size_t at)
{
    while (p.at < p.end) {
        struct pattern one = p;
        size_t end;

        for (one.end = p.at; one.end < p.end && *one.end != '|';)
            one.end = behind(one.end);
        end = match(one, code, n, at);
        if (end != NO_MATCH)
            return end;
        p.at = one.end + (one.end < p.end);
    }
    return NO_MATCH;
}

/* ---- cutting ---- */

/* The ends of words so far, which the next stage reads, and those it makes. */
struct words {
    size_t *ends, *made;
    size_t n, nmade;
};

static void add_end(struct words *w, size_t end)
{
    if (w->nmade == 0 || w->made[w->nmade - 1] < end)
        w->made[w->nmade++] = end;
}

/* How many characters behind code[from], where no match begins, begin none
 * either: where all matches begin with a run, the rest of that run, behind each
 * character of which the match was tried to go on. */
static size_t none_behind(struct pattern p, const uint32_t *code, size_t end,
                          size_t from)
{
    size_t run = 0;

    if (*p.at == '(' || *behind(p.at) != '+')
        return 0;
    for (const uint32_t *at = p.at; at < p.end; at = behind(at))
        if (*at == '|')
            return 0;
    while (from + run < end && atom_has(p.at, code[from + run]))
        run++;
    return run ? run - 1 : 0;
}

/* Words of code[from .. end - 1] by one stage. */
static void cut_word(struct words *w, const char *stage, struct pattern p,
                     const uint32_t *code, size_t from, size_t end)
{
    while (from < end && (stage == gpt2 || stage == llama3 || stage == qwen2)) {
        from = next_word(code, end, from, stage != gpt2,
                         stage == gpt2     ? SIZE_MAX
                         : stage == llama3 ? 3
                                           : 1);
        add_end(w, from);
    }
    for (; from < end; from++) {
        const size_t found = match_any(p, code, end, from);

        if (found == NO_MATCH || found == from) {
            from += none_behind(p, code, end, from);
            continue;
        }
        if (from > 0)
            add_end(w, from);
        add_end(w, found);
        from = found - 1;
    }
    add_end(w, end);
}

static bool run_stage(struct words *w, const char *stage, const uint32_t *code)
{
    size_t length, *swap;
    uint32_t *pattern = pretoken_decode(stage, strlen(stage), &length);

    if (!pattern)
        return false;
    pattern[length] = 0; /* pretoken_decode() leaves room */
    w->nmade = 0;
    for (size_t i = 0; i < w->n; i++)
        cut_word(w, stage, (struct pattern){pattern, pattern + length}, code,
                 i ? w->ends[i - 1] : 0, w->ends[i]);
    swap = w->ends;
    w->ends = w->made;
    w->made = swap;
    w->n = w->nmade;
    free(pattern);
    return true;
}

size_t *pretoken_cut(const struct pretoken_rules *r, const uint32_t *code,
                     size_t n, size_t *count)
{
    struct words w = {.ends = malloc((n + 1) * sizeof(size_t)),
                      .made = malloc((n + 1) * sizeof(size_t))};
    bool good = w.ends && w.made;

    if (good && n) {
        w.ends[0] = n;
        w.n = 1;
    }
    for (size_t s = 0; good && s < 6 && r->stages[s]; s++)
        good = run_stage(&w, r->stages[s], code);
    free(w.made);
    *count = w.n;
    if (good)
        return w.ends;
    free(w.ends);
    return NULL;
}
