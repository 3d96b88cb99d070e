/* test_query.c - variables, attributes, occupancy, load options, symbols */
#include "unit_checks.h"

#include "fake_hip.h"
#include "hip.h"
#include "kpack/format.h"
#include "test_pack.h"

static struct fake_hip *fake;
static kpk_instance *inst;

static int open_pack(void **state)
{
    (void)state;
    fake_hip_reset(fake);
    return kpk_open(&test_pack, 0, &inst) == KPK_OK ? 0 : -1;
}

static int close_pack(void **state)
{
    (void)state;
    fake->fail_name = NULL;
    return kpk_close(inst) == KPK_OK && fake->live == 0 &&
                   fake->nviolations == 0
               ? 0
               : -1;
}

static void test_global_is_found_written_and_read_within_its_size(void **state)
{
    unsigned char out[64];
    unsigned char back[64];
    void *at = NULL;
    size_t nbytes = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (unsigned char)(i * 3);
    assert_ok(kpk_global(inst, "alpha", "table", &at, &nbytes));
    assert_non_null(at);
    assert_int_equal(nbytes, 64);
    assert_int_equal(fake->nloads, 1); /* by the first question */
    assert_ok(kpk_global(inst, "alpha", "table", NULL, NULL));
    assert_ok(kpk_global_write(inst, "alpha", "table", 0, out, 64));
    assert_ok(kpk_global_read(inst, "alpha", "table", 0, back, 64));
    assert_memory_equal(out, back, 64);
    assert_ok(kpk_global_read(inst, "alpha", "table", 60, back, 4));
    assert_memory_equal(out + 60, back, 4);
    assert_ok(kpk_global_write(inst, "alpha", "table", 64, out, 0));
    assert_status(kpk_global_write(inst, "alpha", "table", 61, out, 4),
                  KPK_ERR_ARG);
    assert_message("variable \"table\" of module alpha has 64 bytes; 4 bytes "
                   "from 61 on were asked for");
    assert_status(kpk_global_read(inst, "alpha", "table", SIZE_MAX, back, 1),
                  KPK_ERR_ARG);
    assert_status(kpk_global_read(inst, "alpha", "table", 1, back, SIZE_MAX),
                  KPK_ERR_ARG);
}

static void test_missing_global_has_a_status_of_its_own(void **state)
{
    void *at;

    (void)state;
    assert_status(kpk_global(inst, "alpha", "chair", &at, NULL),
                  KPK_ERR_NO_GLOBAL);
    assert_int_equal(kpk_error_driver(), hipErrorNotFound);
    assert_message("module alpha has no variable \"chair\"");
    assert_status(kpk_global(inst, "gamma", "table", &at, NULL),
                  KPK_ERR_NO_MODULE);
    assert_status(kpk_global(inst, "alpha", "", &at, NULL), KPK_ERR_ARG);
    assert_status(kpk_global(inst, NULL, "table", &at, NULL), KPK_ERR_ARG);
    assert_status(kpk_global(NULL, "alpha", "table", &at, NULL), KPK_ERR_ARG);
    fake->fail_name = "hipModuleGetGlobal";
    assert_status(kpk_global(inst, "alpha", "table", &at, NULL),
                  KPK_ERR_DRIVER);
}

static void test_texture_has_a_clear_status_where_there_is_none(void **state)
{
    void *texture;

    (void)state;
    assert_status(kpk_texture(inst, "alpha", "picture", &texture),
                  KPK_ERR_UNSUPPORTED);
    assert_message("has no texture reference");
    assert_int_equal(kpk_error_driver(), hipErrorNotSupported);
    assert_status(kpk_texture(inst, "alpha", "absent", &texture),
                  KPK_ERR_NO_GLOBAL);
    assert_status(kpk_texture(inst, "alpha", "picture", NULL), KPK_ERR_ARG);
}

