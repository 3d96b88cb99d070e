/* app.c - brightens an image on the GPU, then scales numbers */
#include <kpack.h>
#include <kpack/image/brighten.h>
#include <kpack/image/gamma.h>
#include <stdio.h>

static int failed(void)
{
    return fprintf(stderr, "%s\n", kpk_error_message()), 1;
}

int main(void)
{
    enum { N = 1000 };
    unsigned char pixels[N];
    float samples[N];
    const kpk_shape shape = kpk_shape_1d(N, 256);
    const kpk_brighten_kernels *brighten;
    const kpk_gamma_kernels *gamma;
    kpk_instance *gpu;
    void *p, *s;

    for (int i = 0; i < N; i++) {
        pixels[i] = (unsigned char)i;
        samples[i] = (float)i;
    }
    if (kpk_open(&kpk_image, KPK_ANY_DEVICE, &gpu) ||
        kpk_brighten_kernels_get(gpu, &brighten) ||
        kpk_gamma_kernels_get(gpu, &gamma) ||
        kpk_malloc(gpu, sizeof(pixels), &p) ||
        kpk_copy_to(gpu, p, pixels, sizeof(pixels)) ||
        kpk_brighten(brighten, &shape, NULL, p, N, 100) ||
        kpk_copy_from(gpu, pixels, p, sizeof(pixels)) || kpk_free(gpu, p) ||
        kpk_malloc(gpu, sizeof(samples), &s) ||
        kpk_copy_to(gpu, s, samples, sizeof(samples)) ||
        kpk_image_scale_float(gamma, &shape, NULL, s, N, 0.5f) ||
        kpk_copy_from(gpu, samples, s, sizeof(samples)) || kpk_free(gpu, s))
        return failed();
    printf("%s: %d %d %g\n", kpk_instance_device(gpu)->target, pixels[5],
           pixels[200], (double)samples[999]);
    return kpk_close(gpu) ? failed() : 0;
}
