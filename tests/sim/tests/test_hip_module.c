/* test_hip_module.c - images in all forms, what is refused, functions, globals
 */
#define _GNU_SOURCE
#include "hip_test.h"

#include "../../scratch.h"
#include "sim/base/allocation.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

hipError_t hipLibraryLoadData(hipModule_t *library, const void *code,
                              int *options, void **values, unsigned n,
                              int *more, void **more_values, unsigned nmore);
hipError_t hipLibraryLoadFromFile(hipModule_t *library, const char *name,
                                  int *options, void **values, unsigned n,
                                  int *more, void **more_values,
                                  unsigned nmore);
hipError_t hipLibraryUnload(hipModule_t library);
hipError_t hipLibraryGetKernel(hipFunction_t *kernel, hipModule_t library,
                               const char *name);
hipError_t hipLibraryGetKernelCount(unsigned *n, hipModule_t library);
hipError_t hipLibraryEnumerateKernels(hipFunction_t *kernels, unsigned n,
                                      hipModule_t library);
hipError_t hipLibraryGetGlobal(void **p, size_t *n, hipModule_t library,
                               const char *name);
hipError_t hipLibraryGetManaged(void **p, size_t *n, hipModule_t library,
                                const char *name);
hipError_t hipKernelGetLibrary(hipModule_t *library, hipFunction_t kernel);
hipError_t hipKernelGetName(const char **name, hipFunction_t kernel);
hipError_t hipKernelGetFunction(hipFunction_t *f, hipFunction_t kernel);
hipError_t hipKernelGetParamInfo(hipFunction_t kernel, size_t index,
                                 size_t *offset, size_t *size);
hipError_t hipKernelGetAttribute(int *value, int which, hipFunction_t kernel,
                                 int device);
hipError_t hipKernelSetAttribute(int which, int value, hipFunction_t kernel,
                                 int device);
hipError_t hipKernelSetAttributeForDevice(hipFunction_t kernel, int which,
                                          int value, int device);
hipError_t hipLinkCreate(unsigned n, int *options, void **values, void **state);
hipError_t hipLinkAddData(void *state, int type, void *data, size_t size,
                          const char *name, unsigned n, int *options,
                          void **values);
hipError_t hipLinkAddFile(void *state, int type, const char *name, unsigned n,
                          int *options, void **values);
hipError_t hipLinkComplete(void *state, void **image, size_t *n);
hipError_t hipLinkDestroy(void *state);

static const uint8_t *api;
static size_t napi;

/* ---- making images ------------------------------------------------------ */

static void le(uint8_t *at, uint64_t value, int n)
{
    memcpy(at, &value, (size_t)n);
}

struct entry {
    const char *id;
    const void *bytes;
    size_t n;
};

static uint8_t *make_bundle(const struct entry *list, size_t n, size_t *size)
{
    size_t at = 32, data = 4096, i;
    uint8_t *out;

    *size = data;
    for (i = 0; i < n; i++)
        *size += (list[i].n + 4095) & ~(size_t)4095;
    out = calloc(1, *size);
    memcpy(out, "__CLANG_OFFLOAD_BUNDLE__", 24);
    le(out + 24, n, 8);
    for (i = 0; i < n; i++) {
        le(out + at, data, 8);
        le(out + at + 8, list[i].n, 8);
        le(out + at + 16, strlen(list[i].id), 8);
        memcpy(out + at + 24, list[i].id, strlen(list[i].id));
        at += 24 + strlen(list[i].id);
        if (list[i].n)
            memcpy(out + data, list[i].bytes, list[i].n);
        data += (list[i].n + 4095) & ~(size_t)4095;
    }
    return out;
}

