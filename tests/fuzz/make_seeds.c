/* make_seeds.c - writes the seeds of the fuzz targets that are made, not kept
 *
 *   make_seeds DIR
 *
 * DIR/TARGET/NAME: small files that the readers accept, for the fuzzer to
 * change. The fuzzer's own finds are in seeds and regressions.
 */
#include "../model/tiny.h"
#include "made_code_object.h"
#include "made_cubin.h"
#include "made_kpak.h"
#include "named_object.h"
#include "write/blob.h"

#include <elf.h>
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

static void write_kpaks(void)
{
    static const struct made_kpak_entry entries[] = {
        {"lib/a.so#0", "gfx942", "one", 3},
        {"lib/a.so#0", "gfx90a:xnack+", "other", 5},
        {"lib/a.so#1", "gfx942", "third", 5}};
    static char path[] = "../.kpack/a_@GFXARCH@.kpack";
    char *const paths[] = {path};
    unsigned char *data;
    size_t nbytes;

    for (int zstd = 0; zstd < 2; zstd++) {
        data = make_kpak("blas", entries, 3, zstd, &nbytes);
        write_seed("kpak", zstd ? "zstd" : "none", data, nbytes);
        write_seed("scan", zstd ? "kpak_zstd" : "kpak", data, nbytes);
        free(data);
    }
    data = make_hipk("lib/a.so", paths, 1, 2, &nbytes);
    write_seed("kpak", "library", data, nbytes);
    write_seed("scan", "library", data, nbytes);
    free(data);
}

/* Appends a member to an archive. Returns the archive's size then. */
static size_t add_member(unsigned char *archive, size_t n, const char *name,
                         const void *data, size_t nbytes)
{
    n += (size_t)sprintf((char *)archive + n, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n",
                         name, 0, 0, 0, 644, nbytes);
    memcpy(archive + n, data, nbytes);
    n += nbytes;
    if (n % 2)
        archive[n++] = '\n';
    return n;
}

/* An archive as the build makes them, which prune can change: an index, and an
 * object file with a section that is a code object, its symbol, and a section
 * behind it. */
static void write_archive(const unsigned char *blob, size_t nbytes)
{
    static const char names[] = "\0blo";
    /* One symbol, of the member whose header follows at byte 80. */
    static const unsigned char index[12] = "\0\0\0\1\0\0\0\120blo";
    unsigned char object[4096] = {0}, archive[8192];
    const size_t names_at = sizeof(Elf64_Ehdr);
    const size_t symbols_at = names_at + 8;
    const size_t blob_at = symbols_at + 2 * sizeof(Elf64_Sym);
    const size_t headers_at = (blob_at + nbytes + 7) / 8 * 8;
    const Elf64_Sym symbol = {.st_name = 1,
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                              .st_shndx = 1,
                              .st_size = nbytes};
    const Elf64_Shdr sections[] = {{.sh_type = SHT_NULL},
                                   {.sh_type = SHT_PROGBITS,
                                    .sh_flags = SHF_ALLOC,
                                    .sh_offset = blob_at,
                                    .sh_size = nbytes,
                                    .sh_addralign = 8},
                                   {.sh_type = SHT_SYMTAB,
                                    .sh_offset = symbols_at,
                                    .sh_size = 2 * sizeof(Elf64_Sym),
                                    .sh_link = 3,
                                    .sh_info = 1,
                                    .sh_addralign = 8,
                                    .sh_entsize = sizeof(Elf64_Sym)},
                                   {.sh_type = SHT_STRTAB,
                                    .sh_offset = names_at,
                                    .sh_size = sizeof(names),
                                    .sh_addralign = 1}};
    const Elf64_Ehdr head = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shoff = headers_at,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = 4,
        .e_shstrndx = 3};
    size_t n = 8;

    if (headers_at + sizeof(sections) > sizeof(object))
        exit(1);
    memcpy(object, &head, sizeof(head));
    memcpy(object + names_at, names, sizeof(names));
    memcpy(object + symbols_at + sizeof(symbol), &symbol, sizeof(symbol));
    memcpy(object + blob_at, blob, nbytes);
    memcpy(object + headers_at, sections, sizeof(sections));
    memcpy(archive, "!<arch>\n", n);
    n = add_member(archive, n, "/", index, sizeof(index));
    n = add_member(archive, n, "o.o/", object, headers_at + sizeof(sections));
    write_seed("scan", "archive_of_pack", archive, n);
}

static void write_named(void)
{
    struct named_object o;

    named_object(&o);
    write_seed("second_names", "kernel", &o, sizeof(o));
    SET_METADATA(&o, "\x81" KERNELS_KEY "\x92" KERNEL_K "\x81\xa5.name\xa1z");
    write_seed("second_names", "kernels", &o, sizeof(o));
}

