/* test_sha256.c - the hash against the examples of FIPS 180-4 and its edges */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants the four above first */
#include <cmocka.h>

/* With what only it knows; the program links another one. */
#define sha256 sha256_here
#include "../../src/base/sha256.c" /* NOLINT(bugprone-suspicious-include) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_hash(const void *data, size_t nbytes, const char *wanted)
{
    uint8_t digest[32];
    char got[65];

    sha256(data, nbytes, digest);
    for (size_t i = 0; i < 32; i++)
        snprintf(got + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(got, wanted);
}

static void test_examples_of_the_standard(void **state)
{
    (void)state;
    check_hash("abc", 3,
               "ba7816bf8f01cfea414140de5dae2223"
               "b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
               "248d6a61d20638b8e5c026930c3e6039"
               "a33ce45964ff2167f6ecedd419db06c1");
    check_hash("", 0,
               "e3b0c44298fc1c149afbf4c8996fb924"
               "27ae41e4649b934ca495991b7852b855");
}

static void test_a_million_letters(void **state)
{
    char *text = malloc(1000000);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', 1000000);
    check_hash(text, 1000000,
               "cdc76e5c9914fb9281a1c7e284d73e67"
               "f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

/* The length no longer fits the last block from 56 bytes on; coreutils'
 * sha256sum gave the values. */
static void test_lengths_around_a_block(void **state)
{
    char zeros[128] = {0};

    (void)state;
    check_hash(zeros, 55,
               "02779466cdec163811d078815c633f21"
               "901413081449002f24aa3e80f0b88ef7");
    check_hash(zeros, 56,
               "d4817aa5497628e7c77e6b606107042b"
               "bba3130888c5f47a375e6179be789fbb");
    check_hash(zeros, 64,
               "f5a5fd42d16a20302798ef6ed309979b"
               "43003d2320d9f0e8ea9831a92759fb4b");
}

/* The processor's instructions and plain C. */
static void test_both_ways_to_mix_agree(void **state)
{
    uint8_t bytes[64 * 9];
    uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, other[8];
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        x = x * 1103515245u + 12345u;
        bytes[i] = (uint8_t)(x >> 16);
    }
    memcpy(other, plain, sizeof(plain));
    mix_all(plain, bytes, 9);
#ifdef __x86_64__
    if (!has_instructions())
        skip();
    mix_all_x86(other, bytes, 9);
    assert_memory_equal(plain, other, sizeof(plain));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_the_standard),
        cmocka_unit_test(test_a_million_letters),
        cmocka_unit_test(test_lengths_around_a_block),
        cmocka_unit_test(test_both_ways_to_mix_agree),
    };

    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
