//! Launches: grid, block, shared memory and arguments, from options or from a TOML file.
//!
//! ```toml
//! [[launch]]
//! kernel = "reduce"
//! grid = [8]
//! block = [256]
//! shared = 1024
//! args = [ { buffer = "f32", count = 2048, init = "iota" }, { value = 2048 } ]
//! ```

use serde::Deserialize;

use super::ToolError;

/// Where a buffer's first contents come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    Zero,
    /// 0, 1, 2, ...
    Iota,
    Const(f64),
    /// Numbers below a bound, from a seed.
    Random {
        seed: u64,
        below: u64,
    },
    File(String),
}

/// Element types of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elem {
    U8,
    I32,
    U32,
    I64,
    F32,
    F64,
}

impl Elem {
    fn parse(s: &str) -> Option<Elem> {
        Some(match s {
            "u8" | "i8" | "char" | "uchar" => Elem::U8,
            "i32" | "int" => Elem::I32,
            "u32" | "uint" => Elem::U32,
            "i64" | "u64" | "long" => Elem::I64,
            "f32" | "float" => Elem::F32,
            "f64" | "double" => Elem::F64,
            _ => return None,
        })
    }

    pub fn bytes(self) -> u64 {
        match self {
            Elem::U8 => 1,
            Elem::I32 | Elem::U32 | Elem::F32 => 4,
            Elem::I64 | Elem::F64 => 8,
        }
    }
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Number(f64),
    /// Exact, for 64-bit values.
    Integer(i64),
    Buffer {
        elem: Elem,
        count: u64,
        init: Init,
    },
    /// OpenCL: a pointer to this many bytes of local memory.
    Local(u64),
    /// A texture or surface object of one channel, with coordinates that count texels and end at the edge.
    Texture {
        elem: Elem,
        size: [u32; 3],
        init: Init,
    },
}

/// A launch as the user gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSpec {
    /// None: every kernel of the file.
    pub kernel: Option<String>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub args: Vec<Arg>,
}

impl Default for LaunchSpec {
    fn default() -> Self {
        LaunchSpec {
            kernel: None,
            grid: [1; 3],
            block: [256, 1, 1],
            shared: 0,
            args: Vec::new(),
        }
    }
}

/// `8`, `8,4` or `8x4x2`.
///
/// # Errors
/// Not one to three positive numbers.
pub fn dims(s: &str) -> Result<[u32; 3], ToolError> {
    let parts: Vec<&str> = s.split([',', 'x']).map(str::trim).collect();
    let mut d = [1u32; 3];
    if parts.len() > 3 {
        return Err(ToolError(format!("`{s}` has more than three dimensions")));
    }
    for (k, p) in parts.iter().enumerate() {
        d[k] = p.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
            ToolError(format!("`{s}` is not a size; write for example 8 or 16,16"))
        })?;
    }
    Ok(d)
}

/// `5`, `1.5`, `f32:1024`, `int:256:iota`, `local:1024`, `texture:f32:64x32:iota`.
///
/// # Errors
/// Says which forms there are.
pub fn arg(s: &str) -> Result<Arg, ToolError> {
    let help = || {
        ToolError(format!(
            "`{s}` is not an argument; write a number, TYPE:COUNT[:zero|iota|const=V|random[=SEED[,BELOW]]|file=PATH], texture:TYPE:SIZE[:...] with SIZE as 64 or 64x32, or local:BYTES"
        ))
    };
    let hex = s
        .strip_prefix("0x")
        .and_then(|h| u64::from_str_radix(h, 16).ok());
    if let Some(v) = hex {
        return Ok(Arg::Integer(v as i64));
    }
    if let Ok(v) = s.parse::<i64>() {
        return Ok(Arg::Integer(v));
    }
    if let Ok(v) = s.parse::<f64>() {
        return Ok(Arg::Number(v));
    }
    if let Some(rest) = s
        .strip_prefix("texture:")
        .or_else(|| s.strip_prefix("surface:"))
    {
        let mut it = rest.splitn(3, ':');
        let elem = it.next().and_then(Elem::parse).filter(|e| e.bytes() <= 4);
        let size = dims(it.next().ok_or_else(help)?)?;
        let init = it
            .next()
            .map_or(Ok(Init::Zero), |i| init(i).ok_or_else(help))?;
        let elem = elem.ok_or_else(help)?;
        return Ok(Arg::Texture { elem, size, init });
    }
    let mut it = s.splitn(3, ':');
    let (kind, count) = (it.next().unwrap_or(""), it.next().ok_or_else(help)?);
    let count: u64 = count.parse().map_err(|_| help())?;
    if kind == "local" {
        return Ok(Arg::Local(count));
    }
    let elem = Elem::parse(kind).ok_or_else(help)?;
    let init = it
        .next()
        .map_or(Ok(Init::Zero), |i| init(i).ok_or_else(help))?;
    Ok(Arg::Buffer { elem, count, init })
}

