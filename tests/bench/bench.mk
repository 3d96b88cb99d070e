# bench.mk - measures

GPU_BENCH := $(H)/bench-gpu
GPU_BENCH_SOURCES := $(wildcard tests/bench/gpu/*.c)

$(GPU_BENCH): $(GPU_BENCH_SOURCES) $(wildcard tests/bench/gpu/*.h)
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O2 -Wall -Wextra $(CFLAGS) -Isrc -o $@ $(GPU_BENCH_SOURCES) -ldl -lm

# The cubins of BENCH_ARCH must have been made: `make bench-gpu ARCHS=sm_90`.
BENCH_ARCH ?= sm_90
BENCH      ?= *
# Folders of other cubins with kernels of the same names, timed beside kpack's.
PEER       ?=
SHAPES     := tests/bench/gpu/shapes.csv
PLAIN_CUBINS := $(patsubst tests/bench/gpu/%.hip,$(B)/hsaco/$(BENCH_ARCH)/%.cubin,$(wildcard tests/bench/gpu/*.hip))
bench-gpu: ## time the kernels on an NVIDIA GPU (BENCH='GLOB', PEER=FOLDERS)
bench-gpu: $(GPU_BENCH) $(MODULES:%=$(B)/hsaco/$(BENCH_ARCH)/%.cubin) $(PLAIN_CUBINS)
	@$(GPU_BENCH) shapes '$(BENCH)' $(SHAPES) $(B)/hsaco/$(BENCH_ARCH) $(PEER)
	@$(GPU_BENCH) large '$(BENCH)' $(B)/hsaco/$(BENCH_ARCH)

# Kernels written plainly, to compare with; no module of the pack.
$(PLAIN_CUBINS): $(B)/hsaco/$(BENCH_ARCH)/%.cubin: tests/bench/gpu/%.hip $(wildcard kernels/include/*.h)
	@mkdir -p $(@D)
	@$(KPACK_NVCC) $(KPACK_NVCCFLAGS) -arch=$(BENCH_ARCH) -o $@ $<

# Products and convolutions beside cuBLAS's and cuDNN's: PEER_PYTHON has torch.
PEER_LIB := $(H)/bench/peer.so
$(PEER_LIB): tests/bench/peer/peer_library.c $(H)/libkpack.a $(PACK_HEADER) $(PACK_LAUNCHERS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden $(CFLAGS) \
	  -Iinclude -I$(B)/include -o $@ $(filter %.c %.a,$^) -ldl -pthread $(PACK_CODEC_LIBS)
bench-peer: ## time products and convolutions beside torch's on an NVIDIA GPU (PEER_PYTHON=PYTHON with torch, BENCH='gemm conv')
bench-peer: $(PEER_LIB)
	@$(PEER_PYTHON) -B tests/bench/peer/peer.py $(PEER_LIB) $(filter gemm conv,$(BENCH))
.PHONY: bench-peer

# Experts, random numbers, fused steps and long sorts, by their cubins. PEER is a folder of
# candle's: steps.py says which.
STEPS := moe random fused sort
bench-steps: ## time experts, random numbers, fused steps and long sorts beside others' (PEER=FOLDER, PEER_PYTHON=PYTHON)
bench-steps: $(STEPS:%=$(B)/hsaco/$(BENCH_ARCH)/%.cubin)
	@$(PEER_PYTHON) -B tests/bench/peer/steps.py $(B)/hsaco/$(BENCH_ARCH) $(firstword $(PEER)) $(filter $(STEPS),$(BENCH))
.PHONY: bench-steps

# Times a group's calls, and the same calls of NCCL and of PyTorch's symmetric
# memory. GPUS=N: number of GPUs. TRY='GLOB': times kernels in many shapes instead.
COMM_BENCH := $(H)/bench-comm
GPUS       ?= 2
TRY        ?=
$(COMM_BENCH): $(H)/obj/tests/bench/comm/bench_comm.o $(H)/libkpack.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
$(H)/obj/tests/bench/comm/bench_comm.o: $(PACK_HEADER) $(KPACK_HOST_COPIES)
bench-comm: ## time sums over GPUs beside NCCL's and torch's (GPUS=N, PEER_PYTHON=PYTHON; TRY='GLOB': kernels in many shapes)
bench-comm: $(COMM_BENCH)
	@$(COMM_BENCH) $(GPUS) $(if $(TRY),try '$(TRY)')
	$(if $(TRY),,@$(PEER_PYTHON) -B tests/bench/comm/peers.py $(GPUS))
.PHONY: bench-comm

# The simulated GPU's own speed, one thread, a device of each generation.
SIM_BENCH       := $(H)/bench-sim
SIM_BENCH_ARCHS ?= gfx942 gfx1100 gfx1201
$(SIM_BENCH): tests/bench/sim/sim_bench.c $(SIM_OBJECTS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(SIM_CFLAGS) $(SIM_LLVM_CFLAGS) -rdynamic -o $@ $^ $(SIM_LIBS)

$(B)/bench/sim-%.hsaco: tests/bench/sim/kernels.hip $(B)/stamp/device $$(call KPACK_CONSTANTS,$$*)
	@mkdir -p $(@D)
	@$(KPACK_DEVICE_CXX) $(KPACK_HIPFLAGS) $(KPACK_DEVICE_FLAGS) --offload-arch=$* \
	  -mcode-object-version=$(call KPACK_COV,$*) $(call KPACK_TARGET_FLAGS,$*) -o $@ $<

bench-sim: ## time the simulated GPU
bench-sim: $(SIM_BENCH) $(SIM_BENCH_ARCHS:%=$(B)/bench/sim-%.hsaco) $(SIM_BENCH_ARCHS:%=$(B)/hsaco/%/binary.hsaco)
	@for a in $(SIM_BENCH_ARCHS); do \
	  KPK_SIM_DEVICES=$$a $(SIM_BENCH) $(B)/bench/sim-$$a.hsaco $(B)/hsaco/$$a/binary.hsaco || exit 1; done

# The kernels' memory traffic on the simulated GPUs, and instructions per
# element.
MEMORY_BENCH := $(H)/bench-memory
$(MEMORY_BENCH): $(H)/obj/tests/bench/sim/memory_bench.o $(H)/libkpack.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -pthread
$(H)/obj/tests/bench/sim/memory_bench.o: $(PACK_HEADER)
bench-memory: $(MEMORY_BENCH) sim ## count how kernels use memory on the simulated GPUs
	@LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=$(DEVICES) $(MEMORY_BENCH)

# The kernels' bounds on a card of each target: see src/sim/README.md. All
# kernels go to a file, INTO. With BENCH, some are printed, or brought up to
# date in INTO.
BOUNDS_BENCH  := $(H)/bench-bounds
BOUNDS_TABLE  := tests/bench/sim/bounds.csv
BOUNDS_SOURCES := tests/bench/sim/bounds_bench.c tests/bench/sim/bounds_launch.c \
                  tests/bench/gpu/bench_launch.c tests/bench/gpu/shapes_launch.c
$(BOUNDS_BENCH): $(BOUNDS_SOURCES) $(wildcard tests/bench/sim/*.h tests/bench/gpu/*.h src/sim/*/*.h) \
  $(addprefix $(H)/obj/src/sim/base/,time_bounds.o cards.o processor.o) $(H)/libkpack.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) -std=gnu11 -O2 -Wall -Wextra $(CFLAGS) $(SAN_FLAGS) -Iinclude -Isrc -I$(B)/include \
	  -o $@ $(filter %.c %.o %.a,$^) -ldl -pthread $(PACK_CODEC_LIBS)
