/* fuzz_symbols.c - any bytes as a code object that the runtime lists symbols
 * of, and as target IDs that it compares */
#include "fuzz.h"
#include "kpack.h"
#include "kpack/format.h"
#include "mutate.h"

enum { ROOM = 64, HEAD_NBYTES = 192 };

static const char strings[] = "\0m\0kernel\0gfx942\0sm_90";
enum { KERNEL = 3, GFX942 = 10, SM_90 = 17 }; /* places in it */

/* A module whose code object, for the target at that place, is the input, as if
 * the program were damaged. */
static void list_symbols(const uint8_t *data, size_t nbytes, uint32_t target)
{
    static const struct kpk_kernel_desc kernels[] = {{KERNEL, 0, 0, 0}};
    static const struct kpk_kernel_attrs attrs;
    uint8_t *memory = aligned_alloc(64, (HEAD_NBYTES + nbytes + 63) / 64 * 64);
    struct kpk_blob *blob = (struct kpk_blob *)memory;
    struct kpk_code_object object = {
        .target = target, .cov = 5, .blob = blob, .attrs = &attrs};
    kpk_module module = {.format = KPK_FORMAT_VERSION,
                         .name = 1,
                         .strings = strings,
                         .kernels = kernels,
                         .objects = &object,
                         .nkernels = 1,
                         .nobjects = 1};
    kpk_symbol symbols[ROOM];
    size_t count = 0;

    if (!memory)
        abort();
    memset(memory, 0, HEAD_NBYTES);
    blob->version = KPK_BLOB_VERSION;
    blob->data_at = HEAD_NBYTES;
    blob->nbytes = blob->stored_nbytes = nbytes;
    if (nbytes)
        memcpy(memory + HEAD_NBYTES, data, nbytes);
    if (kpk_module_symbols(&module, 0, symbols, ROOM, &count) == KPK_OK)
        for (size_t i = 0; i < count && i < ROOM; i++)
            FUZZ_ASSERT(strlen(symbols[i].name) < nbytes);
    free(memory);
}

/* Two strings, cut at a zero byte. */
static void compare_targets(const uint8_t *data, size_t nbytes)
{
    char *texts = malloc(nbytes + 2);
    const char *second;
    char why[64];
    kpk_fit fit;

    if (!texts)
        abort();
    if (nbytes)
        memcpy(texts, data, nbytes);
    texts[nbytes] = texts[nbytes + 1] = '\0';
    second = texts + strlen(texts) + (strlen(texts) <= nbytes);
    if (kpk_target_fit(texts, second, &fit, why, sizeof(why)) == KPK_OK)
        FUZZ_ASSERT(strlen(why) < sizeof(why));
    free(texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    list_symbols(data, nbytes, GFX942);
    list_symbols(data, nbytes, SM_90);
    compare_targets(data, nbytes < 512 ? nbytes : 512);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t nbytes, size_t most,
                               unsigned seed)
{
    return mutate_elf(data, nbytes, most, seed);
}
