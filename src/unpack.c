/* unpack.c - the bytes of a code object, decompressed where need be
 *
 * A compressed code object is decoded once in a process, the first time that
 * someone wants its bytes, into memory that is not moved and given back only
 * with the shared object that holds the pack: HIP reads an image until its
 * module is unloaded, and kpk_module_object() hands the bytes out for as long
 * as the pack is there. The pack bounds how much that can become.
 *
 * Decoded content is checked against its SHA-256; damaged content is not handed
 * on.
 *
 * A blob may need other content as its dictionary: a dictionary of the pack,
 * which is kept too, or the module's code object for another target, which is
 * decoded for the occasion and freed.
 */
#include "unpack.h"
#include "blob_head.h"
#include "digest.h"
#include "error.h"
#include "module.h"
#include "os.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A lock for the module that is decoding, found by its address, so that
 * modules seldom wait for each other; and one for dictionaries, taken last. */
enum { NLOCKS = 4 };
static kpk_i_mutex locks[NLOCKS] = {KPK_I_MUTEX_FRESH, KPK_I_MUTEX_FRESH,
                                    KPK_I_MUTEX_FRESH, KPK_I_MUTEX_FRESH};
static kpk_i_mutex dictionary_lock = KPK_I_MUTEX_FRESH;

/* Decoded content; caches point to the bytes. */
struct content {
    struct content *next;    /* in the list freed at the end */
    struct kpk_cache *cache; /* the cache that points here */
    atomic_uint nusers;      /* modules loaded from it */
    _Alignas(16) unsigned char bytes[];
};

/* The dictionary for decoding a blob; `owned` is freed afterwards. */
struct reference {
    const void *data;
    size_t nbytes;
    struct content *owned;
};

/* In the child of fork() a lock that another thread held would never be free
 * again. The child decodes unfinished content again. */
static void free_locks(void)
{
    static const kpk_i_mutex fresh = KPK_I_MUTEX_FRESH;

    for (int i = 0; i < NLOCKS; i++)
        memcpy(&locks[i], &fresh, sizeof(fresh));
    memcpy(&dictionary_lock, &fresh, sizeof(fresh));
}

static void watch_forks(void)
{
    kpk_i_at_fork(free_locks);
}

static const unsigned char *stored(const struct kpk_blob *blob)
{
    return (const unsigned char *)blob + blob->data_at;
}

static void *kept(struct kpk_cache *cache)
{
    return __atomic_load_n(&cache->content, __ATOMIC_ACQUIRE);
}

static struct content *content_of(void *bytes)
{
    return (struct content *)((unsigned char *)bytes -
                              offsetof(struct content, bytes));
}

/* ---- giving back --------------------------------------------------------- */

static _Atomic(struct content *) all;

/* Content of a pack in another shared object than this runtime is never freed:
 * the runtime does not learn when that object is closed. */
static void keep(struct kpk_cache *cache, struct content *content)
{
    content->cache = cache;
    if (kpk_i_object_with(cache) == kpk_i_object_with(&all))
        content->next = atomic_exchange(&all, content);
    __atomic_store_n(&cache->content, content->bytes, __ATOMIC_RELEASE);
}

void kpk_i_forget_unpacked(void)
{
    struct content *content = atomic_exchange(&all, NULL);

    while (content) {
        struct content *next = content->next;

        if (atomic_load(&content->nusers)) {
            content->next = atomic_exchange(&all, content);
        } else {
            __atomic_store_n(&content->cache->content, NULL, __ATOMIC_RELEASE);
            free(content);
        }
        content = next;
    }
}

/* Frees a plug-in's content when the plug-in is closed; loaded modules keep
 * theirs. A program ends with its memory, and other threads may still be at
 * work. */
__attribute__((destructor)) static void end(void)
{
    if (!kpk_i_is_in_program(&all))
        kpk_i_forget_unpacked();
}

void kpk_i_use_object(const kpk_module *module, size_t object, int by)
{
    if (module->objects[object].blob->codec != KPK_CODEC_NONE)
        (void)atomic_fetch_add(
            &content_of(kept(&module->caches[object]))->nusers, (unsigned)by);
}

