/* hip_fp8.h - HIP 5.2 has none: one sentence in place of what follows */
#error                                                                         \
    "HIP 5.2 has no hip_fp8.h: take f8 of kpack's <device.h>, or HIP 6 or later with ROCM_PATH="
