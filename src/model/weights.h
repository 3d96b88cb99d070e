/* weights.h - a file's tensors as a model's weights, on its devices */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "parts.h"

/* Copies all weights to the devices. */
bool load_weights(const struct gguf *gguf, struct model *model,
                  struct fault *fault);

#endif
