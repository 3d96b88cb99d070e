/* test_collectives.c - how RCCL and NCCL are found and called
 *
 * A library is bound once in a process, so each case is a process of its own.
 */
/* For setenv and symlink; the name is glibc's. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "both_fakes.h"

#include "fake_collectives.h"
#include "kpack/host_code.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *engine;
static struct fake_collectives *library;

static const char *beside(const char *file)
{
    static char path[4096];
    char program[4000];

    name_program(program, sizeof(program));
    *(strrchr(program, '/') + 1) = 0;
    snprintf(path, sizeof(path), "%s%s", program, file);
    return path;
}

static bool says(const char *part)
{
    return strstr(kpk_error_message(), part) != NULL;
}

static kpk_status find(void)
{
    kpk_status st = kpk_i_collectives_find(inst, &engine);

    if (st == KPK_OK)
        library = load_object(beside("fake_rccl.so"), "fake_collectives");
    return st;
}

/* ---- the cases: 0 is a success ---- */

static int named(void)
{
    EXPECT(find() == KPK_OK && library);
    EXPECT(strncmp(engine, "RCCL 2.22.3 (", 13) == 0);
    EXPECT(strstr(engine, "fake_rccl.so)"));
    EXPECT(find() == KPK_OK && library->ncalls == 1); /* bound once */
    return 0;
}

static int loaded(void) /* and of an old version, before the variable */
{
    void *handle = dlopen(beside("fake_rccl.so"), RTLD_NOW | RTLD_LOCAL);

    EXPECT(handle);
    library = dlsym(handle, "fake_collectives");
    EXPECT(library);
    library->version = 2708;
    EXPECT(find() == KPK_OK);
    EXPECT(strncmp(engine, "RCCL 2.7.8 (", 12) == 0);
    return 0;
}

static int nowhere(void)
{
    EXPECT(find() == KPK_ERR_UNSUPPORTED);
    EXPECT(says("KPK_RCCL_LIBRARY names /nowhere, which does not load"));
    return 0;
}

static int another(void)
{
    EXPECT(find() == KPK_ERR_UNSUPPORTED);
    EXPECT(says("libm.so.6 is no RCCL that kpack can use: it has no nccl"));
    return 0;
}

static int broken(void)
{
    (void)setenv("KPK_RCCL_LIBRARY", beside("fake_rccl_broken.so"), 1);
    EXPECT(find() == KPK_ERR_UNSUPPORTED);
    EXPECT(says("it has no ncclCommAbort"));
    return 0;
}

static int absent(void)
{
    EXPECT(find() == KPK_ERR_UNSUPPORTED);
    EXPECT(says("no RCCL: librccl.so.1 is neither in the loader's path"));
    EXPECT(says("Install ROCm's RCCL"));
    return 0;
}

static int in_a_folder(void)
{
    EXPECT(find() == KPK_OK && library);
    EXPECT(strstr(engine, "librccl.so.1"));
    return 0;
}

static int unreadable(void)
{
    EXPECT(find() == KPK_ERR_UNSUPPORTED);
    EXPECT(says("no RCCL: ") && says("librccl.so.1: ") && says("too short"));
    return 0;
}

static int of_cuda(void)
{
    EXPECT(find() == KPK_OK);
    EXPECT(strncmp(engine, "NCCL 2.22.3 (", 13) == 0);
    return 0;
}

static int calls_reach_it(void)
{
    static const struct {
        kpk_i_collective_call *call;
        const char *name;
    } calls[] = {
        {kpk_i_collectives_all_reduce, "ncclAllReduce"},
        {kpk_i_collectives_reduce_scatter, "ncclReduceScatter"},
        {kpk_i_collectives_all_gather, "ncclAllGather"},
        {kpk_i_collectives_broadcast, "ncclBroadcast"},
    };
    static const int types[] = {6, 9, 7}; /* of nccl.h: f16, bf16, f32 */
    uint8_t id[KPK_I_ID_NBYTES] = {0};
    struct ncclComm *comms[2] = {NULL, NULL};
    kpk_instance *insts[] = {inst, inst};
    int in, out, stream;

    EXPECT(find() == KPK_OK && library);
    EXPECT(kpk_i_collectives_id(inst, id) == KPK_OK && id[127] == 7);
    EXPECT(kpk_i_collectives_open(insts, 2, 2, 9, id, comms) == KPK_OK);
    EXPECT(library->ranks == 9 && library->id == 7);
    EXPECT(comms[0] && comms[1] && comms[0] != comms[1]);
    EXPECT(strcmp(library->last, "ncclGroupEnd") == 0);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        for (int type = 0; type < 3; type++) {
            const struct kpk_i_collective c = {comms[1], &in, &out,   77,
                                               type,     3,   &stream};

            EXPECT(calls[i].call(inst, &c) == KPK_OK);
            EXPECT(strcmp(library->last, calls[i].name) == 0);
            EXPECT(library->in == &in && library->out == &out);
            EXPECT(library->n == 77 && library->stream == &stream);
            EXPECT(library->comm == comms[1]);
            EXPECT(library->type == types[type]);
            EXPECT(library->root == (i == 3 ? 3 : 0));
        }
    EXPECT(kpk_i_collectives_close(inst, comms[0]) == KPK_OK);
    EXPECT(strcmp(library->last, "ncclCommDestroy") == 0);
    EXPECT(kpk_i_collectives_abort(inst, comms[1]) == KPK_OK);
    EXPECT(strcmp(library->last, "ncclCommAbort") == 0);
    return 0;
}

