/* test_null.c - every call of kpack.h with each of its pointers NULL
 *
 * The header is read, from the folder that the tests run in: a function or a
 * pointer that it declares and the tables below lack fails the test. Each
 * pointer is NULL once while the other arguments are right.
 */
#include "unit_checks.h"

#include "fake_hip.h"
#include "instance.h"
#include "test_pack.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

static struct fake_hip *fake;

/* Arguments of the calls, by kpack.h's names for parameters. */
/* clang-format off */
#define GIVEN_TABLE(X)                                                         \
    X(args) X(buffer) X(count) X(device) X(device_dst) X(device_src) X(event)  \
    X(exec) X(graph) X(used_nbytes) X(idle_nbytes)                                                           \
    X(free_nbytes) X(from) X(memory) X(peer) X(total_nbytes) X(function) X(host_dst) X(host_src) X(inst) X(items) X(kernel) X(kernels)  \
    X(module) X(modules) X(name) X(nbytes) X(object) X(options) X(out)         \
    X(pack) X(path) X(ptr) X(query) X(shape) X(start) X(stop) X(stream)        \
    X(target) X(values)                                                        \
    X(version) X(why)
/* clang-format on */

static struct {
#define X(name) void *name;
    GIVEN_TABLE(X)
#undef X
} g;

static void **given(const char *name)
{
#define X(id)                                                                  \
    if (strcmp(name, #id) == 0)                                                \
        return &g.id;
    GIVEN_TABLE(X)
#undef X
    fail_msg("kpack.h has a parameter \"%s\", which GIVEN_TABLE lacks", name);
    return NULL;
}

static kpk_instance *inst;
static unsigned char scratch[8192]; /* for every `out` and buffer */
static void *on_device;
static uint32_t n;
static const kpk_shape shape = {{1, 1, 1}, {1, 1, 1}, 0};
static const void *const pointers[] = {&on_device, &n, &n};
static const kpk_arg list[] = {{&on_device, 8}, {&n, 4}, {&n, 4}};
static kpk_launch_options launch_options;
static kpk_launch_item item;
static const kpk_value values[] = {
    {NULL, 0, 8, 8}, {NULL, 0, 4, 4}, {NULL, 0, 4, 4}};
static const kpk_condition condition = {0, KPK_EQUAL, 128, NULL};
static const kpk_query query = {.conditions = &condition, .nconditions = 1};
static const kpk_module *modules[] = {&test_module_alpha};
static int jit_option = 1;
static void *jit_value;

static const char alpha[] = "alpha";
enum { SCALE = 2, TABLE = 0, ROW = 2 }; /* alpha's, for any target */

static kpk_status close_another(bool is_null)
{
    kpk_instance *another = NULL;

    if (!is_null)
        assert_ok(kpk_open(&test_pack, 0, &another));
    return kpk_close(another);
}

static kpk_status free_another(kpk_instance *on, bool is_null)
{
    void *another = NULL;

    if (!is_null)
        assert_ok(kpk_malloc(inst, 8, &another));
    if (on)
        return kpk_free(on, another);
    assert_ok(kpk_free(inst, another));
    return kpk_free(NULL, NULL);
}

static kpk_status malloc_another(kpk_instance *on, void *out)
{
    kpk_status st = kpk_malloc(on, 8, out);

    if (st == KPK_OK)
        assert_ok(kpk_free(on, *(void **)out));
    return st;
}

static kpk_status uncached_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_free(inst, *(void **)out));
    return st;
}

static kpk_status import_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_ipc_close(inst, *(void **)out));
    return st;
}

static kpk_status ipc_close_another(kpk_instance *on, bool is_null)
{
    void *another = NULL;

    if (is_null)
        return kpk_ipc_close(on, NULL);
    assert_ok(kpk_ipc_import(inst, (const kpk_ipc_memory *)scratch, &another));
    if (on)
        return kpk_ipc_close(on, another);
    assert_ok(kpk_ipc_close(inst, another));
    return kpk_ipc_close(NULL, another);
}

