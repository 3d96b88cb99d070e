//! Sums over several GPUs, by module `comm`: what candle's feature `nccl` is to CUDA

use super::{check, k, KpackDevice, KpackStorage};
use crate::backend::{BackendDevice, BackendStorage};
use crate::{CpuStorage, DType, Layout, Result, Shape};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// The longest message that goes through the group's own memory. Longer ones go in parts, since others
/// would have to lie in memory that all ranks know.
const PART_NBYTES: usize = 4 << 20;

/// Fills its second argument with what each rank has called with, by rank; the first one is this rank's.
pub type Gather = dyn FnMut(&[u8], &mut [u8]) -> std::io::Result<()> + Send;

/// One rank of a group of GPUs. As an operation it is the sum over the ranks: `x.apply_op1_no_bwd(&comm)`.
/// All ranks make the same calls in the same order.
pub struct Comm {
    group: Arc<Group>,
    rank: u32,
    ranks: u32,
    device: KpackDevice,
    calls: Mutex<()>,
}

struct Group {
    raw: *mut kpk_comm,
    members: Vec<(u32, KpackDevice)>,
    _gather: Option<Box<(Box<Gather>, usize)>>, // the group calls it until it is closed
}

// SAFETY: threads may call for different ranks at once; calls of one rank are under its mutex.
unsafe impl Send for Group {}
// SAFETY: likewise.
unsafe impl Sync for Group {}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: nobody else has the group any more.
        unsafe {
            for (rank, device) in &self.members {
                kpk_comm_sync(self.raw, *rank, device.stream().raw());
            }
            kpk_comm_close(self.raw);
        }
    }
}

fn options() -> kpk_comm_options {
    kpk_comm_options {
        medium_nbytes: PART_NBYTES as u64,
        large_nbytes: 1 << 16, // nothing is larger than a part
        ..Default::default()
    }
}

/// Carries bytes for the group: 0, or another number if that fails.
unsafe extern "C" fn carry(
    gather: *mut c_void,
    mine: *const c_void,
    all: *mut c_void,
    nbytes: usize,
) -> c_int {
    let (gather, ranks) = &mut *gather.cast::<(Box<Gather>, usize)>();
    let mine = std::slice::from_raw_parts(mine.cast(), nbytes);
    let all = std::slice::from_raw_parts_mut(all.cast(), nbytes * *ranks);
    let carried = std::panic::AssertUnwindSafe(|| gather(mine, all).is_err());
    std::panic::catch_unwind(carried).unwrap_or(true).into()
}

impl Comm {
    /// All ranks of a group within the process, by rank; each has a GPU of its own.
    pub fn open_all(devices: &[KpackDevice]) -> Result<Vec<Comm>> {
        for (i, device) in devices.iter().enumerate() {
            if devices[..i].iter().any(|other| other.location() == device.location()) {
                crate::bail!("two ranks on {device:?}")
            }
        }
        let instances: Vec<_> = devices.iter().map(|x| x.instance().raw()).collect();
        let ranks = u32::try_from(devices.len())?;
        let mut raw = null_mut();
        // SAFETY: the group keeps the devices, and hence their instances.
        check(unsafe { kpk_comm_open(instances.as_ptr(), ranks, &options(), &mut raw) })?;
        let members: Vec<_> = (0..ranks).zip(devices.iter().cloned()).collect();
        let group = Arc::new(Group {
            raw,
            members: members.clone(),
            _gather: None,
        });
        let comm = |(rank, device)| Comm {
            group: group.clone(),
            rank,
            ranks,
            device,
            calls: Mutex::default(),
        };
        Ok(members.into_iter().map(comm).collect())
    }

    /// This process's rank of a group over processes. `gather` connects them: see [`Gather`]. It is
    /// called here and when the rank is dropped, and fails if a rank cannot be reached.
    pub fn open(
        device: &KpackDevice,
        rank: usize,
        ranks: usize,
        gather: Box<Gather>,
    ) -> Result<Comm> {
        let mut gather = Box::new((gather, ranks));
        let (rank, ranks) = (u32::try_from(rank)?, u32::try_from(ranks)?);
        let (instance, caller) = (device.instance().raw(), std::ptr::from_mut(&mut *gather).cast());
        let (options, mut raw) = (options(), null_mut());
        // SAFETY: the group keeps the device, and `gather`.
        check(unsafe {
            kpk_comm_open_rank(instance, rank, ranks, &options, carry, caller, &mut raw)
        })?;
        Ok(Comm {
            group: Arc::new(Group {
                raw,
                members: vec![(rank, device.clone())],
                _gather: Some(gather),
            }),
            rank,
            ranks,
            device: device.clone(),
            calls: Mutex::default(),
        })
    }

    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    pub fn world_size(&self) -> usize {
        self.ranks as usize
    }

