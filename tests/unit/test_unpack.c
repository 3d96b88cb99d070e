/* test_unpack.c - compressed code objects: decoded once, and only if whole
 *
 * The codec is the one that packs link; libzstd makes what it decodes. Meant
 * to be run under ThreadSanitizer too: make check SAN=thread.
 */
/* link: -lzstd -Wl,--wrap=malloc -Wl,--wrap=ZSTD_createDCtx */
#include "unit_checks.h"

#include "digest.h"
#include "fake_hip.h"
#include "kpack/format.h"
#include "unpack.h"

#define KPK_CODEC real_codec
#define KPK_CACHE dictionary_cache
/* Compiled under this test's names, as in a pack under the pack's names. */
#include "../../src/codec/zstd.c" /* NOLINT(bugprone-suspicious-include) */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NBYTES = 40000, DICTIONARY_NBYTES = 400, NTHREADS = 16, NOBJECTS = 4 };

/* ---- a module of four code objects -------------------------------------- */

/* for   stored                   against
 * 90a   compressed               nothing
 * 942   compressed               that of 90a
 * 950   compressed               the dictionary
 * 908   as it is                 -                */
enum { ALONE, RELATED, TRAINED, PLAIN };

struct stored {
    struct kpk_blob head;
    char names[64];
    unsigned char data[NBYTES + 1024];
};

static unsigned char contents[NOBJECTS][NBYTES];
static unsigned char dictionary_content[DICTIONARY_NBYTES];
static struct stored blobs[NOBJECTS];
static struct stored dictionary;
static struct kpk_cache caches[NOBJECTS];
static atomic_int ndecoded;
static atomic_int hold, held; /* decoders wait while `hold` is set */
static int mallocs_left = -1; /* -1: none fails */

void *__real_malloc(size_t nbytes);
void *__wrap_malloc(size_t nbytes);

void *__wrap_malloc(size_t nbytes)
{
    if (mallocs_left == 0)
        return NULL;
    if (mallocs_left > 0)
        mallocs_left--;
    return __real_malloc(nbytes);
}

static int no_decoder;
ZSTD_DCtx *__real_ZSTD_createDCtx(void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void);

ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    return no_decoder ? NULL : __real_ZSTD_createDCtx();
}

static const char *count_and_decode(void *dst, size_t dst_nbytes,
                                    const void *src, size_t src_nbytes,
                                    const void *reference,
                                    size_t reference_nbytes)
{
    atomic_fetch_add(&ndecoded, 1);
    while (atomic_load(&hold)) {
        atomic_store(&held, 1);
        usleep(1000);
    }
    return real_codec.decode(dst, dst_nbytes, src, src_nbytes, reference,
                             reference_nbytes);
}

static const struct kpk_codec codec = {KPK_CODEC_ZSTD, "zstd",
                                       count_and_decode};
static const char strings[] = "\0m\0k\0gfx90a\0gfx942\0gfx950\0gfx908";
static const struct kpk_kernel_desc kernels[] = {{.name = 3}};
static const struct kpk_kernel_attrs attrs[] = {{.max_block = 64}};
static struct kpk_code_object objects[NOBJECTS] = {
    {.target = 5, .cov = 5, .blob = &blobs[ALONE].head, .attrs = attrs},
    {.target = 12, .cov = 5, .blob = &blobs[RELATED].head, .attrs = attrs},
    {.target = 19, .cov = 5, .blob = &blobs[TRAINED].head, .attrs = attrs},
    {.target = 26, .cov = 5, .blob = &blobs[PLAIN].head, .attrs = attrs}};

#define MODULE(id, codec_)                                                     \
    static const struct kpk_module id = {.format = KPK_FORMAT_VERSION,         \
                                         .name = 1,                            \
                                         .strings = strings,                   \
                                         .kernels = kernels,                   \
                                         .objects = objects,                   \
                                         .nkernels = 1,                        \
                                         .nobjects = NOBJECTS,                 \
                                         .codec = (codec_),                    \
                                         .dictionary = &dictionary.head,       \
                                         .caches = caches,                     \
                                         .dictionary_cache =                   \
                                             &dictionary_cache}
