/* attention.h - FLASH_ATTN_EXT by module attention */
#ifndef KPK_GGML_ATTENTION_H
#define KPK_GGML_ATTENTION_H

#include "launch.h"

/* false as ops_node() */
bool attention(struct run *run, const struct ggml_tensor *t);
/* The result as Q8_1, a row for each token, instead of t's numbers. */
bool attention_to_blocks(struct run *run, const struct ggml_tensor *t,
                         void *blocks);
/* Whether it reads Q as f16. */
bool attention_reads_halves(const struct ggml_tensor *t);

#endif
