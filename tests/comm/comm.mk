# comm.mk - groups of several GPUs in one process, where the pack has module comm

COMM_TEST := $(if $(filter comm,$(MODULES)),$(H)/test/comm/test_comm)
COMM_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(wildcard tests/comm/*.c))
$(COMM_OBJECTS): OBJ_CFLAGS = $(TEST_CFLAGS)
$(COMM_OBJECTS): $(PACK_HEADER) $(PACK_LAUNCHERS)
$(H)/test/comm/test_comm: $(COMM_OBJECTS) $(H)/libkpack.a
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
