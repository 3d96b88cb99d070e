/* make_seeds.c - writes the seeds of the fuzz targets that are made, not kept
 *
 *   make_seeds DIR
 *
 * DIR/TARGET/NAME: small files that the readers accept, for the fuzzer to
 * change. What it found is in tests/fuzz/seeds.
 */
#include "../model/tiny.h"
#include "code_object.h"
#include "write/blob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *root;

static void write_seed(const char *target, const char *name, const void *data,
                       size_t nbytes)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", root, target);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        exit(1);
    }
    snprintf(path, sizeof(path), "%s/%s/%s", root, target, name);
    f = fopen(path, "wb");
    if (!f || (nbytes && fwrite(data, nbytes, 1, f) != 1) || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* The note's bytes, which begin behind its owner's name. */
static void write_note(const char *name, const unsigned char *object,
                       size_t nbytes)
{
    for (size_t i = 16; i + 8 < nbytes; i++)
        if (memcmp(object + i, "AMDGPU\0", 8) == 0) {
            uint32_t n;

            memcpy(&n, object + i - 8, 4);
            write_seed("metadata", name, object + i + 8, n);
            return;
        }
}

static void write_objects(void)
{
    static const struct {
        const char *name, *slots;
        uint32_t e_flags;
        unsigned abi_version;
    } objects[] = {{"gfx942", "pppuuuuu", 0x54c, 2},
                   {"gfx950", "pp", 0x54f, 3},
                   {"gfx1250", "p", 0x549, 4},
                   {"gfx906", "", 0x52f, 1},
                   {"generic", "pu", 0x0100055f, 4}};

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        struct made_arg args[64];
        struct made_object spec = {.kernel = "kernel",
                                   .e_flags = objects[i].e_flags,
                                   .abi_version = objects[i].abi_version,
                                   .wave_size = 64,
                                   .kernarg_nbytes = 128,
                                   .args = args};
        unsigned char *data;
        size_t nbytes;

        spec.nargs = slot_args(objects[i].slots, args, 64);
        if (i == 2)
            args[0].name = NULL;
        data = make_object(&spec, &nbytes);
        write_seed("codeobj", objects[i].name, data, nbytes);
        write_seed("symbols", objects[i].name, data, nbytes);
        write_note(objects[i].name, data, nbytes);
        free(data);
    }
}

static void write_bundles(void)
{
    static const struct made_entry entries[] = {
        {"host-x86_64-unknown-linux-gnu-", "", 0},
        {"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "one", 3},
        {"hip-amdgcn-amd-amdhsa-unknown-gfx942", "other", 5}};
    size_t nbytes, n;
    unsigned char *plain = make_bundle(entries, 3, 1, &nbytes);

    write_seed("bundle", "plain", plain, nbytes);
    for (unsigned version = 1; version <= 3; version++)
        for (unsigned method = 0; method < 2; method++) {
            char name[32];
            unsigned char *packed =
                compress_bundle(plain, nbytes, version, method, &n);

            snprintf(name, sizeof(name), "v%u_%u", version, method);
            write_seed("bundle", name, packed, n);
            free(packed);
        }
    free(plain);
}

/* A pack's code object with its head, twice; and an archive of an object. */
static void write_packs(void)
{
    static const char name[] = "fuzz", content[] = "content";
    const struct made_object spec = {
        .kernel = "k", .e_flags = 0x54c, .abi_version = 3, .wave_size = 64};
    char header[61];
    unsigned char *object, data[4096];
    size_t nbytes, n = 0;
    FILE *f = tmpfile();

    if (!f)
        exit(1);
    for (int i = 0; i < 2; i++) {
        blob_write_head(f,
                        &(struct blob_info){.kind = KPK_BLOB_CODE_OBJECT,
                                            .pack = name,
                                            .module = i ? "b" : "a",
                                            .target = "gfx942",
                                            .cov = 5,
                                            .content = content,
                                            .nbytes = sizeof(content),
                                            .codec = KPK_CODEC_NONE,
                                            .stored_nbytes = sizeof(content)});
        (void)fwrite(content, sizeof(content), 1, f);
    }
    rewind(f);
    write_seed("scan", "pack", data, fread(data, 1, sizeof(data), f));
    (void)fclose(f);
    object = make_object(&spec, &nbytes);
    (void)snprintf((char *)data, 9, "!<arch>\n");
    snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "o.o/",
             0, 0, 0, 644, nbytes);
    n = 8;
    memcpy(data + n, header, 60);
    n += 60;
    if (nbytes <= sizeof(data) - n) {
        memcpy(data + n, object, nbytes);
        write_seed("scan", "archive", data, n + nbytes);
    }
    free(object);
}

/* Models of both kinds of vocabulary, small enough for the fuzzer. */
static void write_models(void)
{
    for (int spm = 0; spm < 2; spm++) {
        const struct tiny tiny = {.arch = spm ? "gemma3" : "llama",
                                  .format = spm ? 6 : 2,
                                  .layers = 1,
                                  .width = 32,
                                  .inner = 32,
                                  .heads = 1,
                                  .kv_heads = 1,
                                  .head = 32,
                                  .window = spm ? 4 : 0,
                                  .factors = !spm,
                                  .spm = spm};
        size_t nbytes;
        uint8_t *file = tiny_make(&tiny, &nbytes);

        write_seed("gguf", spm ? "gemma3" : "llama", file, nbytes);
        free(file);
    }
}

static void write_texts(void)
{
    static const char *const texts[][3] = {
        {"csv", "tiles",
         "\xef\xbb\xbf// tiles\nknl_name,co_name,tile\r\n"
         "\"a,\"\"b\",x.co,64 # odd\n/* no\n*/ c,y.co,-1.5e3\n"},
        {"csv", "empty", "kernel,target\n"},
        {"csv", "ragged", "a,b\n1\n"},
        {"symbols", "targets", "gfx90a:sramecc+:xnack-"},
        {"launch", "plain", "0123456789abcdefghijklmnopqrstuvwxyz"},
        {"launch", "packed", "1\x04\x01\x02\x03\x04zzzzzzzzzzzzzzzzzzzzz"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        write_seed(texts[i][0], texts[i][1], texts[i][2], strlen(texts[i][2]));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: make_seeds DIR\n", stderr);
        return 2;
    }
    root = argv[1];
    write_objects();
    write_bundles();
    write_packs();
    write_models();
    write_texts();
    return 0;
}
