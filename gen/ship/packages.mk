# packages.mk - Debian packages, and a Python wheel, of what is built
#
# The wheel's library has the runtime, the pack and the command, which share one
# copy of the kernels: a Python program calls it through ctypes. Elsewhere all
# of kpack is hidden, so what the library exports is compiled once more, with
# kpack.h in front: src/internal.h hides what it declares first.

WHEEL_LIB      := $(B)/wheel/libkpack.so
WHEEL_EXPORTED := $(LIB_OBJECTS) $(H)/obj/src/cmd/main.o $(H)/obj/src/cmd/own_pack.o
WHEEL_OBJECTS  := $(WHEEL_EXPORTED:$(H)/obj/%=$(B)/wheel/obj/%)
$(B)/wheel/obj/src/cmd/%.o: OBJ_CFLAGS = -Dmain=kpk_command -DCMD_PACK=kpk_$(PACK) -DCMD_PACK_HEADER='<kpack/$(PACK).h>'
$(B)/wheel/obj/src/cmd/own_pack.o: $(PACK_HEADER) $(B)/stamp/name
$(B)/wheel/obj/%.o: %.c $(B)/stamp/cc
	@mkdir -p $(@D)
	@echo "  CC    $< (exported)"
	@$(CC) $(filter-out -fvisibility=hidden,$(KPK_CFLAGS)) -D_GNU_SOURCE= -include kpack.h \
	  $(CFLAGS) $(OBJ_CFLAGS) -MMD -MP -c -o $@ $<
-include $(WHEEL_OBJECTS:.o=.d)

$(WHEEL_LIB): $(WHEEL_OBJECTS) $(filter-out $(WHEEL_EXPORTED),$(CMD_OBJECTS)) $(PACK_OBJECTS) gen/ship/wheel.map
	@echo "  LD    $@"
	@$(CC) -shared -pthread $(LDFLAGS) -s -Wl,-Bsymbolic -Wl,-z,defs -Wl,--version-script=gen/ship/wheel.map \
	  -o $@ $(filter %.o,$^) -ldl $(PACK_CODEC_LIBS)

# Checked before anything is compiled for packages.
ifneq ($(filter wheel deb,$(MAKECMDGOALS)),)
ifneq ($(SAN)$(KPACK_CROSS),)
$(error make $(filter wheel deb,$(MAKECMDGOALS)) takes no SAN= and no CC= of another machine)
endif
endif
wheel: $(WHEEL_LIB) $(PACK_LAUNCHERS) ## make a Python wheel with the command and the pack's kernels
	@gen/ship/wheel $(WHEEL_LIB) $(VERSION) $(B) $(PACK_LAUNCHERS)

deb: all sim $(KPACK_COMPRESS) ## make Debian packages: libkpack-dev, kpack, kpack-sim
	@gen/ship/deb $(B) $(B) $(PACK) $(VERSION) $(PACK_LAUNCHERS)

.PHONY: wheel deb
