/* test_unwaited.c - write-backs that no wait follows, in code of a few words
 *
 * The encodings are llvm-mc's for gfx942.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

#include "base/unwaited.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_BACK 0xe0a08000, 0      /* buffer_wbl2 sc1 */
#define INVALIDATE 0xe0a48000, 0      /* buffer_inv sc1 */
#define WAIT_0 0xbf8c0f70             /* s_waitcnt vmcnt(0) */
#define WAIT_1 0xbf8c0f71             /* s_waitcnt vmcnt(1) */
#define WAIT_LDS 0xbf8cc07f           /* s_waitcnt lgkmcnt(0) */
#define STORE 0xde708000, 0x00040201  /* global_store_dword .. sc1 */
#define ATOMIC 0xdd088000, 0x00040201 /* global_atomic_add */
#define LOAD 0xdc508000, 0x03040001   /* global_load_dword */
#define BUFFER_STORE 0xe0700000, 0x80010100
#define FLAT_STORE 0xdc700000, 0x00000102
#define LDS_STORE 0xd81a0000, 0x00000100 /* ds_write_b32 */
#define SCALAR_LOAD 0xc0060002, 0
#define LOAD_TO_LDS 0xddf48000, 0x00040001 /* gfx950: _dwordx4 */
#define NOP 0xbf800000
#define END 0xbf810000
#define JUMP 0xbe801d1e          /* s_setpc_b64 s[30:31] */
#define IF(n) (0xbf850000 | (n)) /* s_cbranch_scc1 */
#define GO(n) (0xbf820000 | ((n)&0xffff))
/* 0xe0a08000, 0 that are no instruction */
#define MOVE 0xbe8000ff, 0xe0a08000     /* s_mov_b32 s0, .. */
#define ADD 0x680000ff, 0xe0a08000      /* v_add_u32 v0, .., v0 */
#define MULTIPLY 0x30000100, 0xe0a08000 /* v_fmaak_f32 */
#define SET 0xba00f801, 0xe0a08000      /* s_setreg_imm32_b32 */
#define SELECT 0x00000000               /* v_cndmask_b32 v0, s0, v0 */

enum { GFX90A = 0x3f, GFX942 = 0x4c, GFX950 = 0x4f, GFX1100 = 0x41 };
enum { NONE = -1, MOST = 24 };

static const struct {
    const char *what;
    int at; /* byte offset of the place reported */
    unsigned mach;
    uint32_t code[MOST];
} cases[] = {
    {"a store", 0, GFX942, {WRITE_BACK, STORE, END}},
    {"a store, on gfx90a", 0, GFX90A, {WRITE_BACK, STORE, END}},
    {"a store, on gfx950", 0, GFX950, {WRITE_BACK, STORE, END}},
    {"an atomic", 4, GFX942, {NOP, WRITE_BACK, ATOMIC, END}},
    {"a store to a buffer", 0, GFX942, {WRITE_BACK, BUFFER_STORE, END}},
    {"a flat store", 0, GFX942, {WRITE_BACK, FLAT_STORE, END}},
    {"the end", 0, GFX942, {WRITE_BACK, END}},
    {"an invalidation",
     0,
     GFX942,
     {WRITE_BACK, INVALIDATE, ATOMIC, WAIT_0, END}},
    {"a wait for LDS", 0, GFX942, {WRITE_BACK, WAIT_LDS, STORE, WAIT_0, END}},
    {"a wait that lets one go on", 0, GFX942, {WRITE_BACK, WAIT_1, STORE, END}},
    {"one of two ways", 0, GFX942, {WRITE_BACK, IF(1), WAIT_0, STORE, END}},
    {"behind a loop", 0, GFX942, {WRITE_BACK, NOP, IF(0xfffe), STORE, END}},
    {"the second of two",
     20,
     GFX942,
     {WRITE_BACK, WAIT_0, STORE, WRITE_BACK, STORE, END}},
    {"a function's jump in front", 4, GFX942, {JUMP, WRITE_BACK, STORE, END}},
    {"a wait", NONE, GFX942, {WRITE_BACK, WAIT_0, STORE, END}},
    {"a wait behind others",
     NONE,
     GFX942,
     {WRITE_BACK, LDS_STORE, SCALAR_LOAD, LOAD, INVALIDATE, WAIT_0, STORE,
      END}},
    {"a wait that lets a younger load go on",
     NONE,
     GFX942,
     {WRITE_BACK, LOAD, WAIT_1, STORE, END}},
    {"a wait behind a load to LDS",
     NONE,
     GFX950,
     {WRITE_BACK, LOAD_TO_LDS, WAIT_0, STORE, END}},
    {"a wait on both ways",
     NONE,
     GFX942,
     {WRITE_BACK, IF(2), WAIT_0, GO(1), WAIT_0, STORE, END}},
    {"a wait behind a jump",
     NONE,
     GFX942,
     {WRITE_BACK, GO(2), STORE, WAIT_0, STORE, END}},
    {"an endless loop", NONE, GFX942, {WRITE_BACK, GO(-1), STORE, END}},
    {"a return", NONE, GFX942, {WRITE_BACK, JUMP, STORE, END}},
    {"a jump out of the function", NONE, GFX942, {WRITE_BACK, GO(100), END}},
    {"literals",
     NONE,
     GFX942,
     {MOVE, SELECT, ADD, SELECT, MULTIPLY, SELECT, SET, SELECT, STORE, END}},
    {"a processor with another encoding",
     NONE,
     GFX1100,
     {WRITE_BACK, STORE, END}},
};

