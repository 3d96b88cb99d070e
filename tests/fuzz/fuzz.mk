# fuzz.mk - fuzzes what reads code objects, bundles, tables and launches
#
#   fuzz_NAME.c          a target of libFuzzer (fuzz.h)
#   mutate.c             changes that keep the shape of ELF files and archives
#   make_seeds.c         makes whole files of every kind
#   regressions/NAME/    inputs that once failed, named by the fault
#   seeds/NAME.tar.zst   small inputs that reach more edges than the others
#
# A test runs over all of a target's seeds. `make fuzz` runs each target for
# FUZZ_SECONDS; what it finds lies in build/fuzz/NAME as crash-*, timeout-* or
# oom-*. `make fuzz-seeds` then adds inputs that reach new edges to the archives.
# Everything is under AddressSanitizer and UndefinedBehaviorSanitizer, whatever
# SAN says.

FUZZ_SECONDS ?= 60
FUZZ_CC ?= $(firstword $(foreach v,22 21 20 19,$(shell command -v clang-$(v))) clang)
FUZZ_CFLAGS = -std=gnu11 -D_DEFAULT_SOURCE= -g -O2 -fno-omit-frame-pointer \
  -fsanitize=address,undefined -fno-sanitize-recover=all \
  -Iinclude -Isrc -Igen -Itests/unit -Itests/import
# HIP's functions have types of its own headers, which kpack does not include.
FUZZ_CFLAGS += -fno-sanitize=function
# The seeds have the constants that libFuzzer would learn from comparisons: its
# -fsanitize=fuzzer-no-link finds no more, and runs half as many inputs.
FUZZ_COVERAGE ?= -fsanitize-coverage=inline-8bit-counters,pc-table
# Small inputs keep little memory; with these, `scan` runs ten times as many.
FUZZ_ASAN := quarantine_size_mb=8:malloc_context_size=4:detect_stack_use_after_return=0
# A note of 16 MiB may become 50 times as much, a code object has up to 1 GiB;
# nothing may ask for more.
FUZZ_LIMITS := -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1025 -max_len=65536

FUZZ_NAMES   := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_BINS    := $(FUZZ_NAMES:%=$(B)/fuzz/bin/%)
FUZZ_TESTS   := $(FUZZ_NAMES:%=$(H)/test/fuzz/%)
FUZZ_OBJECTS := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(filter-out gen/kpack-gen.c,$(GEN_SOURCES)) \
  $(filter-out src/os_$(OTHER_OS).c,$(wildcard src/*.c)) \
  $(addprefix src/cmd/,archive.c json.c libzstd.c objfile.c os_posix.c scan.c search.c xmalloc.c) \
  tests/unit/fake_hip.c tests/unit/fake_load.c tests/unit/system.c \
  $(addprefix src/model/,error_text.c gguf.c arch.c heap.c pretoken.c specials.c tokenizer.c vocabulary.c) \
  tests/import/made_code_object.c tests/fuzz/mutate.c)

# A stamp ends at a comma.
$(eval $(call KPACK_STAMP,$(B)/stamp/fuzz,$(subst $(KPACK_COMMA), ,$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_COVERAGE))))
.PRECIOUS: $(B)/fuzz/obj/%.o
$(B)/fuzz/obj/%.o: %.c $(B)/stamp/fuzz
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_COVERAGE) -MMD -MP -c -o $@ $<
-include $(shell find $(B)/fuzz/obj -name '*.d' 2>/dev/null)

# HIP's functions are looked up in the program, hence -rdynamic.
$(FUZZ_BINS): $(B)/fuzz/bin/%: $(B)/fuzz/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJECTS)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer -rdynamic -o $@ $^ $(GEN_LIBS) -ldl -pthread

$(B)/fuzz/seeds: $(H)/test/fuzz/make_seeds
	@rm -rf $@ && mkdir -p $@ && $< $@
$(H)/test/fuzz/make_seeds: $(H)/obj/tests/fuzz/make_seeds.o $(MADE) \
    $(H)/obj/gen/write/blob.o $(H)/obj/src/base/sha256.o $(MODEL_MADE)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -lm -lz -lzstd

$(B)/fuzz/stored: $(wildcard tests/fuzz/seeds/*.tar.zst)
	@rm -rf $@ && mkdir -p $@ && for f in $^; do tar -C $@ -xf $$f || exit 1; done && touch $@
# Folders with a target's seeds; stored seeds and regressions may be missing.
fuzz_seeds = $(B)/fuzz/seeds/$(1) $(B)/fuzz/stored/$(1) tests/fuzz/regressions/$(1)

# Each test runs a fuzz target over all its seeds.
$(FUZZ_TESTS): $(H)/test/fuzz/%: $(B)/fuzz/bin/% tests/fuzz/over_seeds $(B)/fuzz/seeds $(B)/fuzz/stored
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec tests/fuzz/over_seeds $< $(call fuzz_seeds,$*)\n' >$@; chmod +x $@

fuzz: $(FUZZ_BINS) $(B)/fuzz/seeds $(B)/fuzz/stored ## fuzz each reader for FUZZ_SECONDS=60
	@failed=; for n in $(FUZZ_NAMES); do \
	  mkdir -p $(B)/fuzz/$$n/corpus; echo "  FUZZ  $$n"; \
	  ASAN_OPTIONS=$(FUZZ_ASAN) $(B)/fuzz/bin/$$n $(FUZZ_LIMITS) -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
	    -artifact_prefix=$(B)/fuzz/$$n/ $(B)/fuzz/$$n/corpus \
	    $$(ls -d $(call fuzz_seeds,$$n) 2>/dev/null) >$(B)/fuzz/$$n/log 2>&1 || failed="$$failed $$n"; \
	  grep -E 'stat::number_of_executed_units|ERROR|SUMMARY' $(B)/fuzz/$$n/log; done; \
	  [ -z "$$failed" ] || { echo "fuzz: failed:$$failed; see $(B)/fuzz/NAME/log"; exit 1; }

fuzz-seeds: ## add inputs that `make fuzz` found, and that reach new edges, to the seeds
fuzz-seeds: $(FUZZ_BINS) $(B)/fuzz/seeds $(B)/fuzz/stored
	@for n in $(FUZZ_NAMES); do [ ! -d $(B)/fuzz/$$n/corpus ] || \
	  ASAN_OPTIONS=$(FUZZ_ASAN) tests/fuzz/add_seeds $(B)/fuzz/bin/$$n $(B)/fuzz/$$n/corpus tests/fuzz/seeds/$$n.tar.zst \
	    $(B)/fuzz/stored/$$n $(B)/fuzz/seeds/$$n tests/fuzz/regressions/$$n || exit 1; done
.PHONY: fuzz fuzz-seeds