MODULE(module, &codec);
MODULE(module_without_codec, NULL);

/* A little that repeats, a little that does not, and nearly the same for each
 * seed. */
static void fill(unsigned char *to, size_t nbytes, unsigned seed)
{
    static const unsigned char ident[] = {
        0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 224, 0};
    unsigned state = 1;

    for (size_t i = 0; i < nbytes; i++) {
        state = state * 1103515245u + 12345u;
        to[i] = i % 64 < 40 ? (unsigned char)(i % 64)
                            : (unsigned char)(state >> 16);
    }
    to[nbytes / 2] = (unsigned char)seed;
    if (nbytes == NBYTES)
        memcpy(to, ident, sizeof(ident));
}

static void store(struct stored *blob, const void *content, size_t nbytes,
                  const void *reference, size_t reference_nbytes)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t n;

    assert_non_null(context);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (reference)
        (void)ZSTD_CCtx_refPrefix(context, reference, reference_nbytes);
    n = ZSTD_compress2(context, blob->data, sizeof(blob->data), content,
                       nbytes);
    assert_false(ZSTD_isError(n));
    (void)ZSTD_freeCCtx(context);
    blob->head.codec = KPK_CODEC_ZSTD;
    blob->head.nbytes = nbytes;
    blob->head.stored_nbytes = n;
}

static void name(struct stored *blob, enum kpk_blob_kind kind,
                 const char *target, const void *content, size_t nbytes)
{
    blob->head.data_at = offsetof(struct stored, data);
    blob->head.pack = blob->head.module = offsetof(struct stored, names);
    blob->head.target = blob->head.module + 2;
    blob->head.kind = kind;
    blob->head.version = KPK_BLOB_VERSION;
    kpk_i_sha256(content, nbytes, blob->head.sha256);
    memcpy(blob->names, "m", 2);
    (void)snprintf(blob->names + 2, sizeof(blob->names) - 2, "%s", target);
}

static int teardown(void **state)
{
    (void)state;
    kpk_i_forget_unpacked();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    memset(blobs, 0, sizeof(blobs));
    memset(&dictionary, 0, sizeof(dictionary));
    fill(dictionary_content, DICTIONARY_NBYTES, 0);
    store(&dictionary, dictionary_content, DICTIONARY_NBYTES, NULL, 0);
    name(&dictionary, KPK_BLOB_DICTIONARY, "", dictionary_content,
         DICTIONARY_NBYTES);
    for (int i = 0; i < NOBJECTS; i++) {
        fill(contents[i], NBYTES, (unsigned)i);
        name(&blobs[i], KPK_BLOB_CODE_OBJECT, strings + objects[i].target,
             contents[i], NBYTES);
        memcpy(objects[i].sha256, blobs[i].head.sha256, 32);
    }
    store(&blobs[ALONE], contents[ALONE], NBYTES, NULL, 0);
    store(&blobs[RELATED], contents[RELATED], NBYTES, contents[ALONE], NBYTES);
    memcpy(blobs[RELATED].head.reference, objects[ALONE].sha256, 32);
    store(&blobs[TRAINED], contents[TRAINED], NBYTES, dictionary_content,
          DICTIONARY_NBYTES);
    memcpy(blobs[TRAINED].head.reference, dictionary.head.sha256, 32);
    memcpy(blobs[PLAIN].data, contents[PLAIN], NBYTES);
    blobs[PLAIN].head.nbytes = blobs[PLAIN].head.stored_nbytes = NBYTES;
    atomic_store(&ndecoded, 0);
    mallocs_left = -1;
    return 0;
}

/* ---- tests ---------------------------------------------------------- */

