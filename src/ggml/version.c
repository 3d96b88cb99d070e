/* version.c - checks that the process's ggml fits the backend */
#include "version.h"

#include <ggml.h>

#include <stdio.h>
#include <string.h>

/* KPK_GGML_VERSION is the version of the headers, from their CMakeLists.txt. */
static bool same_minor(const char *a, const char *b)
{
    const char *dot = strchr(a, '.');
    const char *end = dot ? strchr(dot + 1, '.') : NULL;
    const size_t n = end ? (size_t)(end - a) + 1 : strlen(a) + 1;

    return strncmp(a, b, n) == 0;
}

/* Enum values that the backend uses, with the names that the process's ggml
 * must have for them: a sample of each enum, up to its end. */
/* clang-format off */
#define NAMES(X)                                                               \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_ADD,             "ADD")           \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_SQRT,            "SQRT")          \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_RMS_NORM,        "RMS_NORM")      \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_MUL_MAT,         "MUL_MAT")       \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_SCALE,           "SCALE")         \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_CPY,             "CPY")           \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_SET_ROWS,        "SET_ROWS")      \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_SOFT_MAX,        "SOFT_MAX")      \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_ROPE,            "ROPE")          \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_ARGSORT,         "ARGSORT")       \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_FLASH_ATTN_EXT,  "FLASH_ATTN_EXT") \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_UNARY,           "UNARY")         \
    X(ggml_op_name,       enum ggml_op,       GGML_OP_GLU,             "GLU")           \
    X(ggml_unary_op_name, enum ggml_unary_op, GGML_UNARY_OP_SILU,      "SILU")          \
    X(ggml_unary_op_name, enum ggml_unary_op, GGML_UNARY_OP_ROUND,     "ROUND")         \
    X(ggml_glu_op_name,   enum ggml_glu_op,   GGML_GLU_OP_SWIGLU,      "SWIGLU")        \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_Q8_0,          "q8_0")          \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_Q6_K,          "q6_K")          \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_BF16,          "bf16")          \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_MXFP4,         "mxfp4")         \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_TQ2_0,         "tq2_0")         \
    X(ggml_type_name,     enum ggml_type,     GGML_TYPE_NVFP4,         "nvfp4")
/* clang-format on */

bool version_fits(void)
{
    if (!same_minor(KPK_GGML_VERSION, ggml_version())) {
        (void)fprintf(
            stderr,
            "ggml-kpack: made for ggml %s, and this program has ggml "
            "%s: make it again with its sources: make ggml GGML=...\n",
            KPK_GGML_VERSION, ggml_version());
        return false;
    }
#define X(function, type, number, name)                                        \
    if (strcmp(function(number), name) != 0) {                                 \
        (void)fprintf(stderr,                                                  \
                      "ggml-kpack: made for a ggml %s in which " #number       \
                      " is called %s; in this program it is %s: make it "      \
                      "again with its sources: make ggml GGML=...\n",          \
                      KPK_GGML_VERSION, name, function(number));               \
        return false;                                                          \
    }
    NAMES(X)
#undef X
    return true;
}
