/* kernel_print.c - prints the output of kernels' printf()
 *
 * A buffer of texts begins with the number of bytes used and its size. A record
 * begins with a word of control: its size in bytes times 4, plus 2 if the
 * record has a hash of a format in the code object's metadata, plus 1 if the
 * text goes to stderr. Then come the hash or the format, and the arguments.
 */
#define _GNU_SOURCE
#include "kernel_print.h"

#include "process_state.h"

#include "../base/allocation.h"
#include "../base/host_access.h"
#include "../base/loaded_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_NBYTES = 4 << 20, BUFFER_HEAD = 8 };
enum { TO_STDERR = 1, HASHED = 2, SIZE_AT = 2 };

uint64_t print_take(struct print_args *a)
{
    return a->at < a->end ? *a->at++ : 0;
}

const char *print_take_text(struct print_args *a)
{
    const char *text = a->at < a->end ? (const char *)a->at : "";

    if (a->at < a->end)
        a->at += strlen(text) / sizeof(uint64_t) + 1;
    return text;
}

/* A conversion: flags, width and precision with their stars filled in, the
 * length that it was written with, its letter. */
struct conversion {
    char text[64]; /* "%-8.3" */
    size_t n;
    unsigned length; /* bytes of an integer */
    char letter;
};

static const char *read_conversion(const char *at, struct conversion *c,
                                   struct print_args *a)
{
    memset(c, 0, sizeof(*c));
    c->length = 4;
    c->text[c->n++] = *at++;
    while (*at && c->n < 40 && strchr("-+ #0123456789.*", *at)) {
        if (*at == '*')
            c->n +=
                (size_t)snprintf(c->text + c->n, 12, "%d", (int)print_take(a));
        else
            c->text[c->n++] = *at;
        at++;
    }
    for (; *at && strchr("hlLqjzt", *at); at++)
        c->length = *at == 'h' ? c->length / 2 : 8;
    c->letter = *at;
    return *at ? at + 1 : at;
}

static int64_t as_signed(uint64_t v, unsigned nbytes)
{
    const unsigned shift = 64 - 8 * nbytes;

    return (int64_t)(v << shift) >> shift;
}

static uint64_t as_unsigned(uint64_t v, unsigned nbytes)
{
    return v << (64 - 8 * nbytes) >> (64 - 8 * nbytes);
}

static int print_conversion(FILE *to, struct conversion *c,
                            struct print_args *a)
{
    char *end = c->text + c->n;
    double real;

    switch (c->letter) {
    case 'd':
    case 'i':
        memcpy(end, "lld", 4);
        return fprintf(to, c->text,
                       (long long)as_signed(print_take(a), c->length));
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        end[0] = end[1] = 'l';
        end[2] = c->letter;
        return fprintf(
            to, c->text,
            (unsigned long long)as_unsigned(print_take(a), c->length));
    case 'c':
        end[0] = 'c';
        return fprintf(to, c->text, (int)print_take(a));
    case 'p':
        end[0] = 'p';
        return fprintf(to, c->text, (void *)(uintptr_t)print_take(a));
    case 's':
        end[0] = 's';
        return fprintf(to, c->text, print_take_text(a));
    case 'n':
        print_take(a);
        return 0;
    default: /* floats; other letters are printed as they are */
        if (!c->letter || !strchr("fFeEgGaA", c->letter))
            return fputs(c->text, to) < 0 ? -1 : 0;
        end[0] = c->letter;
        memcpy(&real, &(uint64_t){print_take(a)}, sizeof(real));
        return fprintf(to, c->text, real);
    }
}

int print_format(FILE *to, const char *format, struct print_args *a)
{
    int total = 0, n = 0;

    while (*format && n >= 0) {
        const char *percent = strchrnul(format, '%');
        struct conversion c;

        if (percent > format) {
            n = fprintf(to, "%.*s", (int)(percent - format), format);
            format = percent;
        } else if (format[1] == '%') {
            n = fputc('%', to) == EOF ? -1 : 1;
            format += 2;
        } else {
            format = read_conversion(format, &c, a);
            n = print_conversion(to, &c, a);
        }
        total += n;
    }
    return n < 0 ? n : total;
}

/* ---- buffers ------------------------------------------------------------ */

uint64_t print_buffer_new(const struct device *device)
{
    const uint32_t head[2] = {0, BUFFER_NBYTES - BUFFER_HEAD};
    const struct sim_alloc *a =
        sim_mem_alloc(device->sim->ordinal, BUFFER_NBYTES, 0, SIM_MEM_INTERNAL);

    if (!a)
        return 0;
    memcpy(sim_mem_host_view(a->base, sizeof(head)), head, sizeof(head));
    sim_mem_mark_written(a->base, BUFFER_NBYTES);
    return a->base;
}

static const char *find_format(const struct sim_code_object *object,
                               uint64_t hash)
{
    uint32_t i;

    for (i = 0; i < object->nformats; i++)
        if (object->formats[i].hash == hash)
            return object->formats[i].text;
    process_complain(
        "a kernel printed with a format that is not in its code object");
    return NULL;
}

/* `words` has the record after its control word, and a 0 behind it. */
static void print_record(uint32_t control, const uint64_t *words, size_t n,
                         const struct sim_code_object *object)
{
    struct print_args a = {words, words + n};
    const char *format = control & HASHED ? find_format(object, print_take(&a))
                                          : print_take_text(&a);

    if (format)
        print_format(control & TO_STDERR ? stderr : stdout, format, &a);
}

void print_buffer_flush(uint64_t buffer, const struct sim_code_object *object)
{
    const uint8_t *bytes = sim_mem_host_view(buffer, BUFFER_NBYTES);
    uint64_t *words = malloc(BUFFER_NBYTES);
    uint32_t taken = 0, at, control, size;

    if (bytes)
        memcpy(&taken, bytes, sizeof(taken));
    if (taken > BUFFER_NBYTES - BUFFER_HEAD)
        taken = BUFFER_NBYTES - BUFFER_HEAD;
    for (at = 0; words && at + sizeof(control) <= taken; at += size) {
        memcpy(&control, bytes + BUFFER_HEAD + at, sizeof(control));
        size = control >> SIZE_AT;
        if (size < sizeof(control) || size > taken - at)
            break; /* not written: the kernel has failed */
        memcpy(words, bytes + BUFFER_HEAD + at + sizeof(control),
               size - sizeof(control));
        words[(size - sizeof(control)) / sizeof(*words)] = 0;
        print_record(control, words, (size - sizeof(control)) / sizeof(*words),
                     object);
    }
    free(words);
}