INTO          ?=
BOUNDS_RESULT = $(or $(INTO),tests/bench/results/bounds.csv)
run_bounds = LD_LIBRARY_PATH=$(H)/sim:$$LD_LIBRARY_PATH KPK_SIM_DEVICES=$(DEVICES) $(BOUNDS_BENCH) $(BOUNDS_TABLE) '$(BENCH)'
bench-bounds: ## write lower bounds of kernels' times on real cards, to bounds.csv or INTO=FILE (BENCH='GLOB': prints some kernels')
bench-bounds: $(BOUNDS_BENCH) sim
ifeq ($(BENCH),*)
	@{ tests/bench/sim/bounds-notes && $(run_bounds); } >'$(BOUNDS_RESULT).new' || { rm '$(BOUNDS_RESULT).new'; exit 1; }
	@mv '$(BOUNDS_RESULT).new' '$(BOUNDS_RESULT)'
	@echo "  WROTE $(BOUNDS_RESULT)"
else ifneq ($(INTO),)
	@$(run_bounds) >'$(INTO).new' || { rm '$(INTO).new'; exit 1; }
	@tests/bench/sim/bounds-merge '$(INTO)' '$(INTO).new' "$(BENCH): $$(git log -1 --format=%h)" >'$(INTO).merged'
	@mv '$(INTO).merged' '$(INTO)' && rm '$(INTO).new'
	@echo "  WROTE $(INTO)"
