//! A GPU of AMD's or NVIDIA's, as kpack numbers them

use super::graph::Arena;
use super::{launch, KpackStorage};
use crate::backend::{BackendDevice, BackendStorage};
use crate::scalar::Scalar;
use crate::{CpuStorage, CpuStorageRef, DType, DeviceLocation, Layout, Result, Shape, Storage, Tensor};
use kpack::{Arg, Buffer, Instance, Kernel, Stream};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const DEFAULT_SEED: u64 = 299792458;

/// Lists of dimensions and strides that stay on the device. When there are more, all go, but for work that
/// is being recorded: its second round finds those of its first.
const MOST_LISTS: usize = 4096;

/// The pack on one GPU, and the stream that all work of the process on it is given to: tensors of two
/// devices of one location may meet in an operation.
struct Gpu {
    instance: Instance,
    stream: Stream,
    lists: Mutex<HashMap<Vec<usize>, Arc<Buffer<usize>>>>,
    arena: Mutex<Option<Arc<Arena>>>, // of the work that is being recorded
}

impl Gpu {
    /// Opens a GPU, once in a process.
    fn open(ordinal: usize) -> Result<Arc<Gpu>> {
        static OPEN: Mutex<Vec<(usize, Arc<Gpu>)>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap();

        if let Some((_, gpu)) = open.iter().find(|(number, _)| *number == ordinal) {
            return Ok(gpu.clone());
        }
        let instance = Instance::open_on(kpack::candle::pack(), i32::try_from(ordinal)?)?;
        let stream = instance.new_stream()?;
        let gpu = Arc::new(Gpu {
            instance,
            stream,
            lists: Mutex::default(),
            arena: Mutex::default(),
        });
        open.push((ordinal, gpu.clone()));
        Ok(gpu)
    }
}

/// Numbers that were drawn from a seed.
struct Drawn {
    seed: u64,
    count: u64,
}

#[derive(Clone)]
pub struct KpackDevice {
    id: usize,
    gpu: Arc<Gpu>,
    drawn: Arc<Mutex<Drawn>>,
}

impl std::fmt::Debug for KpackDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KpackDevice({:?})", self.gpu.instance)
    }
}

/// Dimensions and strides on the device; the address is null for memory without gaps.
pub struct Info {
    _list: Option<Arc<Buffer<usize>>>,
    ptr: *const usize,
}

/// What kernels take: a number, an address, or a list of them.
pub trait Argument {
    fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>);
}

macro_rules! arguments {
    ($($type:ty)*) => { $(
        impl Argument for $type {
            fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>) {
                args.push(Arg::new(self))
            }
        }
    )* };
}
arguments!(bool i32 u32 i64 u64 usize f32 f64 *const u8 *mut u8);

impl<T: Argument> Argument for [T] {
    fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>) {
        self.iter().for_each(|arg| arg.add(args))
    }
}

impl<T: Argument + ?Sized> Argument for &T {
    fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>) {
        (**self).add(args)
    }
}

impl Argument for Info {
    fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>) {
        args.push(Arg::new(&self.ptr))
    }
}

impl Argument for Scalar {
    fn add<'a>(&'a self, args: &mut Vec<Arg<'a>>) {
        args.push(match self {
            Scalar::U8(x) => Arg::new(x),
            Scalar::U32(x) => Arg::new(x),
            Scalar::I16(x) => Arg::new(x),
            Scalar::I32(x) => Arg::new(x),
            Scalar::I64(x) => Arg::new(x),
            Scalar::BF16(x) => Arg::new(x),
            Scalar::F16(x) => Arg::new(x),
            Scalar::F32(x) => Arg::new(x),
            Scalar::F64(x) => Arg::new(x),
            Scalar::F8E4M3(x) => Arg::new(x),
        })
    }
}

/// Launches a kernel of the pack: `launch!(device, module, name, size; arguments)` in the shape that it
/// recommends for a size, or `launch!(device, kernel, shape; arguments)`. The size is elements and 0, or
/// rows and their columns; nothing is launched for none. As unsafe as [`kpack::Kernel::launch`].
#[macro_export]
macro_rules! kpack_launch {
    ($device:expr, $module:expr, $name:expr, $size:expr; $($arg:expr),* $(,)?) => {
        $device.launch($module, &$name, $size, &[$(&$arg),*])
    };
    ($device:expr, $kernel:expr, $shape:expr; $($arg:expr),* $(,)?) => {
        $device.start(&$kernel, &$shape, &[$(&$arg),*])
    };
}

impl KpackDevice {
    /// The pack on this GPU: for kernels of one's own, and what of kpack candle does not use.
    pub fn instance(&self) -> &Instance {
        &self.gpu.instance
    }

