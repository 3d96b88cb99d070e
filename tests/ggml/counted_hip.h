/* counted_hip.h - launches that counted_hip.so saw */
#ifndef KPK_TESTS_COUNTED_HIP_H
#define KPK_TESTS_COUNTED_HIP_H

struct counted_hip {
    unsigned long launches; /* kernels: launched, or recorded */
    unsigned long replays;  /* recorded graphs */
};

const struct counted_hip *counted_hip(void);

#endif
