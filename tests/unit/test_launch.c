/* test_launch.c - what a launch refuses, and what HIP gets of it */
#include "unit_checks.h"

#include "fake_hip.h"
#include "header_layout.h"
#include "instance.h"
#include "test_pack.h"

static struct fake_hip *fake;
static kpk_instance *inst;

static int open_pack(void **state)
{
    (void)state;
    fake_hip_reset(fake);
    return kpk_open(&test_pack, 0, &inst) == KPK_OK ? 0 : -1;
}

static int close_pack(void **state)
{
    (void)state;
    return kpk_close(inst) == KPK_OK && fake->live == 0 &&
                   fake->nviolations == 0
               ? 0
               : -1;
}

static const kpk_kernel *get(const char *name)
{
    const kpk_kernel *kernel = NULL;

    assert_ok(kpk_kernel_get(inst, name, &kernel));
    return kernel;
}

/* The fake device takes blocks of 1024, 1024 x 1024 x 512 in the dimensions,
 * grids of 2147483647 x 65536 x 65535 and has 65536 bytes of LDS. */
/* clang-format off */
static const struct {
    const char *kernel;
    kpk_shape shape;
    const char *says; /* NULL: accepted */
} shapes[] = {
    {"noargs", {{1, 1, 1}, {1, 1, 1}, 0}, NULL},
    {"noargs", {{1, 1, 1}, {1024, 1, 1}, 65536}, NULL},
    {"noargs", {{1, 1, 1}, {2, 1, 512}, 0}, NULL},
    {"noargs", {{2147483647, 1, 1}, {1, 1, 1}, 0}, NULL},
    {"noargs", {{1, 65536, 65535}, {1, 1, 1}, 0}, NULL},
    {"noargs", {{1, 65536, 1}, {1, 1024, 1}, 0}, NULL},
    /* zeros */
    {"noargs", {{0, 1, 1}, {1, 1, 1}, 0}, "noargs: the grid is 0 blocks in x"},
    {"noargs", {{1, 0, 1}, {1, 1, 1}, 0}, "the grid is 0 blocks in y"},
    {"noargs", {{1, 1, 0}, {1, 1, 1}, 0}, "the grid is 0 blocks in z"},
    {"noargs", {{1, 1, 1}, {0, 1, 1}, 0}, "the block is 0 threads in x"},
    {"noargs", {{1, 1, 1}, {1, 0, 1}, 0}, "the block is 0 threads in y"},
    {"noargs", {{1, 1, 1}, {1, 1, 0}, 0}, "the block is 0 threads in z"},
    /* the device's limits */
    {"noargs", {{1, 65537, 1}, {1, 1, 1}, 0}, "the grid is 65537 blocks in y, device 0 takes 65536 at most"},
    {"noargs", {{1, 1, 65536}, {1, 1, 1}, 0}, "the grid is 65536 blocks in z, device 0 takes 65535 at most"},
    {"noargs", {{2147483648u, 1, 1}, {1, 1, 1}, 0}, "the grid is 2147483648 blocks in x"},
    {"noargs", {{1, 1, 1}, {1025, 1, 1}, 0}, "the block is 1025 threads in x, device 0 takes 1024"},
    {"noargs", {{1, 1, 1}, {1, 1, 513}, 0}, "the block is 513 threads in z, device 0 takes 512"},
    {"noargs", {{1, 1, 1}, {4294967295u, 1, 1}, 0}, "the block is 4294967295 threads in x"},
    {"noargs", {{1, 1, 1}, {32, 33, 1}, 0}, "the block 32 x 33 x 1 has more than the 1024 threads"},
    {"noargs", {{1, 1, 1}, {1024, 1024, 512}, 0}, "has more than the 1024 threads"},
    {"noargs", {{1, 1, 1}, {1, 1, 1}, 65537}, "65537 bytes of dynamic shared memory and the kernel's own 0 are more than the 65536 that device 0 (gfx90a:sramecc+:xnack-) has"},
    /* threads of one dimension: HIP takes less than 2^32 */
    {"noargs", {{4194304, 1, 1}, {1024, 1, 1}, 0}, "grid 4194304 times block 1024 in x makes 4294967296 threads"},
    {"noargs", {{4194303, 1, 1}, {1024, 1, 1}, 0}, NULL},
    {"noargs", {{2147483647, 1, 1}, {2, 1, 1}, 0}, NULL},
    {"noargs", {{2147483647, 1, 1}, {3, 1, 1}, 0}, "makes 6442450941 threads"},
    /* the kernel's limits */
    {"scale", {{1, 1, 1}, {257, 1, 1}, 0}, "the block 257 x 1 x 1 has 257 threads, the kernel was compiled for 256 at most"},
    {"scale", {{1, 1, 1}, {16, 17, 1}, 0}, "has 272 threads"},
    {"slots", {{1, 1, 1}, {128, 1, 1}, 0}, "the block is 128 x 1 x 1, the kernel accepts 64 x 2 x 1 only"},
    {"slots", {{1, 1, 1}, {2, 64, 1}, 0}, "accepts 64 x 2 x 1 only"},
    {"shared", {{1, 1, 1}, {1, 1, 1}, 64513}, "64513 bytes of dynamic shared memory and the kernel's own 1024 are more than the 65536"},
    {"shared", {{1, 1, 1}, {1, 1, 1}, 4294967295u}, "4294967295 bytes of dynamic"},
};
/* clang-format on */

