# kpack - GPU kernels that travel inside a program. `make help` lists the goals.

# A tree that `make dist` made has its kernels compiled: see gen/ship/prebuilt-gen.
PREBUILT := $(wildcard prebuilt/pack.mk)
ifneq ($(PREBUILT),)
include $(PREBUILT)
ARCHS   ?= $(PREBUILT_ARCHS)
PACK    ?= $(PREBUILT_PACK)
MODULES ?= $(PREBUILT_MODULES)
endif

# `make install` alone installs what was built last: the settings of the make that
# built it hold, unless they are given again. The archive's rule writes the file.
REMEMBERED := ARCHS PACK MODULES IMPORT COV COMPRESS EMBED HIPCC ROCM_PATH HIPFLAGS NVCC NVCCFLAGS CC HOSTCC AR CFLAGS LDFLAGS
given := $(foreach v,$(REMEMBERED),$(if $(filter command environment,$(firstword $(origin $(v)))),$(v)))
ifeq ($(SAN)$(MAKECMDGOALS),install)
-include $(or $(strip $(B)),build)/settings.mk
endif
# So does the PREFIX of the last build that was given one; uninstall takes it, too.
PREFIX_GIVEN := $(if $(filter command environment,$(firstword $(origin PREFIX))),1)
ifneq ($(if $(PREFIX_GIVEN),,$(filter install uninstall,$(SAN)$(MAKECMDGOALS))),)
-include $(or $(strip $(B)),build)/prefix.mk
endif
hash := \#
remember = 'ifeq ($$(filter $(1),$$(given)),)' 'given += $(1)' \
  $(call KPACK_QUOTE,$(1) = $(subst $(hash),\$(hash),$(value $(1)))) endif

## Settings, given as NAME=VALUE on the command line:
ARCHS   ?= gfx90a gfx942 gfx1030 gfx1100 gfx1201## targets to compile for; NVIDIA's too: sm_NN (cubins), compute_NN (PTX); wide: all processors; native: this machine's
PACK    ?= candle## name of the pack
MODULES ?= $(if $(IMPORT),,$(ALL_MODULES))## modules of the pack: names of kernels/*.hip (default: all)
IMPORT  ?=## a folder of prebuilt code objects that becomes the pack instead
COV     ?=## code object version, 4 to 6 (default 5, generic targets 6)
COMPRESS ?= none## none, or zstd: a small pack; programs then need libzstd
EMBED   ?= xxd## how code objects get into C: by xxd, or by incbin for very large packs
HIPCC   ?=## device compiler, maybe behind a launcher: 'ccache clang-22' (default: found)
ROCM_PATH ?=## a ROCm tree, or HIP 7.2 unpacked from Debian's packages (default: found)
HIPFLAGS  ?=## more flags for the device compiler
NVCC    ?=## CUDA compiler, for sm_NN (default: found)
NVCCFLAGS ?=## more flags for the CUDA compiler
NVIDIA  ?=## 1: make deps installs the CUDA compiler, too, if there is none
CFLAGS  ?= -O2## flags of the C compiler CC
LDFLAGS ?=## flags of the linker
RUN_BY  ?=## what runs programs of CC's machine here: 'qemu-aarch64 -L /usr/aarch64-linux-gnu' (default: nothing)
HOSTCC  ?= $(if $(KPACK_CROSS),cc,$(CC))## C compiler of the build's own tools (default: CC, or cc where CC is PREFIX-gcc)
SAN     ?=## sanitizers for library and tests: address,undefined or thread
DEVICES ?= $(BUILT_DEVICES)## simulated GPUs of demo and check (default: one for each of ARCHS, by name)
B       ?= build## folder of everything that is built
PREFIX  ?= /usr/local## folder into which kpack is installed
LIBDIR  ?= lib## folder below PREFIX for the library, such as lib64
DESTDIR ?=## a folder to put before PREFIX, for packagers

# Set to nothing it would be the root of all folders.
override B := $(or $(strip $(B)),build)

# One GPU of each family; it runs the code objects of the family's generic
# target. GPUs of gfx125x are not simulated, or not wholly.
WIDE_DEVICES := gfx906,gfx908,gfx90a,gfx950,gfx1012,gfx1036,gfx1151,gfx1200
BUILT_DEVICES = $(if $(filter wide wide-amd,$(ARCHS)),$(WIDE_DEVICES),$(KPACK_DEVICES))

# As many jobs as processors, or the jobs of the make above this one. A -j on
# the command line comes later and wins.
jobs := $(shell case "$$MAKEFLAGS" in (*--jobserver*) ;; (*) echo "-j$$(nproc)" ;; esac)
MAKEFLAGS += $(jobs)

