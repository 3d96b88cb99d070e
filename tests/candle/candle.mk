# candle.mk - candle's own tests on kpack, and a language model by it, by crates
# of Rust's registry
#
# make check takes none of it: Cargo compiles 200 crates, for minutes.

CANDLE_DEVICES ?= gfx942 gfx1100## processors of make check-candle, or card: the machine's GPU
CANDLE_BACKEND ?= cuda## candle's backend: cuda, unchanged, or kpack, which a patch adds
CANDLE_READY = $(B)/libkpack.a $(if $(filter card,$(CANDLE_DEVICES)),,sim)
check-candle: $(CANDLE_READY) ## run candle's GPU tests on kpack (CANDLE_DEVICES=, CANDLE_BACKEND=)
	@tests/candle/$(if $(filter kpack,$(CANDLE_BACKEND)),upstream/own,run).py $(B) $(CANDLE_DEVICES)

candle-kit: $(B)/libkpack.a ## candle's tests for a machine without a compiler: build/candle-kit.tar.xz
	@tests/candle/kit.py $(B)

CANDLE_TEXTS ?= 1## texts that make check-candle-llama reads
check-candle-llama: ## run a model of make model-data by candle on kpack (CANDLE_DEVICES=, CANDLE_BACKEND=, CANDLE_TEXTS=)
check-candle-llama: $(CANDLE_READY)
	@tests/candle/$(if $(filter kpack,$(CANDLE_BACKEND)),upstream/)llama.py $(B) \
	  $(MODEL_DATA)/SmolLM2-135M-Instruct.Q4_1.gguf tests/model/data/smollm2.tokens $(CANDLE_TEXTS) $(CANDLE_DEVICES)
.PHONY: candle-kit check-candle check-candle-llama
