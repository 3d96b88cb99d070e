/* search.c - finds the code objects in a file */
/* For memmem; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "search.h"
#include "archive.h"
#include "objfile.h"

#include "../blob_head.h"

#include <stdio.h>
#include <string.h>

/* The string at an offset of the head, if it ends in front of the data and
 * nothing in it can trouble a terminal. */
static const char *name_at(const unsigned char *blob,
                           const struct kpk_blob *head, uint32_t at)
{
    if (at < sizeof(*head) || at >= head->data_at)
        return NULL;
    for (uint32_t i = at; i < head->data_at; i++) {
        if (blob[i] == '\0')
            return (const char *)blob + at;
        if (blob[i] <= ' ' || blob[i] > '~')
            return NULL;
    }
    return NULL;
}

/* Fills `out` from the blob at out->at; the fault is NULL if it is sound. */
static const char *read_head(const struct scan *scan, struct found *out)
{
    const unsigned char *blob = scan->bytes + out->at;
    const size_t left = scan->nbytes - out->at;
    struct kpk_blob *head = &out->head;
    const char *fault;

    if (left < sizeof(*head))
        return "the file ends within its head";
    memcpy(head, blob, sizeof(*head));
    fault = blob_head_fault(head);
    if (fault)
        return fault;
    if (head->data_at > left || head->stored_nbytes > left - head->data_at)
        return "the file ends before it does";
    out->pack = name_at(blob, head, head->pack);
    out->module = name_at(blob, head, head->module);
    out->target = name_at(blob, head, head->target);
    if (!out->pack || !out->module || !out->target)
        return "its head has no proper names";
    out->stored = blob + head->data_at;
    return NULL;
}

static void add(struct scan *scan, size_t at)
{
    struct found *found = scan_add(scan);

    found->at = at;
    found->fault = read_head(scan, found);
}

/* Whether it is a thin archive, as `ar rcT` and some build systems make. */
static bool is_thin(const struct scan *scan)
{
    static const char magic[] = "!<thin>\n";

    return scan->nbytes >= strlen(magic) &&
           memcmp(scan->bytes, magic, strlen(magic)) == 0;
}

/* Reports if a file is truncated, or has no code objects. */
static bool judge(struct scan *scan)
{
    const uint64_t whole = objfile_whole_nbytes(scan->bytes, scan->nbytes);

    scan->cut = whole > scan->nbytes;
    if (scan->cut)
        (void)fprintf(stderr,
                      "kpack: %s is cut short: it has %zu of at least %llu "
                      "bytes%s\n",
                      scan->path, scan->nbytes, (unsigned long long)whole,
                      scan->n ? "" : ", and no pack made by kpack in them");
    else if (!scan->n)
        (void)fprintf(
            stderr, "kpack: %s holds no pack made by kpack%s\n", scan->path,
            is_thin(scan) ? ": it is a thin archive, of the names of object "
                            "files alone. `ar t` lists them"
                          : "");
    return scan->n > 0;
}

/* Finds the heads that begin in one part of the file between holes. `at` is the
 * end of the last code object. */
static size_t find_heads(struct scan *out, const struct extent *part, size_t at)
{
    /* In two pieces, so that this very program does not seem to have one. */
    static const unsigned char tail[] = {'B', 'L', 'O', 'B',
                                         KPK_BLOB_MAGIC_TAIL};
    unsigned char magic[16] = "KPACK ";
    /* The magic's last byte may be the first one of a hole. */
    const size_t end = part->to + (part->to < out->nbytes);

    memcpy(magic + 6, tail, sizeof(tail));
    if (at < part->from)
        at = part->from;
    while (at < end) {
        const unsigned char *next =
            os_find(out->bytes + at, end - at, magic, sizeof(magic));
        const struct found *found;

        if (!next)
            break;
        add(out, (size_t)(next - out->bytes));
        found = &out->found[out->n - 1];
        at = found->at + sizeof(magic);
        if (!found->fault)
            at = found->at + found->head.data_at + found->head.stored_nbytes;
    }
    return at;
}

bool search_file(const char *path, struct scan *out)
{
    size_t at = 0;

    if (!scan_read(path, out))
        return false;
    if (archive_scan(out))
        return archive_is_sound(out);
    for (size_t i = 0; i < out->ndata; i++)
        at = find_heads(out, &out->data[i], at);
    return archive_scan_library(out) || judge(out);
}

void search_free(struct scan *scan)
{
    archive_free(scan);
    scan_free(scan);
}
