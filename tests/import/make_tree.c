/* make_tree.c - writes a tree of made code objects, peculiar as AMD's is
 *
 *   make_tree DIR FILES BYTES
 *
 * FILES code objects of BYTES in all, for gfx942, gfx950 and a few for gfx1250,
 * in folders of kinds with a CSV file each. The tree has the peculiarities of
 * its model: rows of files that are not there, files without a row, kernels of
 * one name in several files, files that a row does not say the folder of, lists
 * of arguments that end before or behind the segment, columns of one target
 * alone, comments and a byte order mark.
 */
#include "made_code_object.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct target {
    const char *name;
    uint32_t e_flags;
    unsigned wave_size, share; /* of 100 files */
} targets[] = {{"gfx942", 0x54c, 64, 49},
               {"gfx950", 0x54f, 64, 49},
               {"gfx1250", 0x549, 32, 2}};

/* Tables cycle through their columns' values, which are numbers or text. */
static const struct kind {
    const char *name;
    const char *subfolder; /* folder of files and table; "" for none */
    const char *slots;     /* arguments, see slot_args() */
    uint32_t more;         /* segment bytes beyond the last argument */
    unsigned share;        /* of 100 files */
    const char *columns;   /* behind knl_name and co_name */
    const char *values[4];
} kinds[] = {
    {"bf16gemm",
     "",
     "pppppuuuuuuuuuuuuuuupup",
     0,
     4,
     "tn,tileM,tileN,pf,bPreshuffle,splitK,subK,bias",
     {"1,32,64,3,0,0,64,1", "1,96,64,3,1,1,64,1", "1,64,64,3,0,1,64,1",
      "1,256,256,0,1,0,64,0"}},
    {"topksoftmax",
     "",
     "pppuuuuu",
     0,
     4,
     "subm,num_experts,topk,dtype",
     {"4,128,4,fp32", "12,128,4,fp32", "4,256,8,bf16", "4,384,8,fp32"}},
    {"fmoe",
     "silu",
     "ppppppppppppuuuuuuuuuuuuuuuu",
     32,
     40,
     "atm,vskip,smf,tg_num_perCU,ps,subGU_m,subGU_n,flat",
     {"0,1,0,1,0,32,128,0", "0,1,0,1,0,32,256,0", "1,0,2,1,1,16,512,1",
      "0,0,0,2,1,64,320,0"}},
    {"fmoe",
     "gelu",
     "ppppppppppppuuuuuuuuuuuuuuuu",
     0,
     32,
     "atm,vskip,smf,tg_num_perCU,ps,subGU_m,subGU_n",
     {"0,1,0,1,0,32,128", "0,1,0,1,0,32,256", "1,0,2,1,1,16,512",
      "0,0,0,2,1,64,320"}},
    {"pa",
     "",
     "pppppppuuuuuuu",
     0,
     8,
     "qType,kvType,Gqa,Mtp,Msk,Hp,blkSz,ps",
     {"bf16,fp8,16,0,0,1,16,1", "bf16,int8,8,1,1,0,16,0",
      "fp16,fp16,8,0,0,0,16,0", "bf16,fp8,10,12,1,0,1024,0"}},
    {"fmha_v3_fwd",
     "",
     "pppppfuuuuuuuuuuuuuuuuuuuuuuuppup",
     0,
     10,
     "dtype,hdim_q,hdim_v,mask,mode",
     {"bf16,128,128,0,0", "bf16,128,128,2,0", "fp8bf16,192,128,0,1",
      "bf16,192,128,2,1"}},
};
enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]), MAX_ARGS = 256 };

static const char *root;
static size_t total_files, total_nbytes;

/* Results of text(), listed and kept to the end. */
static struct text {
    struct text *next;
    char bytes[1024];
} * texts;

__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
    struct text *out = malloc(sizeof(*out));
    va_list args;

    if (!out)
        exit(1);
    out->next = texts;
    texts = out;
    va_start(args, format);
    vsnprintf(out->bytes, sizeof(out->bytes), format, args);
    va_end(args);
    return out->bytes;
}

static void fail(const char *path)
{
    fprintf(stderr, "make_tree: %s: %s\n", path, strerror(errno));
    exit(1);
}

/* Opens a file below the root, whose folders it makes. */
static FILE *create(const char *relative)
{
    char *path = text("%s/%s", root, relative);
    FILE *f;

    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            if (mkdir(path, 0777) != 0 && errno != EEXIST)
                fail(path);
            *c = '/';
        }
    f = fopen(path, "wb");
    if (!f)
        fail(path);
    return f;
}

static void write_object(const char *relative, const struct made_object *spec)
{
    size_t nbytes;
    unsigned char *data = make_object(spec, &nbytes);
    FILE *f = create(relative);

    if (fwrite(data, nbytes, 1, f) != 1 || fclose(f) != 0)
        fail(relative);
    free(data);
}

