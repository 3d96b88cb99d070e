/* app.c - brightens an image on the GPU */
#include <kpack.h>
#include <kpack/image.h>
#include <stdio.h>

int main(void)
{
    unsigned char pixels[1000];
    kpk_shape shape = kpk_shape_1d(sizeof(pixels), 256);
    kpk_instance *gpu;
    const kpk_kernel *brighten;
    void *device;
    uint32_t n = sizeof(pixels);
    int32_t by = 100;

    for (uint32_t i = 0; i < n; i++)
        pixels[i] = (unsigned char)i;
    if (kpk_open(&kpk_image, 0, &gpu) ||
        kpk_kernel_get(gpu, "brighten", &brighten) ||
        kpk_malloc(gpu, n, &device) || kpk_copy_to(gpu, device, pixels, n) ||
        kpk_launch(brighten, &shape, NULL, KPK_ARGS(device, n, by)) ||
        kpk_copy_from(gpu, pixels, device, n) || kpk_free(gpu, device))
        return fprintf(stderr, "%s\n", kpk_error_message()), 1;
    printf("%s: %d %d\n", kpk_instance_device(gpu)->target, pixels[5],
           pixels[200]);
    return kpk_close(gpu) != KPK_OK;
}
