/* test_pack.c - the tables of test_pack.h
 *
 *   module  kernel     arguments                         limits
 *   alpha   many       260 times u32                     -
 *   alpha   noargs     none                              -
 *   alpha   scale      float *x, u32 n, float by         block <= 256
 *   alpha   shared     u64 n                             1024 bytes of LDS
 *   alpha   slots      16-byte slots: pointer, u32       block 64 x 2 x 1
 *   alpha   twin       u8 x                              -
 *   alpha   two_shared shared pointers x, y              -
 *   alpha   uses_shared shared pointer x, u32 n          -
 *   beta    huge       x, a struct of 5000 bytes         segment of 8 bytes
 *   beta    lone_pad   float *x, u64 pad                 -
 *   beta    ragged     x, a struct of 80 bytes at 16     segment of 8 bytes
 *   beta    torn       8 slots, segment ends in slot 7   -
 *   beta    twin       u8 x, u8 y                        -
 *   beta    unasked    u32 x                             segment of 0 bytes
 *   beta    unlisted   24 bytes that no list names       -
 *   beta    whole      a struct of 48 bytes              -
 *
 * alpha has a configuration table, of launch shapes of scale:
 *
 *   kernel,target,block_x
 *   scale,gfx1100,32
 *   scale,gfx11-generic,64
 *   scale,,128
 */
#include "test_pack.h"

#include "kpack/format.h"

/* clang-format off */
#define STRING_TABLE(S)                     \
    S(none, "")                             \
    S(alpha, "alpha")                       \
    S(beta, "beta")                         \
    S(many, "many")                         \
    S(noargs, "noargs")                     \
    S(scale, "scale")                       \
    S(shared, "shared")                     \
    S(slots, "slots")                       \
    S(whole, "whole")                       \
    S(unlisted, "unlisted")                 \
    S(huge, "huge")                         \
    S(ragged, "ragged")                     \
    S(unasked, "unasked")                   \
    S(no_target, "no target!")              \
    S(gfx90a_exact, "gfx90a:sramecc+:xnack-") \
    S(block_x, "block_x")                   \
    S(gfx1100, "gfx1100")                   \
    S(twin, "twin")                         \
    S(two_shared, "two_shared")             \
    S(uses_shared, "uses_shared")           \
    S(lone_pad, "lone_pad")                 \
    S(torn, "torn")                         \
    S(x, "x")                               \
    S(y, "y")                               \
    S(n, "n")                               \
    S(by, "by")                             \
    S(pad, "pad")                           \
    S(gfx1030, "gfx1030")                   \
    S(gfx11_generic, "gfx11-generic")       \
    S(gfx90a, "gfx90a")                     \
    S(gfx90a_xnack_on, "gfx90a:xnack+")     \
    S(sm_90, "sm_90")                       \
    S(compute_80, "compute_80")
/* clang-format on */

static const struct strings {
#define S(id, text) char id[sizeof(text)];
    STRING_TABLE(S)
#undef S
} strings = {
#define S(id, text) text,
    STRING_TABLE(S)
#undef S
};

#define AT(id) (uint32_t) offsetof(struct strings, id)

#define ELF(machine)                                                           \
    {                                                                          \
        0x7f, 'E', 'L', 'F', 2, 1, 1, 64,                                      \
            3, [16] = 3, [18] = (machine), [20] = 1, [127] = 0                 \
    }

/* A blob's head and content, stored uncompressed. */
#define BLOB(id, n, hash, ...)                                                 \
    static const struct {                                                      \
        struct kpk_blob head;                                                  \
        unsigned char data[128];                                               \
    } id = {{.version = KPK_BLOB_VERSION,                                      \
             .data_at = sizeof(struct kpk_blob),                               \
             .nbytes = (n),                                                    \
             .stored_nbytes = (n),                                             \
             .sha256 = {0xab, (hash)}},                                        \
            __VA_ARGS__}

