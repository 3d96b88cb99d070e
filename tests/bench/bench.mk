# bench.mk - measures; nothing here is a test

GPU_BENCH := $(H)/bench-gpu
GPU_BENCH_SOURCES := $(wildcard tests/bench/gpu/*.c)

$(GPU_BENCH): $(GPU_BENCH_SOURCES) $(wildcard tests/bench/gpu/*.h)
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O2 -Wall -Wextra $(CFLAGS) -o $@ $(GPU_BENCH_SOURCES) -ldl

# The cubins of BENCH_ARCH must have been made: `make bench-gpu ARCHS=sm_90`.
BENCH_ARCH ?= sm_90
BENCH      ?= *
bench-gpu: $(GPU_BENCH) $(MODULES:%=$(B)/hsaco/$(BENCH_ARCH)/%.cubin) ## time the kernels on an NVIDIA GPU (BENCH='GLOB')
	@$(GPU_BENCH) $(B)/hsaco/$(BENCH_ARCH) '$(BENCH)'

.PHONY: bench-gpu
