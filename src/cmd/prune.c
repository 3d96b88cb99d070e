/* prune.c - kpack prune: takes targets out of an archive
 *
 * A code object that goes leaves its head, which says that it is empty, and
 * its symbol: the tables that name it link as before, and the runtime does not
 * select what is empty. Its section shrinks to the head, which moves all that
 * stands behind it in the member and, in the archive, the members behind.
 *
 * A kept code object that was compressed against one that goes is compressed
 * anew by itself.
 *
 * Prune does not trust the archive. A code object that does not lie wholly in
 * one object file ends the work, and nothing is written. A kept code object
 * whose bytes do not match its SHA-256 ends it too.
 */
#include "cmd.h"
#include "exit_status.h"
#include "libzstd.h"
#include "objfile.h"
#include "search.h"
#include "whole_file.h"
#include "xmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which stay ----------------------------------------------------- */

enum fate { STAYS, GOES, ANEW };

struct prune {
    struct scan scan;
    enum fate *fates; /* [scan.n] */
    size_t nstay, ngo;
    size_t nblank; /* went, but left their room */
    size_t nmet;   /* code objects that lie in object files */
};

/* A word in the list of --keep. */
struct word {
    const char *text;
    size_t nbytes;
};

/* Whether a word is the target's ID or its processor. */
static bool word_names(struct word word, const char *target)
{
    return strncmp(target, word.text, word.nbytes) == 0 &&
           (target[word.nbytes] == '\0' || target[word.nbytes] == ':');
}

/* How a device named by `word` would run code for the target. */
static kpk_fit word_fit(struct word word, const char *target)
{
    char text[64];
    kpk_fit fit;

    if (word.nbytes >= sizeof(text))
        return KPK_FIT_NONE;
    memcpy(text, word.text, word.nbytes);
    text[word.nbytes] = '\0';
    return kpk_target_fit(text, target, &fit, NULL, 0) == KPK_OK ? fit
                                                                 : KPK_FIT_NONE;
}

/* Whether the module has a code object for exactly this target ID, which serves
 * the device better than one for several processors. */
static bool module_has(const struct scan *scan, const struct found *found,
                       struct word word)
{
    for (size_t i = 0; i < scan->n; i++) {
        const struct found *other = &scan->found[i];

        if (scan_is_object(other) && word_names(word, other->target) &&
            other->target[word.nbytes] == '\0' &&
            strcmp(other->module, found->module) == 0 &&
            strcmp(other->pack, found->pack) == 0)
            return true;
    }
    return false;
}

/* Whether a word keeps a code object: one that the word names, or one for the
 * word's device only. If the device might have no other, any that it can run.
 */
static bool word_keeps(const struct scan *scan, struct word word,
                       const struct found *found)
{
    const kpk_fit fit = word_fit(word, found->target);

    return word_names(word, found->target) || fit < KPK_FIT_GENERIC ||
           (fit == KPK_FIT_GENERIC && !module_has(scan, found, word));
}

/* Every word keeps something, or it is a mistake. */
static bool check_words(const struct scan *scan, const char *keep)
{
    while (*keep) {
        const size_t n = strcspn(keep, ",");
        const struct word word = {keep, n};
        bool used = false;

        for (size_t i = 0; i < scan->n && !used; i++)
            used = scan_is_object(&scan->found[i]) &&
                   word_keeps(scan, word, &scan->found[i]);
        if (!used) {
            (void)fprintf(stderr,
                          "kpack: %s has nothing for --keep %.*s; `kpack list "
                          "%s` shows what it has\n",
                          scan->path, (int)n, keep, scan->path);
            return false;
        }
        keep += n + (keep[n] == ',');
    }
    return true;
}

static bool is_kept(const struct scan *scan, const char *keep,
                    const struct found *found)
{
    while (*keep) {
        const size_t n = strcspn(keep, ",");

        if (word_keeps(scan, (struct word){keep, n}, found))
            return true;
        keep += n + (keep[n] == ',');
    }
    return false;
}