    /// The sum over the ranks, with the same bits on all: added up in f32, rounded once.
    pub fn all_reduce(&self, x: &KpackStorage, l: &Layout) -> Result<KpackStorage> {
        let dtype = match x.dtype() {
            DType::F16 => KPK_COMM_F16,
            DType::BF16 => KPK_COMM_BF16,
            DType::F32 => KPK_COMM_F32,
            dtype => return Err(crate::Error::UnsupportedDTypeForOp(dtype, "all-reduce").bt()),
        };
        if x.device().location() != self.device.location() {
            crate::bail!("a tensor on {:?} is added on {:?}", x.device(), self.device)
        }
        let out = x.contiguous(l)?;
        let (n, part) = (l.shape().elem_count(), PART_NBYTES / x.dtype().size_in_bytes());
        let (group, stream) = (self.group.raw, self.device.stream().raw());
        let _one_at_a_time = self.calls.lock().unwrap();
        let _recording = self.device.recording()?;

        for first in (0..n).step_by(part) {
            let (at, count) = (out.ptr(first).cast(), part.min(n - first) as u64);
            // SAFETY: `out` has so many elements, and is on the rank's GPU, as the stream is.
            unsafe {
                let mut plan: kpk_comm_plan = std::mem::zeroed();
                check(kpk_comm_choose(group, KPK_COMM_ALL_REDUCE, dtype, count, &mut plan))?;
                check(kpk_comm_launch(group, &plan, self.rank, 0, at, at, stream))?;
            }
        }
        Ok(out)
    }

    /// Waits for the rank's GPU. Fails if another rank has not come; sums are wrong then.
    pub fn synchronize(&self) -> Result<()> {
        let stream = self.device.stream().raw();
        // SAFETY: the stream is the rank's.
        check(unsafe { kpk_comm_sync(self.group.raw, self.rank, stream) })
    }
}

impl crate::CustomOp1 for Comm {
    fn name(&self) -> &'static str {
        "all-reduce"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        crate::bail!("sums over GPUs take tensors of GPUs")
    }

    fn kpack_fwd(&self, x: &KpackStorage, l: &Layout) -> Result<(KpackStorage, Shape)> {
        Ok((self.all_reduce(x, l)?, l.shape().clone()))
    }
}

// ---- <kpack/candle/comm_group.h> ----

const KPK_COMM_F16: u32 = 0;
const KPK_COMM_BF16: u32 = 1;
const KPK_COMM_F32: u32 = 2;
const KPK_COMM_ALL_REDUCE: u32 = 0;

#[allow(non_camel_case_types)]
enum kpk_comm {}

#[allow(non_camel_case_types)]
#[derive(Default)]
#[repr(C)]
struct kpk_comm_options {
    small_nbytes: u32,
    large_nbytes: u64,
    limit_ms: u32,
    by_library: u32,
    medium_nbytes: u64,
}

#[allow(non_camel_case_types)]
#[repr(C)]
struct kpk_comm_plan {
    kernel: [u8; 40],
    shape: k::kpk_shape,
    op: u32,
    kind: u32,
    element_nbytes: u32,
    n: u64,
    each: u64,
    registered: u32,
    medium: u32,
    step: u32,
    columns: u32,
    padded: u32,
    parts: u32,
    clustered: u32,
}

#[allow(non_camel_case_types)]
type kpk_comm_gather =
    unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, usize) -> c_int;

extern "C" {
    fn kpk_comm_open(
        instances: *const *mut k::kpk_instance,
        ranks: u32,
        options: *const kpk_comm_options,
        out: *mut *mut kpk_comm,
    ) -> k::kpk_status;
    fn kpk_comm_open_rank(
        instance: *mut k::kpk_instance,
        rank: u32,
        ranks: u32,
        options: *const kpk_comm_options,
        gather: kpk_comm_gather,
        caller: *mut c_void,
        out: *mut *mut kpk_comm,
    ) -> k::kpk_status;
    fn kpk_comm_close(comm: *mut kpk_comm) -> k::kpk_status;
    fn kpk_comm_choose(
        comm: *const kpk_comm,
        op: u32,
        kind: u32,
        n: u64,
        out: *mut kpk_comm_plan,
    ) -> k::kpk_status;
    fn kpk_comm_launch(
        comm: *mut kpk_comm,
        plan: *const kpk_comm_plan,
        rank: u32,
        root: u32,
        from: *const c_void,
        to: *mut c_void,
        stream: *mut c_void,
    ) -> k::kpk_status;
    fn kpk_comm_sync(comm: *mut kpk_comm, rank: u32, stream: *mut c_void) -> k::kpk_status;
}