static void test_first_use_decodes_and_later_ones_do_not(void **state)
{
    kpk_object object;

    (void)state;
    for (int i = 0; i < NOBJECTS; i++) {
        const void *first;

        assert_ok(kpk_module_object(&module, (size_t)i, &object));
        assert_int_equal(object.nbytes, NBYTES);
        assert_memory_equal(object.data, contents[i], NBYTES);
        assert_true(i == PLAIN || object.stored_nbytes < NBYTES);
        first = object.data;
        assert_ok(kpk_module_object(&module, (size_t)i, &object));
        assert_ptr_equal(object.data, first);
    }
    /* Three, and the dictionary. The object that another refers to was decoded
     * before. */
    assert_int_equal(ndecoded, 4);
    assert_ptr_equal(object.data, blobs[PLAIN].data);
}

static void test_looking_at_a_code_object_decodes_nothing(void **state)
{
    kpk_object object;

    (void)state;
    assert_ok(kpk_module_object_info(&module, RELATED, &object));
    assert_null(object.data);
    assert_int_equal(object.nbytes, NBYTES);
    assert_true(object.stored_nbytes < NBYTES);
    assert_string_equal(object.target, "gfx942");
    assert_int_equal(ndecoded, 0);
}

static void test_what_is_referred_to_is_decoded_but_not_kept(void **state)
{
    kpk_object object;

    (void)state;
    assert_ok(kpk_module_object(&module, RELATED, &object));
    assert_memory_equal(object.data, contents[RELATED], NBYTES);
    assert_int_equal(ndecoded, 2);
    assert_null(caches[ALONE].content);
}

static void test_damaged_data_is_refused_with_a_sentence(void **state)
{
    struct stored *blob = &blobs[TRAINED];
    kpk_object object = {.data = NULL};
    size_t n = blob->head.stored_nbytes;

    (void)state;
    for (size_t i = 0; i < n; i += i < 100 ? 1 : 97) {
        blob->data[i] ^= 0x55;
        assert_status(kpk_module_object(&module, TRAINED, &object),
                      KPK_ERR_FORMAT);
        assert_message("cannot decompress the code object of module m for "
                       "gfx950 (40000 bytes): ");
        assert_message("The program file is damaged");
        blob->data[i] ^= 0x55;
    }
    for (blob->head.stored_nbytes = 0; blob->head.stored_nbytes < n;
         blob->head.stored_nbytes += 101)
        assert_status(kpk_module_object(&module, TRAINED, &object),
                      KPK_ERR_FORMAT);
    blob->head.stored_nbytes = n;
    blob->head.nbytes = NBYTES + 1;
    assert_status(kpk_module_object(&module, TRAINED, &object), KPK_ERR_FORMAT);
    assert_message("shorter than it should be");
    blob->head.nbytes = NBYTES - 1;
    assert_status(kpk_module_object(&module, TRAINED, &object), KPK_ERR_FORMAT);
    assert_null(object.data);
    assert_null(caches[TRAINED].content);
    /* A failure is not remembered. */
    blob->head.nbytes = NBYTES;
    assert_ok(kpk_module_object(&module, TRAINED, &object));
    assert_memory_equal(object.data, contents[TRAINED], NBYTES);
}

static void test_decoder_says_what_went_wrong(void **state)
{
    static const char content[100] = "kernel";
    char frame[256], out[sizeof(content) + 1];
    const size_t n =
        ZSTD_compress(frame, sizeof(frame), content, sizeof(content), 1);
    kpk_object object;

    (void)state;
    assert_false(ZSTD_isError(n));
    assert_null(real_codec.decode(out, sizeof(content), frame, n, NULL, 0));
    assert_memory_equal(out, content, sizeof(content));
    assert_string_equal(real_codec.decode(out, sizeof(out), frame, n, NULL, 0),
                        "it is shorter than it should be");
    put_decoder(NULL); /* none is left from before */
    no_decoder = 1;
    assert_string_equal(
        real_codec.decode(out, sizeof(content), frame, n, NULL, 0),
        KPK_CODEC_NO_MEMORY);
    /* The program is not damaged for that. */
    assert_status(kpk_module_object(&module, ALONE, &object), KPK_ERR_NOMEM);
    assert_message("(40000 bytes): out of memory");
    assert_null(strstr(kpk_error_message(), "damaged"));
    no_decoder = 0;
    assert_null(real_codec.decode(out, sizeof(content), frame, n, NULL, 0));
}

