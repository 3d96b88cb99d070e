#!/bin/sh
# rust.sh - the crates of src/rust: their tests, by the system's cargo and without
# a network
#
# own.sh builds a crate on the installed ones.
set -u
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
cd "$ROOT/src/rust" || exit 1

B=${B:-build}
case $B in /*) ;; *) B=$ROOT/$B ;; esac
# cargo starts tests in their crates' folders.
case ${LD_LIBRARY_PATH-} in '' | /*) ;; *) export LD_LIBRARY_PATH="$ROOT/$LD_LIBRARY_PATH" ;; esac

if [ -n "${SAN-}" ]; then # Rust programs do not load the library's sanitizer
    skip "sanitizers are on"
    finish
fi
cargo=$(PATH=/usr/bin:$PATH command -v cargo)
if [ -z "$cargo" ]; then
    flunk "cargo is needed: run 'make deps'"
    finish
fi
with_cargo() { # cargo's words: nothing is written into the tree
    env -u MAKEFLAGS PATH="$(dirname "$cargo"):$PATH" CARGO_HOME="$WORK/cargo" CARGO_TARGET_DIR="$WORK/target" \
        KPACK_DIR="$B" RUSTFLAGS='-D warnings' RUSTDOCFLAGS='-D warnings' "$cargo" "$@"
}

written() { # by bindings.py
    python3 bindings.py ../../include/kpack.h | diff - kpack-sys/src/bindings.rs
}
check "bindings.rs is what bindings.py makes of kpack.h" written
mkdir "$WORK/src" # a lock file comes beside the crates
cp -R Cargo.toml kpack-sys kpack kpack-build "$WORK/src/"
cd "$WORK/src" || exit 1
# Typed kernels are built if the pack has their modules.
features=kpack/candle
for module in affine vector_add; do
    [ -e "$B/rust/candle/$module.rs" ] || features=
done
[ -n "$features" ] || skip "modules affine and vector_add are not in the pack"
check "their tests pass" with_cargo test --offline --features "$features"
check "their documentation is whole" with_cargo doc --offline --no-deps --features kpack/candle
# Checks that only newer toolchains have, as in CI and on developers' machines.
if cargo clippy --version >/dev/null 2>&1; then
    check "clippy has nothing to say" env KPACK_DIR="$B" CARGO_TARGET_DIR="$WORK/newer" \
        cargo clippy --offline --all-targets --features kpack/candle -- -D warnings
else
    skip "cargo clippy is not here"
fi
if cargo fmt --version >/dev/null 2>&1; then
    cp "$ROOT/src/rust/rustfmt.toml" .
    check "rustfmt has nothing to change" cargo fmt --all --check
fi
cd "$ROOT" || exit 1
finish