static void test_shape_is_checked_against_kernel_and_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const kpk_kernel *kernel = get(shapes[i].kernel);

        if (!shapes[i].says) {
            assert_ok(kpk_launch(kernel, &shapes[i].shape, NULL, NULL, 0));
            assert_memory_equal(fake->last.grid, shapes[i].shape.grid, 12);
            assert_memory_equal(fake->last.block, shapes[i].shape.block, 12);
            assert_int_equal(fake->last.shared_nbytes,
                             shapes[i].shape.shared_nbytes);
            continue;
        }
        assert_status(kpk_launch(kernel, &shapes[i].shape, NULL, NULL, 0),
                      KPK_ERR_SHAPE);
        assert_message(shapes[i].says);
        assert_status(
            kpk_launch_packed(kernel, &shapes[i].shape, NULL, NULL, 0),
            KPK_ERR_SHAPE);
    }
}

static void test_a_launch_has_the_shared_memory_that_a_kernel_uses(void **state)
{
    const kpk_kernel *plain = get("noargs");
    struct kpk_kernel_attrs attrs = *plain->attrs;
    kpk_kernel kernel = *plain;
    kpk_shape shape = {{1, 1, 1}, {64, 1, 1}, 0};

    (void)state;
    attrs.least_shared_nbytes = 96;
    kernel.attrs = &attrs;
    for (; shape.shared_nbytes < 98; shape.shared_nbytes++) {
        if (shape.shared_nbytes >= 96) {
            assert_ok(kpk_launch(&kernel, &shape, NULL, NULL, 0));
            continue;
        }
        assert_status(kpk_launch(&kernel, &shape, NULL, NULL, 0),
                      KPK_ERR_SHAPE);
        assert_message("bytes of dynamic shared memory are fewer than the 96 "
                       "that the kernel uses");
    }
}

static void test_arguments_reach_hip_by_pointer_in_order(void **state)
{
    const kpk_kernel *kernel = get("scale");
    const kpk_shape shape = kpk_shape_1d(1000, 256);
    void *x = (void *)0x1122334455667788;
    uint32_t n = 1000;
    float by = 2.5f;
    uint32_t by_bits;
    int stream;

    (void)state;
    fake->param_nbytes[0] = 8;
    fake->param_nbytes[1] = 4;
    fake->param_nbytes[2] = 4;
    assert_ok(kpk_launch(kernel, &shape, &stream, KPK_ARGS(x, n, by)));
    memcpy(&by_bits, &by, 4);
    assert_string_equal(fake->last.kernel, "scale");
    assert_true(fake->last.has_params);
    assert_false(fake->last.has_extra);
    assert_int_equal(fake->last.params[0], 0x1122334455667788);
    assert_int_equal(fake->last.params[1], 1000);
    assert_int_equal(fake->last.params[2], by_bits);
    assert_int_equal(fake->last.grid[0], 4);
    assert_int_equal(fake->last.block[0], 256);
    assert_ptr_equal(fake->last.stream, &stream);
}