/* CCOB of a version (1, 2, 3) and method (0 zlib, 1 zstd). */
static uint8_t *compress_bundle(const uint8_t *plain, size_t n, int version,
                                int method, size_t *size)
{
    static const size_t headers[] = {0, 20, 24, 32};
    size_t header = headers[version];
    uLongf bound = compressBound(n) + ZSTD_compressBound(n);
    uint8_t *out = calloc(1, header + bound);

    if (method == 0) {
        assert_int_equal(compress(out + header, &bound, plain, n), Z_OK);
        *size = header + bound;
    } else {
        *size = header + ZSTD_compress(out + header, bound, plain, n, 3);
    }
    memcpy(out, (const char[]){'C', 'C', 'O', 'B'}, 4);
    le(out + 4, (uint64_t)version, 2);
    le(out + 6, (uint64_t)method, 2);
    if (version == 1) {
        le(out + 8, n, 4);
    } else if (version == 2) {
        le(out + 8, *size, 4);
        le(out + 12, n, 4);
    } else {
        le(out + 8, *size, 8);
        le(out + 16, n, 8);
    }
    return out;
}

static void expect_works(const void *image)
{
    hipModule_t module;
    hipFunction_t f;

    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "add"));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

/* ---- loading ------------------------------------------------------------ */

static void test_bare_code_object_loads(void **state)
{
    hipModule_t module;
    unsigned count = 0;
    size_t before, during, after;

    (void)state;
    EXPECT(hipSuccess, hipMemGetInfo(&before, NULL));
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipMemGetInfo(&during, NULL));
    assert_true(during < before);
    EXPECT(hipSuccess, hipModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 19);
    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipSuccess, hipMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
    EXPECT(hipSuccess, hipModuleLoadDataEx(&module, api, 0, NULL, NULL));
    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipSuccess, hipModuleLoadFatBinary(&module, api));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

static void test_unloaded_modules_leave_no_memory(void **state)
{
    struct sim_alloc *a = sim_mem_alloc(0, 1, 256, SIM_MEM_DEVICE);
    struct stat before, after;
    hipModule_t module;
    uint64_t offset;
    int fd = -1, i;

    (void)state;
    assert_non_null(a);
    assert_true(sim_mem_shared_file(a->base, &fd, &offset));
    assert_int_equal(fstat(fd, &before), 0);
    for (i = 0; i < 32; i++) {
        EXPECT(hipSuccess, hipModuleLoadData(&module, api));
        EXPECT(hipSuccess, hipModuleUnload(module));
    }
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    sim_mem_free(a->base);
}

/* AMD's loader resolves undefined symbols of variables only, and other symbols
 * that a relocation names. */
static void test_undefined_symbols_count_if_they_are_variables(void **state)
{
    uint8_t *image = malloc(napi);
    Elf64_Ehdr header;
    hipModule_t module;
    bool found = false;

    (void)state;
    assert_non_null(image);
    memcpy(image, api, napi);
    memcpy(&header, image, sizeof(header));
    for (unsigned k = 0; k < header.e_shnum; k++) {
        Elf64_Shdr section;

        memcpy(&section, image + header.e_shoff + k * sizeof(section),
               sizeof(section));
        if (section.sh_type != SHT_DYNSYM)
            continue;
        for (uint64_t at = section.sh_offset;
             at < section.sh_offset + section.sh_size && !found;
             at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;

            memcpy(&symbol, image + at, sizeof(symbol));
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
                continue;
            found = true;
            symbol.st_shndx = SHN_UNDEF;
            symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
            memcpy(image + at, &symbol, sizeof(symbol));
            EXPECT(hipSuccess, hipModuleLoadData(&module, image));
            EXPECT(hipSuccess, hipModuleUnload(module));
            symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
            memcpy(image + at, &symbol, sizeof(symbol));
            assert_int_not_equal(hipModuleLoadData(&module, image), hipSuccess);
        }
    }
    assert_true(found);
    free(image);
}

