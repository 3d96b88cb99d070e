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

#include "pack/alias.h"
#include "read/doc.h"
#include "read/ir.h"
#include "scratch.h"
#include "write/host_type.h"

static const char good[] =
    "; a comment\n"
    "define amdgpu_kernel void @plain(ptr %0) #5 !dbg !9 {\n"
    "define amdgpu_kernel void @\"odd name\"() !dbg !8 {\n"
    "define void @no_kernel() !dbg !8 {\n"
    "define dso_local ptx_kernel void @of_nvidia(ptr %0) #0 !dbg !9 {\n"
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
    assert_int_equal(ir_nkernels(ir), 3);
    assert_string_equal(ir_kernel(ir, 0)->name, "plain");
    assert_int_equal(ir_kernel(ir, 0)->subprogram, 9);
    assert_string_equal(ir_kernel(ir, 1)->name, "odd name");
    assert_string_equal(ir_kernel(ir, 2)->name, "of_nvidia");
    assert_int_equal(ir_kernel(ir, 2)->subprogram, 9);
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

/* Each struct of 10 levels is looked into once, not 10^10 times. */
static void test_nested_structs_of_many_members_end(void **state)
{
    enum { LEVELS = 10, MEMBERS = 10, EACH = MEMBERS + 2 };
    char ir_text[LEVELS * EACH * 128], text[HOST_TEXT_MAX];
    unsigned long long nbits = 32;
    unsigned inner = 1;
    size_t n =
        (size_t)snprintf(ir_text, sizeof(ir_text),
                         "!1 = !DIBasicType(name: \"int\", size: 32, encoding: "
                         "DW_ATE_signed)\n");
    struct ir *ir;
    struct host_types *h;

    (void)state;
    for (unsigned level = 0; level < LEVELS; level++) {
        const unsigned id = 2 + level * EACH;

        for (unsigned m = 0; m < MEMBERS; m++)
            n += (size_t)snprintf(
                ir_text + n, sizeof(ir_text) - n,
                "!%u = !DIDerivedType(tag: DW_TAG_member, name: \"m%u\", "
                "baseType: !%u, size: %llu, offset: %llu)\n",
                id + m, m, inner, nbits, m * nbits);
        n += (size_t)snprintf(ir_text + n, sizeof(ir_text) - n, "!%u = !{",
                              id + MEMBERS);
        for (unsigned m = 0; m < MEMBERS; m++)
            n += (size_t)snprintf(ir_text + n, sizeof(ir_text) - n, "%s!%u",
                                  m ? ", " : "", id + m);
        nbits *= MEMBERS;
        inner = id + MEMBERS + 1;
        n += (size_t)snprintf(
            ir_text + n, sizeof(ir_text) - n,
            "}\n!%u = !DICompositeType(tag: DW_TAG_structure_type, name: "
            "\"s%u\", size: %llu, elements: !%u)\n",
            inner, level, nbits, id + MEMBERS);
        assert_true(n < sizeof(ir_text));
    }
    ir = parse(ir_text, n);
    h = host_types_new(ir, "m", NULL);
    assert_non_null(h);
    assert_true(host_declare(h, inner, "x", text));
    assert_string_equal(text, "kpk_m_s9 x");
    assert_int_equal(host_nstructs(h), LEVELS);
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

/* Every kind of type that debug metadata has, each as what C declares. */
static const char kinds[] =
    "!1 = !DIBasicType(name: \"float\", size: 32, encoding: DW_ATE_float)\n"
    "!2 = !DIBasicType(name: \"char\", size: 8, encoding: "
    "DW_ATE_signed_char)\n"
    "!3 = !DIDerivedType(tag: DW_TAG_restrict_type, baseType: !4)\n"
    "!4 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !5, size: 64)\n"
    "!5 = !DIDerivedType(tag: DW_TAG_volatile_type, baseType: !1)\n"
    "!6 = !DIDerivedType(tag: DW_TAG_atomic_type, baseType: !1)\n"
    "!7 = !DIDerivedType(tag: DW_TAG_reference_type, baseType: !2, size: "
    "64)\n"
    "!8 = !DIDerivedType(tag: DW_TAG_rvalue_reference_type, baseType: !9, "
    "size: 64)\n"
    "!9 = !DICompositeType(tag: DW_TAG_class_type, name: \"Far\", size: 8, "
    "elements: !60)\n"
    "!10 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !11, size: "
    "64)\n"
    "!11 = !DICompositeType(tag: DW_TAG_array_type, baseType: !1, size: 192, "
    "elements: !12)\n"
    "!12 = !{!13, !14}\n"
    "!13 = !DISubrange(count: 2)\n"
    "!14 = !DISubrange(count: 3)\n"
    "!15 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !16, size: "
    "64)\n"
    "!16 = !DISubroutineType(types: !60)\n"
    "!17 = !DICompositeType(tag: DW_TAG_enumeration_type, name: \"E\", "
    "baseType: !18, size: 32)\n"
    "!18 = !DIBasicType(name: \"unsigned int\", size: 32, encoding: "
    "DW_ATE_unsigned)\n"
    "!19 = !DIDerivedType(tag: DW_TAG_typedef, name: \"float4\", baseType: "
    "!20)\n"
    "!20 = !DICompositeType(tag: DW_TAG_structure_type, size: 128, elements: "
    "!60)\n"
    "!21 = !DIDerivedType(tag: DW_TAG_typedef, name: \"float5\", baseType: "
    "!1)\n"
    "!22 = !DIDerivedType(tag: DW_TAG_typedef, name: \"Tag\", baseType: !23)\n"
    "!23 = distinct !DICompositeType(tag: DW_TAG_structure_type, size: 32, "
    "elements: !24)\n"
    "!24 = !{!25}\n"
    "!25 = !DIDerivedType(tag: DW_TAG_member, name: \"x\", baseType: !1, "
    "size: 32, offset: 0)\n"
    "!26 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !22, size: "
    "64)\n"
    "!27 = !DIDerivedType(tag: DW_TAG_typedef, name: \"float44\", baseType: "
    "!1)\n"
    "!28 = !DIDerivedType(tag: DW_TAG_typedef, name: \"float0\", baseType: "
    "!1)\n"
    "!29 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !30)\n"
    "!30 = !DIDerivedType(tag: DW_TAG_volatile_type, baseType: !2)\n"
    "!31 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !32, size: "
    "64)\n"
    "!32 = !DIBasicType(name: \"__int128\", size: 128, encoding: "
    "DW_ATE_signed)\n"
    "!33 = !DIDerivedType(tag: DW_TAG_ptr_to_member_type, baseType: !1, "
    "size: 64)\n"
    "!60 = !{}\n";

static void test_each_kind_of_type_is_declared(void **state)
{
    static const struct {
        unsigned id;
        const char *wanted;
        unsigned nbytes;
    } cases[] = {
        {2, "char x", 1},
        {3, "volatile float *x", 8},
        {6, "float x", 4},
        {7, "char *x", 8},
        {8, "void *x", 8},
        {10, "float (*x)[6]", 8},
        {15, "void *x", 8},
        {17, "uint32_t x", 4},
        {19, "kpk_float4 x", 16},
        {21, "float x", 4},
        {22, "kpk_m_Tag x", 4},
        {26, "void *x", 8},
        {27, "float x", 4},
        {28, "float x", 4},
        {29, "volatile const char x", 1},
        {31, "void *x", 8},
    };
    struct ir *ir = parse(kinds, sizeof(kinds) - 1);
    struct host_types *h = host_types_new(ir, "m", NULL);
    char text[HOST_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!host_declare(h, cases[i].id, "x", text) ||
            strcmp(text, cases[i].wanted) != 0)
            fail_msg("!%u: wanted '%s', got '%s'", cases[i].id, cases[i].wanted,
                     text);
        assert_int_equal(host_nbytes(h, cases[i].id), cases[i].nbytes);
    }
    assert_false(host_declare(h, 33, "x", text));
    assert_string_equal(text, "a type without a name");
    host_types_free(h);
    ir_free(ir);
}

