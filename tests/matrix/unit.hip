/*
 * unit.hip - matrix_unit.h's product by itself: one wave, D += A B over all of
 * K
 *
 * a, b   [16, npieces * 16 bytes] row-major: A, and B's columns
 * d      [16, 16] sums, row-major
 *
 * unit_T in the target's own waves, wide_T in waves of 64 where the test's
 * build makes such (matrix.mk), else the same.
 */
#include "matrix/target_unit.h"

template <typename T>
DEV void product(const u8 *a, const u8 *b, typename Unit<T>::Sum *d,
                 u32 npieces)
{
    typedef Unit<T> U;
    typename U::D sums;

    for (u32 i = 0; i < U::results; i++)
        sums.v[i] = d[U::row(i) * 16 + U::col(i)];
    for (u32 c0 = 0; c0 < npieces; c0 += U::pieces) {
        const auto fetch = [=](const u8 *from) {
            return [=](u32 row, u32 piece) {
                return load_pack<4>(reinterpret_cast<const u32 *>(
                    from + (row * npieces + c0 + piece) * 16));
            };
        };
        const typename U::A x(fetch(a));
        const typename U::B y(fetch(b));

        U::multiply(sums, x, y);
    }
    for (u32 i = 0; i < U::results; i++)
        d[U::row(i) * 16 + U::col(i)] = sums.v[i];
}

#define EXPORT(which, T)                                                       \
    KERNEL_UP_TO(64)                                                           \
    which##_##T(const u8 *a, const u8 *b, Unit<T>::Sum *d, u32 npieces)        \
    {                                                                          \
        product<T>(a, b, d, npieces);                                          \
    }
#define EXPORT_ALL(which)                                                      \
    EXPORT(which, i8)                                                          \
    EXPORT(which, f16)                                                         \
    EXPORT(which, bf16)                                                        \
    EXPORT(which, f32)                                                         \
    EXPORT(which, f64)
#if KPK_WAVES != 64
EXPORT_ALL(unit)
#endif
#if KPK_WAVES != 32
EXPORT_ALL(wide)
#endif
