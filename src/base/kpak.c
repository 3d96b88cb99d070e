/* kpak.c - reads AMD's kernel archives */
#include "kpak.h"

#include "msgpack_scan.h"
#include "number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = {'K', 'P', 'A', 'K'};

enum {
    HEADER_NBYTES = 16, /* magic, version, offset of the table */
    VERSION = 1,
    NAME_NBYTES_MAX = 1023, /* a module's, in the heads of its code objects */
    TARGETS_MAX = 1024,     /* AMD has fewer than 100 */
};

/* The keys of the table of contents that the reader uses. */
enum {
    FORMAT_VERSION,
    GROUP,
    FAMILY,
    TARGETS,
    SCHEME,
    BLOBS,
    ZSTD_OFFSET,
    ZSTD_NBYTES,
    TOC,
    NKEYS
};
static const char *const key_names[NKEYS] = {
    [FORMAT_VERSION] = "format_version",
    [GROUP] = "group_name",
    [FAMILY] = "gfx_arch_family",
    [TARGETS] = "gfx_arches",
    [SCHEME] = "compression_scheme",
    [BLOBS] = "blobs",
    [ZSTD_OFFSET] = "zstd_offset",
    [ZSTD_NBYTES] = "zstd_size",
    [TOC] = "toc",
};

/* The keys of an entry, and of a blob. */
enum { TYPE, ORDINAL, ORIGINAL_SIZE, NENTRY_KEYS };
static const char *const entry_keys[NENTRY_KEYS] = {"type", "ordinal",
                                                    "original_size"};
enum { OFFSET, SIZE, NBLOB_KEYS };
static const char *const blob_keys[NBLOB_KEYS] = {"offset", "size"};

struct stretch {
    const unsigned char *data;
    size_t nbytes;
};

/* State while the table is read. */
struct reading {
    struct kpak *kpak;
    const unsigned char *data;
    size_t toc_at;                /* the table's offset, behind code objects */
    struct msgpack values[NKEYS]; /* the value of each key; .at NULL: absent */
    struct stretch *stored;       /* blobs or frames, by ordinal */
    size_t nstored;
    size_t used; /* of kpak->texts */
    size_t room; /* in kpak->entries */
};

__attribute__((format(__printf__, 2, 3))) static bool
fail(struct kpak *kpak, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(kpak->error, sizeof(kpak->error), format, args);
    va_end(args);
    errno = 0;
    return false;
}

/* On failure errno is calloc()'s. */
static void *allocate(struct kpak *kpak, size_t n, size_t nbytes)
{
    void *memory = calloc(n ? n : 1, nbytes);

    if (!memory) {
        (void)fail(kpak, "no memory for the archive's table of contents");
        errno = ENOMEM;
    }
    return memory;
}

