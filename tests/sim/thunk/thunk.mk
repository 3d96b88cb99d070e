# thunk.mk - builds the simulated thunk, under which AMD's own HIP runtime runs
#
# libhsakmt.so.1 is found by ROCr of HIP 5; HIP 7's loads the same library by
# the name libdtif.so when HSA_ENABLE_DTIF=1 asks it to.

THUNK_SOURCES := $(sort $(wildcard tests/sim/thunk/*.c)) \
  $(sort $(filter-out %/code_object.c %/bundle.c,$(wildcard tests/sim/core/*.c)) \
         $(wildcard tests/sim/isa/*.c))
THUNK_OBJECTS := $(THUNK_SOURCES:%.c=$(H)/obj/%.o)
THUNK_LIB     := $(H)/sim/thunk/libhsakmt.so.1
THUNK_DTIF    := $(H)/sim/thunk/libdtif.so

$(THUNK_LIB): $(THUNK_OBJECTS) tests/sim/thunk/thunk.map
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -shared $(SAN_FLAGS) $(if $(SAN),,-Wl,-z,defs) -Wl,-soname,libhsakmt.so.1 \
	  -Wl,--version-script=tests/sim/thunk/thunk.map -o $@ $(THUNK_OBJECTS) \
	  $(shell $(LLVM_CONFIG) --ldflags --libs) -lm -ldl -pthread
$(THUNK_DTIF): $(THUNK_LIB)
	@ln -sf $(<F) $@

thunk: $(THUNK_LIB) $(THUNK_DTIF) ## the thunk for AMD's own runtime: build/sim/thunk
.PHONY: thunk
