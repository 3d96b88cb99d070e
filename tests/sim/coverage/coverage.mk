# coverage.mk - lists instructions that the simulated GPU knows and tests ran

COVERAGE_TOOL := $(H)/tool/coverage

$(COVERAGE_TOOL): $(H)/obj/tests/sim/coverage/coverage.o $(SIM_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(SIM_LIBS)

SCAN_TOOL := $(H)/tool/scan
$(SCAN_TOOL): $(H)/obj/tests/sim/coverage/scan.o $(SIM_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(SIM_LIBS)

# Tests may fail here: the instructions that they ran count all the same.
coverage: $(COVERAGE_TOOL) $(SIM_TESTS) $(CORPUS_TEST) ## write tests/sim/COVERAGE.md
	@rm -f $(H)/coverage.txt; touch $(H)/coverage.txt
	@for t in $(SIM_TESTS) $(CORPUS_TEST); do \
	  LD_LIBRARY_PATH=$(H)/sim KPK_SIM_COVERAGE=$(H)/coverage.txt $$t >/dev/null 2>&1; done; :
	@$(COVERAGE_TOOL) $(H)/coverage.txt >tests/sim/COVERAGE.md.new
	@mv tests/sim/COVERAGE.md.new tests/sim/COVERAGE.md
.PHONY: coverage
