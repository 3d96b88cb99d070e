/* beside.c - a plug-in that embeds the pack, for a process that PyTorch is in
 *
 * beside.py loads it and hands it PyTorch's pointers and streams. Functions
 * return a kpk_status; what each takes is as in kpack.h.
 */
#include <kpack.h>
#include <kpack/candle.h>

#define EXPORT __attribute__((visibility("default")))

static kpk_instance *gpu;
static const kpk_kernel *affine;

EXPORT const char *beside_error(void)
{
    return kpk_error_message();
}

/* The CUDA device of that number, as PyTorch counts. */
EXPORT kpk_status beside_open(int index)
{
    kpk_device device;
    int ndevices;
    kpk_status st = kpk_device_count(&ndevices);

    for (int d = 0; st == KPK_OK && d < ndevices; d++) {
        st = kpk_device_get(d, &device);
        if (st == KPK_OK && device.platform == KPK_CUDA &&
            device.index == index)
            return kpk_open(&kpk_candle, d, &gpu);
    }
    return st == KPK_OK ? KPK_ERR_NO_DEVICE : st;
}

EXPORT kpk_status beside_load(void)
{
    return kpk_kernel_get(gpu, "affine_f32", &affine);
}

/* out = in * by + add, of n floats. `nargs` less than 7 is a mistake. */
EXPORT kpk_status beside_affine(size_t n, const float *in, float *out, float by,
                                float add, void *stream, size_t nargs)
{
    const size_t rank = 0, *info = NULL;
    const kpk_shape shape = kpk_shape_1d(n, 256);
    const kpk_arg args[] = {KPK_ARG(n),  KPK_ARG(rank), KPK_ARG(info),
                            KPK_ARG(in), KPK_ARG(out),  KPK_ARG(by),
                            KPK_ARG(add)};

    return kpk_launch(affine, &shape, stream, args, nargs);
}

EXPORT kpk_status beside_malloc(size_t nbytes, void **out)
{
    return kpk_malloc(gpu, nbytes, out);
}

EXPORT kpk_status beside_free(void *at)
{
    return kpk_free(gpu, at);
}

EXPORT kpk_status beside_read(void *host, const void *at, size_t nbytes)
{
    return kpk_copy_from(gpu, host, at, nbytes);
}

EXPORT kpk_status beside_write(void *at, const void *host, size_t nbytes)
{
    return kpk_copy_to(gpu, at, host, nbytes);
}

EXPORT kpk_status beside_fill(void *at, uint8_t value, size_t nbytes)
{
    return kpk_fill(gpu, at, value, nbytes);
}

EXPORT kpk_status beside_sync(void *stream)
{
    return kpk_sync(gpu, stream);
}

EXPORT kpk_status beside_unload(void)
{
    return kpk_unload(gpu, "affine");
}

EXPORT kpk_status beside_close(void)
{
    const kpk_status st = kpk_close(gpu);

    gpu = NULL;
    return st;
}
