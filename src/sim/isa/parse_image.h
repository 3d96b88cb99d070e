/* parse_image.h - words that only instructions on images and formats have */
#ifndef SIM_ISA_PARSE_IMAGE_H
#define SIM_ISA_PARSE_IMAGE_H

#include "insn.h"

/* What follows "dim:" of an image instruction, and
 * "format:" of one on typed buffers, up to `end`. */
bool sim_parse_dim(const char *p, const char *end, struct insn *in);
bool sim_parse_buffer_format(const char *p, const char *end, struct insn *in);

#endif
