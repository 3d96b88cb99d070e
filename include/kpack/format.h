/* format.h - the constant tables of which a pack is made
 *
 * Generated C includes this header and nothing else of kpack does but the
 * runtime. Programs use kpack.h, which keeps these types opaque.
 *
 * Names are offsets into the module's string table and not pointers, and every
 * per-kernel record is free of pointers: a pack of 700 kernels adds a handful
 * of relocations per module to a position-independent program, none per
 * kernel. All tables are read-only, but for the caches of what is compressed.
 */
#ifndef KPACK_FORMAT_H
#define KPACK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Changes with every incompatible change below; the runtime checks it. */
#define KPK_FORMAT_VERSION 7u

/* Kinds of explicit arguments: `.value_kind` of the code object's metadata. */
enum kpk_arg_kind {
    KPK_ARG_BY_VALUE,
    KPK_ARG_GLOBAL_BUFFER,
    KPK_ARG_DYNAMIC_SHARED_POINTER,
    KPK_ARG_OTHER,  /* sampler, image, pipe, queue */
    KPK_ARG_UNKNOWN /* a cubin does not tell */
};

/* One explicit argument. Hidden arguments are not listed. */
struct kpk_arg_desc {
    uint32_t name;   /* string offset; 0 (the empty string) if unknown */
    uint32_t offset; /* bytes from the start of the kernarg segment */
    uint32_t size;   /* bytes */
    uint32_t kind;   /* enum kpk_arg_kind */
};

/* The description of a kernel, equal on all targets of a module. */
struct kpk_kernel_desc {
    uint32_t name;            /* string offset */
    uint32_t first_arg;       /* index into kpk_module.args */
    uint32_t nargs;           /* explicit arguments */
    uint32_t explicit_nbytes; /* end of the last explicit argument */
};

/* A kernel's needs on one target, from the code object's metadata. */
struct kpk_kernel_attrs {
    uint32_t kernarg_nbytes; /* whole segment, hidden arguments included */
    uint32_t kernarg_align;
    uint32_t lds_nbytes;     /* static, per workgroup */
    uint32_t scratch_nbytes; /* per work-item */
    uint32_t max_block;      /* work-items in a workgroup */
    uint32_t reqd_block[3];  /* 0, 0, 0 if not required */
    uint16_t vgprs;
    uint16_t agprs;
    uint16_t sgprs;
    uint16_t vgpr_spills;
    uint16_t sgpr_spills;
    uint16_t wave_size; /* 32 or 64 */
    uint8_t uses_dynamic_stack;
    uint8_t has_hidden_args;
    uint8_t waits; /* for the launch before it: see KPK_LAUNCH_EARLY */
    uint8_t reserved;
    uint32_t least_shared_nbytes; /* dynamic, of every launch; 0 if not known */
};

/*
 * A blob is a code object as it lies in a program: this head, three strings,
 * padding up to data_at, then the stored bytes, and a NUL, which PTX needs. It
 * says itself what it is and holds no pointer, so that `kpack verify` and its
 * kin find it by its magic in any file (stripped, linked or not) and check it.
 * Little-endian; aligned to 64 bytes where tables point to one.
 */
struct kpk_blob {
    unsigned char magic[16]; /* "KPACK BLOB" and six bytes that no text has */
    uint32_t version;        /* KPK_BLOB_VERSION */
    uint32_t data_at;        /* bytes from here to the data, a multiple of 64 */
    uint64_t nbytes; /* size of the content; 0: kpack prune took it out */
    uint64_t stored_nbytes; /* size of the stored data */
    uint32_t codec;         /* enum kpk_codec_number */
    uint32_t kind;          /* enum kpk_blob_kind */
    uint8_t sha256[32];     /* of the content */
    uint8_t reference[32];  /* SHA-256 of the content that the codec needs as
                             * its dictionary; zeros if it needs none */
    uint32_t cov;           /* code object version, 3 to 6; of a cubin CUDA's
                             * release, 130 is 13.0; of PTX its ISA's, 78 */
    uint32_t pack;          /* bytes from here to the pack's name, */
    uint32_t module;        /* the module's and the target ID, each with */
    uint32_t target;        /* its NUL and in front of the data */
};

/* Version of the head alone: programs hold heads of many releases. */
#define KPK_BLOB_VERSION 1u

enum kpk_blob_kind { KPK_BLOB_CODE_OBJECT, KPK_BLOB_DICTIONARY };
enum kpk_codec_number { KPK_CODEC_NONE, KPK_CODEC_ZSTD };