static void test_attributes_are_asked_by_hips_numbers(void **state)
{
    const kpk_kernel *kernel;
    int value;

    (void)state;
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_ok(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, &value));
    assert_int_equal(fake->attribute, 4); /* HIP_FUNC_ATTRIBUTE_NUM_REGS */
    assert_int_equal(value, 1004);
    assert_status(kpk_kernel_driver_attr(NULL, KPK_DRIVER_ATTR_VGPRS, &value),
                  KPK_ERR_ARG);
    assert_status(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, NULL),
                  KPK_ERR_ARG);
    fake->fail_name = "hipFuncGetAttribute";
    assert_status(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, &value),
                  KPK_ERR_DRIVER);
    assert_message("cannot read attribute 4 of scale");
    assert_ok(kpk_unload(inst, "alpha"));
    assert_status(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, &value),
                  KPK_ERR_UNLOADED);
}

static void test_occupancy_asks_hip(void **state)
{
    const kpk_kernel *kernel;
    kpk_shape shape;
    uint32_t blocks;

    (void)state;
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_ok(kpk_occupancy(kernel, 256, 0, &blocks));
    assert_int_equal(blocks, 2);
    assert_ok(kpk_occupancy(kernel, 256, 40000, &blocks));
    assert_int_equal(blocks, 1);
    assert_ok(kpk_occupancy_shape(kernel, 128, 0, &shape));
    assert_int_equal(shape.grid[0], 456);
    assert_int_equal(shape.block[0], 512);
    assert_int_equal(shape.shared_nbytes, 128);
    assert_ok(kpk_occupancy_shape(kernel, 0, 64, &shape));
    assert_int_equal(fake->block_limit, 64);
    assert_int_equal(shape.block[0], 64);
    assert_int_equal(shape.grid[1], 1);
    assert_int_equal(shape.block[2], 1);
    assert_status(kpk_occupancy(kernel, 0, 0, &blocks), KPK_ERR_ARG);
    assert_status(kpk_occupancy(kernel, 1u << 31, 0, &blocks), KPK_ERR_ARG);
    assert_status(kpk_occupancy(NULL, 1, 0, &blocks), KPK_ERR_ARG);
    assert_status(kpk_occupancy(kernel, 1, 0, NULL), KPK_ERR_ARG);
    assert_status(kpk_occupancy_shape(NULL, 0, 0, &shape), KPK_ERR_ARG);
    assert_status(kpk_occupancy_shape(kernel, 0, 0, NULL), KPK_ERR_ARG);
}

static void test_load_options_reach_hip(void **state)
{
    int options[2] = {1, 2};
    int value = 0;
    void *values[2] = {&value, &value};
    const kpk_kernel *kernel;

    (void)state;
    assert_ok(kpk_load_ex(inst, "alpha", 2, options, values));
    assert_int_equal(fake->noptions, 2);
    assert_int_equal(fake->nloads, 1);
    assert_ok(kpk_load_ex(inst, NULL, 0, NULL, NULL));
    assert_int_equal(fake->nloads, 2);
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    assert_int_equal(fake->nloads, 2);
    assert_status(kpk_load_ex(inst, "alpha", 1, NULL, values), KPK_ERR_ARG);
    assert_status(kpk_load_ex(inst, "alpha", 1, options, NULL), KPK_ERR_ARG);
    assert_status(kpk_load_ex(inst, "gamma", 0, NULL, NULL), KPK_ERR_NO_MODULE);
    assert_status(kpk_load_ex(NULL, "alpha", 0, NULL, NULL), KPK_ERR_ARG);
}

/* ---- symbols: an ELF file with a .dynsym, written here ------------------ */

#define NAMES "\0k\0k.kd\0table\0local\0undefined\0"

struct image {
    unsigned char header[64];
    unsigned char sections[3][64]; /* null, .dynsym, .dynstr */
    unsigned char symbols[6][24];
    char names[sizeof(NAMES)];
};

