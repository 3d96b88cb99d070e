# candle.mk - candle's own tests on kpack, by crates of Rust's registry
#
# make check takes none of it: Cargo compiles 200 crates, for minutes.

CANDLE_DEVICES ?= gfx942 gfx1100## processors of make check-candle, or card: the machine's GPU
CANDLE_BACKEND ?= cuda## candle's backend: cuda, unchanged, or kpack, which a patch adds
check-candle: $(B)/libkpack.a $(if $(filter card,$(CANDLE_DEVICES)),,sim) ## run candle's GPU tests on kpack (CANDLE_DEVICES=, CANDLE_BACKEND=)
	@tests/candle/$(if $(filter kpack,$(CANDLE_BACKEND)),upstream/)run.py $(B) $(CANDLE_DEVICES)
.PHONY: check-candle