/* Structs by value: with C's layout their members, else bytes. %s is the body
 * of a struct of 16 bytes; members' types are !1 float, !2 char, !3 double. */
static const char struct_ir[] =
    "!1 = !DIBasicType(name: \"float\", size: 32, encoding: DW_ATE_float)\n"
    "!2 = !DIBasicType(name: \"char\", size: 8, encoding: "
    "DW_ATE_signed_char)\n"
    "!3 = !DIBasicType(name: \"double\", size: 64, encoding: DW_ATE_float)\n"
    "!4 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !1)\n"
    "!5 = !DICompositeType(tag: DW_TAG_array_type, baseType: !1, size: 64, "
    "elements: !6)\n"
    "!6 = !{!7}\n"
    "!7 = !DISubrange(count: 2)\n"
    "!8 = !DICompositeType(tag: DW_TAG_enumeration_type, baseType: !2, size: "
    "8)\n"
    "!9 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !1, size: 64)\n"
    "!10 = !DIDerivedType(tag: DW_TAG_typedef, name: \"mine\", baseType: "
    "!1)\n"
    "!11 = !DIBasicType(name: \"__int128\", size: 128, encoding: "
    "DW_ATE_signed)\n"
    "!12 = !DISubprogram(name: \"method\")\n"
    "!13 = !DIDerivedType(tag: DW_TAG_ptr_to_member_type, size: 64)\n"
    "!20 = distinct !DICompositeType(tag: %s, name: \"S\", size: 128, "
    "elements: !21)\n"
    "!21 = !{%s}\n";