static void test_damaged_references_are_refused_with_a_sentence(void **state)
{
    kpk_object object;

    (void)state;
    dictionary.data[9] ^= 1;
    assert_status(kpk_module_object(&module, TRAINED, &object), KPK_ERR_FORMAT);
    assert_message("cannot decompress the dictionary for module m (400 bytes)");
    blobs[ALONE].data[99] ^= 1;
    assert_status(kpk_module_object(&module, RELATED, &object), KPK_ERR_FORMAT);
    assert_message("module m for gfx90a");
    blobs[RELATED].head.reference[5] ^= 1;
    assert_status(kpk_module_object(&module, RELATED, &object), KPK_ERR_FORMAT);
    assert_message("that it refers to is not in the program");
}

static void test_pack_without_its_decoder_says_so(void **state)
{
    kpk_object object;

    (void)state;
    assert_status(kpk_module_object(&module_without_codec, ALONE, &object),
                  KPK_ERR_FORMAT);
    assert_message("the program has no decoder");
    assert_ok(kpk_module_object(&module_without_codec, PLAIN, &object));
}

static void test_each_failing_allocation_is_survived(void **state)
{
    kpk_status st = KPK_ERR_NOMEM;
    kpk_object object = {.data = NULL};
    int n;

    (void)state;
    for (n = 0; st != KPK_OK && n < 10; n++) {
        mallocs_left = n;
        st = kpk_module_object(&module, RELATED, &object);
        mallocs_left = -1;
        if (st == KPK_OK)
            break;
        assert_int_equal(st, KPK_ERR_NOMEM);
        assert_message("out of memory");
        assert_null(object.data);
    }
    assert_int_equal(n, 2); /* the reference, and the object */
    assert_memory_equal(object.data, contents[RELATED], NBYTES);
}

static pthread_barrier_t start;

static void *use_all(void *first)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < NOBJECTS; i++) {
        const size_t at = (*(const size_t *)first + (size_t)i) % NOBJECTS;
        kpk_object object;

        if (kpk_module_object(&module, at, &object) != KPK_OK ||
            memcmp(object.data, contents[at], NBYTES) != 0)
            return NULL;
    }
    return first;
}

static void test_16_threads_decode_each_code_object_once(void **state)
{
    pthread_t threads[NTHREADS];
    size_t numbers[NTHREADS];

    (void)state;
    assert_int_equal(pthread_barrier_init(&start, NULL, NTHREADS), 0);
    for (int round = 0; round < 20; round++) {
        atomic_store(&ndecoded, 0);
        for (size_t i = 0; i < NTHREADS; i++) {
            numbers[i] = i;
            assert_int_equal(
                pthread_create(&threads[i], NULL, use_all, &numbers[i]), 0);
        }
        for (int i = 0; i < NTHREADS; i++) {
            void *result;

            assert_int_equal(pthread_join(threads[i], &result), 0);
            assert_ptr_equal(result, &numbers[i]);
        }
        /* Three and the dictionary; ALONE may be decoded for RELATED before
         * it is asked for itself. */
        assert_in_range(ndecoded, 4, 5);
        (void)teardown(NULL);
    }
    (void)pthread_barrier_destroy(&start);
}

static void *use_trained(void *unused)
{
    kpk_object object;

    (void)unused;
    return kpk_module_object(&module, TRAINED, &object) == KPK_OK ? &held
                                                                  : NULL;
}

