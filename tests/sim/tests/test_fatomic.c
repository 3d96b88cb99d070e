/* test_fatomic.c - float atomics and those that some targets alone have
 *
 * Each row goes through the encodings that its letters name (global, flat,
 * buffer, LDS), with and without giving the old value back; a capital letter:
 * with alone.
 */
#include <ctype.h>

#include "memory_test.h"

struct fatomic_case {
    const char *target;
    const char *where; /* letters of g, f, b, d */
    const char *name;  /* behind "atomic_", or after "ds_" with _rtn put in */
    unsigned nbytes;
    bool compares;
    uint64_t old, data, compare, want;
};

#define ONE_32 0x3f800000
#define TWO_32 0x40000000
#define NAN_32 0x7fc00000
#define ONE_64 0x3ff0000000000000
#define TWO_64 0x4000000000000000
#define NAN_64 0x7ff8000000000000
#define MINUS_0_64 0x8000000000000000

/* clang-format off */
static const struct fatomic_case cases[] = {
    {"gfx942",  "gfb", "add_f32",    4, false, ONE_32, TWO_32, 0, 0x40400000},
    {"gfx90a",  "gb",  "add_f32",    4, false, ONE_32, TWO_32, 0, 0x40400000},
    {"gfx1100", "gfb", "add_f32",    4, false, ONE_32, TWO_32, 0, 0x40400000},
    {"gfx1201", "gfb", "add_f32",    4, false, ONE_32, TWO_32, 0, 0x40400000},
    {"gfx942",  "gfb", "pk_add_f16", 4, false, 0x3c004000, 0x3c003c00, 0, 0x40004200},
    {"gfx1201", "gfb", "pk_add_f16", 4, false, 0x3c004000, 0x3c003c00, 0, 0x40004200},
    {"gfx942",  "gf",  "pk_add_bf16", 4, false, 0x3f804000, 0x3f803f80, 0, 0x40004040},
    {"gfx950",  "gfb", "pk_add_bf16", 4, false, 0x3f804000, 0x3f803f80, 0, 0x40004040},
    {"gfx1201", "gfb", "pk_add_bf16", 4, false, 0x3f804000, 0x3f803f80, 0, 0x40004040},
    /* a sum that is between two numbers goes to the even one */
    {"gfx942",  "g",   "pk_add_bf16", 4, false, 0x3f803f81, 0x3b803b80, 0, 0x3f803f82},
    {"gfx942",  "gfb", "add_f64",    8, false, ONE_64, TWO_64, 0, 0x4008000000000000},
    {"gfx90a",  "gfb", "add_f64",    8, false, ONE_64, TWO_64, 0, 0x4008000000000000},
    {"gfx942",  "gfb", "min_f64",    8, false, ONE_64, TWO_64, 0, ONE_64},
    {"gfx942",  "gfb", "min_f64",    8, false, 0, MINUS_0_64, 0, MINUS_0_64},
    {"gfx942",  "gfb", "max_f64",    8, false, NAN_64, TWO_64, 0, TWO_64},
    {"gfx90a",  "gfb", "max_f64",    8, false, ONE_64, TWO_64, 0, TWO_64},
    {"gfx1030", "gfb", "fmin",       4, false, TWO_32, ONE_32, 0, ONE_32},
    {"gfx1030", "gfb", "fmax",       4, false, TWO_32, NAN_32, 0, TWO_32},
    {"gfx1030", "gfb", "fmin_x2",    8, false, TWO_64, ONE_64, 0, ONE_64},
    {"gfx1030", "gfb", "fmax_x2",    8, false, TWO_64, ONE_64, 0, TWO_64},
    {"gfx1030", "gfb", "fcmpswap",   4, true, 0x80000000, ONE_32, 0, ONE_32},
    {"gfx1030", "gfb", "fcmpswap",   4, true, NAN_32, ONE_32, NAN_32, NAN_32},
    {"gfx1030", "gfb", "fcmpswap_x2", 8, true, ONE_64, TWO_64, ONE_64, TWO_64},
    {"gfx1100", "gfb", "min_f32",    4, false, TWO_32, ONE_32, 0, ONE_32},
    {"gfx1100", "gfb", "max_f32",    4, false, TWO_32, ONE_32, 0, TWO_32},
    {"gfx1100", "gfb", "cmpswap_f32", 4, true, ONE_32, TWO_32, ONE_32, TWO_32},
    {"gfx1201", "gfb", "min_num_f32", 4, false, NAN_32, ONE_32, 0, ONE_32},
    {"gfx1201", "gfb", "max_num_f32", 4, false, TWO_32, ONE_32, 0, TWO_32},
    /* returning alone: csub */
    {"gfx1030", "GB",  "csub",       4, false, 5, 3, 0, 2},
    {"gfx1100", "GB",  "csub_u32",   4, false, 3, 5, 0, 0},
    {"gfx1201", "gb",  "sub_clamp_u32", 4, false, 3, 5, 0, 0},
    {"gfx1201", "gfb", "cond_sub_u32", 4, false, 5, 3, 0, 2},
    {"gfx1201", "gfb", "cond_sub_u32", 4, false, 3, 5, 0, 3},
    /* LDS */
    {"gfx942",  "d", "add_f32",      4, false, ONE_32, TWO_32, 0, 0x40400000},
    {"gfx942",  "d", "add_f64",      8, false, ONE_64, TWO_64, 0, 0x4008000000000000},
    {"gfx942",  "d", "min_f32",      4, false, ONE_32, TWO_32, 0, ONE_32},
    {"gfx942",  "d", "max_f32",      4, false, ONE_32, TWO_32, 0, TWO_32},
    {"gfx1030", "d", "min_f64",      8, false, ONE_64, TWO_64, 0, ONE_64},
    {"gfx1100", "d", "max_f64",      8, false, ONE_64, TWO_64, 0, TWO_64},
    {"gfx942",  "d", "pk_add_f16",   4, false, 0x3c004000, 0x3c003c00, 0, 0x40004200},
    {"gfx942",  "d", "pk_add_bf16",  4, false, 0x3f804000, 0x3f803f80, 0, 0x40004040},
    {"gfx1201", "d", "pk_add_f16",   4, false, 0x3c004000, 0x3c003c00, 0, 0x40004200},
    {"gfx942",  "D", "cmpst_f32",    4, true, ONE_32, TWO_32, ONE_32, TWO_32},
    {"gfx942",  "D", "cmpst_f64",    8, true, ONE_64, TWO_64, TWO_64, ONE_64},
    {"gfx1100", "d", "cmpstore_f32", 4, true, ONE_32, TWO_32, ONE_32, TWO_32},
    {"gfx1100", "d", "cmpstore_f64", 8, true, 0, TWO_64, MINUS_0_64, TWO_64},
    {"gfx1201", "d", "min_num_f32",  4, false, NAN_32, ONE_32, 0, ONE_32},
    {"gfx1201", "d", "max_num_f32",  4, false, TWO_32, ONE_32, 0, TWO_32},
    {"gfx1201", "d", "min_num_f64",  8, false, TWO_64, ONE_64, 0, ONE_64},
    {"gfx1201", "d", "max_num_f64",  8, false, TWO_64, ONE_64, 0, TWO_64},
    {"gfx1201", "d", "cond_sub_u32", 4, false, 5, 3, 0, 2},
    {"gfx1201", "d", "sub_clamp_u32", 4, false, 3, 5, 0, 0},
};
/* clang-format on */

