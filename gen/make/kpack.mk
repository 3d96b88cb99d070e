# kpack.mk - rules from .hip sources to an archive of packed code objects
#
# A project of its own includes the installed copy after it has set
#
#   PACK      name of the pack: symbol kpk_PACK, header kpack/PACK.h
#   SOURCES   the .hip files, each a module of its name; or
#   KERNELS   their folder, the current one if not set; and, to take but some,
#   MODULES   names of modules: $(KERNELS)/NAME.hip
#   IMPORT    instead of all these, a folder of prebuilt code objects and their
#             CSV tables, which becomes the pack (README, "Importing")
#
# and, where the defaults do not fit,
#
#   ARCHS     targets to compile for; wide: those that serve all processors;
#             native: those of this machine's GPUs
#   COV       code object version of concrete targets; empty means 5
#   B         folder of everything built: build
#   COMPRESS  none (also if empty), or zstd: code objects are compressed, and
#             programs need libzstd
#   EMBED     xxd (also if empty): C arrays made by xxd; incbin: the assembler
#             reads the files, for packs of hundreds of megabytes
#   HIPCC, ROCM_PATH, HIPFLAGS, NVCC, NVCCFLAGS
#             the compilers, behind a launcher too ('ccache clang-22'), and
#             flags for them; -D, -U and -I of HIPFLAGS hold for NVIDIA's, too
#   HIPFLAGS_NAME
#             more of these, for module NAME alone
#   WAVES64_NAME
#             RDNA's targets for which module NAME is compiled in two parts,
#             such as $(KPACK_WMMA_TARGETS):
#             with -DKPK_WAVES=64 in waves of 64, with -DKPK_WAVES=32 in waves
#             of 32. Elsewhere KPK_WAVES is not defined. Together the parts must
#             have every kernel once
#
# and gets
#
#   PACK_ARCHIVE, PACK_HEADER, PACK_LAUNCHERS
#             $(B)/libPACK.a, for `-lkpack` to come after, its header, and the
#             typed launchers' headers
#   PACK_CFLAGS, PACK_LIBS
#             for programs that use them
#   PACK_HSACOS, PACK_CUBINS, PACK_EMBEDS, PACK_OBJECTS
#             what the pack is made of, each with its rules
#   kpack-pack
#             a goal: all of it; the default one of a makefile without targets
#
# It sets no name that does not begin with KPACK_ or PACK_, and changes nothing
# else of the makefile that includes it: settings are read where it is included.
# One pack a makefile, or in one line without a makefile:
#
#   make -f $(pkg-config --variable=makefile kpack) PACK=mine SOURCES=a.hip
#
# kpack's own Makefile sets KPACK_ROOT, its tree, and KPACK_MORE_ARCHS, targets
# whose code objects have rules without being in the pack.
#
# Recipes quote file names: a target ID such as gfx90a:xnack+ is part of them.
# In rules its colon is escaped ($(call KPACK_ESC,...)).

KPACK_MK   := $(lastword $(MAKEFILE_LIST))
ifeq ($(wildcard $(KPACK_MK)),)
$(error kpack.mk: its path has a blank ('... $(KPACK_MK)'), which GNU Make does not take; give a link to its folder: ln -s)
endif
KPACK_GOAL := $(.DEFAULT_GOAL)

# ---- settings --------------------------------------------------------------