/* ---- decoding ------------------------------------------------------------ */

static const char damaged[] = ". The program file is damaged";
static const char no_decoder[] = "the program has no decoder";
static const char one_compress[] =
    ". Make tables and code objects of the pack with one and the same COMPRESS";

/* The names are those of the module's tables: a head may be damaged. */
static kpk_status cannot_decode(const kpk_module *module,
                                const struct kpk_blob *blob, kpk_status status,
                                const char *why, const char *what_to_do)
{
    const char *target = NULL;

    for (uint32_t i = 0; i < module->nobjects && !target; i++)
        if (module->objects[i].blob == blob)
            target = kpk_i_string(module, module->objects[i].target);
    return kpk_i_fail(
        status, "cannot %s the %s module %s%s%s (%llu bytes): %s%s",
        blob->codec == KPK_CODEC_NONE ? "use" : "decompress",
        target ? "code object of" : "dictionary for", kpk_module_name(module),
        target ? " for " : "", target ? target : "",
        (unsigned long long)blob->nbytes, why, what_to_do);
}

static kpk_status check_head(const kpk_module *module,
                             const struct kpk_blob *blob)
{
    const char *fault = blob_head_fault(blob);

    return fault ? cannot_decode(module, blob, KPK_ERR_FORMAT, fault, damaged)
                 : KPK_OK;
}

/* Fresh memory costs as much as decoding into it if each of its pages faults by
 * itself; asked for together they cost half. */
static void *allocate(size_t nbytes)
{
    void *memory = malloc(nbytes);

    if (memory)
        kpk_i_touch_pages(memory, nbytes);
    return memory;
}

/* Into memory that the caller owns. */
static kpk_status decode(const kpk_module *module, const struct kpk_blob *blob,
                         const struct reference *reference,
                         struct content **out)
{
    const size_t nbytes = (size_t)blob->nbytes;
    struct content *content;
    const char *why;

    if (module->codec->number != blob->codec)
        return cannot_decode(module, blob, KPK_ERR_FORMAT, no_decoder,
                             one_compress);
    /* with a NUL, as stored */
    content = allocate(sizeof(*content) + nbytes + 1);
    if (!content)
        return cannot_decode(module, blob, KPK_ERR_NOMEM, "out of memory", "");
    memset(content, 0, sizeof(*content));
    why = module->codec->decode(content->bytes, nbytes, stored(blob),
                                (size_t)blob->stored_nbytes, reference->data,
                                reference->nbytes);
    if (why) {
        free(content);
        if (strcmp(why, KPK_CODEC_NO_MEMORY) == 0)
            return cannot_decode(module, blob, KPK_ERR_NOMEM, why, "");
        return cannot_decode(module, blob, KPK_ERR_FORMAT, why, damaged);
    }
    content->bytes[nbytes] = '\0';
    *out = content;
    return KPK_OK;
}

/* The pack's dictionary, decoded by the first who needs it. */
static kpk_status use_dictionary(const kpk_module *module,
                                 struct reference *out)
{
    const struct kpk_blob *blob = module->dictionary;
    const struct reference none = {NULL, 0, NULL};
    struct content *content = NULL;
    kpk_status st = check_head(module, blob);

    out->nbytes = (size_t)blob->nbytes;
    out->data = stored(blob);
    if (st != KPK_OK || blob->codec == KPK_CODEC_NONE)
        return st;
    kpk_i_lock(&dictionary_lock);
    out->data = kept(module->dictionary_cache);
    if (!out->data) {
        st = decode(module, blob, &none, &content);
        if (content) {
            keep(module->dictionary_cache, content);
            out->data = content->bytes;
        }
    }
    kpk_i_unlock(&dictionary_lock);
    return st;
}

static bool is_named(const uint8_t wanted[32], const struct kpk_blob *blob)
{
    return blob && memcmp(wanted, blob->sha256, sizeof(blob->sha256)) == 0;
}

/* Another target's code object. It needs no other one in turn: chains would
 * cost time without end in a damaged program. */
