/* kpack-compress.c - the command: a pack's code objects in, compressed ones out
 *
 *   kpack-compress PACK FOLDER MODULE/TARGET=FILE...
 *
 * For each code object it writes FOLDER/TARGET/MODULE.zst and, in front of it
 * in the program, FOLDER/TARGET/MODULE.head; and the pack's dictionary, as
 * FOLDER/dictionary.zst and .head. An empty dictionary is written too, because
 * make expects the file.
 *
 * Two things make a pack small. The dictionary holds what many code objects
 * have in common. And a module's code objects for related processors are nearly
 * alike (gfx1200 and gfx1201 to a few bytes), so some are compressed against
 * another one of their module. A program that loads such a code object decodes
 * two, so references.c picks the reference only if it saves enough.
 *
 * Silent on success. A fault is reported as `FILE: what`, with status 1.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zdict.h>

#include "base/sha256.h"
#include "compress/encode.h"
#include "compress/references.h"
#include "read/codeobj_read.h"
#include "write/blob.h"

/* Above this zstd finds little more and takes much longer. */
enum { LEVEL = 19, DICTIONARY_NBYTES = 112640, SAMPLE_NBYTES = 4096 };
#define SAMPLES_NBYTES_MAX ((size_t)8 << 20)

struct input {
    char *module;
    char *target;
    const char *path;
    struct codeobj *object;
    uint8_t sha256[32];
};

struct pack {
    const char *name;
    const char *folder;
    struct input *inputs; /* [n], by module, then target */
    size_t n;
    unsigned char dictionary[DICTIONARY_NBYTES];
    size_t dictionary_nbytes; /* 0: a dictionary would not pay */
    uint8_t dictionary_sha256[32];
    /* Modules are compressed by several threads. */
    atomic_size_t next;
    atomic_bool failed;
};

static int by_module_and_target(const void *a, const void *b)
{
    const struct input *x = a;
    const struct input *y = b;
    const int order = strcmp(x->module, y->module);

    return order ? order : strcmp(x->target, y->target);
}

static bool read_input(struct input *in, const char *word)
{
    const char *slash = strchr(word, '/');
    const char *sign = strchr(word, '=');
    char error[CODEOBJ_ERROR_MAX];

    if (!slash || !sign || sign < slash || slash == word) {
        (void)fprintf(stderr,
                      "kpack-compress: '%s' is not MODULE/TARGET=FILE\n", word);
        return false;
    }
    in->path = sign + 1;
    in->module = strndup(word, (size_t)(slash - word));
    in->target = strndup(slash + 1, (size_t)(sign - slash - 1));
    if (!in->module || !in->target) {
        (void)fprintf(stderr, "%s: out of memory\n", in->path);
        return false;
    }
    in->object = codeobj_read(in->path, error);
    if (!in->object) {
        (void)fprintf(stderr, "%s: %s\n", in->path, error);
        return false;
    }
    if (!codeobj_take_target(in->object, in->target)) {
        (void)fprintf(stderr, "%s: is for %s, not for %s\n", in->path,
                      in->object->target, in->target);
        return false;
    }
    sha256(in->object->data, in->object->nbytes, in->sha256);
    return true;
}

/* ---- the dictionary ------------------------------------------------------ */

/* Takes samples at a fixed distance in all files. The distance grows with the
 * pack, so that training takes no longer for a large pack. */
static size_t take_samples(const struct pack *pack, unsigned char *samples,
                           size_t *sizes, size_t most)
{
    size_t total = 0;
    size_t step;
    size_t n = 0;

    for (size_t i = 0; i < pack->n; i++)
        total += pack->inputs[i].object->nbytes / SAMPLE_NBYTES;
    step = total / most + 1;
    for (size_t i = 0; i < pack->n; i++) {
        const struct codeobj *from = pack->inputs[i].object;

        for (size_t k = 0; k < from->nbytes / SAMPLE_NBYTES && n < most;
             k += step) {
            memcpy(samples + n * SAMPLE_NBYTES, from->data + k * SAMPLE_NBYTES,
                   SAMPLE_NBYTES);
            sizes[n++] = SAMPLE_NBYTES;
        }
    }
    return n;
}