static kpk_status open_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_close(*(kpk_instance **)out));
    return st;
}

static kpk_status stream_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_stream_destroy(inst, *(void **)out));
    return st;
}

static kpk_status event_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_event_destroy(inst, *(void **)out));
    return st;
}

static kpk_status host_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_free_host(inst, *(void **)out));
    return st;
}

static kpk_status free_host_another(const void *ptr)
{
    void *another = NULL;

    if (ptr)
        assert_ok(kpk_malloc_host(inst, 8, &another));
    if (g.inst)
        return kpk_free_host(g.inst, another);
    assert_ok(kpk_free_host(inst, another));
    return kpk_free_host(NULL, NULL);
}

static kpk_status graph_create(kpk_instance *on, unsigned flags, void **out)
{
    (void)flags;
    fake->capturing = scratch;
    return kpk_capture_end(on, scratch, out);
}

static kpk_status graph_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_graph_destroy(inst, *(void **)out));
    return st;
}

static kpk_status exec_create(kpk_instance *on, unsigned flags, void **out)
{
    (void)flags;
    return kpk_graph_instantiate(on, scratch, out);
}

static kpk_status exec_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_graph_exec_destroy(inst, *(void **)out));
    return st;
}

static kpk_status pooled_create(kpk_instance *on, unsigned flags, void **out)
{
    (void)flags;
    return kpk_malloc_async(on, 8, NULL, out);
}

static kpk_status pooled_free(kpk_instance *on, void *ptr)
{
    return kpk_free_async(on, ptr, g.stream);
}

static kpk_status pooled_another(kpk_status st, void *out)
{
    if (st == KPK_OK)
        assert_ok(kpk_free_async(inst, *(void **)out, NULL));
    return st;
}

/* `handle` says whether to pass NULL. */
static kpk_status destroy_another(kpk_status (*create)(kpk_instance *, unsigned,
                                                       void **),
                                  kpk_status (*destroy)(kpk_instance *, void *),
                                  const void *handle)
{
    void *another = NULL;

    if (handle)
        assert_ok(create(inst, 0, &another));
    if (g.inst)
        return destroy(g.inst, another);
    assert_ok(destroy(inst, another));
    return destroy(NULL, NULL);
}

/* A wrong one is refused after the pointers were looked at. */
#define ANY_LAYOUT 1

/* Calls that return a status: which pointers may be NULL, what is given that
 * is not the usual, and the call. */
