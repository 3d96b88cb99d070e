# kpack.mk - rules from .hip sources to an archive of packed code objects
#
# A project of its own includes the installed copy after it has set
#
#   PACK      name of the pack: symbol kpk_PACK, header kpack/PACK.h
#   SOURCES   the .hip files, each a module of its name; or
#   KERNELS   their folder, the current one if not set; and, to take but some,
#   MODULES   names of modules: $(KERNELS)/NAME.hip
#   IMPORT    instead of all these, a folder of prebuilt code objects and their
#             CSV tables, which becomes the pack (gen/README.md)
#
# and, where the defaults do not fit,
#
#   ARCHS     targets to compile for
#   COV       code object version of concrete targets; empty means 5
#   B         folder of everything built: build
#   COMPRESS  none (also if empty), or zstd: code objects are compressed, and
#             programs need libzstd
#   EMBED     xxd (also if empty): C arrays made by xxd; incbin: the assembler
#             reads the files, for packs of hundreds of megabytes
#   HIPCC, ROCM_PATH, HIPFLAGS, NVCC
#             the compilers, behind a launcher too ('ccache clang-22'), and
#             flags for the device compiler
#   HIPFLAGS_NAME
#             more of these, for module NAME alone
#
# and gets
#
#   PACK_ARCHIVE, PACK_HEADER, PACK_LAUNCHERS
#             $(B)/libPACK.a, for `-lkpack` to come after, its header, and the
#             typed launchers' headers
#   PACK_CFLAGS, PACK_LIBS
#             for programs that use them
#   HSACOS, CUBINS, EMBEDS, PACK_OBJECTS
#             what the pack is made of, each with its rules
#
# One pack a makefile, or in one line without a makefile:
#
#   make -f $(pkg-config --variable=makefile kpack) PACK=mine SOURCES=a.hip
#
# kpack's own Makefile sets KPACK_ROOT, its tree.
#
# Recipes quote file names: a target ID such as gfx90a:xnack+ is part of them.
# In rules its colon is escaped ($(call esc,...)).

KPACK_MK   := $(lastword $(MAKEFILE_LIST))
ifeq ($(wildcard $(KPACK_MK)),)
$(error kpack.mk: its path has a blank ('... $(KPACK_MK)'), which GNU Make does not take; give a link to its folder: ln -s)
endif
kpack_goal := $(.DEFAULT_GOAL)
ifdef KPACK_ROOT
KPACK_TOOLS   := $(KPACK_ROOT)/gen/make
KPACK_TARGETS := $(KPACK_ROOT)/src/target_table.h
KPACK_INCLUDE := $(KPACK_ROOT)/include
KPACK_GEN     ?= $(if $(PREBUILT),gen/ship/prebuilt-gen,$(B)/kpack-gen)
KPACK_COMPRESS := $(B)/kpack-compress
KPACK_CODECS  := $(KPACK_ROOT)/src/codec
else
KPACK_TOOLS   := $(patsubst %/,%,$(dir $(KPACK_MK)))
KPACK_TARGETS := $(KPACK_TOOLS)/target_table.h
KPACK_PREFIX  := $(patsubst %/share/kpack,%,$(KPACK_TOOLS))
KPACK_INCLUDE := $(KPACK_PREFIX)/include
KPACK_GEN     := $(KPACK_TOOLS)/kpack-gen
KPACK_COMPRESS := $(KPACK_TOOLS)/kpack-compress
KPACK_CODECS  := $(KPACK_TOOLS)/codec