static void test_arguments_are_checked_by_count_and_size(void **state)
{
    const kpk_kernel *kernel = get("scale");
    const kpk_kernel *noargs = get("noargs");
    const kpk_kernel *many = get("many");
    const kpk_shape shape = kpk_shape_1d(1, 64);
    void *x = NULL;
    uint32_t n = 1;
    uint64_t wide = 1;
    float by = 1;
    kpk_arg args[KPK_MAX_ARGS + 4];

    (void)state;
    assert_status(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, n)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("scale takes 3 arguments, 2 were given. Names and bytes: x "
                   "8, n 4, by 4");
    assert_status(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, n, by, by)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("4 were given");
    assert_status(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("1 was given");
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 3), KPK_ERR_ARG);
    assert_message("scale: args is NULL, nargs 3");
    assert_status(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, wide, by)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("scale: argument 1 \"n\" is 4 bytes, 8 were given");
    args[0] = (kpk_arg){&x, 8};
    args[1] = (kpk_arg){NULL, 4};
    args[2] = (kpk_arg){&by, 4};
    assert_status(kpk_launch(kernel, &shape, NULL, args, 3),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("argument 1 \"n\" has no value: its pointer is NULL");
    assert_status(kpk_launch(noargs, &shape, NULL, KPK_ARGS(x)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("noargs takes 0 arguments, 1 was given. Names and bytes: "
                   "none");
    for (size_t i = 0; i < 260; i++)
        args[i] = (kpk_arg){&n, 4};
    assert_status(kpk_launch(many, &shape, NULL, args, 260),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("more than the 256 that are passed by pointer");
    assert_status(kpk_launch(NULL, &shape, NULL, NULL, 0), KPK_ERR_ARG);
    assert_status(kpk_launch(noargs, NULL, NULL, NULL, 0), KPK_ERR_ARG);
    assert_int_equal(fake->nlaunches, 0);
}

static void test_padding_entries_take_no_argument_and_get_zeros(void **state)
{
    const kpk_kernel *kernel = get("slots");
    const kpk_shape shape = {{1, 1, 1}, {64, 2, 1}, 0};
    void *x = (void *)0xabcdef;
    uint32_t n = 77;

    (void)state;
    fake->param_nbytes[0] = 8;
    fake->param_nbytes[1] = 8;
    fake->param_nbytes[2] = 4;
    fake->param_nbytes[3] = 8; /* of 12 */
    assert_ok(kpk_launch(kernel, &shape, NULL, KPK_ARGS(x, n)));
    assert_int_equal(fake->last.params[0], 0xabcdef);
    assert_int_equal(fake->last.params[1], 0);
    assert_int_equal(fake->last.params[2], 77);
    assert_int_equal(fake->last.params[3], 0);
}

static void test_packed_buffer_reaches_hip_through_extra(void **state)
{
    const kpk_kernel *kernel = get("slots");
    const kpk_kernel *noargs = get("noargs");
    const kpk_shape shape = {{1, 1, 1}, {64, 2, 1}, 0};
    unsigned char buffer[64];
    unsigned char zeros[12] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(buffer); i++)
        buffer[i] = (unsigned char)(i + 1);
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 32));
    assert_true(fake->last.has_extra);
    assert_false(fake->last.has_params);
    assert_int_equal(fake->last.extra_nbytes, 32);
    assert_memory_equal(fake->last.extra, buffer, 32);
    /* Longer: the rest is dropped. */
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 64));
    assert_int_equal(fake->last.extra_nbytes, 32);
    /* Without its last padding, which HIP reads all the same. */
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 20));
    assert_int_equal(fake->last.extra_nbytes, 32);
    assert_memory_equal(fake->last.extra, buffer, 20);
    assert_memory_equal(fake->last.extra + 20, zeros, 12);
    assert_status(kpk_launch_packed(kernel, &shape, NULL, buffer, 19),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("slots: argument 2 \"n\" lies at bytes 16 to 19, the buffer "
                   "has 19; 20 are needed");
    assert_status(kpk_launch_packed(kernel, &shape, NULL, NULL, 32),
                  KPK_ERR_ARG);
    assert_ok(kpk_launch_packed(noargs, &shape, NULL, NULL, 0));
    assert_false(fake->last.has_extra);
    assert_false(fake->last.has_params);
}

/* A list that goes on behind the segment that the kernel asks for. */
static void test_packed_buffer_may_end_with_the_segment(void **state)
{
    const kpk_kernel *kernel = get("torn");
    const kpk_shape shape = kpk_shape_1d(1, 64);
    unsigned char buffer[128] = {1};

    (void)state;
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 112));
    assert_int_equal(fake->last.extra_nbytes, 128);
    assert_status(kpk_launch_packed(kernel, &shape, NULL, buffer, 111),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("\"y\" lies at bytes 112 to 115, the buffer has 111");
}