/* clang-format off */
#define STATUS_TABLE(X)                                                        \
    X(kpk_driver_info, "version path", ,                                       \
      kpk_driver_info(KPK_HIP, g.version, g.path))                             \
    X(kpk_device_count, "", , kpk_device_count(g.out))                         \
    X(kpk_platform_device_count, "", ,                                         \
      kpk_platform_device_count(KPK_HIP, g.out))                               \
    X(kpk_device_get, "", , kpk_device_get(0, g.out))                          \
    X(kpk_open, "", , open_another(kpk_open(g.pack, 0, g.out), g.out))         \
    X(kpk_open_modules, "", ,                                                  \
      open_another(kpk_open_modules(g.modules, 1, 0, g.out), g.out))           \
    X(kpk_close, "inst", , close_another(!g.inst))                             \
    X(kpk_load, "module", g.module = (void *)alpha,                            \
      kpk_load(g.inst, g.module))                                              \
    X(kpk_unload, "module", g.module = (void *)alpha,                          \
      kpk_unload(g.inst, g.module))                                            \
    X(kpk_kernel_get, "", , kpk_kernel_get(g.inst, g.name, g.out))             \
    X(kpk_kernel_get_in, "", g.module = (void *)alpha,                         \
      kpk_kernel_get_in(g.inst, g.module, g.name, g.out))                      \
    X(kpk_kernel_raw, "module function",                                       \
      (g.module = scratch, g.function = scratch),                              \
      kpk_kernel_raw(g.kernel, g.module, g.function))                          \
    X(kpk_launch, "stream", ,                                                  \
      kpk_launch(g.kernel, g.shape, g.stream, g.args, 3))                      \
    X(kpk_kernel_shape, "", , kpk_kernel_shape(g.kernel, 1, 1, g.out))         \
    X(kpk_module_shape, "target", ,                                            \
      kpk_module_shape(g.module, SCALE, g.target, 1, 1, g.out))                \
    X(kpk_malloc, "", , malloc_another(g.inst, g.out))                         \
    X(kpk_free, "ptr", , free_another(g.inst, !g.ptr))                         \
    X(kpk_copy_to, "", ,                                                       \
      kpk_copy_to(g.inst, g.device_dst, g.host_src, 8))                        \
    X(kpk_copy_from, "", ,                                                     \
      kpk_copy_from(g.inst, g.host_dst, g.device_src, 8))                      \
    X(kpk_fill, "", , kpk_fill(g.inst, g.device_dst, 0, 8))                    \
    X(kpk_sync, "stream", , kpk_sync(g.inst, g.stream))                        \
    X(kpk_peer_enable, "", , kpk_peer_enable(g.inst, g.peer))                  \
    X(kpk_malloc_uncached, "", ,                                               \
      uncached_another(kpk_malloc_uncached(g.inst, 8, g.out), g.out))          \
    X(kpk_ipc_export, "", , kpk_ipc_export(g.inst, g.ptr, g.out))              \
    X(kpk_ipc_import, "", g.memory = scratch,                                  \
      import_another(kpk_ipc_import(g.inst, g.memory, g.out), g.out))          \
    X(kpk_ipc_close, "ptr", , ipc_close_another(g.inst, !g.ptr))                   \
    X(kpk_stream_create, "", ,                                                 \
      stream_another(kpk_stream_create(g.inst, 0, g.out), g.out))              \
    X(kpk_stream_destroy, "stream", ,                                          \
      destroy_another(kpk_stream_create, kpk_stream_destroy, g.stream))        \
    X(kpk_stream_query, "stream", , kpk_stream_query(g.inst, g.stream, g.out)) \
    X(kpk_stream_wait, "stream", ,                                             \
      kpk_stream_wait(g.inst, g.stream, g.event))                              \
    X(kpk_event_create, "", ,                                                  \
      event_another(kpk_event_create(g.inst, 0, g.out), g.out))                \
    X(kpk_event_destroy, "event", ,                                            \
      destroy_another(kpk_event_create, kpk_event_destroy, g.event))           \
    X(kpk_event_record, "stream", ,                                            \
      kpk_event_record(g.inst, g.event, g.stream))                             \
    X(kpk_event_query, "", , kpk_event_query(g.inst, g.event, g.out))          \
    X(kpk_event_sync, "", , kpk_event_sync(g.inst, g.event))                   \
    X(kpk_event_elapsed, "", ,                                                 \
      kpk_event_elapsed(g.inst, g.start, g.stop, g.out))                       \
    X(kpk_copy_to_async, "stream", ,                                           \
      kpk_copy_to_async(g.inst, g.device_dst, g.host_src, 8, g.stream))        \
    X(kpk_copy_from_async, "stream", ,                                         \
      kpk_copy_from_async(g.inst, g.host_dst, g.device_src, 8, g.stream))      \
    X(kpk_copy_async, "stream", ,                                              \
      kpk_copy_async(g.inst, g.device_dst, g.device_src, 8, g.stream))         \
    X(kpk_copy_peer_async, "stream", ,                                         \
      kpk_copy_peer_async(g.inst, g.device_dst, g.from, g.device_src, 8,       \
                          g.stream))                                           \
    X(kpk_fill_async, "stream", ,                                              \
      kpk_fill_async(g.inst, g.device_dst, 0, 8, g.stream))                    \
    X(kpk_malloc_host, "", ,                                                   \
      host_another(kpk_malloc_host(g.inst, 8, g.out), g.out))                  \
    X(kpk_free_host, "ptr", , free_host_another(g.ptr))                        \
    X(kpk_memory_info, "free_nbytes total_nbytes", ,                           \
      kpk_memory_info(g.inst, g.free_nbytes, g.total_nbytes))                  \
    X(kpk_device_attr, "", , kpk_device_attr(g.inst, 1, g.out))                \
    X(kpk_current_device, "", , kpk_current_device(KPK_HIP, g.out))            \
    X(kpk_capture_begin, "", g.stream = scratch,                               \
      kpk_capture_begin(g.inst, g.stream, KPK_CAPTURE_GLOBAL))                 \
    X(kpk_capture_end, "", g.stream = fake->capturing = scratch,               \
      graph_another(kpk_capture_end(g.inst, g.stream, g.out), g.out))          \
    X(kpk_capture_query, "stream", ,                                           \
      kpk_capture_query(g.inst, g.stream, g.out))                              \
    X(kpk_graph_instantiate, "", ,                                             \
      exec_another(kpk_graph_instantiate(g.inst, g.graph, g.out), g.out))      \
    X(kpk_graph_launch, "stream", ,                                            \
      kpk_graph_launch(g.inst, g.exec, g.stream))                              \
    X(kpk_graph_destroy, "graph", ,                                            \
      destroy_another(graph_create, kpk_graph_destroy, g.graph))               \
    X(kpk_graph_exec_destroy, "exec", ,                                        \
      destroy_another(exec_create, kpk_graph_exec_destroy, g.exec))            \
    X(kpk_malloc_async, "stream", ,                                            \
      pooled_another(kpk_malloc_async(g.inst, 8, g.stream, g.out), g.out))     \
    X(kpk_free_async, "ptr stream", ,                                          \
      destroy_another(pooled_create, pooled_free, g.ptr))                      \
    X(kpk_pool_trim, "", , kpk_pool_trim(g.inst))                              \
    X(kpk_pool_info, "used_nbytes idle_nbytes", ,                              \
      kpk_pool_info(g.inst, g.used_nbytes, g.idle_nbytes))                     \
    X(kpk_kernels_get, "", ,                                                   \
      kpk_kernels_get(g.inst, g.module, ANY_LAYOUT, g.out))                    \
    X(kpk_kernels_launch, "stream", g.args = (void *)pointers,                 \
      kpk_kernels_launch(g.kernels, SCALE, g.shape, g.stream, g.args))         \
    X(kpk_values_pack, "nbytes", ,                                             \
      kpk_values_pack(KPK_LAYOUT_SLOTS, g.values, 3, g.buffer, 64, g.nbytes))  \
    X(kpk_launch_packed, "stream", ,                                           \
      kpk_launch_packed(g.kernel, g.shape, g.stream, g.buffer, 16))            \
    X(kpk_launch_values, "stream", ,                                           \
      kpk_launch_values(g.kernel, g.shape, g.stream, KPK_LAYOUT_NATURAL,       \
                        g.values, 3))                                          \
    X(kpk_launch_ex, "", , kpk_launch_ex(g.kernel, g.options, g.args, 3))      \
    X(kpk_launch_all, "", , kpk_launch_all(g.items, 1, 0))                     \
    X(kpk_load_ex, "module",                                                   \
      (g.module = (void *)alpha, g.options = &jit_option,                      \
       g.values = &jit_value),                                                 \
      kpk_load_ex(g.inst, g.module, 1, g.options, g.values))                   \
    X(kpk_global, "out nbytes",                                                \
      (g.module = (void *)alpha, g.name = (void *)"table"),                    \
      kpk_global(g.inst, g.module, g.name, g.out, g.nbytes))                   \
    X(kpk_global_write, "",                                                    \
      (g.module = (void *)alpha, g.name = (void *)"table"),                    \
      kpk_global_write(g.inst, g.module, g.name, 0, g.host_src, 8))            \
    X(kpk_global_read, "",                                                     \
      (g.module = (void *)alpha, g.name = (void *)"table"),                    \
      kpk_global_read(g.inst, g.module, g.name, 0, g.host_dst, 8))             \
    X(kpk_texture, "", g.module = (void *)alpha,                               \
      kpk_texture(g.inst, g.module, g.name, g.out))                            \
    X(kpk_module_kernel, "", , kpk_module_kernel(g.module, SCALE, g.out))      \
    X(kpk_module_find_kernel, "", ,                                            \
      kpk_module_find_kernel(g.module, g.name, g.out))                         \
    X(kpk_module_arg, "", , kpk_module_arg(g.module, SCALE, 0, g.out))         \
    X(kpk_module_object, "", , kpk_module_object(g.module, 0, g.out))          \
    X(kpk_module_object_info, "", ,                                            \
      kpk_module_object_info(g.module, 0, g.out))                              \
    X(kpk_module_find_object, "", ,                                            \
      kpk_module_find_object(g.module, g.target, g.out))                       \
    X(kpk_module_attrs, "", , kpk_module_attrs(g.module, SCALE, 0, g.out))     \
    X(kpk_kernel_attrs, "", , kpk_kernel_attrs(g.kernel, g.out))               \
    X(kpk_module_symbols, "", ,                                                \
      kpk_module_symbols(g.module, 0, g.out, 4, g.count))                      \
    X(kpk_target_fit, "why", ,                                                 \
      kpk_target_fit(g.device, g.object, g.out, g.why, 64))                    \
    X(kpk_select, "", , kpk_select(g.module, g.target, g.out))                 \
    X(kpk_instance_selection, "", g.module = (void *)alpha,                    \
      kpk_instance_selection(g.inst, g.module, g.out))                         \
    X(kpk_module_table, "", , kpk_module_table(g.module, TABLE, g.out))        \
    X(kpk_module_find_table, "", g.name = (void *)alpha,                       \
      kpk_module_find_table(g.module, g.name, g.out))                          \
    X(kpk_table_column, "", , kpk_table_column(g.module, TABLE, 0, g.out))     \
    X(kpk_table_find_column, "", g.name = (void *)"block_x",                   \
      kpk_table_find_column(g.module, TABLE, g.name, g.out))                   \
    X(kpk_table_row, "", , kpk_table_row(g.module, TABLE, ROW, g.out))         \
    X(kpk_table_cell, "", , kpk_table_cell(g.module, TABLE, ROW, 0, g.out))    \
    X(kpk_table_numbers, "", ,                                                 \
      kpk_table_numbers(g.module, TABLE, ROW, g.out))                          \
    X(kpk_table_select, "", ,                                                  \
      kpk_table_select(g.module, TABLE, g.query, g.out))                       \
    X(kpk_table_kernel, "", ,                                                  \
      kpk_table_kernel(g.inst, g.module, TABLE, ROW, g.out))                   \
    X(kpk_kernel_driver_attr, "", ,                                               \
      kpk_kernel_driver_attr(g.kernel, KPK_DRIVER_ATTR_VGPRS, g.out))                \
    X(kpk_occupancy, "", , kpk_occupancy(g.kernel, 64, 0, g.out))              \
    X(kpk_occupancy_shape, "", , kpk_occupancy_shape(g.kernel, 0, 0, g.out))

