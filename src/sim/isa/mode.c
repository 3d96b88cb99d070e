/* mode.c - the MODE register, and the host's floating-point state for it */
#include "mode.h"

#include <fenv.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/*
 * The host's rounding and denormal treatment for one kind of operation. Host
 * and GPU agree by default; a kernel that changes MODE is rare, so the cost of
 * switching does not matter. Lanes compute with SSE, whose one register is
 * much cheaper to save than all of fenv.
 */
#if defined(__SSE2__)
unsigned sim_host_fp(void)
{
    return _mm_getcsr();
}

void sim_host_fp_restore(unsigned saved)
{
    _mm_setcsr(saved);
}

static void set_host_fp(uint32_t mode, unsigned round_shift,
                        unsigned denorm_shift)
{
    enum { FLUSH_SOURCES = 0x0040, FLUSH_RESULTS = 0x8000 };
    static const unsigned rounding[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP,
                                        _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
    unsigned denorm = mode >> denorm_shift & 3;
    unsigned csr = _mm_getcsr();

    csr &= ~(unsigned)(FLUSH_SOURCES | FLUSH_RESULTS | _MM_ROUND_MASK);
    csr |= rounding[mode >> round_shift & 3];
    csr |= denorm & 1 ? 0 : FLUSH_SOURCES;
    csr |= denorm & 2 ? 0 : FLUSH_RESULTS;
    _mm_setcsr(csr);
}
#else
unsigned sim_host_fp(void)
{
    return (unsigned)fegetround();
}

void sim_host_fp_restore(unsigned saved)
{
    fesetround((int)saved);
}

static void set_host_fp(uint32_t mode, unsigned round_shift,
                        unsigned denorm_shift)
{
    static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                   FE_TOWARDZERO};

    (void)denorm_shift;
    fesetround(rounding[mode >> round_shift & 3]);
}
#endif

void sim_mode_obey(struct wave *w, enum fp_rule rule)
{
    static const uint32_t keeps_denormals = 3 << MODE_DENORM32;

    if (rule == FP_FIXED)
        set_host_fp(keeps_denormals, MODE_ROUND32, MODE_DENORM32);
    else if (rule == FP_OF_64)
        set_host_fp(w->mode, MODE_ROUND64, MODE_DENORM64);
    else
        set_host_fp(w->mode, MODE_ROUND32, MODE_DENORM32);
    w->fp_now = (uint8_t)rule;
}

void sim_wave_set_mode(struct wave *w, uint32_t mode)
{
    enum { FP_BITS = 0xff, FP_DEFAULT = 0xf0 };

    w->mode = mode;
    w->fp_default = (mode & FP_BITS) == FP_DEFAULT;
    w->flushes16 = (mode >> MODE_DENORM64 & 3) != 3;
    w->gpr_idx = w->target->major == 9 && (mode & MODE_GPR_IDX_EN);
    w->vskip = w->target->major == 9 && (mode & MODE_VSKIP);
    sim_mode_obey(w, FP_OF_32);
}