static void put(unsigned char *at, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static void put_symbol(unsigned char *at, uint64_t name, int binding, int type,
                       int section, uint64_t nbytes)
{
    put(at, name, 4);
    at[4] = (unsigned char)(binding << 4 | type);
    put(at + 6, (uint64_t)section, 2);
    put(at + 16, nbytes, 8);
}

static void make_image(struct image *image)
{
    static const unsigned char ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 3};

    memset(image, 0, sizeof(*image));
    memcpy(image->header, ident, sizeof(ident));
    put(image->header + 18, 224, 2);
    put(image->header + 40, offsetof(struct image, sections), 8);
    put(image->header + 58, 64, 2);
    put(image->header + 60, 3, 2);
    put(image->sections[1] + 4, 11, 4); /* SHT_DYNSYM */
    put(image->sections[1] + 24, offsetof(struct image, symbols), 8);
    put(image->sections[1] + 32, sizeof(image->symbols), 8);
    put(image->sections[1] + 40, 2, 4); /* its names */
    put(image->sections[2] + 4, 3, 4);
    put(image->sections[2] + 24, offsetof(struct image, names), 8);
    put(image->sections[2] + 32, sizeof(image->names), 8);
    memcpy(image->names, NAMES, sizeof(NAMES));
    put_symbol(image->symbols[1], 1, 1, 2, 1, 4);   /* k, code */
    put_symbol(image->symbols[2], 3, 1, 1, 1, 64);  /* k.kd */
    put_symbol(image->symbols[3], 8, 1, 1, 1, 256); /* table */
    put_symbol(image->symbols[4], 14, 0, 1, 1, 8);  /* local */
    put_symbol(image->symbols[5], 20, 1, 1, 0, 8);  /* undefined */
}

/* A module with kernel k and the image as its only code object. */
static const char strings[] = "\0k\0m\0gfx90a\0sm_90\0compute_90";
static const struct kpk_kernel_desc kernels[] = {{1, 0, 0, 0}};
static const struct kpk_kernel_attrs attrs[] = {{.max_block = 1}};
static struct {
    struct kpk_blob head;
    struct image image;
} blob = {
    .head = {.version = KPK_BLOB_VERSION, .data_at = sizeof(struct kpk_blob)}};
static const struct kpk_code_object objects[] = {
    {5, 5, &blob.head, attrs, {0}, NULL}};
static const struct kpk_module module = {.format = KPK_FORMAT_VERSION,
                                         .name = 3,
                                         .strings = strings,
                                         .kernels = kernels,
                                         .objects = objects,
                                         .nkernels = 1,
                                         .nobjects = 1};

static void test_symbols_are_kernels_and_global_variables(void **state)
{
    kpk_symbol symbols[4];
    kpk_object object;
    size_t n = 0;

    (void)state;
    make_image(&blob.image);
    blob.head.nbytes = blob.head.stored_nbytes = sizeof(blob.image);
    assert_ok(kpk_module_symbols(&module, 0, symbols, 4, &n));
    assert_int_equal(n, 2);
    assert_string_equal(symbols[0].name, "k");
    assert_int_equal(symbols[0].kind, KPK_SYMBOL_KERNEL);
    assert_int_equal(symbols[0].nbytes, 0);
    assert_string_equal(symbols[1].name, "table");
    assert_int_equal(symbols[1].kind, KPK_SYMBOL_VARIABLE);
    assert_int_equal(symbols[1].nbytes, 256);
    n = 0;
    assert_ok(kpk_module_symbols(&module, 0, symbols, 1, &n));
    assert_int_equal(n, 2);
    assert_ok(kpk_module_symbols(&module, 0, NULL, 0, &n));
    assert_status(kpk_module_symbols(&module, 1, symbols, 4, &n), KPK_ERR_ARG);
    assert_status(kpk_module_symbols(&test_module_odd, 1, symbols, 4, &n),
                  KPK_ERR_NO_TARGET);
    assert_message("for gfx90a any more: `kpack prune` took it out");
    assert_ok(kpk_module_object(&test_module_odd, 1, &object));
    assert_null(object.data); /* pruned */
    assert_status(kpk_module_symbols(&module, 0, NULL, 4, &n), KPK_ERR_ARG);
    assert_status(kpk_module_symbols(&module, 0, symbols, 4, NULL),
                  KPK_ERR_ARG);
}

/* The image as a cubin has it: symbols that are not dynamic, local variables.
 */
static const struct kpk_code_object cubins[] = {
    {12, 130, &blob.head, attrs, {0}, NULL},
    {18, 78, &blob.head, attrs, {0}, NULL}};
static const struct kpk_module of_nvidia = {.format = KPK_FORMAT_VERSION,
                                            .name = 3,
                                            .strings = strings,
                                            .kernels = kernels,
                                            .objects = cubins,
                                            .nkernels = 1,
                                            .nobjects = 2};

