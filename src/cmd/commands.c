/* commands.c - the tables of subcommands and options */
#include "commands.h"

#include <stddef.h>

const struct command commands[] = {
    {"list", "[FILE]", "jK", 0, 1, cmd_list,
     "the modules of the pack, or the code objects in a file",
     "One line for each module: how many kernels it has, how many bytes of "
     "code objects, and for which targets. With a *FILE*, one line for each "
     "code object in it, as for `verify`, or with `--kernels` one for each of "
     "their kernels; and, of a library whose code lies in AMD's archives, "
     "which archives it wants and which of them are there."},
    {"info", "MODULE|KERNEL [FILE]", "j", 1, 2, cmd_info,
     "a module's code objects, or a kernel's arguments and registers",
     "Of a module its code objects with their SHA-256, and its kernels. Of a "
     "kernel its arguments (offset and size in bytes, and what they are) and, "
     "for each target, its registers, spilled registers, shared memory (LDS), "
     "private memory (scratch), argument segment, largest block and wave "
     "size. A name that is both is shown as both. With a *FILE*, such as a "
     "program, all of it is read from the file's code objects. They have no "
     "configuration tables, and mostly no names of arguments. Of one of AMD's "
     "archives, as the only word, its group, targets and compression; of a "
     "library whose code lies in such archives which it wants and which are "
     "there."},
    {"devices", "", "j", 0, 0, cmd_devices, "the GPUs that HIP and CUDA see",
     "Target ID, compute units, memory, shared memory of a block, wave size "
     "and name of each; and which HIP runtime and CUDA driver were found. A "
     "driver that is there and does not start is told of on standard error. "
     "Without a GPU the status is 3 and a sentence says what to look at; with "
     "`--json` it is the member `error`, and `devices` is empty."},
    {"select", "TARGET-ID [MODULE] [FILE]", "j", 1, 3, cmd_select,
     "which code object a device of that target would run, and why",
     "For each module, or for one, the code object that a device of this "
     "target ID would run, and the reason; with a *FILE*, of the packs in it. "
     "If none fits: what the module holds, why each near miss does not fit, "
     "and what to rebuild with. `kpack devices` prints a device's target ID."},
    {"extract", "[FILE] MODULE TARGET-ID", "oaAy", 0, 3, cmd_extract,
     "write a code object to -o FILE, or MODULE-TARGET.hsaco",
     "Writes one code object: an ELF file, or PTX. A module may have none for "
     "exactly that target ID. Then `extract` takes the one that such a device "
     "would run, and says so. With a *FILE* in front it takes the code object "
     "out of that file, for exactly that target ID. `kpack extract --all FILE` "
     "writes all code objects of a file. They go into the folder that `-o` "
     "names, or into the current one. It writes copies once. Different code of "
     "one name gets a number behind the name. `kpack extract --kpack DIR "
     "[FILE]` writes the pack, or the packs in a file, as AMD's archives of "
     "the "
     "same name, which ROCm 7.13 and later read: *PACK*_*TARGET*.kpack for "
     "each "
     "target, with the code objects as they are. Beside them *PACK*.json has "
     "for each kernel its archive (`library`), the key of its code object "
     "there "
     "(`toc_key`), its name (`symbol`), and the `sha256` of the code object. "
     "Code for NVIDIA's GPUs is left out. Damaged code is refused, and nothing "
     "is written."},
    {"verify", "FILE", "j", 1, 1, cmd_verify,
     "check all packs in a file, and say which devices they serve",
     "Finds the packs in a program, a shared object or an archive, stripped "
     "or not. Each code object is decompressed if need be and held against "
     "the SHA-256 that it was packed with. Of each pack: how many modules and "
     "code objects, how many of them damaged, the processors that every "
     "module has a code object for, and those that only some modules have one "
     "for. The status is 1 if anything is damaged or the file has no pack. "
     "Nothing of the file is run. AMD's archives (.kpack) and libraries whose "
     "code lies in them (.rocm_kpack_ref) are looked into as well: the group "
     "is the pack, the key the module. They have no SHA-256, but each code "
     "object must decompress and be for the target that it is labelled with; "
     "and a library must find each of its translation units. The hashes "
     "detect damage, not tampering: whoever can change the code can change "
     "its hash. Code for gfx90a, gfx942 and gfx950 is looked through for a "
     "fault of LLVM 22: a fence whose write-back no wait follows, so that a "
     "flag may be seen before the data. It is warned of, with kernel and "
     "offset, and does not change the status."},
    {"prune", "FILE.a", "op", 1, 1, cmd_prune, "take targets out of an archive",
     "Takes code objects out of an archive, except those that `--keep` names. "
     "Of a module that has none for just that target, all stay that such a GPU "
     "would run. The archive links as before, and programs do not select what "
     "is gone. Without `-o` the file is replaced. What is linked already "
     "cannot be pruned. The SHA-256 of all that stays is checked: a damaged "
     "archive is refused, and left as it is."},
    {"run", "[KERNEL [ARGUMENT]...]", "jkdgbs", 0, OPTIONS_MAX_WORDS, cmd_run,
     "load all kernels on every device, or launch one",
     "Without a word, loads every module on every device and finds each of its "
     "kernels: one line for each device, beginning with PASSED or FAILED, "
     "after a line for each kernel that failed. With a *KERNEL*, launches it "
     "once and shows its buffers after that: the first elements and a SHA-256. "
     "An *ARGUMENT* is *TYPE*:*NUMBER*, a number; *TYPE*x*COUNT*:*FILL*, "
     "device memory; or `null`. Types are u8 to u64, i8 to i64, f64, f32, f16, "
     "bf16, f8_e4m3 and f8_e5m2. *FILL* is a number; `ramp`, 0 to 7 over and "
     "over; `random`, -1 to 1, or 0 to 15 of integers, the same each time; or "
     "@*FILE*, the bytes. A kernel that is given too little memory faults or "
     "spoils what lies beside it."},
};
const int ncommands = sizeof(commands) / sizeof(commands[0]);