B       ?= build
KERNELS ?= .
ifeq ($(IMPORT)$(SOURCES),)
SOURCES := $(if $(MODULES),$(MODULES:%=$(KERNELS)/%.hip),$(sort $(wildcard $(KERNELS)/*.hip)))
endif
ifndef MODULES
MODULES := $(basename $(notdir $(SOURCES)))
endif
ARCHS   ?= gfx90a gfx942 gfx1030 gfx1100 gfx1201
ifeq ($(PACK),)
$(error kpack.mk: PACK is not set: it is the name of the pack, as in PACK := mine)
endif
ifeq ($(PACK),kpack)
$(error kpack.mk: PACK=kpack: libkpack.a is kpack's own; take another name)
endif
ifeq ($(strip $(MODULES)$(IMPORT)),)
$(error kpack.mk: no kernels: SOURCES is not set, and there is no $(KERNELS)/*.hip)
endif
ifneq ($(words $(MODULES)),$(words $(sort $(MODULES))))
$(error kpack.mk: two sources have one file name: $(SOURCES); a module has the name of its file)
endif
ifeq ($(wildcard $(KPACK_GEN)),)
$(error kpack.mk: $(KPACK_GEN) is not there: this kpack was installed from an archive of prebuilt kernels and cannot build others; install it from its sources)
endif
endif
SOURCES ?= $(MODULES:%=$(KERNELS)/%.hip)

comma := ,
empty :=
space := $(empty) $(empty)
esc    = $(subst :,\:,$(1))
quote  = '$(subst ','\'',$(1))'

# A stamp changes when the text that its dependents were made from does.
# The text is quoted here and not in the recipe: there, a comma of it would end
# an argument.
# $(call stamp,FILE,TEXT)
define stamp
$(1): FORCE
	@mkdir -p $$(@D); printf '%s\n' $(subst $$,$$$$,$(call quote,$(subst $(CURDIR),.,$(2)))) >$$@.new; \
	if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@; fi
endef
FORCE:
.PHONY: FORCE
.DELETE_ON_ERROR:
.SECONDEXPANSION:

# ---- targets ---------------------------------------------------------------

# The rows of the target table as words:
# name/ISA version/sramecc/xnack/wave/generic
target_rows := $(shell tr -d ' "' <$(KPACK_TARGETS) | \
  awk -F'[(,)]' '/^X/ {print $$2"/"$$4*1000+$$5*100+$$6"/"$$8"/"$$9"/"$$10"/"$$7}')
row   = $(filter $(firstword $(subst :, ,$(1)))/%,$(target_rows))
field = $(word $(1),$(subst /, ,$(2)))
isa_version = $(call field,2,$(call row,$(1)))
wave_size   = $(call field,5,$(call row,$(1)))
cov = $(if $(filter %-generic,$(firstword $(subst :, ,$(1)))),6,$(or $(COV),5))

# The settings that a processor's features allow, in the order they must have.
id_suffixes = $(if $(filter 11,$(call field,3,$(1))$(call field,4,$(1))),\
  :sramecc+:xnack+ :sramecc+:xnack- :sramecc-:xnack+ :sramecc-:xnack-) \
  $(if $(filter 1,$(call field,3,$(1))),:sramecc+ :sramecc-) \
  $(if $(filter 1,$(call field,4,$(1))),:xnack+ :xnack-)
valid_names   := $(foreach r,$(target_rows),$(call field,1,$(r)))
valid_targets := $(foreach r,$(target_rows),$(call field,1,$(r)) \
  $(addprefix $(call field,1,$(r)),$(call id_suffixes,$(r))))
NV_ARCHS  := $(sort $(filter sm_%,$(ARCHS)))
AMD_ARCHS := $(sort $(filter-out sm_%,$(ARCHS)))
bad_archs := $(filter-out $(valid_targets),$(AMD_ARCHS)) \
  $(foreach a,$(NV_ARCHS),$(if $(shell echo $(a) | grep -Ex 'sm_[0-9]{2,3}[af]?'),,$(a)))
ifneq ($(strip $(bad_archs)),)
define bad_archs_text
ARCHS: no such target: $(strip $(bad_archs))
  valid: $(valid_names)
  with features: $(strip $(foreach r,$(target_rows),$(addprefix $(call field,1,$(r)),$(firstword $(call id_suffixes,$(r))))))
  ('-' for '+' turns one off, a feature left out means any); sm_NN with nvcc
endef
$(error $(bad_archs_text))
endif
ifneq ($(filter-out 4 5 6,$(COV)),)
$(error COV=$(COV): code object versions are 4, 5 and 6)
endif
COMPRESS := $(or $(COMPRESS),none)
ifneq ($(filter-out none zstd,$(COMPRESS)),)
$(error COMPRESS=$(COMPRESS): none or zstd)
endif
ifneq ($(if $(filter zstd,$(COMPRESS)),$(IMPORT)),)
$(error COMPRESS=zstd: an imported pack is not compressed; leave one of COMPRESS and IMPORT out)
endif
EMBED := $(or $(EMBED),xxd)
ifneq ($(filter-out xxd incbin,$(EMBED)),)
$(error EMBED=$(EMBED): xxd or incbin)
endif
ifneq ($(IMPORT),)
ifneq ($(words $(IMPORT)),1)
$(error IMPORT=$(IMPORT): paths have no blanks, which GNU Make does not take; give a link to the folder: ln -s)
endif
ifneq ($(strip $(MODULES)),)
$(error IMPORT=$(IMPORT): an imported tree is a pack of its own; build the one of MODULES=$(MODULES) apart and link both)
endif
ifeq ($(wildcard $(IMPORT)/.),)
$(error IMPORT=$(IMPORT): no such folder)
endif
endif
ifneq ($(filter format types,$(PACK)),)
$(error PACK=$(PACK): kpack/$(PACK).h is a header of kpack's own; take another name)
endif
ifneq ($(filter pack,$(MODULES)),)
$(error no module may be called 'pack': its table would be that of the pack)
endif

# A device that runs code for a target: its own processor, or the first that a
# generic target covers, with the same features.
processor = $(firstword $(subst :, ,$(1)))
covered   = $(firstword $(foreach r,$(target_rows),\
  $(if $(filter $(1),$(call field,6,$(r))),$(call field,1,$(r)))) $(1))
device_of = $(patsubst $(call processor,$(1))%,$(call covered,$(call processor,$(1)))%,$(1))
devices_of_archs = $(subst $(space),$(comma),$(strip \
  $(foreach a,$(filter-out sm_%,$(ARCHS)),$(call device_of,$(a)))))

# gfx90a:xnack- is gfx90a_xnack_off in C; gen/write/module_table.c spells it alike.
c_name = $(subst -,_,$(subst :,_,$(subst +,_on,$(patsubst %-,%_off,$(subst -:,_off:,$(1))))))

# ---- the compilers ---------------------------------------------------------

# Asked at each make, so that a new compiler rebuilds; written if it differs.
# KPACK_PLAIN=1 says that no goal needs it.
ifeq ($(filter 1,$(KPACK_PLAIN))$(IMPORT)$(PREBUILT),)
DEVICE_MK := $(B)/device/compiler.mk
$(shell HIPCC='$(HIPCC)' ROCM_PATH='$(ROCM_PATH)' $(KPACK_TOOLS)/find-compiler $(DEVICE_MK))
include $(DEVICE_MK)
$(info kpack: $(or $(DEVICE_ERROR),$(DEVICE_NOTE)))
endif

DEVICE_STD := -std=c++17
# Paths and dates must not reach the output; IEEE results are part of the ABI.
# The folder of all may have blanks in its name.
KPK_HIPFLAGS = -x hip --offload-device-only --no-gpu-bundle-output \
  -O3 $(DEVICE_STD) -Wall -Wextra -fno-fast-math -fuse-cuid=none \
  -I$(KERNELS)/include $(HIPFLAGS)
prefix_map = $(call quote,-ffile-prefix-map=$(CURDIR)/=)

ifndef KPACK_ROOT # the headers of kpack's own kernels, behind the project's
KPK_HIPFLAGS += -idirafter $(KPACK_TOOLS)/device
endif

# Old device libraries are linked by hand, with the two constants that newer
# ones have per target made here, and the wavefront's size that clang 22 no
# longer defines for HIP's old headers.
ifneq ($(DEVICE_BITCODE),)
constants = $(B)/device/v$(call isa_version,$(1))-cov$(call cov,$(1)).bc
bitcode   = $(foreach l,hip ocml ockl oclc_correctly_rounded_sqrt_on \
  oclc_daz_opt_off oclc_finite_only_off oclc_unsafe_math_off \
  oclc_wavefrontsize64_$(if $(filter 64,$(call wave_size,$(1))),on,off),\
  $(DEVICE_BITCODE)/$(l).bc) $(call constants,$(1))
target_flags = -nogpulib -Wno-linker-warnings \
  $(foreach m,__AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__,\
    -U$(m) -D$(m)=$(call wave_size,$(1))) \
  $(foreach l,$(call bitcode,$(1)),-Xclang -mlink-builtin-bitcode -Xclang $(l))
endif

# Not stripped, though it would save a twentieth: HIP 5.2 crashes on a code
# object without .symtab.
device_map := $(KPACK_TOOLS)/device.map
DEVICE_LDFLAGS := --version-script=$(device_map)

$(eval $(call stamp,$(B)/stamp/device,$(DEVICE_CXX) $(DEVICE_VERSION) $(DEVICE_FLAGS) $(DEVICE_BITCODE) $(KPK_HIPFLAGS) $(DEVICE_LDFLAGS) $(COV)))
# A module's own flags, if it has any or had.
flags_stamp = $(if $(HIPFLAGS_$(1))$(wildcard $(B)/stamp/flags.$(1)),$(B)/stamp/flags.$(1))
$(foreach m,$(MODULES),$(if $(call flags_stamp,$(m)),$(eval $(call stamp,$(B)/stamp/flags.$(m),$(HIPFLAGS_$(m))))))
$(eval $(call stamp,$(B)/stamp/pack,$(PACK): $(MODULES): $(AMD_ARCHS)))
$(eval $(call stamp,$(B)/stamp/name,$(PACK)))

.PRECIOUS: $(B)/device/v%.bc
$(B)/device/v%.bc: $(B)/stamp/device
	@mkdir -p $(@D)
	@printf '__attribute__((address_space(4))) const int %s = %s;\n' \
	  __oclc_ISA_version $(firstword $(subst -cov, ,$*)) \
	  __oclc_ABI_version $(lastword $(subst -cov, ,$*))00 \
	| $(DEVICE_CXX) --target=amdgcn-amd-amdhsa -nogpulib -x c -c -emit-llvm \
	  -mcode-object-version=$(lastword $(subst -cov, ,$*)) -o $@ -

# ---- sources to code objects -----------------------------------------------

HSACOS := $(foreach a,$(AMD_ARCHS),$(MODULES:%=$(B)/hsaco/$(a)/%.hsaco))
CUBINS := $(foreach a,$(NV_ARCHS),$(MODULES:%=$(B)/hsaco/$(a)/%.cubin))
EMBEDS := $(foreach a,$(AMD_ARCHS),$(MODULES:%=$(B)/embed/$(a)/%.c))

device_check = $(if $(DEVICE_ERROR),@echo $(call quote,kpack: $(DEVICE_ERROR)) >&2; exit 1)

# A compiler behind a launcher (HIPCC='ccache clang-22'). A cache takes what is
# compiled for a checkout anywhere, if it knows all that goes in and comes out:
# device libraries, which ccache does not look for in the command line, and the
# list of headers. Clang does not heed -MF here, a cache nothing else.
launched = $(if $(DEVICE_LAUNCHER),CCACHE_EXTRAFILES='$(subst $(space),:,$(call bitcode,$(1)))' $(DEVICE_LAUNCHER) )$(DEVICE_CXX)

# Second names of kernels, beside them.
ALIASES := $(wildcard $(KERNELS)/aliases.csv)

# A module's source, and the table beside it.
source_of = $(or $(foreach s,$(SOURCES),$(if $(filter $(1),$(basename $(notdir $(s)))),$(s))),$(KERNELS)/$(1).hip)
csv_of    = $(or $(wildcard $(basename $(call source_of,$(1))).csv),$(if $(call csv_maker,$(1)),$(B)/gen/$(1).csv))
csv_maker = $(wildcard $(basename $(call source_of,$(1))).csv.c)

# Kernels that were compiled elsewhere, if they are what was made there.
ifneq ($(PREBUILT),)
bad_prebuilt := $(filter-out $(PREBUILT_PACK) $(PREBUILT_ARCHS) $(PREBUILT_MODULES),$(PACK) $(ARCHS) $(MODULES)) \
  $(filter-out $(ARCHS) $(MODULES),$(PREBUILT_ARCHS) $(PREBUILT_MODULES)) $(filter-out none,$(COMPRESS)) $(IMPORT)
ifneq ($(strip $(bad_prebuilt)),)
$(error this tree holds pack $(PREBUILT_PACK), compiled for ARCHS='$(PREBUILT_ARCHS)' with MODULES='$(PREBUILT_MODULES)', \
  not: $(strip $(bad_prebuilt)). To compile others remove the folder prebuilt, with clang and HIP installed)
endif
$(B)/stamp/prebuilt: SHA256SUMS
	@mkdir -p $(@D)
	@grep ' prebuilt/' $< | sha256sum -c --quiet && touch $@
$(B)/hsaco/%.hsaco: prebuilt/hsaco/%.hsaco $(B)/stamp/prebuilt
	@mkdir -p '$(@D)'
	@cp '$<' '$@'
endif

# Compiled to a relocatable object: launchers cache what does not link, and
# second names are put in before linking. Clang has no option for it but that
# of its front end, which comes last and wins over -S.
.PRECIOUS: $(B)/code/%.o
$(B)/code/%.o: $$(call source_of,$$(*F)) $(B)/stamp/device \
    $$(call constants,$$(*D)) $$(call flags_stamp,$$(*F))
	$(device_check)
	@mkdir -p '$(@D)'
	@echo "  HIPCC $*"
	@$(call launched,$(*D)) $(KPK_HIPFLAGS) $(prefix_map) $(HIPFLAGS_$(*F)) $(DEVICE_FLAGS) --offload-arch=$(*D) \
	  -mcode-object-version=$(call cov,$(*D)) $(call target_flags,$(*D)) \
	  $(if $(DEVICE_LAUNCHER),-MD -MP -MF '$@.d' -MT '$(call esc,$@)' -Wno-unused-command-line-argument) \
	  -Xclang -dependency-file -Xclang '$@.d' -Xclang -MP \
	  -Xclang -MT -Xclang '$(call esc,$@)' \
	  -S -Xclang -emit-obj -o '$@' $<

$(B)/hsaco/%.hsaco: $(B)/code/%.o $(device_map) $(if $(ALIASES),$(ALIASES) $(KPACK_GEN))
	@mkdir -p '$(@D)'
	$(if $(ALIASES),@$(KPACK_GEN) second-names $(PACK).$(*F) '$@.o' '$<' $(ALIASES))
	@$(DEVICE_CXX) --target=amdgcn-amd-amdhsa -mcpu=$(*D) -mcode-object-version=$(call cov,$(*D)) \
	  $(DEVICE_LDFLAGS:%=-Wl,%) -o '$@' '$(if $(ALIASES),$@.o,$<)'
	$(if $(ALIASES),@rm '$@.o')

# The same sources on HIP's other platform.
$(B)/hsaco/%.cubin: $$(call source_of,$$(*F)) $(B)/stamp/nvcc
	@mkdir -p $(@D)
	@echo "  NVCC  $*"
	@$(NVCC) $(KPK_NVCCFLAGS) -arch=$(*D) -MMD -MP -MF $@.d -MT $@ -o $@ $<
KPK_NVCCFLAGS = -x cu -cubin -O3 $(DEVICE_STD) -I$(KERNELS)/include $(NVCCFLAGS)
$(eval $(call stamp,$(B)/stamp/nvcc,$(NVCC) $(KPK_NVCCFLAGS)))

-include $(wildcard $(B)/code/*/*.d $(B)/hsaco/*/*.cubin.d)

# ---- code objects to C -----------------------------------------------------

# What stands before the bytes says what they are: struct kpk_blob.
.PRECIOUS: $(B)/blob/%.head
$(B)/blob/%.head: $(B)/hsaco/%.hsaco $(KPACK_GEN) $(B)/stamp/name
	@mkdir -p '$(@D)'
	@$(KPACK_GEN) head $(PACK) '$@' '$(*F)=$<'

# $(call embed_xxd,SYMBOL,HEAD,DATA) prints C: xxd's hex as one string literal,
# which a C compiler reads about 15 times faster than a list of numbers. The
# array has the bytes' own length, so C drops the literal's closing NUL.
define embed_xxd
printf '/* Written by kpack.mk from xxd; do not edit. */\n'; \
printf 'extern const unsigned char %s[] __attribute__((visibility("hidden")));\n' $(1); \
printf '__attribute__((aligned(64))) const unsigned char %s[%d] =\n' $(1) $$(cat '$(2)' '$(3)' | wc -c); \
cat '$(2)' '$(3)' | xxd -p -c 32 | sed 's/../\\x&/g;s/.*/"&"/'; echo ';'
endef

# The same array by way of the assembler.
define embed_incbin
printf '/* Written by kpack.mk; do not edit. */\n'; \
printf '__asm__("%s\\n"\n' '.section $(if $(LARGE_DATA),.lrodata,.rodata),\"a$(if $(LARGE_DATA),l)\"' \
  '.p2align 6' '.globl $(1)' '.hidden $(1)' '.type $(1), %object' \
  '.size $(1), '$$(cat $(foreach f,$(2) $(3),'$(f)') | wc -c) '$(1):' \
  $(foreach f,$(2) $(3),'.incbin \"$(f)\"') .previous \
| sed '2,$$s/__asm__(/        /;$$s/$$/);/'
endef

# Compressed, the whole pack is made at once: each code object is worth what it
# has in common with the others.
ifeq ($(COMPRESS),zstd)
embedded := $(B)/zstd/%.head $(B)/zstd/%.zst
.PRECIOUS: $(B)/zstd/%.head $(B)/zstd/%.zst
$(B)/zstd/%.head $(B)/zstd/%.zst: $(B)/zstd/done ;
$(B)/zstd/done: $(call esc,$(HSACOS)) $(KPACK_COMPRESS) $(B)/stamp/pack
	@rm -rf $(@D) && mkdir -p $(@D)
	@echo "  ZSTD  $(PACK)"
	@$(KPACK_COMPRESS) $(PACK) $(@D) \
	  $(foreach a,$(AMD_ARCHS),$(foreach m,$(MODULES),'$(m)/$(a)=$(B)/hsaco/$(a)/$(m).hsaco')) && touch $@
else
embedded := $(B)/blob/%.head $(B)/hsaco/%.hsaco
endif

# A pack's name is part of its symbols, so that packs of several vendors, with
# modules of the same name, live in one program.
$(B)/embed/%.c: $(embedded) $(B)/stamp/embed
	@mkdir -p '$(@D)'
	@{ $(call embed_$(EMBED),kpk_i_$(PACK)__$(if $(filter dictionary,$*),$*,$(*F)_$(call c_name,$(*D))),$<,$(word 2,$^)); } >'$@'

# ---- tables and objects ----------------------------------------------------

pack_cc = $(CC) -std=c99 -O1 -fPIC -fvisibility=hidden -I$(KPACK_INCLUDE) \
  $(if $(filter zstd,$(COMPRESS)),-DKPK_COMPRESSED) -c -o
# x86-64 has a section for large data, which linkers put where its size does
# not spend the 2 GiB that code and other data can be apart.
LARGE_DATA := $(shell echo 'extern int i;' | $(CC) -mcmodel=medium -mlarge-data-threshold=0 \
  -x c -c -o /dev/null - 2>/dev/null && echo -mcmodel=medium -mlarge-data-threshold=0)
PACK_HEADER  := $(B)/include/kpack/$(PACK).h
PACK_OBJECTS := $(B)/obj/pack/pack.o $(MODULES:%=$(B)/obj/pack/pack.%.o)
$(eval $(call stamp,$(B)/stamp/embed,$(COMPRESS) $(EMBED) $(pack_cc) $(LARGE_DATA)))

# One object per module and target: a linker takes what is named. Members of an
# archive have no folders, hence the prefix that no file of src/ has.
# $(call object_rule,TARGET,MODULE)
define object_rule
PACK_OBJECTS += $(B)/obj/pack/pack.$(2).$(call c_name,$(1)).o
$(B)/obj/pack/pack.$(2).$(call c_name,$(1)).o: $(B)/embed/$(call esc,$(1))/$(2).c
	@mkdir -p $$(@D)
	@$$(pack_cc) $$@ $(LARGE_DATA) '$$<'
endef
$(foreach a,$(AMD_ARCHS),$(foreach m,$(MODULES),$(eval $(call object_rule,$(a),$(m)))))

# The decoder and the dictionary; no module's name has a '-'.
ifeq ($(COMPRESS),zstd)
PACK_CODEC_LIBS := -lzstd
PACK_OBJECTS += $(B)/obj/pack/pack.kpk-zstd.o $(B)/obj/pack/pack.kpk-dictionary.o
$(B)/obj/pack/pack.kpk-zstd.o: $(KPACK_CODECS)/zstd.c $(B)/stamp/embed $(B)/stamp/name
	@mkdir -p $(@D)
	@$(pack_cc) $@ -DKPK_CODEC=kpk_i_$(PACK)__codec -DKPK_CACHE=kpk_i_$(PACK)__dictionary_cache $<
$(B)/obj/pack/pack.kpk-dictionary.o: $(B)/embed/dictionary.c
	@mkdir -p $(@D)
	@$(pack_cc) $@ $(LARGE_DATA) $<
endif

# A table may be a program that prints it, NAME.csv.c: both then follow from
# the lists that the module itself includes.
$(B)/gen/%.csv: $$(call csv_maker,$$*)
	@mkdir -p '$(@D)'
	@$(CC) -std=c11 -I$(KERNELS)/include -MMD -MP -MF '$@.d' -MT '$@' -o '$@.maker' $<
	@'$@.maker' >'$@.new' && mv '$@.new' '$@' && rm '$@.maker'
-include $(wildcard $(B)/gen/*.csv.d)

hsacos_of = $(foreach a,$(AMD_ARCHS),$(B)/hsaco/$(a)/$(1).hsaco)

# $(call table_rule,MODULE)
define table_rule
$(B)/gen/$(1).c: $(call esc,$(call hsacos_of,$(1))) $(call csv_of,$(1)) $(KPACK_GEN) $(B)/stamp/pack
	@mkdir -p $$(@D)
	@$(KPACK_GEN) module $(PACK).$(1) $$@ $(foreach a,$(AMD_ARCHS),'$(a)=$(B)/hsaco/$(a)/$(1).hsaco') \
	  $(foreach t,$(call csv_of,$(1)),'table=$(t)')
endef
$(foreach m,$(MODULES),$(eval $(call table_rule,$(m))))

$(B)/gen/pack.c: $(KPACK_GEN) $(B)/stamp/pack
	@mkdir -p $(@D)
	$(if $(AMD_ARCHS),,@echo 'kpack: ARCHS=$(ARCHS) has no AMD target for a pack; cubins alone are made by: make cubins' >&2; exit 1)
	@$(KPACK_GEN) pack $(PACK) $@ $(MODULES)

ifeq ($(IMPORT),)
first_arch := $(firstword $(AMD_ARCHS))
$(PACK_HEADER): $(call esc,$(MODULES:%=$(B)/hsaco/$(first_arch)/%.hsaco)) \
    $(KPACK_GEN) $(B)/stamp/pack
	@mkdir -p $(@D)
	@$(KPACK_GEN) header $(PACK) $@ $(foreach m,$(MODULES),'$(m)=$(B)/hsaco/$(first_arch)/$(m).hsaco')

# Typed launchers: the source once more, to IR with debug metadata, in a tenth
# of the time of compiling it for one target. A module without a source has a
# header, too, which says so. Headers that would not change keep their time, so
# that a change within a kernel compiles no program again. Of an imported tree
# nothing is known but sizes: it has no launchers.
PACK_LAUNCHERS := $(MODULES:%=$(B)/include/kpack/$(PACK)/%.h)
TYPES := $(wildcard $(KERNELS)/types.csv)
ir_of = $(if $(PREBUILT),,$(wildcard $(call source_of,$*)))
.PRECIOUS: $(B)/include/kpack/$(PACK)/.%.made
$(B)/include/kpack/$(PACK)/.%.made: $(call esc,$(B)/hsaco/$(first_arch)/)%.hsaco \
    $(KPACK_GEN) $(B)/stamp/pack $(TYPES) $(ALIASES) $(KPACK_INCLUDE)/kpack.h
	$(device_check)
	@mkdir -p '$(@D)'
	$(if $(ir_of),@$(DEVICE_LAUNCHER) $(DEVICE_CXX) $(filter-out -Wall -Wextra,$(KPK_HIPFLAGS)) \
	  $(DEVICE_FLAGS) $(filter -U% -D%,$(call target_flags,$(first_arch))) -nogpulib -w -O0 -g -fdebug-compilation-dir=. -S -emit-llvm -Xclang -disable-llvm-passes \
	  --offload-arch=$(first_arch) -o '$(@:.made=.ll)' $(call source_of,$*))
	@$(KPACK_GEN) launchers $(PACK).$* '$(@D)/$*.h' 'object=$<' $(if $(ir_of),'ir=$(@:.made=.ll)') \
	  $(TYPES:%='types=%') $(ALIASES:%='aliases=%') \
	  taken=$(KPACK_INCLUDE)/kpack.h taken=$(KPACK_INCLUDE)/kpack/types.h
	@rm -f '$(@:.made=.ll)'; touch '$@'
$(filter-out %_launch.h,$(PACK_LAUNCHERS)): $(B)/include/kpack/$(PACK)/%.h: $(B)/include/kpack/$(PACK)/.%.made
	@[ -e '$@' ] || { echo '$@ is gone; rm $< and run make again' >&2; exit 1; }
endif

# All of them at once.
PACK_LAUNCHERS += $(B)/include/kpack/$(PACK)_launch.h
$(B)/include/kpack/$(PACK)_launch.h: $(B)/stamp/pack
	@mkdir -p $(@D)
	@{ echo '/* Written by kpack.mk; do not edit. The typed launchers of all modules of pack'; \
	  echo ' * $(PACK).$(if $(IMPORT), It was imported: there are none$(comma) for code objects do not tell types.) */'; \
	  for m in $(MODULES); do echo "#include <kpack/$(PACK)/$$m.h>"; done; } >$@

$(B)/obj/pack/pack.o: $(B)/gen/pack.c
$(MODULES:%=$(B)/obj/pack/pack.%.o): $(B)/obj/pack/pack.%.o: $(B)/gen/%.c
$(B)/obj/pack/pack.o $(MODULES:%=$(B)/obj/pack/pack.%.o): \
    $(KPACK_INCLUDE)/kpack/format.h $(B)/stamp/embed
	@mkdir -p $(@D)
	@$(pack_cc) $@ $(filter %.c,$^)

# ---- a tree of prebuilt code objects ---------------------------------------

# One run reads the whole tree and writes a table and a data file for each kind
# of kernels in it, and kinds.mk, which names them. What make knows of the tree
# is the sizes and times of its files.
ifneq ($(IMPORT),)
import_dir := $(B)/import/$(PACK)
PACK_OBJECTS := $(import_dir)/obj/pack.o
ifneq ($(KPACK_PLAIN),1)
$(eval $(call stamp,$(B)/stamp/import,$(PACK) $(IMPORT) $(shell cd '$(IMPORT)' && find -L . -type f -printf '%P %s %T@\n' | LC_ALL=C sort | cksum)))
$(import_dir)/kinds.mk: $(KPACK_GEN) $(B)/stamp/import
	@echo "  IMPORT $(IMPORT)"
	@rm -f $@
	@$(KPACK_GEN) import $(PACK) $(import_dir) '$(IMPORT)' || { mkdir -p $(@D); echo 'IMPORT_REFUSED := 1' >$@; }
-include $(import_dir)/kinds.mk
# Make would complain that kinds.mk is not there, where nothing is written.
ifdef IMPORT_REFUSED
$(shell rm -f $(import_dir)/kinds.mk)
$(error IMPORT=$(IMPORT) is refused)
endif
PACK_OBJECTS += $(foreach k,$(IMPORT_KINDS),$(import_dir)/obj/pack.$(k).o $(import_dir)/obj/pack.$(k).data.o)
endif

$(import_dir)/obj/pack.o: import_c = $(import_dir)/pack.c
$(import_dir)/obj/pack.%.data.o: $(import_dir)/kinds.mk $(B)/stamp/embed
	@mkdir -p $(@D)
	@{ $(call embed_incbin,kpk_i_$(PACK)_$*_data,$(import_dir)/kind.$*.bin); } >$(@:.o=.c)
	@$(pack_cc) $@ $(LARGE_DATA) $(@:.o=.c)
$(import_dir)/obj/pack.o $(IMPORT_KINDS:%=$(import_dir)/obj/pack.%.o): \
    $(import_dir)/kinds.mk $(KPACK_INCLUDE)/kpack/format.h $(B)/stamp/embed
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(pack_cc) $@ $(or $(import_c),$(import_dir)/kind$(@F:pack%.o=%).c)
$(PACK_HEADER): $(import_dir)/kinds.mk
	@mkdir -p $(@D)
	@cp $(import_dir)/$(PACK).h $@
endif

# ---- the archive of a project of its own ------------------------------------

ifndef KPACK_ROOT
PACK_ARCHIVE := $(B)/lib$(PACK).a
PACK_CFLAGS  := -I$(B)/include -I$(KPACK_INCLUDE)
PACK_LIBS    := $(PACK_ARCHIVE) -L$(KPACK_PREFIX)/lib -lkpack -pthread -ldl $(PACK_CODEC_LIBS)
$(eval $(call stamp,$(B)/stamp/archive,$(PACK_OBJECTS)))
$(PACK_ARCHIVE): $(PACK_OBJECTS) $(B)/stamp/archive $(PACK_HEADER) $(PACK_LAUNCHERS)
	@rm -f $@
	@echo "  AR    $@"
	@$(AR) rcsD $@ $(PACK_OBJECTS)

kpack-pack: $(PACK_ARCHIVE) $(PACK_HEADER) $(PACK_LAUNCHERS)
.PHONY: kpack-pack
# The includer's first target is its default one, as if this file had none.
.DEFAULT_GOAL := $(if $(filter 1,$(words $(filter-out $(DEVICE_MK) %/kinds.mk %.d,$(MAKEFILE_LIST)))),kpack-pack,$(kpack_goal))
endif
