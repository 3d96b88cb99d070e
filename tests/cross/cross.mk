# cross.mk - kpack for other machines, built here and run under emulators
#
# A machine has a compiler, an emulator for its programs, and a list of unit tests
# to leave out. Its build is a cross compilation as a user would start it. cmocka
# is tests/dist's, so that no library of the machine is needed.

CROSS_MACHINES := arm64 windows

CROSS_CC_arm64  := aarch64-linux-gnu-gcc
CROSS_RUN_arm64 := qemu-aarch64 -L /usr/aarch64-linux-gnu
# They need libzstd, HIP's headers and a GPU's library of that machine.
CROSS_LEFT_OUT := $(patsubst %,tests/unit/test_%.c,unpack hip_types on_device streams_on_device)
CROSS_LEFT_OUT_arm64 := $(CROSS_LEFT_OUT)

CROSS_CC_windows  := x86_64-w64-mingw32-gcc
CROSS_RUN_windows := $(CURDIR)/tests/cross/wine $(CURDIR)/$(B)/cross/wine
# They stand in for functions of POSIX.
CROSS_LEFT_OUT_windows := $(CROSS_LEFT_OUT) tests/unit/test_hip.c tests/unit/test_cuda_driver.c tests/unit/test_collectives.c
CROSS_FLAGS_windows := LDFLAGS=-static

cross_b = $(B)/cross/$(1)
# $(call cross_make,MACHINE)
cross_make = $(without_jobs) $(MAKE) --no-print-directory B=$(call cross_b,$(1)) CC=$(CROSS_CC_$(1)) RUN_BY='$(CROSS_RUN_$(1))' \
  SAN= COMPRESS=none EMBED=xxd IMPORT= MODULES='vector_add affine' ARCHS=gfx90a HIPCC='$(HIPCC)' $(CROSS_FLAGS_$(1)) \
  CMOCKA=$(call cross_b,$(1))/obj/tests/dist/cmocka.o CMOCKA_CFLAGS=-Itests/dist UNIT_LEFT_OUT='$(CROSS_LEFT_OUT_$(1))'

# In the make of one machine: a driver that adds vectors, and the checks.
ADDING_HIP := $(H)/test/cross/$(if $(KPACK_WINDOWS),amdhip64_7.dll,libamdhip64.so.7)
$(ADDING_HIP): tests/unit/fake_hip.c tests/unit/fake_hip.h src/hip_api.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) -Itests/unit -DFAKE_HIP_ADDS -shared -o $@ $< $(LDFLAGS) $(SYSTEM_LIBS)
cross-tests: all $(if $(EXE),dll) $(UNIT_TESTS) $(ADDING_HIP)
	@$(call RUN_TESTS,CC='$(CC)' RUN_BY='$(RUN_BY)' EXE='$(EXE)' HIP=$(ADDING_HIP)) $(UNIT_TESTS) tests/cross/cross.sh

$(CROSS_MACHINES:%=check-cross-%): check-cross-%:
	@$(call cross_make,$*) cross-tests

# Clang as it compiles for Visual Studio, with mingw's headers.
MSVC_CC := clang --target=x86_64-pc-windows-msvc -fgnuc-version=4.2.1 -isystem /usr/x86_64-w64-mingw32/include
check-msvc:
	@mkdir -p $(B)/cross/msvc
	@for f in $(filter-out src/os_posix.c,$(wildcard src/*.c)); do \
	  $(patsubst clang%,$(KPACK_DEVICE_CXX)%,$(firstword $(MSVC_CC))) $(wordlist 2,9,$(MSVC_CC)) \
	    -std=c11 -Wall -Wextra -Werror -Iinclude -Isrc -c -o $(B)/cross/msvc/$$(basename $$f .c).obj $$f || exit 1; done

check-cross: ## cross compile kpack for arm64 and Windows, and run its tests under qemu and Wine
check-cross: $(CROSS_MACHINES:%=check-cross-%) check-msvc
.PHONY: check-cross cross-tests check-msvc $(CROSS_MACHINES:%=check-cross-%)
