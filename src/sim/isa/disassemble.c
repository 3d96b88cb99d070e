/* disassemble.c - LLVM's disassemblers, one at work at a time */
#include "disassemble.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One disassembler per processor and wave size, made when needed, kept. */
enum { MAX_DISASSEMBLERS = 64 };
static struct {
    const struct sim_target *target;
    unsigned wave_size;
    LLVMDisasmContextRef context;
} disassemblers[MAX_DISASSEMBLERS];

static LLVMDisasmContextRef disassembler(const struct sim_target *target,
                                         unsigned wave_size)
{
    char features[64] = "";
    size_t i = 0;

    while (i < MAX_DISASSEMBLERS && disassemblers[i].target) {
        if (disassemblers[i].target == target &&
            disassemblers[i].wave_size == wave_size)
            return disassemblers[i].context;
        i++;
    }
    if (i == MAX_DISASSEMBLERS)
        return NULL;
    if (i == 0) {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
    }
    /* True16 text names the half of a register that the bits name; without
     * the feature LLVM would read those bits as part of the number. */
    if (target->major >= 10)
        snprintf(features, sizeof(features), "+wavefrontsize%u%s", wave_size,
                 target->major >= 11 ? ",+real-true16" : "");
    disassemblers[i].context = LLVMCreateDisasmCPUFeatures(
        "amdgcn-amd-amdhsa", target->name, features, NULL, 0, NULL, NULL);
    if (disassemblers[i].context) {
        disassemblers[i].target = target;
        disassemblers[i].wave_size = wave_size;
    }
    return disassemblers[i].context;
}

/*
 * gfx10's v_cmpx in its long form writes EXEC and has no use for the field of
 * a destination. Compilers before LLVM 16 left it 0; LLVM since wants it to
 * name EXEC, and takes it for no instruction otherwise.
 */
static size_t old_cmpx(LLVMDisasmContextRef context,
                       const struct sim_target *target, uint8_t bytes[],
                       uint64_t left, uint64_t addr, char *text, size_t ntext)
{
    uint32_t word;
    size_t n;

    memcpy(&word, bytes, sizeof(word));
    if (target->major != 10 || left < 8 || word >> 24 != 0xd4 ||
        (word & 0xff) != 0)
        return 0;
    bytes[0] = 0x7e;
    n = LLVMDisasmInstruction(context, bytes, left, addr, text, ntext);
    return strncmp(text + strspn(text, "\t "), "v_cmpx_", 7) == 0 ? n : 0;
}

static size_t text_at(const struct sim_code *code, uint64_t addr,
                      unsigned wave_size, char *text, size_t ntext)
{
    LLVMDisasmContextRef context = disassembler(code->target, wave_size);
    uint64_t left = code->base + code->size - addr;
    uint8_t bytes[32] = {0};
    size_t n;

    text[0] = '\0';
    if (!context)
        return 0;
    if (left > sizeof(bytes))
        left = sizeof(bytes);
    memcpy(bytes, code->bytes + (addr - code->base), left);
    n = LLVMDisasmInstruction(context, bytes, left, addr, text, ntext);
    return n ? n
             : old_cmpx(context, code->target, bytes, left, addr, text, ntext);
}

size_t sim_disassemble(const struct sim_code *code, uint64_t addr,
                       unsigned wave_size, char *text, size_t ntext)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = text_at(code, addr, wave_size, text, ntext);
    pthread_mutex_unlock(&lock);
    return n;
}
