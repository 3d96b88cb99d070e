# corpus.mk - builds the corpus at three levels for each target, and its runner

CORPUS_SOURCES := $(wildcard tests/sim/corpus/*)
CORPUS_ARCHS   := $(filter $(foreach r,$(target_rows),$(call field,1,$(r))),$(AMD_ARCHS))
CORPUS_HSACOS  := $(foreach a,$(CORPUS_ARCHS),$(foreach o,O0 O1 O3,$(B)/corpus/$(a)/$(o).hsaco))
CORPUS_TEST    := $(H)/test/sim/corpus
CORPUS_FLAGS    = -std=c++17 -Wall -Wextra -Wno-unused-parameter -ffp-contract=off

$(B)/corpus/%.hsaco: $(CORPUS_SOURCES) $(B)/stamp/device $$(call constants,$$(*D))
	@mkdir -p $(@D)
	@echo "  HIPCC corpus $*"
	@$(DEVICE_CXX) $(filter-out -O3,$(KPK_HIPFLAGS)) $(CORPUS_FLAGS) -$(*F) $(DEVICE_FLAGS) \
	  --offload-arch=$(*D) -mcode-object-version=$(call cov,$(*D)) \
	  $(call target_flags,$(*D)) -o $@ tests/sim/corpus/corpus.hip

# The reference is what this compiler makes of the same text for the CPU.
$(CORPUS_TEST).bin: $(CORPUS_SOURCES) $(SIM_LIB) $(SIM_LINKS) $(H)/stamp/sim
	@mkdir -p $(@D)
	@echo "  C++   $@"
	@$(DEVICE_CXX) $(CORPUS_FLAGS) -O1 -Xclang -ffloat16-excess-precision=none \
	  tests/sim/corpus/run.cc -o $@ -L$(H)/sim -lamdhip64 -lstdc++ -lm

$(CORPUS_TEST): $(CORPUS_TEST).bin $(CORPUS_HSACOS)
	@printf '#!/bin/sh\nexec %s %s "$$@"\n' $(CORPUS_TEST).bin $(B)/corpus >$@; chmod +x $@