bool kpak_is(const void *data, size_t nbytes)
{
    return nbytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* ---- pieces of the table ------------------------------------------------- */

/* Takes a map's pairs: where the value behind each of n keys is. Unknown keys
 * are passed over with their values. */
static bool take_pairs(struct kpak *kpak, struct msgpack *m, const char *what,
                       const char *const *keys, size_t n,
                       struct msgpack *values)
{
    uint64_t npairs;

    memset(values, 0, n * sizeof(*values));
    if (!msgpack_take_map(m, &npairs))
        return fail(kpak, "damaged: %s is no map", what);
    while (npairs--) {
        const char *key;
        size_t nbytes, k = 0;

        if (!msgpack_take_text(m, &key, &nbytes))
            return fail(kpak, "damaged: a key of %s is no text", what);
        while (k < n &&
               (strlen(keys[k]) != nbytes || memcmp(keys[k], key, nbytes) != 0))
            k++;
        if (k < n && values[k].at)
            return fail(kpak, "damaged: %s has the key %s twice", what,
                        keys[k]);
        if (k < n)
            values[k] = *m;
        (void)msgpack_skip(m); /* the whole table has been walked */
    }
    return true;
}

/* A copy of a text, if it is printable and without blanks: names end up in
 * tables, in messages and in the names of files. */
static bool take_name(struct reading *r, struct msgpack *m, const char *what,
                      const char **out)
{
    const char *text = NULL;
    size_t nbytes = 0;

    if (!msgpack_take_text(m, &text, &nbytes))
        return fail(r->kpak, "damaged: %s is no text", what);
    if (nbytes == 0 || nbytes > NAME_NBYTES_MAX)
        return fail(r->kpak, "%s has %zu bytes; 1 to %d can be read", what,
                    nbytes, NAME_NBYTES_MAX);
    for (size_t i = 0; i < nbytes; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return fail(r->kpak,
                        "%s is not of printable ASCII characters without "
                        "blanks",
                        what);
    /* A text takes a byte more in the table than it has, as here. */
    *out = memcpy(r->kpak->texts + r->used, text, nbytes);
    r->used += nbytes + 1;
    return true;
}

static bool take_number(struct kpak *kpak, struct msgpack m, const char *what,
                        uint64_t *out)
{
    if (!m.at)
        return fail(kpak, "damaged: no %s in its table of contents", what);
    return msgpack_take_number(&m, out) ||
           fail(kpak, "damaged: %s is no number", what);
}

/* ---- stored blobs and frames --------------------------------------------- */

/* Whether a range lies between the file's header and the table. */
static bool inside(const struct reading *r, uint64_t at, uint64_t nbytes)
{
    return at >= HEADER_NBYTES && at <= r->toc_at && nbytes <= r->toc_at - at;
}

static bool read_blobs(struct reading *r)
{
    struct msgpack m = r->values[BLOBS];
    uint64_t n;

    if (!m.at || !msgpack_take_list(&m, &n))
        return fail(r->kpak, "damaged: no list of blobs in its table of "
                             "contents");
    r->stored = allocate(r->kpak, n, sizeof(*r->stored));
    if (!r->stored)
        return false;
    for (; r->nstored < n; r->nstored++) {
        struct msgpack values[NBLOB_KEYS];
        uint64_t at = 0, nbytes = 0;

        if (!take_pairs(r->kpak, &m, "a blob", blob_keys, NBLOB_KEYS, values) ||
            !take_number(r->kpak, values[OFFSET], "a blob's offset", &at) ||
            !take_number(r->kpak, values[SIZE], "a blob's size", &nbytes))
            return false;
        if (!inside(r, at, nbytes))
            return fail(r->kpak,
                        "truncated or damaged: blob %zu lies outside the file",
                        r->nstored);
        r->stored[r->nstored] = (struct stretch){r->data + at, (size_t)nbytes};
    }
    return true;
}

/* Reads the zstd frames: their number, then each frame after its size. */
static bool read_frames(struct reading *r)
{
    uint64_t at = 0, end = 0, n;

    if (!take_number(r->kpak, r->values[ZSTD_OFFSET], "zstd_offset", &at) ||
        !take_number(r->kpak, r->values[ZSTD_NBYTES], "zstd_size", &end))
        return false;
    if (!inside(r, at, end) || end < 4)
        return fail(r->kpak,
                    "truncated or damaged: the zstd frames lie outside the "
                    "file");
    end += at;
    n = number_read(r->data + at, 4);
    at += 4;
    if (n > (end - at) / 4)
        return fail(r->kpak, "damaged: its number of zstd frames is absurd");
    r->stored = allocate(r->kpak, n, sizeof(*r->stored));
    if (!r->stored)
        return false;
    for (; r->nstored < n; r->nstored++) {
        const bool whole = end - at >= 4;
        const uint64_t nbytes = whole ? number_read(r->data + at, 4) : 0;

        if (!whole || nbytes > end - at - 4)
            return fail(r->kpak,
                        "damaged: zstd frame %zu lies outside their block",
                        r->nstored);
        r->stored[r->nstored] =
            (struct stretch){r->data + at + 4, (size_t)nbytes};
        at += 4 + nbytes;
    }
    return true;
}

static bool is_text(struct msgpack m, const char *wanted)
{
    const char *text = NULL;
    size_t nbytes = 0;

    return msgpack_take_text(&m, &text, &nbytes) && nbytes == strlen(wanted) &&
           memcmp(text, wanted, nbytes) == 0;
}

static bool read_stored(struct reading *r)
{
    const struct msgpack scheme = r->values[SCHEME];

    r->kpak->zstd = scheme.at && is_text(scheme, "zstd-per-kernel");
    if (scheme.at && !r->kpak->zstd && !is_text(scheme, "none"))
        return fail(r->kpak, "its compression scheme is not known; none and "
                             "zstd-per-kernel can be read");
    return r->kpak->zstd ? read_frames(r) : read_blobs(r);
}

/* ---- entries ------------------------------------------------------------- */

/* Whether so many bytes can become a code object of that size. A block of zstd
 * takes at least 4 bytes and makes at most 128 KiB. */
static bool is_possible_size(const struct kpak *kpak, uint64_t nbytes,
                             uint64_t stored)
{
    if (!kpak->zstd)
        return nbytes == stored;
    return nbytes > 0 && nbytes <= KPAK_NBYTES_MAX &&
           (nbytes - 1) >> 17 < stored / 4;
}

static bool read_entry(struct reading *r, struct msgpack *m,
                       struct kpak_entry *e)
{
    struct msgpack values[NENTRY_KEYS];
    uint64_t nbytes = 0;
    char what[128];

    /* Longer names than these are cut in messages. */
    (void)snprintf(what, sizeof(what), "%.80s for %.30s", e->key, e->target);
    if (!take_pairs(r->kpak, m, what, entry_keys, NENTRY_KEYS, values) ||
        !take_number(r->kpak, values[ORDINAL], "an entry's ordinal",
                     &e->ordinal) ||
        !take_number(r->kpak, values[ORIGINAL_SIZE], "an entry's original_size",
                     &nbytes))
        return false;
    if (values[TYPE].at && !is_text(values[TYPE], "hsaco"))
        return fail(r->kpak, "%s is of another type than hsaco", what);
    if (e->ordinal >= r->nstored)
        return fail(r->kpak,
                    "damaged: %s has ordinal %" PRIu64 ", and %zu are stored",
                    what, e->ordinal, r->nstored);
    e->stored = r->stored[e->ordinal].data;
    e->stored_nbytes = r->stored[e->ordinal].nbytes;
    if (!is_possible_size(r->kpak, nbytes, e->stored_nbytes))
        return fail(r->kpak,
                    "damaged: %s has %" PRIu64 " bytes, which the %zu that are "
                    "stored cannot be",
                    what, nbytes, e->stored_nbytes);
    e->nbytes = (size_t)nbytes;
    return true;
}

static bool is_listed(const struct kpak *kpak, const char *target)
{
    for (size_t i = 0; i < kpak->ntargets; i++)
        if (strcmp(kpak->targets[i], target) == 0)
            return true;
    return false;
}

static bool add_entry(struct reading *r, struct msgpack *m, const char *key)
{
    struct kpak *kpak = r->kpak;
    struct kpak_entry e = {.key = key, .target = ""};

    if (!take_name(r, m, "a target ID in its table of contents", &e.target))
        return false;
    if (!is_listed(kpak, e.target))
        return fail(kpak,
                    "mislabelled: %.80s is there for %.30s, which gfx_arches "
                    "does not list",
                    key, e.target);
    if (!read_entry(r, m, &e))
        return false;
    if (kpak->n == r->room) {
        const size_t room = 2 * r->room + 16;
        struct kpak_entry *more = realloc(kpak->entries, room * sizeof(*more));

        if (!more) {
            (void)fail(kpak, "no memory for the archive's table of contents");
            errno = ENOMEM;
            return false;
        }
        kpak->entries = more;
        r->room = room;
    }
    kpak->entries[kpak->n++] = e;
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct kpak_entry *x = a, *y = b;
    const int order = strcmp(x->key, y->key);

    return order ? order : strcmp(x->target, y->target);
}

/* Each key's text is a copy of its own: a repeated key has two copies. */
static bool refuse_twins(struct kpak *kpak)
{
    for (size_t i = 1; i < kpak->n; i++) {
        const struct kpak_entry *a = &kpak->entries[i - 1];
        const struct kpak_entry *b = &kpak->entries[i];

        if (strcmp(a->key, b->key) == 0 &&
            (a->key != b->key || strcmp(a->target, b->target) == 0))
            return fail(kpak, "damaged: %.80s is there twice (%.30s, %.30s)",
                        b->key, a->target, b->target);
    }
    return true;
}

static bool read_entries(struct reading *r)
{
    struct msgpack m = r->values[TOC];
    uint64_t nbinaries, n = 0;

    if (!m.at || !msgpack_take_map(&m, &nbinaries))
        return fail(r->kpak, "damaged: no map named toc in its table of "
                             "contents");
    while (nbinaries--) {
        const char *key = "";

        if (!take_name(r, &m, "a binary's name in its table of contents", &key))
            return false;
        if (!msgpack_take_map(&m, &n))
            return fail(r->kpak, "damaged: the targets of %.80s are no map",
                        key);
        while (n--)
            if (!add_entry(r, &m, key))
                return false;
    }
    if (r->kpak->n)
        qsort(r->kpak->entries, r->kpak->n, sizeof(*r->kpak->entries), by_name);
    return refuse_twins(r->kpak);
}

/* ---- the whole archive --------------------------------------------------- */

static bool read_targets(struct reading *r)
{
    struct msgpack m = r->values[TARGETS];
    uint64_t n;

    if (!m.at || !msgpack_take_list(&m, &n))
        return fail(r->kpak, "damaged: no list named gfx_arches in its table "
                             "of contents");
    if (n > TARGETS_MAX)
        return fail(r->kpak, "damaged: it lists %" PRIu64 " target IDs", n);
    r->kpak->targets = allocate(r->kpak, n, sizeof(*r->kpak->targets));
    if (!r->kpak->targets)
        return false;
    for (; r->kpak->ntargets < n; r->kpak->ntargets++)
        if (!take_name(r, &m, "a target ID of gfx_arches",
                       &r->kpak->targets[r->kpak->ntargets]))
            return false;
    return true;
}

/* A name that may be left out, or empty. */
static bool read_label(struct reading *r, int key, const char **out)
{
    struct msgpack m = r->values[key];

    *out = "";
    return !m.at || is_text(m, "") || take_name(r, &m, key_names[key], out);
}

static bool read_table(struct reading *r, size_t nbytes)
{
    struct msgpack m = {r->data + r->toc_at, r->data + nbytes};
    struct msgpack end = m;
    uint64_t version = VERSION;

    if (!msgpack_skip(&end))
        return fail(r->kpak, "truncated or damaged in its table of contents, "
                             "which ends the file");
    if (end.at != end.end)
        return fail(r->kpak,
                    "damaged: %zu bytes follow its table of contents, which "
                    "ends the file",
                    (size_t)(end.end - end.at));
    if (!take_pairs(r->kpak, &m, "its table of contents", key_names, NKEYS,
                    r->values) ||
        (r->values[FORMAT_VERSION].at &&
         !take_number(r->kpak, r->values[FORMAT_VERSION], "format_version",
                      &version)))
        return false;
    if (version != VERSION)
        return fail(r->kpak, "of format version %" PRIu64 "; 1 can be read",
                    version);
    r->kpak->texts = allocate(r->kpak, nbytes - r->toc_at, 1);
    return r->kpak->texts && read_label(r, GROUP, &r->kpak->group) &&
           read_label(r, FAMILY, &r->kpak->family) && read_targets(r) &&
           read_stored(r) && read_entries(r);
}

bool kpak_open(struct kpak *kpak, const void *data, size_t nbytes)
{
    struct reading r = {.kpak = kpak, .data = data};
    uint64_t version, at;
    bool ok;

    *kpak = (struct kpak){.group = "", .family = ""};
    if (!kpak_is(data, nbytes))
        return fail(kpak, "not one: it does not begin with KPAK");
    if (nbytes < HEADER_NBYTES)
        return fail(kpak, "truncated in its header");
    version = number_read(r.data + 4, 4);
    if (version != VERSION)
        return fail(kpak, "of version %" PRIu64 "; 1 can be read", version);
    at = number_read(r.data + 8, 8);
    if (at >= nbytes)
        return fail(kpak,
                    "truncated: its table of contents begins at byte %" PRIu64
                    ", and the file has %zu",
                    at, nbytes);
    if (at < HEADER_NBYTES)
        return fail(kpak, "damaged: its table of contents begins within its "
                          "header; its writer may not have finished it");
    r.toc_at = (size_t)at;
    ok = read_table(&r, nbytes);
    free(r.stored);
    return ok;
}

void kpak_close(struct kpak *kpak)
{
    free(kpak->entries);
    free(kpak->targets);
    free(kpak->texts);
    *kpak = (struct kpak){.group = ""};
}
