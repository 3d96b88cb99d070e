/* test_launcher_header.c - the launchers that a module's header gets
 *
 * Signatures come from debug metadata as clang writes it, argument lists from a
 * code object made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "kpack.h"
#include "pack/source.h"
#include "write/blob_symbol.h"
#include "write/launchers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFINE(name, id)                                                       \
    "define amdgpu_kernel void @" name "() !dbg !" #id " {\n"
#define FUNCTION(id, fields)                                                   \
    "!" #id " = distinct !DISubprogram(" fields ", unit: !1, file: !2)\n"
#define PARAMETER(id, of, number, name)                                        \
    "!" #id " = !DILocalVariable(name: \"" name "\", arg: " #number            \
    ", scope: !" #of ")\n"

/* clang-format off */
static const char source[] = DEFINE("_ZN2ns5scaleIfE",
                                    10) DEFINE("_ZN2ns5scaleIdE", 11)
    DEFINE("plain", 12) DEFINE("copy_f32", 13) DEFINE("int", 14) DEFINE(
        "pads", 15) DEFINE("many", 16) DEFINE("fewer", 17) DEFINE("wider", 18)
        DEFINE("exotic", 19) DEFINE("taken", 20) DEFINE("none", 22) DEFINE(
            "m_kernels",
            21) "!1 = distinct !DICompileUnit(file: !2)\n"
                "!2 = !DIFile(filename: \"a.hip\", directory: \"/nowhere\")\n"
                "!3 = !DINamespace(name: \"ns\", scope: null)\n" FUNCTION(
                    10,
                    "name: \"scale<float>\", linkageName: \"_ZN2ns5scaleIfE\", "
                    "scope: !3, type: !30") FUNCTION(11,
                                                     "name: \"scale<float>\", "
                                                     "linkageName: "
                                                     "\"_ZN2ns5scaleIdE\", "
                                                     "scope: !3, type: !31")
                    FUNCTION(12, "name: \"plain\", type: !30") FUNCTION(
                        13,
                        "name: \"copy_f32\", type: !32") FUNCTION(14,
                                                                  "name: "
                                                                  "\"int\", "
                                                                  "type: !30")
                        FUNCTION(15, "name: \"pads\", type: !30") FUNCTION(
                            16,
                            "name: \"many\", type: !30") FUNCTION(17, "name: "
                                                                      "\"fewer"
                                                                      "\", "
                                                                      "type: "
                                                                      "!30")
                            FUNCTION(18, "name: \"wider\", type: !30") FUNCTION(
                                19,
                                "name: \"exotic\", type: !34")
                                FUNCTION(
                                    20,
                                    "name: \"taken\", type: "
                                    "!30") FUNCTION(21, "name: \"m_kernels\", "
                                                        "type: !30")
                                    FUNCTION(
                                        22,
                                        "name: \"none\", type: "
                                        "!99") "!30 = "
                                               "!DISubroutineType("
                                               "types: !40)\n"
                                               "!31 = "
                                               "!DISubroutineType("
                                               "types: !41)\n"
                                               "!32 = "
                                               "!DISubroutineType("
                                               "types: !42)\n"
                                               "!34 = "
                                               "!DISubroutineType("
                                               "types: !44)\n"
                                               "!40 = !{null, "
                                               "!50, !52}\n"
                                               "!41 = !{null, "
                                               "!51, !53}\n"
                                               "!42 = !{null, "
                                               "!54, !50}\n"
                                               "!44 = !{null, "
                                               "!55, !52}\n"
                                               "!50 = "
                                               "!DIDerivedType("
                                               "tag: "
                                               "DW_TAG_pointer_"
                                               "type, baseType: "
                                               "!56, size: "
                                               "64)\n"
                                               "!51 = "
                                               "!DIDerivedType("
                                               "tag: "
                                               "DW_TAG_pointer_"
                                               "type, baseType: "
                                               "!57, size: "
                                               "64)\n"
                                               "!52 = "
                                               "!DIBasicType(name:"
                                               " \"int\", size: "
                                               "32, encoding: "
                                               "DW_ATE_signed)\n"
                                               "!53 = "
                                               "!DIBasicType(name:"
                                               " \"long\", size: "
                                               "64, encoding: "
                                               "DW_ATE_signed)\n"
                                               "!54 = "
                                               "!DIDerivedType("
                                               "tag: "
                                               "DW_TAG_pointer_"
                                               "type, baseType: "
                                               "!58, size: "
                                               "64)\n"
                                               "!55 = "
                                               "!DIDerivedType("
                                               "tag: "
                                               "DW_TAG_ptr_to_"
                                               "member_type, "
                                               "size: 64)\n"
                                               "!56 = "
                                               "!DIBasicType(name:"
                                               " \"float\", size: "
                                               "32, encoding: "
                                               "DW_ATE_float)\n"
                                               "!57 = "
                                               "!DIBasicType(name:"
                                               " \"double\", "
                                               "size: 64, "
                                               "encoding: "
                                               "DW_ATE_float)\n"
                                               "!58 = "
                                               "!DIDerivedType("
                                               "tag: "
                                               "DW_TAG_const_type,"
                                               " baseType: "
                                               "!56)\n" PARAMETER(60, 12,
                                                                  1, "shape")
                                                   PARAMETER(61, 12, 2,
                                                             "shape_")
                                                       PARAMETER(62, 13, 1,
                                                                 "inp")
                                                           PARAMETER(63, 13, 2,
                                                                     "\xc3"
                                                                     "\xa9t"
                                                                     "\xc3"
                                                                     "\xa9")
                                                               PARAMETER(64, 14,
                                                                         1, "x")
                                                                   PARAMETER(
                                                                       65, 14,
                                                                       2, "x");
