# gpu.mk - `make check-gpu`: the tests on an NVIDIA GPU, through the real library
#
#   make check-gpu ARCHS="gfx942 sm_90 compute_80"
#
# The programs of tests/kernels, tests/ways and the demo, and metadata.c, run
# twice: with the pack as it is, and with its PTX alone, which the driver
# compiles. test_streams_on_device, test_comm and test_model run once. With
# targets of AMD's in ARCHS, those of tests/ways run on a simulated GPU of each
# and on NVIDIA's in one process. beside.py shares the card with PyTorch, if
# PEER_PYTHON has it.
# KPK_CUDA_LIBRARY may name a driver: tests/build/check_gpu.sh gives it
# stand_in.c, which runs nothing.

ifneq ($(filter check-gpu,$(MAKECMDGOALS)),)
ifeq ($(KPACK_NV_ARCHS),)
$(error make check-gpu: ARCHS='$(ARCHS)' has nothing for NVIDIA; give ARCHS='gfx942 sm_90 compute_80')
endif
endif

GPU_PTX := $(filter compute_%,$(KPACK_NV_ARCHS))
$(H)/obj/tests/gpu/%.o: OBJ_CFLAGS = $(TEST_CFLAGS)
$(H)/obj/tests/gpu/metadata.o: $(PACK_HEADER)

STAND_IN := $(H)/test/gpu/stand_in.so
$(STAND_IN): tests/gpu/stand_in.c tests/unit/fake_cuda.c tests/unit/fake_cuda.h src/hip_api.h src/cuda_api.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(TEST_CFLAGS) -shared -o $@ $<

# $(call GPU_LINK,PROGRAM,OBJECTS,LIBRARY): the program, and the same with PTX.
define GPU_LINK
$(1): $(2) $(3)
	@echo "  LD    $$@"
	@mkdir -p $$(@D)
	@$$(CC) $$(LDFLAGS) $$(SAN_FLAGS) -o $$@ $$^ -ldl -lm -pthread $$(PACK_CODEC_LIBS)
endef
GPU_KEEP = @mkdir -p $(@D); $(H)/kpack prune $< --keep $(subst $(KPACK_SPACE),$(KPACK_COMMA),$(strip $(1))) -o $@

GPU_TESTS := $(KERNEL_TESTS) $(H)/test/gpu/metadata $(H)/test/unit/test_streams_on_device $(DEMO_TEST) $(WAYS_TEST) \
  $(COMM_TEST) $(filter %/test_model,$(MODEL_TESTS))
$(eval $(call GPU_LINK,$(H)/test/gpu/metadata,$(H)/obj/tests/gpu/metadata.o,$(H)/libkpack.a))

$(H)/ptx/libkpack.a: $(H)/libkpack.a $(H)/kpack
	$(call GPU_KEEP,$(GPU_PTX))
$(H)/ptx/ways/libkpack.a: $(WAYS_LIB) $(H)/kpack
	$(call GPU_KEEP,$(GPU_PTX) $(WAYS_AMD_ARCHS))
PTX_TESTS := $(KERNEL_TESTS:$(H)/test/kernels/%=$(H)/test/ptx/%) $(addprefix $(H)/test/ptx/,metadata $(if $(DEMO_TEST),demo) ways)
$(foreach t,$(KERNEL_TESTS:$(H)/test/kernels/%=%),\
  $(eval $(call GPU_LINK,$(H)/test/ptx/$(t),$(call kernel_test,$(t)) $(HARNESS),$(H)/ptx/libkpack.a)))
$(eval $(call GPU_LINK,$(H)/test/ptx/metadata,$(H)/obj/tests/gpu/metadata.o,$(H)/ptx/libkpack.a))
$(eval $(call GPU_LINK,$(H)/test/ptx/demo,$(DEMO_SOURCES:%.c=$(H)/obj/%.o),$(H)/ptx/libkpack.a))
$(H)/test/ptx/ways: $(WAYS_OBJECTS) $(H)/ptx/ways/libkpack.a $(SIM_LIB) $(SIM_LINKS)
	@mkdir -p $(@D)
	@$(WAYS_LINK)

# A plug-in with the pack, in one process with PyTorch: loaded after it or before.
BESIDE := $(if $(and $(PEER_PYTHON),$(filter affine,$(MODULES))),$(addprefix $(H)/test/gpu/beside-,torch-first kpack-first))
$(H)/test/gpu/beside.so: tests/gpu/beside.c $(H)/libkpack.a
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -shared -o $@ $^ -ldl -pthread $(PACK_CODEC_LIBS)
$(BESIDE): $(H)/test/gpu/beside-%-first: tests/gpu/beside.py $(H)/test/gpu/beside.so
	@printf '#!/bin/sh\nexec %s $< $(H)/test/gpu/beside.so $*\n' '$(PEER_PYTHON)' >$@; chmod +x $@

# HIP is the simulated one, and of the programs that link it alone.
check-gpu: ## test the kernels on an NVIDIA GPU (ARCHS with sm_NN or compute_NN)
check-gpu: $(GPU_TESTS) $(BESIDE) $(if $(GPU_PTX),$(PTX_TESTS)) sim
	@$(call RUN_TESTS,LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_HIP_LIBRARY=/nowhere JOBS=1) \
	  $(GPU_TESTS) $(BESIDE) $(if $(GPU_PTX),$(PTX_TESTS))
.PHONY: check-gpu
