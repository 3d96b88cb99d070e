# demo.mk - runs two kernels on the GPU, or on one simulated GPU of each target
#
# The demo links the runtime and the modules that it runs, so that no other
# kernel is compiled for it. It has a pack header of its own, since the whole
# pack's lists the kernels of every module.

DEMO := $(H)/demo
DEMO_MODULES := vector_add affine
DEMO_INCLUDE := $(B)/test/demo
DEMO_HEADER  := $(DEMO_INCLUDE)/kpack/candle.h
DEMO_SOURCES := $(wildcard tests/demo/*.c)
DEMO_OBJECTS := $(DEMO_SOURCES:%.c=$(H)/obj/%.o) $(LIB_OBJECTS) \
  $(filter $(DEMO_MODULES:%=$(B)/obj/pack/pack.%.%) $(B)/obj/pack/pack.kpk-%,$(PACK_OBJECTS))

demo_lacks := $(filter-out $(PACK),candle) $(filter-out $(MODULES),$(DEMO_MODULES)) $(if $(KPACK_AMD_ARCHS),,gfx)
ifeq ($(strip $(demo_lacks)),)
DEMO_TEST := $(DEMO)
else ifneq ($(filter demo,$(MAKECMDGOALS)),)
$(error make demo runs $(DEMO_MODULES) of PACK=candle on gfx targets; PACK, MODULES and ARCHS leave out: $(strip $(demo_lacks)))
endif

$(DEMO_HEADER): $(DEMO_MODULES:%=$(B)/gen/%.kernels) $(KPACK_GEN)
	@$(KPACK_GEN) header $(PACK) $@ $(filter %.kernels,$^)

$(DEMO_SOURCES:%.c=$(H)/obj/%.o): $(DEMO_HEADER)
$(DEMO_SOURCES:%.c=$(H)/obj/%.o): private KPK_CFLAGS := -I$(DEMO_INCLUDE) $(KPK_CFLAGS)
$(DEMO): $(DEMO_OBJECTS)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

demo: $(DEMO) $(if $(GPU),,sim) ## run two kernels on the GPU, or on simulated DEVICES, and check them
	@$(ON_GPU) $(DEMO)
.PHONY: demo