BLOB(elf, 128, 1, ELF(224));
BLOB(elf_of_gfx11, 128, 0xcd, ELF(224));
BLOB(elf_of_x86, 128, 1, ELF(62));
BLOB(text, 128, 1, "not an ELF file, by no means");
BLOB(short_elf, 63, 1, ELF(224));
BLOB(cubin, 128, 1, {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, [18] = 190});
BLOB(ptx, 13, 1, ".version 7.8\n");

/* clang-format off */
#define VALUE(name, offset, size) {AT(name), offset, size, KPK_ARG_BY_VALUE}
#define BUFFER(name, offset) {AT(name), offset, 8, KPK_ARG_GLOBAL_BUFFER}
#define SHARED(name, offset) \
    {AT(name), offset, 4, KPK_ARG_DYNAMIC_SHARED_POINTER}
#define SLOT(name, i) \
    VALUE(name, 16 * (i), 4), VALUE(pad, 16 * (i) + 4, 12)
#define FOUR(i) VALUE(none, 4 * (i), 4), VALUE(none, 4 * (i) + 4, 4), \
    VALUE(none, 4 * (i) + 8, 4), VALUE(none, 4 * (i) + 12, 4)
#define SIXTEEN(i) FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN((i) + 16), SIXTEEN((i) + 32), \
    SIXTEEN((i) + 48)

static const struct kpk_arg_desc alpha_args[] = {
    /* 0: scale */  BUFFER(x, 0), VALUE(n, 8, 4), VALUE(by, 12, 4),
    /* 3: shared */ VALUE(n, 0, 8),
    /* 4: slots */  BUFFER(x, 0), VALUE(pad, 8, 8), SLOT(n, 1),
    /* 8: twin */   VALUE(x, 0, 1),
    /* 9: many */   SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128),
                    SIXTY_FOUR(192), FOUR(256),
    /* 269: two_shared */  SHARED(x, 0), SHARED(y, 4),
    /* 271: uses_shared */ SHARED(x, 0), VALUE(n, 4, 4)};

static const struct kpk_kernel_desc alpha_kernels[] = {
    {AT(many), 9, 260, 1040},
    {AT(noargs), 0, 0, 0},
    {AT(scale), 0, 3, 16},
    {AT(shared), 3, 1, 8},
    {AT(slots), 4, 4, 32},
    {AT(twin), 8, 1, 1},
    {AT(two_shared), 269, 2, 8},
    {AT(uses_shared), 271, 2, 8}};

static const struct kpk_arg_desc beta_args[] = {
    /* 0: lone_pad */ BUFFER(x, 0), VALUE(pad, 8, 8),
    /* 2: torn */     SLOT(x, 0), SLOT(x, 1), SLOT(x, 2), SLOT(x, 3),
                      SLOT(x, 4), SLOT(x, 5), SLOT(x, 6), SLOT(y, 7),
    /* 18: twin */    VALUE(x, 0, 1), VALUE(y, 1, 1),
    /* 20: whole */   VALUE(x, 0, 48),
    /* 21: huge */    BUFFER(x, 0), VALUE(y, 8, 5000),
    /* 23: ragged */  BUFFER(x, 0), VALUE(y, 16, 80),
    /* 25: unasked */ VALUE(x, 0, 4)};

static const struct kpk_kernel_desc beta_kernels[] = {
    {AT(huge), 21, 2, 5008},
    {AT(lone_pad), 0, 2, 16},
    {AT(ragged), 23, 2, 96},
    {AT(torn), 2, 16, 128},
    {AT(twin), 18, 2, 2},
    {AT(unasked), 25, 1, 4},
    {AT(unlisted), 21, 0, 24},
    {AT(whole), 20, 1, 48}};

