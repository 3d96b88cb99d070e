/* hip_bf16.h - HIP 5.2 has none: one sentence in place of what follows */
#error                                                                         \
    "HIP 5.2 has no hip_bf16.h: take bf16 of kpack's <device.h>, or HIP 6 or later with ROCM_PATH="