/* HIP before 7.0 copies what the metadata lists: here, nothing. */
static void test_arguments_that_are_not_listed_are_not_dropped(void **state)
{
    const kpk_kernel *kernel = get("unlisted");
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const kpk_launch_options options = {
        .shape = shape, .stop_event = &fake, .packed = "", .packed_nbytes = 24};
    const unsigned char buffer[32] = {1, 2, 3, [23] = 24, [24] = 25};

    (void)state;
    assert_status(kpk_launch_packed(kernel, &shape, NULL, buffer, 24),
                  KPK_ERR_UNSUPPORTED);
    assert_message("unlisted reads 24 bytes of arguments, but its metadata "
                   "lists none. HIP passes them from 7.0 on, this is HIP 6.3");
    assert_status(kpk_launch_packed(kernel, &shape, NULL, buffer, 23),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("24 bytes of arguments are needed, the buffer has 23");
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 0),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("Use kpk_launch_packed()");
    assert_status(kpk_launch_ex(kernel, &options, NULL, 0),
                  KPK_ERR_KERNEL_ARGS);
    assert_int_equal(fake->nlaunches, 0);
}

static void test_values_are_held_against_the_argument_list(void **state)
{
    const kpk_shape slots_shape = {{1, 1, 1}, {64, 2, 1}, 0};
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const unsigned char bytes[12] = {0};
    const kpk_value pointer = kpk_ptr(bytes);
    const kpk_value u32 = kpk_u32(7);
    const kpk_value u64 = kpk_u64(7);
    const kpk_value f32 = kpk_f32(1);
    /* clang-format off */
    const struct {
        const char *kernel;
        kpk_layout layout;
        size_t n;
        kpk_value values[3];
        const char *says; /* NULL: accepted */
    } cases[] = {
        {"slots", KPK_LAYOUT_SLOTS, 2, {pointer, u32, f32}, NULL},
        {"slots", KPK_LAYOUT_SLOTS, 3, {pointer, u32, f32}, NULL},
        {"slots", KPK_LAYOUT_SLOTS, 1, {pointer, u32, f32}, "slots: argument 2 \"n\" lies at bytes 16 to 19, the buffer has 16"},
        {"slots", KPK_LAYOUT_SLOTS, 2, {u32, u32, f32}, "argument 0 \"x\" lies at bytes 0 to 7, but value 0 at bytes 0 to 3"},
        {"slots", KPK_LAYOUT_SLOTS, 2, {pointer, u64, f32}, "argument 2 \"n\" lies at bytes 16 to 19, but value 1 at bytes 16 to 23"},
        {"slots", KPK_LAYOUT_NATURAL, 2, {pointer, u32, f32}, "argument 2 \"n\" lies at bytes 16 to 19, but value 1 at bytes 8 to 11"},
        {"slots", KPK_LAYOUT_NATURAL, 3, {kpk_bytes(bytes, 12, 4), u32, f32}, "value 0 at bytes 0 to 11"},
        {"scale", KPK_LAYOUT_NATURAL, 3, {pointer, u32, f32}, NULL},
        {"scale", KPK_LAYOUT_NATURAL, 2, {pointer, u32, f32}, "argument 2 \"by\" lies at bytes 12 to 15, the buffer has 12"},
        {"scale", KPK_LAYOUT_NATURAL, 2, {pointer, u64, f32}, "argument 1 \"n\" lies at bytes 8 to 11, but value 1 at bytes 8 to 15"},
        {"scale", KPK_LAYOUT_SLOTS, 3, {pointer, u32, f32}, "value 1 at bytes 16 to 19"},
        {"noargs", KPK_LAYOUT_NATURAL, 1, {u32, u32, f32}, NULL},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const kpk_kernel *kernel = get(cases[i].kernel);
        const kpk_status st = kpk_launch_values(
            kernel,
            strcmp(cases[i].kernel, "slots") == 0 ? &slots_shape : &shape, NULL,
            cases[i].layout, cases[i].values, cases[i].n);

        if (!cases[i].says) {
            assert_ok(st);
            continue;
        }
        assert_status(st, KPK_ERR_KERNEL_ARGS);
        assert_message(cases[i].says);
    }
    assert_int_equal(fake->nlaunches, 4);
    assert_status(kpk_launch_values(NULL, &shape, NULL, KPK_LAYOUT_SLOTS,
                                    cases[0].values, 2),
                  KPK_ERR_ARG);
    assert_status(kpk_launch_values(get("scale"), &shape, NULL,
                                    KPK_LAYOUT_SLOTS, NULL, 2),
                  KPK_ERR_ARG);
}