/* Calls that return something else, and their answers to NULL. */
#define VALUE_TABLE(X)                                                         \
    X(kpk_instance_device, kpk_instance_device(g.inst), NULL)                  \
    X(kpk_instance_ordinal, kpk_instance_ordinal(g.inst), -1)                  \
    X(kpk_kernel_name, kpk_kernel_name(g.kernel), NULL)                        \
    X(kpk_kernel_module, kpk_kernel_module(g.kernel), NULL)                    \
    X(kpk_kernel_index, kpk_kernel_index(g.kernel), 0)                         \
    X(kpk_pack_name, kpk_pack_name(g.pack), NULL)                              \
    X(kpk_pack_module_count, kpk_pack_module_count(g.pack), 0)                 \
    X(kpk_pack_module, kpk_pack_module(g.pack, 0), NULL)                       \
    X(kpk_pack_find, kpk_pack_find(g.pack, g.name), NULL)                       \
    X(kpk_module_name, kpk_module_name(g.module), NULL)                        \
    X(kpk_module_kernel_count, kpk_module_kernel_count(g.module), 0)           \
    X(kpk_module_object_count, kpk_module_object_count(g.module), 0)           \
    X(kpk_module_table_count, kpk_module_table_count(g.module), 0)
/* clang-format on */

enum call_id {
#define X(name, ...) ID_##name,
    STATUS_TABLE(X) NSTATUS,
    FIRST_VALUE = NSTATUS - 1,
    VALUE_TABLE(X)
#undef X
        NCALLS
};