#define MEMBER(id, fields)                                                     \
    "!" #id " = !DIDerivedType(tag: DW_TAG_member, " fields ")\n"

static void test_structs_are_c_where_c_lays_them_out_alike(void **state)
{
    static const char bytes[] = "    unsigned char bytes[16];\n";
    static const char doubles[] =
        MEMBER(31, "name: \"b\", baseType: !3, size: 64, offset: 64");
    static const struct {
        const char *tag, *list, *members, *wanted;
    } cases[] = {
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !1, size: 32"),
         "    float a;\n    double b;\n"},
        {"DW_TAG_class_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !5, size: 64"),
         "    float a[2];\n    double b;\n"},
        {"DW_TAG_structure_type", "!12, !30, !31",
         MEMBER(30, "name: \"a\", baseType: !8, size: 8"),
         "    char a;\n    double b;\n"},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !9, size: 64"),
         "    float *a;\n    double b;\n"},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !4, size: 32"),
         "    const float a;\n    double b;\n"},
        {"DW_TAG_structure_type", "!32, !30, !31",
         MEMBER(30, "name: \"a\", baseType: !1, size: 32")
             MEMBER(32, "name: \"all\", baseType: !1, flags: "
                        "DIFlagStaticMember"),
         "    float a;\n    double b;\n"},
        /* packed: C would put it elsewhere */
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !3, size: 64, offset: 32"), bytes},
        {"DW_TAG_union_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !1, size: 32"), bytes},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !1, size: 3, flags: "
                    "DIFlagBitField"),
         bytes},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "baseType: !1, size: 32"), bytes},
        {"DW_TAG_structure_type", "!30, !31",
         "!30 = !DIDerivedType(tag: DW_TAG_inheritance, baseType: !1)\n",
         bytes},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !10, size: 32"), bytes},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !11, size: 128"), bytes},
        {"DW_TAG_structure_type", "!30, !31",
         MEMBER(30, "name: \"a\", baseType: !13, size: 64"), bytes},
        {"DW_TAG_structure_type", "!31", MEMBER(30, ""),
         bytes},                         /* begins later than C would have it */
        {"DW_TAG_structure_type", "!30", /* ends earlier */
         MEMBER(30, "name: \"a\", baseType: !1, size: 32"), bytes},
        {"DW_TAG_structure_type", "", "", bytes},
    };
    static const char types_csv[] = "type,host,header\nmine,my_float,\n";
    char error[CSV_ERROR_MAX];
    struct csv *csv =
        csv_parse("types.csv", types_csv, sizeof(types_csv) - 1, error);

    (void)state;
    assert_non_null(csv);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[4096], declared[HOST_TEXT_MAX], *got = NULL;
        size_t nbytes;
        struct ir *ir;
        struct host_types *h;
        FILE *f;

        snprintf(text, sizeof(text), struct_ir, cases[i].tag, cases[i].list);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 cases[i].members, doubles);
        ir = parse(text, strlen(text));
        h = host_types_new(ir, "m", csv);
        assert_true(host_declare(h, 20, "s", declared));
        assert_string_equal(declared, "kpk_m_S s");
        f = open_memstream(&got, &nbytes);
        assert_non_null(f);
        host_write_structs(f, h);
        assert_int_equal(fclose(f), 0);
        if (!strstr(got, cases[i].wanted))
            fail_msg("case %zu: wanted\n%sgot\n%s", i, cases[i].wanted, got);
        free(got);
        host_types_free(h);
        ir_free(ir);
    }
    csv_free(csv);
}

static void test_structs_of_one_name_and_too_many(void **state)
{
    enum { N = 257 };
    char *text = NULL, declared[HOST_TEXT_MAX];
    size_t nbytes;
    FILE *f = open_memstream(&text, &nbytes);
    struct ir *ir;
    struct host_types *h;

    (void)state;
    assert_non_null(f);
    for (int i = 0; i < N; i++)
        fprintf(f,
                "!%d = distinct !DICompositeType(tag: DW_TAG_structure_type, "
                "name: \"S\", size: 8)\n",
                i);
    fprintf(f,
            "!%d = !DIDerivedType(tag: DW_TAG_typedef, name: \"T\", baseType: "
            "!%d)\n"
            "!%d = distinct !DICompositeType(tag: DW_TAG_structure_type, size: "
            "8)\n",
            N, N + 1, N + 1);
    assert_int_equal(fclose(f), 0);
    ir = parse(text, nbytes);
    h = host_types_new(ir, "m", NULL);
    for (unsigned i = 0; i < N - 1; i++)
        assert_true(host_declare(h, i, "x", declared));
    assert_string_equal(declared, "kpk_m_S_256 x");
    assert_true(host_declare(h, 0, "x", declared)); /* there already */
    assert_string_equal(declared, "kpk_m_S x");
    assert_false(host_declare(h, N - 1, "x", declared));
    assert_false(host_declare(h, N, "x", declared));
    assert_int_equal(host_nstructs(h), N - 1);
    assert_string_equal(host_struct_name(h, 1), "m_S_2");
    host_types_free(h);
    ir_free(ir);
    free(text);
}

