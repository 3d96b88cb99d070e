# lint.mk - reads every source with the tools of `make deps`
#
# Only what changed is read again: a file that passed has a mark below
# build/lint, which depends on the headers that the file includes. clang-tidy
# reads headers that `make tests` makes, so that comes first.

LINT := $(B)/lint
LINT_C := $(sort $(shell find src gen tests -name '*.c'))
LINT_FORMAT := $(LINT_C) $(sort $(shell find src gen include tests kernels -name '*.h' -o -name '*.hip'))
# Scripts are *.sh and files without an extension that begin with #!/bin/sh.
LINT_SH := $(sort $(shell find .ci gen src tests -name '*.sh' -o -type f ! -name '*.*' -exec grep -l -m1 '^\#!/bin/sh' {} +))
# Examples and a benchmark include what their own builds make, src/ggml and its
# tests a llama.cpp's headers; constants.c is for GPUs, *_windows.c for Windows.
LINT_TIDY := $(filter-out src/ggml/% tests/ggml/fused.c tests/ggml/graphs.c \
  tests/install/own_make/app.c tests/install/own_cmake_package/% tests/bench/launch/card.c \
  gen/make/constants.c %_windows.c,$(LINT_C))

# Generated headers that sources include.
LINT_MADE = $(PACK_HEADER) $(B)/include/kpack/$(PACK)/attention_plan.h \
  $(WAYS_B)/include/kpack/ways.h $(ASM_B)/include/kpack/hand.h

CLANG_FORMAT ?= clang-format
CLANG_TIDY   ?= clang-tidy
# Checks that tests, the simulator and the model need not pass: they use cmocka's
# types and HIP's names, turn addresses into pointers, order the members of
# tables for the reader, and compute small sizes.
TIDY_TESTS := -bugprone-reserved-identifier,-cert-dcl37-c,-cert-dcl51-cpp,$\
  -performance-no-int-to-ptr,-clang-analyzer-optin.performance.Padding,$\
  -bugprone-implicit-widening-of-multiplication-result
# Nodes of a function that clang's analyzer follows before it gives up; the
# default of 225000 takes longer and may find more.
LINT_NODES ?= 50000
# Debian 12's clang-tidy 14 knows _Float16 with that instruction set alone, and
# has no __builtin_roundeven.
lint_flags = -std=gnu11 -D_DEFAULT_SOURCE= -Iinclude -Isrc -Igen -I$(B)/include -I$(WAYS_B)/include -I$(ASM_B)/include \
  -Itests -Itests/unit -Itests/kernels -Itests/import $(SIM_LLVM_CFLAGS) \
  -mavx512fp16 -D__builtin_roundeven=rint -D__builtin_roundevenf=rintf
$(LINT)/tests/sim/programs/static.c.tidy: lint_flags += -DLIBRARY='""'

# To start it takes longer than to read a file, so one reads all that changed, or
# all if the style did.
format_changed = $(filter-out .clang-format,$(if $(filter .clang-format,$?),$^,$?))
$(LINT)/format: $(LINT_FORMAT) .clang-format
	@mkdir -p $(@D)
	@$(CLANG_FORMAT) --dry-run --Werror --style=file $(format_changed)
	@touch $@

lint-made:
	@for f in $(LINT_MADE); do [ -e $$f ] || { echo "make lint: no $$f: run 'make tests' first" >&2; exit 1; }; done

# The mark depends on the headers of its source; of src/ggml some are missing.
note_headers = @$(CC) $(lint_flags) -MM -MP $(if $(filter src/ggml/% tests/ggml/%,$<),-MG) -MT $@ -MF $@.d $<

$(LINT)/%.tidy: % .clang-tidy | lint-made
	@mkdir -p $(@D)
	@$(CLANG_TIDY) --quiet --warnings-as-errors='*' $(if $(filter tests/% src/sim/% src/model/%,$*),--checks=$(TIDY_TESTS)) $< \
	  -- $(lint_flags) -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES) 2>$@.err || { cat $@.err; exit 1; }
	$(note_headers)
	@touch $@

# Reasons for each suppression:
#   variableScope        our style declares variables at the top of a block
#   unusedStructMember, sizeofwithnumericparameter
#                        cppcheck sees one file or macro and misses the uses
#   *uninitvar, unreadVariable
#                        clang-tidy checks these, and follows pointers
#   shadow*              gcc's -Wshadow knows what really shadows
#   shiftTooManyBitsSigned
#                        signed shifts are arithmetic in all our compilers
#   duplicateValueTernary
#                        two constants may happen to be equal
#   constParameter       HIP's and CUDA's functions have their signatures
CPPCHECK_SUPPRESS := missingIncludeSystem variableScope unusedStructMember \
  sizeofwithnumericparameter legacyUninitvar uninitvar ctuuninitvar unreadVariable \
  shadowVariable shadowFunction duplicateValueTernary \
  shiftTooManyBitsSigned constParameter:src/sim/hip/* constParameter:tests/gpu/stand_in.c constParameter:tests/unit/fake_*.c

$(LINT)/%.cppcheck: %
	@mkdir -p $(@D)
	@cppcheck --std=c11 --enable=warning,style,performance,portability --inline-suppr \
	  $(CPPCHECK_SUPPRESS:%=--suppress=%) --error-exitcode=1 -q -Iinclude -Isrc -Igen $<
	$(note_headers)
	@touch $@

# SC2317: functions that checks.sh calls by name look unreachable.
$(LINT)/%.shell: % tests/checks.sh
	@mkdir -p $(@D)
	@shellcheck -x -e SC2317 $< && touch $@

lint-format: $(LINT)/format
lint-tidy: $(LINT_TIDY:%=$(LINT)/%.tidy)
lint-cppcheck: $(LINT_C:%=$(LINT)/%.cppcheck)
lint-shell: $(LINT_SH:%=$(LINT)/%.shell)
lint-settings:
	@python3 -B tests/build/settings.py
lint-sentences:
	@python3 -B tests/build/sentences.py
lint-rooms:
	@python3 -B tests/build/rooms.py
lint-fast: ## check format, shell scripts, the pages' settings, sentences and rooms; make check does it too
lint-fast: lint-format lint-shell lint-settings lint-sentences lint-rooms
lint: lint-fast lint-cppcheck lint-tidy ## run what lint-fast does, clang-tidy and cppcheck; after make tests

format: ## let clang-format rewrite the sources
	$(CLANG_FORMAT) -i $(LINT_FORMAT)

.PHONY: lint lint-fast lint-made lint-format lint-tidy lint-cppcheck lint-shell lint-settings lint-sentences lint-rooms format
ifneq ($(filter lint lint-cppcheck lint-tidy $(LINT)/%,$(MAKECMDGOALS)),)
-include $(shell find $(LINT) -name '*.d' 2>/dev/null)
endif
