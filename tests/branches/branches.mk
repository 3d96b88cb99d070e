# branches.mk - are all branches of src/ taken by the unit tests?
#
# The library and its tests are built once more, for gcc's gcov, in a folder of
# their own. src.csv names each branch that cannot be taken, with the reason.

BRANCHES_H := $(B)/branches
BRANCHES_TESTS = $(UNIT_TESTS:$(H)/%=$(BRANCHES_H)/%)

coverage-src: sim ## branches of the runtime that no unit test takes
	@$(MAKE) --no-print-directory H=$(BRANCHES_H) SAN= CFLAGS='-O0 -g --coverage' LDFLAGS=--coverage $(BRANCHES_TESTS)
	@find $(BRANCHES_H) -name '*.gcda' -delete
	@for t in $(BRANCHES_TESTS); do \
	  LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=$(DEVICES) $$t >$$t.log 2>&1 || { cat $$t.log; exit 1; }; done
	@tests/branches/branches.py tests/branches/src.csv $(BRANCHES_H)/obj/src

.PHONY: coverage-src
