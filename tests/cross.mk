# cross.mk - kpack for other machines, built here and run under emulators
#
# Each machine has a row: its compiler, what runs its programs here, and what to
# test. The build folder of each is a cross compilation as a user would start it.
# cmocka is the one of tests/dist, so that no library of the machine is needed.

CROSS_MACHINES := arm64
CROSS_CC_arm64  := aarch64-linux-gnu-gcc
CROSS_RUN_arm64 := qemu-aarch64 -L /usr/aarch64-linux-gnu
# Needs zlib's kin of that machine, or HIP's headers.
CROSS_LEFT_OUT_arm64 := tests/unit/test_unpack.c tests/unit/test_hip_types.c

CROSS_MODULES := vector_add affine
cross_b = $(B)/cross/$(1)
# $(call cross_make,MACHINE)
cross_make = $(without_jobs) RUN_BY='$(CROSS_RUN_$(1))' $(MAKE) --no-print-directory B=$(call cross_b,$(1)) \
  CC=$(CROSS_CC_$(1)) SAN= COMPRESS=none IMPORT= MODULES='$(CROSS_MODULES)' ARCHS=gfx942 \
  CMOCKA=$(call cross_b,$(1))/obj/tests/dist/cmocka.o CMOCKA_CFLAGS=-Itests/dist \
  UNIT_LEFT_OUT='$(CROSS_LEFT_OUT_$(1))'

$(CROSS_MACHINES:%=check-cross-%): check-cross-%:
	@$(call cross_make,$*) check-as-cross

# In the make of one machine.
check-as-cross: all $(UNIT_TESTS)
	@$(call RUN_TESTS,RUN_BY='$(RUN_BY)') $(UNIT_TESTS)

check-cross: $(CROSS_MACHINES:%=check-cross-%) ## cross compile kpack for arm64, and run its tests under an emulator
.PHONY: check-cross check-as-cross $(CROSS_MACHINES:%=check-cross-%)
