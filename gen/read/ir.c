/* ir.c - the debug metadata in a file of LLVM IR, as text */
#include "read/ir.h"

#include "util/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits above any real source; they bound the memory for a broken file. */
#define MAX_BYTES ((size_t)2 << 30)
#define MAX_RECORDS 50000000u

struct parameter {
    unsigned subprogram, arg;
    unsigned variable; /* its DILocalVariable */
};

struct ir {
    char *text;           /* lines end in NUL */
    const char **records; /* [nrecords]: behind "!N = ", or NULL */
    size_t nrecords;
    struct ir_kernel *kernels;
    size_t nkernels;
    struct parameter *parameters; /* sorted by subprogram, then arg */
    size_t nparameters;
};

/* Room for one element more in an array of n that grows by doubling. */
static bool grow(void **array, size_t n, size_t nbytes)
{
    void *more;

    if (n & (n - 1)) /* not a power of two: there is room */
        return true;
    more = realloc(*array, (n ? 2 * n : 1) * nbytes);
    if (!more)
        return false;
    *array = more;
    return true;
}

/* ---- fields of a record ---- */

/* The end of a value: a comma or bracket that stands in no other bracket. */
static const char *value_end(const char *at)
{
    int depth = 0;
    bool quoted = false;

    for (; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (*at == '(' || *at == '{')
            depth++;
        if ((*at == ')' || *at == '}') && depth-- == 0)
            break;
        if (*at == ',' && depth == 0)
            break;
    }
    return at;
}

static const char *record(const struct ir *ir, unsigned id)
{
    return id < ir->nrecords ? ir->records[id] : NULL;
}

/* The start of a field's value, or NULL. */
static const char *find_field(const struct ir *ir, unsigned id,
                              const char *field)
{
    const char *at = record(ir, id);
    size_t n = strlen(field);

    at = at ? strchr(at, '(') : NULL;
    while (at && *at && *at != ')') {
        at++;
        while (*at == ' ')
            at++;
        if (strncmp(at, field, n) == 0 && at[n] == ':') {
            at += n + 1;
            while (*at == ' ')
                at++;
            return at;
        }
        at = value_end(at);
    }
    return NULL;
}

bool ir_is(const struct ir *ir, unsigned id, const char *kind)
{
    const char *at = record(ir, id);
    size_t n = strlen(kind);

    if (at && strncmp(at, "distinct ", 9) == 0)
        at += 9;
    return at && *at == '!' && strncmp(at + 1, kind, n) == 0 &&
           at[n + 1] == '(';
}

