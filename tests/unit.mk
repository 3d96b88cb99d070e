# unit.mk - builds the runtime's unit tests, tests/unit
#
# A line `/* link: FLAGS */` in a test adds linker flags. CMOCKA is an object
# that replaces cmocka, if there is one (tests/dist/dist.mk).

unit_helpers_with_header := $(patsubst %.h,%.c,$(wildcard tests/unit/test_*.h))
UNIT_SRC   := $(sort $(filter-out $(unit_helpers_with_header) $(UNIT_LEFT_OUT),$(wildcard tests/unit/test_*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(H)/test/unit/%$(EXE),$(UNIT_SRC))
unit_fakes   := $(addprefix tests/unit/,fake_hip.c fake_cuda.c fake_collectives.c)
UNIT_HELPERS := $(patsubst %.c,$(H)/obj/%.o,\
  $(filter-out $(UNIT_SRC) $(UNIT_LEFT_OUT) $(unit_fakes),$(wildcard tests/unit/*.c)))
# Windows knows a driver by its file's name.
fake_names := $(if $(KPACK_WINDOWS),amdhip64-fake.dll nvcuda-fake.dll,\
  fake_hip.so fake_hip_5.so fake_hip_broken.so fake_cuda.so fake_rccl.so fake_rccl_broken.so)
FAKES := $(if $(wildcard tests/unit/fake_hip.c),$(addprefix $(H)/test/unit/,$(fake_names)))

TEST_CFLAGS = $(CMOCKA_CFLAGS) -Igen -Itests -Itests/unit -Itests/kernels -Itests/import
link_flags_of = $(shell sed -n 's,^/\* link: \(.*\) \*/$$,\1,p' $(1))
$(H)/obj/tests/%.o: OBJ_CFLAGS = $(TEST_CFLAGS)
$(UNIT_SRC:%.c=$(H)/obj/%.o): $(PACK_HEADER)

$(H)/test/unit/%$(EXE): $(H)/obj/tests/unit/%.o $(UNIT_HELPERS) $(CMOCKA) $(H)/libkpack.a $(FAKES)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) $(if $(EXE),,-rdynamic) -o $@ $(filter %.o %.a,$^) \
	  $(if $(CMOCKA),,-lcmocka) -lm $(SYSTEM_LIBS) $(PACK_CODEC_LIBS) \
	  $(call link_flags_of,tests/unit/$*.c)

$(H)/test/unit/amdhip64-fake.dll: tests/unit/fake_hip.c tests/unit/fake_hip.h
$(H)/test/unit/nvcuda-fake.dll: tests/unit/fake_cuda.c tests/unit/fake_cuda.h src/cuda_api.h
$(H)/test/unit/%.dll: src/hip_api.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(TEST_CFLAGS) -shared -static -o $@ $(filter %.c,$^)

fake_flags = -Wl,-soname,libamdhip64.so.10
fake_flags_5 = -DFAKE_HIP_5 -Wl,-soname,libamdhip64.so.5
fake_flags_broken = -DFAKE_HIP_BROKEN
.SECONDARY: $(FAKES)
$(H)/test/unit/fake_hip%so: tests/unit/fake_hip.c tests/unit/fake_hip.h src/hip_api.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(TEST_CFLAGS) -shared \
	  $(fake_flags$(subst .,,$*)) -o $@ $< $(SYSTEM_LIBS)
$(H)/test/unit/fake_cuda.so: tests/unit/fake_cuda.c tests/unit/fake_cuda.h src/hip_api.h src/cuda_api.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(TEST_CFLAGS) -shared -Wl,-soname,libcuda.so.1 -o $@ $<
fake_flags_rccl = -Wl,-soname,librccl.so.1
fake_flags_rccl_broken = -DFAKE_BROKEN
$(H)/test/unit/fake_rccl%so: tests/unit/fake_collectives.c tests/unit/fake_collectives.h src/collectives.h $(H)/stamp/cc
	@mkdir -p $(@D)
	@$(CC) $(KPK_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(TEST_CFLAGS) -shared \
	  $(fake_flags_rccl$(subst .,,$*)) -o $@ $<
