# corpus.mk - builds the corpus at several levels for each target, and its runner
#
# A level is an optimization level. With w64 appended, waves have 64 lanes, on
# targets that have the choice. corpus-all, which nothing else runs, takes every
# target and level.

CORPUS_SOURCES := $(wildcard tests/sim/corpus/*)
CORPUS_ARCHS   ?= $(filter $(foreach r,$(KPACK_ROWS),$(call KPACK_FIELD,1,$(r))),$(KPACK_AMD_ARCHS))
CORPUS_LEVELS  ?= O0 $(if $(FULL),O1) O3
CORPUS_TEST    := $(H)/test/sim/corpus
CORPUS_FLAGS    = -std=c++17 -Wall -Wextra -Wno-unused-parameter -ffp-contract=off

# Debian's HIP has no gfx10 with waves of 64.
corpus_levels   = $(CORPUS_LEVELS) $(if $(filter gfx11% gfx12%,$(1)),$(CORPUS_WIDE_LEVELS))
CORPUS_WIDE_LEVELS ?= O3w64
CORPUS_HSACOS  := $(foreach a,$(CORPUS_ARCHS),$(foreach o,$(call corpus_levels,$(a)),$(B)/corpus/$(a)/$(o).hsaco))
corpus_flags    = $(if $(filter %w64,$(2)),-mwavefrontsize64 $(subst =32,=64,\
  $(subst wavefrontsize64_off,wavefrontsize64_on,$(call KPACK_TARGET_FLAGS,$(1)))),$(call KPACK_TARGET_FLAGS,$(1)))

$(B)/corpus/%.hsaco: $(CORPUS_SOURCES) $(B)/stamp/device $$(call KPACK_CONSTANTS,$$(*D))
	@mkdir -p $(@D)
	@echo "  HIPCC corpus $*"
	@$(KPACK_DEVICE_CXX) $(filter-out -O3,$(KPACK_HIPFLAGS)) $(CORPUS_FLAGS) -$(subst w64,,$(*F)) $(KPACK_DEVICE_FLAGS) \
	  --offload-arch=$(*D) -mcode-object-version=$(call KPACK_COV,$(*D)) \
	  $(call corpus_flags,$(*D),$(*F)) -o $@ tests/sim/corpus/device_code.hip

# The reference is what this compiler makes of the same text for the CPU.
$(CORPUS_TEST).bin: $(CORPUS_SOURCES) $(SIM_LIB) $(SIM_LINKS) $(H)/stamp/sim
	@mkdir -p $(@D)
	@echo "  C++   $@"
	@$(KPACK_DEVICE_CXX) $(CORPUS_FLAGS) -O1 -Xclang -ffloat16-excess-precision=none \
	  -Xclang -fbfloat16-excess-precision=none \
	  tests/sim/corpus/run.cc -o $@ -L$(H)/sim -lamdhip64 -lmpfr -lstdc++ -lm

# The runner takes every level that is there, so none of before may stay.
$(CORPUS_TEST): $(CORPUS_TEST).bin $(CORPUS_HSACOS)
	@rm -f $(filter-out $(CORPUS_HSACOS),$(wildcard $(B)/corpus/*/*.hsaco))
	@$(call runner,$< $(B)/corpus)

corpus_every := gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1150 gfx1200 gfx1201
corpus-all: ## run the corpus on every processor at every optimization level: half an hour
	@$(MAKE) --no-print-directory $(CORPUS_TEST) CORPUS_ARCHS="$(corpus_every)" \
	  CORPUS_LEVELS="O0 O1 O2 O3 Os" CORPUS_WIDE_LEVELS="O0w64 O1w64 O3w64"
	@LD_LIBRARY_PATH=$(H)/sim KPK_SIM_DEVICES=$(subst $(KPACK_SPACE),$(KPACK_COMMA),$(corpus_every)) $(CORPUS_TEST)
.PHONY: corpus-all