/* clang-format on */

static struct codeobj_arg two[] = {{"", 0, 8, KPK_ARG_GLOBAL_BUFFER},
                                   {"", 8, 4, KPK_ARG_BY_VALUE}};
static struct codeobj_arg wide[] = {{"", 0, 8, KPK_ARG_GLOBAL_BUFFER},
                                    {"", 8, 8, KPK_ARG_BY_VALUE}};
static struct codeobj_arg pads[] = {{"pad", 0, 8, KPK_ARG_BY_VALUE},
                                    {"pad", 8, 4, KPK_ARG_BY_VALUE}};
static struct codeobj_arg many[KPK_MAX_ARGS + 1];

/* The header of a module `m` with these kernels; to be freed. */
static char *header_of(struct codeobj_kernel *kernels, size_t n,
                       const struct csv *aliases, const char *taken)
{
    const struct codeobj co = {.kernels = kernels, .nkernels = n};
    char error[IR_ERROR_MAX], *text = NULL;
    struct ir *ir = ir_parse(source, sizeof(source) - 1, error);
    const struct launchers_input in = {.pack = "p",
                                       .module = "m",
                                       .object = &co,
                                       .ir = ir,
                                       .aliases = aliases,
                                       .taken = &taken,
                                       .ntaken = taken ? 1 : 0};
    size_t nbytes;
    FILE *f = open_memstream(&text, &nbytes);
    struct launchers *l;

    assert_true(ir && f);
    l = launchers_new(&in);
    assert_non_null(l);
    launchers_write(f, l);
    launchers_free(l);
    assert_int_equal(fclose(f), 0);
    ir_free(ir);
    return text;
}

static char *header_of_one(char *name, struct codeobj_arg *args, size_t nargs)
{
    struct codeobj_kernel kernel = {.name = name, .args = args, .nargs = nargs};

    return header_of(&kernel, 1, NULL, NULL);
}

static void wants(char *header, const char *text)
{
    if (!strstr(header, text))
        fail_msg("wanted '%s' in\n%s", text, header);
    free(header);
}

static void test_what_has_no_launcher_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < KPK_MAX_ARGS + 1; i++)
        many[i] =
            (struct codeobj_arg){"", (uint32_t)(4 * i), 4, KPK_ARG_BY_VALUE};
    wants(header_of_one("unheard", two, 2),
          " * has no launcher: its signature is not known: there is no source");
    wants(header_of_one("pads", pads, 2),
          " * has no launcher: its argument list has padding; use "
          "kpk_launch_packed()");
    wants(header_of_one("many", many, KPK_MAX_ARGS + 1),
          "; use kpk_launch_packed()");
    wants(header_of_one("fewer", two, 1),
          "its source has 2 parameters, the code object 1");
    wants(header_of_one("none", two, 2),
          "its source has 0 parameters, the code object 2");
    wants(header_of_one("wider", wide, 2),
          "arg2 is 4 bytes in the source, 8 in the code object");
    wants(header_of_one("exotic", two, 2),
          "C has no type like a type without a name");
    /* a file's text goes into a comment, and must not end the comment */
    wants(header_of_one("a*//*b\\\n", two, 2), "/*\n * a*_/_b__\n *\n");
}

static void test_names_of_launchers_and_parameters(void **state)
{
    (void)state;
    wants(header_of_one("plain", two, 2),
          "kpk_plain(const kpk_m_kernels *kernels,\n    const kpk_shape "
          "*shape, void *stream, float *shape_, int32_t shape__)\n");
    wants(header_of_one("int", two, 2), "float *x, int32_t x_)");
    wants(header_of_one("m_kernels", two, 2), "kpk_m_kernels_kernel(const");
    wants(header_of_one("none", NULL, 0),
          "kernels), 0, shape, stream, NULL);\n");
}

static void test_taken_names_are_numbered(void **state)
{
    struct codeobj_kernel kernel = {.name = "taken", .args = two, .nargs = 2};

    (void)state;
    wants(header_of(&kernel, 1, NULL, "x kpk_takenx kpk_taken_ kpk_taking"),
          "kpk_taken(const");
    wants(header_of(&kernel, 1, NULL, "int kpk_taken(void);"),
          "kpk_taken_kernel(const");
    wants(header_of(&kernel, 1, NULL, "kpk_taken kpk_taken_kernel"),
          "kpk_taken_kernel2(const");
}

