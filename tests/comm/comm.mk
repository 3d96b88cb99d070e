# comm.mk - groups of several GPUs, where the pack has module comm

COMM_TEST := $(if $(filter comm,$(MODULES)),$(H)/test/comm/test_comm)
COMM_OBJECTS := $(patsubst %.c,$(H)/obj/%.o,$(filter-out %/stand_in.c,$(wildcard tests/comm/*.c)))
COMM_STAND_IN := $(H)/test/comm/stand_in.so
$(COMM_OBJECTS): OBJ_CFLAGS = $(TEST_CFLAGS)
$(COMM_OBJECTS): $(PACK_HEADER) $(PACK_LAUNCHERS)
$(COMM_STAND_IN): tests/comm/stand_in.c src/collectives.h include/kpack/host_code.h $(H)/stamp/cc
	@echo "  CC    $@"
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -O1 -g -fPIC -shared -Iinclude -Isrc $(SAN_FLAGS) -o $@ $< -ldl -pthread
$(H)/test/comm/test_comm: $(COMM_OBJECTS) $(H)/libkpack.a | $(COMM_STAND_IN)
	@echo "  LD    $@"
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(SAN_FLAGS) -Wl,--wrap=calloc,--wrap=malloc -o $@ $^ -ldl -lm -pthread $(PACK_CODEC_LIBS)