    /// The stream of all work on this GPU.
    pub fn stream(&self) -> &Stream {
        &self.gpu.stream
    }

    pub fn kernel(&self, module: &str, name: &str) -> Result<Kernel> {
        Ok(self.gpu.instance.kernel_in(module, name)?)
    }

    /// For [`kpack_launch`](crate::kpack_launch).
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub unsafe fn launch(
        &self,
        module: &str,
        name: &str,
        (n, columns): (usize, usize),
        args: &[&dyn Argument],
    ) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        let kernel = self.kernel(module, name)?;
        self.start(&kernel, &kernel.shape(n as u64, columns as u64)?, args)
    }

    /// Likewise.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub unsafe fn start(
        &self,
        kernel: &Kernel,
        shape: &kpack::Shape,
        args: &[&dyn Argument],
    ) -> Result<()> {
        let mut list = Vec::new();
        args.add(&mut list);
        let _recording = self.recording()?;
        Ok(kernel.launch(shape, self.stream(), &list)?)
    }

    /// The address of a tensor of this type on this GPU, without gaps. It is good as long as the tensor.
    pub fn address(&self, tensor: &Tensor, dtype: DType) -> Result<*mut u8> {
        let (storage, l) = tensor.storage_and_layout();
        match (&*storage, l.contiguous_offsets()) {
            (Storage::Kpack(x), Some((start, _)))
                if x.dtype() == dtype && x.device().location() == self.location() =>
            {
                Ok(x.ptr(start))
            }
            _ => crate::bail!("not a contiguous {dtype:?} tensor on {self:?}: {tensor:?}"),
        }
    }

    /// Lists one after the other, on the device.
    pub fn info(&self, lists: &[&[usize]]) -> Result<Info> {
        let list = lists.concat();
        let arena = self.recording()?;
        let mut held = self.gpu.lists.lock().unwrap();

        let there = match held.get(&list) {
            Some(there) => there.clone(),
            None => {
                match &*arena {
                    Some(arena) => arena.refuse_new("dimensions and strides")?,
                    None if held.len() >= MOST_LISTS => held.clear(),
                    None => (),
                }
                let there = Arc::new(self.stream().upload(&list)?);
                held.insert(list, there.clone());
                there
            }
        };
        if let Some(arena) = &*arena {
            arena.keep(&there);
        }
        Ok(Info {
            ptr: there.as_ptr(),
            _list: Some(there),
        })
    }

    /// Dimensions, and the strides of layouts of the same dimensions; nothing if none has gaps.
    pub fn info_of(&self, layouts: &[&Layout]) -> Result<Info> {
        if layouts.iter().all(|l| l.is_contiguous()) {
            return Ok(Info {
                _list: None,
                ptr: std::ptr::null(),
            });
        }
        self.info_always(layouts)
    }

    /// The same for kernels that take it always.
    pub fn info_always(&self, layouts: &[&Layout]) -> Result<Info> {
        let mut lists = vec![layouts[0].dims()];
        lists.extend(layouts.iter().map(|l| l.stride()));
        self.info(&lists)
    }

    pub(super) fn arena(&self) -> MutexGuard<'_, Option<Arc<Arena>>> {
        self.gpu.arena.lock().unwrap()
    }

    /// Memory for so many elements, with what it had before.
    pub fn alloc(&self, count: usize, dtype: DType) -> Result<KpackStorage> {
        let (nbytes, stream) = (count * dtype.size_in_bytes(), self.stream());
        let arena = self.recording()?;
        let data = match &*arena {
            Some(arena) => arena.take(nbytes, stream)?,
            None => stream.alloc(nbytes)?,
        };
        Ok(KpackStorage::of(data, dtype, self, arena.clone()))
    }

    /// A tensor's bytes, of any type.
    pub fn storage_from_bytes(&self, bytes: &[u8], dtype: DType) -> Result<KpackStorage> {
        let _recording = self.refuse_to_record("takes numbers from the host")?;
        let data = self.stream().upload(bytes)?;
        Ok(KpackStorage::new(data, dtype, self))
    }

    fn draw(
        &self,
        name: &str,
        shape: &Shape,
        dtype: DType,
        first: f64,
        second: f64,
    ) -> Result<KpackStorage> {
        if !matches!(dtype, DType::F32 | DType::F64) {
            return Err(crate::Error::UnsupportedDTypeForOp(dtype, "random numbers").bt());
        }
        let n = shape.elem_count();
        let out = self.alloc(n, dtype)?;
        let mut drawn = self.drawn.lock().unwrap();
        let name = format!("{name}_{}", dtype.as_str());
        let numbers = [super::scalar(dtype, first)?, super::scalar(dtype, second)?];
        let (seed, count, to) = (drawn.seed, drawn.count, out.ptr(0));

        // SAFETY: `out` has n elements.
        unsafe { launch!(self, "random", name, (n, 0); to, n, seed, count, numbers.as_slice())? }
        drawn.count += n as u64;
        Ok(out)
    }
}