else
	@$(run_bounds)
endif
.PHONY: bench-bounds
ifeq ($(filter-out $(MODULES),$(ALL_MODULES)),)
tests: $(BOUNDS_BENCH) # for tests/build/dies.sh
endif

# Selecting a row of a configuration table.
TABLE_BENCH := $(H)/bench-table
$(TABLE_BENCH): $(H)/obj/tests/bench/table/table_bench.o $(H)/libkpack.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -pthread
bench-table: $(TABLE_BENCH) ## time kpk_table_select() over 500 rows
	@$(TABLE_BENCH)

# Importing a tree as large as AMD's: 2,900 code objects, 118 MB.
bench-import: $(MAKERS) $(B)/kpack-gen ## time the import of 2,900 made code objects
	@tests/bench/import $(H)/test/import/make_tree $(B)/bench/import

# Sizes and times of packs, beside those of other ways to pack. For the eight
# targets of README.md: ARCHS="gfx908 gfx90a gfx942 gfx950 gfx1030 gfx1100
# gfx1200 gfx1201".
bench-size: hsaco ## measure sizes and times of plain and compressed packs (needs clang-tools)
	@$(own_make) ARCHS='$(KPACK_AMD_ARCHS)' tests/bench/size/run-size $(B)

# Three modules in AMD's archives beside a program, and inside it. READER is a
# librocm_kpack.so, to be timed too.
READER ?=
bench-archive: ## time first launches with code objects in AMD's archives and in a pack (READER=librocm_kpack.so)
bench-archive: sim $(H)/test/import/make_kpak
	@$(own_make) ARCHS='$(KPACK_AMD_ARCHS)' READER='$(READER)' tests/bench/archive/run-archive $(B) $(H)/test/import/make_kpak

.PHONY: bench-size bench-import bench-archive bench-gpu bench-sim bench-table

# kpack's own part of a launch, typed and not, under the tests' fake HIP. With
# targets of NVIDIA's in ARCHS, beside the driver's on a GPU of theirs, and how
# long a first result takes, from cubins and from PTX alone. The typed launchers
# come of a code object of AMD's.
LAUNCH_BENCH := $(H)/test/unit/bench_launch
$(LAUNCH_BENCH): tests/bench/launch/launch_bench.c \
    $(H)/obj/tests/unit/fake_load.o $(H)/obj/tests/unit/system.o $(H)/libkpack.a $(PACK_LAUNCHERS) $(H)/test/unit/fake_hip.so
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) -Itests/unit -o $@ $(filter %.c %.o %.a,$^) -ldl -pthread $(PACK_CODEC_LIBS)

