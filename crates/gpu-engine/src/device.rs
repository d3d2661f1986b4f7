//! A GPU, or software that stands in for one: the kernels, the memory of the cells, and batches on their way.
//!
//! Two batches can be under way: while one is checked, the next is written to memory that the device can read.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::layout::{CELL_BYTES, PAGE_BYTES, PAGE_CELLS, RECORD, SET};

/// Why there is no GPU engine, or why it stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuError {
    /// Neither a GPU nor software Vulkan was found.
    NoDevice(String),
    /// The device is there and does not do what is needed.
    Refused(String),
    /// It stopped while it worked.
    Lost(String),
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuError::NoDevice(why) => write!(f, "no GPU with a Vulkan driver was found ({why})"),
            GpuError::Refused(why) => write!(f, "the GPU cannot run the kernels: {why}"),
            GpuError::Lost(why) => write!(f, "the GPU stopped: {why}"),
        }
    }
}

impl std::error::Error for GpuError {}

/// Runs a future that never really waits, as those of wgpu do outside browsers.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

/// Which kernels judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    Clocks,
    Goldilocks,
    Eraser,
}

/// An open device.
#[derive(Clone, Debug)]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    name: String,
    /// The most bytes of one table.
    most: u64,
    failed: Arc<Mutex<Option<String>>>,
    /// Kernels that were compiled.
    programs: Arc<Mutex<Vec<(Kernels, Program)>>>,
}

/// The compiled kernels of a detector.
#[derive(Clone, Debug)]
struct Program {
    layout: wgpu::BindGroupLayout,
    check: wgpu::ComputePipeline,
    fold: wgpu::ComputePipeline,
    sweep: wgpu::ComputePipeline,
}

impl Gpu {
    /// The best device there is; software if there is nothing else.
    pub fn open() -> Result<Gpu, GpuError> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::PRIMARY;
        descriptor.flags = wgpu::InstanceFlags::empty();
        let instance = wgpu::Instance::new(descriptor);
        let adapter = now(instance.request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        }))
        .map_err(|error| GpuError::NoDevice(one_line(&error.to_string())))?;
        let info = adapter.get_info();
        let limits = adapter.limits();
        let (device, queue) = now(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("deadheat"),
            required_limits: wgpu::Limits {
                max_buffer_size: limits.max_buffer_size,
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                ..wgpu::Limits::default()
            },
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }))
        .map_err(|error| GpuError::Refused(one_line(&error.to_string())))?;
        let failed = Arc::new(Mutex::new(None));
        let note = Arc::clone(&failed);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            if let Ok(mut failed) = note.lock() {
                failed.get_or_insert_with(|| one_line(&error.to_string()));
            }
        }));
        let most = limits
            .max_buffer_size
            .min(limits.max_storage_buffer_binding_size);
        Ok(Gpu {
            device,
            queue,
            name: info.name,
            most,
            failed,
            programs: Arc::default(),
        })
    }

    /// What the device calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The most bytes of one table.
    pub fn most(&self) -> u64 {
        self.most
    }

    fn program(&self, kernels: Kernels) -> Program {
        let Ok(mut programs) = self.programs.lock() else {
            return self.compile(kernels);
        };
        if let Some((_, program)) = programs.iter().find(|(of, _)| *of == kernels) {
            return program.clone();
        }
        let program = self.compile(kernels);
        programs.push((kernels, program.clone()));
        program
    }

    fn compile(&self, kernels: Kernels) -> Program {
        const COMMON: &str = include_str!("kernels/common.wgsl");
        const ENTRIES: &str = include_str!("kernels/entries.wgsl");
        const CLOCKS: &str = include_str!("kernels/clocks.wgsl");
        const GOLDILOCKS: &str = include_str!("kernels/goldilocks.wgsl");
        const ERASER: &str = include_str!("kernels/eraser.wgsl");
        let (source, check, fold) = match kernels {
            Kernels::Clocks => (
                [COMMON, ENTRIES, CLOCKS].concat(),
                "check_entries",
                "fold_entries",
            ),
            Kernels::Goldilocks => (
                [COMMON, ENTRIES, GOLDILOCKS].concat(),
                "check_entries",
                "fold_entries",
            ),
            Kernels::Eraser => ([COMMON, ERASER].concat(), "check_eraser", "fold_groups"),
        };
        let device = &self.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let entry = |binding: u32, read_only: bool| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[
                entry(0, true),
                entry(1, false),
                entry(2, false),
                entry(3, false),
                entry(4, true),
                entry(5, false),
            ],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |name: &str| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            })
        };
        Program {
            check: pipeline(check),
            fold: pipeline(fold),
            sweep: pipeline("sweep"),
            layout,
        }
    }

    fn failure(&self) -> Option<GpuError> {
        let failed = self.failed.lock().ok()?;
        failed.clone().map(GpuError::Lost)
    }

    fn buffer(&self, bytes: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.max(4).next_multiple_of(4),
            usage,
            mapped_at_creation: false,
        })
    }

    fn table(&self, bytes: u64) -> wgpu::Buffer {
        self.buffer(
            bytes,
            wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_DST
                | wgpu::BufferUsages::COPY_SRC,
        )
    }
}