static void test_bundles_load(void **state)
{
    const struct entry list[] = {
        {"host-x86_64-unknown-linux-gnu-", NULL, 0},
        {"hipv4-amdgcn-amd-amdhsa--gfx1201", "no ELF at all", 13},
        {"hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", "no ELF either", 13},
        {"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", api, napi}};
    const struct entry old[] = {
        {"host-x86_64-unknown-linux-gnu-", NULL, 0},
        {"hip-amdgcn-amd-amdhsa-unknown-gfx942", api, napi}};
    const struct entry native_wins[] = {
        {"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "not this", 8},
        {"hipv4-amdgcn-amd-amdhsa--gfx942", api, napi}};
    size_t n, m;
    uint8_t *bundle = make_bundle(list, 4, &n), *packed;
    int version, method;

    (void)state;
    expect_works(bundle);
    for (version = 1; version <= 3; version++)
        for (method = 0; method < 2; method++) {
            packed = compress_bundle(bundle, n, version, method, &m);
            expect_works(packed);
            free(packed);
        }
    free(bundle);
    bundle = make_bundle(old, 2, &n);
    expect_works(bundle);
    free(bundle);
    bundle = make_bundle(native_wins, 2, &n);
    expect_works(bundle);
    free(bundle);
}

static void test_files_load(void **state)
{
    char name[SCRATCH_PATH_MAX];
    hipModule_t module;
    int fd = scratch_file(name);

    (void)state;
    assert_true(fd >= 0);
    EXPECT(hipErrorInvalidImage, hipModuleLoad(&module, name)); /* empty */
    assert_int_equal(write(fd, api, napi), napi);
    close(fd);
    EXPECT(hipSuccess, hipModuleLoad(&module, name));
    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipErrorInvalidValue, hipModuleLoad(NULL, name));
    EXPECT(hipErrorInvalidValue, hipModuleLoad(&module, NULL));
    EXPECT(hipErrorInvalidValue, hipModuleLoad(&module, ""));
    unlink(name);
    EXPECT(hipErrorFileNotFound, hipModuleLoad(&module, name));
}

static void test_generic_code_objects_load_on_what_they_cover(void **state)
{
    size_t n;
    void *generic = read_api("gfx11-generic", &n);
    hipModule_t module;

    (void)state;
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, generic));
    EXPECT(hipSuccess, hipSetDevice(1)); /* gfx1100 */
    expect_works(generic);
    ((uint8_t *)generic)[51] = 0; /* generic version 0 is none */
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, generic));
    ((uint8_t *)generic)[51] = 1;
    ((uint8_t *)generic)[8] = 3; /* version 5 knows no generic targets */
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, generic));
    EXPECT(hipSuccess, hipSetDevice(0));
    free(generic);
}

/* e_flags bits 9:8 xnack, 11:10 sramecc: 1 any, 2 off, 3 on; device 0 is
 * gfx942:sramecc+:xnack-. */
static void test_target_features_must_fit(void **state)
{
    static const struct {
        unsigned xnack, sramecc;
        bool fits;
    } rows[] = {
        {1, 1, true}, {2, 1, true}, {3, 1, false}, {1, 2, false},
        {1, 3, true}, {2, 3, true}, {3, 3, false}, {0, 0, true},
    };
    uint8_t *image = malloc(napi);
    hipModule_t module;
    size_t i;

    (void)state;
    memcpy(image, api, napi);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        image[49] = (uint8_t)(rows[i].xnack | rows[i].sramecc << 2);
        if (rows[i].fits)
            expect_works(image);
        else
            EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, image));
    }
    /* Version 3: a clear bit says off. */
    image[8] = 1;
    image[49] = 2; /* sramecc on */
    expect_works(image);
    image[49] = 0;
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, image));
    free(image);
}

