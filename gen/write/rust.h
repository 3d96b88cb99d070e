/* rust.h - writes a pack's files for Rust: rust/PACK.rs, rust/PACK/MODULE.rs
 *
 * They are parts of crates that use the crate kpack (src/rust): what the C
 * header and the typed launchers are for C. PACK.rs includes the others.
 */
#ifndef KPK_GEN_RUST_H
#define KPK_GEN_RUST_H

#include <stdio.h>

#include "write/launchers.h"

/*
 * The kernels of a module. A parameter `const T *` becomes `impl Input<T>`,
 * `T *` becomes `impl Output<T>`; of a struct by value only the size is known.
 */
void rust_write_module(FILE *f, const struct launchers *l);
void rust_write_pack(FILE *f, const char *pack, char *const *modules,
                     size_t nmodules);

#endif
