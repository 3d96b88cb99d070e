# matrix.mk - the wave-level product of kernels/include/matrix_unit.h by itself, and the choice of products' kernels
#
# A pack of one module, for a target of each row of matrix_unit.h's table and for those
# whose instructions differ within a row.

MATRIX_B    := $(B)/matrix
MATRIX_LIB  := $(MATRIX_B)$(if $(SAN),/san-$(subst $(KPACK_COMMA),-,$(SAN)))/libkpack.a
MATRIX_TEST := $(H)/test/matrix/unit
MATRIX_ARCHS := $(sort $(KPACK_AMD_ARCHS) gfx906 gfx908 gfx950 gfx1010 gfx1200)
MATRIX_DEVICES := $(subst $(KPACK_SPACE),$(KPACK_COMMA),$(strip $(foreach a,$(MATRIX_ARCHS),$(call KPACK_DEVICE_OF,$(a)))))

$(MATRIX_LIB): $(wildcard tests/matrix/*.hip kernels/include/matrix/*unit.h kernels/include/*.h) \
    $(LIB_OBJECTS) $(B)/kpack-gen $(B)/stamp/device
	@$(pack_make) PACK=matrix KERNELS=tests/matrix MODULES=unit \
	  HIPFLAGS='-Ikernels/include $(HIPFLAGS)' WAVES64_unit='gfx11% gfx120%' \
	  ARCHS='$(MATRIX_ARCHS)' B=$(MATRIX_B) lib

$(H)/obj/tests/matrix/%.o: OBJ_CFLAGS = $(TEST_CFLAGS)
$(MATRIX_TEST).bin: $(H)/obj/tests/matrix/unit.o $(HARNESS) $(MATRIX_LIB)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread

# Runs on the machine's GPUs; without a GPU, on a simulated one per target.
$(MATRIX_TEST): $(MATRIX_TEST).bin
	@printf '#!/bin/sh\n$(if $(GPU),,KPK_SIM_DEVICES=%s) exec %s "$$@"\n' $(if $(GPU),,$(MATRIX_DEVICES)) $< >$@; chmod +x $@

# The choice of a kernel of module gemm, where the pack has it.
PLAN_TEST := $(if $(filter gemm,$(MODULES)),$(H)/test/matrix/plan)
$(H)/obj/tests/matrix/plan.o: OBJ_CFLAGS = $(TEST_CFLAGS)
$(H)/obj/tests/matrix/plan.o: $(PACK_HEADER) $(PACK_LAUNCHERS)
$(H)/test/matrix/plan: $(H)/obj/tests/matrix/plan.o $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -Wl,--wrap=kpk_select -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
