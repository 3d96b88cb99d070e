/* test_agree.c - targets of a module that offer the same kernels, and not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "pack/objects_agree.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two kernels, `a` of a pointer and a number and `b` of a packed buffer, which
 * a case changes. */
struct made {
    struct codeobj_arg args[2];
    struct codeobj_kernel kernels[3];
    struct codeobj co;
};

static void make(struct made *m, const char *target)
{
    memset(m, 0, sizeof(*m));
    m->args[0] = (struct codeobj_arg){"x", 0, 8, KPK_ARG_GLOBAL_BUFFER};
    m->args[1] = (struct codeobj_arg){"n", 8, 4, KPK_ARG_BY_VALUE};
    m->kernels[0] =
        (struct codeobj_kernel){.name = "a", .args = m->args, .nargs = 2};
    m->kernels[1] =
        (struct codeobj_kernel){.name = "b", .attrs = {.kernarg_nbytes = 64}};
    m->kernels[2] = (struct codeobj_kernel){.name = "c"};
    m->co.path = "file";
    snprintf(m->co.target, sizeof(m->co.target), "%s", target);
    m->co.kernels = m->kernels;
    m->co.nkernels = 2;
}

/* The text of objects_agree() on standard error; NULL if the objects agree. */
static char *differ(struct made *x, struct made *y)
{
    struct codeobj *const both[] = {&x->co, &y->co};
    FILE *f = tmpfile();
    const int old = dup(2);
    static char text[512];
    bool agree;
    size_t n;

    assert_non_null(f);
    assert_true(old >= 0 && dup2(fileno(f), 2) >= 0);
    agree = objects_agree(both, 2);
    (void)fflush(stderr);
    assert_true(dup2(old, 2) >= 0);
    (void)close(old);
    rewind(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    if (agree)
        assert_string_equal(text, "");
    return agree ? NULL : text;
}

static void test_same_kernels_agree(void **state)
{
    struct made x, y;

    (void)state;
    make(&x, "gfx942");
    make(&y, "gfx1100");
    assert_null(differ(&x, &y));
    assert_true(objects_alike(&x.co, &y.co));
}

/* Each change of the second object, what is said, and whether the two are
 * alike, which asks for the arguments' names too. */
static void test_what_differs_is_said(void **state)
{
    static const struct {
        const char *said; /* NULL: they agree */
        bool alike;
    } cases[] = {
        {"file: argument 0 of kernel a is a pointer of 8 bytes at offset 4 on "
         "gfx1100, but a pointer of 8 bytes at offset 0 on gfx942\n",
         false},
        {"is a pointer of 16 bytes at", false},
        {"is a value of 8 bytes at offset 0 on gfx1100, but a pointer", false},
        {"is a handle of 8 bytes", false},
        {"is a shared pointer of 8 bytes", false},
        {NULL, true}, /* a file that does not tell */
        {NULL, false},
        {"file: kernel a takes 1 arguments on gfx1100, but 2 on gfx942\n",
         false},
        {"file: kernel b has no list of arguments, and a segment of 32 bytes "
         "on gfx1100, but of 64 on gfx942\n",
         false},
        {"file: kernel aa is there for gfx1100, but not for gfx942\n", false},
        {"file: kernel a is there for gfx942, but not for gfx1100\n", false},
        {"file: kernel c is there for gfx1100, but not for gfx942\n", false},
        {"file: kernel b is there for gfx942, but not for gfx1100\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct made x, y;
        const char *said;

        make(&x, "gfx942");
        make(&y, "gfx1100");
        switch (i) {
        case 0:
            y.args[0].offset = 4;
            break;
        case 1:
            y.args[0].size = 16;
            break;
        case 2:
            y.args[0].kind = KPK_ARG_BY_VALUE;
            break;
        case 3:
            y.args[0].kind = KPK_ARG_OTHER;
            break;
        case 4:
            y.args[0].kind = KPK_ARG_DYNAMIC_SHARED_POINTER;
            break;
        case 5:
            y.args[0].kind = KPK_ARG_UNKNOWN;
            break;
        case 6:
            y.args[1].name = "m";
            break;
        case 7:
            y.kernels[0].nargs = 1;
            break;
        case 8:
            y.kernels[1].attrs.kernarg_nbytes = 32;
            break;
        case 9:
            y.kernels[1].name = "aa";
            break;
        case 10:
            x.kernels[1].name = "bb";
            y.kernels[0].name = "bb";
            y.kernels[0].nargs = 0;
            y.kernels[0].attrs.kernarg_nbytes = 64;
            y.co.nkernels = 1;
            break;
        case 11:
            y.co.nkernels = 3;
            break;
        default:
            y.co.nkernels = 1;
        }
        said = differ(&x, &y);
        if (!cases[i].said != !said || (said && !strstr(said, cases[i].said)))
            fail_msg("case %zu: %s", i, said ? said : "they agree");
        assert_int_equal(objects_alike(&x.co, &y.co), cases[i].alike);
        assert_int_equal(objects_alike(&y.co, &x.co), cases[i].alike);
    }
}

/* NVIDIA's files have no names and no kinds: the other tells more. */
static void test_nvidias_files_tell_less(void **state)
{
    struct made x, y;
    struct codeobj *const both[] = {&x.co, &y.co};

    (void)state;
    make(&x, "sm_90");
    make(&y, "gfx942");
    for (size_t i = 0; i < 2; i++) {
        x.args[i].kind = KPK_ARG_UNKNOWN;
        x.args[i].name = "";
    }
    assert_null(differ(&x, &y));
    assert_true(objects_alike(&x.co, &y.co));
    assert_true(objects_alike(&y.co, &x.co));
    assert_ptr_equal(objects_reference(both, 2), &y.co);
    assert_ptr_equal(objects_reference(both, 1), &x.co);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_kernels_agree),
        cmocka_unit_test(test_what_differs_is_said),
        cmocka_unit_test(test_nvidias_files_tell_less),
    };

    return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