static bool train(struct pack *pack)
{
    const size_t most = SAMPLES_NBYTES_MAX / SAMPLE_NBYTES;
    unsigned char *samples = malloc(SAMPLES_NBYTES_MAX);
    size_t *sizes = calloc(most, sizeof(*sizes));
    size_t n;
    size_t nbytes;

    if (!samples || !sizes) {
        free(samples);
        free(sizes);
        return no_memory();
    }
    n = take_samples(pack, samples, sizes, most);
    nbytes = ZDICT_trainFromBuffer(pack->dictionary, DICTIONARY_NBYTES, samples,
                                   sizes, (unsigned)n);
    /* A small pack has too little to learn from. */
    pack->dictionary_nbytes = ZDICT_isError(nbytes) ? 0 : nbytes;
    free(samples);
    free(sizes);
    return true;
}

/* Keeps the dictionary if it saves more than its own room. */
static bool weigh_dictionary(struct pack *pack)
{
    const struct bytes dictionary = {pack->dictionary, pack->dictionary_nbytes};
    size_t without = 0;
    size_t with;

    if (!pack->dictionary_nbytes)
        return true;
    if (!compressed_size(dictionary, NULL, QUICK_LEVEL, &with))
        return false;
    for (size_t i = 0; i < pack->n; i++) {
        const struct codeobj *from = pack->inputs[i].object;
        const struct bytes content = {from->data, from->nbytes};
        size_t a;
        size_t b;

        if (!compressed_size(content, NULL, QUICK_LEVEL, &a) ||
            !compressed_size_trained(content, dictionary, QUICK_LEVEL, &b))
            return false;
        without += a;
        with += b;
    }
    if (with >= without)
        pack->dictionary_nbytes = 0;
    return true;
}

/* ---- writing ------------------------------------------------------------- */

