//! layout.rs - compares Rust's layout of kpack.h's structs with C's

use std::env;
use std::process::{Command, Stdio};

/// A condition of C for the size of each struct, and for each member's offset and size.
macro_rules! layouts {
    ($($name:ident { $($member:ident)* })*) => {
        pub(crate) fn layouts() -> Vec<String> {
            let mut out = Vec::new();
            $(
                let value = core::mem::MaybeUninit::<$name>::zeroed();
                let start = value.as_ptr();
                out.push(format!("sizeof({}) == {}", stringify!($name), core::mem::size_of::<$name>()));
                out.push(format!("_Alignof({}) == {}", stringify!($name), core::mem::align_of::<$name>()));
                $(
                    // SAFETY: within the value, and never read.
                    let member = unsafe { core::ptr::addr_of!((*start).$member) };
                    let name = stringify!($member).trim_start_matches("r#");
                    let at = member as usize - start as usize;
                    out.push(format!("offsetof({}, {}) == {}", stringify!($name), name, at));
                    let nbytes = crate::layout::nbytes_at(member);
                    out.push(format!("sizeof((({} *)0)->{}) == {}", stringify!($name), name, nbytes));
                )*
            )*
            out
        }
    };
}
macro_rules! constants {
    ($($name:ident)*) => {
        pub(crate) fn constants() -> Vec<String> {
            vec![$(format!("{} == {}", stringify!($name), $name)),*]
        }
    };
}

pub(crate) fn nbytes_at<T>(_: *const T) -> usize {
    core::mem::size_of::<T>()
}

/// Has the C compiler check, or run, a program that includes kpack.h. Miri starts no programs.
fn compile(program: &str, words: &[&str]) -> bool {
    use std::io::Write;
    let mut compiler = Command::new("cc");
    for folder in env::split_paths(env!("KPACK_SYS_INCLUDE")) {
        compiler.arg("-I").arg(folder);
    }
    compiler.args(["-std=c11", "-x", "c"]).args(words).arg("-").stdin(Stdio::piped());
    let mut running = compiler.spawn().expect("cc is there");
    running.stdin.take().unwrap().write_all(program.as_bytes()).expect("cc reads");
    running.wait().expect("cc ends").success()
}

#[test]
#[cfg_attr(miri, ignore)]
fn structs_and_constants_are_cs() {
    let mut program = String::from("#include <kpack.h>\n");
    let conditions = [crate::bindings::layouts(), crate::bindings::constants()].concat();
    assert!(conditions.len() > 250, "{}", conditions.len());
    for condition in conditions {
        program += &format!("_Static_assert({}, \"{}\");\n", condition, condition);
    }
    assert!(compile(&program, &["-fsyntax-only"]));
    // The C compiler rejects a wrong size.
    assert!(!compile(
        "#include <kpack.h>\n_Static_assert(sizeof(kpk_shape) == 1, \"\");\n",
        &["-fsyntax-only", "-w"]
    ));
}

/// kpk_shape_1d() and the values of inline.rs, as kpack.h has them.
#[test]
#[cfg_attr(miri, ignore)]
fn inline_functions_are_cs() {
    use crate::inline::*;
    let mut program = String::from("#include <kpack.h>\nint main(void) {\nkpk_shape s;\nkpk_value v;\n");
    for n in [0, 1, 255, 256, 257, 1 << 32, u64::MAX] {
        for block in [0, 1, 64, 1024, u32::MAX] {
            let s = kpk_shape_1d(n, block);
            program += &format!(
                "s = kpk_shape_1d({}ull, {}u);\nif (s.grid[0] != {}u || s.grid[1] != {}u || s.grid[2] != {}u || \
                 s.block[0] != {}u || s.block[1] != {}u || s.block[2] != {}u || s.shared_nbytes != {}u) return 1;\n",
                n, block, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared_nbytes
            );
        }
    }
    for (call, v) in [
        ("kpk_u32(7)", kpk_u32(7)),
        ("kpk_i32(-7)", kpk_i32(-7)),
        ("kpk_u64(1ull << 40)", kpk_u64(1 << 40)),
        ("kpk_i64(-1)", kpk_i64(-1)),
        ("kpk_f32(1.5f)", kpk_f32(1.5)),
        ("kpk_f64(-0.1)", kpk_f64(-0.1)),
        ("kpk_ptr((void *)64)", kpk_ptr(64 as *const _)),
        ("kpk_bytes((void *)64, 24, 8)", kpk_bytes(64 as *const _, 24, 8)),
        ("kpk_bytes(0, 24, 8)", kpk_bytes(core::ptr::null(), 24, 8)),
    ] {
        program += &format!(
            "v = {};\nif (v.at != (void *){}ull || v.bits != {}ull || v.nbytes != {} || v.align != {}) return 2;\n",
            call, v.at as usize, v.bits, v.nbytes, v.align
        );
    }
    let path = env::temp_dir().join(format!("kpack-sys-inline-{}", std::process::id()));
    let name = path.to_str().expect("a path");
    assert!(compile(&(program + "return 0;\n}\n"), &["-o", name]));
    let status = Command::new(&path).status();
    let _ = std::fs::remove_file(&path);
    assert_eq!(status.expect("it runs").code(), Some(0));
}