const struct option all_options[] = {
    {"--json", NULL, 'j', "print JSON instead of text",
     "Prints JSON instead of text. Sizes are in bytes."},
    {"--kernels", NULL, 'K', "list kernels instead of modules",
     "Lists every kernel with its module, the number of its arguments and "
     "their size in bytes, instead of modules."},
    {"-o", "FILE", 'o', "write to FILE; - is standard output", NULL},
    {"--all", NULL, 'a', "all code objects of FILE, into folder -o", NULL},
    {"--kpack", "DIR", 'A', "as AMD's .kpack archives, into folder DIR", NULL},
    {"--keys", "KIND", 'y', "keys of --kpack: module (the default) or path",
     "What the code objects are called in AMD's archives: `module` takes the "
     "names of the modules. `path` takes *MODULE*.co, which hipDNN and MIOpen "
     "look for: the path of the file that the code object once was, without "
     "the folder of its target."},
    {"--keep", "TARGET,...", 'p', "what stays; can be given once",
     "What `prune` leaves in the archive: code objects of these target IDs or "
     "processors, and those that these devices run, such as generic ones."},
    {"-k", "GLOB", 'k', "only kernels whose name matches, e.g. -k 'affine_*'",
     NULL},
    {"-d", "N", 'd', "only device number N",
     "Only device number N. Without it, all of them, or of one kernel the "
     "first "
     "device that the pack has code for."},
    {"-g", "X[,Y[,Z]]", 'g', "blocks of the grid",
     "Blocks of the grid. Without it, what the kernel's module recommends for "
     "as many elements as the longest buffer has; with `-b`, a thread for each "
     "of them."},
    {"-b", "X[,Y[,Z]]", 'b', "threads of a block",
     "Threads of a block. Without it, what the kernel's module recommends."},
    {"-s", "BYTES", 's', "dynamic shared memory of a block", NULL},
};
const int noptions = sizeof(all_options) / sizeof(all_options[0]);

const struct option plain_options[] = {
    {"--help", NULL, 'h', "this text, or of a command its own; -h is the same",
     NULL},
    {"--version", NULL, 'V', "the version of kpack; -V is the same", NULL},
    {"--manual", NULL, 'M', "the manual page, for `man -l -`", NULL},
    {"--completion", "SHELL", 'C', "completion for bash, zsh or fish",
     "Prints what makes *bash*, *zsh* or *fish* complete the command line, "
     "names of kernels among it: `source <(kpack --completion bash)`. `make "
     "install` puts it where these shells look."},
};
const int nplain_options = sizeof(plain_options) / sizeof(plain_options[0]);