static void test_symbols_of_a_cubin_are_local_too(void **state)
{
    kpk_symbol symbols[4];
    size_t n = 0;

    (void)state;
    make_image(&blob.image);
    blob.head.nbytes = blob.head.stored_nbytes = sizeof(blob.image);
    blob.image.header[7] = 0x41;
    put(blob.image.header + 18, 190, 2);
    assert_status(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n),
                  KPK_ERR_FORMAT);         /* dynamic ones are not looked for */
    put(blob.image.sections[1] + 4, 2, 4); /* SHT_SYMTAB */
    put_symbol(blob.image.symbols[2], 0, 0, 2, 1, 4); /* a function's code */
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 3);
    assert_string_equal(symbols[0].name, "k");
    assert_int_equal(symbols[0].kind, KPK_SYMBOL_KERNEL);
    assert_string_equal(symbols[1].name, "table");
    assert_string_equal(symbols[2].name, "local");
    assert_int_equal(symbols[2].kind, KPK_SYMBOL_VARIABLE);
    assert_int_equal(symbols[2].nbytes, 8);
    blob.image.names[14] = '$'; /* like names of text literals */
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 2);
    blob.image.names[14] = 'l';
    put_symbol(blob.image.symbols[4], 14, 0, 2, 1, 8); /* a device function */
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 2);
    put_symbol(blob.image.symbols[4], 14, 2, 1, 1, 8); /* weak */
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 2);
    put_symbol(blob.image.symbols[4], 14, 2, 2, 1, 8);
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 2); /* a device function */
    memcpy(blob.image.names + 14, "k", 2);
    assert_ok(kpk_module_symbols(&of_nvidia, 0, symbols, 4, &n));
    assert_int_equal(n, 3); /* a kernel */
    assert_string_equal(symbols[2].name, "k");
    assert_int_equal(symbols[2].kind, KPK_SYMBOL_KERNEL);
}

static void test_ptx_has_no_symbols(void **state)
{
    kpk_symbol symbols[4];
    size_t n = 7;

    (void)state;
    memset(&blob.image, ' ', sizeof(blob.image));
    memcpy(&blob.image, ".version 7.8", 12);
    blob.head.nbytes = blob.head.stored_nbytes = sizeof(blob.image) - 1;
    assert_status(kpk_module_symbols(&of_nvidia, 1, symbols, 4, &n),
                  KPK_ERR_UNSUPPORTED);
    assert_message("module m for compute_90 is PTX, a text without a symbol "
                   "table: ask a cubin of the module");
    assert_int_equal(n, 7);
}

/* A table of names that is empty, and a name too short for a kernel's end. */
static void test_symbols_of_odd_tables_of_names(void **state)
{
    kpk_symbol symbols[4];
    size_t n = 0;

    (void)state;
    make_image(&blob.image);
    blob.head.nbytes = blob.head.stored_nbytes = sizeof(blob.image);
    put(blob.image.sections[2] + 32, 0, 8);
    assert_status(kpk_module_symbols(&module, 0, symbols, 4, &n),
                  KPK_ERR_FORMAT);
    make_image(&blob.image);
    put(blob.image.symbols[3], 10, 4); /* "ble" */
    put(blob.image.symbols[5], 11, 4); /* "le", a variable now */
    put(blob.image.symbols[5] + 6, 1, 2);
    assert_ok(kpk_module_symbols(&module, 0, symbols, 4, &n));
    assert_int_equal(n, 3);
    assert_string_equal(symbols[2].name, "le");
}

/* Every cut, and every byte of the tables set to 0xff: no read outside the
 * image (the sanitizers would tell), and a status. */
static void test_symbols_of_a_damaged_file_are_refused_or_fewer(void **state)
{
    kpk_symbol symbols[4];
    size_t n;

    (void)state;
    make_image(&blob.image);
    for (blob.head.nbytes = 1; blob.head.nbytes < sizeof(blob.image);
         blob.head.nbytes++) {
        blob.head.stored_nbytes = blob.head.nbytes;
        assert_status(kpk_module_symbols(&module, 0, symbols, 4, &n),
                      KPK_ERR_FORMAT);
    }
    blob.head.stored_nbytes = blob.head.nbytes;
    for (size_t i = 0; i < sizeof(blob.image); i++) {
        kpk_status st;

        make_image(&blob.image);
        ((unsigned char *)&blob.image)[i] = 0xff;
        n = 0;
        st = kpk_module_symbols(&module, 0, symbols, 4, &n);
        assert_true(st == KPK_OK || st == KPK_ERR_FORMAT);
        assert_true(n <= 5);
    }
}