# `make deps check` on a bare machine: what the lines below look for must be
# installed before they are read.
dry_run := $(findstring n,$(firstword -$(MAKEFLAGS)))
deps_first := $(if $(dry_run),,$(if $(filter deps,$(MAKECMDGOALS)),$(filter-out deps,$(MAKECMDGOALS))))
ifneq ($(deps_first),)
$(shell NVIDIA='$(NVIDIA)' NVCC='$(NVCC)' gen/deps $(deps_first) >&2)
ifneq ($(.SHELLSTATUS),0)
$(error make deps failed)
endif
endif

ifneq ($(IMPORT),)
ifeq ($(filter PACK,$(given)),)
$(error IMPORT=$(IMPORT): name the pack that it becomes: PACK=name)
endif
endif

KPACK_ROOT := .
KERNELS := kernels
ALL_MODULES := $(sort $(notdir $(basename $(wildcard kernels/*.hip))))
VERSION := $(shell sed -n 's/.*KPK_VERSION_STRING "\(.*\)".*/\1/p' include/kpack.h)

# clang 22 moves the constants of f64's polynomials out of loops, more of them
# than there are SGPRs, and spills others. Without that pass, a later one moves
# as many as fit.
HIPFLAGS_unary := -mllvm -disable-machine-licm

# Tiled products in waves of 64: their multiply-adds take half of the cycles there.
WAVES64_quantized = $(KPACK_WMMA_TARGETS)

# Code objects that benchmarks want, or that are goals: build/hsaco/gfx950/NAME.hsaco.
KPACK_MORE_ARCHS := $(if $(PREBUILT),,$(or $(BENCH_ARCH),sm_90) $(or $(SIM_BENCH_ARCHS),gfx942 gfx1100 gfx1201) \
  $(foreach g,$(filter $(B)/hsaco/%,$(MAKECMDGOALS)),$(firstword $(subst /, ,$(g:$(B)/hsaco/%=%)))))

# Goals without a compiler work on machines without one. `lint` needs a
# compiler: it reads headers that are made from the kernels, and makes them if
# they are old.
plain_goals := help clean uninstall deps format $(addprefix lint-,fast format shell settings sentences)
KPACK_PLAIN := $(if $(filter-out $(plain_goals),$(or $(MAKECMDGOALS),all)),,1)
include gen/make/kpack.mk
.DELETE_ON_ERROR:
.SECONDEXPANSION:

# Our flags stand apart from the user's CFLAGS. H is where the host's objects
# go: a sanitizer has a folder of its own and shares the code objects.
H := $(B)$(if $(SAN),/san-$(subst $(KPACK_COMMA),-,$(SAN)))
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
KPK_WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion
# Tools take the user's flags where one compiler makes all.
HOSTCFLAGS := $(if $(filter-out $(CC),$(HOSTCC)),-O2,$(CFLAGS))
HOSTLDFLAGS := $(if $(filter-out $(CC),$(HOSTCC)),,$(LDFLAGS))
EXE := $(if $(KPACK_WINDOWS),.exe)
SYSTEM_LIBS := -pthread $(if $(KPACK_WINDOWS),,-ldl)
OTHER_OS := $(if $(KPACK_WINDOWS),posix,windows)
# mingw's own printf() takes C11's formats, that of Windows' C library does not.
WINDOWS_CFLAGS := $(if $(findstring mingw,$(CC)),-D__USE_MINGW_ANSI_STDIO=1 -D__printf__=__gnu_printf__ -Wno-float-conversion)
KPK_CFLAGS = -std=c11 -D_DEFAULT_SOURCE= $(KPK_WARNINGS) -fPIC -fvisibility=hidden \
  $(call KPACK_QUOTE,-ffile-prefix-map=$(CURDIR)/=) -Iinclude -Isrc -I$(B)/include -pthread $(WINDOWS_CFLAGS)

all: ## build libkpack.a, its headers and the kpack command (the default goal)
all: $(H)/libkpack.a $(H)/kpack$(EXE) $(PACK_LAUNCHERS) cubins
.PHONY: all
.DEFAULT_GOAL := all

cc_version = $(shell $(CC) --version 2>/dev/null | head -1)
$(eval $(call KPACK_STAMP,$(H)/stamp/cc,$(CC) $(cc_version) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS)))

.PRECIOUS: $(H)/obj/%.o $(B)/tool/%.o
$(H)/obj/%.o: %.c $(H)/stamp/cc
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(OBJ_CFLAGS) -MMD -MP -c -o $@ $<
-include $(shell find $(H)/obj $(B)/tool -name '*.d' 2>/dev/null)

# ---- the generator: never sanitized, for the code objects are shared --------

GEN_SOURCES := $(wildcard gen/*.c $(foreach d,util read pack write,gen/$(d)/*.c)) \
  $(filter-out src/base/file_windows.c,$(wildcard src/base/*.c))
GEN_LIBS := -lelf -lmsgpackc -lcjson -lzstd -lz
$(B)/tool/%.o: %.c
	@mkdir -p $(@D)
	@$(HOSTCC) $(KPK_CFLAGS) $(HOSTCFLAGS) -Igen -MMD -MP -c -o $@ $<
$(H)/obj/gen/%.o: OBJ_CFLAGS = -Igen
$(B)/kpack-gen: $(GEN_SOURCES:%.c=$(B)/tool/%.o)
	@$(HOSTCC) $(HOSTLDFLAGS) -o $@ $^ $(GEN_LIBS)

# Needs only the C library, because trees of prebuilt kernels build it.
$(B)/kpack-embed: $(B)/tool/gen/embed/kpack-embed.o $(B)/tool/gen/write/blob_symbol.o
	@$(HOSTCC) $(HOSTLDFLAGS) -o $@ $^

$(B)/kpack-compress: $(patsubst %.c,$(B)/tool/%.o,$(wildcard gen/compress/*.c) $(filter-out gen/kpack-gen.c,$(GEN_SOURCES)))
	@$(HOSTCC) $(HOSTLDFLAGS) -pthread -o $@ $^ $(GEN_LIBS)

# ---- the library and the command --------------------------------------------

# The system that CC compiles for has one of the os_*.c.
LIB_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(sort $(filter-out src/os_$(OTHER_OS).c,$(wildcard src/*.c))))
# What the command reads as the generator does, but for bundles, which need
# libraries; the command needs the C library alone.
CMD_BASE := $(filter-out src/base/bundle.c src/base/file_$(OTHER_OS).c,$(wildcard src/base/*.c))
CMD_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(filter-out src/cmd/os_$(OTHER_OS).c,$(sort $(wildcard src/cmd/*.c))) $(CMD_BASE))
$(H)/obj/src/cmd/own_pack.o: OBJ_CFLAGS = -DCMD_PACK=kpk_$(PACK) -DCMD_PACK_HEADER='<kpack/$(PACK).h>'
$(H)/obj/src/cmd/own_pack.o: $(PACK_HEADER) $(B)/stamp/name

lib: $(H)/libkpack.a $(PACK_HEADER) $(PACK_LAUNCHERS) ## build the archive and the pack's headers only
hsaco: $(call KPACK_ESC,$(PACK_HSACOS)) ## build the code objects only: build/hsaco/TARGET/NAME.hsaco
cubins: $(PACK_CUBINS) ## build the code for NVIDIA's targets only: build/hsaco/sm_NN/NAME.cubin
.PHONY: lib hsaco cubins

$(eval $(call KPACK_STAMP,$(H)/stamp/lib,$(LIB_OBJECTS) $(PACK_OBJECTS)))
$(H)/libkpack.a: $(LIB_OBJECTS) $(PACK_OBJECTS) $(H)/stamp/lib $(PACK_HEADER)
	@rm -f $@
	@echo "  AR    $@"
	@$(KPACK_AR) rcsD $@ $(LIB_OBJECTS) $(PACK_OBJECTS)
	@printf '%s\n' '# Made with $@; do not edit. See REMEMBERED in Makefile.' \
	  $(foreach v,$(given),$(call remember,$(v))) >$(H)/settings.mk

ifneq ($(PREFIX_GIVEN),)
all lib: $(H)/prefix.mk
$(H)/prefix.mk: KPACK_FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call KPACK_QUOTE,PREFIX := $(subst $(hash),\$(hash),$(value PREFIX))) >$@
endif

$(H)/kpack$(EXE): $(CMD_OBJECTS) $(H)/libkpack.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ $(SYSTEM_LIBS) $(PACK_CODEC_LIBS)

# Visual Studio links no object files of mingw's, but a DLL of these. All public
# names, packs and modules are exported.
dll: $(H)/kpack.dll ## for Windows: build kpack.dll, with kpack.def, and kpack.lib for Visual Studio
$(H)/kpack.def: $(H)/libkpack.a
	@$(KPACK_CROSS)nm $< | awk 'BEGIN { print "LIBRARY kpack.dll\nEXPORTS" } \
	  $$3 ~ /^kpk_/ && $$3 !~ /^kpk_i_/ && $$2 ~ /^[TDR]$$/ { print "  " $$3 ($$2 == "T" ? "" : " DATA") }' >$@
$(H)/kpack.dll: $(H)/kpack.def
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -shared -static -o $@ $< \
	  -Wl,--whole-archive $(H)/libkpack.a -Wl,--no-whole-archive $(SYSTEM_LIBS) $(PACK_CODEC_LIBS)
	@$(KPACK_CROSS)dlltool -d $< -D $(@F) -l $(H)/kpack.lib
.PHONY: dll

ifneq ($(PREBUILT),)
include tests/dist/dist.mk
else ifneq ($(wildcard tests/tests.mk),) # the crate kpack-sys has no tests
include src/sim/sim.mk
include tests/sim/corpus/corpus.mk
include tests/sim/coverage/coverage.mk
include tests/sim/programs/programs.mk
include src/sim/thunk/thunk.mk
include src/ggml/ggml.mk
include tests/tests.mk
include tests/cross/cross.mk
include tests/branches/branches.mk
include tests/lint.mk
include tests/bench/bench.mk
include gen/report/report.mk
include gen/ship/packages.mk
endif

# ---- the rest ----------------------------------------------------------------

test_goals := check|tests|lint|format|fuzz|coverage|corpus|dieharder|thunk|amd-build
goals = sed -n 's/^\([a-z][a-z-]*\):.*\#\# \(.*\)/  \1\t\2/p' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | \
  grep $(1) '^  $(2)' | expand -t 18
help_begin    = $(if $(PREBUILT),check,deps demo$(KPACK_COMMA) then make deps check)
help_settings = Settings, as NAME=VALUE$(if $(PREBUILT),, (those of tests and measurements: tests/README.md)):
help: ## print this list
	@echo 'Begin with: make $(help_begin)'; echo; echo '$(help_settings)'
	@sed -n 's/?= *$$(.*)##/?=##/;s/^\([A-Za-z_]*\)  *?= *\(.*\)## \(.*\)/  \1 = \2\n        \3/p' Makefile
	@echo; echo 'Goals:'; $(call goals,-Ev,($(test_goals)|bench-))
	@echo; echo 'Goals that test:'; $(call goals,-E,($(test_goals)))
	$(if $(PREBUILT),,@echo; echo 'Goals that measure:'; $(call goals,-E,bench-))

clean: ## remove everything that was built
	rm -rf $(B)

install_contents := $(or $(IMPORT:%=imported from %),$(MODULES) for $(strip $(KPACK_TARGETS_OF_PACK)))
install: ## install what was built last, or what settings say, into DESTDIR and PREFIX
install: $(H)/libkpack.a $(H)/kpack$(EXE) $(PACK_LAUNCHERS) $(if $(PREBUILT),,$(KPACK_COMPRESS))
	@RUN_BY=$(call KPACK_QUOTE,$(RUN_BY)) LIBDIR=$(call KPACK_QUOTE,$(LIBDIR)) gen/ship/install \
	  $(B) $(H) $(call KPACK_QUOTE,$(DESTDIR)) $(call KPACK_QUOTE,$(PREFIX)) $(PACK) $(VERSION) \
	  '$(install_contents)' $(PACK_LAUNCHERS)

uninstall: ## remove what make install put into DESTDIR and PREFIX
	@gen/ship/uninstall $(call KPACK_QUOTE,$(DESTDIR)) $(call KPACK_QUOTE,$(PREFIX))

ifeq ($(PREBUILT),)
nvcc_version = $(if $(KPACK_NV_ARCHS),$(KPACK_COMMA) $(shell $(KPACK_NVCC) --version | \
  sed -n 's/.* \(V[0-9.]*\)$$/nvcc \1/p'))
dist: $(PACK_OBJECTS) $(PACK_HEADER) $(PACK_LAUNCHERS) ## make a tarball that needs only cc, make and xxd to build
	$(if $(IMPORT)$(filter-out none,$(COMPRESS)),@echo 'make dist takes no IMPORT= and no COMPRESS=' >&2; exit 1)
	@gen/ship/dist $(B) $(PACK) $(VERSION) '$(strip $(KPACK_TARGETS_OF_PACK))' '$(MODULES)' \
	  '$(KPACK_DEVICE_VERSION)$(nvcc_version)'
endif

# A crate of kernels for each target holds the archive of a pack of its own.
crate_names = $(foreach a,$(KPACK_TARGETS_OF_PACK),$(call KPACK_C_NAME,$(a)))
crates: $(B)/kpack-gen ## write the crates for Rust's registry to build/crates: src/rust, and one of kernels for each of ARCHS
	@$(foreach a,$(KPACK_TARGETS_OF_PACK),$(pack_make) PACK=$(PACK)_$(call KPACK_C_NAME,$(a)) MODULES='$(MODULES)' \
	  ARCHS='$(a)' B=$(B)/crate/$(call KPACK_C_NAME,$(a)) LIB_OBJECTS= lib && ) true
	@gen/ship/crates $(B) $(PACK) $(VERSION) $(crate_names)

deps: ## install the Debian packages that the goals after it need; alone: all (NVIDIA=1: nvcc, too)
	$(if $(deps_first),@:,NVIDIA='$(NVIDIA)' NVCC='$(NVCC)' gen/deps)

.PHONY: help clean install uninstall dist crates deps