static bool write_failed(const char *path)
{
    (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
}

/* Half a file is worse than none. */
static bool give_up(const char *path)
{
    (void)write_failed(path);
    (void)remove(path);
    return false;
}

/* FOLDER[/TARGET]/NAME.head and .zst */
static bool write_blob(const struct pack *pack, const struct blob_info *info,
                       const char *name, const void *stored)
{
    char path[4096];
    FILE *f;
    bool ok;
    int n;

    n = snprintf(path, sizeof(path) - 8, "%s/%s", pack->folder, info->target);
    if (n < 0 || (size_t)n >= sizeof(path) - 8 - strlen(name)) {
        errno = ENAMETOOLONG;
        return write_failed(pack->folder);
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return write_failed(path);
    (void)sprintf(path + n, "%s%s.head", *info->target ? "/" : "", name);
    f = fopen(path, "wb");
    if (!f)
        return write_failed(path);
    blob_write_head(f, info);
    ok = !ferror(f);
    if (fclose(f) != 0 || !ok)
        return give_up(path);
    memcpy(strrchr(path, '.'), ".zst", sizeof(".zst"));
    f = fopen(path, "wb");
    if (!f)
        return write_failed(path);
    ok = fwrite(stored, 1, info->stored_nbytes, f) == info->stored_nbytes;
    return fclose(f) == 0 && ok ? true : give_up(path);
}

static bool write_dictionary(const struct pack *pack)
{
    const struct bytes content = {pack->dictionary, pack->dictionary_nbytes};
    struct blob_info info = {.kind = KPK_BLOB_DICTIONARY,
                             .pack = pack->name,
                             .module = "",
                             .target = "",
                             .content = pack->dictionary,
                             .nbytes = pack->dictionary_nbytes,
                             .codec = KPK_CODEC_ZSTD};
    void *stored = NULL;
    bool ok;

    if (pack->dictionary_nbytes &&
        !compress(content, NULL, LEVEL, &stored, &info.stored_nbytes))
        return false;
    ok = write_blob(pack, &info, "dictionary", stored);
    free(stored);
    return ok;
}

static bool write_object(const struct pack *pack, const struct input *in,
                         const struct input *reference)
{
    const struct bytes content = {in->object->data, in->object->nbytes};
    const struct bytes dictionary = {pack->dictionary, pack->dictionary_nbytes};
    struct bytes prefix = {NULL, 0};
    struct blob_info info = {.kind = KPK_BLOB_CODE_OBJECT,
                             .pack = pack->name,
                             .module = in->module,
                             .target = in->target,
                             .cov = in->object->cov,
                             .content = content.data,
                             .nbytes = content.nbytes,
                             .codec = KPK_CODEC_ZSTD};
    void *stored = NULL;
    bool ok;

    if (reference) {
        prefix =
            (struct bytes){reference->object->data, reference->object->nbytes};
        info.reference = reference->sha256;
        ok = compress(content, &prefix, LEVEL, &stored, &info.stored_nbytes);
    } else if (dictionary.nbytes) {
        info.reference = pack->dictionary_sha256;
        ok = compress_trained(content, dictionary, LEVEL, &stored,
                              &info.stored_nbytes);
    } else {
        ok = compress(content, NULL, LEVEL, &stored, &info.stored_nbytes);
    }
    ok = ok && write_blob(pack, &info, in->module, stored);
    free(stored);
    return ok;
}

/* Compresses one module: n inputs of the same name, from inputs[first] on. */
static bool compress_module(const struct pack *pack, size_t first, size_t n)
{
    const struct input *inputs = pack->inputs + first;
    struct bytes *contents = calloc(n, sizeof(*contents));
    size_t *references = calloc(n, sizeof(*references));
    bool ok = contents && references;

    if (!ok)
        (void)no_memory();
    for (size_t i = 0; ok && i < n; i++)
        contents[i] =
            (struct bytes){inputs[i].object->data, inputs[i].object->nbytes};
    ok = ok && plan_references(contents, n, references);
    for (size_t i = 0; ok && i < n; i++)
        ok = write_object(pack, &inputs[i],
                          references[i] == i ? NULL : &inputs[references[i]]);
    free(contents);
    free(references);
    return ok;
}

static size_t same_module(const struct pack *pack, size_t first)
{
    size_t n = 1;

    while (first + n < pack->n && strcmp(pack->inputs[first].module,
                                         pack->inputs[first + n].module) == 0)
        n++;
    return n;
}

/* A thread: compresses one module after the other. */
static void *work(void *argument)
{
    struct pack *pack = argument;

    while (!atomic_load(&pack->failed)) {
        size_t first = atomic_load(&pack->next);

        do {
            if (first == pack->n)
                return NULL;
        } while (!atomic_compare_exchange_weak(
            &pack->next, &first, first + same_module(pack, first)));
        if (!compress_module(pack, first, same_module(pack, first)))
            atomic_store(&pack->failed, true);
    }
    return NULL;
}

static bool compress_modules(struct pack *pack)
{
    enum { MOST = 16 };
    pthread_t threads[MOST];
    const long ncpus = sysconf(_SC_NPROCESSORS_ONLN);
    int n = 0;

    while (n < MOST && n + 1 < ncpus &&
           pthread_create(&threads[n], NULL, work, pack) == 0)
        n++;
    (void)work(pack);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
    return !atomic_load(&pack->failed);
}

int main(int argc, char **argv)
{
    static struct pack pack;
    bool ok;

    if (argc < 4) {
        (void)fputs("usage: kpack-compress PACK FOLDER MODULE/TARGET=FILE...\n",
                    stderr);
        return 2;
    }
    pack.name = argv[1];
    pack.folder = argv[2];
    pack.inputs = calloc((size_t)argc, sizeof(*pack.inputs));
    ok = pack.inputs != NULL;
    if (!ok)
        (void)no_memory();
    while (ok && pack.n < (size_t)argc - 3) {
        ok = read_input(&pack.inputs[pack.n], argv[3 + pack.n]);
        pack.n++;
    }
    if (ok) {
        qsort(pack.inputs, pack.n, sizeof(*pack.inputs), by_module_and_target);
        ok = train(&pack) && weigh_dictionary(&pack);
        sha256(pack.dictionary, pack.dictionary_nbytes, pack.dictionary_sha256);
        ok = ok && write_dictionary(&pack) && compress_modules(&pack);
    }
    for (size_t i = 0; pack.inputs && i < pack.n; i++) {
        codeobj_free(pack.inputs[i].object);
        free(pack.inputs[i].module);
        free(pack.inputs[i].target);
    }
    free(pack.inputs);
    return ok ? 0 : 1;
}
