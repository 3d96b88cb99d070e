/* options.h - the program's command line */
#ifndef MODEL_OPTIONS_H
#define MODEL_OPTIONS_H

#include "model.h"

struct options {
    const char *file;
    /* A prompt; a file with one prompt; a file with a prompt in each line.
     * Without any of them standard input is the prompt. */
    const char *prompt, *text, *prompts;
    uint32_t tokens; /* most tokens in an answer */
    struct model_options model;
    struct sampler sampler;
    bool json, ids, plain, quiet, help;
};

bool options_read(int argc, char **argv, struct options *out,
                  struct fault *fault);
/* The list of --devices, "0,1". */
bool options_read_devices(const char *text, struct model_options *out,
                          struct fault *fault);
void options_help(void);

#endif