KPACK_B        := $(or $(strip $(B)),build)
KPACK_KERNELS  := $(or $(KERNELS),.)
KPACK_COMPRESSION := $(or $(COMPRESS),none)
KPACK_EMBEDDING := $(or $(EMBED),xxd)
ifneq ($(IMPORT),)
KPACK_SOURCES :=
KPACK_MODULES := $(MODULES)
else
KPACK_SOURCES := $(or $(SOURCES),$(MODULES:%=$(KPACK_KERNELS)/%.hip),$(sort $(wildcard $(KPACK_KERNELS)/*.hip)))
KPACK_MODULES := $(or $(MODULES),$(basename $(notdir $(KPACK_SOURCES))))
endif

ifdef KPACK_ROOT
KPACK_TOOLS   := $(KPACK_ROOT)/gen/make
KPACK_TARGETS := $(KPACK_ROOT)/src/base/target_table.h
KPACK_INCLUDE := $(KPACK_ROOT)/include
KPACK_GEN     ?= $(if $(PREBUILT),$(KPACK_ROOT)/gen/ship/prebuilt-gen,$(KPACK_B)/kpack-gen)
KPACK_EMBED_TOOL := $(KPACK_B)/kpack-embed
KPACK_COMPRESS := $(KPACK_B)/kpack-compress
KPACK_CODECS  := $(KPACK_ROOT)/src/codec
KPACK_MISSING := $(if $(PREBUILT),,$(if $(MODULES),$(filter-out $(wildcard $(KPACK_SOURCES)),$(KPACK_SOURCES))))

ifneq ($(KPACK_MISSING),)
$(error MODULES: no such file: $(KPACK_MISSING); modules are: $(sort $(basename $(notdir $(wildcard $(KPACK_KERNELS)/*.hip)))))
endif
else
KPACK_TOOLS   := $(patsubst %/,%,$(dir $(KPACK_MK)))
KPACK_TARGETS := $(KPACK_TOOLS)/target_table.h
KPACK_PREFIX  := $(patsubst %/share/kpack,%,$(KPACK_TOOLS))
KPACK_LIBDIR  := lib
KPACK_INCLUDE := $(KPACK_PREFIX)/include
KPACK_GEN     := $(KPACK_PREFIX)/libexec/kpack/kpack-gen
KPACK_EMBED_TOOL := $(KPACK_PREFIX)/libexec/kpack/kpack-embed
KPACK_COMPRESS := $(KPACK_PREFIX)/libexec/kpack/kpack-compress
KPACK_CODECS  := $(KPACK_TOOLS)/codec

ifeq ($(PACK),)
$(error kpack.mk: PACK is not set: it is the name of the pack, as in PACK := mine)
endif
ifeq ($(PACK),kpack)
$(error kpack.mk: PACK=kpack: libkpack.a is kpack's own; take another name)
endif
ifeq ($(strip $(KPACK_MODULES)$(IMPORT)),)
$(error kpack.mk: no kernels: SOURCES is not set, and there is no $(KPACK_KERNELS)/*.hip)
endif
ifeq ($(wildcard $(KPACK_GEN)),)
$(error kpack.mk: $(KPACK_GEN) is not there: this kpack was installed from an archive of prebuilt kernels and cannot \
  build others; install it from its sources)
endif
endif

# Names of all built files begin with KPACK_B, in rules and in recipes.
KPACK_BAD_B := $(shell printf %s '$(subst ','\'',$(KPACK_B))' | LC_ALL=C tr -d 'A-Za-z0-9_./+,@~^\200-\377-')
ifneq ($(KPACK_BAD_B)$(filter-out 1,$(words $(KPACK_B))),)
$(error B=$(B): GNU Make or a shell reads $(or $(strip $(KPACK_BAD_B)),a blank) in a \
  folder's name as its own; give a link to the folder: ln -s)
endif
ifneq ($(filter -%,$(KPACK_B)),)
$(error B=$(B): begins as an option does; write B=./$(B))
endif
ifneq ($(filter-out 4 5 6,$(COV)),)
$(error COV=$(COV): code object versions are 4, 5 and 6)
endif
ifneq ($(filter-out none zstd,$(KPACK_COMPRESSION)),)
$(error COMPRESS=$(KPACK_COMPRESSION): none or zstd)
endif
ifneq ($(if $(filter zstd,$(KPACK_COMPRESSION)),$(IMPORT)),)
$(error COMPRESS=zstd: an imported pack is not compressed; leave one of COMPRESS and IMPORT out)
endif
ifneq ($(filter-out xxd incbin,$(KPACK_EMBEDDING)),)
$(error EMBED=$(KPACK_EMBEDDING): xxd or incbin)
endif
ifneq ($(IMPORT),)
ifneq ($(words $(IMPORT)),1)
$(error IMPORT=$(IMPORT): paths have no blanks, which GNU Make does not take; give a link to the folder: ln -s)
endif
ifneq ($(strip $(KPACK_MODULES)),)
$(error IMPORT=$(IMPORT): an imported tree is a pack of its own; build the one of MODULES=$(KPACK_MODULES) apart and link both)
endif
ifeq ($(wildcard $(IMPORT)/.),)
$(error IMPORT=$(IMPORT): no such folder)
endif
endif
ifneq ($(words $(KPACK_MODULES)),$(words $(sort $(KPACK_MODULES))))
$(error kpack.mk: two sources have one file name: $(KPACK_SOURCES); a module has the name of its file)
endif
ifneq ($(filter format host_code types,$(PACK)),)
$(error PACK=$(PACK): kpack/$(PACK).h is a header of kpack's own; take another name)
endif
ifneq ($(filter pack,$(KPACK_MODULES)),)
$(error no module may be called 'pack': its table would be that of the pack)
endif

# ---- helpers ---------------------------------------------------------------

KPACK_COMMA := ,
KPACK_EMPTY :=
KPACK_SPACE := $(KPACK_EMPTY) $(KPACK_EMPTY)
define KPACK_NEWLINE


endef
KPACK_ESC    = $(subst :,\:,$(1))
KPACK_QUOTE  = '$(subst ','\'',$(1))'

# A stamp changes when the text that its dependents were made from does.
# The text is quoted here and not in the recipe: there, a comma of it would end
# an argument.
# Two makes at once in one folder each write a file of their own.
# $(call KPACK_STAMP,FILE,TEXT)
define KPACK_STAMP
$(1): KPACK_FORCE
	@mkdir -p $$(@D); new=$$@.$$$$$$$$; \
	printf '%s\n' $(subst $$,$$$$,$(call KPACK_QUOTE,$(subst $(CURDIR),.,$(2)))) >$$$$new; \
	if cmp -s $$$$new $$@; then rm $$$$new; else mv $$$$new $$@; fi
endef
# The same of a text that may be empty: no stamp unless it has been there.
# $(call KPACK_MAYBE_STAMP,FILE,TEXT)
KPACK_MAYBE_STAMP = $(if $(2)$(wildcard $(1)),$(eval $(call KPACK_STAMP,$(1),$(2))))
KPACK_FORCE:
.PHONY: KPACK_FORCE

# Names become parts of symbols, as kpack-gen says at the end of the build.
# $(call KPACK_NOT_LIKE,NAMES,PATTERN)
KPACK_NOT_LIKE = $(if $(1),$(shell printf '%s\n' $(foreach n,$(1),$(call KPACK_QUOTE,$(n))) | LC_ALL=C grep -vxE '$(2)'))
KPACK_BAD_NAMES := $(call KPACK_NOT_LIKE,$(KPACK_MODULES),[A-Za-z][A-Za-z0-9_]*)
ifneq ($(KPACK_BAD_NAMES),)
$(error kpack.mk: no name for a module: $(KPACK_BAD_NAMES). A module is called as its file, and the name is part of C functions: \
  letters, digits and '_', a letter first. Rename the file)
endif
ifneq ($(call KPACK_NOT_LIKE,$(PACK),[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*),)
$(error PACK=$(PACK): no name for a pack, since it is part of C functions: \
  letters, digits and single '_' between them, a letter first)
endif

# ---- targets ---------------------------------------------------------------

# ARCHS=wide, or half of it, stands for the targets that serve all processors;
# native for the machine's own.
KPACK_WIDE := wide wide-amd wide-nvidia
KPACK_NATIVE := $(if $(filter native,$(ARCHS)),$(shell $(KPACK_TOOLS)/native-targets))
KPACK_ASKED_ARCHS := $(patsubst native,$(KPACK_NATIVE),$(or $(ARCHS),gfx90a gfx942 gfx1030 gfx1100 gfx1201))
ifeq ($(strip $(KPACK_ASKED_ARCHS)),)
$(error ARCHS=native: no GPU is here that the kernel (/sys/class/kfd) or nvidia-smi names; \
  name targets, as in ARCHS="gfx942 gfx1100")
endif

# The rows of the target table as words:
# name/ISA version/sramecc/xnack/wave/wmma/generic, which generic targets have not
KPACK_ROWS := $(shell tr -d ' "' <$(KPACK_TARGETS) | awk -F'[(,)]' \
  '/^X/ {own = $$2 ~ /_generic$$/; \
  print (own ? $$7 : $$2)"/"$$4*1000+$$5*100+$$6"/"$$8"/"$$9"/"$$10"/"$$13"/"(own ? "" : $$7)}')
KPACK_PROCESSOR = $(firstword $(subst :, ,$(1)))
KPACK_ROW   = $(filter $(call KPACK_PROCESSOR,$(1))/%,$(KPACK_ROWS))
KPACK_FIELD = $(word $(1),$(subst /, ,$(2)))
KPACK_ISA_VERSION = $(call KPACK_FIELD,2,$(call KPACK_ROW,$(1)))
KPACK_WAVE_SIZE   = $(call KPACK_FIELD,5,$(call KPACK_ROW,$(1)))
# Targets with WMMA, for WAVES64_NAME.
KPACK_WMMA_TARGETS := $(strip $(foreach r,$(KPACK_ROWS),\
  $(if $(filter-out 0,$(call KPACK_FIELD,6,$(r))),$(call KPACK_FIELD,1,$(r)))))
KPACK_COV = $(if $(filter %-generic,$(firstword $(subst :, ,$(1)))),6,$(or $(COV),5))

# The settings that a processor's features allow, in the order they must have.
KPACK_SUFFIXES = $(if $(filter 11,$(call KPACK_FIELD,3,$(1))$(call KPACK_FIELD,4,$(1))),\
  :sramecc+:xnack+ :sramecc+:xnack- :sramecc-:xnack+ :sramecc-:xnack-) \
  $(if $(filter 1,$(call KPACK_FIELD,3,$(1))),:sramecc+ :sramecc-) \
  $(if $(filter 1,$(call KPACK_FIELD,4,$(1))),:xnack+ :xnack-)
KPACK_NAMES := $(foreach r,$(KPACK_ROWS),$(call KPACK_FIELD,1,$(r)))
KPACK_VALID := $(foreach r,$(KPACK_ROWS),$(call KPACK_FIELD,1,$(r)) \
  $(addprefix $(call KPACK_FIELD,1,$(r)),$(call KPACK_SUFFIXES,$(r))))
KPACK_IS_NVIDIA = $(shell echo $(1) | grep -Ex '(sm|compute)_[1-9][0-9]{1,2}[af]?')
# $(call KPACK_NO_TARGETS,WORDS): the words that are no targets
KPACK_NO_TARGETS = $(strip $(filter-out $(KPACK_VALID) $(KPACK_WIDE) sm_% compute_%,$(1)) \
  $(foreach a,$(filter sm_% compute_%,$(1)),$(if $(call KPACK_IS_NVIDIA,$(a)),,$(a))))
KPACK_BAD_ARCHS := $(call KPACK_NO_TARGETS,$(KPACK_ASKED_ARCHS))
ifneq ($(KPACK_BAD_ARCHS),)
# Suggestions for wrong targets: the same words in lower case and without commas;
# else for each the settings of its processor, similar names, or all names.
KPACK_LIKELY := $(shell echo $(call KPACK_QUOTE,$(KPACK_ASKED_ARCHS)) | tr 'A-Z,;' 'a-z  ')
KPACK_ALIKE = $(if $(filter %-generic,$(1)),$(filter %-generic,$(KPACK_NAMES)),\
  $(filter $(shell echo $(call KPACK_QUOTE,$(1)) | sed 's/.$$//')%,$(KPACK_NAMES)))
KPACK_OF_NVIDIA := of NVIDIA: sm_NN$(KPACK_COMMA) a cubin$(KPACK_COMMA) which nvcc makes; \
  compute_NN$(KPACK_COMMA) PTX$(KPACK_COMMA) which clang makes
KPACK_FEATURES = $(or $(strip $(call KPACK_SUFFIXES,$(call KPACK_ROW,$(1)))),none)
KPACK_HINT = $(strip $(or \
  $(if $(call KPACK_ROW,$(1)),features of $(call KPACK_PROCESSOR,$(1)): $(KPACK_FEATURES)),\
  $(if $(filter sm% compute%,$(1)),$(KPACK_OF_NVIDIA)),\
  $(if $(strip $(call KPACK_ALIKE,$(1))),names like $(1): $(call KPACK_ALIKE,$(1))),\
  valid: $(KPACK_NAMES); $(KPACK_OF_NVIDIA); native$(KPACK_COMMA) this machine's; wide$(KPACK_COMMA) for every processor))
KPACK_HINTS := $(if $(call KPACK_NO_TARGETS,$(filter-out native,$(KPACK_LIKELY))),\
  $(foreach a,$(KPACK_BAD_ARCHS),|$(call KPACK_HINT,$(a))),|is ARCHS="$(KPACK_LIKELY)" meant?)
$(error ARCHS: no such target: $(KPACK_BAD_ARCHS)$(subst |,$(KPACK_NEWLINE)  ,$(subst $(KPACK_SPACE)|,|,$(KPACK_HINTS))))
endif

# Asked at each make, so that a new compiler rebuilds; written if it differs.
# KPACK_PLAIN=1 says that no goal needs it.
ifeq ($(filter 1,$(KPACK_PLAIN))$(IMPORT)$(PREBUILT),)
KPACK_DEVICE_MK := $(KPACK_B)/device/compiler.mk
$(shell HIPCC='$(HIPCC)' ROCM_PATH='$(ROCM_PATH)' $(KPACK_TOOLS)/find-compiler $(KPACK_DEVICE_MK))
include $(KPACK_DEVICE_MK)
$(info kpack: $(or $(KPACK_DEVICE_ERROR),$(KPACK_DEVICE_NOTE)))
endif

# CUDA's compiler: NVIDIA's toolkit, or what `make deps NVIDIA=1` took from PyPI.
KPACK_NVCC_OF_PYPI := $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/kpack/cuda/nvidia/*/bin/nvcc
KPACK_NVCC := $(or $(NVCC),$(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc) \
  $(lastword $(sort $(wildcard $(KPACK_NVCC_OF_PYPI))))),nvcc)

# $(call KPACK_WIDE_TARGETS,wide): those that the compilers know.
KPACK_WIDE_TARGETS = $(shell $(KPACK_TOOLS)/wide-targets $(dir $(KPACK_TARGETS)) $(1) \
  $(if $(KPACK_DEVICE_CXX),$(KPACK_DEVICE_CXX) $(KPACK_NVCC)))
KPACK_ARCHS := $(foreach a,$(KPACK_ASKED_ARCHS),\
  $(if $(filter $(KPACK_WIDE),$(a)),$(call KPACK_WIDE_TARGETS,$(a)),$(a)))
KPACK_NV_ARCHS  := $(sort $(filter sm_% compute_%,$(KPACK_ARCHS)))
KPACK_AMD_ARCHS := $(sort $(filter-out sm_% compute_%,$(KPACK_ARCHS)))
# All of them, AMD's first; and a code object's file: hsaco, cubin or ptx.
KPACK_TARGETS_OF_PACK := $(KPACK_AMD_ARCHS) $(KPACK_NV_ARCHS)
KPACK_EXTENSION = $(if $(filter sm_%,$(1)),cubin,$(if $(filter compute_%,$(1)),ptx,hsaco))
KPACK_OBJECT = $(KPACK_B)/hsaco/$(1)/$(2).$(call KPACK_EXTENSION,$(1))

# A device that runs code for a target: its own processor, or the first that a
# generic target covers, with the same features.
KPACK_COVERED   = $(firstword $(foreach r,$(KPACK_ROWS),\
  $(if $(filter $(1),$(call KPACK_FIELD,7,$(r))),$(call KPACK_FIELD,1,$(r)))) $(1))
KPACK_DEVICE_OF = $(patsubst $(call KPACK_PROCESSOR,$(1))%,$(call KPACK_COVERED,$(call KPACK_PROCESSOR,$(1)))%,$(1))
KPACK_DEVICES = $(subst $(KPACK_SPACE),$(KPACK_COMMA),$(strip \
  $(foreach a,$(KPACK_AMD_ARCHS),$(call KPACK_DEVICE_OF,$(a)))))

# gfx90a:xnack- in the name of an archive's member is gfx90a_xnack_off.
KPACK_C_NAME = $(subst -,_,$(subst :,_,$(subst +,_on,$(patsubst %-,%_off,$(subst -:,_off:,$(1))))))

# ---- the compilers ---------------------------------------------------------

KPACK_CHECK = $(if $(KPACK_DEVICE_ERROR),@echo $(call KPACK_QUOTE,kpack: $(KPACK_DEVICE_ERROR)) >&2; exit 1)

KPACK_DEVICE_STD := -std=c++17
# Paths and dates must not reach the output; IEEE results are part of the ABI.
# The folder of all may have blanks in its name.
KPACK_HIPFLAGS = -x hip --offload-device-only --no-gpu-bundle-output \
  -O3 $(KPACK_DEVICE_STD) -Wall -Wextra -fno-fast-math -fuse-cuid=none \
  -I$(KPACK_KERNELS)/include $(HIPFLAGS)
KPACK_PREFIX_MAP = $(call KPACK_QUOTE,-ffile-prefix-map=$(CURDIR)/=)

ifndef KPACK_ROOT # the headers of kpack's own kernels, behind the project's; what HIP 5.2 lacks
KPACK_HIPFLAGS += -idirafter $(KPACK_TOOLS)/device $(if $(KPACK_DEVICE_BITCODE),-isystem $(KPACK_TOOLS)/hip)
KPACK_NVIDIA_HEADERS = -isystem $(KPACK_TOOLS)/device
endif
# Macros and include folders in HIPFLAGS reach a project's sources for every
# GPU.
KPACK_DEFINES = $(filter -D% -U% -I%,$(1))
KPACK_NVIDIA_FLAGS = $(strip -I$(KPACK_KERNELS)/include $(KPACK_NVIDIA_HEADERS) $(call KPACK_DEFINES,$(HIPFLAGS)))

# Old device libraries are linked by hand, with the two constants that newer
# ones have per target made here, and the wavefront's size that clang 22 no
# longer defines for HIP's old headers: $(call KPACK_TARGET_FLAGS,TARGET[,64]).
ifneq ($(KPACK_DEVICE_BITCODE),)
KPACK_CONSTANTS = $(KPACK_B)/device/v$(call KPACK_ISA_VERSION,$(1))-cov$(call KPACK_COV,$(1)).bc
KPACK_BITCODE   = $(foreach l,hip ocml ockl oclc_correctly_rounded_sqrt_on \
  oclc_daz_opt_off oclc_finite_only_off oclc_unsafe_math_off \
  oclc_wavefrontsize64_$(if $(filter 64,$(or $(2),$(call KPACK_WAVE_SIZE,$(1)))),on,off),\
  $(KPACK_DEVICE_BITCODE)/$(l).bc) $(call KPACK_CONSTANTS,$(1))
KPACK_TARGET_FLAGS = -nogpulib -Wno-linker-warnings \
  $(foreach m,__AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__,\
    -U$(m) -D$(m)=$(or $(2),$(call KPACK_WAVE_SIZE,$(1)))) \
  $(foreach l,$(call KPACK_BITCODE,$(1),$(2)),-Xclang -mlink-builtin-bitcode -Xclang $(l))
endif

# A compiler behind a launcher (HIPCC='ccache clang-22'). A cache takes what is
# compiled for a checkout anywhere, if it knows all that goes in and comes out:
# device libraries, which ccache does not look for in the command line, and the
# list of headers. Clang does not heed -MF here, a cache nothing else. Nor does
# IR depend on the folder (KPACK_IR_FLAGS), as ccache takes of all with -g.
# ccache's preprocessor mode fails here: the preprocessed file is an object
# without the names of headers, so an edited header gave the old code.
# CCACHE_DEPEND makes ccache read the list of headers, where it finds headers of
# a single make target only. CCACHE_NAMESPACE hides results kept without
# CCACHE_DEPEND.
KPACK_CCACHE = CCACHE_DEPEND=1 CCACHE_NAMESPACE=kpack CCACHE_EXTRAFILES='$(subst $(KPACK_SPACE),:,$(strip $(1)))'
# $(call KPACK_LAUNCHED,FILES): the compiler, behind its launcher. FILES go in
# beside the source.
KPACK_LAUNCHED = $(if $(KPACK_DEVICE_LAUNCHER),$(KPACK_CCACHE) $(KPACK_DEVICE_LAUNCHER) )$(KPACK_DEVICE_CXX)

# Not stripped, though it would save a twentieth: HIP 5.2 crashes on a code
# object without .symtab.
KPACK_MAP := $(KPACK_TOOLS)/device.map
KPACK_DEVICE_LDFLAGS := --version-script=$(KPACK_MAP)

KPACK_DEVICE_STAMP = $(KPACK_DEVICE_CXX) $(KPACK_DEVICE_VERSION) $(KPACK_DEVICE_FLAGS) $(KPACK_DEVICE_BITCODE) \
  $(KPACK_HIPFLAGS) $(KPACK_DEVICE_LDFLAGS) $(COV)
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/device,$(KPACK_DEVICE_STAMP)))
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/pack,$(PACK): $(KPACK_MODULES): $(KPACK_TARGETS_OF_PACK)))
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/name,$(PACK)))