static int failures_are_told(void)
{
    uint8_t id[KPK_I_ID_NBYTES] = {0};
    struct ncclComm *comm = NULL;

    EXPECT(find() == KPK_OK && library);
    library->fail_error = 5;
    library->fail_name = "ncclGetUniqueId";
    EXPECT(kpk_i_collectives_id(inst, id) == KPK_ERR_DRIVER);
    EXPECT(says("ncclGetUniqueId of RCCL 2.22.3 ("));
    EXPECT(says("returned 5, invalid usage"));
    library->fail_name = "ncclGroupStart";
    EXPECT(kpk_i_collectives_open(&inst, 0, 1, 2, id, &comm) == KPK_ERR_DRIVER);
    library->fail_name = "ncclCommInitRank";
    EXPECT(kpk_i_collectives_open(&inst, 0, 1, 2, id, &comm) == KPK_ERR_DRIVER);
    EXPECT(says("ncclCommInitRank"));
    EXPECT(strcmp(library->last, "ncclGroupEnd") == 0); /* closed, though */
    library->fail_name = "ncclGroupEnd";
    EXPECT(kpk_i_collectives_end(inst, KPK_OK) == KPK_ERR_DRIVER);
    EXPECT(kpk_i_collectives_end(inst, KPK_ERR_ARG) == KPK_ERR_ARG);
    library->fail_name = "ncclCommGetAsyncError";
    EXPECT(kpk_i_collectives_state(inst, comm) == KPK_ERR_DRIVER);
    library->fail_name = NULL;
    EXPECT(kpk_i_collectives_state(inst, comm) == KPK_OK);
    library->state = 7; /* ncclInProgress */
    EXPECT(kpk_i_collectives_state(inst, comm) == KPK_OK);
    library->state = 6; /* ncclRemoteError */
    EXPECT(kpk_i_collectives_state(inst, comm) == KPK_ERR_TIMEOUT);
    library->state = 3;
    EXPECT(kpk_i_collectives_state(inst, comm) == KPK_ERR_DRIVER);
    fake->fail_name = "hipSetDevice";
    EXPECT(kpk_i_collectives_close(inst, comm) == KPK_ERR_DRIVER);
    EXPECT(says("hipSetDevice"));
    return 0;
}

/* case, KPK_RCCL_LIBRARY, folder of the loader; FAKE is the fake library */
/* clang-format off */
#define CASE_TABLE(X)                                                          \
    X(named,             "FAKE",      "/nowhere")                              \
    X(loaded,            "/nowhere",  "/nowhere")                              \
    X(nowhere,           "/nowhere",  "/nowhere")                              \
    X(another,           "libm.so.6", "/nowhere")                              \
    X(broken,            "",          "/nowhere")                              \
    X(absent,            "",          "/nowhere")                              \
    X(in_a_folder,       "",          "FAKE")                                  \
    X(unreadable,        "",          "EMPTY")                                 \
    X(of_cuda,           "FAKE",      "/nowhere")                              \
    X(calls_reach_it,    "FAKE",      "/nowhere")                              \
    X(failures_are_told, "FAKE",      "/nowhere")
/* clang-format on */

static void test_every_case(void **state)
{
    char made[] = "/tmp/kpack-collectives-XXXXXX";
    char link[64], empty[64], file[80];
    FILE *touched;

    (void)state;
    assert_non_null(mkdtemp(made));
    snprintf(link, sizeof(link), "%s/librccl.so.1", made);
    snprintf(empty, sizeof(empty), "%s/empty", made);
    snprintf(file, sizeof(file), "%s/librccl.so.1", empty);
    assert_int_equal(symlink(beside("fake_rccl.so"), link), 0);
    assert_int_equal(mkdir(empty, 0700), 0);
    touched = fopen(file, "w");
    assert_non_null(touched);
    (void)fclose(touched);
#define X(id, named, where)                                                    \
    {                                                                          \
        const char *fake_file =                                                \
            strcmp(named, "FAKE") ? named : beside("fake_rccl.so");            \
        const char *folder = strcmp(where, "FAKE") == 0    ? made              \
                             : strcmp(where, "EMPTY") == 0 ? empty             \
                                                           : where;            \
                                                                               \
        if (run_again((const char *const[]){#id, NULL},                        \
                      (const char *const[]){                                   \
                          "KPK_RCCL_LIBRARY", fake_file, "KPK_NCCL_LIBRARY",   \
                          fake_file, "LD_LIBRARY_PATH", folder, NULL}) != 0)   \
            fail_msg("case %s failed", #id);                                   \
    }
    CASE_TABLE(X)
#undef X
    (void)unlink(file);
    (void)unlink(link);
    (void)rmdir(empty);
    (void)rmdir(made);
}

static int run_case(const char *name)
{
    load_both_fakes();
    if (strcmp(name, "of_cuda") == 0 ? open_on_cuda(NULL) : open_on_hip(NULL))
        return 1;
#define X(id, named, where)                                                    \
    if (strcmp(name, #id) == 0)                                                \
        return id();
    CASE_TABLE(X)
#undef X
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_case)};

    if (argc > 1)
        return run_case(argv[1]);
    return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