/* If two threads want one code object, one decodes it and the other waits. */
static void test_who_comes_second_waits_for_the_first(void **state)
{
    pthread_t threads[2];
    void *result;

    (void)state;
    atomic_store(&hold, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_trained, NULL),
                         0);
    while (!atomic_load(&held))
        usleep(1000);
    usleep(50000); /* until the other one waits, too */
    atomic_store(&hold, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    assert_int_equal(ndecoded, 2); /* it, and the dictionary */
    atomic_store(&held, 0);
}

/* Memory of the parent's thread is lost in the child, and no leak:
 * LeakSanitizer asks this function. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static int is_child;

int __lsan_is_turned_off(void)
{
    return is_child;
}

/* The locks that another thread held at the time of fork() are free in the
 * child. */
static void test_child_of_fork_decodes_what_its_parent_was_at(void **state)
{
    pthread_t thread;
    int status = -1;
    void *result;
    pid_t child;

    (void)state;
    atomic_store(&hold, 1);
    assert_int_equal(pthread_create(&thread, NULL, use_trained, NULL), 0);
    while (!atomic_load(&held))
        usleep(1000);
    (void)fflush(NULL);
    child = fork();
    if (child == 0) {
        kpk_object object;

        is_child = 1;
        alarm(600); /* should a lock never be free */
        atomic_store(&hold, 0);
        exit(!(kpk_module_object(&module, TRAINED, &object) == KPK_OK &&
               memcmp(object.data, contents[TRAINED], NBYTES) == 0 &&
               kpk_module_object(&module, ALONE, &object) == KPK_OK &&
               memcmp(object.data, contents[ALONE], NBYTES) == 0));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    atomic_store(&hold, 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_non_null(result);
    assert_int_equal(status, 0);
}

static void test_hip_is_given_the_decoded_bytes(void **state)
{
    static const kpk_module *const modules[] = {&module};
    struct fake_hip *fake = fake_hip_load("fake_hip.so");
    kpk_instance *inst;
    const kpk_kernel *kernel;

    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_ok(kpk_open_modules(modules, 1, 0, &inst));
        assert_int_equal(ndecoded, round > 0);
        assert_ok(kpk_kernel_get(inst, "k", &kernel));
        assert_int_equal(ndecoded, 1);
        assert_ok(kpk_close(inst));
    }
    assert_int_equal(fake->nloads, 3);
    blobs[ALONE].data[50] ^= 1;
    kpk_i_forget_unpacked();
    assert_ok(kpk_open_modules(modules, 1, 0, &inst));
    assert_status(kpk_kernel_get(inst, "k", &kernel), KPK_ERR_FORMAT);
    assert_int_equal(fake->nloads, 3);
    assert_ok(kpk_close(inst));
}

/* A code object against one that is stored plainly, against one that needs the
 * dictionary, and a dictionary that is stored plainly. */
static void test_references_of_every_kind(void **state)
{
    kpk_object object;

    (void)state;
    memcpy(dictionary.data, dictionary_content, DICTIONARY_NBYTES);
    dictionary.head.codec = KPK_CODEC_NONE;
    dictionary.head.stored_nbytes = DICTIONARY_NBYTES;
    assert_ok(kpk_module_object(&module, TRAINED, &object));
    assert_memory_equal(object.data, contents[TRAINED], NBYTES);
    kpk_i_forget_unpacked();
    store(&blobs[RELATED], contents[RELATED], NBYTES, contents[PLAIN], NBYTES);
    memcpy(blobs[RELATED].head.reference, objects[PLAIN].sha256, 32);
    assert_ok(kpk_module_object(&module, RELATED, &object));
    assert_memory_equal(object.data, contents[RELATED], NBYTES);
    kpk_i_forget_unpacked();
    store(&blobs[RELATED], contents[RELATED], NBYTES, contents[TRAINED],
          NBYTES);
    memcpy(blobs[RELATED].head.reference, objects[TRAINED].sha256, 32);
    assert_ok(kpk_module_object(&module, RELATED, &object));
    assert_memory_equal(object.data, contents[RELATED], NBYTES);
    kpk_i_forget_unpacked();
    store(&dictionary, dictionary_content, DICTIONARY_NBYTES, NULL, 0);
    dictionary.data[9] ^= 1;
    assert_status(kpk_module_object(&module, RELATED, &object), KPK_ERR_FORMAT);
    assert_message("dictionary for module m");
}

/* Tables and code objects of different builds. */
static void test_module_without_dictionary_or_of_another_codec(void **state)
{
    static const struct kpk_codec other = {9, "other", count_and_decode};
    struct kpk_module odd = module;
    kpk_object object;

    (void)state;
    odd.codec = &other;
    assert_status(kpk_module_object(&odd, ALONE, &object), KPK_ERR_FORMAT);
    assert_message("the program has no decoder");
    odd = module;
    odd.dictionary = NULL;
    assert_ok(kpk_module_object(&odd, RELATED, &object));
    assert_status(kpk_module_object(&odd, TRAINED, &object), KPK_ERR_FORMAT);
    assert_message("that it refers to is not in the program");
}

/* A codec whose data has no checksum of its own: another frame is as good. */
static void test_other_bytes_than_were_packed_are_refused(void **state)
{
    kpk_object object = {.data = NULL};

    (void)state;
    contents[ALONE][NBYTES / 3] ^= 1;
    store(&blobs[ALONE], contents[ALONE], NBYTES, NULL, 0);
    assert_status(kpk_module_object(&module, ALONE, &object), KPK_ERR_FORMAT);
    assert_message("cannot decompress the code object of module m for gfx90a "
                   "(40000 bytes): its SHA-256 is not the one that it was "
                   "packed with. The program file is damaged");
    assert_null(object.data);
    assert_null(caches[ALONE].content);
}

/* Every byte of every head is altered in three ways. The altered head is
 * refused, or the byte did not matter. Uncompressed content is not hashed. */
static void test_altered_heads_are_refused_or_do_not_matter(void **state)
{
    struct kpk_blob *const heads[] = {&blobs[ALONE].head, &blobs[RELATED].head,
                                      &blobs[TRAINED].head, &blobs[PLAIN].head,
                                      &dictionary.head};
    static const unsigned char masks[] = {1, 0x40, 0xff};
    int nrefused = 0;

    (void)state;
    for (size_t h = 0; h < sizeof(heads) / sizeof(heads[0]); h++)
        for (size_t i = 0; i < sizeof(*heads[h]) * sizeof(masks); i++) {
            unsigned char *byte = (unsigned char *)heads[h] + i / sizeof(masks);

            *byte ^= masks[i % sizeof(masks)];
            for (size_t o = 0; o < NOBJECTS; o++) {
                kpk_object object = {.data = NULL};
                const kpk_status st = kpk_module_object(&module, o, &object);

                if (st == KPK_OK) {
                    assert_int_equal(object.nbytes, NBYTES);
                    if (o != PLAIN)
                        assert_memory_equal(object.data, contents[o], NBYTES);
                    continue;
                }
                assert_int_equal(st, KPK_ERR_FORMAT);
                assert_message("The program file is damaged");
                nrefused++;
            }
            *byte ^= masks[i % sizeof(masks)];
            kpk_i_forget_unpacked();
        }
    assert_true(nrefused > 300);
}

/* The code object of a module that has no decoder says that it is compressed:
 * such a module has no caches. */
static void test_plain_module_is_asked_for_no_cache(void **state)
{
    static const struct kpk_module plain = {.format = KPK_FORMAT_VERSION,
                                            .name = 1,
                                            .strings = strings,
                                            .kernels = kernels,
                                            .objects = objects,
                                            .nkernels = 1,
                                            .nobjects = NOBJECTS};
    kpk_object object;

    (void)state;
    blobs[PLAIN].head.codec = KPK_CODEC_ZSTD;
    assert_status(kpk_module_object(&plain, PLAIN, &object), KPK_ERR_FORMAT);
    assert_message("the program has no decoder");
}

/* ---- giving back ---------------------------------------------------- */

/* Frees content like a closed plug-in. Content that HIP still reads stays. */
static void test_what_no_module_uses_is_given_back(void **state)
{
    static const kpk_module *const modules[] = {&module};
    const kpk_kernel *kernel;
    kpk_instance *first, *second;
    kpk_object object;

    (void)state;
    (void)fake_hip_load("fake_hip.so");
    for (int i = 0; i < NOBJECTS; i++)
        assert_ok(kpk_module_object(&module, (size_t)i, &object));
    assert_non_null(dictionary_cache.content);
    assert_ok(kpk_open_modules(modules, 1, 0, &first));
    assert_ok(kpk_open_modules(modules, 1, 0, &second));
    assert_ok(kpk_kernel_get(first, "k", &kernel));
    assert_ok(kpk_kernel_get(second, "k", &kernel));
    kpk_i_forget_unpacked();
    assert_null(dictionary_cache.content);
    for (int i = 0; i < NOBJECTS; i++)
        assert_true(!caches[i].content == (i != ALONE));
    assert_ok(kpk_close(first));
    kpk_i_forget_unpacked();
    assert_memory_equal(caches[ALONE].content, contents[ALONE], NBYTES);
    assert_ok(kpk_unload(second, NULL));
    kpk_i_forget_unpacked();
    assert_null(caches[ALONE].content);
    /* The next request decodes the content again. */
    assert_ok(kpk_kernel_get(second, "k", &kernel));
    assert_ok(kpk_close(second));
    assert_ok(kpk_module_object(&module, ALONE, &object));
    assert_memory_equal(object.data, contents[ALONE], NBYTES);
}

/* A pack in another shared object, or on the stack: nobody says when it goes.
 */
static void test_of_a_pack_elsewhere_nothing_is_given_back(void **state)
{
    struct kpk_cache elsewhere[NOBJECTS] = {{NULL}};
    struct kpk_module there = module;
    kpk_object object;

    (void)state;
    there.caches = elsewhere;
    assert_ok(kpk_module_object(&there, ALONE, &object));
    kpk_i_forget_unpacked();
    assert_ptr_equal(elsewhere[ALONE].content, object.data);
    assert_memory_equal(object.data, contents[ALONE], NBYTES);
    free((unsigned char *)elsewhere[ALONE].content - 32); /* its owner, here */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_first_use_decodes_and_later_ones_do_not),
        TEST(test_looking_at_a_code_object_decodes_nothing),
        TEST(test_what_is_referred_to_is_decoded_but_not_kept),
        TEST(test_damaged_data_is_refused_with_a_sentence),
        TEST(test_decoder_says_what_went_wrong),
        TEST(test_damaged_references_are_refused_with_a_sentence),
        TEST(test_pack_without_its_decoder_says_so),
        TEST(test_each_failing_allocation_is_survived),
        TEST(test_16_threads_decode_each_code_object_once),
        TEST(test_who_comes_second_waits_for_the_first),
        TEST(test_child_of_fork_decodes_what_its_parent_was_at),
        TEST(test_hip_is_given_the_decoded_bytes),
        TEST(test_references_of_every_kind),
        TEST(test_module_without_dictionary_or_of_another_codec),
        TEST(test_other_bytes_than_were_packed_are_refused),
        TEST(test_altered_heads_are_refused_or_do_not_matter),
        TEST(test_plain_module_is_asked_for_no_cache),
        TEST(test_what_no_module_uses_is_given_back),
        TEST(test_of_a_pack_elsewhere_nothing_is_given_back),
    };

    return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