static bool refers_to(const struct found *found, const struct found *other)
{
    return found->head.codec != KPK_CODEC_NONE &&
           memcmp(found->head.reference, other->head.sha256, 32) == 0;
}

static bool refuse(const struct scan *scan, const struct found *found,
                   const char *fault)
{
    (void)fprintf(stderr, "kpack: %s: code object at byte %zu: %s\n",
                  scan->path, found->at, fault);
    return false;
}

static bool decide(struct prune *prune, const char *keep)
{
    const struct scan *scan = &prune->scan;

    for (size_t i = 0; i < scan->n; i++) {
        if (scan->found[i].fault)
            return refuse(scan, &scan->found[i], scan->found[i].fault);
        if (!scan_is_object(&scan->found[i]))
            continue;
        prune->fates[i] = is_kept(scan, keep, &scan->found[i]) ? STAYS : GOES;
        prune->nstay += prune->fates[i] == STAYS;
        prune->ngo += prune->fates[i] == GOES;
    }
    for (size_t i = 0; i < scan->n; i++) {
        for (size_t k = 0; k < scan->n && prune->fates[i] == STAYS; k++) {
            if (prune->fates[k] == GOES && scan_is_object(&scan->found[i]) &&
                refers_to(&scan->found[i], &scan->found[k]))
                prune->fates[i] = ANEW;
        }
    }
    return true;
}

/* Kept code objects go into programs, so each must decode to its SHA-256:
 * `kpack verify` accepts an archive that prune writes. */
static bool check_kept(const struct prune *prune)
{
    const struct scan *scan = &prune->scan;

    for (size_t i = 0; i < scan->n; i++) {
        unsigned char *content = NULL;
        const char *fault;

        if (prune->fates[i] == GOES || scan->found[i].head.nbytes == 0)
            continue;
        fault = scan_content(scan, &scan->found[i], &content);
        free(content);
        if (fault)
            return refuse(scan, &scan->found[i], fault);
    }
    return true;
}

/* ---- a blob's new form ------------------------------------------------- */

/* The blob as it shall be, with the NUL that may stand behind it, to be
 * freed. */
static bool new_blob(const struct prune *prune, size_t i,
                     struct objfile_bytes *out)
{
    const struct found *found = &prune->scan.found[i];
    struct kpk_blob head = found->head;
    unsigned char *content = NULL;
    void *stored = NULL;
    size_t nstored = 0;
    const char *fault = NULL;

    if (prune->fates[i] == ANEW) {
        fault = scan_content(&prune->scan, found, &content);
        if (!fault)
            fault =
                zstd_encode(content, (size_t)head.nbytes, &stored, &nstored);
        free(content);
    } else {
        head.nbytes = 0;
        head.codec = KPK_CODEC_NONE;
    }
    head.stored_nbytes = nstored;
    memset(head.reference, 0, sizeof(head.reference));
    out->nbytes = head.data_at + nstored;
    if (fault)
        return refuse(&prune->scan, found, fault);
    out->data = cmd_calloc(out->nbytes + 1, 1);
    memcpy(out->data, prune->scan.bytes + found->at, head.data_at);
    memcpy(out->data, &head, sizeof(head));
    if (nstored)
        memcpy(out->data + head.data_at, stored, nstored);
    free(stored);
    return true;
}

/* Zeroes a blob in a section with several blobs: to remove it, others would
 * have to move, but references to them cannot be found. No section confirms the
 * blob's extent, so the content's hash is checked before it is zeroed. */
static bool blank(struct prune *prune, struct objfile_bytes *member, size_t at,
                  const struct found *found)
{
    struct kpk_blob head = found->head;
    unsigned char *content = NULL;
    const char *fault = NULL;

    if (head.codec != KPK_CODEC_NONE)
        fault = "it shares its section with other compressed ones, and cannot "
                "be changed";
    else
        fault = scan_content(&prune->scan, found, &content);
    free(content);
    if (fault)
        return refuse(&prune->scan, found, fault);
    head.nbytes = 0;
    memcpy(member->data + at, &head, sizeof(head));
    memset(member->data + at + head.data_at, 0, (size_t)head.stored_nbytes);
    prune->nblank++;
    return true;
}

