//! The interface of candle-kernels 0.11, over kpack's kernels

#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Id {
    Affine,
    Binary,
    Cast,
    Conv,
    Fill,
    Indexing,
    Quantized,
    Reduce,
    Sort,
    Ternary,
    Unary,
}

pub const ALL_IDS: [Id; 11] = [
    Id::Affine,
    Id::Binary,
    Id::Cast,
    Id::Conv,
    Id::Fill,
    Id::Indexing,
    Id::Quantized,
    Id::Reduce,
    Id::Sort,
    Id::Ternary,
    Id::Unary,
];

pub struct Module {
    index: usize,
    ptx: &'static str,
}

impl Module {
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of kpack's module, which kpack's cudarc opens.
    pub fn ptx(&self) -> &'static str {
        self.ptx
    }
}

macro_rules! modules {
    ($($constant:ident $id:ident $name:literal)*) => { $(
        pub const $constant: Module = Module { index: Id::$id as usize, ptx: $name };
    )* };
}
modules! {
    AFFINE Affine "affine"
    BINARY Binary "binary"
    CAST Cast "cast"
    CONV Conv "conv"
    FILL Fill "fill"
    INDEXING Indexing "indexing"
    QUANTIZED Quantized "quantized"
    REDUCE Reduce "reduce"
    SORT Sort "sort"
    TERNARY Ternary "ternary"
    UNARY Unary "unary"
}

pub mod ffi;
mod flash;
mod own;
