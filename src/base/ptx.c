/* ptx.c - reads what PTX text says of its kernels
 *
 * PTX ISA, "Kernel and Function Directives", "Parameter Space", "Performance-
 * Tuning Directives". Only the heads of entries are read; their bodies are
 * skipped by counting braces, and searched for griddepcontrol.wait. Attributes
 * that the driver's compiler decides, such as registers, are 0.
 */
#include "ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target_id.h"

enum { WORD_MAX = 1024, PTX_ARGS_MAX = 4096, DEFAULT_MAX_BLOCK = 1024 };

struct reader {
    struct codeobj *co;
    const char *at;
    const char *end;
    char word[WORD_MAX]; /* the last one taken; "" at the end */
    char *error;
};

static bool fail(struct reader *r, const char *what)
{
    snprintf(r->error, CODEOBJ_ERROR_MAX, "PTX: %s near \"%.64s\"", what,
             r->word);
    return false;
}

static void skip_comments(struct reader *r)
{
    while (r->at < r->end) {
        if (isspace((unsigned char)*r->at)) {
            r->at++;
        } else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '/') {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*') {
            r->at += 2;
            while (r->end - r->at > 1 && !(r->at[0] == '*' && r->at[1] == '/'))
                r->at++;
            r->at += r->end - r->at > 1 ? 2 : r->end - r->at;
        } else {
            return;
        }
    }
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' ||
           c == '%' || c == '-';
}

/* Takes a word, a string, or one other character; false at the end. */
static bool take(struct reader *r)
{
    size_t n = 0;

    skip_comments(r);
    if (r->at < r->end && *r->at == '"') {
        do
            r->at++;
        while (r->at < r->end && *r->at != '"');
        r->at += r->at < r->end;
        r->word[n++] = '"';
    } else if (r->at < r->end && !in_word(*r->at)) {
        r->word[n++] = *r->at++;
    } else {
        while (r->at < r->end && in_word(*r->at) && n < WORD_MAX - 1)
            r->word[n++] = *r->at++;
    }
    r->word[n] = '\0';
    return n > 0;
}

static bool is(const struct reader *r, const char *text)
{
    return strcmp(r->word, text) == 0;
}

static bool take_number(struct reader *r, uint32_t most, uint32_t *out)
{
    char *end;
    unsigned long value;

    if (!take(r))
        return fail(r, "the file ends");
    value = strtoul(r->word, &end, 0);
    if (end == r->word || *end || value > most)
        return fail(r, "no number, or too large a one,");
    *out = (uint32_t)value;
    return true;
}

/* Bytes of a fundamental type, ".f32"; 0 if the word is none. */
static uint32_t type_nbytes(const char *word)
{
    static const char *const sizes[] = {"8", "16", "32", "64"};

    if (word[0] != '.' || !word[1] || !strchr("busf", word[1]))
        return 0;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(word + 2, sizes[i]) == 0)
            return 1u << i;
    return 0;
}

static bool add_arg(struct reader *r, struct codeobj_kernel *k, uint32_t size,
                    uint32_t align, enum kpk_arg_kind kind)
{
    const size_t i = k->nargs;
    struct codeobj_arg *args;
    const uint32_t before = i ? k->args[i - 1].offset + k->args[i - 1].size : 0;

    if (i == PTX_ARGS_MAX)
        return fail(r, "too many parameters");
    args = realloc(k->args, (i + 1) * sizeof(*args));
    if (!args)
        return fail(r, "out of memory");
    k->args = args;
    args[i] = (struct codeobj_arg){
        strdup(""), (before + align - 1) / align * align, size, kind};
    k->nargs++;
    k->attrs.kernarg_nbytes = args[i].offset + size;
    return args[i].name ? true : fail(r, "out of memory");
}

/* .param [.align N] TYPE [.ptr [SPACE] [.align N]] NAME [ '[' N ']' ] */
static bool read_param(struct reader *r, struct codeobj_kernel *k)
{
    enum kpk_arg_kind kind = KPK_ARG_UNKNOWN;
    uint32_t align = 0;
    uint32_t size = 0;
    uint32_t count = 1;
    uint32_t unused;

    if (!is(r, ".param"))
        return fail(r, "no parameter");
    while (take(r) && !is(r, ",") && !is(r, ")")) {
        if (is(r, ".align")) {
            /* After .ptr, .align belongs to the memory behind the pointer. */
            if (!take_number(r, 4096, size ? &unused : &align))
                return false;
        } else if (is(r, ".ptr")) {
            kind = KPK_ARG_GLOBAL_BUFFER;
        } else if (is(r, "[")) {
            if (!take_number(r, 1u << 16, &count))
                return false;
            if (!take(r) || !is(r, "]"))
                return fail(r, "a damaged parameter");
            kind = KPK_ARG_BY_VALUE;
        } else if (type_nbytes(r->word)) {
            size = type_nbytes(r->word);
        }
    }
    if (!size || !count)
        return fail(r, "a parameter without a type");
    if (!align)
        align = size;
    return add_arg(r, k, size * count, align, kind);
}