static void put_value(struct asm_state *st, unsigned reg, uint64_t v)
{
    st->v[reg][0] = (uint32_t)v;
    st->v[reg + 1][0] = (uint32_t)(v >> 32);
}

static void registers(char out[32], unsigned reg, unsigned n)
{
    if (n == 1)
        snprintf(out, 32, "v%u", reg);
    else
        snprintf(out, 32, "v[%u:%u]", reg, reg + n - 1);
}

/* ds_NAME becomes ds_..._rtn_TYPE: the type is what the last '_' begins. */
static void lds_name(char out[40], const char *name, bool returns)
{
    const char *type = strrchr(name, '_');

    snprintf(out, 40, "ds_%.*s%s%s", (int)(type - name), name,
             returns ? "_rtn" : "", type);
}

static void make_text(char text[192], const struct fatomic_case *c, char where,
                      bool returns)
{
    unsigned words = c->nbytes / 4;
    bool old_order = strncmp(c->name, "cmpst_", 6) == 0;
    const char *bit = !returns                     ? ""
                      : strstr(c->target, "gfx12") ? " th:TH_ATOMIC_RETURN"
                      : strstr(c->target, "gfx94") || strstr(c->target, "gfx95")
                          ? " sc0"
                          : " glc";
    char data[32], both[32], compare[32], back[32], name[40];

    registers(data, 4, words);
    registers(both, 4, 2 * words);
    registers(compare, 4 + words, words);
    registers(back, 10, words);
    switch (where) {
    case 'g':
        snprintf(text, 192, "global_atomic_%s %s%sv[2:3], %s, off%s", c->name,
                 returns ? back : "", returns ? ", " : "",
                 c->compares ? both : data, bit);
        break;
    case 'f':
        snprintf(text, 192, "flat_atomic_%s %s%sv[2:3], %s%s", c->name,
                 returns ? back : "", returns ? ", " : "",
                 c->compares ? both : data, bit);
        break;
    case 'b':
        snprintf(text, 192, "buffer_atomic_%s %s, v1, s[8:11], s12 offen%s",
                 c->name, c->compares ? both : data, bit);
        break;
    default:
        lds_name(name, c->name, returns);
        snprintf(text, 192, "%s %s%sv1, %s%s%s", name, returns ? back : "",
                 returns ? ", " : "", old_order ? compare : data,
                 c->compares ? ", " : "",
                 !c->compares ? ""
                 : old_order  ? data
                              : compare);
    }
}

