# attention.mk - the example run_mha.c and the choice of kernels, where the pack has module attention

MHA_TEST := $(if $(filter attention,$(MODULES)),$(H)/test/attention/run_mha)
MHA_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/attention/*.c))
$(MHA_OBJECTS): OBJ_CFLAGS = $(TEST_CFLAGS)
$(MHA_OBJECTS): $(PACK_HEADER) $(PACK_LAUNCHERS)
$(H)/test/attention/run_mha: $(MHA_OBJECTS) $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
