#!/bin/sh
# mutants.sh - kernels that have lost a wait fail on the simulated GPU
#
# Two kernels; with FULL=1 one of each kind. Refused settings come first.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT" || exit 1

B=${B:-build}
H=${H:-build}
if [ -z "${KPK_SIM_DEVICES-}" ]; then # a GPU of the machine's
    skip "no simulated GPUs here"
    finish
fi

if [ -z "${SAN-}" ]; then # else the command would have to load its sanitizer first
    for setting in x 2x 2, 2,registers,cachez; do
        check "KPK_SIM_WEAK=$setting is named" says "KPK_SIM_WEAK: '$setting' is not SEED" \
            env KPK_SIM_WEAK="$setting" "$H/kpack" devices
    done
fi

mutate() { # devices module kernel...
    devices=$1 module=$2
    shift 2
    for device in $(echo "$KPK_SIM_DEVICES" | tr ',' ' '); do
        code=$B/hsaco/$device/$module.hsaco
        case ",$devices," in *",$device,"* | ,all,) ;; *) continue ;; esac
        if ! [ -e "$H/test/kernels/$module" ] || ! [ -e "$code" ]; then continue; fi
        check "$module on $device" python3 tests/build/mutants.py --verbose \
            "$H/test/kernels/$module" "$code" "$device" "$@"
    done
}

mutate all vector_add vector_add
mutate gfx942,gfx1201 fused rmsnorm_add_f32
if [ -n "${FULL-}" ]; then
    mutate all affine affine_f32
    mutate all attention attention_f16_64 attention_join_f16
    mutate all conv max_pool2d_f16
    mutate all fused argmax_last_f32 softmax_masked_f32
    mutate all gemm gemm_nt_f16_m64 gemm_nt_f16_m8
    mutate all indexing gather_u32_f32
    mutate all mmvq_gguf mmvq_gguf_q4_0_f32_plain_cuda1
    mutate all moe moe_topk_f32 moe_gemm_gguf_q4_k
    mutate all quantized quantize_q8_1 mul_mat_q4_0 mul_mat_vec_q4_0_q8_1_cuda1
    mutate all random rand_normal_f16
    mutate all reduce rope_f16 softmax_f16
    mutate all sort asort_asc_u8
fi
[ $((checks_passed + checks_failed)) -gt 0 ] || skip "none of the kernels is built here"
finish