# ---- sources to code objects -----------------------------------------------

PACK_HSACOS := $(foreach a,$(KPACK_AMD_ARCHS),$(KPACK_MODULES:%=$(KPACK_B)/hsaco/$(a)/%.hsaco))
PACK_CUBINS := $(foreach a,$(KPACK_NV_ARCHS),$(foreach m,$(KPACK_MODULES),$(call KPACK_OBJECT,$(a),$(m))))
PACK_EMBEDS := $(foreach a,$(KPACK_TARGETS_OF_PACK),$(KPACK_MODULES:%=$(KPACK_B)/embed/$(a)/%.c))

# A module's source and the CSV file beside it, its table; files for all sources
# with second names of kernels and with host types. Each such file has a stamp,
# which changes when the file is removed.
KPACK_IS_SOURCE_OF = $(filter $(1),$(basename $(notdir $(2))))
KPACK_SOURCE_OF = $(or $(foreach s,$(KPACK_SOURCES),$(if $(call KPACK_IS_SOURCE_OF,$(1),$(s)),$(s))),\
  $(KPACK_KERNELS)/$(1).hip)
KPACK_CSV_MAKER = $(wildcard $(basename $(call KPACK_SOURCE_OF,$(1))).csv.c)
KPACK_CSV_OF    = $(or $(wildcard $(basename $(call KPACK_SOURCE_OF,$(1))).csv),\
  $(if $(call KPACK_CSV_MAKER,$(1)),$(KPACK_B)/gen/$(1).csv))