/* Sizes go from half the mean to one and a half. */
static size_t size_of(size_t number)
{
    const size_t mean = total_nbytes / total_files;

    return mean / 2 + mean * (number * 37 % 101) / 100;
}

static void write_file(const struct target *t, const struct kind *k,
                       const char *relative, const char *kernel, size_t number)
{
    struct made_arg args[MAX_ARGS];
    const size_t nargs = slot_args(k->slots, args, MAX_ARGS);
    struct made_object spec = {
        .kernel = kernel,
        .e_flags = t->e_flags,
        .abi_version = 2 + (unsigned)(number % 3),
        .wave_size = t->wave_size,
        .kernarg_nbytes = 16 * (uint32_t)strlen(k->slots),
        .lds_nbytes = number % 4 ? 65536 : 0,
        .args = args,
        .nargs = nargs,
        .nbytes = size_of(number),
    };

    if (t == &targets[1]) /* the targets of a kind do not agree in all */
        spec.kernarg_nbytes += k->more;
    if (t == &targets[1] && number % 100 == 7)
        spec.kernarg_nbytes = 436; /* less than the list */
    if (t == &targets[2])
        for (size_t i = 0; i < nargs; i++)
            args[i].name = NULL;
    if (number % 50 == 3)
        spec.nargs = nargs > 4 ? nargs - 4 : nargs; /* one slot less */
    write_object(relative, &spec);
}

/* A kind's files for a target, and the table beside them. */
static void write_kind(const struct target *t, const struct kind *k, size_t n,
                       size_t first)
{
    const char *slash = *k->subfolder ? "/" : "";
    char *folder = text("%s/%s%s%s", t->name, k->name, slash, k->subfolder);
    char *table = text("%s/%s%s%s.csv", folder, k->name,
                       *k->subfolder ? "_" : "", k->subfolder);
    const bool hides = strcmp(k->name, "fmha_v3_fwd") == 0 && t == targets;
    FILE *csv = create(table);

    if (k == kinds)
        fputs("\xef\xbb\xbf// tiles\r\n/* of\n   GEMMs */\n", csv);
    fprintf(csv, "knl_name,co_name,%s%s\n", k->columns,
            t == &targets[1] && k == &kinds[4] ? ",qTile" : "");
    for (size_t i = 0; i < n; i++) {
        /* The last tenth are files that no row names. */
        const bool has_row = i < n - n / 10;
        char *base = text("%s_%s_%zux%zu", k->name, k->subfolder, i / 4, i % 4);
        char *kernel = i % 25 == 24
                           ? text("%s_kernel_func", k->name)
                           : text("_ZN5aiter%zu%sE", strlen(base), base);

        if (hides)
            for (int v = 0; v < 2; v++)
                write_file(
                    t, k,
                    text("%s/%s/%s.co", folder, v ? "MI308" : "MI300", base),
                    kernel, first + i);
        else
            write_file(t, k, text("%s/%s.co", folder, base), kernel, first + i);
        if (has_row && i % 25 != 24)
            fprintf(csv, "%s,%s.co,%s%s%s\n", kernel, base, k->values[i % 4],
                    t == &targets[1] && k == &kinds[4] ? ",16" : "",
                    i % 9 == 0 ? " # checked" : "");
    }
    if (k == &kinds[4])
        fprintf(csv, "_ZN5aiter4goneE,gone.co,%s%s\n", k->values[0],
                t == &targets[1] ? ",16" : "");
    if (fclose(csv) != 0)
        fail(table);
}

int main(int argc, char **argv)
{
    size_t written = 0;

    if (argc != 4 || (total_files = strtoul(argv[2], NULL, 10)) < 100 ||
        (total_nbytes = strtoul(argv[3], NULL, 10)) < total_files) {
        fputs("usage: make_tree DIR FILES BYTES (100 files at least)\n",
              stderr);
        return 2;
    }
    root = argv[1];
    for (size_t t = 0; t < 3; t++) {
        const size_t of_target = total_files * targets[t].share / 100;

        for (size_t k = 0; k < NKINDS; k++) {
            size_t n = of_target * kinds[k].share / 100;

            if (t == 0 && k == NKINDS - 1)
                n /= 2; /* they come twice, for two boards */
            write_kind(&targets[t], &kinds[k], n, written);
            written += t == 0 && k == NKINDS - 1 ? 2 * n : n;
        }
    }
    for (; written < total_files; written++) /* older ones, without a folder */
        write_file(targets, &kinds[1], text("gfx942/old_%zu.co", written),
                   text("old_kernel_%zu", written), written);
    return 0;
}