static const struct {
    const char *name;
    const char *may_be_null;
} calls[NCALLS] = {
#define X(name, may_be_null, ...) {#name, may_be_null},
    STATUS_TABLE(X)
#undef X
#define X(name, ...) {#name, ""},
        VALUE_TABLE(X)
#undef X
};

static void give_scratch(void)
{
    memset(scratch, 0, sizeof(scratch));
#define X(name) g.name = scratch;
    GIVEN_TABLE(X)
#undef X
}

/* Sets every argument of a call, none NULL. */
static void give(enum call_id call)
{
    const kpk_kernel *kernel = NULL;

    assert_ok(kpk_kernel_get(inst, "scale", &kernel));
    give_scratch();
    g.inst = g.from = g.peer = inst;
    g.pack = (void *)&test_pack;
    g.module = (void *)&test_module_alpha;
    g.modules = (void *)modules;
    g.name = (void *)"scale";
    g.target = g.object = (void *)"gfx90a";
    g.device = (void *)"gfx90a:xnack-";
    g.kernel = (void *)kernel;
    g.shape = (void *)&shape;
    g.stream = NULL;
    g.args = (void *)list;
    g.values = (void *)values;
    g.device_dst = g.device_src = on_device;
    g.query = (void *)&query;
    launch_options = (kpk_launch_options){.shape = shape};
    g.options = &launch_options;
    item = (kpk_launch_item){kernel, shape, NULL, list, 3};
    g.items = &item;
    g.kernels = kernel->slot;
#define X(name, may_be_null, other, of)                                        \
    if (call == ID_##name) {                                                   \
        other;                                                                 \
    }
    STATUS_TABLE(X)
#undef X
}

