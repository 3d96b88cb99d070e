/* asm.c - runs a snippet of assembly on one simulated wave */
#include "asm.h"

#include "sim/base/config.h"
#include "sim/base/host_access.h"
#include "sim/isa/exec.h"
#include "sim/isa/mode.h"
#include "sim/run/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <llvm-c/Core.h>
#include <llvm-c/Object.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    HIP_MODE = 0xf0 | MODE_DX10_CLAMP | MODE_IEEE,
    SCRATCH_NBYTES = 256 /* per lane, as large as asm_state.scratch */
};

struct asm_state *asm_new(const char *target, unsigned wave_size)
{
    struct asm_state *st = aligned_alloc(64, (sizeof(*st) + 63) & ~(size_t)63);

    assert_non_null(st);
    memset(st, 0xa5, sizeof(*st));
    st->target = target;
    st->wave_size = wave_size;
    st->scc = false;
    st->mode = HIP_MODE;
    st->s[SREG_EXEC] = UINT32_MAX;
    st->s[SREG_EXEC + 1] = wave_size == 64 ? UINT32_MAX : 0;
    return st;
}

void asm_free(struct asm_state *st)
{
    free(st);
}

/* ---- assembling ---- */

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *failed)
{
    char *text = LLVMGetDiagInfoDescription(info);

    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
        fprintf(stderr, "asm: %s\n", text);
        *(bool *)failed = true;
    }
    LLVMDisposeMessage(text);
}

static LLVMTargetMachineRef target_machine(const char *processor,
                                           unsigned wave_size)
{
    LLVMTargetRef target;
    char *message, features[64] = "";

    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    if (LLVMGetTargetFromTriple("amdgcn-amd-amdhsa", &target, &message))
        fail_msg("LLVM: %s", message);
    if (strncmp(processor, "gfx9", 4) != 0)
        snprintf(features, sizeof(features), "+wavefrontsize%u%s", wave_size,
                 strncmp(processor, "gfx10", 5) ? ",+real-true16" : "");
    return LLVMCreateTargetMachine(target, "amdgcn-amd-amdhsa", processor,
                                   features, LLVMCodeGenLevelDefault,
                                   LLVMRelocPIC, LLVMCodeModelDefault);
}

/* The bytes of .text in the object that `text` assembles to. */
static void assemble(const char *processor, unsigned wave_size,
                     const char *text, uint8_t *code, size_t ncode, size_t *n)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("asm", context);
    LLVMTargetMachineRef machine = target_machine(processor, wave_size);
    LLVMMemoryBufferRef object;
    LLVMBinaryRef binary;
    LLVMSectionIteratorRef section;
    char *message = NULL, whole[8192];
    bool failed = false;

    snprintf(whole, sizeof(whole), ".text\n%s\ns_endpgm\n", text);
    LLVMContextSetDiagnosticHandler(context, on_diagnostic, &failed);
    LLVMSetTarget(module, "amdgcn-amd-amdhsa");
    LLVMSetModuleInlineAsm2(module, whole, strlen(whole));
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile,
                                            &message, &object) ||
        failed)
        fail_msg("cannot assemble for %s: %s\n%s", processor, text,
                 message ? message : "");
    binary = LLVMCreateBinary(object, context, &message);
    assert_non_null(binary);
    *n = 0;
    for (section = LLVMObjectFileCopySectionIterator(binary);
         !LLVMObjectFileIsSectionIteratorAtEnd(binary, section);
         LLVMMoveToNextSection(section)) {
        const char *name = LLVMGetSectionName(section);

        if (!name || strcmp(name, ".text") != 0)
            continue;
        *n = LLVMGetSectionSize(section);
        assert_true(*n <= ncode);
        memcpy(code, LLVMGetSectionContents(section), *n);
    }
    LLVMDisposeSectionIterator(section);
    LLVMDisposeBinary(binary);
    LLVMDisposeMemoryBuffer(object);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

/* ---- running ---- */

/* The parts of a wave that the state stands for, both ways. */
static void load_wave(struct wave *w, const struct asm_state *st)
{
    memcpy(w->s, st->s, sizeof(w->s));
    memcpy(w->v, st->v, sizeof(st->v));
    memcpy(w->a, st->a, sizeof(st->a));
    memcpy(w->group->lds, st->lds, sizeof(st->lds));
    for (unsigned d = 0; d < SCRATCH_NBYTES / 4; d++)
        memcpy(w->scratch + d * w->nlanes, st->scratch[d], 4ull * w->nlanes);
    w->scc = st->scc;
    sim_wave_set_mode(w, st->mode);
    set_sreg64(w, SREG_FLAT_SCRATCH, w->scratch_base);
}

static void save_wave(struct asm_state *st, const struct wave *w)
{
    memcpy(st->s, w->s, sizeof(w->s));
    memcpy(st->v, w->v, sizeof(st->v));
    memcpy(st->a, w->a, sizeof(st->a));
    memcpy(st->lds, w->group->lds, sizeof(st->lds));
    for (unsigned d = 0; d < SCRATCH_NBYTES / 4; d++)
        memcpy(st->scratch[d], w->scratch + d * w->nlanes, 4ull * w->nlanes);
    st->scc = w->scc;
    st->mode = w->mode;
    st->stats = w->group->stats;
    st->fault = w->group->fault;
}

static void *zeroed(size_t n)
{
    void *p = aligned_alloc(64, (n + 63) & ~(size_t)63);

    assert_non_null(p);
    memset(p, 0, n);
    return p;
}

