# dist.mk - the unit tests of a tree that `make dist` made
#
# Such a tree is built on machines without cmocka: cmocka.h and cmocka.c here
# have as much of it as the tests use. Tests that need headers of HIP or of a
# library are left out where these are missing, and `make check` names them.

hash := \#
has_header = $(shell echo '$(hash)include <$(1)>' | $(CC) -x c -E - >/dev/null 2>&1 && echo yes)
UNIT_LEFT_OUT := $(if $(call has_header,zstd.h),,tests/unit/test_unpack.c) \
  $(if $(call has_header,hip/hip_runtime_api.h),,tests/unit/test_hip_types.c)
CMOCKA := $(H)/obj/tests/dist/cmocka.o
CMOCKA_CFLAGS := -Itests/dist
include tests/unit.mk

check: all $(UNIT_TESTS) ## run the unit tests
	@$(foreach t,$(UNIT_LEFT_OUT),echo 'left out, for want of a header: $(t)';)
	@tests/run $(UNIT_TESTS)
.PHONY: check