KPACK_ALIASES  := $(wildcard $(KPACK_KERNELS)/aliases.csv)
KPACK_TYPES    := $(wildcard $(KPACK_KERNELS)/types.csv)
KPACK_STAMP_IF  = $(wildcard $(KPACK_B)/stamp/$(1)) $(if $(2),$(KPACK_B)/stamp/$(1))
KPACK_ALIASES_STAMP := $(firstword $(call KPACK_STAMP_IF,aliases,$(KPACK_ALIASES)))
KPACK_TYPES_STAMP   := $(firstword $(call KPACK_STAMP_IF,types,$(KPACK_TYPES)))
KPACK_CSV_STAMP      = $(firstword $(call KPACK_STAMP_IF,csv.$(1),$(call KPACK_CSV_OF,$(1))))
KPACK_FLAGS_OF       = $(strip $(HIPFLAGS_$(1)) $(WAVES64_$(1):%=waves64/%))
KPACK_FLAGS_STAMP    = $(firstword $(call KPACK_STAMP_IF,flags.$(1),$(call KPACK_FLAGS_OF,$(1))))
$(call KPACK_MAYBE_STAMP,$(KPACK_B)/stamp/aliases,$(KPACK_ALIASES))
$(call KPACK_MAYBE_STAMP,$(KPACK_B)/stamp/types,$(KPACK_TYPES))
$(foreach m,$(KPACK_MODULES),\
  $(call KPACK_MAYBE_STAMP,$(KPACK_B)/stamp/flags.$(m),$(call KPACK_FLAGS_OF,$(m)))\
  $(call KPACK_MAYBE_STAMP,$(KPACK_B)/stamp/csv.$(m),$(call KPACK_CSV_OF,$(m))))

# A table may be a program that prints it, NAME.csv.c: both then follow from
# the lists that the module itself includes.
define KPACK_CSV_RULE
$(KPACK_B)/gen/$(1).csv: $(call KPACK_CSV_MAKER,$(1))
	@mkdir -p '$$(@D)'
	@$$(CC) -std=c11 -I$$(KPACK_KERNELS)/include -MMD -MP -MF '$$@.d' -MT '$$@' -o '$$@.maker' $$<
	@'$$@.maker' >'$$@.new' && mv '$$@.new' '$$@' && rm '$$@.maker'
