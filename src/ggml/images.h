/* images.h - windows over images, and images of another size */
#ifndef KPK_GGML_IMAGES_H
#define KPK_GGML_IMAGES_H

#include "launch.h"

/* IM2COL, POOL_1D, POOL_2D, CONV_TRANSPOSE_1D and UPSCALE; false as ops_node()
 */
bool image(struct run *run, const struct ggml_tensor *t);

#endif
