# sim.mk - builds the simulated GPU, a libamdhip64.so that runs on the CPU
#
# Sources are found by folder: base/ isa/ run/ hip/ make the library. Each
# tests/sim/tests/test_*.c is a test program and links the same objects;
# tests/sim/tests/*.c beside them are shared helpers.

LLVM_CONFIG ?= $(firstword $(foreach v,22 21 20 19,$(shell command -v llvm-config-$(v))) llvm-config)

SIM_SOURCES := $(sort $(wildcard $(patsubst %,src/sim/%/*.c,base isa run hip)))
# One reader of bundles serves build and simulator.
SIM_OBJECTS := $(SIM_SOURCES:%.c=$(H)/obj/%.o) $(H)/obj/src/base/bundle.o
SIM_TESTS   := $(patsubst tests/sim/tests/%.c,$(H)/test/sim/%,$(sort $(wildcard tests/sim/tests/test_*.c)))
SIM_HELPERS := $(patsubst %.c,$(H)/obj/%.o,$(filter-out tests/sim/tests/test_%,$(wildcard tests/sim/tests/*.c)))
SIM_LIB     := $(H)/sim/libamdhip64.so.7
SIM_LINKS   := $(addprefix $(H)/sim/libamdhip64.,so so.5 so.6 so.8) $(addprefix $(H)/sim/libhiprtc.,so so.6 so.7 so.8)
SIM_MAP     := $(H)/sim/hip.map

# Interpreted floating-point must round where the GPU rounds: no contraction.
# -O3 because the loops over lanes have to become vector code.
# AVX2 also on hosts with AVX-512, which valgrind does not know. SIM_MARCH=native
# is a fifth faster on such hosts.
SIM_MARCH ?= $(if $(shell grep -m1 -w avx2 /proc/cpuinfo 2>/dev/null),x86-64-v3,native)
SIM_CFLAGS = -std=gnu11 -O3 -march=$(SIM_MARCH) -ffp-contract=off -fno-math-errno \
  -fno-trapping-math -fno-strict-aliasing \
  -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Wshadow -Iinclude -Isrc
# Asked once, when a file is to be compiled.
SIM_LLVM = $(eval SIM_LLVM := $$(shell $(LLVM_CONFIG) --includedir 2>/dev/null))$(SIM_LLVM)
SIM_LLVM_CFLAGS = -isystem $(SIM_LLVM)
SIM_LLVM_CHECK = $(if $(SIM_LLVM),,@echo "kpack: $(LLVM_CONFIG) is no program: \
  run 'make deps sim' (Debian), or install LLVM 19 or later, or give LLVM_CONFIG=." >&2; exit 1)
SIM_LIBS = $(shell $(LLVM_CONFIG) --ldflags --libs) -lmsgpackc -lzstd -lz \
  -lm -ldl -pthread

# Programs built by the device compiler have no sanitizer. To load a sanitized
# simulator they must have loaded the sanitizer's runtime first.
san_word     = $(if $(findstring $(1),$(SAN)),$(shell $(CC) -print-file-name=lib$(2).so))
SAN_PRELOAD := $(strip $(call san_word,address,asan) $(call san_word,thread,tsan))
# $(call runner,PROGRAM) is a script that runs it.
runner = printf '\#!/bin/sh\n%sexec %s "$$@"\n' '$(SAN_PRELOAD:%=LD_PRELOAD=% )' '$(1)' >$@; chmod +x $@

# Files that work only on the registers of a wave. One thread at a time runs a
# wave; other files hand waves over, decode and reach memory. ThreadSanitizer
# does not watch these files, so that kernels run in 2/5 to 1/20 of the time.
SIM_OF_A_WAVE := run/wave_init $(addprefix isa/,convert8 convert_scale dot dpp dslane fp lane matrix_unit mfma minifloat \
  operand sdwa sop1 sop2 sopc sopk transcendental vop1 vop2 vop3 vop3p vopc wmma)
# $(call sim_san,FILE)
sim_san = $(if $(and $(filter thread,$(SAN)),$(filter $(SIM_OF_A_WAVE),$(1))),,$(SAN_FLAGS))

$(eval $(call KPACK_STAMP,$(H)/stamp/sim,$(CC) $(SIM_CFLAGS) $(SAN_FLAGS) $(LLVM_CONFIG) $(if $(SAN),$(SIM_OF_A_WAVE))))

.PRECIOUS: $(H)/obj/src/sim/%.o $(H)/obj/tests/sim/%.o
define sim_object
$(SIM_LLVM_CHECK)
@mkdir -p $(@D)
@echo "  CC    $<"
@$(CC) $(SIM_CFLAGS) $(SIM_LLVM_CFLAGS) $(call sim_san,$*) -MMD -MP -c -o $@ $<
endef
$(H)/obj/src/sim/%.o: src/sim/%.c $(H)/stamp/sim
	$(sim_object)
$(H)/obj/tests/sim/%.o: tests/sim/%.c $(H)/stamp/sim
	$(sim_object)

# Symbol versions: each is named after the release that added a function, and has
# the one before it as its parent. Rows of a release stand together.
versioned_rows := s/^[A-Z]*(\([a-z]*\)_\([0-9]*\)_\([0-9]*\), \(\w*\),.*/\1_\2.\3 \4/p
other_rows     := s/^[A-Z]*(\(hip_profiler_ext\|kpk_sim\), \(\w*\),.*/\1 \2/p
$(SIM_MAP): src/sim/hip/functions.def
	@mkdir -p $(@D)
	@sed -n '$(versioned_rows); $(other_rows)' $< | \
	  awk '$$1 != node { if (node) print "}" parent ";"; if (node) parent = " " node; \
	         node = $$1; print node " {\nglobal:" } \
	       { print "    " $$2 ";" } \
	       END { print "local:\n    *;\n}" parent ";" }' >$@

$(SIM_LIB): $(SIM_OBJECTS) $(SIM_MAP)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -shared $(SAN_FLAGS) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libamdhip64.so.7 \
	  $(SIM_MAP:%=-Wl,--version-script=%) -o $@ $(SIM_OBJECTS) $(SIM_LIBS)

$(SIM_LINKS): $(SIM_LIB)
	@ln -sf $(<F) $@

# The simulator's devices, unless KPK_SIM_DEVICES is set: those that the last
# build's pack has code for.
$(eval $(call KPACK_STAMP,$(H)/sim/devices,$(BUILT_DEVICES)))
all lib: $(if $(wildcard $(SIM_LIB)),$(H)/sim/devices)

sim: $(SIM_LIB) $(SIM_LINKS) $(H)/sim/devices ## build the simulated GPU: build/sim/libamdhip64.so.7
.PHONY: sim

$(H)/test/sim/%: $(H)/obj/tests/sim/tests/%.o $(SIM_HELPERS) $(SIM_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -rdynamic -o $@ $^ -lcmocka $(SIM_LIBS)

# The runtime's own declarations against those of the installed HIP.
ABI_TEST := $(H)/test/sim/test_hip_abi
$(H)/obj/tests/sim/abi/hip_facts.o: tests/sim/abi/hip_facts.c $(B)/stamp/device
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(KPACK_DEVICE_CXX) -x c -std=gnu11 $(filter-out --rocm-path=/usr,$(KPACK_DEVICE_FLAGS)) -MMD -MP -c -o $@ $<

$(ABI_TEST): $(H)/obj/tests/sim/abi/test_hip_abi.o $(H)/obj/tests/sim/abi/hip_facts.o
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lcmocka
SIM_TESTS += $(ABI_TEST)
