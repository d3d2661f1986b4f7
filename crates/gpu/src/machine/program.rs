//! The decoded form of one kernel and all functions it can reach: flat instructions whose operands are row numbers.

use crate::ptx::{Loc, Space, Ty};

use super::flight::Until;
use super::float::Round;
use super::matrix::TileOp;
use super::mbarrier::MbarOp;
use super::ops::{Bin, Ter, Un};
use super::texture::{SurfOp, TexOp};

/// Operand classes, in the top bits of a row number.
pub const CONST: u32 = 1 << 31;
pub const SPECIAL: u32 = 1 << 30;
/// No operand.
pub const NONE: u32 = u32::MAX;

/// Windows of the generic address space; real memory never has these top bytes.
pub const SHARED_WINDOW: u64 = 0x01 << 56;
pub const LOCAL_WINDOW: u64 = 0x02 << 56;
pub const PARAM_WINDOW: u64 = 0x03 << 56;
pub const FUNC_WINDOW: u64 = 0x04 << 56;

/// A place in a program: index into `Program::ops` and `Program::sites`.
pub type Pc = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Floating point: true also for NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpTy {
    U,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CvtSpec {
    pub dst: Ty,
    pub src: Ty,
    pub round: Round,
    /// Round to an integral value first (`.rzi` and friends).
    pub integral: bool,
    pub sat: bool,
}

/// How far an atomic or a fence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Cta,
    Gpu,
    Sys,
}

/// Ordering of a strong access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    Weak,
    Relaxed(Scope),
    Acquire(Scope),
    Release(Scope),
    AcqRel(Scope),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarMode {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarryOp {
    Add,
    Sub,
    MadLo,
    MadHi,
}

/// One decoded operation. `d`, `a`, `b`, `c` are rows, predicates, or indices into side tables, by kind.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Un(Un),
    Bin(Bin),
    Ter(Ter),
    UnRound(Un, Round),
    BinRound(Bin, Round),
    TerRound(Ter, Round),
    Lop3(u8),
    /// a into b at c for imm-th row bits.
    Bfi(u8),
    /// cc in `Warp::carry`.
    Carry {
        op: CarryOp,
        bytes: u8,
        signed: bool,
        reads: bool,
        writes: bool,
    },
    Cvt(CvtSpec),
    /// d pred, imm: second pred + 1, c: pred to combine with (or NONE).
    SetP {
        cmp: Cmp,
        ty: CmpTy,
        with: Option<Logic>,
        negate_c: bool,
    },
    /// d row gets all ones / 1.0 or zero.
    Set {
        cmp: Cmp,
        ty: CmpTy,
        with: Option<Logic>,
        negate_c: bool,
        float: bool,
    },
    PredLogic(Logic),
    PredNot,
    PredMov,
    PredConst(bool),
    /// Row from predicate and back.
    SelP,
    Testp {
        f64: bool,
        what: u8,
    },
    Clock {
        wide: bool,
    },
    Ld {
        space: Space,
        ty: Ty,
        n: u8,
        strength: Strength,
        dst_bytes: u8,
    },
    LdKParam {
        ty: Ty,
        n: u8,
    },
    St {
        space: Space,
        ty: Ty,
        n: u8,
        strength: Strength,
    },
    Atom {
        op: AtomOp,
        space: Space,
        ty: Ty,
        strength: Strength,
        returns: bool,
    },
    /// Asynchronous copy: a destination, b source, c bytes that are read (or `NONE`), imm bytes.
    CpAsync,
    CpCommit,
    CpWait(Until),
    /// a: the object.
    Mbarrier(MbarOp),
    Tex(TexOp),
    Surf(SurfOp),
    /// d: a size of the object a; imm: the direction.
    TexQuery,
    /// Index into `Program::tiles`.
    Tile(u32),
    Isspacep(Space),
    /// a: barrier id row, b: thread count row or NONE, c: pred, d: result.
    Bar {
        mode: BarMode,
        negate: bool,
    },
    BarWarp,
    Fence(Scope),
    Shfl {
        mode: ShflMode,
        sync: bool,
    },
    Vote {
        mode: VoteMode,
        sync: bool,
        negate: bool,
    },
    Match {
        all: bool,
        wide: bool,
    },
    Redux {
        op: AtomOp,
        signed: bool,
    },
    ActiveMask,
    Bra {
        target: Pc,
    },
    /// d: index into `Program::tables`.
    Brx,
    /// d: index into `Program::calls`.
    Call,
    Ret,
    Exit,
    Trap,
    Nop,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub kind: Kind,
    /// 0: always; else (predicate + 1) * 2 + negated.
    pub guard: u32,
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub imm: i64,
}

/// What a call reaches.
#[derive(Clone, Debug)]
pub enum Callee {
    Func(u32),
    Builtin(String),
    /// A row with a function address.
    Row(u32),
}

/// A call with its parameters as (offset in the caller's frame, bytes).
#[derive(Clone, Debug)]
pub struct CallSite {
    pub callee: Callee,
    pub args: Vec<(u32, u32)>,
    pub rets: Vec<(u32, u32)>,
}

/// A function of the program.
#[derive(Clone, Debug, Default)]
pub struct FuncInfo {
    pub name: String,
    pub entry: Pc,
    pub end: Pc,
    pub regs: u32,
    pub preds: u32,
    /// Bytes of local memory for one activation.
    pub frame: u32,
    pub params: Vec<(u32, u32)>,
    pub rets: Vec<(u32, u32)>,
    pub present: bool,
}

/// Special registers that are fixed for a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Laneid,
    Warpid,
    Nwarpid,
    LanemaskEq,
    LanemaskLt,
    LanemaskLe,
    LanemaskGt,
    LanemaskGe,
    Smid,
    Nsmid,
    Gridid,
    /// Upper and lower half of the address of what a grid-wide barrier counts in.
    Workspace(u8),
    /// Shared memory that the system keeps for itself: behind all there is, so that no use goes unseen.
    Reserved,
    DynShared,
    TotalShared,
    /// Start of the current activation's local memory; changes with calls.
    Frame,
    Zero,
}

/// Where an operation comes from.
#[derive(Clone, Debug)]
pub struct SiteInfo {
    pub func: u32,
    pub index: u32,
    pub loc: Loc,
    pub ptx_line: u32,
}

/// A `.shared` variable's place.
#[derive(Clone, Debug)]
pub struct SharedVar {
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub dynamic: bool,
}

/// A kernel, ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub kernel: String,
    pub kernel_func: u32,
    pub ops: Vec<Op>,
    /// Reconvergence point of each op, or `NONE`.
    pub meet: Vec<Pc>,
    pub sites: Vec<SiteInfo>,
    pub consts: Vec<u64>,
    pub specials: Vec<Special>,
    pub funcs: Vec<FuncInfo>,
    pub calls: Vec<CallSite>,
    pub tables: Vec<Vec<Pc>>,
    /// Registers of vector operands.
    pub vecs: Vec<u32>,
    /// Matrix instructions.
    pub tiles: Vec<TileOp>,
    pub shared: Vec<SharedVar>,
    /// Bytes of static shared memory; dynamic shared memory starts here.
    pub shared_static: u32,
    /// Kernel parameters: name, offset, size, type.
    pub params: Vec<(String, u32, u32, Ty)>,
    pub param_bytes: u32,
    pub reqntid: Option<[u32; 3]>,
    /// Smallest access to shared or global memory, in bytes: the grain of the race shadow.
    pub grain: u32,
}
