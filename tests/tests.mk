# tests.mk - builds the tests and runs them
#
# A test is a program or a script. Its exit status says whether it passed. One
# with many cases prints cmocka's counts or a last line "N passed, M failed".
#
#   tests/unit/test_NAME.c     a program that uses cmocka; other files there
#                              are shared, and so is a test_NAME.c with a .h
#   tests/kernels/MODULE.c     kernels of a module on every device, with the
#                              files of tests/kernels/MODULE/; files named
#                              after no module are the harness
#   tests/sim/tests/test_*.c   the simulated GPU's own (sim.mk)
#   tests/sim/corpus/          the simulated GPU against the CPU (corpus.mk)
#   tests/asm/                 hand-written kernels, imported and run
#   tests/aiter/               AMD's, imported and run (aiter.mk), by hand
#   tests/candle/              candle's own tests (candle.mk), by hand
#   tests/demo/                the demo of `make demo` (demo.mk)
#   tests/model/               a language model on the pack (model.mk)
#   tests/matrix/              the wave-level product of matrix_unit.h
#   tests/random/              random numbers for dieharder, by hand
#   tests/attention/           an example over module attention, and its plans
#   tests/comm/                groups of several GPUs
#   tests/ways/                every way to launch and inspect, a pack of its own
#   tests/rust/                the crates by newer Rusts and as packages, by hand
#   tests/gpu/                 what `make check-gpu` runs beside these (gpu.mk)
#   tests/import/              makes code objects, bundles and trees of them
#   tests/fuzz/                fuzz targets, over their seeds (fuzz.mk)
#   tests/build/test_*.c       programs, of the build's tools
#   tests/{build,install}/*.sh scripts, of the build and of what it installs
#
# unit.mk builds the programs of tests/unit.

# ---- kernels ------------------------------------------------------------------

