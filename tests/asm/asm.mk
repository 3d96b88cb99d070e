# asm.mk - hand-written kernels, laid out as inference stacks ship theirs, built,
# imported, and run on the processors that they are for

ASM_B    := $(B)/asm
ASM_TREE := $(ASM_B)/tree
ASM_LIB  := $(ASM_B)$(if $(SAN),/san-$(subst $(KPACK_COMMA),-,$(SAN)))/libkpack.a
ASM_TEST := $(H)/test/asm/test_asm
ASM_SOURCES := $(sort $(wildcard tests/asm/assemble tests/asm/*.inc tests/asm/*.awk tests/asm/hsa/*/*/*.csv))

$(ASM_TREE).stamp: $(ASM_SOURCES) $(B)/stamp/device
	@echo "  ASM   $(ASM_TREE)"
	@mkdir -p $(ASM_B)
	@tests/asm/assemble $(ASM_TREE) $(KPACK_DEVICE_CXX) $$($(LLVM_CONFIG) --bindir)/llvm-nm
	@touch $@

$(ASM_LIB): $(ASM_TREE).stamp $(LIB_OBJECTS) $(B)/kpack-gen
	@$(pack_make) PACK=hand IMPORT=$(ASM_TREE) B=$(ASM_B) lib

$(H)/obj/tests/asm/%.o: OBJ_CFLAGS = $(TEST_CFLAGS) -I$(ASM_B)/include
$(H)/obj/tests/asm/test_asm.o: $(ASM_LIB)
$(ASM_TEST).bin: $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/asm/*.c)) $(ASM_LIB)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lcmocka -lm -ldl -pthread

# The kernels are for two processors, both simulated.
$(ASM_TEST): $(ASM_TEST).bin $(SIM_LIB) $(SIM_LINKS)
	@printf '#!/bin/sh\nLD_LIBRARY_PATH=%s KPK_SIM_DEVICES=gfx942,gfx950 exec %s "$$@"\n' $(H)/sim $< >$@; chmod +x $@
