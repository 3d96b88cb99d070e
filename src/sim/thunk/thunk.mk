# thunk.mk - builds the simulated thunk, under which AMD's own HIP runtime runs
#
# libhsakmt.so.1 is found by ROCr of HIP 5; HIP 7's loads the same library by
# the name libdtif.so when HSA_ENABLE_DTIF=1 asks it to.
#
# The tests through Debian's HIP 5.2.3 need code objects of version 4: a build
# of its own, below build/amd, of a sample of every module's kernels.

THUNK_SOURCES := $(sort $(wildcard src/sim/thunk/*.c)) \
  $(sort $(filter-out %/bundle_pick.c %/code_metadata.c %/loaded_object.c %/elf_view.c %/loader.c,$(wildcard src/sim/base/*.c)) \
         $(wildcard src/sim/isa/*.c src/sim/run/*.c))
THUNK_OBJECTS := $(THUNK_SOURCES:%.c=$(H)/obj/%.o)
THUNK_LIB     := $(H)/sim/thunk/libhsakmt.so.1
THUNK_DTIF    := $(H)/sim/thunk/libdtif.so

$(THUNK_LIB): $(THUNK_OBJECTS) src/sim/thunk/thunk.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -shared $(SAN_FLAGS) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libhsakmt.so.1 \
	  -Wl,--version-script=src/sim/thunk/thunk.map -o $@ $(THUNK_OBJECTS) \
	  $(shell $(LLVM_CONFIG) --ldflags --libs) -lm -ldl -pthread
$(THUNK_DTIF): $(THUNK_LIB)
	@ln -sf $(<F) $@

thunk: $(THUNK_LIB) $(THUNK_DTIF) ## build the thunk for AMD's own runtime: build/sim/thunk
.PHONY: thunk

THUNK_TEST := $(H)/test/sim/thunk
$(THUNK_TEST): $(H)/obj/tests/sim/thunk/test_thunk.o $(THUNK_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lcmocka \
	  $(shell $(LLVM_CONFIG) --ldflags --libs) -lm -ldl -pthread

# ---- tests through AMD's runtime ---------------------------------------------

THUNK_TESTS := tests/sim/thunk
AGREE       := $(H)/test/agree
$(AGREE): $(H)/obj/$(THUNK_TESTS)/agree.o
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $< -ldl -pthread
# It calls functions that it knows by name alone.
$(H)/obj/$(THUNK_TESTS)/agree.o: $(THUNK_TESTS)/agree.c
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O1 -Wall -Wextra -MMD -MP -c -o $@ $<

# Compares answers during captures with recorded ones of AMD's HIP 7.2.4. The
# program has no sanitizer, and cannot load a library that has.
CAPTURES_TEST := $(if $(SAN),,$(H)/test/sim/captures)
$(CAPTURES_TEST): $(THUNK_TESTS)/captures $(AGREE) $(SIM_LIB) $(B)/program/gfx942/api.hsaco
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s %s %s %s\n' $^ >$@
	@chmod +x $@
SIM_TESTS += $(CAPTURES_TEST)

# The tests that run through AMD's runtime, of a build in folder $(1).
hip_programs = $(1)/demo $(addprefix $(1)/test/unit/,test_on_device test_streams_on_device) $(MODULES:%=$(1)/test/kernels/%)
hip_env = THUNK='$(H)/sim/thunk' SIM='$(H)/sim' AGREE='$(AGREE)' CASES='$(MODULES)'

AMD := $(B)/amd
AMD_ARCHS_TESTED := gfx90a gfx1030
amd-build: ## build the sample of kernels for HIP 5.2.3, in code object version 4
	@$(THUNK_TESTS)/sample-folder kernels $(AMD)/kernels
	@$(MAKE) --no-print-directory B=$(AMD) COV=4 ARCHS='$(AMD_ARCHS_TESTED)' SAN= DEVICES= \
	  KERNELS=$(AMD)/kernels HIPCC=$(THUNK_TESTS)/sample-clang \
	  lib $(call hip_programs,$(AMD)) $(AMD_ARCHS_TESTED:%=$(AMD)/program/%/api.hsaco)
# HIP 5.2.3 has no uncached memory for groups of GPUs.
check-amd: amd-build thunk sim $(AGREE) ## run tests through Debian's own HIP 5.2.3 on simulated gfx90a and gfx1030
	@$(hip_env) CASES='$(filter-out comm,$(MODULES))' DEVICES=$(subst $(KPACK_SPACE),$(KPACK_COMMA),$(AMD_ARCHS_TESTED)) \
	  EXTRA='$(THUNK_TESTS)/hipcc.sh $(THUNK_TESTS)/rocminfo.sh' \
	  $(THUNK_TESTS)/check-hip $(AMD)

HIP_ROOT ?=
check-hip: thunk sim $(AGREE) $(call hip_programs,$(H)) $(API_HSACOS) ## run tests through the HIP runtime unpacked in HIP_ROOT=
	@test -n '$(HIP_ROOT)' || { echo "check-hip: give HIP_ROOT=, a folder with a HIP runtime's packages unpacked" >&2; exit 2; }
	@$(hip_env) PROGRAMS='$(B)/program' DEVICES=$(DEVICES) $(THUNK_TESTS)/check-hip $(H) '$(HIP_ROOT)'
.PHONY: amd-build check-amd check-hip
