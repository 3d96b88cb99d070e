# branches.mk - which branches of runtime, command and generator do tests take?
#
# The three and their tests are built once more, for gcc's gcov, in a folder of
# their own, with a pack of two modules for two targets. branches.csv names each
# branch that cannot be taken, with the reason.

BRANCHES_B := $(B)/branches
BRANCHES_PROGRAMS = $(patsubst $(H)/%,$(BRANCHES_B)/%,$(UNIT_TESTS) $(BUILD_TESTS))
# The longest first: two run at a time.
BRANCHES_SCRIPTS := $(addprefix tests/build/,packs.sh faults.sh nvidia.sh import.sh kpak.sh export.sh \
  refusals.sh files.sh tools.sh zstd.sh second_names.sh launchers.sh command.sh run.sh manual.sh)
# The seeds of the fuzz targets are damaged files of every kind.
OVER_NAMES := bundle codeobj compressed csv cubin ir kpak metadata program ptx scan second_names symbols triton
OVER_BINS  := $(OVER_NAMES:%=$(BRANCHES_B)/over/%)
over_parts := $(patsubst %.c,$(H)/obj/%.o,tests/fuzz/over_files.c tests/fuzz/mutate.c tests/import/made_code_object.c \
  $(filter-out gen/kpack-gen.c,$(GEN_SOURCES)) \
  $(addprefix src/cmd/,archive.c json.c libzstd.c objfile.c os_posix.c scan.c search.c xmalloc.c) \
  tests/unit/fake_hip.c tests/unit/fake_load.c tests/unit/system.c) $(LIB_OBJECTS)
$(H)/over/%: $(H)/obj/tests/fuzz/fuzz_%.o $(over_parts)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -rdynamic -o $@ $^ $(GEN_LIBS) -ldl -pthread
branches_cc := $(CURDIR)/tests/branches/cc

coverage-src: sim ## branches of runtime, command and generator that no test takes (4 CPU minutes)
	@REAL_CC='$(CC)' $(MAKE) --no-print-directory B=$(BRANCHES_B) H=$(BRANCHES_B) CC='$(branches_cc)' SAN= \
	  MODULES='vector_add affine' ARCHS='gfx942 gfx1100' COMPRESS=none EMBED=xxd IMPORT= \
	  all $(BRANCHES_PROGRAMS) $(OVER_BINS) $(addprefix $(BRANCHES_B)/,kpack-compress kpack-report fuzz/seeds fuzz/stored) \
	  $(patsubst $(H)/%,$(BRANCHES_B)/%,$(MAKERS) $(STAND_IN))
	@ln -sfn $(CURDIR)/$(H)/sim $(BRANCHES_B)/sim
	@find $(BRANCHES_B) -name '*.gcda' -delete; rm -rf $(BRANCHES_B)/scripts
	-@REAL_CC='$(CC)' LD_LIBRARY_PATH=$(CURDIR)/$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=gfx942,gfx1100 \
	  KPACK_COVERAGE=$(CURDIR)/$(BRANCHES_B)/scripts $(own_make) B='$(BRANCHES_B)' H='$(BRANCHES_B)' MODULES='vector_add affine' \
	  CC='$(branches_cc)' SAN= tests/run $(BRANCHES_SCRIPTS) $(BRANCHES_PROGRAMS)
	@for n in $(OVER_NAMES); do \
	  $(BRANCHES_B)/over/$$n $(patsubst $(B)/%,$(BRANCHES_B)/%,$(call fuzz_seeds,$$n)) >/dev/null || exit 1; done
	@rm -f null.gcno # compiling into /dev/null leaves it
	@tests/branches/branches.py tests/branches/branches.csv \
	  $(addprefix $(BRANCHES_B)/,obj/src obj/gen obj/tests/unit tool scripts)

.PHONY: coverage-src
