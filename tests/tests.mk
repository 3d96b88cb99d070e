# tests.mk - builds the tests and runs them
#
# A test is a program or a script that says how it went by its exit status and,
# if it has many cases, by a last line "N passed, M failed" or by TAP.
#
#   tests/unit/test_NAME.c     a program of cmocka; other files there are
#                              shared, and so is test_NAME.c with a test_NAME.h
#   tests/kernels/MODULE.c     kernels of a module on every device; the files
#                              named after no module are the harness
#   tests/sim/tests/test_*.c   the simulated GPU's own (sim.mk)
#   tests/sim/corpus/          the simulated GPU against the CPU (corpus.mk)
#   tests/asm/                 hand-written kernels, imported and run
#   tests/ways/                every way to launch and inspect, a pack of its own
#   tests/import/              makes code objects, bundles and trees of them
#   tests/fuzz/                fuzz targets, over their seeds (fuzz.mk)
#   tests/build/test_*.c       programs, of the build's tools
#   tests/{build,install}/*.sh scripts, of the build and of what it installs
#
# In a unit test `/* link: FLAGS */` on a line of its own adds linker flags.

KERNEL_TESTS_SRC := $(filter $(ALL_MODULES:%=tests/kernels/%.c),$(wildcard tests/kernels/*.c))
HARNESS := $(patsubst %.c,$(H)/obj/%.o,$(sort $(filter-out $(ALL_MODULES:%=tests/kernels/%.c),$(wildcard tests/kernels/*.c))))
KERNEL_TESTS := $(patsubst tests/kernels/%.c,$(H)/test/kernels/%,\
  $(filter $(MODULES:%=tests/kernels/%.c),$(sort $(KERNEL_TESTS_SRC))))

unit_helpers_with_header := $(patsubst %.h,%.c,$(wildcard tests/unit/test_*.h))
UNIT_SRC   := $(sort $(filter-out $(unit_helpers_with_header),$(wildcard tests/unit/test_*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(H)/test/unit/%,$(UNIT_SRC))
UNIT_HELPERS := $(patsubst %.c,$(H)/obj/%.o,$(filter-out $(UNIT_SRC) tests/unit/fake_hip.c,$(wildcard tests/unit/*.c)))
FAKES := $(if $(wildcard tests/unit/fake_hip.c),$(addprefix $(H)/test/unit/,fake_hip.so fake_hip_5.so fake_hip_broken.so))
BUILD_TESTS  := $(patsubst tests/build/%.c,$(H)/test/build/%,$(sort $(wildcard tests/build/test_*.c)))
SCRIPT_TESTS := $(sort $(wildcard tests/build/*.sh tests/install/*.sh))

TEST_CFLAGS = -Itests -Itests/unit -Itests/kernels -Itests/import -Igen
link_flags_of = $(shell sed -n 's,^/\* link: \(.*\) \*/$$,\1,p' $(1))
$(H)/obj/tests/%.o: OBJ_CFLAGS = $(TEST_CFLAGS)
$(HARNESS) $(KERNEL_TESTS_SRC:%.c=$(H)/obj/%.o) $(UNIT_SRC:%.c=$(H)/obj/%.o): $(PACK_HEADER)

# The library comes as its objects' archive, twice: helpers and it may need
# each other.
$(H)/test/unit/%: $(H)/obj/tests/unit/%.o $(UNIT_HELPERS) $(H)/libkpack.a $(FAKES)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -rdynamic -o $@ $(filter %.o %.a,$^) -lcmocka -ldl -lm -pthread $(PACK_CODEC_LIBS) \
	  $(call link_flags_of,tests/unit/$*.c)

fake_flags = -Wl,-soname,libamdhip64.so.6
fake_flags_5 = -DFAKE_HIP_5 -Wl,-soname,libamdhip64.so.5
fake_flags_broken = -DFAKE_HIP_BROKEN
.SECONDARY: $(FAKES)
$(H)/test/unit/fake_hip%so: tests/unit/fake_hip.c tests/unit/fake_hip.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(TEST_CFLAGS) -shared \
	  $(fake_flags$(subst .,,$*)) -o $@ $< -pthread

$(H)/test/kernels/%: $(H)/obj/tests/kernels/%.o $(HARNESS) $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

# What makes code objects, for the tests of what reads them.
MADE   := $(H)/obj/tests/import/code_object.o
MAKERS := $(addprefix $(H)/test/import/,make_tree make_bundle)
$(MAKERS): $(H)/test/import/%: $(H)/obj/tests/import/%.o $(MADE)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lz -lzstd

$(H)/test/build/%: $(H)/obj/tests/build/%.o $(MADE) $(filter-out %/kpack-gen.o,$(GEN_SOURCES:%.c=$(H)/obj/%.o))
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lcmocka $(GEN_LIBS)

# ---- running -----------------------------------------------------------------

# Tests use the machine's GPU where there is one, else the simulated ones.
GPU := $(wildcard /dev/kfd)
ON_GPU = $(if $(GPU),,LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=$(DEVICES))
# A make of its own, for packs beside the main one: this one's job server is of
# no use to a make that sets its own number of jobs or starts itself again.
pack_make = env -u MAKEFLAGS -u MAKELEVEL $(MAKE) --no-print-directory KPACK_GEN=$(B)/kpack-gen \
  $(foreach v,CC CFLAGS LDFLAGS SAN COV HIPCC ROCM_PATH HIPFLAGS,'$(v)=$($(v))')

include tests/ways/ways.mk
include tests/asm/asm.mk
include tests/fuzz/fuzz.mk
TEST_PROGRAMS := $(UNIT_TESTS) $(FUZZ_TESTS) $(WAYS_TEST) $(ASM_TEST) $(SIM_TESTS) $(CORPUS_TEST) $(PROGRAM_TESTS) $(BUILD_TESTS) $(KERNEL_TESTS)
RUN_TESTS = B='$(B)' H='$(H)' CC='$(CC)' MAKE='$(MAKE)' MODULES='$(MODULES)' SAN='$(SAN)' \
  tests/run

tests: all sim $(TEST_PROGRAMS) $(MAKERS) $(B)/kpack-report ## build every test
check: tests ## run every test; ends with one line: N passed, M failed
	+@$(ON_GPU) $(RUN_TESTS) $(TEST_PROGRAMS) $(SCRIPT_TESTS)
check-fast: all sim $(UNIT_TESTS) $(SIM_TESTS) $(BUILD_TESTS) $(filter %/vector_add,$(KERNEL_TESTS)) ## the tests that take seconds
	+@$(ON_GPU) $(RUN_TESTS) $(UNIT_TESTS) $(SIM_TESTS) $(BUILD_TESTS) $(filter %/vector_add,$(KERNEL_TESTS))

DEMO := $(H)/demo
$(DEMO): $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/demo/*.c)) $(H)/libkpack.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
$(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/demo/*.c)): $(PACK_HEADER)

demo: $(DEMO) $(if $(GPU),,sim) ## check vector_add and affine on the GPU, or on simulated DEVICES
	@$(ON_GPU) $(DEMO)

.PHONY: tests check check-fast demo
