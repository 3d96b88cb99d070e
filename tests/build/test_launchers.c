/* test_launchers.c - what launchers are made from: IR, comments, aliases
 *
 * The IR here is written by hand, odd and damaged as no compiler writes it;
 * tests/build/launchers.sh has what compilers write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/alias.h"
#include "read/doc.h"
#include "read/ir.h"
#include "write/host_type.h"

static const char good[] =
    "; a comment\n"
    "define amdgpu_kernel void @plain(ptr %0) #5 !dbg !9 {\n"
    "define amdgpu_kernel void @\"odd name\"() !dbg !8 {\n"
    "define void @no_kernel() !dbg !8 {\n"
    "define amdgpu_kernel void @no_debug() {\n"
    "!0 = distinct !DICompileUnit(file: !1)\n"
    "!1 = !DIFile(filename: \"a, (b).hip\", directory: \"/x\")\n"
    "!9 = distinct !DISubprogram(name: \"plain\", line: 12, type: !10)\n"
    "!10 = !DISubroutineType(types: !11)\n"
    "!11 = !{null, !12, !14}\n"
    "!12 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !13, size: 64)\n"
    "!13 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !14)\n"
    "!14 = !DIBasicType(name: \"float\", size: 32, encoding: DW_ATE_float)\n"
    "!15 = !DILocalVariable(name: \"second\", arg: 2, scope: !9)\n"
    "!16 = !DILocalVariable(name: \"first\", arg: 1, scope: !9)\n"
    "!17 = !{}\n";

/* Types that refer to themselves, to nothing and to what is no type. */
static const char bad[] =
    "!1 = !DIDerivedType(tag: DW_TAG_typedef, name: \"a\", baseType: !2)\n"
    "!2 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !1)\n"
    "!3 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: \"s\", "
    "size: 64, elements: !4)\n"
    "!4 = !{!5}\n"
    "!5 = !DIDerivedType(tag: DW_TAG_member, name: \"m\", baseType: !3, "
    "size: 64)\n"
    "!6 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !99999999)\n"
    "!7 = !DICompositeType(tag: DW_TAG_array_type, baseType: !7, "
    "elements: !7)\n"
    "!99999999999999999999 = !{}\n"
    "!8 = !DIBasicType(name: \"__int128\", size: 128, encoding: "
    "DW_ATE_signed)\n";

static struct ir *parse(const char *text, size_t nbytes)
{
    char error[IR_ERROR_MAX];
    struct ir *ir = ir_parse(text, nbytes, error);

    assert_non_null(ir);
    return ir;
}

static void test_kernels_are_those_with_a_body_and_metadata(void **state)
{
    struct ir *ir = parse(good, sizeof(good) - 1);

    (void)state;
    assert_int_equal(ir_nkernels(ir), 2);
    assert_string_equal(ir_kernel(ir, 0)->name, "plain");
    assert_int_equal(ir_kernel(ir, 0)->subprogram, 9);
    assert_string_equal(ir_kernel(ir, 1)->name, "odd name");
    ir_free(ir);
}

static void test_fields_are_read_past_commas_in_strings(void **state)
{
    struct ir *ir = parse(good, sizeof(good) - 1);
    char text[16], cut[4];

    (void)state;
    assert_true(ir_text(ir, 1, "filename", text, sizeof(text)));
    assert_string_equal(text, "a, (b).hip");
    assert_true(ir_text(ir, 1, "directory", text, sizeof(text)));
    assert_string_equal(text, "/x");
    assert_true(ir_text(ir, 1, "filename", cut, sizeof(cut)));
    assert_string_equal(cut, "a, ");
    assert_false(ir_text(ir, 1, "file", text, sizeof(text)));
    assert_string_equal(text, "");
    assert_int_equal(ir_number(ir, 9, "line", 0), 12);
    assert_int_equal(ir_number(ir, 9, "name", 7), 7);
    assert_true(ir_says(ir, 14, "encoding", "DW_ATE_float"));
    assert_false(ir_says(ir, 14, "encoding", "DW_ATE_flo"));
    assert_true(ir_is(ir, 0, "DICompileUnit"));
    assert_false(ir_is(ir, 0, "DICompile"));
    assert_false(ir_is(ir, 7, "DICompileUnit"));
    assert_false(ir_is(ir, 4000000000u, "DICompileUnit"));
    ir_free(ir);
}

