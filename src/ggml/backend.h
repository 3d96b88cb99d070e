/*
 * backend.h - the pack as a backend of ggml
 *
 * A program that links libggml-kpack.a registers it before it loads a model:
 *
 *     ggml_backend_register(ggml_backend_kpack_reg());
 *
 * libggml-kpack.so has the same backend, for GGML_BACKEND_PATH.
 */
#ifndef KPK_GGML_BACKEND_H
#define KPK_GGML_BACKEND_H

#include <ggml-backend-impl.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The registry with a device for each GPU that the pack has code for; a machine
 * without a GPU or driver has none. NULL, and a sentence on stderr, if the ggml
 * of the process is another than the backend was made for: then do not
 * register. The same pointer each time, for ever.
 */
__attribute__((visibility("default"))) ggml_backend_reg_t
ggml_backend_kpack_reg(void);

/*
 * What ggml's loader looks for in libggml-kpack.so: the registry, and how well
 * it suits the machine. 0, if there is no GPU for it, says not to load it.
 */
__attribute__((visibility("default"))) ggml_backend_reg_t
ggml_backend_init(void);
__attribute__((visibility("default"))) int ggml_backend_score(void);

#ifdef __cplusplus
}
#endif

#endif