static bool read_block(struct reader *r, uint32_t block[3])
{
    block[1] = block[2] = 1;
    for (int i = 0; i < 3; i++) {
        const char *back;

        if (!take_number(r, 1u << 20, &block[i]))
            return false;
        back = r->at;
        if (!take(r) || !is(r, ",")) {
            r->at = back;
            return true;
        }
    }
    return fail(r, "more than three dimensions of a block");
}

/* waits: set if the body has what a kernel waits for earlier launches with;
 * may be NULL */
static bool skip_body(struct reader *r, uint8_t *waits)
{
    int depth = 1; /* the first brace has been taken */

    while (depth > 0) {
        if (!take(r))
            return fail(r, "truncated: the file ends within a kernel");
        depth += is(r, "{") - is(r, "}");
        if (waits && is(r, "griddepcontrol.wait"))
            *waits = 1;
    }
    return true;
}

/* Behind .entry: NAME ( parameters ) directives { body } */
static bool read_entry(struct reader *r)
{
    struct codeobj *co = r->co;
    struct codeobj_kernel *kernels =
        realloc(co->kernels, (co->nkernels + 1) * sizeof(*kernels));
    uint32_t most[3] = {DEFAULT_MAX_BLOCK, 1, 1};
    struct codeobj_kernel *k;

    if (!kernels)
        return fail(r, "out of memory");
    co->kernels = kernels;
    k = &kernels[co->nkernels];
    memset(k, 0, sizeof(*k));
    if (!take(r))
        return fail(r, "truncated: the file ends at an entry");
    k->name = strdup(r->word);
    if (!k->name)
        return fail(r, "out of memory");
    co->nkernels++;
    if (!take(r))
        return fail(r, "truncated: the file ends at an entry");
    while (is(r, "(") || is(r, ",")) {
        if (!take(r))
            return fail(r, "truncated: the file ends at an entry");
        if (is(r, ")"))
            break;
        if (!read_param(r, k))
            return false;
    }
    while (!is(r, "{")) {
        if (is(r, ".maxntid") && !read_block(r, most))
            return false;
        if (is(r, ".reqntid") && !read_block(r, k->attrs.reqd_block))
            return false;
        if (!take(r) || is(r, ";"))
            return fail(r, "an entry without a body");
    }
    if (k->attrs.reqd_block[0])
        memcpy(most, k->attrs.reqd_block, sizeof(most));
    k->attrs.max_block = most[0] * most[1] * most[2];
    k->attrs.kernarg_align = 8;
    k->attrs.wave_size = 32;
    return skip_body(r, &k->attrs.waits);
}

/* "7.8" gives 78; 0 for a word without a version. */
static unsigned isa_version(const char *word)
{
    char *end;
    const unsigned long major = strtoul(word, &end, 10);

    if (end == word || major > 99 || end[0] != '.' ||
        !isdigit((unsigned char)end[1]) || end[2])
        return 0;
    return (unsigned)major * 10 + (unsigned)(end[1] - '0');
}

/* .version 7.8 is 78, .target sm_80a is compute_80a. */
static bool read_directives(struct reader *r)
{
    while (take(r)) {
        if (is(r, ".version")) {
            r->co->cov = take(r) ? isa_version(r->word) : 0;
            if (!r->co->cov)
                return fail(r, "no version");
        } else if (is(r, ".target")) {
            if (!take(r) || strncmp(r->word, "sm_", 3) != 0 ||
                strlen(r->word) > 8)
                return fail(r, "no target");
            snprintf(r->co->target, sizeof(r->co->target), "compute_%.5s",
                     r->word + 3);
            if (!target_is_nvidia(r->co->target))
                return fail(r, "a target that is none");
        } else if (is(r, ".entry")) {
            if (!read_entry(r))
                return false;
        } else if (is(r, "{") && !skip_body(r, NULL)) {
            return false;
        }
    }
    return true;
}

bool ptx_is(const void *data, size_t nbytes)
{
    struct reader r = {.at = data, .end = (const char *)data + nbytes};

    return take(&r) && is(&r, ".version");
}

bool ptx_read(struct codeobj *co, char error[CODEOBJ_ERROR_MAX])
{
    struct reader r = {.co = co,
                       .at = (const char *)co->data,
                       .end = (const char *)co->data + co->nbytes,
                       .error = error};

    if (memchr(co->data, 0, co->nbytes))
        return fail(&r, "a byte 0 in the text");
    if (!read_directives(&r))
        return false;
    if (!co->target[0])
        return fail(&r, "no .target");
    if (co->nkernels == 0)
        return fail(&r, "no .entry");
    if (codeobj_sort(co))
        return fail(&r, "two entries of one name");
    return true;
}
