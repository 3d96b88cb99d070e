# ggml.mk - the pack as a backend of llama.cpp
#
#   make ggml GGML=path/to/llama.cpp
#
# The headers are those of the llama.cpp that shall load it; none are in the
# tree. The library holds the runtime and the modules that it uses.

# GGML is that tree; make check-ggml and check-ggml-model have one of their own.
GGML ?= $(if $(filter check-ggml check-ggml-model,$(MAKECMDGOALS)),$(GGML_TREE))
GGML_JUDGE := $(B)/ggml
GGML_TREE  := $(GGML_JUDGE)/llama_cpp_python-0.3.36/vendor/llama.cpp
GGML_MODEL := SmolLM2-135M-Instruct.Q4_1.gguf
GGML_MODULES := attention fused gemm ggml low_bit moe quantized sort
GGML_HEADERS := $(PACK_HEADER) \
  $(patsubst %,$(B)/include/kpack/$(PACK)/%.h,attention_args attention_plan gemm_plan ggml_tensor sort_rows)
GGML_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(wildcard src/ggml/*.c))
GGML_PACK    := $(LIB_OBJECTS) $(filter $(GGML_MODULES:%=$(B)/obj/pack/pack.%.%) $(B)/obj/pack/pack.host-attention_plan.o \
  $(B)/obj/pack/pack.host-gemm_plan.o $(B)/obj/pack/pack.host-sort_rows.o \
  $(B)/obj/pack/pack.kpk-%,$(PACK_OBJECTS))

ifneq ($(filter ggml check-ggml check-ggml-model,$(MAKECMDGOALS)),)
ggml_lacks := $(filter-out $(PACK),candle) $(filter-out $(MODULES),$(GGML_MODULES))
ifneq ($(strip $(ggml_lacks)),)
$(error make ggml needs $(GGML_MODULES) of PACK=candle; PACK and MODULES leave out: $(strip $(ggml_lacks)))
endif
endif
ifneq ($(filter ggml,$(MAKECMDGOALS)),)
ifeq ($(wildcard $(GGML)/ggml/src/ggml-backend-impl.h),)
$(error make ggml: GGML=$(GGML) has no ggml/src/ggml-backend-impl.h: give the tree of llama.cpp that shall load the backend)
endif
endif

# set(GGML_VERSION_MAJOR 0) and so on
ggml_number = $(shell sed -n 's/^set(GGML_VERSION_$(1) \([0-9]*\)).*/\1/p' '$(GGML)/ggml/CMakeLists.txt')
ggml_version = $(call ggml_number,MAJOR).$(call ggml_number,MINOR).$(call ggml_number,PATCH)
ggml_flags = $(call KPACK_QUOTE,-isystem$(GGML)/ggml/include) \
  $(call KPACK_QUOTE,-isystem$(GGML)/ggml/src) -DKPK_GGML_VERSION='"$(ggml_version)"'

$(eval $(call KPACK_STAMP,$(H)/stamp/ggml,$(GGML)))
$(GGML_OBJECTS): $(GGML_HEADERS) $(H)/stamp/ggml $(if $(filter $(GGML_TREE),$(GGML)),| $(GGML_JUDGE)/test-backend-ops)
$(GGML_OBJECTS): private OBJ_CFLAGS = $(ggml_flags)

# All symbols of the archive are hidden, except the backend's three.
$(H)/libggml-kpack.so: $(GGML_OBJECTS) $(GGML_PACK)
	@echo "  LD    $@"
	@$(CC) -shared $(LDFLAGS) $(SAN_FLAGS) -Wl,--exclude-libs,ALL -o $@ $^ -lm $(SYSTEM_LIBS) $(PACK_CODEC_LIBS)
$(H)/libggml-kpack.a: $(GGML_OBJECTS) $(GGML_PACK)
	@rm -f $@
	@echo "  AR    $@"
	@$(KPACK_AR) rcsD $@ $^

ggml: ## build the backend for llama.cpp, libggml-kpack.so and .a: GGML=path/to/llama.cpp
ggml: $(H)/libggml-kpack.so $(H)/libggml-kpack.a
.PHONY: ggml

# ---- its tests: ggml's own, from PyPI -----------------------------------------

$(GGML_JUDGE)/test-backend-ops:
	@tests/ggml/check.py fetch $(GGML_JUDGE)

# The programs of check-ggml-model: more of llama.cpp, in the same folder.
$(GGML_JUDGE)/programs: $(GGML_JUDGE)/test-backend-ops
	@tests/ggml/model.py build $(GGML_JUDGE)
	@touch $@

GGML_DEVICES ?= gfx942
check-ggml: ## run ggml's tests of backends on kpack (GGML_DEVICES=)
check-ggml: $(GGML_JUDGE)/test-backend-ops $(H)/libggml-kpack.so $(if $(filter card,$(GGML_DEVICES)),,sim)
	@tests/ggml/check.py run $(GGML_JUDGE) $(H) $(GGML_DEVICES)
check-ggml-model: ## run a model in llama.cpp's programs on kpack (GGML_DEVICES=)
check-ggml-model: $(GGML_JUDGE)/programs $(H)/libggml-kpack.so model-data $(if $(filter card,$(GGML_DEVICES)),,sim)
	@tests/ggml/model.py run $(GGML_JUDGE) $(H) $(MODEL_DATA)/$(GGML_MODEL) $(GGML_DEVICES)
.PHONY: check-ggml check-ggml-model