static void test_lists_have_null_and_ends(void **state)
{
    struct ir *ir = parse(good, sizeof(good) - 1);

    (void)state;
    assert_int_equal(ir_list_count(ir, 11), 3);
    assert_int_equal(ir_list_item(ir, 11, 0), IR_NONE);
    assert_int_equal(ir_list_item(ir, 11, 1), 12);
    assert_int_equal(ir_list_item(ir, 11, 2), 14);
    assert_int_equal(ir_list_item(ir, 11, 3), IR_NONE);
    assert_int_equal(ir_list_count(ir, 17), 0);
    assert_int_equal(ir_list_count(ir, 14), 0);
    ir_free(ir);
}

static void test_parameters_are_found_by_place(void **state)
{
    struct ir *ir = parse(good, sizeof(good) - 1);
    char name[32];

    (void)state;
    assert_true(ir_parameter(ir, 9, 1, name, sizeof(name)));
    assert_string_equal(name, "first");
    assert_true(ir_parameter(ir, 9, 2, name, sizeof(name)));
    assert_string_equal(name, "second");
    assert_false(ir_parameter(ir, 9, 3, name, sizeof(name)));
    assert_false(ir_parameter(ir, 8, 1, name, sizeof(name)));
    ir_free(ir);
}

/* Whatever is cut off, reading ends: under sanitizers, within bounds. */
static void test_every_cut_is_read_within_bounds(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(good); n++) {
        struct ir *ir = parse(good, n);
        struct host_types *h = host_types_new(ir, "m", NULL);
        char text[HOST_TEXT_MAX];

        assert_non_null(h);
        for (unsigned id = 0; id < 20; id++) {
            (void)host_declare(h, id, "x", text);
            (void)ir_list_item(ir, id, 1);
            (void)ir_parameter(ir, id, 1, text, sizeof(text));
        }
        host_types_free(h);
        ir_free(ir);
    }
}

static void test_types_in_circles_end(void **state)
{
    struct ir *ir = parse(bad, sizeof(bad) - 1);
    struct host_types *h = host_types_new(ir, "m", NULL);
    char text[HOST_TEXT_MAX];

    (void)state;
    assert_non_null(h);
    assert_false(host_declare(h, 1, "x", text));
    assert_int_equal(host_nbytes(h, 1), 0);
    assert_true(host_declare(h, 3, "x", text));
    assert_string_equal(text, "kpk_m_s x"); /* of bytes */
    assert_true(host_declare(h, 6, "x", text));
    assert_string_equal(text, "void *x");
    (void)host_declare(h, 7, "x", text);
    assert_false(host_declare(h, 8, "x", text));
    assert_string_equal(text, "__int128");
    host_types_free(h);
    ir_free(ir);
}

static void test_declarations(void **state)
{
    struct ir *ir = parse(good, sizeof(good) - 1);
    struct host_types *h = host_types_new(ir, "m", NULL);
    char text[HOST_TEXT_MAX];

    (void)state;
    assert_non_null(h);
    assert_true(host_declare(h, 12, "x", text));
    assert_string_equal(text, "const float *x");
    assert_true(host_declare(h, 14, "", text));
    assert_string_equal(text, "float");
    assert_int_equal(host_nbytes(h, 12), 8);
    assert_int_equal(host_nbytes(h, 13), 4);
    host_types_free(h);
    ir_free(ir);
}