/* The magic's last six bytes: a byte beyond ASCII, a line end and an end of
 * file of either world, so that a transfer as text shows. */
#define KPK_BLOB_MAGIC_TAIL 0xf3, '\r', '\n', 0x1a, '\n', 0

/* One code object: a module compiled for one target. */
struct kpk_code_object {
    uint32_t target; /* string offset of the target ID */
    uint32_t cov;    /* as the blob's */
    const struct kpk_blob *blob;
    const struct kpk_kernel_attrs *attrs; /* [nkernels], in kernel order */
    uint8_t sha256[32];                   /* hash of the file: the blob's */
    /* Each kernel's name in the code object: string offsets [nkernels]; 0 if
     * every kernel has its own name there. A cubin has no second names. */
    const uint32_t *symbols;
};

/*
 * A codec turns stored bytes into content. Only packs with compressed content
 * link it, so that other packs need no library. decode() fills dst, all of it,
 * and returns 0, or else the reason why it cannot: KPK_CODEC_NO_MEMORY, or what
 * is wrong with the stored bytes.
 */
#define KPK_CODEC_NO_MEMORY "out of memory"
struct kpk_codec {
    uint32_t number; /* enum kpk_codec_number */
    const char *name;
    const char *(*decode)(void *dst, size_t dst_nbytes, const void *src,
                          size_t src_nbytes, const void *dictionary,
                          size_t dictionary_nbytes);
};

/* Where a decoded blob is kept for the life of the process; NULL so far. */
struct kpk_cache {
    void *content;
};

/* Types of a configuration table's columns. */
enum kpk_cell_type { KPK_CELL_INT, KPK_CELL_FLOAT, KPK_CELL_STRING };

struct kpk_column {
    uint32_t name; /* string offset */
    uint32_t type; /* enum kpk_cell_type */
};

union kpk_cell_data {
    int64_t i;
    double f;
    uint32_t s; /* string offset */
};

/* Which kernel and target a row of a configuration table is for. */
struct kpk_row_key {
    uint32_t kernel; /* index into the kernels of its module */
    uint32_t target; /* string offset of a processor's name; 0 for any */
    uint32_t module; /* index into kpk_table.modules; 0 without those */
};

/*
 * A table's cells once more, for searching: which of its column's values each
 * is, by their order (text as strcmp). Rows come in groups, and a group's
 * columns one after the other. Column number ncolumns is the rows' target. In
 * the last group the places behind the last row hold anything.
 */
#define KPK_GROUP_NROWS 64
struct kpk_table_index {
    const uint16_t *codes; /* [groups][ncolumns + 1][KPK_GROUP_NROWS] */
    const uint32_t *rows;  /* one row per value, column by column */
    const uint32_t
        *first; /* [ncolumns + 2] index in rows of each column's first one */
};

/* A CSV file that lies beside a module's kernels: one row for a kernel (and a
 * target), the columns that the file has besides `kernel` and `target`. */
struct kpk_table {
    uint32_t name; /* string offset: the file's name less ".csv" */
    uint32_t ncolumns;
    uint32_t nrows;
    const struct kpk_column *columns; /* [ncolumns], in the file's order */
    const struct kpk_row_key *keys;   /* [nrows], by kernel's name, then as in
                                       * the file */
    const union kpk_cell_data *cells; /* [nrows][ncolumns] */
    /* Modules of the rows' kernels, if the table spans several modules; 0: all
     * kernels are in the table's module. */
    const struct kpk_module *modules;
    const struct kpk_table_index *index; /* 0 if a column has 2^16 values */
};

struct kpk_module {
    uint32_t format; /* KPK_FORMAT_VERSION */
    uint32_t name;   /* string offset */
    const char *strings;
    const struct kpk_kernel_desc *kernels; /* sorted by name, as strcmp */
    const struct kpk_arg_desc *args;
    const struct kpk_code_object *objects; /* sorted by target ID */
    uint32_t nkernels;
    uint32_t nobjects;
    const struct kpk_table *tables; /* [ntables], sorted by name */
    uint32_t ntables;
    const struct kpk_codec *codec;     /* 0 if nothing is compressed, as are */
    const struct kpk_blob *dictionary; /* these: of the pack, 0 without one, */
    struct kpk_cache *caches;          /* [nobjects], and of the dictionary */
    struct kpk_cache *dictionary_cache;
};

struct kpk_pack {
    uint32_t format; /* KPK_FORMAT_VERSION */
    uint32_t nmodules;
    const char *name;
    const struct kpk_module *const *modules; /* sorted by name */
};

#endif
