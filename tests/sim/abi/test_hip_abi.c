/* test_hip_abi.c - the simulated runtime's declarations are HIP's */
#include "facts.h"
#include "sim/hip/abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

extern const struct fact hip_facts[];
static FACTS(own_facts);

static void test_declarations_agree(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; own_facts[i].what; i++) {
        assert_string_equal(own_facts[i].what, hip_facts[i].what);
        if (own_facts[i].number != hip_facts[i].number)
            fail_msg("%s is %llu here, %llu in HIP's headers",
                     own_facts[i].what, own_facts[i].number,
                     hip_facts[i].number);
    }
    assert_null(hip_facts[i].what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
