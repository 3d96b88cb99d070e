/* metadata.c - compares kpack's metadata of cubins and PTX with the driver's
 *
 * Every kernel of the pack is loaded on each of CUDA's devices. Its parameters,
 * from the records of the cubin or the text of the PTX, are held against
 * cuFuncGetParamInfo(), its limits against cuFuncGetAttribute(). For PTX only
 * the driver knows registers and memory, and the block can be smaller than the
 * text says.
 */
#include <kpack.h>
#include <kpack/candle.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver's functions by their exported names; results are a CUresult. */
static struct {
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*param_info)(void *, size_t, size_t *, size_t *);
} cuda;

static unsigned npassed, nfailed, nskipped;

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static void need(kpk_status st)
{
    if (st != KPK_OK)
        die(kpk_error_message());
}

static void find(void *driver, const char *name, void *slot)
{
    void *at = dlsym(driver, name);

    memcpy(slot, &at, sizeof(at));
}

static void find_driver(void)
{
    const char *path = NULL;
    void *driver;

    need(kpk_driver_info(KPK_CUDA, NULL, &path));
    driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        die("the driver that kpack found is not loaded");
    find(driver, "cuDeviceGet", &cuda.device_get);
    find(driver, "cuDevicePrimaryCtxRetain", &cuda.retain);
    find(driver, "cuCtxPushCurrent_v2", &cuda.push);
    find(driver, "cuFuncGetParamInfo", &cuda.param_info);
}

static bool differ(const char *kernel, const char *target, const char *what,
                   long long ours, long long theirs)
{
    printf("FAILED: %s of %s: %s is %lld in the pack, %lld by the driver\n",
           kernel, target, what, ours, theirs);
    return false;
}

/* "parameter 2's size" */
static const char *name_part(char what[64], size_t i, const char *part)
{
    (void)snprintf(what, 64, "parameter %zu's %s", i, part);
    return what;
}

/* A segment without a list of arguments has a known end, and no more. */
static bool params_agree(const kpk_module *module, size_t k,
                         const kpk_kernel_decl *decl, const char *target,
                         void *function)
{
    size_t offset = 0;
    size_t nbytes = 0;
    bool agree = true;

    for (size_t i = 0; i < decl->nargs; i++) {
        kpk_arg_decl arg;
        char what[64];

        need(kpk_module_arg(module, k, i, &arg));
        if (cuda.param_info(function, i, &offset, &nbytes) != 0)
            return differ(decl->name, target, "the number of parameters",
                          (long long)decl->nargs, (long long)i);
        if (arg.offset != offset)
            agree = differ(decl->name, target, name_part(what, i, "offset"),
                           (long long)arg.offset, (long long)offset);
        else if (arg.nbytes != nbytes)
            agree = differ(decl->name, target, name_part(what, i, "size"),
                           (long long)arg.nbytes, (long long)nbytes);
    }
    if (decl->nargs &&
        cuda.param_info(function, decl->nargs, &offset, &nbytes) == 0)
        return differ(decl->name, target, "the number of parameters",
                      (long long)decl->nargs, (long long)decl->nargs + 1);
    return agree;
}

static bool attrs_agree(const kpk_kernel *kernel, const char *name,
                        const char *target)
{
    const bool is_ptx = strncmp(target, "compute_", 8) == 0;
    kpk_attrs attrs;
    bool agree = true;

    need(kpk_kernel_attrs(kernel, &attrs));
    {
        const struct {
            kpk_driver_attr
                attr; /* CUfunction_attribute has these numbers, too */
            const char *what;
            uint32_t ours;
        } cases[] = {
            {KPK_DRIVER_ATTR_MAX_BLOCK, "the largest block", attrs.max_block},
            {KPK_DRIVER_ATTR_LDS_NBYTES, "shared memory", attrs.lds_nbytes},
            {KPK_DRIVER_ATTR_SCRATCH_NBYTES, "local memory",
             attrs.scratch_nbytes},
            {KPK_DRIVER_ATTR_VGPRS, "registers", attrs.vgprs}};

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            int theirs = 0;

            need(kpk_kernel_driver_attr(kernel, cases[i].attr, &theirs));
            if (is_ptx && (i > 0 || theirs <= (int)cases[i].ours))
                continue;
            if (theirs != (int)cases[i].ours)
                agree =
                    differ(name, target, cases[i].what, cases[i].ours, theirs);
        }
    }
    return agree;
}

static void check_module(kpk_instance *gpu, const kpk_module *module)
{
    kpk_selection code;

    need(kpk_select(module, kpk_instance_device(gpu)->target, &code));
    for (size_t k = 0; k < kpk_module_kernel_count(module); k++) {
        const kpk_kernel *kernel;
        kpk_kernel_decl decl;
        void *function;
        bool agree;

        need(kpk_module_kernel(module, k, &decl));
        need(kpk_kernel_get_in(gpu, kpk_module_name(module), decl.name,
                               &kernel));
        need(kpk_kernel_raw(kernel, NULL, &function));
        agree = attrs_agree(kernel, decl.name, code.target);
        if (cuda.param_info)
            agree &= params_agree(module, k, &decl, code.target, function);
        else
            nskipped++;
        npassed += agree;
        nfailed += !agree;
    }
}

int main(void)
{
    int ndevices;

    need(kpk_device_count(&ndevices));
    for (int d = 0; d < ndevices; d++) {
        kpk_instance *gpu;
        kpk_device device;
        void *context = NULL;
        int own = 0;

        need(kpk_device_get(d, &device));
        if (device.platform != KPK_CUDA)
            continue;
        find_driver();
        if (cuda.device_get(&own, device.index) != 0 ||
            cuda.retain(&context, own) != 0 || cuda.push(context) != 0)
            die("the device's primary context cannot be made current");
        need(kpk_open(&kpk_candle, d, &gpu));
        for (size_t m = 0; m < kpk_pack_module_count(&kpk_candle); m++)
            check_module(gpu, kpk_pack_module(&kpk_candle, m));
        need(kpk_close(gpu));
    }
    if (npassed + nfailed == 0)
        die("no device of CUDA's");
    if (nskipped)
        printf("SKIPPED: parameters: the driver, older than 12.4, has no "
               "cuFuncGetParamInfo\n");
    printf("%u passed, %u failed\n", npassed, nfailed);
    return nfailed != 0;
}
