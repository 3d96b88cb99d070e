# random.mk - dieharder over the numbers of module random
#
# By hand: it takes Debian's package dieharder, and minutes. DIEHARDER chooses
# the tests, RANDOM_MIB how much of the sequence they get; they begin anew where
# it ends, so what needs more than that is not judged.

RANDOM_STREAM := $(H)/test/random/stream
DIEHARDER  ?= 0 1 2 3 4 8 9 10 11 12 13 15 16 17 100 101 102
RANDOM_MIB ?= 48
$(H)/obj/tests/random/%.o: $(PACK_HEADER)
$(RANDOM_STREAM): $(H)/obj/tests/random/stream.o $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

dieharder: $(RANDOM_STREAM) sim ## judge rand_uniform_f32 by dieharder's tests (DIEHARDER='NUMBERS')
	@$(ON_GPU) $< $$(($(RANDOM_MIB) << 20)) >$(B)/random.bits
	@for test in $(DIEHARDER); do dieharder -g 201 -f $(B)/random.bits -d $$test -p 20 -D test_name -D ntuple -D pvalues -D assessment | grep -a '|'; done

.PHONY: dieharder
