/* unpack.c - the bytes of a code object, decompressed where need be
 *
 * A compressed code object is decoded once in a process, the first time that
 * someone wants its bytes, into memory that is never given back or moved: HIP
 * reads an image until its module is unloaded, and kpk_module_object() hands
 * the bytes out for ever. The pack bounds how much that can become.
 *
 * A blob may need other content as its dictionary: a dictionary of the pack,
 * which is kept too, or the module's code object for another target, which is
 * decoded for the occasion and freed.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A lock for the module that is decoding, found by its address, so that
 * modules seldom wait for each other; and one for dictionaries, taken last. */
enum { NLOCKS = 4 };
static pthread_mutex_t locks[NLOCKS] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t dictionary_lock = PTHREAD_MUTEX_INITIALIZER;

/* What a blob needs to be decoded; `owned` is freed after that. */
struct reference {
    const void *data;
    size_t nbytes;
    void *owned;
};

/* In the child of fork() a lock that another thread held would never be free
 * again. What it was decoding is decoded anew. */
static void free_locks(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    for (int i = 0; i < NLOCKS; i++)
        memcpy(&locks[i], &fresh, sizeof(fresh));
    memcpy(&dictionary_lock, &fresh, sizeof(fresh));
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, free_locks);
}

static const unsigned char *stored(const struct kpk_blob *blob)
{
    return (const unsigned char *)blob + blob->data_at;
}

static void *kept(struct kpk_cache *cache)
{
    return __atomic_load_n(&cache->content, __ATOMIC_ACQUIRE);
}

static void keep(struct kpk_cache *cache, void *content)
{
    __atomic_store_n(&cache->content, content, __ATOMIC_RELEASE);
}

static kpk_status cannot_decode(const struct kpk_blob *blob, kpk_status status,
                                const char *why, const char *what_to_do)
{
    const char *base = (const char *)blob;
    const bool is_object = blob->kind == KPK_BLOB_CODE_OBJECT;

    return kpk_i_fail(
        status, "cannot decompress the %s %s%s%s (%llu bytes): %s%s",
        is_object ? "code object of module" : "dictionary of pack",
        base + (is_object ? blob->module : blob->pack),
        is_object ? " for " : "", is_object ? base + blob->target : "",
        (unsigned long long)blob->nbytes, why, what_to_do);
}

/* Fresh memory costs as much as decoding into it if each of its pages faults
 * by itself; asked for together they cost half. Where that cannot be asked
 * they fault. */
static void *allocate(size_t nbytes)
{
    char *memory = malloc(nbytes);
#ifdef MADV_POPULATE_WRITE
    const long page = sysconf(_SC_PAGESIZE);

    if (memory && page > 0) {
        const size_t mask = (size_t)page - 1;
        const size_t skip = (size_t)(-(uintptr_t)memory & mask);

        if (nbytes > skip)
            (void)madvise(memory + skip, (nbytes - skip) & ~mask,
                          MADV_POPULATE_WRITE);
    }
#endif
    return memory;
}

/* Into memory that the caller owns. */
static kpk_status decode(const kpk_module *module, const struct kpk_blob *blob,
                         const struct reference *reference, void **out)
{
    const struct kpk_codec *codec = module->codec;
    const char *why;
    void *content;

    if (!codec || codec->number != blob->codec)
        return cannot_decode(blob, KPK_ERR_FORMAT, "the program has no decoder",
                             ". Make tables and code objects of the pack with "
                             "one and the same COMPRESS");
    content = allocate((size_t)blob->nbytes + 1); /* with a NUL, as stored */
    if (!content)
        return cannot_decode(blob, KPK_ERR_NOMEM, "out of memory", "");
    why = codec->decode(content, (size_t)blob->nbytes, stored(blob),
                        (size_t)blob->stored_nbytes, reference->data,
                        reference->nbytes);
    if (why) {
        free(content);
        if (strcmp(why, KPK_CODEC_NO_MEMORY) == 0)
            return cannot_decode(blob, KPK_ERR_NOMEM, why, "");
        return cannot_decode(blob, KPK_ERR_FORMAT, why,
                             ". The program file is damaged");
    }
    ((char *)content)[blob->nbytes] = '\0';
    *out = content;
    return KPK_OK;
}

/* The pack's dictionary, decoded by the first who needs it. */
static kpk_status use_dictionary(const kpk_module *module,
                                 struct reference *out)
{
    const struct kpk_blob *blob = module->dictionary;
    const struct reference none = {NULL, 0, NULL};
    kpk_status st = KPK_OK;
    void *content;

    out->nbytes = (size_t)blob->nbytes;
    out->data = stored(blob);
    if (blob->codec == KPK_CODEC_NONE)
        return KPK_OK;
    (void)pthread_mutex_lock(&dictionary_lock);
    content = kept(module->dictionary_cache);
    if (!content) {
        st = decode(module, blob, &none, &content);
        if (st == KPK_OK)
            keep(module->dictionary_cache, content);
    }
    (void)pthread_mutex_unlock(&dictionary_lock);
    out->data = content;
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
    kpk_status st = KPK_OK;

    out->nbytes = (size_t)blob->nbytes;
    out->data =
        blob->codec == KPK_CODEC_NONE ? stored(blob) : kept(&module->caches[i]);
    if (out->data)
        return KPK_OK;
    if (is_named(blob->reference, module->dictionary))
        st = use_dictionary(module, &its);
    if (st == KPK_OK)
        st = decode(module, blob, &its, &out->owned);
    out->data = out->owned;
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
    return cannot_decode(blob, KPK_ERR_FORMAT,
                         "the code object that it refers to is not in the "
                         "program",
                         ". The program file is damaged");
}

static kpk_status decode_object(const kpk_module *module, size_t object,
                                void **out)
{
    const struct kpk_blob *blob = module->objects[object].blob;
    struct reference reference = {NULL, 0, NULL};
    kpk_status st = find_reference(module, blob, &reference);

    if (st == KPK_OK)
        st = decode(module, blob, &reference, out);
    free(reference.owned);
    return st;
}

kpk_status kpk_i_object_bytes(const kpk_module *module, size_t object,
                              const unsigned char **out)
{
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    const struct kpk_blob *blob = module->objects[object].blob;
    pthread_mutex_t *lock = &locks[((uintptr_t)module >> 6) % NLOCKS];
    kpk_status st = KPK_OK;
    void *content;

    if (blob->codec == KPK_CODEC_NONE) {
        *out = blob->nbytes ? stored(blob) : NULL;
        return KPK_OK;
    }
    content = kept(&module->caches[object]);
    if (!content) {
        (void)pthread_once(&watching, watch_forks);
        (void)pthread_mutex_lock(lock);
        content = kept(&module->caches[object]);
        if (!content) {
            st = decode_object(module, object, &content);
            if (st == KPK_OK)
                keep(&module->caches[object], content);
        }
        (void)pthread_mutex_unlock(lock);
    }
    *out = content;
    return st;
}
