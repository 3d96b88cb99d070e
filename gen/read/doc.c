/* doc.c - the comments that a kernel's source has for it */
#include "read/doc.h"

#include "util/alloc_or_exit.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct doc {
    char **lines; /* without line ends */
    size_t n;
};

/* Prints why the source cannot be read; returns NULL. */
static struct doc *unreadable(const char *path, int why, struct doc *doc)
{
    if (why == ENOMEM)
        alloc_none();
    fprintf(stderr, "%s: %s\n", path, strerror(why));
    doc_free(doc);
    return NULL;
}

struct doc *doc_read(const char *path)
{
    struct doc *doc = alloc_new(1, sizeof(*doc));
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t nbytes;
    int why;

    if (!f)
        return errno == ENOENT || errno == ENOTDIR
                   ? doc
                   : unreadable(path, errno, doc);
    errno = 0;
    while ((nbytes = getline(&line, &room, f)) >= 0) {
        while (nbytes > 0 && isspace((unsigned char)line[nbytes - 1]))
            line[--nbytes] = '\0';
        doc->lines = alloc_grow(doc->lines, doc->n, sizeof(*doc->lines));
        doc->lines[doc->n++] = line;
        line = NULL;
        room = 0;
    }
    why = errno; /* 0 at the file's end */
    free(line);
    (void)fclose(f);
    return why ? unreadable(path, why, doc) : doc;
}

void doc_free(struct doc *doc)
{
    if (!doc)
        return;
    for (size_t i = 0; i < doc->n; i++)
        free(doc->lines[i]);
    free(doc->lines);
    free(doc);
}

static const char *skip_blanks(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static bool begins(const char *line, const char *with)
{
    return strncmp(skip_blanks(line), with, strlen(with)) == 0;
}

static bool ends(const char *line, const char *with)
{
    const size_t n = strlen(line), m = strlen(with);

    return n >= m && strcmp(line + n - m, with) == 0;
}

/* One line of a comment without the comment's own signs. */
static void write_text(FILE *f, const char *line)
{
    const char *text = skip_blanks(line);
    size_t n;

    if (strncmp(text, "//", 2) == 0)
        for (text += 2; *text == '/' || *text == '!';)
            text++;
    else if (strncmp(text, "/*", 2) == 0)
        for (text += 2; *text == '*' || *text == '!';)
            text++;
    else if (*text == '*' && text[1] != '/')
        text++;
    n = strlen(text);
    if (ends(text, "*/"))
        for (n -= 2; n && (text[n - 1] == '*' || text[n - 1] == ' ');)
            n--;
    fprintf(f, " *%s", n && *text != ' ' ? " " : "");
    for (size_t i = 0; i < n; i++) {
        fputc(text[i], f);
        if (text[i] == '*' && i + 1 < n && text[i + 1] == '/')
            fputc(' ', f); /* would end our comment */
        if (text[i] == '/' && i + 1 < n && text[i + 1] == '*')
            fputc(' ', f); /* would begin a nested comment */
    }
    fputc('\n', f);
}

/* Writes lines from..to, without lines at both ends that have only the signs of
 * a block comment. */
static size_t write_lines(FILE *f, const struct doc *doc, size_t from,
                          size_t to)
{
    while (from < to && strspn(skip_blanks(doc->lines[from]), "/*! ") ==
                            strlen(skip_blanks(doc->lines[from])))
        from++;
    while (to > from && strspn(skip_blanks(doc->lines[to - 1]), "/*! ") ==
                            strlen(skip_blanks(doc->lines[to - 1])))
        to--;
    for (size_t i = from; i < to; i++)
        write_text(f, doc->lines[i]);
    return to - from;
}

size_t doc_write_file(FILE *f, const struct doc *doc)
{
    size_t end = 0;

    if (doc->n && begins(doc->lines[0], "//"))
        while (end < doc->n && begins(doc->lines[end], "//"))
            end++;
    else if (doc->n && begins(doc->lines[0], "/*"))
        while (end < doc->n && !strstr(doc->lines[end++], "*/"))
            ;
    return write_lines(f, doc, 0, end);
}

/* A line that may stand between a comment and its declaration. */
static bool is_declaration(const char *line)
{
    const char *text = skip_blanks(line);

    return *text && *text != '#' && *text != '}' && !ends(line, ";") &&
           !ends(line, "}") && !ends(line, "\\") && !ends(line, "{");
}

size_t doc_write_line(FILE *f, const struct doc *doc, size_t line)
{
    size_t end = line ? line - 1 : 0, begin;

    if (line == 0 || line > doc->n)
        return 0;
    while (end > 0 && !ends(doc->lines[end - 1], "*/") &&
           !begins(doc->lines[end - 1], "//") &&
           is_declaration(doc->lines[end - 1]))
        end--;
    begin = end;
    if (end > 0 && begins(doc->lines[end - 1], "//")) {
        while (begin > 0 && begins(doc->lines[begin - 1], "//"))
            begin--;
    } else if (end > 0 && ends(doc->lines[end - 1], "*/")) {
        while (begin > 0 && !begins(doc->lines[begin - 1], "/*"))
            begin--;
        begin = begin ? begin - 1 : end; /* no beginning: no comment */
    }
    if (begin == 0 && end) /* the comment belongs to the file */
        return 0;
    return write_lines(f, doc, begin, end);
}