static void test_what_is_refused(void **state)
{
    const struct entry wrong[] = {
        {"hipv4-amdgcn-amd-amdhsa--gfx90a", api, napi}};
    static const char junk[4096] = "this is text";
    uint8_t *image = malloc(napi), *bundle, *packed;
    hipModule_t module = NULL;
    size_t n, m;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipModuleLoadData(NULL, api));
    EXPECT(hipErrorInvalidValue, hipModuleLoadData(&module, NULL));
    EXPECT(hipErrorInvalidImage, hipModuleLoadData(&module, junk));
    memcpy(image, api, napi);
    image[48] = 0x41; /* gfx1100 */
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, image));
    image[48] = 0xfe; /* nothing */
    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, image));
    memcpy(image, api, napi);
    image[18] = 62; /* x86-64 */
    EXPECT(hipErrorInvalidImage, hipModuleLoadData(&module, image));
    bundle = make_bundle(wrong, 1, &n);
    EXPECT(hipErrorInvalidImage, hipModuleLoadData(&module, bundle));
    packed = compress_bundle(bundle, n, 3, 1, &m);
    packed[40] ^= 0xff;
    packed[41] ^= 0xff;
    EXPECT(hipErrorInvalidImage, hipModuleLoadData(&module, packed));
    free(packed);
    free(bundle);
    free(image);
}

static void refusals_of_5(void)
{
    static const char junk[4096] = "this is text";
    uint8_t *image = malloc(napi);
    hipModule_t module;

    EXPECT(hipErrorInvalidKernelFile, hipModuleLoadData(&module, junk));
    expect_works(api);
    memcpy(image, api, napi);
    image[48] = 0x41;
    EXPECT(hipErrorSharedObjectInitFailed, hipModuleLoadData(&module, image));
    memcpy(image, api, napi);
    image[8] = 4; /* code object version 6 */
    EXPECT(hipErrorSharedObjectInitFailed, hipModuleLoadData(&module, image));
    free(image);
}

static void refusals_of_6(void)
{
    const struct entry wrong[] = {
        {"hipv4-amdgcn-amd-amdhsa--gfx90a", api, napi}};
    hipModule_t module;
    size_t n;
    uint8_t *bundle = make_bundle(wrong, 1, &n);

    EXPECT(hipErrorNoBinaryForGpu, hipModuleLoadData(&module, bundle));
    free(bundle);
}

/* Up to 6.x a lookup for another device ends the process. */
static void lookup_on_another_device(void)
{
    hipModule_t module;
    hipFunction_t f;

    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipSetDevice(1));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "add"));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

static void test_release_differences(void **state)
{
    static const char *const five[] = {"KPK_SIM_HIP_VERSION=5", NULL};
    static const char *const six[] = {"KPK_SIM_HIP_VERSION=6", NULL};
    static const char *const seven[] = {"KPK_SIM_HIP_VERSION=7", NULL};

    (void)state;
    in_child(five, refusals_of_5);
    in_child(six, refusals_of_6);
    in_child(seven, lookup_on_another_device);
}

/* ---- lookup ------------------------------------------------------------- */

