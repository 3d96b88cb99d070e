//! Ptx: the text of a module. There is no compiler: candle wants it for `ug` alone.

/// The name of a kpack module.
#[derive(Clone, Debug)]
pub struct Ptx(pub(crate) String);

impl<S: Into<String>> From<S> for Ptx {
    fn from(text: S) -> Self {
        Ptx(text.into())
    }
}

/// Never made; candle's errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {}

impl std::fmt::Display for CompileError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for CompileError {}
