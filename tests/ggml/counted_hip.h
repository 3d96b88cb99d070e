/* counted_hip.h - numbers of launches, counted by counted_hip.so */
#ifndef KPK_TESTS_COUNTED_HIP_H
#define KPK_TESTS_COUNTED_HIP_H

struct counted_hip {
    unsigned long launches; /* kernels: launched, or recorded */
    unsigned long replays;  /* recorded graphs */
};

const struct counted_hip *counted_hip(void);

#endif