static size_t words_of(const uint32_t *code)
{
    size_t n = MOST;

    while (code[n - 1] != END)
        n--;
    return n;
}

/* A code object of headers, .text, .symtab and .strtab, to be freed. */
struct made {
    Elf64_Ehdr h;
    Elf64_Shdr s[4];
    uint32_t code[MOST];
    Elf64_Sym symbols[3];
    char names[16];
};

static struct made *make(const uint32_t *code, unsigned mach)
{
    struct made *m = calloc(1, sizeof(*m));
    const size_t nbytes = 4 * words_of(code);

    assert_non_null(m);
    memcpy(m->h.e_ident, ELFMAG, SELFMAG);
    m->h.e_ident[EI_CLASS] = ELFCLASS64;
    m->h.e_machine = 224;
    m->h.e_flags = mach;
    m->h.e_shoff = offsetof(struct made, s);
    m->h.e_shentsize = sizeof(*m->s);
    m->h.e_shnum = 4;
    m->s[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                           .sh_addr = 0x1000,
                           .sh_offset = offsetof(struct made, code),
                           .sh_size = sizeof(m->code)};
    m->s[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                           .sh_link = 3,
                           .sh_offset = offsetof(struct made, symbols),
                           .sh_size = sizeof(m->symbols)};
    m->s[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                           .sh_offset = offsetof(struct made, names),
                           .sh_size = sizeof(m->names)};
    memcpy(m->code, code, nbytes);
    memcpy(m->names, "\0kernel\0second", 15);
    /* A second name of the function adds no place. */
    m->symbols[1] = (Elf64_Sym){.st_name = 1,
                                .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                .st_shndx = 1,
                                .st_value = 0x1000,
                                .st_size = nbytes};
    m->symbols[2] = m->symbols[1];
    m->symbols[2].st_name = 8;
    return m;
}

struct places {
    int n;
    uint64_t at;
    char function[16];
};

static void note(void *user, const char *function, uint64_t offset)
{
    struct places *p = user;

    p->n++;
    p->at = offset;
    strncpy(p->function, function, sizeof(p->function) - 1);
}

static struct places find(const void *data, size_t nbytes)
{
    struct places p = {0};

    unwaited_find(data, nbytes, note, &p);
    return p;
}

static void test_what_no_wait_follows_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct made *m = make(cases[i].code, cases[i].mach);
        const struct places p = find(m, sizeof(*m));

        if (p.n != (cases[i].at != NONE) ||
            (p.n && p.at != (uint64_t)cases[i].at))
            fail_msg("%s: %d places, the last at %d", cases[i].what, p.n,
                     (int)p.at);
        if (p.n)
            assert_string_equal(p.function, "kernel");
        free(m);
    }
}

static void test_names_that_do_not_print_are_not_printed(void **state)
{
    struct made *m = make(cases[0].code, GFX942);

    (void)state;
    m->names[2] = '\n';
    assert_string_equal(find(m, sizeof(*m)).function, "?");
    free(m);
}

/* Cut at each byte, and with each number of the headers wrong: no byte outside
 * is read, which sanitizers watch. */
static void test_damaged_files_are_not_followed(void **state)
{
    struct made *m = make(cases[0].code, GFX942);

    (void)state;
    for (size_t n = 0; n < sizeof(*m); n++) {
        unsigned char *cut = malloc(n ? n : 1);

        assert_non_null(cut);
        memcpy(cut, m, n);
        assert_true(find(cut, n).n <= 1);
        free(cut);
    }
    for (size_t at = EI_NIDENT; at + 4 <= offsetof(struct made, code); at += 4)
        for (size_t k = 0; k < 3; k++) {
            static const uint32_t bad[] = {0xffffffff, 0x7fffffff, 0};
            struct made wrong = *m;

            memcpy((char *)&wrong + at, &bad[k], 4);
            assert_true(find(&wrong, sizeof(wrong)).n <= 1);
        }
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_no_wait_follows_is_found),
        cmocka_unit_test(test_names_that_do_not_print_are_not_printed),
        cmocka_unit_test(test_damaged_files_are_not_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