#define ATTRS(kernarg, lds, most, ...)                                        \
    {.kernarg_nbytes = (kernarg), .kernarg_align = 8, .lds_nbytes = (lds),    \
     .max_block = (most), .reqd_block = {__VA_ARGS__}, .vgprs = 24,           \
     .sgprs = 16, .wave_size = 64}

static const struct kpk_kernel_attrs alpha_attrs[] = {
    ATTRS(1040, 0, 1024, 0),
    ATTRS(0, 0, 1024, 0),
    ATTRS(272, 0, 256, 0),
    ATTRS(264, 1024, 1024, 0),
    ATTRS(32, 0, 1024, 64, 2, 1),
    ATTRS(8, 0, 1024, 0),
    ATTRS(8, 0, 1024, 0),
    ATTRS(8, 0, 1024, 0)};

static const struct kpk_kernel_attrs beta_attrs[] = {
    ATTRS(8, 0, 1024, 0),
    ATTRS(16, 0, 1024, 0),
    ATTRS(8, 0, 1024, 0),
    ATTRS(112, 0, 1024, 0),
    ATTRS(8, 0, 1024, 0),
    ATTRS(0, 0, 1024, 0),
    ATTRS(24, 0, 1024, 0),
    ATTRS(48, 0, 1024, 0)};

#define OBJECT(id, blob, attrs) {AT(id), 5, &(blob).head, attrs, {0xab, 1}, NULL}

static const struct kpk_code_object alpha_objects[] = {
    {AT(gfx11_generic), 6, &elf_of_gfx11.head, alpha_attrs, {0xab, 0xcd}, NULL},
    OBJECT(gfx90a, elf, alpha_attrs),
    OBJECT(gfx90a_xnack_on, elf, alpha_attrs)};

/* beta has nothing for gfx11. */
static const struct kpk_code_object beta_objects[] = {
    OBJECT(gfx1030, elf, beta_attrs),
    OBJECT(gfx90a, elf, beta_attrs)};
/* clang-format on */

#define COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))

enum { SCALE = 2 }; /* alpha's */
static const struct kpk_column shape_columns[] = {{AT(block_x), KPK_CELL_INT}};
static const struct kpk_row_key shape_keys[] = {
    {SCALE, AT(gfx1100), 0}, {SCALE, AT(gfx11_generic), 0}, {SCALE, 0, 0}};
static const union kpk_cell_data shape_cells[] = {
    {.i = 32}, {.i = 64}, {.i = 128}};
static const struct kpk_table alpha_tables[] = {
    {AT(alpha), 1, 3, shape_columns, shape_keys, shape_cells, NULL, NULL}};