/// A message of several lines as one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// What to run.
pub struct Order<'a> {
    /// The batch, laid out as the kernels want it.
    pub input: &'a [u32],
    pub pieces: u32,
    pub touched: u32,
    /// Pages that are used for something new.
    pub clear: &'a [u32],
    /// Pages that there are.
    pub pages: u32,
    /// Whether accesses are checked, or the touched cells only handed over.
    pub check: bool,
    /// If not 0, all cells are looked at afterwards: what everybody knows is dropped, and so many words say what is left.
    pub live: u64,
    /// The filters of all sets of locks, and which ones are new.
    pub sets: &'a [u32],
    pub new_sets: &'a [u32],
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Records of cells that were handed over.
    pub handed: Vec<u32>,
    /// For each page, whether anything is left on it, and marks of what cells have; if there was a sweep.
    pub live: Option<Vec<u32>>,
}

/// Memory of one batch under way.
#[derive(Debug)]
struct Memory {
    input: wgpu::Buffer,
    verdicts: wgpu::Buffer,
    handed: wgpu::Buffer,
    live: wgpu::Buffer,
    /// What the CPU reads: the beginning of `handed`, then all of `live`.
    reading: wgpu::Buffer,
}

#[derive(Debug)]
struct Flight {
    memory: Memory,
    ready: Receiver<bool>,
    submission: wgpu::SubmissionIndex,
    /// Words in `live`.
    live: u64,
}

/// Records that are read without asking how many there are.
const FIRST: u64 = 512;
const FIRST_BYTES: u64 = 4 + FIRST * RECORD as u64 * 4;
/// Accesses of a cell that a thread goes through before it leaves the cell to the CPU.
pub const WALK: u32 = 1024;

/// The kernels of one detector and the memory of its cells.
#[derive(Debug)]
pub struct Bench {
    gpu: Gpu,
    program: Program,
    state: wgpu::Buffer,
    pages: u64,
    sets: wgpu::Buffer,
    spare: Vec<Memory>,
    flights: VecDeque<Flight>,
}

impl Bench {
    pub fn new(gpu: &Gpu, kernels: Kernels) -> Result<Bench, GpuError> {
        let program = gpu.program(kernels);
        let bench = Bench {
            program,
            state: gpu.table(PAGE_BYTES),
            pages: 1,
            sets: gpu.table(8 * 4),
            spare: Vec::new(),
            flights: VecDeque::new(),
            gpu: gpu.clone(),
        };
        match gpu.failure() {
            None => Ok(bench),
            Some(GpuError::Lost(why)) => Err(GpuError::Refused(why)),
            Some(other) => Err(other),
        }
    }

