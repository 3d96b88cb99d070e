# ways.mk - a pack of its own whose kernels are launched and inspected in every
# way that kpack has
#
# For the default targets and gfx950, which has 160 KiB of shared memory, and for
# NVIDIA's of ARCHS. The tests are C11 against cmocka, and link the HIP runtime,
# whose streams and events they hand to kpack; CUDA's driver they find as kpack
# does (host.c).

WAYS_B    := $(B)/ways
WAYS_LIB  := $(WAYS_B)$(if $(SAN),/san-$(subst $(KPACK_COMMA),-,$(SAN)))/libkpack.a
WAYS_TEST := $(H)/test/ways/test_ways
WAYS_AMD_ARCHS := $(sort $(KPACK_AMD_ARCHS) gfx950)
WAYS_ARCHS := $(WAYS_AMD_ARCHS) $(KPACK_NV_ARCHS)
WAYS_DEVICES := $(subst $(KPACK_SPACE),$(KPACK_COMMA),$(strip $(foreach a,$(WAYS_AMD_ARCHS),$(call KPACK_DEVICE_OF,$(a)))))

$(WAYS_LIB): $(wildcard tests/ways/kernels/*.hip tests/ways/kernels/*.h) $(LIB_OBJECTS) $(B)/kpack-gen $(B)/stamp/device
	@$(pack_make) PACK=ways KERNELS=tests/ways/kernels MODULES='counter ways' \
	  ARCHS='$(WAYS_ARCHS)' B=$(WAYS_B) lib

$(H)/obj/tests/ways/%.o: OBJ_CFLAGS = $(TEST_CFLAGS) -I$(WAYS_B)/include
WAYS_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/ways/*.c))
$(WAYS_OBJECTS): $(WAYS_LIB)
WAYS_LINK = $(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $(filter %.o %/libkpack.a,$^) \
  $(if $(GPU),$(DEVICE_LIBDIR:%=-L%),-L$(H)/sim) -lamdhip64 -lcmocka -lm -ldl -pthread
$(WAYS_TEST).bin: $(WAYS_OBJECTS) $(WAYS_LIB) $(SIM_LIB) $(SIM_LINKS)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(WAYS_LINK)

# Runs on the machine's GPUs; without a GPU, on a simulated one per target.
$(WAYS_TEST): $(WAYS_TEST).bin
	@printf '#!/bin/sh\n$(if $(GPU),,KPK_SIM_DEVICES=%s) exec %s "$$@"\n' $(if $(GPU),,$(WAYS_DEVICES)) $< >$@; chmod +x $@