CARD_B    := $(B)/bench/launch
CARD_LIB  := $(CARD_B)$(if $(SAN),/san-$(subst $(KPACK_COMMA),-,$(SAN)))/libkpack.a
CARD      := $(H)/bench/card
CARD_PTX  := $(if $(GPU_PTX),$(H)/bench/card-ptx)
$(CARD_LIB): $(wildcard tests/bench/launch/kernels/*.hip) $(LIB_OBJECTS) $(B)/kpack-gen $(B)/stamp/device
	@$(pack_make) PACK=bench_launch KERNELS=tests/bench/launch/kernels MODULES=empty \
	  ARCHS='gfx942 $(KPACK_NV_ARCHS)' B=$(CARD_B) lib
$(CARD_B)/ptx.a: $(CARD_LIB) $(H)/kpack
	@$(H)/kpack prune $< --keep $(GPU_PTX) -o $@
$(H)/obj/tests/bench/launch/card.o: OBJ_CFLAGS = -I$(CARD_B)/include
$(H)/obj/tests/bench/launch/card.o: $(CARD_LIB)
$(CARD): $(H)/obj/tests/bench/launch/card.o $(CARD_LIB)
$(CARD_PTX): $(H)/obj/tests/bench/launch/card.o $(CARD_B)/ptx.a
$(CARD) $(CARD_PTX):
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -pthread

ifeq ($(KPACK_NV_ARCHS),)
bench-launch: ## time kpack's own part of a launch, typed and not (ARCHS with sm_NN: beside the driver's, on the GPU)
bench-launch: $(LAUNCH_BENCH)
	@$(LAUNCH_BENCH)
else
bench-launch: $(CARD) $(CARD_PTX)
	@$(CARD)
	@$(CARD) start cubin
	@$(if $(CARD_PTX),$(CARD_PTX) start PTX)
endif
.PHONY: bench-launch

# A model's tokens a second, and llama.cpp's beside them:
# `make bench-model ARCHS="gfx942 sm_90" PEER_PYTHON=python3` runs all of it.
BENCH_MODELS ?= $(wildcard $(MODEL_DATA)/*.gguf) $(foreach f,Q4_0 Q4_K_M Q8_0,$(B)/bench/llama-8b-$(f).gguf)
PEER_PYTHON  ?=
MODEL_SPEED  := $(H)/bench/model-speed
MODEL_TOKEN  := $(H)/bench/model-token
MODEL_MAKE   := $(H)/bench/model-make
$(H)/obj/tests/bench/model/%.o: private KPK_CFLAGS := -I$(MODEL_INCLUDE) $(KPK_CFLAGS)
$(H)/obj/tests/bench/model/speed.o $(H)/obj/tests/bench/model/token.o: $(MODEL_HEADERS)
$(MODEL_SPEED) $(MODEL_TOKEN): $(H)/bench/model-%: $(H)/obj/tests/bench/model/%.o $(MODEL_PARTS) $(MODEL_PACK)
$(MODEL_MAKE): $(H)/obj/tests/bench/model/make.o $(H)/obj/src/model/gguf.o $(H)/obj/src/model/error_text.o $(MODEL_MADE)
$(MODEL_SPEED) $(MODEL_TOKEN) $(MODEL_MAKE):
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
$(B)/bench/llama-8b-%.gguf: $(MODEL_MAKE)
	@mkdir -p $(@D)
	@$(MODEL_MAKE) llama-8b $* $@
bench-model: ## time models on a GPU (BENCH_MODELS='FILES', PEER_PYTHON=PYTHON with llama-cpp-python)
bench-model: $(MODEL_SPEED) $(BENCH_MODELS) $(if $(GPU)$(KPACK_NV_ARCHS),,sim)
	@$(if $(KPACK_NV_ARCHS),,$(ON_GPU)) tests/bench/model/run-model $(MODEL_SPEED) '$(PEER_PYTHON)' $(BENCH_MODELS)
.PHONY: bench-model

# Module attention beside PyTorch's, for a GPU and a Python with PyTorch.
ATTENTION_BENCH := $(H)/bench/attention.so
$(ATTENTION_BENCH): tests/bench/attention/attention_library.c $(H)/libkpack.a $(PACK_HEADER) $(PACK_LAUNCHERS)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(LDFLAGS) -fPIC -shared -o $@ $(filter %.c %.a,$^) -ldl -pthread $(PACK_CODEC_LIBS)
bench-attention: $(ATTENTION_BENCH) ## check and time attention beside PyTorch's (PEER_PYTHON=PYTHON with torch)
	@$(or $(PEER_PYTHON),python3) -B tests/bench/attention/beside_torch.py $(ATTENTION_BENCH) check
	@$(or $(PEER_PYTHON),python3) -B tests/bench/attention/beside_torch.py $(ATTENTION_BENCH) time
.PHONY: bench-attention
