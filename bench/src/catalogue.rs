//! The programs that are measured.

/// What a program is, which decides how it is fetched, built and driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `kernels/NAME.c`, ours.
    Kernel,
    /// Debian's pbzip2 with Debian's libbz2 compiled in; SIZE is the input in bytes.
    Pbzip2,
    /// SQLite's amalgamation from crates.io with a driver of ours; SIZE is the number of rows.
    Sqlite,
    /// zstd's library from crates.io with a driver of ours; SIZE is the input in bytes.
    Zstd,
    /// Debian's memcached with Debian's libevent compiled in; SIZE is the number of requests.
    Memcached,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub name: &'static str,
    pub what: &'static str,
    pub kind: Kind,
    /// For native, empty, Deadheat and ThreadSanitizer.
    pub size: u64,
    /// For Helgrind and DRD, and the native run they are compared with.
    pub valgrind_size: u64,
    /// For `--quick`, all tools.
    pub quick_size: u64,
}

impl Program {
    pub fn is_real(&self) -> bool {
        self.kind != Kind::Kernel
    }
}

const fn kernel(name: &'static str, what: &'static str, sizes: [u64; 3]) -> Program {
    program(name, what, Kind::Kernel, sizes)
}

const fn program(name: &'static str, what: &'static str, kind: Kind, sizes: [u64; 3]) -> Program {
    Program {
        name,
        what,
        kind,
        size: sizes[0],
        valgrind_size: sizes[1],
        quick_size: sizes[2],
    }
}

/// All programs, in the order of the table. Sizes: full, for Valgrind, quick.
pub const PROGRAMS: [Program; 16] = [
    kernel("matmul", "dense loops", [640, 512, 160]),
    kernel("fft", "FFT, a barrier a stage", [19, 18, 14]),
    kernel("lu", "LU in blocks, barriers", [1024, 768, 256]),
    kernel(
        "radix",
        "radix sort, scattered writes",
        [3_000_000, 2_000_000, 200_000],
    ),
    kernel("nbody", "all-pairs n-body", [1600, 1200, 300]),
    kernel("sor", "red-black stencil, barriers", [1500, 1000, 200]),
    kernel(
        "hashtable",
        "hash table with 64 locks",
        [700_000, 200_000, 40_000],
    ),
    kernel(
        "rwtree",
        "read-mostly tree, rwlock",
        [500_000, 200_000, 40_000],
    ),
    kernel(
        "freetree",
        "read-mostly tree, lock-free reads",
        [500_000, 300_000, 40_000],
    ),
    kernel(
        "queue",
        "bounded queue, condition variables",
        [300_000, 40_000, 20_000],
    ),
    kernel(
        "refcount",
        "atomic reference counts",
        [1_000_000, 300_000, 60_000],
    ),
    kernel(
        "wordcount",
        "strings and small functions",
        [16_000_000, 8_000_000, 1_000_000],
    ),
    program(
        "pbzip2",
        "parallel bzip2",
        Kind::Pbzip2,
        [3_000_000, 1_500_000, 400_000],
    ),
    program(
        "sqlite",
        "SQLite, WAL and one shared connection",
        Kind::Sqlite,
        [40_000, 8_000, 2_000],
    ),
    program(
        "zstd",
        "zstd with worker threads",
        Kind::Zstd,
        [10_000_000, 4_000_000, 2_000_000],
    ),
    program(
        "memcached",
        "memcached over loopback",
        Kind::Memcached,
        [40_000, 600, 600],
    ),
];

/// The program with this name.
pub fn find(name: &str) -> Option<Program> {
    PROGRAMS.into_iter().find(|p| p.name == name)
}
