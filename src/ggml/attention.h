/* attention.h - FLASH_ATTN_EXT by module attention */
#ifndef KPK_GGML_ATTENTION_H
#define KPK_GGML_ATTENTION_H

#include "launch.h"

/* false as ops_node() */
bool attention(struct run *run, const struct ggml_tensor *t);

#endif
