/* fuzz_kpak.c - any bytes as AMD's kernel archive, or as a library whose code
 * lies in such archives */
#include "base/hipk.h"
#include "base/kpak.h"
#include "fuzz.h"

static volatile uint8_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct kpak kpak;
    struct hipk hipk;
    enum hipk_kind kind;

    if (kpak_open(&kpak, data, nbytes)) {
        for (size_t i = 0; i < kpak.n; i++) {
            const struct kpak_entry *e = &kpak.entries[i];

            FUZZ_ASSERT(*e->key && *e->target && e->nbytes <= KPAK_NBYTES_MAX &&
                        (kpak.zstd || e->nbytes == e->stored_nbytes));
            if (e->stored_nbytes)
                sink = e->stored[0] ^ e->stored[e->stored_nbytes - 1];
        }
    } else {
        FUZZ_ASSERT(*kpak.error);
    }
    kpak_close(&kpak);
    kind = hipk_open(&hipk, data, nbytes);
    if (kind == HIPK_MOVED) {
        for (size_t i = 0; i < hipk.npaths; i++) {
            char *path = hipk_resolve("/folder", hipk.paths[i]);

            FUZZ_ASSERT(path && *path == '/' && !strstr(path, "/../"));
            free(path);
        }
    } else {
        FUZZ_ASSERT(kind == HIPK_NONE || *hipk.error);
    }
    hipk_close(&hipk);
    return 0;
}
