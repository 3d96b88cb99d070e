/* philox_ref.c - Philox 4x32-10 as the paper has it: 'Parallel Random Numbers:
 * As Easy as 1, 2, 3', section 3.3 and table 2 */
#include "philox_ref.h"

static void multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    const uint64_t product = (uint64_t)a * b;

    *high = (uint32_t)(product >> 32);
    *low = (uint32_t)product;
}

void philox_ref(uint64_t seed, uint64_t low, uint64_t high, uint32_t words[4])
{
    uint32_t l0 = (uint32_t)low, r0 = (uint32_t)(low >> 32);
    uint32_t l1 = (uint32_t)high, r1 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint32_t high0, low0, high1, low1;

        multiply(0xD2511F53, l0, &high0, &low0);
        multiply(0xCD9E8D57, l1, &high1, &low1);
        l0 = high1 ^ r0 ^ k0;
        r0 = low1;
        l1 = high0 ^ r1 ^ k1;
        r1 = low0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    words[0] = l0;
    words[1] = r0;
    words[2] = l1;
    words[3] = r1;
}