/* A pack's code object with its head, twice; and an archive of an object. */
static void write_packs(void)
{
    static const char name[] = "fuzz", content[] = "content";
    const struct made_object spec = {
        .kernel = "k", .e_flags = 0x54c, .abi_version = 3, .wave_size = 64};
    unsigned char *object, data[4096] = "!<arch>\n";
    size_t nbytes, n = 0;
    FILE *f = tmpfile();

    if (!f)
        exit(1);
    object = make_object(&spec, &nbytes);
    if (nbytes <= sizeof(data) - 70) {
        n = add_member(data, 8, "o.o/", object, nbytes);
        write_seed("scan", "archive", data, n);
    }
    free(object);
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
    n = fread(data, 1, sizeof(data), f);
    write_seed("scan", "pack", data, n);
    write_archive(data, n);
    (void)fclose(f);
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

static void write_cubins(void)
{
    static const struct made_param params[] = {{0, 8}, {8, 4}, {16, 8}};
    const struct made_cubin cubins[] = {{.kernel = "add",
                                         .sm = 90,
                                         .release = 130,
                                         .params = params,
                                         .nparams = 3,
                                         .param_nbytes = 24,
                                         .registers = 12},
                                        {.kernel = "old",
                                         .sm = 80,
                                         .before_13 = true,
                                         .release = 118,
                                         .shared_nbytes = 2048,
                                         .stack_nbytes = 64,
                                         .max_threads = {256, 1, 1}},
                                        {.kernel = "exact",
                                         .sm = 120,
                                         .release = 130,
                                         .params = params,
                                         .nparams = 1,
                                         .param_nbytes = 8,
                                         .reqd_block = {64, 2, 1}}};

    for (size_t i = 0; i < sizeof(cubins) / sizeof(cubins[0]); i++) {
        size_t nbytes;
        unsigned char *data = make_cubin(&cubins[i], &nbytes);

        write_seed("cubin", cubins[i].kernel, data, nbytes);
        write_seed("symbols", cubins[i].kernel, data, nbytes);
        write_seed("program", cubins[i].kernel, data, nbytes);
        free(data);
    }
}

/* Control bytes, then the compressed data. */
static void write_compressed(const unsigned char *plain, size_t nbytes)
{
    unsigned char *data = calloc(1, 8 + nbytes);

    if (!data)
        exit(1);
    memcpy(data + 8, plain, nbytes);
    for (unsigned i = 0; i < 6; i++) {
        char name[16];

        data[0] = (unsigned char)(i % 3);
        data[1] = (unsigned char)(i / 3);
        snprintf(name, sizeof(name), "v%u_%u", i % 3 + 1, i / 3);
        write_seed("compressed", name, data, 8 + nbytes);
    }
    free(data);
}

/* A program of the host: a file with a section of that name. */
static void write_program(const char *name, const char *section,
                          const unsigned char *content, size_t nbytes)
{
    enum { NAMES_NBYTES = 80 };
    struct {
        Elf64_Ehdr file;
        Elf64_Shdr sections[3];
        char names[NAMES_NBYTES];
    } head = {
        .file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_REL,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_shoff = sizeof(Elf64_Ehdr),
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = 3,
                 .e_shstrndx = 2},
        .sections = {{.sh_type = SHT_NULL},
                     {.sh_name = 1,
                      .sh_type = SHT_PROGBITS,
                      .sh_offset = sizeof(head),
                      .sh_size = nbytes,
                      .sh_addralign = 1},
                     {.sh_name = 0,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr),
                      .sh_size = NAMES_NBYTES,
                      .sh_addralign = 1}}};
    unsigned char *data = malloc(sizeof(head) + nbytes);

    if (!data)
        exit(1);
    snprintf(head.names + 1, NAMES_NBYTES - 1, "%s", section);
    memcpy(data, &head, sizeof(head));
    memcpy(data + sizeof(head), content, nbytes);
    write_seed("program", name, data, sizeof(head) + nbytes);
    free(data);
}

/* A bundle with a code object in it. */
static void write_programs(void)
{
    const struct made_object spec = {
        .kernel = "k", .e_flags = 0x54c, .abi_version = 3, .wave_size = 64};
    size_t nbytes, n;
    unsigned char *object = make_object(&spec, &nbytes);
    const struct made_entry entries[] = {
        {"host-x86_64-unknown-linux-gnu-", "", 0},
        {"hipv4-amdgcn-amd-amdhsa--gfx942", object, nbytes}};
    unsigned char *plain, *packed;
    size_t npacked;
    const struct made_image images[] = {
        {"amdgcn-amd-amdhsa", "gfx942", object, nbytes},
        {"amdgcn-amd-amdhsa", "gfx942", "BC\xc0\xde", 4},
        {"x86_64-unknown-linux-gnu", NULL, "", 0}};

    for (unsigned version = 1; version <= 2; version++) {
        const char *name = version == 1 ? "offload1" : "offload2";
        unsigned char *offload = make_offload(images, 3, version, &n);

        write_seed("bundle", name, offload, n);
        write_seed("program", name, offload, n);
        write_program(version == 1 ? "offload1_program" : "offload2_program",
                      ".llvm.offloading", offload, n);
        free(offload);
    }
    plain = make_bundle(entries, 2, 1, &n);
    packed = compress_bundle(plain, n, 3, 1, &npacked);
    write_program("rdc",
                  "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx942",
                  object, nbytes);
    write_seed("program", "object", object, nbytes);
    for (int zstd = 0; zstd < 2; zstd++) {
        const struct made_kpak_entry entry = {"lib/a.so#0", "gfx942", object,
                                              nbytes};
        unsigned char *archive = make_kpak("a", &entry, 1, zstd, &n);

        write_seed("program", zstd ? "kpak_zstd" : "kpak", archive, n);
        free(archive);
    }
    write_seed("program", "bundle", plain, n);
    write_seed("program", "packed", packed, npacked);
    write_program("program", ".hip_fatbin", plain, n);
    write_program("packed_program", ".hip_fatbin", packed, npacked);
    write_compressed(plain, n);
    free(packed);
    free(plain);
    free(object);
}

