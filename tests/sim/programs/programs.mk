# programs.mk - ordinary HIP programs, which run on the simulated GPU unchanged
#
# A program NAME is NAME.hip and NAME_*.hip, each compiled for every target, for
# the host with the bundle of all targets embedded, and linked with the system's
# libamdhip64 as hipcc would; LD_LIBRARY_PATH puts the simulated one under it.
# api.hip holds the kernels of tests/sim/tests/test_hip_*.c. They are launched
# with partial blocks, too, which clang's kernels do not allow by default.

PROGRAMS      := textures surfaces vectors streams units groups texts buffered atomics
# With a sanitizer, a static program would wait for ever for its runtime.
PROGRAM_TESTS := $(PROGRAMS:%=$(H)/test/program/%) $(if $(SAN),,$(H)/test/program/static)
API_ARCHS     := $(sort $(CORPUS_ARCHS) gfx11-generic)
API_HSACOS    := $(API_ARCHS:%=$(B)/program/%/api.hsaco)

PROGRAM_HEADERS := $(wildcard tests/sim/programs/*.h)
PROGRAM_CFLAGS = -x hip -std=c++17 -O2 -Wall -Wextra -Wno-unused-value -Wno-unused-parameter
PROGRAM_LIBS   = $(if $(DEVICE_LIBDIR),-L$(DEVICE_LIBDIR)) -lamdhip64 -lstdc++ -lm -pthread

# Flags of single programs, by $(*F).
program_flags = $(if $(filter fences%,$(*F)),-Ikernels/include) $(if $(filter api,$(*F)),-fno-offload-uniform-block) \
  $(if $(filter buffered,$(*F)),-mprintf-kind=buffered)
$(B)/program/%.hsaco: tests/sim/programs/$$(*F).hip $(PROGRAM_HEADERS) $(B)/stamp/device $$(call KPACK_CONSTANTS,$$(*D))
	@mkdir -p $(@D)
	@echo "  HIPCC program $*"
	@$(KPACK_DEVICE_CXX) $(PROGRAM_CFLAGS) --offload-device-only --no-gpu-bundle-output -cuid=$(*F) \
	  $(KPACK_DEVICE_FLAGS) --offload-arch=$(*D) -mcode-object-version=$(call KPACK_COV,$(*D)) \
	  $(program_flags) $(call KPACK_TARGET_FLAGS,$(*D)) -o $@ $<

# HIP's old headers need the wavefront's size in host compilations, too.
.PRECIOUS: $(B)/program/%.hsaco $(H)/program/%.o
$(H)/program/%.o: tests/sim/programs/%.hip $(PROGRAM_HEADERS) tests/sim/programs/bundle \
    $(CORPUS_ARCHS:%=$(B)/program/%/$$*.hsaco)
	@mkdir -p $(@D)
	@tests/sim/programs/bundle $(@:.o=.bundle) $(foreach a,$(CORPUS_ARCHS),$(a)=$(B)/program/$(a)/$*.hsaco)
	@$(KPACK_DEVICE_CXX) $(PROGRAM_CFLAGS) --offload-host-only $(KPACK_DEVICE_FLAGS) -cuid=$* \
	  -D__AMDGCN_WAVEFRONT_SIZE=64 -Xclang -fcuda-include-gpubinary -Xclang $(@:.o=.bundle) -c -o $@ $<

program_objects = $(addprefix $(H)/program/,$(addsuffix .o,$(basename $(notdir \
  $(wildcard tests/sim/programs/$(1).hip tests/sim/programs/$(1)_*.hip)))))
$(H)/program/%.bin: $$(call program_objects,$$*) $(SIM_LIB) $(SIM_LINKS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(KPACK_DEVICE_CXX) -o $@ $(filter %.o,$^) $(PROGRAM_LIBS)
.PRECIOUS: $(H)/program/%.bin
$(PROGRAMS:%=$(H)/test/program/%): $(H)/test/program/%: $(H)/program/%.bin
	@mkdir -p $(@D)
	@$(call runner,$<)

$(filter $(H)/test/sim/test_hip_%,$(SIM_TESTS)): | $(API_HSACOS) \
    $(B)/program/gfx942/streams.hsaco $(B)/program/gfx1100/textures.hsaco
$(H)/test/sim/test_hip_weak: | $(foreach a,gfx90a gfx942 gfx1030 gfx1100 gfx1201,\
    $(B)/program/$a/fences.hsaco $(B)/program/$a/fences_without.hsaco)

# A static program can load the library only by its path.
$(H)/test/program/static: tests/sim/programs/static.c $(SIM_LIB)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(CFLAGS) -w -static -DLIBRARY='"$(abspath $(SIM_LIB))"' -o $@ $<