/* Values may be the members of a struct that the kernel takes. */
static void test_values_may_be_parts_of_a_struct(void **state)
{
    const kpk_kernel *kernel = get("whole");
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const kpk_value values[] = {kpk_ptr(&shape), kpk_u32(5), kpk_u32(6)};
    uint32_t second;

    (void)state;
    assert_ok(
        kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_SLOTS, values, 3));
    memcpy(&second, fake->last.extra + 16, sizeof(second));
    assert_int_equal(second, 5);
    assert_status(
        kpk_launch_values(kernel, &shape, NULL, KPK_LAYOUT_SLOTS, values, 2),
        KPK_ERR_KERNEL_ARGS);
    assert_message("lies at bytes 0 to 47, the buffer has 32");
}

static void test_packed_launch_has_no_limit_of_arguments(void **state)
{
    const kpk_kernel *kernel = get("many");
    const kpk_shape shape = kpk_shape_1d(1, 64);
    unsigned char buffer[1040] = {1, 2, 3};

    (void)state;
    assert_ok(kpk_launch_packed(kernel, &shape, NULL, buffer, 1040));
    assert_int_equal(fake->last.extra_nbytes, 1040);
    assert_memory_equal(fake->last.extra, buffer, 1040);
    assert_status(kpk_launch_packed(kernel, &shape, NULL, buffer, 1039),
                  KPK_ERR_KERNEL_ARGS);
}

static void test_failed_launch_is_told_with_its_shape(void **state)
{
    const kpk_kernel *kernel = get("noargs");
    const kpk_shape shape = {{3, 4, 5}, {6, 7, 8}, 9};

    (void)state;
    fake->fail_name = "hipModuleLaunchKernel";
    fake->fail_error = 719;
    assert_status(kpk_launch(kernel, &shape, NULL, NULL, 0), KPK_ERR_DRIVER);
    assert_message("cannot launch noargs with grid 3 x 4 x 5, block 6 x 7 x 8 "
                   "and 9 bytes of shared memory on device 0: "
                   "hipModuleLaunchKernel returned hipErrorFake (719)");
    assert_int_equal(kpk_error_driver(), 719);
    fake->fail_name = NULL;
}

static void test_launch_on_another_device_restores_the_current_one(void **state)
{
    kpk_instance *other;
    const kpk_kernel *kernel;
    const kpk_shape shape = kpk_shape_1d(1, 64);
    int nsets;

    (void)state;
    assert_ok(kpk_open(&test_pack, 1, &other));
    assert_ok(kpk_kernel_get(other, "noargs", &kernel));
    nsets = fake->nsets;
    assert_ok(kpk_launch(kernel, &shape, NULL, NULL, 0));
    assert_int_equal(fake->last.device, 1);
    assert_int_equal(fake->nsets, nsets + 2);
    assert_ok(kpk_launch(get("noargs"), &shape, NULL, NULL, 0));
    assert_int_equal(fake->last.device, 0);
    assert_ok(kpk_close(other));
}