static void test_types_csv_names_types_and_headers(void **state)
{
    static const char text[] = "type,host,header\n"
                               "a,A,<x.h>\n"
                               "b,B,./own.h\n"
                               "c,C,sys.h\n"
                               "d,D,sys.h\n"
                               "e,E,unused.h\n"
                               "f,F,\n";
    static const char source[] = "!0 = !DIBasicType(name: \"b\", size: 8)\n"
                                 "!1 = !DIBasicType(name: \"c\", size: 8)\n"
                                 "!2 = !DIBasicType(name: \"d\", size: 8)\n"
                                 "!3 = !DIBasicType(name: \"f\", size: 8)\n";
    char error[CSV_ERROR_MAX], declared[HOST_TEXT_MAX], *got = NULL;
    struct csv *csv = csv_parse("t", text, sizeof(text) - 1, error);
    struct ir *ir = parse(source, sizeof(source) - 1);
    struct host_types *h = host_types_new(ir, "m", csv);
    char wide[2400];
    size_t nbytes;
    FILE *f = open_memstream(&got, &nbytes);

    (void)state;
    assert_true(csv && f);
    for (unsigned i = 0; i < 4; i++)
        assert_true(host_declare(h, i, "x", declared));
    assert_string_equal(declared, "F x");
    host_write_includes(f, h);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(got, "#include \"own.h\"\n#include <sys.h>\n");
    free(got);
    host_types_free(h);
    csv_free(csv);

    /* A name that leaves no room, and a table that names no headers. */
    snprintf(wide, sizeof(wide), "type,host\nb,%01100d\n", 0);
    csv = csv_parse("t", wide, strlen(wide), error);
    assert_non_null(csv);
    h = host_types_new(ir, "m", csv);
    assert_false(host_declare(h, 0, "x", declared));
    got = NULL;
    f = open_memstream(&got, &nbytes);
    assert_non_null(f);
    host_write_includes(f, h);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(got, "");
    free(got);
    host_types_free(h);
    ir_free(ir);
    csv_free(csv);
}

/* Checks doc_write_line()'s output for a line of a source. */
static void check_doc(const char *source, size_t line, const char *wanted)
{
    char path[SCRATCH_PATH_MAX];
    int fd = scratch_file(path);
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
    /* signs at both ends, and comments within comments */
    check_doc("//! a\n//! b\n\nx", 0, " * a\n * b\n");
    check_doc("\n/*! one *****/\nvoid f()", 3, " * one\n");
    check_doc("\n/** a\n *b\n c\n*/\nvoid f()", 6, " * a\n * b\n * c\n");
    check_doc("\n// a /* b\n//\n// c/\nvoid f()", 5, " * a / * b\n *\n * c/\n");
    check_doc("\n// a*\nvoid f()", 3, " * a*\n");
    check_doc("\n/* never begun\n a */\nvoid f()", 4, " * never begun\n * a\n");
    check_doc("\n\na */\nvoid f()", 4, "");
    check_doc("/* never ended\n x", 0, " * never ended\n * x\n");
    check_doc("/* a\n b */\nx", 0, " * a\n * b\n");
    /* text between comment and function ends the search */
    check_doc("\n/* no */\n}\nvoid f()", 4, "");
    check_doc("\n/* no */\n#define A\nvoid f()", 4, "");
    check_doc("\n/* no */\n  A \\\nvoid f()", 4, "");
    check_doc("\n/* no */\nstruct x {\nvoid f()", 4, "");
    check_doc("\n/* no */\nint x() { }\nvoid f()", 4, "");
    check_doc("void f()", 1, "");
    check_doc("// the file's\nvoid f()", 2, "");
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
        cmocka_unit_test(test_nested_structs_of_many_members_end),
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_names_become_parts_of_identifiers),
        cmocka_unit_test(test_each_kind_of_type_is_declared),
        cmocka_unit_test(test_structs_are_c_where_c_lays_them_out_alike),
        cmocka_unit_test(test_structs_of_one_name_and_too_many),
        cmocka_unit_test(test_types_csv_names_types_and_headers),
        cmocka_unit_test(test_comments_stand_right_above),
        cmocka_unit_test(test_aliases_change_types_by_their_place),
    };

    return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
