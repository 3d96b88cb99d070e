/* cmd.h - the command line, and the commands, a file each */
#ifndef KPK_CMD_H
#define KPK_CMD_H

#include <stdbool.h>

/* A kernel's name and its arguments. */
enum { OPTIONS_MAX_WORDS = 64 };

/* The command line after the command's name. */
struct options {
    bool json;          /* --json */
    bool kernels;       /* --kernels */
    const char *output; /* -o FILE; NULL if not given */
    const char *only;   /* -k GLOB; NULL if not given */
    const char *keep;   /* --keep TARGET,...; NULL if not given */
    bool all;           /* --all */
    const char *kpack;  /* --kpack DIR; NULL if not given */
    const char *keys;   /* --keys KIND; NULL if not given */
    int device;         /* -d N; KPK_ANY_DEVICE if not given */
    const char *grid;   /* -g X,Y,Z; NULL if not given */
    const char *block;  /* -b X,Y,Z; NULL if not given */
    int shared;         /* -s BYTES; -1 if not given */
    int nwords;
    const char *words[OPTIONS_MAX_WORDS];
};

/* They return an exit status: exit_status.h. */
int cmd_list(const struct options *options);
int cmd_info(const struct options *options);
int cmd_devices(const struct options *options);
int cmd_select(const struct options *options);
int cmd_extract(const struct options *options);
int cmd_run(const struct options *options);
int cmd_verify(const struct options *options);
int cmd_prune(const struct options *options);

#endif