endef
$(foreach m,$(KPACK_MODULES),$(if $(call KPACK_CSV_MAKER,$(m)),$(eval $(call KPACK_CSV_RULE,$(m)))))
-include $(wildcard $(KPACK_B)/gen/*.csv.d)

# Kernels compiled elsewhere, if this build wants exactly the prebuilt pack,
# targets and modules.
ifneq ($(PREBUILT),)
KPACK_BAD_PREBUILT := \
  $(filter-out $(PREBUILT_PACK) $(PREBUILT_ARCHS) $(PREBUILT_MODULES),$(PACK) $(KPACK_ARCHS) $(KPACK_MODULES)) \
  $(filter-out $(KPACK_ARCHS) $(KPACK_MODULES),$(PREBUILT_ARCHS) $(PREBUILT_MODULES)) \
  $(filter-out none,$(KPACK_COMPRESSION)) $(IMPORT)
ifneq ($(strip $(KPACK_BAD_PREBUILT)),)
$(error this tree holds pack $(PREBUILT_PACK), compiled for ARCHS='$(PREBUILT_ARCHS)' with MODULES='$(PREBUILT_MODULES)', \
  not: $(strip $(KPACK_BAD_PREBUILT)). To compile others remove the folder prebuilt, with clang and HIP installed)
endif
$(KPACK_B)/stamp/prebuilt: SHA256SUMS
	@mkdir -p $(@D)
	@grep ' prebuilt/' $< | sha256sum -c --quiet && touch $@

# $(call KPACK_CODE_RULES,TARGET,MODULE)
define KPACK_CODE_RULES
$(call KPACK_ESC,$(call KPACK_OBJECT,$(1),$(2))): \
    prebuilt/hsaco/$(call KPACK_ESC,$(1))/$(2).$(call KPACK_EXTENSION,$(1)) $(KPACK_B)/stamp/prebuilt
	@mkdir -p '$$(@D)'
	@cp '$$<' '$$@'
endef
KPACK_NVIDIA_RULE = $(KPACK_CODE_RULES)
else

# The constants of one ISA version and ABI: $(call KPACK_CONSTANTS_RULE,FILE). The
# file's name, v9402-cov5.bc, has both.
KPACK_CONSTANTS_ISA = $(patsubst v%,%,$(firstword $(subst -cov, ,$(basename $(notdir $(1))))))
KPACK_CONSTANTS_COV = $(lastword $(subst -cov, ,$(basename $(notdir $(1)))))
define KPACK_CONSTANTS_RULE
$(1): $(KPACK_TOOLS)/constants.c $(KPACK_B)/stamp/device
	@mkdir -p $$(@D)
	@$$(KPACK_DEVICE_CXX) --target=amdgcn-amd-amdhsa -nogpulib -x c -c -emit-llvm \
	  -DISA_VERSION=$(call KPACK_CONSTANTS_ISA,$(1)) -DABI_VERSION=$(call KPACK_CONSTANTS_COV,$(1))00 \
	  -mcode-object-version=$(call KPACK_CONSTANTS_COV,$(1)) -o $$@ $$<
endef
ifneq ($(KPACK_DEVICE_BITCODE),)
$(foreach f,$(sort $(foreach n,$(KPACK_NAMES),$(call KPACK_CONSTANTS,$(n)))),$(eval $(call KPACK_CONSTANTS_RULE,$(f))))
endif

# Compiled to a relocatable object: launchers cache what does not link, and
# second names are put in before linking. Clang has no option for it but that
# of its front end, which comes last and wins over -S.
#
# $(call KPACK_COMPILE,TARGET,MODULE) is the command, less input and output. A
# module in two parts has two commands, in this order:
#   $(call KPACK_COMPILE,TARGET,MODULE,64,PART)  compiles the part in waves of 64
#   $(call KPACK_COMPILE,TARGET,MODULE,,PART)    compiles the other part and links
#                                                the first one in
# The first part is IR, in which each function keeps its wave's size. The IR is
# optimized first, so that only kernels are left and no function that both parts
# have. -cuid changes the name that clang gives every translation unit.
KPACK_PART_OF = $(if $(filter $(WAVES64_$(2)),$(call KPACK_PROCESSOR,$(1))),$(KPACK_B)/code/$(1)/$(2).w64.bc)
KPACK_FIRST_PART_FLAGS = -mwavefrontsize64 -DKPK_WAVES=64 -Xclang -cuid=waves64
KPACK_OTHER_PART_FLAGS = -DKPK_WAVES=32 -Xclang -mlink-bitcode-file -Xclang '$(1)'
# $(call KPACK_PART_FLAGS,64 or nothing,PART)
KPACK_PART_FLAGS = $(if $(1),$(KPACK_FIRST_PART_FLAGS),$(if $(2),$(call KPACK_OTHER_PART_FLAGS,$(2))))
# Writes the list of headers. A launcher reads the driver's options, which clang
# does not heed here; the front end has options of its own.
KPACK_DEPENDENCY_FLAGS = $(if $(KPACK_DEVICE_LAUNCHER),\
  -MD -MP -MF '$@.d' -MT '$(call KPACK_ESC,$@)' -Wno-unused-command-line-argument,\
  -Xclang -MP -Xclang -MT -Xclang '$(call KPACK_ESC,$@)') -Xclang -dependency-file -Xclang '$@.d'
KPACK_COMPILE = $(call KPACK_LAUNCHED,$(call KPACK_BITCODE,$(1),$(3)) $(if $(3),,$(4))) \
  $(KPACK_HIPFLAGS) $(KPACK_PREFIX_MAP) $(HIPFLAGS_$(2)) $(KPACK_DEVICE_FLAGS) --offload-arch=$(1) \
  -mcode-object-version=$(call KPACK_COV,$(1)) $(call KPACK_TARGET_FLAGS,$(1),$(3)) \
  $(call KPACK_PART_FLAGS,$(3),$(4)) $(KPACK_DEPENDENCY_FLAGS) -S -Xclang -emit-$(if $(3),llvm-bc,obj)
KPACK_LINK = $(KPACK_DEVICE_CXX) --target=amdgcn-amd-amdhsa -mcpu=$(1) -mcode-object-version=$(call KPACK_COV,$(1)) \
  $(KPACK_DEVICE_LDFLAGS:%=-Wl,%)

# $(call KPACK_CODE_RULE,TARGET,MODULE,FILE,64 or nothing,PART,what FILE is made of besides)
define KPACK_CODE_RULE
$(call KPACK_ESC,$(3)): $(call KPACK_SOURCE_OF,$(2)) $(KPACK_B)/stamp/device \
    $(call KPACK_CONSTANTS,$(1)) $(call KPACK_FLAGS_STAMP,$(2)) $(6)
	$$(KPACK_CHECK)
	@mkdir -p '$$(@D)'
	@echo "  HIPCC $(1)/$(2)$(4:%=, waves of %)"
	@$$(call KPACK_COMPILE,$(1),$(2),$(4),$(5)) -o '$$@' $$<
endef

# $(call KPACK_PART_RULES,TARGET,MODULE,PART): the object; and PART, if there is one
define KPACK_PART_RULES
$(call KPACK_CODE_RULE,$(1),$(2),$(KPACK_B)/code/$(1)/$(2).o,,$(3),$(call KPACK_ESC,$(3)))
$(if $(3),$(call KPACK_CODE_RULE,$(1),$(2),$(3),64,$(3)))
endef

# $(call KPACK_HSACO_RULE,TARGET,MODULE): linked, with the second names put in
# before, if there are any
define KPACK_HSACO_RULE
$(KPACK_B)/hsaco/$(call KPACK_ESC,$(1))/$(2).hsaco: $(KPACK_B)/code/$(call KPACK_ESC,$(1))/$(2).o $(KPACK_MAP) \
    $(KPACK_ALIASES_STAMP) $(if $(KPACK_ALIASES),$(KPACK_ALIASES) $(KPACK_GEN))
	@mkdir -p '$$(@D)'
	$(if $(KPACK_ALIASES),@$$(KPACK_GEN) second-names $(PACK).$(2) '$$@.o' '$$<' $(KPACK_ALIASES))
	@$$(call KPACK_LINK,$(1)) -o '$$@' '$(if $(KPACK_ALIASES),$$@.o,$$<)'
	$(if $(KPACK_ALIASES),@rm '$$@.o')
endef

# $(call KPACK_CODE_RULES,TARGET,MODULE)
define KPACK_CODE_RULES
$(call KPACK_PART_RULES,$(1),$(2),$(call KPACK_PART_OF,$(1),$(2)))
$(call KPACK_HSACO_RULE,$(1),$(2))
endef

# ---- sources to code for NVIDIA ----------------------------------------------

# Cubins by nvcc. sm_90 has the instructions of sm_90a, its matrix unit's: there is
# no other GPU of its major version that could run a cubin without them.
KPACK_NVCCFLAGS = -x cu -cubin -O3 $(KPACK_DEVICE_STD) $(KPACK_NVIDIA_FLAGS) $(NVCCFLAGS)
KPACK_NVCC_ARCH = $(patsubst %_90,%_90a,$(1))
KPACK_NVCC_TARGET = -gencode=arch=$(call KPACK_NVCC_ARCH,$(1:sm_%=compute_%)),code=$(call KPACK_NVCC_ARCH,$(1))

# PTX by clang, with CUDA's headers, which are beside nvcc. Clang wants a header
# of cuRAND's, which need not be there.
KPACK_CUDA_PATH = $(patsubst %/bin/,%,$(dir $(shell command -v $(KPACK_NVCC))))
KPACK_CUDA_FLAGS = -x cuda --cuda-path=$(KPACK_CUDA_PATH) --cuda-device-only -idirafter $(KPACK_TOOLS)/cuda \
  $(KPACK_DEVICE_STD) -Wno-unknown-cuda-version -Wno-\#warnings $(KPACK_NVIDIA_FLAGS)

# PTX is of ISA 7.8, so that drivers since R520 take it, or of the first ISA that
# has the target and what kernels use of it: sm_90's bulk copies are of 8.0,
# sm_90a's maps of 8.3.
KPACK_PTX_ISAS := 88/90 90/80 90a/83 100/86 100a/86 103/88 103a/88 110/90 110a/90 120/87 120a/87 121/88 121a/88
KPACK_PTX_ISA  = $(or $(patsubst $(1)/%,%,$(filter $(1)/%,$(KPACK_PTX_ISAS))),78)
# $(call KPACK_CUDA_TARGET,90a)
KPACK_CUDA_TARGET = --cuda-gpu-arch=sm_$(1) --cuda-feature=+ptx$(call KPACK_PTX_ISA,$(1))

# Clang takes the square root of CUDA's library that is fast, where nvcc takes
# the one that is right. Not every clang has the option.
KPACK_PTX_SQRT = -mllvm --nvvm-reflect-add=__CUDA_PREC_SQRT=1
KPACK_HAS_PTX_SQRT = $(shell $(KPACK_DEVICE_CXX) $(KPACK_PTX_SQRT) -x c -fsyntax-only /dev/null 2>/dev/null && echo 1)
KPACK_PTXFLAGS = $(KPACK_CUDA_FLAGS) -S -O3 -fno-verbose-asm $(if $(KPACK_HAS_PTX_SQRT),$(KPACK_PTX_SQRT))

KPACK_NVCC_CHECK = $(if $(shell command -v $(KPACK_NVCC)),,@echo 'kpack: $(1) needs nvcc, which is not here: \
  give NVCC=/path/to/nvcc. "make deps NVIDIA=1" brings one, and NVIDIA ships it with the CUDA toolkit' >&2; exit 1)

KPACK_PTX_STAMP = $(KPACK_DEVICE_CXX) $(KPACK_DEVICE_VERSION) $(KPACK_PTXFLAGS)
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/nvcc,$(KPACK_NVCC) $(KPACK_NVCCFLAGS)))
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/ptx,$(if $(filter compute_%,$(KPACK_NV_ARCHS)),$(KPACK_PTX_STAMP))))

# $(call KPACK_NVIDIA_RULE,TARGET,MODULE): a rule for a cubin, or for PTX
KPACK_CUBIN_COMMAND = $$(KPACK_NVCC) $$(KPACK_NVCCFLAGS) $$(call KPACK_NVCC_TARGET,$(1))
KPACK_PTX_COMMAND = $$(KPACK_DEVICE_CXX) $$(KPACK_PTXFLAGS) $$(call KPACK_CUDA_TARGET,$(1:compute_%=%))
KPACK_NVIDIA_RULE = $(if $(filter sm_%,$(1)),\
  $(call KPACK_NVIDIA_RULE_OF,$(1),$(2),nvcc,NVCC ,$(KPACK_CUBIN_COMMAND)),\
  $(call KPACK_NVIDIA_RULE_OF,$(1),$(2),ptx,CUDA ,$(KPACK_PTX_COMMAND)))
# $(call KPACK_NVIDIA_RULE_OF,TARGET,MODULE,STAMP,WORD,COMMAND)
define KPACK_NVIDIA_RULE_OF
$(call KPACK_OBJECT,$(1),$(2)): $(call KPACK_SOURCE_OF,$(2)) $(KPACK_B)/stamp/$(3) $(call KPACK_FLAGS_STAMP,$(2))
	$$(call KPACK_NVCC_CHECK,$(1))
	@mkdir -p $$(@D)
	@echo "  $(4) $(1)/$(2)"
	@$(5) $(call KPACK_DEFINES,$(HIPFLAGS_$(2))) -MMD -MP -MF $$@.d -MT $$@ -o $$@ $$< 2>$$@.said || \
	  { $(call KPACK_NVIDIA_FAILED,$(1)); exit 1; }; cat $$@.said >&2; rm $$@.said
endef
# HIP's headers make dozens of errors there: the first will do, with a hint.
KPACK_HIP_HEADERS_SAID = $$<: HIP's headers are for AMD's GPUs and do not compile for $(1). \
  Include kpack's <device.h> in their place, which serves both
KPACK_NVIDIA_FAILED = if grep -q '[ /<"]hip/[a-z0-9_]*[.]h' $$@.said; then grep -m 1 'error' $$@.said; \
  echo "$(KPACK_HIP_HEADERS_SAID)"; \
  else cat $$@.said; fi >&2; rm $$@.said
endif

-include $(wildcard $(KPACK_B)/code/*/*.d $(KPACK_B)/hsaco/*/*.d)

# ---- code objects to C -----------------------------------------------------

# One run of kpack-gen reads all code objects of a module, and its source's IR
# with debug metadata; the IR takes a tenth of the time of compiling for a target.
# It writes the module's tables, the head of each code object (struct kpk_blob),
# and typed launchers. Unchanged files keep their time, so that a change within a
# kernel compiles no program again. The launchers of a module without a source say
# that it has none. A source for NVIDIA alone that clang cannot compile counts as
# none.
KPACK_FIRST_ARCH := $(firstword $(KPACK_TARGETS_OF_PACK))
KPACK_IR_OF = $(if $(PREBUILT),,$(wildcard $(call KPACK_SOURCE_OF,$(1))))
# The IR is compiled for the first target, one of AMD's if there is any. For
# NVIDIA the target is a number such as 90a.
KPACK_FIRST_SM = $(patsubst compute_%,%,$(patsubst sm_%,%,$(if $(filter sm_%,$(KPACK_FIRST_ARCH)),\
  $(call KPACK_NVCC_ARCH,$(KPACK_FIRST_ARCH)),$(KPACK_FIRST_ARCH))))
KPACK_IR_FLAGS_AMD = $(filter-out -Wall -Wextra,$(KPACK_HIPFLAGS)) $(HIPFLAGS_$(1)) $(KPACK_DEVICE_FLAGS) \
  $(filter -U% -D%,$(call KPACK_TARGET_FLAGS,$(KPACK_FIRST_ARCH))) -nogpulib --offload-arch=$(KPACK_FIRST_ARCH)
KPACK_IR_FLAGS_NVIDIA = $(KPACK_CUDA_FLAGS) $(call KPACK_DEFINES,$(HIPFLAGS_$(1))) $(call KPACK_CUDA_TARGET,$(KPACK_FIRST_SM))
KPACK_IR_FLAGS = $(if $(KPACK_AMD_ARCHS),$(KPACK_IR_FLAGS_AMD),$(KPACK_IR_FLAGS_NVIDIA)) \
  -w -O0 -g -fdebug-compilation-dir=. -S -emit-llvm -Xclang -disable-llvm-passes
# The end of NVIDIA's command. If the command fails, there is no IR, and a note
# says why.
KPACK_NO_IR_SAID = kpack: module $(1) has no typed launchers and names no arguments, because \
  $(notdir $(KPACK_DEVICE_CXX)) does not compile it for $(KPACK_FIRST_ARCH): \
  $$(grep -m 1 error: '$(@:.made=.said)')
KPACK_IR_OTHERWISE = 2>'$(@:.made=.said)' || { rm -f '$(@:.made=.ll)'; \
  echo "$(KPACK_NO_IR_SAID)"; }; \
  rm -f '$(@:.made=.said)'
KPACK_IR_COMPILER = $(if $(KPACK_DEVICE_LAUNCHER),CCACHE_NOHASHDIR=1 $(KPACK_DEVICE_LAUNCHER) )$(KPACK_DEVICE_CXX)
# $(call KPACK_IR,MODULE) writes the IR beside the rule's target.
KPACK_IR = $(KPACK_IR_COMPILER) $(KPACK_IR_FLAGS) -o '$(@:.made=.ll)' $(call KPACK_SOURCE_OF,$(1)) \
  $(if $(KPACK_AMD_ARCHS),,$(KPACK_IR_OTHERWISE))
# The generator's argument for the IR, if there is any.
KPACK_IR_ARGUMENT = $(if $(KPACK_AMD_ARCHS),'ir=$(@:.made=.ll)',$$(test ! -e '$(@:.made=.ll)' || echo 'ir=$(@:.made=.ll)'))

KPACK_TAKEN := $(KPACK_INCLUDE)/kpack.h $(KPACK_INCLUDE)/kpack/types.h
KPACK_OBJECTS_OF = $(foreach a,$(KPACK_TARGETS_OF_PACK),$(call KPACK_OBJECT,$(a),$(1)))
KPACK_MADE_OF = $(KPACK_B)/gen/$(1).c $(KPACK_B)/gen/$(1).kernels $(KPACK_B)/include/kpack/$(PACK)/$(1).h \
  $(KPACK_B)/rust/$(PACK)/$(1).rs $(foreach a,$(KPACK_TARGETS_OF_PACK),$(KPACK_B)/blob/$(a)/$(1).head)
# Forces a rule if one of its outputs is missing.
KPACK_UNLESS_THERE = $(if $(filter-out $(wildcard $(1)),$(1)),KPACK_FORCE)

# Prerequisites of a module's tables.
KPACK_MADE_FROM = $(call KPACK_ESC,$(call KPACK_OBJECTS_OF,$(1))) $(call KPACK_CSV_OF,$(1)) $(call KPACK_CSV_STAMP,$(1)) \
  $(KPACK_ALIASES) $(KPACK_ALIASES_STAMP) $(KPACK_TYPES) $(KPACK_TYPES_STAMP) $(KPACK_TAKEN) \
  $(KPACK_GEN) $(KPACK_B)/stamp/pack
# The generator's arguments for these files: before and after that for the IR.
KPACK_OBJECT_ARGUMENTS = $(foreach a,$(KPACK_TARGETS_OF_PACK),'$(a)=$(call KPACK_OBJECT,$(a),$(1))') \
  $(foreach t,$(call KPACK_CSV_OF,$(1)),'table=$(t)')
KPACK_NAME_ARGUMENTS := $(KPACK_TYPES:%='types=%') $(KPACK_ALIASES:%='aliases=%') $(KPACK_TAKEN:%='taken=%')

KPACK_NO_KERNELS_SAID = kpack: module $(1) has no kernels: its source exports no __global__ function. \
  A template is exported for the types that the source instantiates it for

# $(call KPACK_MODULE_RULES,MODULE)
define KPACK_MODULE_RULES
$(KPACK_B)/gen/$(1).made: $(call KPACK_MADE_FROM,$(1)) $(call KPACK_UNLESS_THERE,$(call KPACK_MADE_OF,$(1)))
	$$(KPACK_CHECK)
	@mkdir -p '$$(@D)'
	$(if $(call KPACK_IR_OF,$(1)),@$$(call KPACK_IR,$(1)))
	@$$(KPACK_GEN) module $(PACK).$(1) '$(KPACK_B)' $(call KPACK_OBJECT_ARGUMENTS,$(1)) \
	  $(if $(call KPACK_IR_OF,$(1)),$$(KPACK_IR_ARGUMENT)) $(KPACK_NAME_ARGUMENTS)
	@rm -f '$$(@:.made=.ll)'; touch '$$@'
	$(if $(call KPACK_CSV_OF,$(1)),,@[ -s '$$(@:.made=.kernels)' ] || \
	  echo "$(KPACK_NO_KERNELS_SAID)")
$(call KPACK_ESC,$(call KPACK_MADE_OF,$(1))): $(KPACK_B)/gen/$(1).made ;
endef

PACK_HEADER := $(KPACK_B)/include/kpack/$(PACK).h
PACK_LAUNCHERS := $(KPACK_MODULES:%=$(KPACK_B)/include/kpack/$(PACK)/%.h) $(KPACK_B)/include/kpack/$(PACK)_launch.h
ifeq ($(IMPORT),)
KPACK_MADE := $(KPACK_B)/gen/pack.c $(PACK_HEADER) $(KPACK_B)/include/kpack/$(PACK)_launch.h $(KPACK_B)/rust/$(PACK).rs
$(KPACK_B)/gen/pack.made: $(KPACK_MODULES:%=$(KPACK_B)/gen/%.kernels) $(KPACK_GEN) $(KPACK_B)/stamp/pack \
    $(call KPACK_UNLESS_THERE,$(KPACK_MADE))
	@$(KPACK_GEN) pack $(PACK) '$(KPACK_B)' $(KPACK_MODULES)
	@touch $@
$(KPACK_MADE): $(KPACK_B)/gen/pack.made ;
endif

# $(call KPACK_STORED,TARGET/MODULE): files to embed for a code object: the head,
# then the bytes. The whole pack is compressed at once, with a dictionary made of
# all code objects.
ifeq ($(KPACK_COMPRESSION),zstd)
KPACK_STORED = $(KPACK_B)/zstd/$(1).head $(KPACK_B)/zstd/$(1).zst
KPACK_COMPRESSED := dictionary $(foreach a,$(KPACK_TARGETS_OF_PACK),$(KPACK_MODULES:%=$(call KPACK_ESC,$(a))/%))
$(foreach f,$(KPACK_COMPRESSED),$(eval $(call KPACK_STORED,$(f)): $(KPACK_B)/zstd/done ;))
$(KPACK_B)/zstd/done: $(call KPACK_ESC,$(PACK_HSACOS)) $(PACK_CUBINS) $(KPACK_COMPRESS) $(KPACK_B)/stamp/pack
	@rm -rf $(@D) && mkdir -p $(@D)
	@echo "  ZSTD  $(PACK)"
	@$(KPACK_COMPRESS) $(PACK) $(@D) \
	  $(foreach a,$(KPACK_TARGETS_OF_PACK),$(foreach m,$(KPACK_MODULES),'$(m)/$(a)=$(call KPACK_OBJECT,$(a),$(m))')) && touch $@
else
KPACK_STORED = $(KPACK_B)/blob/$(1).head $(KPACK_B)/hsaco/$(1).$(call KPACK_EXTENSION,$(1))
endif

# $(call KPACK_EMBED,OUT,SYMBOL,FILES,xxd or KPACK_INCBIN): an array of files, by
# xxd or by the assembler. With SYMBOL '-' the array gets the name from the head.
KPACK_EMBED = $(if $(filter xxd,$(4)),cat $(3) | xxd -p -c 32 |) $(KPACK_EMBED_TOOL) $(4) $(1) $(2) $(3)
KPACK_INCBIN = incbin$(if $(KPACK_WINDOWS),-coff,$(if $(KPACK_LARGE_DATA),-large))
KPACK_EMBED_HOW = $(if $(filter xxd,$(KPACK_EMBEDDING)),xxd,$(KPACK_INCBIN))

# $(call KPACK_EMBED_RULES,TARGET/MODULE,MEMBER): C and object. One object per
# module and target: a linker takes only named members. Members of an archive have
# no folders, hence the prefix that no file of src/ has.
define KPACK_EMBED_RULES
$(KPACK_B)/embed/$(call KPACK_ESC,$(1)).c: $(call KPACK_ESC,$(call KPACK_STORED,$(1))) $(KPACK_EMBED_TOOL) $(KPACK_B)/stamp/embed
	@mkdir -p '$$(@D)'
	@$(call KPACK_EMBED,'$$@',-,$(patsubst %,'%',$(call KPACK_STORED,$(1))),$(KPACK_EMBED_HOW))
$(KPACK_B)/obj/pack/pack.$(2).o: $(KPACK_B)/embed/$(call KPACK_ESC,$(1)).c
	@mkdir -p $$(@D)
	@$$(KPACK_CC) $$@ $(KPACK_LARGE_DATA) '$$<'
PACK_OBJECTS += $(KPACK_B)/obj/pack/pack.$(2).o
endef

# ---- tables and objects ----------------------------------------------------

# Object files of Windows have no symbol visibility: programs and libraries list
# their exports.
KPACK_WINDOWS := $(or $(findstring mingw,$(CC)),$(findstring windows,$(CC)))
# CC=aarch64-linux-gnu-gcc compiles for another machine. Its ar is beside it.
KPACK_CROSS := $(patsubst %gcc,%,$(filter %-gcc,$(lastword $(CC))))
KPACK_AR = $(if $(filter default,$(origin AR)),$(KPACK_CROSS)ar,$(AR))
KPACK_CC = $(CC) -std=c99 -O1 -fPIC -fvisibility=hidden -I$(KPACK_INCLUDE) $(if $(KPACK_WINDOWS),-Wno-attributes) \
  $(if $(filter zstd,$(KPACK_COMPRESSION)),-DKPK_COMPRESSED) -c -o
# ELF on x86-64 has a section for large data, which linkers put where its size
# does not spend the 2 GiB that code and other data can be apart. Windows'
# programs and libraries end at 2 GiB as a whole.
KPACK_LARGE_DATA_FLAGS := -mcmodel=medium -mlarge-data-threshold=0
KPACK_LARGE_DATA := $(if $(KPACK_WINDOWS),,$(shell $(CC) $(KPACK_LARGE_DATA_FLAGS) -x c -c -o /dev/null /dev/null 2>/dev/null && \
  echo $(KPACK_LARGE_DATA_FLAGS)))
KPACK_EMBED_STAMP = $(KPACK_COMPRESSION) $(KPACK_EMBEDDING) $(KPACK_CC) $(KPACK_LARGE_DATA)
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/embed,$(KPACK_EMBED_STAMP)))

PACK_OBJECTS := $(KPACK_B)/obj/pack/pack.o $(KPACK_MODULES:%=$(KPACK_B)/obj/pack/pack.%.o)
ifeq ($(IMPORT),)
$(KPACK_B)/obj/pack/pack.o: $(KPACK_B)/gen/pack.c
$(foreach m,$(KPACK_MODULES),$(eval $(KPACK_B)/obj/pack/pack.$(m).o: $(KPACK_B)/gen/$(m).c))
$(PACK_OBJECTS): $(KPACK_INCLUDE)/kpack/format.h $(KPACK_B)/stamp/embed
	@mkdir -p $(@D)
	@$(KPACK_CC) $@ $(filter %.c,$^)

# $(call KPACK_OBJECT_RULES,TARGET,MODULE): a code object, by its vendor's compiler
KPACK_OBJECT_RULES = $(call $(if $(filter sm_% compute_%,$(1)),KPACK_NVIDIA_RULE,KPACK_CODE_RULES),$(1),$(2))
# Targets with rules that are not in the pack.
KPACK_OTHER_ARCHS := $(sort $(filter-out $(KPACK_TARGETS_OF_PACK),$(KPACK_MORE_ARCHS)))
$(foreach m,$(KPACK_MODULES),$(eval $(call KPACK_MODULE_RULES,$(m))))
$(foreach a,$(KPACK_TARGETS_OF_PACK) $(KPACK_OTHER_ARCHS),$(foreach m,$(KPACK_MODULES),\
  $(eval $(call KPACK_OBJECT_RULES,$(a),$(m)))))
$(foreach a,$(KPACK_TARGETS_OF_PACK),$(foreach m,$(KPACK_MODULES),\
  $(eval $(call KPACK_EMBED_RULES,$(a)/$(m),$(m).$(call KPACK_C_NAME,$(a))))))
endif

# The decoder and the dictionary; no module's name has a '-'.
ifeq ($(KPACK_COMPRESSION),zstd)
PACK_CODEC_LIBS := -lzstd
PACK_OBJECTS += $(KPACK_B)/obj/pack/pack.kpk-zstd.o
$(KPACK_B)/obj/pack/pack.kpk-zstd.o: $(KPACK_CODECS)/zstd.c $(KPACK_B)/stamp/embed $(KPACK_B)/stamp/name
	@mkdir -p $(@D)
	@$(KPACK_CC) $@ -DKPK_CODEC=kpk_i_$(PACK)__codec -DKPK_CACHE=kpk_i_$(PACK)__dictionary_cache $<
$(eval $(call KPACK_EMBED_RULES,dictionary,kpk-dictionary))
endif

# Host code beside a module's kernels: host/NAME_WORD.c and .h, or a header
# alone, for instance with a struct that the kernels take. NAME_inside.h is for
# these files and stays here.
ifeq ($(IMPORT),)
KPACK_HOST := $(basename $(notdir $(wildcard $(KPACK_MODULES:%=$(KPACK_KERNELS)/host/%_*.c))))
KPACK_HOST_HEADERS := $(filter-out %_inside,$(basename $(notdir $(wildcard $(KPACK_MODULES:%=$(KPACK_KERNELS)/host/%_*.h)))))
PACK_OBJECTS += $(KPACK_HOST:%=$(KPACK_B)/obj/pack/pack.host-%.o)
KPACK_HOST_COPIES := $(KPACK_HOST_HEADERS:%=$(KPACK_B)/include/kpack/$(PACK)/%.h)
PACK_LAUNCHERS += $(KPACK_HOST_COPIES)
$(KPACK_HOST_COPIES): $(KPACK_B)/include/kpack/$(PACK)/%.h: $(KPACK_KERNELS)/host/%.h
	@mkdir -p $(@D)
	@cp $< $@
$(KPACK_HOST:%=$(KPACK_B)/obj/pack/pack.host-%.o): $(KPACK_B)/obj/pack/pack.host-%.o: $(KPACK_KERNELS)/host/%.c \
    $(wildcard $(KPACK_KERNELS)/host/*.h) $(KPACK_INCLUDE)/kpack.h $(KPACK_INCLUDE)/kpack/host_code.h $(KPACK_B)/stamp/embed
	@mkdir -p $(@D)
	@$(KPACK_CC) $@ $<
endif

# ---- a tree of prebuilt code objects ---------------------------------------

# One run reads the whole tree and writes a table and a data file for each kind
# of kernels in it, the headers, and kinds.mk, which names the kinds. make
# notices changes in the tree by the sizes and times of its files, those that
# links lead to, and by what is neither.
ifneq ($(IMPORT),)
KPACK_IMPORT_DIR := $(KPACK_B)/import/$(PACK)
PACK_OBJECTS := $(KPACK_IMPORT_DIR)/obj/pack.o
ifneq ($(KPACK_PLAIN),1)
KPACK_IMPORT_SUM = $(shell cd $(call KPACK_QUOTE,$(IMPORT)) && \
  find . -type f -printf '%P %s %T@\n' -o -type l -xtype f -exec stat -L -c '%n %s %.Y' {} + -o ! -type d -printf '%P %y\n' | \
  LC_ALL=C sort | cksum)
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/import,$(PACK) $(IMPORT) $(KPACK_IMPORT_SUM)))
# Make starts again when it has made kinds.mk, and then leaves it: by a generator
# from the future, where a clock was set back, it would make it for ever.
$(KPACK_IMPORT_DIR)/kinds.mk: $(if $(MAKE_RESTARTS),,$(KPACK_GEN) $(KPACK_B)/stamp/import)
	@echo "  IMPORT $(IMPORT)"
	@rm -f $@
	@$(KPACK_GEN) import $(PACK) $(KPACK_IMPORT_DIR) $(call KPACK_QUOTE,$(IMPORT)) || \
	  { mkdir -p $(@D); echo 'KPACK_IMPORT_REFUSED := 1' >$@; }
-include $(KPACK_IMPORT_DIR)/kinds.mk
# Without this error make would complain that kinds.mk is missing.
ifdef KPACK_IMPORT_REFUSED
$(shell rm -f $(KPACK_IMPORT_DIR)/kinds.mk)
$(error IMPORT=$(IMPORT) is refused)
endif
PACK_OBJECTS += $(foreach k,$(KPACK_IMPORT_KINDS),$(addprefix $(KPACK_IMPORT_DIR)/obj/pack.$(k),.o .data.o))
endif

# $(call KPACK_IMPORT_TABLE_RULE,OBJECT,SOURCE)
define KPACK_IMPORT_TABLE_RULE
$(KPACK_IMPORT_DIR)/obj/$(1).o: $(KPACK_IMPORT_DIR)/kinds.mk $(KPACK_INCLUDE)/kpack/format.h $(KPACK_B)/stamp/embed
	@mkdir -p $$(@D)
	@echo "  CC    $$@"
	@$$(KPACK_CC) $$@ $(KPACK_IMPORT_DIR)/$(2).c
endef
# $(call KPACK_IMPORT_DATA_RULE,KIND)
define KPACK_IMPORT_DATA_RULE
$(KPACK_IMPORT_DIR)/obj/pack.$(1).data.o: $(KPACK_IMPORT_DIR)/kinds.mk $(KPACK_EMBED_TOOL) $(KPACK_B)/stamp/embed
	@mkdir -p $$(@D)
	@$(call KPACK_EMBED,'$$(@:.o=.c)',kpk_i_$(PACK)_$(1)_data,'$(KPACK_IMPORT_DIR)/kind.$(1).bin',$(KPACK_INCBIN))
	@$$(KPACK_CC) $$@ $(KPACK_LARGE_DATA) $$(@:.o=.c)
endef
$(eval $(call KPACK_IMPORT_TABLE_RULE,pack,pack))
$(foreach k,$(KPACK_IMPORT_KINDS),$(eval $(call KPACK_IMPORT_TABLE_RULE,pack.$(k),kind.$(k))))
$(foreach k,$(KPACK_IMPORT_KINDS),$(eval $(call KPACK_IMPORT_DATA_RULE,$(k))))
$(PACK_HEADER) $(PACK_LAUNCHERS): $(KPACK_IMPORT_DIR)/kinds.mk
	@mkdir -p $(@D)
	@cp $(KPACK_IMPORT_DIR)/$(@F) $@
endif

# ---- the archive of another project ------------------------------------------

ifndef KPACK_ROOT
PACK_ARCHIVE := $(KPACK_B)/lib$(PACK).a
PACK_CFLAGS  := -I$(KPACK_B)/include -I$(KPACK_INCLUDE)
PACK_LIBS    := $(PACK_ARCHIVE) -L$(KPACK_PREFIX)/$(KPACK_LIBDIR) -lkpack $(if $(KPACK_WINDOWS),,-pthread -ldl) $(PACK_CODEC_LIBS)
$(eval $(call KPACK_STAMP,$(KPACK_B)/stamp/archive,$(PACK_OBJECTS)))
$(PACK_ARCHIVE): $(PACK_OBJECTS) $(KPACK_B)/stamp/archive $(PACK_HEADER) $(PACK_LAUNCHERS)
	@rm -f $@
	@echo "  AR    $@"
	@$(KPACK_AR) rcsD $@ $(PACK_OBJECTS)

kpack-pack: $(PACK_ARCHIVE) $(PACK_HEADER) $(PACK_LAUNCHERS)
.PHONY: kpack-pack
# The includer's first target is its default one, as if this file had none. Alone,
# this file makes the pack; so does a makefile that has no target and nothing but
# settings behind its include of this file.
KPACK_MAKEFILES := $(filter-out $(KPACK_DEVICE_MK) %/kinds.mk %.d,$(MAKEFILE_LIST))
KPACK_ENDS_AWK = /^-?include .*kpack/ {ends = 1; next} \
  !/^[ \t]*(\#|$$)|^[A-Za-z0-9_]+ *[:+?]?=|^(if|else|endif)/ {ends = 0} \
  END {print ends ? "ends" : ""}
KPACK_ENDS_HERE = $(shell awk '$(KPACK_ENDS_AWK)' \
  $(call KPACK_QUOTE,$(firstword $(MAKEFILE_LIST))))
KPACK_ALONE = $(filter 1,$(words $(KPACK_MAKEFILES)))
.DEFAULT_GOAL := $(if $(or $(KPACK_ALONE),$(if $(KPACK_GOAL),,$(KPACK_ENDS_HERE))),kpack-pack,$(KPACK_GOAL))
endif