kernel_sources := $(wildcard tests/kernels/*.c)
of_a_module    := $(ALL_MODULES:%=tests/kernels/%.c)
HARNESS        := $(patsubst %.c,$(H)/obj/%.o,$(filter-out $(of_a_module),$(kernel_sources)))
KERNEL_TESTS   := $(patsubst tests/kernels/%.c,$(H)/test/kernels/%,\
  $(sort $(filter $(MODULES:%=tests/kernels/%.c),$(filter $(of_a_module),$(kernel_sources)))))

# The objects of a module's test. Module low_bit has kernels of module ggml.
kernel_test_folder = tests/kernels/$(if $(filter low_bit,$(1)),ggml,$(1))
kernel_test = $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/kernels/$(1).c $(kernel_test_folder)/*.c))
$(HARNESS) $(foreach m,$(ALL_MODULES),$(call kernel_test,$(m))): $(PACK_HEADER) $(KPACK_HOST_COPIES)

needs_test = $(if $(wildcard tests/kernels/$(1).c),,$(error no tests/kernels/$(1).c))
$(H)/test/kernels/%: $$(call needs_test,$$*) $$(call kernel_test,$$*) $(HARNESS) $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

# ---- the runtime and the build --------------------------------------------------

include tests/unit.mk

# Programs that make code objects, for the tests of code that reads them.
MADE   := $(patsubst %,$(H)/obj/tests/import/made_%.o,code_object cubin kpak)
MAKERS := $(addprefix $(H)/test/import/,make_tree make_bundle make_cubin make_kpak)
$(MAKERS): $(H)/test/import/%: $(H)/obj/tests/import/%.o $(MADE)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lz -lzstd

BUILD_TESTS  := $(patsubst tests/build/%.c,$(H)/test/build/%,$(sort $(wildcard tests/build/test_*.c)))
BUILD_TESTED := $(filter-out gen/kpack-gen.c,$(GEN_SOURCES)) \
  gen/report/report_occupancy.c $(addprefix src/cmd/,objfile.c pattern.c xmalloc.c)
$(H)/test/build/%: $(H)/obj/tests/build/%.o $(MADE) $(BUILD_TESTED:%.c=$(H)/obj/%.o)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lcmocka $(GEN_LIBS)

# ---- how tests run --------------------------------------------------------------

# A commit takes a sample of what only repeats; FULL=1 takes all of it. Programs
# and scripts find FULL in the environment, and some scripts run with it alone.
FULL ?=
FULL_SCRIPTS := tests/build/uniform.sh
SCRIPT_TESTS := $(sort $(wildcard tests/build/*.sh tests/install/*.sh)) tests/sim/thunk/amd.sh
SCRIPT_TESTS := $(filter-out $(if $(FULL),,$(FULL_SCRIPTS)),$(SCRIPT_TESTS))

# Tests use the machine's GPU if there is one, else the simulated ones.
GPU := $(wildcard /dev/kfd)
ON_GPU = $(if $(GPU),,$(call on_simulated,$(DEVICES)))
on_simulated = LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=$(1)

# Runs make with its own number of jobs, apart from this make's job server.
without_jobs = env -u MAKEFLAGS -u MAKELEVEL
# Each pack beside the main one is built by a separate make, with this build's
# generator and runtime objects.
pack_make = $(without_jobs) $(MAKE) --no-print-directory KPACK_GEN=$(B)/kpack-gen \
  LIB_OBJECTS='$(LIB_OBJECTS)' COMPRESS=none EMBED=xxd IMPORT= MODULES= \
  $(foreach v,CC CFLAGS LDFLAGS SAN COV HIPCC ROCM_PATH HIPFLAGS,'$(v)=$($(v))')
# Scripts start makes, too.
own_make = $(without_jobs) CC='$(CC)' MAKE='$(MAKE)'

# Older sanitizers fail with some random address layouts.
san_still = $(if $(SAN),$(shell setarch -R true 2>/dev/null && echo setarch -R))
# Memory of the simulated GPU is raced for as its kernels like: KPK_SIM_RACES=1
# judges those.
san_thread = $(if $(filter thread,$(SAN)),TSAN_OPTIONS='suppressions="$(CURDIR)/src/sim/tsan.supp"')

# $(call RUN_TESTS,VARIABLES) TEST... runs JOBS tests at a time.
JOBS ?= 2
RUN_TESTS = $(own_make) JOBS='$(JOBS)' $(1) B='$(B)' H='$(H)' MODULES='$(MODULES)' SAN='$(SAN)' \
  $(if $(FULL),FULL=1) $(san_thread) $(san_still) tests/run
# The longest come first, so that all end together.
LONGEST := %/conv %/amd.sh %/unary %/mmvq_gguf %/reduce %/test_model %/dist.sh %/packages.sh %/nvidia.sh %/attention %/own.sh \
  %/binary %/reproducible.sh %/compiler_launcher.sh %/incremental.sh %/faults.sh %/cast %/moe %/quantized
longest_first = $(foreach t,$(LONGEST),$(filter $(t),$(1))) $(filter-out $(LONGEST),$(1))

# ---- the tests ------------------------------------------------------------------

include tests/ways/ways.mk
include tests/matrix/matrix.mk
include tests/random/random.mk
include tests/attention/attention.mk
include tests/comm/comm.mk
include tests/asm/asm.mk
include tests/aiter/aiter.mk
include tests/candle/candle.mk
include src/model/model.mk
include tests/fuzz/fuzz.mk
include tests/demo/demo.mk
include tests/gpu/gpu.mk

# The whole pack on simulated GPUs: do contiguous kernels waste memory traffic?
MEMORY_TEST := $(if $(GPU)$(filter-out $(MODULES),$(ALL_MODULES)),,$(H)/bench-memory)
PACK_TESTS  := $(KERNEL_TESTS) $(MEMORY_TEST) $(DEMO_TEST) $(PLAN_TEST) $(MHA_TEST) $(COMM_TEST) $(MODEL_TESTS)
OTHER_PACKS := $(WAYS_TEST) $(MATRIX_TEST) $(ASM_TEST) $(AITER_SAMPLE)
TEST_PROGRAMS := $(PACK_TESTS) $(OTHER_PACKS) $(UNIT_TESTS) $(BUILD_TESTS) $(FUZZ_TESTS) \
  $(SIM_TESTS) $(THUNK_TEST) $(CORPUS_TEST) $(PROGRAM_TESTS)
# Programs that scripts run.
TEST_TOOLS := $(MAKERS) $(STAND_IN) $(B)/kpack-report $(B)/kpack-compress $(if $(SAN),$(H)/obj/gen/kpack-gen.o)

FAST_SCRIPTS := $(addprefix tests/build/,headers_alone.sh lint.sh header.sh)
# With AFTER_FAST=1 `check` leaves out what `check-fast` has run in this tree.
AFTER_FAST ?=
run_before := $(if $(AFTER_FAST),$(FAST_SCRIPTS) $(SIM_TESTS) $(BUILD_TESTS))

tests: all sim $(TEST_PROGRAMS) $(TEST_TOOLS) ## build every test
sanitizers = $(if $(SAN),,address,undefined thread)
og_cflags  = $(call KPACK_QUOTE,$(CFLAGS) -Og)
check: tests ## run every test; the last line says: N passed, M failed
	@$(foreach s,$(sanitizers),$(MAKE) --no-print-directory check-unit SAN=$(s) CFLAGS=$(og_cflags) && ) true
	@$(call RUN_TESTS,$(ON_GPU)) $(call longest_first,$(filter-out $(run_before),$(TEST_PROGRAMS) $(SCRIPT_TESTS)))
unit-tests: $(UNIT_TESTS)
kernel-tests: $(KERNEL_TESTS)

# Under a sanitizer one of these tests takes the unsanitized simulated GPU: the
# other takes longer to build than all the rest. The generator has one thread.
functions_tests = $(UNIT_TESTS) $(if $(filter thread,$(SAN)),,$(BUILD_TESTS))
check-unit: ## run the tests of the runtime's and the generator's functions, with SAN= too
check-unit: lib $(if $(SAN),unsanitized-sim,sim) $(functions_tests)
	@$(call RUN_TESTS,$(subst $(H)/sim,$(B)/sim,$(ON_GPU))) $(functions_tests)
unsanitized-sim:
	@$(MAKE) --no-print-directory SAN= sim

# Builds one code object of the main pack, so that it answers within three
# minutes in a new tree. Tests that need a pack take one of two modules for one
# target, in a folder of its own.
FAST_MODULES := vector_add affine
FAST_ARCH    := gfx942
FAST_OBJECT  := $(B)/hsaco/$(FAST_ARCH)/vector_add.hsaco
FAST_TESTS    = $(patsubst $(B)/%,$(B)/fast/%,$(UNIT_TESTS) $(FAST_MODULES:%=$(H)/test/kernels/%))
check-fast: ## answer within three minutes in a new tree: lint-fast, unit tests, two modules on one target
check-fast: sim $(B)/kpack-gen $(LIB_OBJECTS) $(FAST_OBJECT) $(SIM_TESTS) $(BUILD_TESTS)
	@$(pack_make) MODULES='$(FAST_MODULES)' ARCHS=$(FAST_ARCH) B=$(B)/fast unit-tests kernel-tests
	@$(call RUN_TESTS,$(call on_simulated,$(FAST_ARCH))) $(FAST_SCRIPTS) $(FAST_TESTS) $(SIM_TESTS) $(BUILD_TESTS)

# ---- what a release needs and a commit does not ---------------------------------

check-all: ## run all that a release needs, for hours: check FULL=1, and the goals of what check samples
	@$(MAKE) --no-print-directory check FULL=1
	@$(MAKE) --no-print-directory check-wide
	@$(MAKE) --no-print-directory check-races
	@$(MAKE) --no-print-directory check-weak
	@$(MAKE) --no-print-directory check-litmus
	@$(MAKE) --no-print-directory corpus-all
	@$(MAKE) --no-print-directory check-aiter
	@$(MAKE) --no-print-directory check-candle
	@$(MAKE) --no-print-directory check-ggml
	@$(MAKE) --no-print-directory check-ggml-model
	@$(MAKE) --no-print-directory check-rust check-crates
	@$(MAKE) --no-print-directory model-data
	@$(MAKE) --no-print-directory check-model check-candle-llama

check-wide check-races check-weak: FULL := 1
check-races: sim $(KERNEL_TESTS) ## run the kernels' tests on simulated GPUs that look for races and for memory that nothing wrote
	@$(call RUN_TESTS,$(call on_simulated,$(DEVICES)) KPK_SIM_RACES=1 KPK_SIM_UNINIT=1) $(call longest_first,$(KERNEL_TESTS))

WEAK_SEED ?= 2## the seed of make check-weak; 0: everything as late as may be
weak_tests = $(KERNEL_TESTS) $(CORPUS_TEST) $(PROGRAM_TESTS)
check-weak: ## run kernels, the corpus, programs and rocRAND on simulated GPUs as weak as cards, then kernels without a wait
check-weak: sim $(weak_tests)
	@$(call RUN_TESTS,$(call on_simulated,$(DEVICES)) KPK_SIM_WEAK=$(WEAK_SEED)$(KPACK_COMMA)registers$(KPACK_COMMA)lds) \
	  $(call longest_first,$(weak_tests)) tests/build/mutants.sh tests/sim/rocrand/rocrand.sh

check-litmus: $(H)/test/sim/test_litmus ## look for forbidden outcomes of the memory model's litmus tests in 10,000 seeds
	@KPK_LITMUS_SEEDS=10000 $<

# In full what tests/build/wide.sh takes a sample of.
WIDE_TESTS = $(KERNEL_TESTS:$(B)/%=$(B)/wide/%)
check-wide: ## test the kernels on a simulated GPU of each family, through the code objects of ARCHS=wide
check-wide: sim $(B)/kpack-gen $(LIB_OBJECTS)
	@$(pack_make) PACK=$(PACK) MODULES='$(MODULES)' ARCHS=wide-amd B=$(B)/wide kernel-tests
	@$(call RUN_TESTS,$(call on_simulated,$(WIDE_DEVICES))) $(call longest_first,$(WIDE_TESTS))

# Both want a rustup's toolchains, and check-crates the registry.
check-rust: lib sim ## run the tests of src/rust under Miri and AddressSanitizer, by a nightly Rust
	@tests/rust/check $(B)
check-crates: lib sim crates ## package the crates, and build and run programs on the packages
	@$(own_make) tests/rust/crates $(B)

.PHONY: tests check check-unit unsanitized-sim check-fast unit-tests kernel-tests check-all check-races check-weak
.PHONY: check-litmus check-wide check-rust check-crates