fn init(s: &str) -> Option<Init> {
    if let Some(f) = s.strip_prefix("file=") {
        return Some(Init::File(f.to_string()));
    }
    if let Some(v) = s.strip_prefix("const=") {
        return v.parse().ok().map(Init::Const);
    }
    if let Some(v) = s.strip_prefix("random") {
        let (seed, below) = match v
            .strip_prefix('=')
            .map(|v| v.split_once(',').unwrap_or((v, "1000")))
        {
            None => (1, 1000),
            Some((a, b)) => (a.parse().ok()?, b.parse().ok()?),
        };
        return Some(Init::Random { seed, below });
    }
    match s {
        "zero" => Some(Init::Zero),
        "iota" => Some(Init::Iota),
        _ => None,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    launch: Vec<FileLaunch>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLaunch {
    kernel: Option<String>,
    grid: Option<Vec<u32>>,
    block: Option<Vec<u32>>,
    #[serde(default)]
    shared: u32,
    #[serde(default)]
    args: Vec<FileArg>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FileArg {
    Int(i64),
    Float(f64),
    Text(String),
    Table(FileArgTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArgTable {
    buffer: Option<String>,
    count: Option<u64>,
    init: Option<String>,
    value: Option<toml::Value>,
    local: Option<u64>,
}

/// Reads a launch file.
///
/// # Errors
/// Text that is not TOML, or keys and values that mean nothing, with the line.
pub fn file(text: &str, name: &str) -> Result<Vec<LaunchSpec>, ToolError> {
    let f: File = toml::from_str(text)
        .map_err(|e| ToolError(format!("{name}: {}", e.to_string().trim_end())))?;
    f.launch
        .into_iter()
        .map(|l| one(l).map_err(|e| ToolError(format!("{name}: {e}"))))
        .collect()
}

fn one(l: FileLaunch) -> Result<LaunchSpec, ToolError> {
    let shape = |v: Option<Vec<u32>>, default: [u32; 3]| match v {
        None => Ok(default),
        Some(v) if v.len() <= 3 && !v.is_empty() && !v.contains(&0) => Ok([
            v[0],
            v.get(1).copied().unwrap_or(1),
            v.get(2).copied().unwrap_or(1),
        ]),
        Some(v) => Err(ToolError(format!(
            "{v:?} is not a size of one to three dimensions"
        ))),
    };
    let args = l
        .args
        .into_iter()
        .map(|a| match a {
            FileArg::Int(v) => Ok(Arg::Integer(v)),
            FileArg::Float(v) => Ok(Arg::Number(v)),
            FileArg::Text(s) => arg(&s),
            FileArg::Table(t) => table(t),
        })
        .collect::<Result<_, _>>()?;
    Ok(LaunchSpec {
        kernel: l.kernel,
        grid: shape(l.grid, [1; 3])?,
        block: shape(l.block, [256, 1, 1])?,
        shared: l.shared,
        args,
    })
}

fn table(t: FileArgTable) -> Result<Arg, ToolError> {
    if let Some(n) = t.local {
        return Ok(Arg::Local(n));
    }
    if let Some(v) = t.value {
        return match v {
            toml::Value::Integer(v) => Ok(Arg::Integer(v)),
            toml::Value::Float(v) => Ok(Arg::Number(v)),
            other => Err(ToolError(format!("`value = {other}` is not a number"))),
        };
    }
    let (Some(b), Some(count)) = (t.buffer, t.count) else {
        return Err(ToolError(
            "an argument is { value = N }, { buffer = TYPE, count = N } or { local = BYTES }"
                .into(),
        ));
    };
    let elem = Elem::parse(&b).ok_or_else(|| {
        ToolError(format!(
            "`{b}` is not an element type; use f32, i32, u8, ..."
        ))
    })?;
    let init = match t.init {
        None => Init::Zero,
        Some(s) => {
            init(&s).ok_or_else(|| ToolError(format!("`{s}` does not say how to fill a buffer")))?
        }
    };
    Ok(Arg::Buffer { elem, count, init })
}

/// The bytes of a new buffer.
///
/// # Errors
/// A file that cannot be read.
pub fn fill(elem: Elem, count: u64, how: &Init) -> Result<Vec<u8>, ToolError> {
    let total = count.checked_mul(elem.bytes()).filter(|n| *n <= 1 << 36);
    let Some(total) = total else {
        return Err(ToolError(format!(
            "a buffer of {count} elements is too large"
        )));
    };
    let mut out = Vec::with_capacity(total as usize);
    if let Init::File(path) = how {
        let mut b =
            std::fs::read(path).map_err(|e| ToolError(format!("cannot read {path}: {e}")))?;
        b.resize(total as usize, 0);
        return Ok(b);
    }
    let mut state = match how {
        Init::Random { seed, .. } => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        _ => 1,
    };
    for k in 0..count {
        let (int, float) = match how {
            Init::Zero | Init::File(_) => (0, 0.0),
            Init::Iota => (k as i64, k as f64),
            Init::Const(v) => (*v as i64, *v),
            Init::Random { below, .. } => {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let v = state % (*below).max(1);
                (v as i64, v as f64)
            }
        };
        match elem {
            Elem::U8 => out.push(int as u8),
            Elem::I32 | Elem::U32 => out.extend((int as i32).to_le_bytes()),
            Elem::I64 => out.extend(int.to_le_bytes()),
            Elem::F32 => out.extend((float as f32).to_le_bytes()),
            Elem::F64 => out.extend(float.to_le_bytes()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert_eq!(arg("5").unwrap(), Arg::Integer(5));
        assert_eq!(arg("-1.5").unwrap(), Arg::Number(-1.5));
        assert_eq!(
            arg("f32:16:iota").unwrap(),
            Arg::Buffer {
                elem: Elem::F32,
                count: 16,
                init: Init::Iota
            }
        );
        assert!(arg("f32").unwrap_err().0.contains("TYPE:COUNT"));
        assert!(arg("f33:4").is_err());
        assert_eq!(dims("8,4").unwrap(), [8, 4, 1]);
        assert!(dims("0").is_err());
    }

    #[test]
    fn files_name_what_is_wrong() {
        let l = file(
            "[[launch]]\nkernel='k'\ngrid=[2]\nargs=[{buffer='f32',count=4},7,'i32:2:iota']",
            "l.toml",
        )
        .unwrap();
        assert_eq!(l[0].grid, [2, 1, 1]);
        assert_eq!(l[0].args.len(), 3);
        assert!(
            file("[[launch]]\ngird=[2]", "l.toml")
                .unwrap_err()
                .0
                .contains("gird")
        );
        assert!(file("[[launch]]\ngrid=[0]", "l.toml").is_err());
    }
}