    /// Pages that fit the device's memory.
    pub fn most_pages(&self) -> u32 {
        (self.gpu.most / PAGE_BYTES).min(u64::from(u32::MAX) / PAGE_CELLS as u64) as u32
    }

    /// Begins with a batch; the answer comes with [`Self::collect`].
    pub fn submit(&mut self, order: &Order<'_>) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        self.room(order.pages, &mut encoder);
        for &page in order.clear {
            encoder.clear_buffer(&self.state, u64::from(page) * PAGE_BYTES, Some(PAGE_BYTES));
        }
        self.send_sets(order.sets, order.new_sets);
        let live = order.live;
        let memory = self.memory(order);
        self.gpu
            .queue
            .write_buffer(&memory.input, 0, bytemuck::cast_slice(order.input));
        encoder.clear_buffer(&memory.verdicts, 0, None);
        encoder.clear_buffer(&memory.handed, 0, Some(4));
        encoder.clear_buffer(&memory.live, 0, None);
        let tables = [
            &memory.input,
            &self.state,
            &memory.verdicts,
            &memory.handed,
            &self.sets,
            &memory.live,
        ];
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(tables)
            .map(|(binding, table)| wgpu::BindGroupEntry {
                binding,
                resource: table.as_entire_binding(),
            })
            .collect();
        let group = self
            .gpu
            .device
            .create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &self.program.layout,
                entries: &entries,
            });
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_bind_group(0, &group, &[]);
            if order.check && order.pieces > 0 {
                pass.set_pipeline(&self.program.check);
                pass.dispatch_workgroups(order.pieces.div_ceil(128), 1, 1);
            }
            if order.touched > 0 {
                pass.set_pipeline(&self.program.fold);
                pass.dispatch_workgroups(order.touched.div_ceil(128), 1, 1);
            }
            if live > 0 {
                let groups = order.pages * (PAGE_CELLS as u32 / 128);
                let wide = groups.min(1 << 15);
                pass.set_pipeline(&self.program.sweep);
                pass.dispatch_workgroups(wide, groups.div_ceil(wide), 1);
            }
        }
        let first = FIRST_BYTES.min(memory.handed.size());
        encoder.copy_buffer_to_buffer(&memory.handed, 0, &memory.reading, 0, first);
        if live > 0 {
            encoder.copy_buffer_to_buffer(&memory.live, 0, &memory.reading, FIRST_BYTES, live * 4);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        let (sender, ready) = channel();
        memory
            .reading
            .map_async(wgpu::MapMode::Read, .., move |result| {
                let _ = sender.send(result.is_ok()); // nobody waits any more
            });
        self.flights.push_back(Flight {
            memory,
            ready,
            submission,
            live,
        });
    }

    /// Waits for the oldest batch that is under way.
    pub fn collect(&mut self) -> Result<Outcome, GpuError> {
        let Some(flight) = self.flights.pop_front() else {
            return Ok(Outcome::default());
        };
        self.wait(&flight.ready, Some(flight.submission.clone()))?;
        let memory = flight.memory;
        let words = self.read(&memory.reading)?;
        memory.reading.unmap();
        let count = words.first().copied().unwrap_or(0) as usize;
        let handed = if count as u64 <= FIRST {
            words[1..1 + count * RECORD].to_vec()
        } else {
            self.rest(&memory, count)?
        };
        let live = (flight.live > 0).then(|| {
            let from = FIRST_BYTES as usize / 4;
            words[from..from + flight.live as usize].to_vec()
        });
        self.spare.push(memory);
        match self.gpu.failure() {
            Some(error) => Err(error),
            None => Ok(Outcome { handed, live }),
        }
    }

    fn wait(
        &self,
        ready: &Receiver<bool>,
        submission: Option<wgpu::SubmissionIndex>,
    ) -> Result<(), GpuError> {
        let lost = |why: String| self.gpu.failure().unwrap_or(GpuError::Lost(why));
        self.gpu
            .device
            .poll(wgpu::PollType::Wait {
                submission_index: submission,
                timeout: None,
            })
            .map_err(|error| lost(error.to_string()))?;
        match ready.recv() {
            Ok(true) => Ok(()),
            _ => Err(lost("its memory cannot be read".to_owned())),
        }
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u32>, GpuError> {
        let view = buffer
            .get_mapped_range(..)
            .map_err(|error| GpuError::Lost(error.to_string()))?;
        Ok(bytemuck::pod_collect_to_vec(&view))
    }

    /// More records than are read at once.
    fn rest(&self, memory: &Memory, count: usize) -> Result<Vec<u32>, GpuError> {
        let bytes = (count * RECORD * 4) as u64;
        let reading = self.gpu.buffer(
            bytes,
            wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        );
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&memory.handed, 4, &reading, 0, bytes);
        let submission = self.gpu.queue.submit([encoder.finish()]);
        let (sender, ready) = channel();
        reading.map_async(wgpu::MapMode::Read, .., move |result| {
            let _ = sender.send(result.is_ok()); // nobody waits any more
        });
        self.wait(&ready, Some(submission))?;
        self.read(&reading)
    }

    /// Makes room for so many pages.
    fn room(&mut self, pages: u32, encoder: &mut wgpu::CommandEncoder) {
        if u64::from(pages) <= self.pages {
            return;
        }
        let wanted = u64::from(pages)
            .next_power_of_two()
            .max(64)
            .min(self.most_pages().into());
        let larger = self.gpu.table(wanted * PAGE_BYTES);
        encoder.copy_buffer_to_buffer(&self.state, 0, &larger, 0, self.pages * PAGE_BYTES);
        (self.state, self.pages) = (larger, wanted);
    }

    fn send_sets(&mut self, sets: &[u32], new: &[u32]) {
        let send = |table: &wgpu::Buffer, from: usize, to: usize| {
            let (at, words) = (from as u64 * 4, bytemuck::cast_slice(&sets[from..to]));
            self.gpu.queue.write_buffer(table, at, words);
        };
        if sets.len() as u64 * 4 > self.sets.size() {
            self.sets = self.gpu.table((sets.len() as u64 * 4).next_power_of_two());
            send(&self.sets, 0, sets.len());
            return;
        }
        // Those that follow each other together.
        let mut new = new.iter().map(|&set| set as usize).peekable();
        while let Some(first) = new.next() {
            let mut end = first + 1;
            while new.next_if_eq(&end).is_some() {
                end += 1;
            }
            send(&self.sets, first * SET, end * SET);
        }
    }

    /// Memory for a batch: some that was used before if it is large enough.
    fn memory(&mut self, order: &Order<'_>) -> Memory {
        let input = order.input.len() as u64 * 4;
        let verdicts = u64::from(order.touched) * 4;
        let handed = 4 + u64::from(order.touched) * RECORD as u64 * 4;
        let live = order.live * 4;
        let reading = FIRST_BYTES + live;
        let fits = |memory: &Memory| {
            memory.input.size() >= input
                && memory.verdicts.size() >= verdicts
                && memory.handed.size() >= handed
                && memory.live.size() >= live
                && memory.reading.size() >= reading
        };
        if let Some(memory) = self.spare.pop().filter(fits) {
            return memory;
        }
        let roomy = |bytes: u64| {
            let round = bytes.next_power_of_two().max(1 << 12);
            round.min(self.gpu.most).max(bytes)
        };
        Memory {
            input: self.gpu.table(roomy(input)),
            verdicts: self.gpu.table(roomy(verdicts)),
            handed: self.gpu.table(roomy(handed)),
            live: self.gpu.table(live),
            reading: self.gpu.buffer(
                roomy(reading),
                wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            ),
        }
    }
}

const _: () = assert!(PAGE_BYTES == CELL_BYTES * PAGE_CELLS as u64);
const _: () = assert!(PAGE_CELLS.is_multiple_of(128));
