/* fuzz_ir.c - any bytes as a compiler's IR, and the types of its kernels'
 * parameters on the host */
#include "fuzz.h"
#include "pack/source.h"
#include "write/host_type.h"

enum { MOST = 64 }; /* kernels, and parameters of a kernel */

static void declare(const struct ir *ir, struct host_types *types,
                    const struct ir_kernel *kernel)
{
    const struct source source = source_find(ir, NULL, "m", kernel->name);
    char text[HOST_TEXT_MAX], name[64];
    unsigned list;
    size_t n;

    FUZZ_ASSERT(source.kernel);
    list = source_types(ir, &source);
    n = ir_list_count(ir, list);
    for (size_t i = 0; i < n && i < MOST; i++) {
        const unsigned type = ir_list_item(ir, list, i);

        (void)ir_parameter(ir, source.kernel->subprogram, (unsigned)i, name,
                           sizeof(name));
        FUZZ_ASSERT(strlen(name) < sizeof(name));
        (void)host_declare(types, type, "x", text);
        FUZZ_ASSERT(strlen(text) < sizeof(text));
        (void)host_nbytes(types, type);
    }
    FUZZ_ASSERT(ir_list_item(ir, list, n) == IR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    static const char rows[] = "type,host,header\nknown,struct known,./k.h\n"
                               "other,other,./k.h\nthird,third,stdio.h\n";
    char error[CSV_ERROR_MAX];
    struct csv *table = csv_parse("types", rows, sizeof(rows) - 1, error);
    struct ir *ir = ir_parse((const char *)data, nbytes, error);
    FILE *f = fopen("/dev/null", "w");
    struct host_types *types;

    if (!table || !ir || !f)
        abort();
    types = host_types_new(ir, "m", table);
    for (size_t i = 0; i < ir_nkernels(ir) && i < MOST; i++)
        declare(ir, types, ir_kernel(ir, i));
    for (size_t i = 0; i < host_nstructs(types); i++)
        FUZZ_ASSERT(*host_struct_name(types, i));
    host_write_includes(f, types);
    host_write_structs(f, types);
    host_types_free(types);
    (void)fclose(f);
    ir_free(ir);
    csv_free(table);
    return 0;
}