bool asm_try(struct asm_state *st, const char *text)
{
    struct sim_device device = {.target = sim_target_by_name(st->target)};
    struct sim_dispatch dispatch = {.device = &device, .kernel_name = "asm"};
    struct run run = {.dispatch = &dispatch,
                      .target = device.target,
                      .config = *sim_config(),
                      .wave_size = st->wave_size,
                      .nvgprs = 256,
                      .nagprs = 256,
                      .scratch_nbytes = SCRATCH_NBYTES,
                      .lds_nbytes = sizeof(st->lds),
                      .ngroups = {1, 1, 1},
                      .nwaves = 1};
    struct group group = {.run = &run, .nwaves = 1};
    struct wave *w = zeroed(sizeof(*w));
    uint8_t code[8192];
    struct sim_alloc *memory;
    size_t n;
    bool ok;

    assert_non_null(device.target);
    assemble(st->target, st->wave_size, text, code, sizeof(code), &n);
    memory = sim_mem_alloc(0, n, 256, SIM_MEM_CODE);
    assert_non_null(memory);
    memcpy(memory->bytes, code, n);
    run.entry = memory->base;

    group.waves = w;
    group.lds = zeroed(sizeof(st->lds));
    w->group = &group;
    w->run = &run;
    w->target = device.target;
    w->nlanes = st->wave_size;
    w->full = st->wave_size == 64 ? UINT64_MAX : UINT32_MAX;
    w->nvgprs = w->nagprs = 256;
    w->v = zeroed(sizeof(st->v));
    w->a = zeroed(sizeof(st->a));
    w->scratch = zeroed((size_t)SCRATCH_NBYTES * st->wave_size);
    w->scratch_base = SCRATCH_BASE;
    w->pc = run.entry;
    load_wave(w, st);
    sim_mem_pin();
    for (int slice = 0; slice < 1000 && w->state <= WAVE_YIELDS; slice++)
        sim_wave_run(w, 10000);
    sim_mem_unpin();
    ok = w->state == WAVE_ENDED;
    save_wave(st, w);

    sim_mem_free(memory->base);
    free(group.lds);
    free(w->v);
    free(w->a);
    free(w->scratch);
    free(w);
    return ok;
}

void asm_run(struct asm_state *st, const char *text)
{
    if (!asm_try(st, text))
        fail_msg("%s: %s", st->target, st->fault.text);
}

/* ---- whole dispatches ---- */

enum { CODE_OFFSET = 256 }; /* the code follows the descriptor */

static void put32(uint8_t *bytes, unsigned offset, uint32_t value)
{
    memcpy(bytes + offset, &value, sizeof(value));
}

/* VGPRs, kernarg pointer, group ID x, scratch if there is any. */
static void put_descriptor(uint8_t *d, const struct asm_launch *l,
                           const struct sim_target *target)
{
    unsigned step = target->major >= 10     ? (l->wave_size == 32 ? 8 : 4)
                    : target->unified_vgprs ? 8
                                            : 4;

    const unsigned nregs = l->nregs ? l->nregs : 64;
    const unsigned accum_offset = l->accum_offset ? l->accum_offset : nregs;

    memset(d, 0, CODE_OFFSET);
    put32(d, 0, l->lds_nbytes);
    put32(d, 4, l->scratch_nbytes);
    put32(d, 8, l->kernarg_nbytes);
    put32(d, 16, CODE_OFFSET);
    put32(d, 44,
          (accum_offset / 4 - 1) |
              (l->split && target->major == 9 ? 1u << 16 : 0));
    put32(d, 48,
          (nregs / step - 1) | 0x00af0000 |
              (l->split && target->major > 9 ? 1u << 29 : 0));
    put32(d, 52, (l->scratch_nbytes ? 1 : 0) | 2 << 1 | 1 << 7);
    put32(d, 56, 8 | (l->wave_size == 32 ? 1u << 10 : 0));
}

void asm_assemble(struct asm_launch *l)
{
    uint8_t code[8192];
    size_t n;

    assemble(l->target, l->wave_size, l->text, code, sizeof(code), &n);
    l->code = sim_mem_alloc(0, CODE_OFFSET + n, 256, SIM_MEM_CODE);
    assert_non_null(l->code);
    put_descriptor(l->code->bytes, l, sim_target_by_name(l->target));
    memcpy(l->code->bytes + CODE_OFFSET, code, n);
    l->code->readonly = true;
}

void asm_discard(struct asm_launch *l)
{
    sim_mem_free(l->code->base);
    l->code = NULL;
}

bool asm_dispatch(struct asm_launch *l)
{
    const bool once = !l->code;
    struct sim_device device = {.target = sim_target_by_name(l->target)};
    struct sim_dispatch d = {.device = &device,
                             .kernel_name = "asm",
                             .grid = {l->groups * l->block, 1, 1},
                             .block = {(uint16_t)l->block, 1, 1},
                             .lds_nbytes = l->lds_nbytes,
                             .scratch_nbytes = l->scratch_nbytes};
    struct sim_alloc *kernarg;
    bool ok;

    assert_non_null(device.target);
    if (once)
        asm_assemble(l);
    kernarg = sim_mem_alloc(0, l->kernarg_nbytes + 16, 64, SIM_MEM_INTERNAL);
    assert_non_null(kernarg);
    if (l->kernarg_nbytes)
        memcpy(kernarg->bytes, l->kernarg, l->kernarg_nbytes);
    sim_mem_mark_written(kernarg->base, l->kernarg_nbytes + 16);
    d.descriptor = l->code->base;
    d.kernarg = kernarg->base;
    memset(&l->stats, 0, sizeof(l->stats));
    memset(&l->fault, 0, sizeof(l->fault));
    ok = sim_dispatch_run(&d, &l->stats, &l->fault);
    sim_mem_free(kernarg->base);
    if (once)
        asm_discard(l);
    return ok;
}