static void test_functions(void **state)
{
    hipFunction_t f, again;
    hipModule_t module;
    int value, stranger;

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipErrorInvalidValue, hipModuleGetFunction(NULL, module, "add"));
    EXPECT(hipErrorInvalidValue, hipModuleGetFunction(&f, module, NULL));
    EXPECT(hipErrorInvalidValue, hipModuleGetFunction(&f, module, ""));
    EXPECT(hipErrorInvalidHandle, hipModuleGetFunction(&f, NULL, "add"));
    EXPECT(hipErrorNotFound,
           hipModuleGetFunction(&f, (hipModule_t)(void *)&stranger, "add"));
    EXPECT(hipErrorNotFound, hipModuleGetFunction(&f, module, "add.kd"));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "small"));
    EXPECT(hipSuccess, hipModuleGetFunction(&again, module, "small"));
    assert_ptr_equal(f, again);

    EXPECT(hipSuccess,
           hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                               f));
    assert_int_equal(value, 64);
    EXPECT(hipSuccess, hipFuncGetAttribute(
                           &value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    assert_int_equal(value, 256);
    EXPECT(hipSuccess,
           hipFuncGetAttribute(
               &value, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    assert_int_equal(value, 65536 - 256);
    EXPECT(hipSuccess,
           hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_BINARY_VERSION, f));
    assert_int_equal(value, 94);
    EXPECT(hipSuccess,
           hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, f));
    assert_true(value > 0 && value <= 512);
    EXPECT(hipErrorInvalidValue,
           hipFuncGetAttribute(NULL, HIP_FUNC_ATTRIBUTE_NUM_REGS, f));
    EXPECT(hipErrorInvalidHandle,
           hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    EXPECT(hipErrorInvalidValue,
           hipFuncGetAttribute(&value, (hipFunction_attribute)10, f));
    EXPECT(hipErrorInvalidValue,
           hipFuncSetAttribute(f, hipFuncAttributeMaxDynamicSharedMemorySize,
                               65536));
    EXPECT(hipSuccess,
           hipFuncSetAttribute(f, hipFuncAttributeMaxDynamicSharedMemorySize,
                               65536 - 256));
    EXPECT(hipErrorInvalidDeviceFunction,
           hipFuncSetAttribute(NULL, hipFuncAttributeMaxDynamicSharedMemorySize,
                               0));

    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipErrorNotFound, hipModuleUnload(module));
    EXPECT(hipErrorInvalidHandle, hipModuleUnload(NULL));
    EXPECT(hipErrorInvalidDeviceFunction,
           hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, f));
}

/* A managed variable of a module has one copy, which host and device share. */
static void test_managed_variable_of_a_module(void **state)
{
    hipModule_t module;
    hipFunction_t f;
    int n = 2, *kept;
    void *params[] = {&n};
    size_t size = 0;

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "add_to_kept"));
    EXPECT(hipSuccess,
           hipModuleGetGlobal((hipDeviceptr_t *)&kept, &size, module, "kept"));
    assert_int_equal(size, sizeof(int));
    assert_int_equal(*kept, 40);
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    assert_int_equal(*kept, 42);
    EXPECT(hipSuccess, hipModuleUnload(module));
}

/* Hand-written kernels exist whose arguments go on beyond the size of the
 * segment that their metadata states: here the last of `tail`. */
static void test_arguments_beyond_the_stated_segment(void **state)
{
    static const char key[] = ".kernarg_segment_size\x14"; /* 20 */
    uint8_t *image = malloc(napi), *at;
    unsigned a = 5, b = 6, got = 0, *out;
    bool negate = true;
    void *params[] = {&out, &a, &b, &negate};
    hipModule_t module;
    hipFunction_t f;

    (void)state;
    assert_non_null(image);
    memcpy(image, api, napi);
    at = memmem(image, napi, key, sizeof(key) - 1);
    assert_non_null(at);
    at[sizeof(key) - 2] = 16;
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "tail"));
    EXPECT(hipSuccess, hipMalloc((void **)&out, 4));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipSuccess, hipMemcpyDtoH(&got, out, 4));
    assert_int_equal(got, 0u - 11);
    EXPECT(hipSuccess, hipFree(out));
    EXPECT(hipSuccess, hipModuleUnload(module));
    free(image);
}