static kpk_status run(enum call_id call)
{
    switch (call) {
#define X(name, may_be_null, other, call)                                      \
    case ID_##name:                                                            \
        return call;
        STATUS_TABLE(X)
#undef X
#define X(name, call, wanted)                                                  \
    case ID_##name:                                                            \
        return (intptr_t)(call) == (intptr_t)(wanted) ? KPK_ERR_ARG : KPK_OK;
        VALUE_TABLE(X)
#undef X
    default:
        return KPK_OK;
    }
}

/* ---- declarations of the header ---- */

enum { MAX_POINTERS = 8, NAME_NBYTES = 64 };

struct declaration {
    char name[NAME_NBYTES];
    int npointers;
    char pointers[MAX_POINTERS][NAME_NBYTES];
};

static char *read_header(void)
{
    FILE *file = fopen("include/kpack.h", "rb");
    char *text = calloc(1, 1 << 20);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 10000);
    assert_int_equal(fclose(file), 0);
    return text;
}

/* Comments, and lines of the preprocessor with those that they go on in. */
static void wipe_what_is_no_code(char *text)
{
    bool at_line = true;

    for (char *c = text; *c; c++) {
        char *end = NULL;

        if (strncmp(c, "/*", 2) == 0)
            end = strstr(c, "*/") + 2;
        else if (at_line && *c == '#')
            for (end = strchr(c, '\n'); end[-1] == '\\';)
                end = strchr(end + 1, '\n');
        else if (at_line && strncmp(c, "extern \"C\" {", 12) == 0)
            end = c + 12;
        at_line = *c == '\n' || (at_line && isspace((unsigned char)*c));
        if (!end)
            continue;
        memset(c, ' ', (size_t)(end - c));
        c = end - 1;
    }
}