#define MODULE(id, format_, name_, objects_, n, ...)                           \
    const struct kpk_module id = {.format = (format_),                         \
                                  .name = AT(name_),                           \
                                  .strings = (const char *)&strings,           \
                                  .kernels = name_##_kernels,                  \
                                  .args = name_##_args,                        \
                                  .objects = (objects_),                       \
                                  .nkernels = COUNT(name_##_kernels),          \
                                  .nobjects = (n),                             \
                                  __VA_ARGS__}

MODULE(test_module_alpha, KPK_FORMAT_VERSION, alpha, alpha_objects,
       COUNT(alpha_objects), .tables = alpha_tables, .ntables = 1);
MODULE(test_module_beta, KPK_FORMAT_VERSION, beta, beta_objects,
       COUNT(beta_objects), .tables = NULL);
MODULE(test_module_old_format, KPK_FORMAT_VERSION + 1, beta, beta_objects,
       COUNT(beta_objects), .tables = NULL);
MODULE(test_module_empty, KPK_FORMAT_VERSION, beta, beta_objects, 0,
       .tables = NULL);

/* Both called alpha: what alpha is for gfx11, and other kernels for gfx90a. */
MODULE(test_module_alpha_gfx11, KPK_FORMAT_VERSION, alpha, alpha_objects, 1,
       .tables = NULL);
const struct kpk_module test_module_alpha_gfx90a = {
    .format = KPK_FORMAT_VERSION,
    .name = AT(alpha),
    .strings = (const char *)&strings,
    .kernels = beta_kernels,
    .args = beta_args,
    .objects = &beta_objects[1],
    .nkernels = COUNT(beta_kernels),
    .nobjects = 1};

/* Another beta, whose code is for device 0 alone. */
static const struct kpk_code_object beta_exact_objects[] = {
    OBJECT(gfx90a_exact, elf, beta_attrs)};
MODULE(test_module_beta_exact, KPK_FORMAT_VERSION, beta, beta_exact_objects, 1,
       .tables = NULL);

/* A module of the newest code object version, for no generic target. */
static const struct kpk_code_object beta_newest_objects[] = {
    {AT(gfx90a), 6, &elf.head, beta_attrs, {0xab, 1}, NULL}};
MODULE(test_module_newest, KPK_FORMAT_VERSION, beta, beta_newest_objects, 1,
       .tables = NULL);

/* A blob pruned by `kpack prune`, and an impossible target. */
BLOB(pruned, 0, 1, ELF(224));
static const struct kpk_code_object odd_objects[] = {
    OBJECT(gfx1030, elf, beta_attrs), OBJECT(gfx90a, pruned, beta_attrs),
    OBJECT(no_target, elf, beta_attrs)};
MODULE(test_module_odd, KPK_FORMAT_VERSION, beta, odd_objects, 3,
       .tables = NULL);

/* Tables of an imported pack: a row names its kernel's module. */
static const struct kpk_row_key imported_keys[] = {{SCALE, 0, 0},
                                                   {SCALE, AT(gfx1030), 0}};
static const struct kpk_table imported_tables[] = {
    {AT(alpha), 1, 2, shape_columns, imported_keys, shape_cells,
     &test_module_alpha, NULL}};
const struct kpk_module test_module_tables = {.format = KPK_FORMAT_VERSION,
                                              .name = AT(none),
                                              .strings = (const char *)&strings,
                                              .tables = imported_tables,
                                              .ntables = 1};

#define FAULTY(id, blob)                                                       \
    static const struct kpk_code_object id##_object =                          \
        OBJECT(gfx90a, blob, beta_attrs);                                      \
    MODULE(id, KPK_FORMAT_VERSION, beta, &id##_object, 1, .tables = NULL)

FAULTY(test_module_not_elf, text);
FAULTY(test_module_short_elf, short_elf);
FAULTY(test_module_other_machine, elf_of_x86);
FAULTY(test_module_other_blob, elf_of_gfx11);

static const kpk_module *const modules[] = {&test_module_alpha,
                                            &test_module_beta};

const struct kpk_pack test_pack = {KPK_FORMAT_VERSION, 2, "test", modules};
static const kpk_module *const namesakes[] = {&test_module_alpha_gfx11,
                                              &test_module_alpha_gfx90a};
const struct kpk_pack test_pack_namesakes = {KPK_FORMAT_VERSION, 2, "test",
                                             namesakes};
const struct kpk_pack test_pack_old_format = {KPK_FORMAT_VERSION + 1, 2, "test",
                                              modules};

/* clang-format off */
static const struct kpk_code_object nvidia_objects[] = {
    {AT(compute_80), 78, &ptx.head, alpha_attrs, {0xab, 1}, NULL},
    {AT(sm_90), 130, &cubin.head, alpha_attrs, {0xab, 1}, NULL}};
/* clang-format on */
MODULE(test_module_alpha_nvidia, KPK_FORMAT_VERSION, alpha, nvidia_objects,
       COUNT(nvidia_objects), .tables = alpha_tables, .ntables = 1);
static const kpk_module *const nvidia_modules[] = {&test_module_alpha_nvidia};
const struct kpk_pack test_pack_nvidia = {KPK_FORMAT_VERSION, 1, "test",
                                          nvidia_modules};