static void test_globals(void **state)
{
    static const int values[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    hipDeviceptr_t p = NULL;
    hipModule_t module;
    int value = 0, back[16];
    size_t n = 0;

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipModuleGetGlobal(&p, &n, module, "counter"));
    assert_int_equal(n, 4);
    EXPECT(hipSuccess, hipMemcpyDtoH(&value, p, 4));
    assert_int_equal(value, 7);
    EXPECT(hipSuccess, hipModuleGetGlobal(&p, NULL, module, "table"));
    EXPECT(hipSuccess, hipMemcpyHtoD(p, (void *)(uintptr_t)values, 64));
    EXPECT(hipSuccess, hipMemcpyDtoH(back, p, 64));
    assert_memory_equal(back, values, 64);
    EXPECT(hipSuccess, hipModuleGetGlobal(NULL, &n, module, "factors"));
    assert_int_equal(n, 16);
    EXPECT(hipErrorInvalidValue,
           hipModuleGetGlobal(NULL, NULL, module, "counter"));
    EXPECT(hipErrorInvalidValue, hipModuleGetGlobal(&p, &n, module, ""));
    EXPECT(hipErrorInvalidHandle, hipModuleGetGlobal(&p, &n, NULL, "counter"));
    EXPECT(hipErrorNotFound, hipModuleGetGlobal(&p, &n, module, "nothing"));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

static void test_libraries(void **state)
{
    hipModule_t library, module;
    hipFunction_t f;
    unsigned n = 0, want = 1;

    (void)state;
    EXPECT(hipErrorInvalidValue,
           hipLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(hipErrorFileNotFound,
           hipLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL,
                                  NULL, 0));
    EXPECT(hipSuccess,
           hipLibraryLoadData(&library, api, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipModuleGetFunctionCount(&want, module));
    EXPECT(hipSuccess, hipLibraryGetKernelCount(&n, library));
    assert_int_equal(n, want);
    EXPECT(hipErrorNotFound, hipLibraryGetKernel(&f, library, "none"));
    EXPECT(hipSuccess, hipLibraryGetKernel(&f, library, "no_arguments"));
    EXPECT(hipSuccess,
           hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(hipSuccess, hipDeviceSynchronize());
    EXPECT(hipSuccess, hipLibraryUnload(library));
    EXPECT(hipErrorInvalidHandle, hipLibraryUnload(library));
    EXPECT(hipErrorInvalidHandle, hipLibraryGetKernelCount(&n, library));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

/* Expected answers: AMD's HIP 7.2.4, and sources of later releases for newer
 * functions. */
static void test_kernels_of_libraries(void **state)
{
    enum { MAX_THREADS, SHARED_SIZE, MAX_DYNAMIC = 8 };
    hipModule_t library, module, found = NULL;
    hipFunction_t kernel, plain, same = NULL, list[32] = {0};
    const char *name = NULL;
    size_t offset = 99, size = 99;
    unsigned n = 0, i, seen = 0;
    void *p = NULL;
    int value = -1;

    (void)state;
    EXPECT(hipSuccess,
           hipLibraryLoadData(&library, api, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipLibraryGetKernel(&kernel, library, "step"));
    EXPECT(hipSuccess, hipModuleGetFunction(&plain, module, "step"));
    EXPECT(hipErrorInvalidValue, hipLibraryGetKernel(&kernel, NULL, "step"));
    EXPECT(hipErrorInvalidValue, hipLibraryGetKernelCount(&n, NULL));
    EXPECT(hipSuccess, hipLibraryGetKernelCount(&n, library));

    EXPECT(hipErrorInvalidValue, hipLibraryEnumerateKernels(NULL, 1, library));
    EXPECT(hipErrorInvalidValue, hipLibraryEnumerateKernels(list, 1, NULL));
    EXPECT(hipSuccess, hipLibraryEnumerateKernels(list, 2, library));
    assert_true(list[1] && !list[2]);
    EXPECT(hipSuccess, hipLibraryEnumerateKernels(list, 32, library));
    assert_true(list[n - 1] && !list[n]);
    for (i = 0; i < n; i++)
        seen += list[i] == kernel;
    assert_int_equal(seen, 1);

    EXPECT(hipSuccess, hipKernelGetName(&name, kernel));
    assert_string_equal(name, "step");
    EXPECT(hipErrorInvalidValue, hipKernelGetName(NULL, kernel));
    EXPECT(hipErrorInvalidValue, hipKernelGetName(&name, NULL));
    EXPECT(hipErrorInvalidHandle, hipKernelGetName(&name, plain));
    EXPECT(hipSuccess, hipKernelGetLibrary(&found, kernel));
    assert_ptr_equal(found, library);
    EXPECT(hipErrorInvalidValue, hipKernelGetLibrary(&found, NULL));
    EXPECT(hipErrorInvalidHandle, hipKernelGetLibrary(&found, plain));
    EXPECT(hipSuccess, hipKernelGetFunction(&same, kernel));
    assert_ptr_equal(same, kernel);
    EXPECT(hipErrorInvalidValue, hipKernelGetFunction(NULL, kernel));

    EXPECT(hipSuccess, hipKernelGetParamInfo(kernel, 2, &offset, &size));
    assert_int_equal(offset, 12); /* a pointer and a number come before */
    assert_int_equal(size, 4);
    EXPECT(hipSuccess, hipKernelGetParamInfo(kernel, 0, &offset, NULL));
    assert_int_equal(offset, 0);
    EXPECT(hipErrorInvalidValue,
           hipKernelGetParamInfo(kernel, 3, &offset, &size));
    EXPECT(hipErrorInvalidValue, hipKernelGetParamInfo(kernel, 0, NULL, &size));

    EXPECT(hipSuccess, hipKernelGetAttribute(&value, MAX_THREADS, kernel, 0));
    assert_int_equal(value, 1024);
    EXPECT(hipErrorInvalidValue,
           hipKernelGetAttribute(NULL, MAX_THREADS, kernel, 0));
    EXPECT(hipErrorInvalidHandle,
           hipKernelGetAttribute(&value, MAX_THREADS, NULL, 0));
    EXPECT(hipErrorInvalidDevice,
           hipKernelGetAttribute(&value, MAX_THREADS, kernel, 99));
    EXPECT(hipErrorInvalidValue, hipKernelGetAttribute(&value, 99, kernel, 0));
    EXPECT(hipSuccess, hipKernelSetAttribute(MAX_DYNAMIC, 1024, kernel, 0));
    EXPECT(hipErrorInvalidValue,
           hipKernelSetAttribute(MAX_DYNAMIC, 1 << 20, kernel, 0));
    EXPECT(hipErrorInvalidValue,
           hipKernelSetAttribute(MAX_DYNAMIC, 0, NULL, 0));
    EXPECT(hipErrorInvalidDevice,
           hipKernelSetAttribute(MAX_DYNAMIC, 0, kernel, -1));
    EXPECT(hipSuccess,
           hipKernelSetAttributeForDevice(kernel, MAX_DYNAMIC, 64, 0));
    EXPECT(hipErrorInvalidHandle,
           hipKernelSetAttributeForDevice(NULL, MAX_DYNAMIC, 64, 0));
    EXPECT(hipErrorInvalidDevice,
           hipKernelSetAttributeForDevice(kernel, MAX_DYNAMIC, 64, 99));

    EXPECT(hipSuccess, hipLibraryGetGlobal(&p, &size, library, "counter"));
    assert_int_equal(size, 4);
    EXPECT(hipErrorInvalidHandle,
           hipLibraryGetGlobal(&p, &size, NULL, "counter"));
    EXPECT(hipErrorInvalidValue, hipLibraryGetGlobal(&p, &size, library, ""));
    EXPECT(hipErrorNotFound,
           hipLibraryGetManaged(&p, &size, library, "counter"));
    EXPECT(hipSuccess, hipLibraryGetManaged(&p, &size, library, "kept"));
    EXPECT(hipSuccess, hipLibraryUnload(library));
    EXPECT(hipErrorInvalidHandle, hipLibraryEnumerateKernels(list, 1, library));
    EXPECT(hipSuccess, hipModuleUnload(module));
}

/* One image goes in and comes out; what would have to be compiled is refused
 * in words. */
static void test_linker(void **state)
{
    enum { CUBIN = 0, OBJECT = 3, BITCODE = 100 };
    void *link, *image = NULL;
    hipModule_t module;
    size_t n = 0;

    (void)state;
    EXPECT(hipErrorInvalidValue, hipLinkCreate(0, NULL, NULL, NULL));
    EXPECT(hipSuccess, hipLinkCreate(0, NULL, NULL, &link));
    EXPECT(hipErrorInvalidValue, hipLinkComplete(link, &image, &n));
    EXPECT(hipErrorNotSupported,
           hipLinkAddData(link, BITCODE, (void *)&link, 8, "b", 0, NULL, NULL));
    EXPECT(hipErrorInvalidValue,
           hipLinkAddData(link, CUBIN, NULL, 8, "c", 0, NULL, NULL));
    EXPECT(hipErrorFileNotFound,
           hipLinkAddFile(link, OBJECT, "/nowhere", 0, NULL, NULL));
    EXPECT(hipSuccess, hipLinkAddData(link, CUBIN, (void *)(uintptr_t)api, napi,
                                      "c", 0, NULL, NULL));
    EXPECT(hipErrorNotSupported, /* a second one */
           hipLinkAddData(link, CUBIN, (void *)(uintptr_t)api, napi, "c", 0,
                          NULL, NULL));
    EXPECT(hipSuccess, hipLinkComplete(link, &image, &n));
    assert_int_equal(n, napi);
    EXPECT(hipSuccess, hipModuleLoadData(&module, image));
    EXPECT(hipSuccess, hipModuleUnload(module));
    EXPECT(hipSuccess, hipLinkDestroy(link));
    EXPECT(hipErrorInvalidValue, hipLinkDestroy(link));
}

static void test_occupancy(void **state)
{
    int blocks = -1, grid, block;
    hipModule_t module;
    hipFunction_t f;

    (void)state;
    EXPECT(hipSuccess, hipModuleLoadData(&module, api));
    EXPECT(hipSuccess, hipModuleGetFunction(&f, module, "add"));
    /* 4 SIMDs of 8 waves of 64; few registers, no LDS */
    EXPECT(hipSuccess, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, f, 256, 0));
    assert_int_equal(blocks, 8);
    EXPECT(hipSuccess, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, f, 256, 20000));
    assert_int_equal(blocks, 3); /* 65536 / 20000 */
    EXPECT(hipSuccess, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, f, 2000, 0));
    assert_int_equal(blocks, 0);
    EXPECT(
        hipErrorInvalidValue,
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0));
    EXPECT(hipErrorInvalidValue,
           hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 64, 0));
    EXPECT(hipErrorInvalidValue,
           hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
               &blocks, f, 64, 0, 2));
    EXPECT(hipSuccess,
           hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, f, 0, 0));
    assert_int_equal(block, 1024);
    assert_int_equal(grid, 2 * 304);
    EXPECT(hipSuccess, hipModuleUnload(module));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release_differences),
        cmocka_unit_test(test_bare_code_object_loads),
        cmocka_unit_test(test_unloaded_modules_leave_no_memory),
        cmocka_unit_test(test_undefined_symbols_count_if_they_are_variables),
        cmocka_unit_test(test_bundles_load),
        cmocka_unit_test(test_files_load),
        cmocka_unit_test(test_generic_code_objects_load_on_what_they_cover),
        cmocka_unit_test(test_target_features_must_fit),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_globals),
        cmocka_unit_test(test_managed_variable_of_a_module),
        cmocka_unit_test(test_arguments_beyond_the_stated_segment),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_kernels_of_libraries),
        cmocka_unit_test(test_linker),
        cmocka_unit_test(test_occupancy),
    };
    int failed;

    (void)setenv("KPK_SIM_DEVICES", "gfx942,gfx1100", 1);
    api = read_api("gfx942", &napi);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free((void *)(uintptr_t)api);
    return failed;
}