/* The identifier that ends in front of `end`. */
static void name_before(const char *begin, const char *end,
                        char name[NAME_NBYTES])
{
    const char *at;

    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    for (at = end;
         at > begin && (isalnum((unsigned char)at[-1]) || at[-1] == '_');)
        at--;
    assert_true(end - at < NAME_NBYTES);
    snprintf(name, NAME_NBYTES, "%.*s", (int)(end - at), at);
}

static bool has_word(const char *begin, const char *end, const char *word)
{
    const char *at = strstr(begin, word);

    return at && at < end;
}

/* "RESULT NAME(PARAMETER, ...)" */
static bool read_declaration(const char *begin, const char *end,
                             struct declaration *out)
{
    const char *at = memchr(begin, '(', (size_t)(end - begin));

    memset(out, 0, sizeof(*out));
    if (!at || has_word(begin, end, "typedef") ||
        has_word(begin, end, "static"))
        return false;
    name_before(begin, at, out->name);
    while (*at != ')') {
        const char *from = at + 1;

        at = from + strcspn(from, ",)");
        if (!memchr(from, '*', (size_t)(at - from)))
            continue;
        assert_true(out->npointers < MAX_POINTERS);
        name_before(from, at, out->pointers[out->npointers++]);
    }
    return strncmp(out->name, "kpk_", 4) == 0;
}

/* The next declaration of a function outside of all braces. */
static const char *next_declaration(const char *at, struct declaration *out)
{
    const char *begin = at;
    int depth = 0;

    for (; *at; at++) {
        if (*at == '{')
            depth++;
        if (*at == '}') {
            depth -= depth > 0; /* the end of extern "C" */
            if (depth == 0)
                begin = at + 1;
        }
        if (*at != ';' || depth)
            continue;
        if (read_declaration(begin, at, out))
            return at + 1;
        begin = at + 1;
    }
    return NULL;
}

static bool is_word_of(const char *words, const char *word)
{
    const size_t nbytes = strlen(word);

    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') &&
            (at[nbytes] == ' ' || at[nbytes] == '\0'))
            return true;
    }
    return false;
}

static void check_pointer(enum call_id id, const char *pointer)
{
    const bool may = is_word_of(calls[id].may_be_null, pointer);
    kpk_status st;

    give(id);
    *given(pointer) = NULL;
    st = run(id);
    if ((st == KPK_ERR_ARG) == may)
        fail_msg("%s, %s is NULL: %s %s", calls[id].name, pointer,
                 kpk_status_name(st), kpk_error_message());
    if (id < NSTATUS && !may)
        assert_message("NULL");
}

static void check_declaration(const struct declaration *d)
{
    int id = 0;

    while (id < NCALLS && strcmp(calls[id].name, d->name) != 0)
        id++;
    if (d->npointers == 0)
        return;
    if (id == NCALLS)
        fail_msg("kpack.h has %s(), which the tables here lack", d->name);
    give((enum call_id)id);
    if (id < NSTATUS && run((enum call_id)id) == KPK_ERR_ARG)
        fail_msg("%s is refused with all it needs: %s", d->name,
                 kpk_error_message());
    for (int i = 0; i < d->npointers; i++)
        check_pointer((enum call_id)id, d->pointers[i]);
}

static void test_null_is_refused_by_every_call(void **state)
{
    char *text = read_header();
    const char *at = text;
    struct declaration d;
    int ncalls = 0;

    (void)state;
    assert_ok(kpk_open(&test_pack, 0, &inst));
    assert_ok(kpk_malloc(inst, 64, &on_device));
    wipe_what_is_no_code(text);
    while ((at = next_declaration(at, &d)) != NULL) {
        check_declaration(&d);
        ncalls += d.npointers > 0;
    }
    assert_int_equal(ncalls, NCALLS);
    assert_int_equal(fake->nviolations, 0);
    assert_ok(kpk_free(inst, on_device));
    assert_ok(kpk_close(inst));
    assert_int_equal(fake->live, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_is_refused_by_every_call),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("null", tests, NULL, NULL);
}
