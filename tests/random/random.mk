# random.mk - dieharder over the numbers of module random
#
# By hand: it takes Debian's package dieharder, and minutes. Each test reads as
# much of the sequence as it wants, from the start. Its p-values are judged
# together: fewer than 100 make that judgement itself unreliable.

RANDOM_STREAM := $(H)/test/random/random_stream
DIEHARDER   ?= 0 2 4 8 10 100 101 102
RANDOM_SEED ?= 20261122
$(H)/obj/tests/random/%.o: $(PACK_HEADER)
$(RANDOM_STREAM): $(H)/obj/tests/random/random_stream.o $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

dieharder: $(RANDOM_STREAM) sim ## judge rand_uniform_f32 by dieharder's tests (DIEHARDER='NUMBERS' RANDOM_SEED=N)
	@for test in $(DIEHARDER); do \
	  $(ON_GPU) $< 1000000000000 $(RANDOM_SEED) | dieharder -g 200 -d $$test -p 100 | grep -a '|.*|.*|.*|.*|' | grep -v test_name; \
	done

.PHONY: dieharder