bool ir_text(const struct ir *ir, unsigned id, const char *field, char *out,
             size_t nbytes)
{
    const char *at = find_field(ir, id, field);
    const char *end = at ? value_end(at) : NULL;
    size_t n;

    *out = '\0';
    if (!at)
        return false;
    if (*at == '"' && end > at + 1 && end[-1] == '"') {
        at++;
        end--;
    }
    n = (size_t)(end - at);
    if (n >= nbytes)
        n = nbytes - 1;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

bool ir_says(const struct ir *ir, unsigned id, const char *field,
             const char *word)
{
    const char *at = find_field(ir, id, field);
    size_t n = strlen(word);

    return at && strncmp(at, word, n) == 0 && at + n == value_end(at);
}

static unsigned reference(const char *at)
{
    unsigned long id;
    char *end;

    if (!at || at[0] != '!' || !isdigit((unsigned char)at[1]))
        return IR_NONE;
    id = strtoul(at + 1, &end, 10);
    return id < MAX_RECORDS ? (unsigned)id : IR_NONE;
}

unsigned ir_ref(const struct ir *ir, unsigned id, const char *field)
{
    return reference(find_field(ir, id, field));
}

unsigned long long ir_number(const struct ir *ir, unsigned id,
                             const char *field, unsigned long long otherwise)
{
    const char *at = find_field(ir, id, field);

    return at && isdigit((unsigned char)*at) ? strtoull(at, NULL, 10)
                                             : otherwise;
}

/* ---- lists ---- */

/* The first item of a list, or NULL if the record is no list or is empty. */
static const char *list_begin(const struct ir *ir, unsigned id)
{
    const char *at = record(ir, id);

    if (at && strncmp(at, "distinct ", 9) == 0)
        at += 9;
    if (!at || strncmp(at, "!{", 2) != 0 || at[2] == '}' || !at[2])
        return NULL;
    return at + 2;
}

size_t ir_list_count(const struct ir *ir, unsigned id)
{
    const char *at = list_begin(ir, id);
    size_t n = at != NULL;

    while (at && *(at = value_end(at)) == ',') {
        at++;
        n++;
    }
    return n;
}

unsigned ir_list_item(const struct ir *ir, unsigned id, size_t i)
{
    const char *at = list_begin(ir, id);

    for (; at && i > 0; i--) {
        at = value_end(at);
        at = *at == ',' ? at + 1 : NULL;
    }
    while (at && *at == ' ')
        at++;
    return reference(at);
}

/* ---- parameters ---- */

static int by_place(const void *a, const void *b)
{
    const struct parameter *x = a, *y = b;

    if (x->subprogram != y->subprogram)
        return x->subprogram < y->subprogram ? -1 : 1;
    return (x->arg > y->arg) - (x->arg < y->arg);
}

bool ir_parameter(const struct ir *ir, unsigned subprogram, unsigned arg,
                  char *out, size_t nbytes)
{
    const struct parameter key = {subprogram, arg, 0};
    const struct parameter *found = NULL;

    if (ir->nparameters)
        found = bsearch(&key, ir->parameters, ir->nparameters, sizeof(key),
                        by_place);
    *out = '\0';
    return found && ir_text(ir, found->variable, "name", out, nbytes) && *out;
}

static bool add_parameter(struct ir *ir, unsigned id)
{
    const unsigned arg = (unsigned)ir_number(ir, id, "arg", 0);

    if (arg == 0)
        return true;
    if (!grow((void **)&ir->parameters, ir->nparameters,
              sizeof(*ir->parameters)))
        return false;
    ir->parameters[ir->nparameters].subprogram = ir_ref(ir, id, "scope");
    ir->parameters[ir->nparameters].arg = arg;
    ir->parameters[ir->nparameters].variable = id;
    ir->nparameters++;
    return true;
}

/* ---- reading ---- */

/* !N = ... */
static bool add_record(struct ir *ir, char *line)
{
    char *end;
    unsigned long id;

    if (line[0] != '!' || !isdigit((unsigned char)line[1]))
        return true;
    id = strtoul(line + 1, &end, 10);
    if (strncmp(end, " = ", 3) != 0 || id >= MAX_RECORDS)
        return true;
    while (ir->nrecords <= id) { /* they stand in order: grows by one mostly */
        if (!grow((void **)&ir->records, ir->nrecords, sizeof(*ir->records)))
            return false;
        ir->records[ir->nrecords++] = NULL;
    }
    ir->records[id] = end + 3;
    return true;
}

/* Adds a kernel if the line is "define ... amdgpu_kernel void @NAME(...) ...
 * !dbg !N {"; NVIDIA's kernels have "ptx_kernel" there. */
static bool add_kernel(struct ir *ir, char *line)
{
    char *name, *end, *debug;

    if (strncmp(line, "define ", 7) != 0)
        return true;
    name = strstr(line, " amdgpu_kernel ");
    if (!name)
        name = strstr(line, " ptx_kernel ");
    debug = name ? strstr(name, " !dbg !") : NULL;
    name = debug ? strchr(name, '@') : NULL;
    if (!name)
        return true;
    name++;
    if (*name == '"')
        end = strchr(++name, '"');
    else
        end = strchr(name, '(');
    if (!end || end > debug)
        return true;
    if (!grow((void **)&ir->kernels, ir->nkernels, sizeof(*ir->kernels)))
        return false;
    ir->kernels[ir->nkernels].name = name;
    ir->kernels[ir->nkernels].subprogram = reference(debug + 6);
    ir->nkernels++;
    *end = '\0';
    return true;
}

static bool read_lines(struct ir *ir)
{
    char *line = ir->text;

    while (line) {
        char *next = strchr(line, '\n');

        if (next)
            *next++ = '\0';
        if (!add_record(ir, line) || !add_kernel(ir, line))
            return false;
        line = next;
    }
    for (unsigned id = 0; id < ir->nrecords; id++)
        if (ir_is(ir, id, "DILocalVariable") && !add_parameter(ir, id))
            return false;
    if (ir->nparameters)
        qsort(ir->parameters, ir->nparameters, sizeof(*ir->parameters),
              by_place);
    return true;
}

/* Takes the text over, which ends in NUL. */
static struct ir *parse(char *text, char error[IR_ERROR_MAX])
{
    struct ir *ir = calloc(1, sizeof(*ir));

    if (!ir) {
        free(text);
        snprintf(error, IR_ERROR_MAX, "out of memory");
        return NULL;
    }
    ir->text = text;
    if (!read_lines(ir)) {
        snprintf(error, IR_ERROR_MAX, "out of memory");
        ir_free(ir);
        return NULL;
    }
    return ir;
}

struct ir *ir_parse(const char *text, size_t nbytes, char error[IR_ERROR_MAX])
{
    char *copy = malloc(nbytes + 1);

    if (!copy) {
        snprintf(error, IR_ERROR_MAX, "out of memory");
        return NULL;
    }
    memcpy(copy, text, nbytes);
    copy[nbytes] = '\0';
    return parse(copy, error);
}

struct ir *ir_read(const char *path, char error[IR_ERROR_MAX])
{
    unsigned char *text;
    size_t nbytes;

    return file_read(path, MAX_BYTES, &text, &nbytes, error)
               ? parse((char *)text, error)
               : NULL;
}

void ir_free(struct ir *ir)
{
    if (!ir)
        return;
    free(ir->text);
    free(ir->records);
    free(ir->kernels);
    free(ir->parameters);
    free(ir);
}

size_t ir_nkernels(const struct ir *ir)
{
    return ir->nkernels;
}

const struct ir_kernel *ir_kernel(const struct ir *ir, size_t i)
{
    return &ir->kernels[i];
}
