# report.mk - a page about the pack: sizes, registers, occupancy, instructions
#
#   make report            build/report.html
#   make report BASE=DIR   compared with another build: DIR/hsaco/TARGET/NAME.hsaco

#   make report BOUNDS=FILE  with bounds that `make bench-bounds` wrote

BASE ?=
BOUNDS ?= $(wildcard tests/bench/results/bounds.csv)
REPORT := $(B)/report.html
REPORT_TOOL := $(B)/kpack-report
report_json = $(patsubst $(B)/hsaco/%.hsaco,$(B)/report/%.json,$(PACK_HSACOS))

$(B)/tool/gen/report/%.o: KPK_CFLAGS += $(SIM_LLVM_CFLAGS)
$(REPORT_TOOL): $(patsubst %.c,$(B)/tool/%.o,$(wildcard gen/report/*.c) $(filter-out gen/kpack-gen.c,$(GEN_SOURCES)))
	@$(HOSTCC) $(HOSTLDFLAGS) -o $@ $^ $(GEN_LIBS) $(shell $(LLVM_CONFIG) --ldflags --libs)

.PRECIOUS: $(B)/report/%.json
$(B)/report/%.json: $(B)/hsaco/%.hsaco $(REPORT_TOOL)
	@mkdir -p '$(@D)'
	@$(REPORT_TOOL) $(*F) '$<' >'$@'

$(REPORT): $(call KPACK_ESC,$(report_json)) $(wildcard gen/report/page.html gen/report/make-page) $(BOUNDS) KPACK_FORCE
	@BOUNDS='$(BOUNDS)' gen/report/make-page $(REPORT_TOOL) gen/report/page.html '$(PACK)' \
	  $(call KPACK_QUOTE,$(KPACK_DEVICE_NOTE)) '$(BASE)' $@ $(report_json:%='%')
	@echo "  PAGE  $@"

report: $(REPORT) ## write build/report.html: sizes, registers, instructions (BASE=DIR compares)
.PHONY: report