/* Gives a blob's section other content; the section may have a NUL more than
 * the blob, which stays there. */
static bool resize(struct objfile_bytes *member, size_t at, size_t old,
                   const struct objfile_bytes *blob)
{
    const struct objfile_bytes with_nul = {blob->data, blob->nbytes + 1};

    return objfile_resize(member, at, old, blob) ||
           objfile_resize(member, at, old + 1, &with_nul);
}

/* A member of the archive: `from` is where it stands in the file. Blobs are
 * resized from the member's end to its beginning, so that the places of earlier
 * blobs do not change. */
static bool prune_member(void *context, size_t from,
                         struct objfile_bytes *member)
{
    struct prune *prune = context;
    const size_t end = from + member->nbytes;

    for (size_t i = prune->scan.n; i-- > 0;) {
        const struct found *found = &prune->scan.found[i];
        const size_t old =
            (size_t)(found->head.data_at + found->head.stored_nbytes);
        struct objfile_bytes blob;
        bool ok = true;

        if (found->at < from || found->at >= end)
            continue;
        if (old > end - found->at)
            return refuse(&prune->scan, found,
                          "it goes on beyond the end of its object file: the "
                          "archive is damaged");
        prune->nmet++;
        if (prune->fates[i] == STAYS)
            continue;
        if (!new_blob(prune, i, &blob))
            return false;
        if (!resize(member, found->at - from, old, &blob))
            ok = blank(prune, member, found->at - from, found);
        free(blob.data);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- the file ------------------------------------------------------- */

int cmd_prune(const struct options *options)
{
    const char *path = options->words[0];
    struct prune prune = {.fates = NULL};
    struct objfile_bytes out = {NULL, 0};
    const char *fault;
    int status = EXIT_NO;

    if (!options->keep || !*options->keep) {
        (void)fprintf(stderr, "kpack: prune needs --keep TARGET,...: what "
                              "shall stay in the archive\n");
        return EXIT_USAGE;
    }
    if (!search_file(path, &prune.scan) || prune.scan.cut)
        goto out;
    if (!objfile_is_archive(prune.scan.bytes, prune.scan.nbytes)) {
        (void)fprintf(stderr,
                      "kpack: %s is no archive. What is linked cannot shrink: "
                      "prune the lib*.a that it was linked from, and link it "
                      "again\n",
                      path);
        goto out;
    }
    prune.fates = cmd_calloc(prune.scan.n, sizeof(*prune.fates));
    if (!check_words(&prune.scan, options->keep) ||
        !decide(&prune, options->keep) || !check_kept(&prune))
        goto out;
    fault = objfile_each_member(prune.scan.bytes, prune.scan.nbytes,
                                prune_member, &prune, &out);
    if (!fault && prune.nmet != prune.scan.n)
        fault = "it has code objects that lie in none of its object files: it "
                "is damaged, no archive of GNU's kind, or its object files are "
                "Windows', which kpack cannot prune";
    if (fault) {
        if (*fault)
            (void)fprintf(stderr, "kpack: %s: %s\n", path, fault);
        goto out;
    }
    status = cmd_write_file(options->output ? options->output : path, out.data,
                            out.nbytes, path);
    if (status == EXIT_DONE)
        (void)fprintf(stderr,
                      "kpack: kept %zu code objects, took out %zu: %zu bytes "
                      "were %zu%s\n",
                      prune.nstay, prune.ngo, out.nbytes, prune.scan.nbytes,
                      prune.nblank ? "; those of a section with several are "
                                     "zeros now"
                                   : "");
out:
    free(out.data);
    free(prune.fates);
    search_free(&prune.scan);
    return status;
}