static void test_memory_calls_move_bytes_and_say_what_failed(void **state)
{
    unsigned char out[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char back[8] = {0};
    void *ptr = NULL;

    (void)state;
    assert_ok(kpk_malloc(inst, 8, &ptr));
    assert_ok(kpk_copy_to(inst, ptr, out, 8));
    assert_ok(kpk_copy_from(inst, back, ptr, 8));
    assert_memory_equal(out, back, 8);
    assert_ok(kpk_fill(inst, ptr, 7, 8));
    assert_ok(kpk_copy_from(inst, back, ptr, 8));
    assert_int_equal(back[0], 7);
    assert_int_equal(back[7], 7);
    assert_ok(kpk_sync(inst, NULL));
    assert_ok(kpk_free(inst, ptr));
    assert_ok(kpk_free(inst, NULL));
    assert_status(kpk_malloc(NULL, 8, &ptr), KPK_ERR_ARG);
    assert_message("kpk_malloc: inst is NULL");
    assert_status(kpk_malloc(inst, 8, NULL), KPK_ERR_ARG);
    assert_status(kpk_sync(NULL, NULL), KPK_ERR_ARG);
    assert_message("kpk_sync: inst is NULL");
    fake->fail_name = "hipMalloc";
    fake->fail_error = 2;
    assert_status(kpk_malloc(inst, 12345, &ptr), KPK_ERR_DRIVER);
    assert_message("cannot allocate 12345 bytes on device 0");
    fake->fail_name = NULL;
}

static void test_wrong_count_names_what_is_taken(void **state)
{
    const kpk_shape slots = {{1, 1, 1}, {64, 2, 1}, 0};
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const kpk_kernel *twin = NULL;
    void *x = NULL;
    uint32_t n = 1;

    (void)state;
    assert_status(kpk_launch(get("slots"), &slots, NULL, KPK_ARGS(x)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("slots takes 2 arguments, 1 was given. Names and bytes: x "
                   "8, n 4");
    assert_status(kpk_launch(get("many"), &shape, NULL, KPK_ARGS(n)),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("unnamed 4, unnamed 4");
    assert_ok(kpk_kernel_get_in(inst, "alpha", "twin", &twin));
    assert_status(kpk_launch(twin, &shape, NULL, NULL, 0), KPK_ERR_KERNEL_ARGS);
    assert_message("twin takes 1 argument, 0 were given");
}

/* Lists that go on behind the segment: the end may be left out, unless it is
 * too much to be made up. */
static void test_end_of_a_list_may_be_left_out(void **state)
{
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const unsigned char buffer[16] = {1};
    const kpk_launch_options options = {.shape = shape,
                                        .stop_event = &fake,
                                        .packed = buffer,
                                        .packed_nbytes = 8};

    (void)state;
    assert_ok(kpk_launch_packed(get("ragged"), &shape, NULL, buffer, 8));
    assert_int_equal(fake->last.extra_nbytes, 96);
    assert_status(kpk_launch_ex(get("ragged"), &options, NULL, 0),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("argument 1 \"y\" lies at bytes 16 to 95, the buffer has 8");
    assert_status(kpk_launch_packed(get("huge"), &shape, NULL, buffer, 8),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("argument 1 \"y\" lies at bytes 8 to 5007");
    assert_ok(kpk_launch_packed(get("unasked"), &shape, NULL, NULL, 0));
    assert_int_equal(fake->last.extra_nbytes, 4);
}

static void test_packed_buffer_of_many_arguments_takes_no_events(void **state)
{
    static const unsigned char buffer[1040];
    const kpk_launch_options options = {.shape = {{1, 1, 1}, {64, 1, 1}, 0},
                                        .stop_event = &fake,
                                        .packed = buffer,
                                        .packed_nbytes = sizeof(buffer)};

    (void)state;
    assert_status(kpk_launch_ex(get("many"), &options, NULL, 0),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("many lists 260 arguments");
}

static void test_values_beside_arguments_are_refused(void **state)
{
    const kpk_shape slots = {{1, 1, 1}, {64, 2, 1}, 0};
    const kpk_shape shape = kpk_shape_1d(1, 64);
    const unsigned char bytes[64] = {0};
    const kpk_value padding[] = {kpk_ptr(bytes), kpk_bytes(bytes, 4, 16),
                                 kpk_u32(1)};
    const kpk_value gap[] = {kpk_ptr(bytes), kpk_u32(1)};
    const kpk_value beyond[] = {kpk_bytes(bytes, 64, 8)};

    (void)state;
    assert_status(kpk_launch_values(get("slots"), &slots, NULL,
                                    KPK_LAYOUT_NATURAL, padding, 3),
                  KPK_ERR_KERNEL_ARGS);
    assert_message("slots has no argument at bytes 20 to 23, where value 2");
    assert_status(kpk_launch_values(get("ragged"), &shape, NULL,
                                    KPK_LAYOUT_NATURAL, gap, 2),
                  KPK_ERR_KERNEL_ARGS);
    assert_status(kpk_launch_values(get("whole"), &shape, NULL,
                                    KPK_LAYOUT_NATURAL, beyond, 1),
                  KPK_ERR_KERNEL_ARGS);
    assert_status(
        kpk_launch_values(get("whole"), &slots, NULL, (kpk_layout)7, beyond, 1),
        KPK_ERR_ARG);
    assert_status(
        kpk_launch_values(get("slots"), &shape, NULL, KPK_LAYOUT_SLOTS, gap, 2),
        KPK_ERR_SHAPE);
}

static void test_nothing_is_copied_from_and_to_nowhere(void **state)
{
    void *ptr = &state;

    assert_ok(kpk_copy_to(inst, NULL, NULL, 0));
    assert_ok(kpk_copy_from(inst, NULL, NULL, 0));
    assert_ok(kpk_fill(inst, NULL, 1, 0));
    fake->lie_name = "hipMalloc"; /* as HIP answers for 0 bytes */
    assert_ok(kpk_malloc(inst, 0, &ptr));
    assert_null(ptr);
}

/* HIP sets arguments that point to shared memory itself. It sets one right, but
 * not two, so all kinds of launches refuse two. */
static void test_two_pointers_to_shared_memory_are_refused(void **state)
{
    static const char says[] = "two_shared has 2 arguments that point to "
                               "dynamic shared memory. HIP sets them itself";
    const kpk_kernel *two = get("two_shared");
    const uint32_t x = 0, y = 256;
    const kpk_shape shape = {{1, 1, 1}, {64, 1, 1}, 512};
    const kpk_arg args[] = {{&x, 4}, {&y, 4}};
    const kpk_value values[] = {kpk_u32(x), kpk_u32(y)};
    const void *const pointers[] = {&x, &y};
    const kpk_launch_options options = {.shape = shape,
                                        .flags = KPK_LAUNCH_COOPERATIVE};
    const kpk_launch_item item = {two, shape, NULL, args, 2};
    const kpk_kernels *kernels;

    (void)state;
    assert_ok(kpk_launch(get("uses_shared"), &shape, NULL, args, 2));
    assert_int_equal(fake->nlaunches, 1);
    assert_ok(kpk_kernels_get(inst, &test_module_alpha,
                              header_layout(&test_module_alpha), &kernels));
#define REFUSED(call)                                                          \
    do {                                                                       \
        assert_status(call, KPK_ERR_UNSUPPORTED);                              \
        assert_message(says);                                                  \
        assert_status(kpk_sync(NULL, NULL), KPK_ERR_ARG);                      \
    } while (0)
    REFUSED(kpk_launch(two, &shape, NULL, args, 2));
    REFUSED(kpk_launch_packed(two, &shape, NULL, pointers, 16));
    REFUSED(
        kpk_launch_values(two, &shape, NULL, KPK_LAYOUT_NATURAL, values, 2));
    REFUSED(kpk_launch_ex(two, &options, args, 2));
    REFUSED(kpk_launch_all(&item, 1, 0));
    REFUSED(kpk_kernels_launch(kernels, kpk_kernel_index(two), &shape, NULL,
                               pointers));
    assert_int_equal(fake->nlaunches, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pack, close_pack)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_shape_is_checked_against_kernel_and_device),
        TEST(test_a_launch_has_the_shared_memory_that_a_kernel_uses),
        TEST(test_arguments_reach_hip_by_pointer_in_order),
        TEST(test_arguments_are_checked_by_count_and_size),
        TEST(test_padding_entries_take_no_argument_and_get_zeros),
        TEST(test_packed_buffer_reaches_hip_through_extra),
        TEST(test_packed_buffer_may_end_with_the_segment),
        TEST(test_arguments_that_are_not_listed_are_not_dropped),
        TEST(test_values_are_held_against_the_argument_list),
        TEST(test_values_may_be_parts_of_a_struct),
        TEST(test_packed_launch_has_no_limit_of_arguments),
        TEST(test_failed_launch_is_told_with_its_shape),
        TEST(test_launch_on_another_device_restores_the_current_one),
        TEST(test_memory_calls_move_bytes_and_say_what_failed),
        TEST(test_wrong_count_names_what_is_taken),
        TEST(test_end_of_a_list_may_be_left_out),
        TEST(test_packed_buffer_of_many_arguments_takes_no_events),
        TEST(test_values_beside_arguments_are_refused),
        TEST(test_two_pointers_to_shared_memory_are_refused),
        TEST(test_nothing_is_copied_from_and_to_nowhere),
    };

    fake = fake_hip_load("fake_hip.so");
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
