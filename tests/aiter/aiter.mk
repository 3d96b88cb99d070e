# aiter.mk - AMD's prebuilt kernels on the simulated GPU, against plain C
#
# make check takes the hand-written kernels of tests/asm instead, which are laid
# out alike, so that nothing has to be downloaded.

AITER ?=## AITER's wheel or a folder that has hsa/, for make check-aiter (default: pip downloads the wheel)
AITER_FLAGS ?=## arguments of the program of make check-aiter: -f FAMILY, -k GLOB, -n EVERY, -v
AITER_B := $(B)/aiter
AITER_SAMPLE := $(H)/test/aiter/sample
AITER_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/aiter/*.c))

$(AITER_SAMPLE).bin: $(AITER_OBJECTS) $(ASM_LIB)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -Wl,--defsym=aiter_pack=kpk_hand -o $@ $^ -lm -ldl -pthread

$(AITER_SAMPLE): $(AITER_SAMPLE).bin $(SIM_LIB) $(SIM_LINKS) $(SCAN_TOOL)
	@printf '#!/bin/sh\n%s %s &&\nLD_LIBRARY_PATH=%s exec %s "$$@"\n' $(SCAN_TOOL) $(ASM_TREE) $(H)/sim $< >$@; chmod +x $@

check-aiter: ## run AMD's prebuilt kernels of AITER on simulated GPUs, against plain C
check-aiter: sim $(SCAN_TOOL) $(AITER_OBJECTS) $(LIB_OBJECTS) $(B)/kpack-gen
	@tests/aiter/tree '$(AITER)' $(AITER_B)/tree
	@$(SCAN_TOOL) $(AITER_B)/tree
	@$(pack_make) PACK=aiter IMPORT=$(AITER_B)/tree B=$(AITER_B) lib
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -Wl,--defsym=aiter_pack=kpk_aiter -o $(AITER_B)/test_aiter \
	  $(AITER_OBJECTS) $(AITER_B)/libkpack.a -lm -ldl -pthread
	@LD_LIBRARY_PATH=$(H)/sim $(AITER_B)/test_aiter $(AITER_FLAGS)
.PHONY: check-aiter