static void check(const struct fatomic_case *c, char where, bool returns)
{
    struct sim_alloc *a = counting_bytes(64);
    struct asm_state *st =
        asm_new(c->target, strncmp(c->target, "gfx9", 4) == 0 ? 64 : 32);
    uint64_t mask = c->nbytes == 8 ? UINT64_MAX : UINT32_MAX, got, back;
    unsigned words = c->nbytes / 4, result = where == 'b' ? 4 : 10;
    char text[192];

    set64(st, SREG_EXEC, 1);
    memcpy(a->bytes, &c->old, 8);
    memcpy(st->lds, &c->old, 8);
    st->v[1][0] = 0;
    set_addresses(st, 2, a->base, 0);
    set64(st, 8, a->base);
    st->s[10] = 64;
    st->s[11] = 3u << 28;
    st->s[12] = 0;
    put_value(st, 4, c->data);
    put_value(st, 4 + words, c->compare);
    make_text(text, c, where, returns);
    asm_run(st, text);
    memcpy(&got, where == 'd' ? st->lds : a->bytes, 8);
    back = st->v[result][0] | (uint64_t)st->v[result + 1][0] << 32;
    if ((got & mask) != c->want ||
        (returns && (back & mask) != (c->old & mask)))
        fail_msg("%s: %s: of %#llx and %#llx: want %#llx, got %#llx and %#llx "
                 "back",
                 c->target, text, (unsigned long long)c->old,
                 (unsigned long long)c->data, (unsigned long long)c->want,
                 (unsigned long long)got, (unsigned long long)back);
    asm_free(st);
    sim_mem_free(a->base);
}

static void test_float_and_conditional_atomics(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++)
        for (const char *where = cases[n].where; *where; where++) {
            bool returning_alone = *where == 'G' || *where == 'B';
            char form = (char)tolower(*where);

            check(&cases[n], form, true);
            if (!returning_alone)
                check(&cases[n], form, false);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_and_conditional_atomics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