static void test_overloads_have_their_types_in_the_name(void **state)
{
    struct codeobj_kernel kernels[] = {
        {.name = "_ZN2ns5scaleIdE", .args = wide, .nargs = 2},
        {.name = "_ZN2ns5scaleIfE", .args = two, .nargs = 2},
    };
    char *header = header_of(kernels, 2, NULL, NULL);

    (void)state;
    assert_non_null(
        strstr(header, "kpk_ns_scale_float_double_p_int64_t(const"));
    assert_non_null(strstr(header, "kpk_ns_scale_float_float_p_int32_t(const"));
    wants(header, " * ns::scale<float>()\n * exported as _ZN2ns5scaleIfE\n");
}

static void test_aliases_have_types_of_their_own(void **state)
{
    static const char rules[] = "module,text,alias\n*,copy_f32,copy_i32\n";
    static struct codeobj_arg pointers[] = {{"", 0, 8, KPK_ARG_GLOBAL_BUFFER},
                                            {"", 8, 8, KPK_ARG_GLOBAL_BUFFER}};
    char error[CSV_ERROR_MAX];
    struct csv *csv = csv_parse("a.csv", rules, sizeof(rules) - 1, error);
    struct codeobj_kernel kernel = {
        .name = "copy_i32", .args = pointers, .nargs = 2};
    char *header;

    (void)state;
    assert_non_null(csv);
    header = header_of(&kernel, 1, csv, NULL);
    assert_non_null(strstr(header, "copy_i32, a second name of copy_f32\n"));
    assert_non_null(strstr(header, "int32_t *__t__)"));
    wants(header, "const int32_t *inp,");
    csv_free(csv);
}

/* A cubin's kernels get the parameters' names from the source; what is named
 * already, or is not the source's, keeps its name. */
static void test_arguments_get_the_names_of_the_source(void **state)
{
    struct codeobj_arg args[] = {{strdup(""), 0, 8, KPK_ARG_UNKNOWN},
                                 {strdup("own"), 8, 4, KPK_ARG_UNKNOWN}};
    struct codeobj_arg other[] = {{strdup(""), 0, 8, KPK_ARG_UNKNOWN}};
    struct codeobj_arg unnamed[] = {{strdup(""), 0, 8, KPK_ARG_UNKNOWN},
                                    {strdup(""), 8, 4, KPK_ARG_UNKNOWN}};
    struct codeobj_kernel kernels[] = {
        {.name = "int", .args = other, .nargs = 1},
        {.name = "plain", .args = args, .nargs = 2},
        {.name = "taken", .args = unnamed, .nargs = 2},
        {.name = "unheard", .args = other, .nargs = 1}};
    struct codeobj co = {.kernels = kernels, .nkernels = 4};
    char error[IR_ERROR_MAX];
    struct ir *ir = ir_parse(source, sizeof(source) - 1, error);

    (void)state;
    assert_non_null(ir);
    assert_true(source_name_args(&co, ir, NULL, "m"));
    assert_string_equal(args[0].name, "shape");
    assert_string_equal(args[1].name, "own");
    assert_string_equal(other[0].name, "");
    assert_string_equal(unnamed[0].name, "");
    free(args[0].name);
    free(args[1].name);
    free(other[0].name);
    free(unnamed[0].name);
    free(unnamed[1].name);
    ir_free(ir);
}

static void test_symbols_tell_targets_apart(void **state)
{
    static const struct {
        const char *target, *symbol;
    } cases[] = {
        {"gfx942", "kpk_i_p__m_gfx942"},
        {"gfx90a:sramecc+:xnack-", "kpk_i_p__m_gfx90a_sramecc_on_xnack_off"},
        {"gfx90a:xnack-:x", "kpk_i_p__m_gfx90a_xnack_off_x"},
        {"gfx9-4-generic", "kpk_i_p__m_gfx9_4_generic"},
    };
    char symbol[BLOB_SYMBOL_MAX], name[1000];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        blob_symbol(symbol, "p", "m", cases[i].target);
        assert_string_equal(symbol, cases[i].symbol);
    }
    blob_symbol(symbol, "p", "", "");
    assert_string_equal(symbol, "kpk_i_p__dictionary");
    memset(name, 'x', sizeof(name) - 1); /* is cut, not overrun */
    name[sizeof(name) - 1] = '\0';
    blob_symbol(symbol, name, name, name);
    assert_true(strlen(symbol) < sizeof(symbol));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_has_no_launcher_says_why),
        cmocka_unit_test(test_names_of_launchers_and_parameters),
        cmocka_unit_test(test_taken_names_are_numbered),
        cmocka_unit_test(test_overloads_have_their_types_in_the_name),
        cmocka_unit_test(test_aliases_have_types_of_their_own),
        cmocka_unit_test(test_arguments_get_the_names_of_the_source),
        cmocka_unit_test(test_symbols_tell_targets_apart),
    };

    return cmocka_run_group_tests_name("launcher_header", tests, NULL, NULL);
}