static void test_names_become_parts_of_identifiers(void **state)
{
    char out[16];

    (void)state;
    host_squeeze("ns::scale<float, 3>", out, sizeof(out));
    assert_string_equal(out, "ns_scale_float");
    host_squeeze("float *", out, sizeof(out));
    assert_string_equal(out, "float_p");
    host_squeeze("<<>>", out, sizeof(out));
    assert_string_equal(out, "");
}

/* What doc_write_line() says of a line of a source. */
static void check_doc(const char *source, size_t line, const char *wanted)
{
    char path[] = "/tmp/kpack-doc-XXXXXX";
    int fd = mkstemp(path);
    char *got = NULL;
    size_t nbytes;
    struct doc *doc;
    FILE *f;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, source, strlen(source)), strlen(source));
    (void)close(fd);
    doc = doc_read(path);
    (void)remove(path);
    assert_non_null(doc);
    f = open_memstream(&got, &nbytes);
    assert_non_null(f);
    if (line)
        doc_write_line(f, doc, line);
    else
        doc_write_file(f, doc);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(got, wanted);
    free(got);
    doc_free(doc);
}

static void test_comments_stand_right_above(void **state)
{
    (void)state;
    check_doc("\n/* one */\nvoid f()", 3, " * one\n");
    check_doc("\n/**\n * two\n * lines\n */\nextern \"C\"\nvoid f()", 7,
              " * two\n * lines\n");
    check_doc("\n// a\n/// b\ntemplate <typename T>\nvoid f()", 5,
              " * a\n * b\n");
    check_doc("\n/* not mine */\nint g();\nvoid f()", 4, "");
    check_doc("\n/* not mine */\n\nvoid f()", 4, "");
    check_doc("/* the file's */\nvoid f()", 2, "");
    check_doc("/* the file's */\nvoid f()", 0, " * the file's\n");
    check_doc("// ends */ a comment\n", 0, " * ends * / a comment\n");
    check_doc("no begin */\nvoid f()", 2, "");
    check_doc("", 0, "");
    check_doc("", 1, "");
    check_doc("x", 99, "");
}

static void test_aliases_change_types_by_their_place(void **state)
{
    static const char text[] = "module,text,alias\n"
                               "*,f8_e4m3,f8e4m3\n"
                               "unary,ucopy_f16,ucopy_i16\n"
                               "cast,cast_u32_u32,cast_u32_i32\n";
    char error[CSV_ERROR_MAX];
    struct csv *csv = csv_parse("aliases.csv", text, sizeof(text) - 1, error);

    (void)state;
    assert_non_null(csv);
    assert_int_equal(alias_of(csv, "unary", "ucopy_f16", "ucopy_i16"), 1);
    assert_int_equal(alias_of(csv, "binary", "ucopy_f16", "ucopy_i16"), 3);
    assert_int_equal(alias_of(csv, "x", "a_f8_e4m3", "a_f8e4m3"), 0);
    assert_int_equal(alias_of(csv, "x", "a_f8_e4m3", "a_f8_e4m3"), 3);
    assert_string_equal(alias_retype(csv, 1, "kpk_f16", true), "int16_t");
    assert_string_equal(alias_retype(csv, 1, "size_t", true), "size_t");
    assert_string_equal(alias_retype(csv, 2, "uint32_t", true), "uint32_t");
    assert_string_equal(alias_retype(csv, 2, "uint32_t", false), "int32_t");
    assert_string_equal(alias_retype(csv, 0, "kpk_f8_e4m3", true),
                        "kpk_f8_e4m3");
    csv_free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_are_those_with_a_body_and_metadata),
        cmocka_unit_test(test_fields_are_read_past_commas_in_strings),
        cmocka_unit_test(test_lists_have_null_and_ends),
        cmocka_unit_test(test_parameters_are_found_by_place),
        cmocka_unit_test(test_every_cut_is_read_within_bounds),
        cmocka_unit_test(test_types_in_circles_end),
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_names_become_parts_of_identifiers),
        cmocka_unit_test(test_comments_stand_right_above),
        cmocka_unit_test(test_aliases_change_types_by_their_place),
    };

    return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