fn bytes<T: Copy>(data: &[T]) -> &[u8] {
    // SAFETY: the elements are numbers.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), std::mem::size_of_val(data)) }
}

/// A storage's bytes, and their type.
macro_rules! bytes_of {
    ($kind:ident, $storage:expr) => {
        match $storage {
            $kind::U8(x) => (bytes(x), DType::U8),
            $kind::U32(x) => (bytes(x), DType::U32),
            $kind::I16(x) => (bytes(x), DType::I16),
            $kind::I32(x) => (bytes(x), DType::I32),
            $kind::I64(x) => (bytes(x), DType::I64),
            $kind::BF16(x) => (bytes(x), DType::BF16),
            $kind::F16(x) => (bytes(x), DType::F16),
            $kind::F32(x) => (bytes(x), DType::F32),
            $kind::F64(x) => (bytes(x), DType::F64),
            $kind::F8E4M3(x) => (bytes(x), DType::F8E4M3),
            $kind::F6E2M3(x) => (bytes(x), DType::F6E2M3),
            $kind::F6E3M2(x) => (bytes(x), DType::F6E3M2),
            $kind::F4(x) => (bytes(x), DType::F4),
            $kind::F8E8M0(x) => (bytes(x), DType::F8E8M0),
        }
    };
}

impl BackendDevice for KpackDevice {
    type Storage = KpackStorage;

    fn new(ordinal: usize) -> Result<Self> {
        static DEVICES: AtomicUsize = AtomicUsize::new(0);

        Ok(KpackDevice {
            id: DEVICES.fetch_add(1, Ordering::Relaxed),
            gpu: Gpu::open(ordinal)?,
            drawn: Arc::new(Mutex::new(Drawn {
                seed: DEFAULT_SEED,
                count: 0,
            })),
        })
    }

    fn location(&self) -> DeviceLocation {
        DeviceLocation::Kpack {
            gpu_id: self.instance().device().ordinal as usize,
        }
    }

    fn same_device(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn zeros_impl(&self, shape: &Shape, dtype: DType) -> Result<KpackStorage> {
        let mut out = self.alloc(shape.elem_count(), dtype)?;
        let _recording = self.recording()?;
        out.data_mut().fill_bytes(0)?;
        Ok(out)
    }

    unsafe fn alloc_uninit(&self, shape: &Shape, dtype: DType) -> Result<KpackStorage> {
        self.alloc(shape.elem_count(), dtype)
    }

    fn storage_from_slice<T: crate::WithDType>(&self, data: &[T]) -> Result<KpackStorage> {
        let (bytes, dtype) = bytes_of!(CpuStorageRef, T::cpu_storage_ref(data));
        self.storage_from_bytes(bytes, dtype)
    }

    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<KpackStorage> {
        let (bytes, dtype) = bytes_of!(CpuStorage, storage);
        self.storage_from_bytes(bytes, dtype)
    }

    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<KpackStorage> {
        self.storage_from_cpu_storage(&storage)
    }

    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<KpackStorage> {
        self.draw("rand_uniform", shape, dtype, lo, up)
    }

    fn rand_normal(
        &self,
        shape: &Shape,
        dtype: DType,
        mean: f64,
        std: f64,
    ) -> Result<KpackStorage> {
        self.draw("rand_normal", shape, dtype, mean, std)
    }

    fn set_seed(&self, seed: u64) -> Result<()> {
        *self.drawn.lock().unwrap() = Drawn { seed, count: 0 };
        Ok(())
    }

    fn get_current_seed(&self) -> Result<u64> {
        Ok(self.drawn.lock().unwrap().seed)
    }

    fn synchronize(&self) -> Result<()> {
        drop(self.refuse_to_record("waits for the GPU")?); // others may go on
        Ok(self.stream().sync()?)
    }
}

impl crate::Device {
    /// GPU number `ordinal` of those that kpack sees, AMD's before NVIDIA's.
    pub fn new_kpack(ordinal: usize) -> Result<Self> {
        Ok(Self::Kpack(KpackDevice::new(ordinal)?))
    }

    pub fn as_kpack_device(&self) -> Result<&KpackDevice> {
        match self {
            Self::Kpack(device) => Ok(device),
            _ => crate::bail!("expected a device of kpack's, got {:?}", self.location()),
        }
    }
}