static void test_questions_without_their_function_are_refused(void **state)
{
    const struct kpk_i_gpu whole = kpk_i_hip;
    const kpk_kernel *kernel;
    uint32_t blocks = 77;
    kpk_shape shape;
    int value = 77, option = 1;
    void *at = NULL;

    (void)state;
    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    kpk_i_hip.hipFuncGetAttribute = NULL;
    kpk_i_hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor = NULL;
    kpk_i_hip.hipModuleOccupancyMaxPotentialBlockSize = NULL;
    kpk_i_hip.hipModuleGetGlobal = NULL;
    kpk_i_hip.hipModuleGetTexRef = NULL;
    kpk_i_hip.hipModuleLoadDataEx = NULL;
    assert_status(kpk_kernel_driver_attr(kernel, KPK_DRIVER_ATTR_VGPRS, &value),
                  KPK_ERR_UNSUPPORTED);
    assert_message("needs hipFuncGetAttribute, which HIP 6.3");
    assert_status(kpk_occupancy(kernel, 64, 0, &blocks), KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
    assert_status(kpk_occupancy_shape(kernel, 0, 0, &shape),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleOccupancyMaxPotentialBlockSize");
    assert_status(kpk_global(inst, "alpha", "table", &at, NULL),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleGetGlobal");
    assert_status(kpk_global_read(inst, "alpha", "table", 0, &value, 4),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleGetGlobal");
    assert_status(kpk_texture(inst, "alpha", "present", &at),
                  KPK_ERR_UNSUPPORTED);
    assert_message("hipModuleGetTexRef");
    assert_status(kpk_load_ex(inst, NULL, 1, &option, &at),
                  KPK_ERR_UNSUPPORTED);
    assert_message("kpk_load_ex() needs hipModuleLoadDataEx, which HIP 6.3");
    kpk_i_hip = whole;
    assert_int_equal(value, 77);
    assert_int_equal(blocks, 77);
    assert_null(at);
    assert_status(kpk_occupancy_shape(kernel, 0, 0x80000000u, &shape),
                  KPK_ERR_ARG);
    assert_message("most is 2147483648; 2147483647 is the largest");
}

/* The module is loaded by the question, and that may fail. */
static void test_question_to_a_module_that_does_not_load(void **state)
{
    unsigned char bytes[4];
    void *at;

    (void)state;
    fake->fail_name = "hipModuleLoadData";
    assert_status(kpk_global(inst, "alpha", "table", &at, NULL),
                  KPK_ERR_DRIVER);
    assert_message("cannot load module alpha");
    assert_status(kpk_texture(inst, "alpha", "present", &at), KPK_ERR_DRIVER);
    fake->fail_name = NULL;
    assert_ok(kpk_global_read(inst, "alpha", "table", 0, NULL, 0));
    assert_ok(kpk_texture(inst, "alpha", "present", &at));
    assert_status(kpk_global_read(inst, "alpha", "chair", 0, bytes, 4),
                  KPK_ERR_NO_GLOBAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pack, close_pack)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_global_is_found_written_and_read_within_its_size),
        TEST(test_missing_global_has_a_status_of_its_own),
        TEST(test_texture_has_a_clear_status_where_there_is_none),
        TEST(test_attributes_are_asked_by_hips_numbers),
        TEST(test_occupancy_asks_hip),
        TEST(test_load_options_reach_hip),
        cmocka_unit_test(test_symbols_are_kernels_and_global_variables),
        cmocka_unit_test(test_symbols_of_a_cubin_are_local_too),
        cmocka_unit_test(test_ptx_has_no_symbols),
        cmocka_unit_test(test_symbols_of_odd_tables_of_names),
        cmocka_unit_test(test_symbols_of_a_damaged_file_are_refused_or_fewer),
        TEST(test_questions_without_their_function_are_refused),
        TEST(test_question_to_a_module_that_does_not_load),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