static kpk_status use_object(const kpk_module *module, uint32_t i,
                             struct reference *out)
{
    const struct kpk_blob *blob = module->objects[i].blob;
    struct reference its = {NULL, 0, NULL};
    kpk_status st = check_head(module, blob);

    if (st != KPK_OK)
        return st;
    out->nbytes = (size_t)blob->nbytes;
    out->data =
        blob->codec == KPK_CODEC_NONE ? stored(blob) : kept(&module->caches[i]);
    if (out->data)
        return KPK_OK;
    if (is_named(blob->reference, module->dictionary))
        st = use_dictionary(module, &its);
    if (st == KPK_OK)
        st = decode(module, blob, &its, &out->owned);
    if (out->owned)
        out->data = out->owned->bytes;
    return st;
}

static kpk_status find_reference(const kpk_module *module,
                                 const struct kpk_blob *blob,
                                 struct reference *out)
{
    static const uint8_t none[32];

    if (memcmp(blob->reference, none, sizeof(none)) == 0)
        return KPK_OK;
    if (is_named(blob->reference, module->dictionary))
        return use_dictionary(module, out);
    for (uint32_t i = 0; i < module->nobjects; i++) {
        if (is_named(blob->reference, module->objects[i].blob))
            return use_object(module, i, out);
    }
    return cannot_decode(module, blob, KPK_ERR_FORMAT,
                         "the code object that it refers to is not in the "
                         "program",
                         damaged);
}

/* A reference need not be hashed: a blob decoded with a wrong reference fails
 * its own hash. */
static kpk_status decode_object(const kpk_module *module, size_t object,
                                struct content **out)
{
    const struct kpk_code_object *from = &module->objects[object];
    struct reference reference = {NULL, 0, NULL};
    struct content *content = NULL;
    uint8_t digest[sizeof(from->sha256)];
    kpk_status st = find_reference(module, from->blob, &reference);

    if (st == KPK_OK)
        st = decode(module, from->blob, &reference, &content);
    free(reference.owned);
    if (!content)
        return st;
    kpk_i_sha256(content->bytes, (size_t)from->blob->nbytes, digest);
    if (memcmp(digest, from->sha256, sizeof(digest)) == 0) {
        *out = content;
        return KPK_OK;
    }
    free(content);
    return cannot_decode(module, from->blob, KPK_ERR_FORMAT,
                         "its SHA-256 is not the one that it was packed with",
                         damaged);
}

kpk_status kpk_i_object_bytes(const kpk_module *module, size_t object,
                              const unsigned char **out)
{
    static kpk_i_once watching = KPK_I_ONCE_FRESH;
    const struct kpk_blob *blob = module->objects[object].blob;
    kpk_i_mutex *lock = &locks[((uintptr_t)module >> 6) % NLOCKS];
    kpk_status st = check_head(module, blob);
    struct content *content = NULL;

    if (st != KPK_OK)
        return st;
    if (blob->codec == KPK_CODEC_NONE) {
        *out = blob->nbytes ? stored(blob) : NULL;
        return KPK_OK;
    }
    if (!module->codec) /* nor caches */
        return cannot_decode(module, blob, KPK_ERR_FORMAT, no_decoder,
                             one_compress);
    *out = kept(&module->caches[object]);
    if (*out)
        return KPK_OK;
    kpk_i_run_once(&watching, watch_forks);
    kpk_i_lock(lock);
    *out = kept(&module->caches[object]);
    if (!*out) {
        st = decode_object(module, object, &content);
        if (content) {
            keep(&module->caches[object], content);
            *out = content->bytes;
        }
    }
    kpk_i_unlock(lock);
    return st;
}

kpk_status kpk_module_object(const kpk_module *module, size_t object,
                             kpk_object *out)
{
    const unsigned char *data = NULL;
    kpk_object info = {.data = NULL};
    kpk_status st;

    KPK_I_NEED(module);
    KPK_I_NEED(out);
    st = kpk_module_object_info(module, object, &info);
    if (st == KPK_OK)
        st = kpk_i_object_bytes(module, object, &data);
    if (st != KPK_OK)
        return st;
    info.data = data;
    *out = info;
    return KPK_OK;
}
