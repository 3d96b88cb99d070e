/* open.h - opens a model on its devices */
#ifndef MODEL_OPEN_H
#define MODEL_OPEN_H

#include "model.h"

/* Copies the weights to the devices. gguf may be closed afterwards. */
bool model_open(const struct gguf *gguf, const struct model_options *options,
                struct model **out, struct fault *fault);
void model_close(struct model *model);

#endif