static void write_texts(void)
{
    static const char *const texts[][3] = {
        {"csv", "tiles",
         "\xef\xbb\xbf// tiles\nknl_name,co_name,tile\r\n"
         "\"a,\"\"b\",x.co,64 # odd\n/* no\n*/ c,y.co,-1.5e3\n"},
        {"csv", "empty", "kernel,target\n"},
        {"csv", "ragged", "a,b\n1\n"},
        {"csv", "types", "type,host,header\nf16,kpk_f16,\nx,struct x,x.h\n"},
        {"ptx", "entries",
         "//\n.version 7.8\n.target sm_80\n.address_size 64\n"
         ".visible .entry add(\n\t.param .u64 .ptr .align 1 add_param_0,\n"
         "\t.param .u32 add_param_1,\n"
         "\t.param .align 4 .b8 add_param_2[12]\n)\n"
         ".maxntid 256, 1, 1\n.minnctapersm 2\n{\n\tret;\n}\n"
         ".func helper(.param .b32 x)\n{\n\tret;\n}\n"},
        {"ptx", "entry",
         "/* */ .visible .entry k(.param .f32 a, .param .f64 b)\n"
         ".reqntid 64\n{ .shared .align 4 .b8 s[128]; ret; }\n"},
        {"ir", "kernel",
         "define amdgpu_kernel void @k(ptr %0) !dbg !1 {\n"
         "!1 = distinct !DISubprogram(name: \"k\", type: !2, line: 3)\n"
         "!2 = !DISubroutineType(types: !3)\n"
         "!3 = !{null, !4, !9, !12, !16, !17, !18}\n"
         "!4 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !5)\n"
         "!5 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !6)\n"
         "!6 = !DIBasicType(name: \"float\", size: 32, encoding: "
         "DW_ATE_float)\n"
         "!7 = !DILocalVariable(name: \"in\", arg: 1, scope: !1, type: !4)\n"
         "!8 = !DILocalVariable(name: \"s\", arg: 2, scope: !1, type: !9)\n"
         "!9 = !DICompositeType(tag: DW_TAG_structure_type, name: \"s\", "
         "size: 128, elements: !10)\n"
         "!10 = !{!11, !19}\n"
         "!11 = !DIDerivedType(tag: DW_TAG_member, name: \"m\", baseType: !6, "
         "size: 32)\n"
         "!12 = !DIDerivedType(tag: DW_TAG_typedef, name: \"a\", baseType: "
         "!13)\n"
         "!13 = !DICompositeType(tag: DW_TAG_array_type, baseType: !6, "
         "elements: !14)\n"
         "!14 = !{!15}\n"
         "!15 = !DISubrange(count: 4)\n"
         "!16 = !DIDerivedType(tag: DW_TAG_typedef, name: \"known\")\n"
         "!17 = !DIDerivedType(tag: DW_TAG_typedef, name: \"float4\")\n"
         "!18 = !DICompositeType(tag: DW_TAG_enumeration_type, baseType: !6)\n"
         "!19 = !DIDerivedType(tag: DW_TAG_member, name: \"n\", baseType: !4, "
         "size: 64, offset: 64)\n"},
        {"triton", "kernel",
         "{\"hash\": \"6d\", \"target\": {\"backend\": \"hip\", \"arch\": "
         "\"gfx942\", \"warp_size\": 64}, \"num_warps\": 8, \"num_ctas\": 1, "
         "\"extern_libs\": [[\"ocml\", \"ocml.bc\"]], \"debug\": false, "
         "\"shared\": 32, \"global_scratch_size\": 0, "
         "\"global_scratch_align\": 1, \"profile_scratch_size\": 0, "
         "\"profile_scratch_align\": 1, \"name\": \"k\"}"},
        {"triton", "least", "{\"num_warps\":1,\"shared\":0}"},
        {"triton", "other", "{\"child_paths\": {\"k.hsaco\": \"/x\"}}"},
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
    write_kpaks();
    write_packs();
    write_named();
    write_models();
    write_cubins();
    write_programs();
    write_texts();
    return 0;
}
