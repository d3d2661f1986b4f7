//! Integer expressions over thread ids, block ids, loop counters and things unknown, shared in an arena.
//!
//! Expressions are fixed-width bit vectors with PTX's wrap-around, so that what the solver decides is what the
//! hardware does.

use std::collections::HashMap;
use std::fmt::Write as _;

/// An expression, by index into the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ex(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Var {
    Tid(u8),
    Ctaid(u8),
    /// A variable of a loop, by index into `Values::phis`.
    Listed(u32),
    /// Something that only a run can tell; the number is its definition.
    Unknown(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bv {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    UDiv,
    URem,
    SDiv,
    SRem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pred {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Const(u64, u8),
    Var(Var, u8),
    Bin(Bv, Ex, Ex, u8),
    /// Zero- or sign-extend or cut to a width.
    Zext(Ex, u8),
    Sext(Ex, u8),
    Cut(Ex, u8),
    /// Booleans have width 1.
    Cmp(Pred, Ex, Ex),
    Not(Ex),
    AndB(Ex, Ex),
    OrB(Ex, Ex),
    XorB(Ex, Ex),
    Ite(Ex, Ex, Ex, u8),
}

/// All expressions of one analysis.
#[derive(Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
    index: HashMap<Node, Ex>,
}

fn mask(w: u8) -> u64 {
    if w >= 64 { u64::MAX } else { (1 << w) - 1 }
}

fn signed(v: u64, w: u8) -> i64 {
    let s = 64 - u32::from(w);
    ((v << s) as i64) >> s
}

fn fold(op: Bv, a: u64, b: u64, w: u8) -> u64 {
    let (x, y) = (signed(a, w), signed(b, w));
    let r = match op {
        Bv::Add => a.wrapping_add(b),
        Bv::Sub => a.wrapping_sub(b),
        Bv::Mul => a.wrapping_mul(b),
        Bv::And => a & b,
        Bv::Or => a | b,
        Bv::Xor => a ^ b,
        Bv::Shl => {
            if b >= u64::from(w) {
                0
            } else {
                a << b
            }
        }
        Bv::LShr => {
            if b >= u64::from(w) {
                0
            } else {
                a >> b
            }
        }
        Bv::AShr => (x >> b.min(u64::from(w) - 1)) as u64,
        Bv::UDiv => a.checked_div(b).unwrap_or(u64::MAX),
        Bv::URem => a.checked_rem(b).unwrap_or(a),
        Bv::SDiv => {
            if y == 0 {
                u64::MAX
            } else {
                x.wrapping_div(y) as u64
            }
        }
        Bv::SRem => {
            if y == 0 {
                a
            } else {
                x.wrapping_rem(y) as u64
            }
        }
    };
    r & mask(w)
}

impl Arena {
    pub fn node(&self, e: Ex) -> Node {
        self.nodes[e.0 as usize]
    }

    fn add(&mut self, n: Node) -> Ex {
        if let Some(&e) = self.index.get(&n) {
            return e;
        }
        let e = Ex(self.nodes.len() as u32);
        self.nodes.push(n);
        self.index.insert(n, e);
        e
    }

    pub fn constant(&mut self, v: u64, w: u8) -> Ex {
        self.add(Node::Const(v & mask(w), w))
    }

    pub fn var(&mut self, v: Var, w: u8) -> Ex {
        self.add(Node::Var(v, w))
    }

    pub fn width(&self, e: Ex) -> u8 {
        match self.node(e) {
            Node::Const(_, w) | Node::Var(_, w) | Node::Bin(_, _, _, w) => w,
            Node::Zext(_, w) | Node::Sext(_, w) | Node::Cut(_, w) | Node::Ite(_, _, _, w) => w,
            _ => 1,
        }
    }

    pub fn as_const(&self, e: Ex) -> Option<u64> {
        match self.node(e) {
            Node::Const(v, _) => Some(v),
            _ => None,
        }
    }

    pub fn bin(&mut self, op: Bv, a: Ex, b: Ex) -> Ex {
        let w = self.width(a);
        match (self.as_const(a), self.as_const(b)) {
            (Some(x), Some(y)) => return self.constant(fold(op, x, y, w), w),
            (_, Some(0))
                if matches!(
                    op,
                    Bv::Add | Bv::Sub | Bv::Or | Bv::Xor | Bv::Shl | Bv::LShr | Bv::AShr
                ) =>
            {
                return a;
            }
            (Some(0), _) if matches!(op, Bv::Add | Bv::Or | Bv::Xor) => return b,
            (_, Some(1)) if matches!(op, Bv::Mul | Bv::UDiv | Bv::SDiv) => return a,
            _ => {}
        }
        self.add(Node::Bin(op, a, b, w))
    }

    pub fn resize(&mut self, e: Ex, w: u8, sign: bool) -> Ex {
        let from = self.width(e);
        if from == w {
            return e;
        }
        if let Some(v) = self.as_const(e) {
            let v = if sign && w > from {
                signed(v, from) as u64
            } else {
                v
            };
            return self.constant(v, w);
        }
        if w < from {
            return self.add(Node::Cut(e, w));
        }
        self.add(if sign {
            Node::Sext(e, w)
        } else {
            Node::Zext(e, w)
        })
    }

    pub fn cmp(&mut self, p: Pred, a: Ex, b: Ex) -> Ex {
        if let (Some(x), Some(y)) = (self.as_const(a), self.as_const(b)) {
            let w = self.width(a);
            return self.constant(u64::from(compare(p, x, y, w)), 1);
        }
        self.add(Node::Cmp(p, a, b))
    }

    pub fn not(&mut self, a: Ex) -> Ex {
        match self.node(a) {
            Node::Const(v, _) => self.constant(v ^ 1, 1),
            Node::Not(b) => b,
            _ => self.add(Node::Not(a)),
        }
    }

    pub fn logic(&mut self, n: Node) -> Ex {
        self.add(n)
    }

    pub fn ite(&mut self, c: Ex, a: Ex, b: Ex) -> Ex {
        match self.as_const(c) {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => {
                let w = self.width(a);
                self.add(Node::Ite(c, a, b, w))
            }
        }
    }

    fn children(&self, e: Ex) -> Vec<Ex> {
        match self.node(e) {
            Node::Const(..) | Node::Var(..) => vec![],
            Node::Bin(_, a, b, _)
            | Node::Cmp(_, a, b)
            | Node::AndB(a, b)
            | Node::OrB(a, b)
            | Node::XorB(a, b) => vec![a, b],
            Node::Zext(a, _) | Node::Sext(a, _) | Node::Cut(a, _) | Node::Not(a) => vec![a],
            Node::Ite(c, a, b, _) => vec![c, a, b],
        }
    }

    /// All variables of an expression.
    pub fn vars(&self, e: Ex) -> Vec<Var> {
        let mut out = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut work = vec![e];
        while let Some(e) = work.pop() {
            if !seen.insert(e) {
                continue;
            }
            if let Node::Var(v, _) = self.node(e) {
                out.push(v);
            }
            work.extend(self.children(e));
        }
        out.sort_by_key(|v| format!("{v:?}"));
        out.dedup();
        out
    }

    /// Value under an assignment; none if a variable has no value.
    pub fn eval(&self, e: Ex, of: &dyn Fn(Var) -> Option<u64>) -> Option<u64> {
        let mut memo = HashMap::new();
        self.eval_memo(e, of, &mut memo, 0)
    }

    fn eval_memo(
        &self,
        e: Ex,
        of: &dyn Fn(Var) -> Option<u64>,
        memo: &mut HashMap<Ex, u64>,
        depth: u32,
    ) -> Option<u64> {
        if let Some(v) = memo.get(&e) {
            return Some(*v);
        }
        if depth > 2000 {
            return None;
        }
        let mut go = |x: Ex| self.eval_memo(x, of, memo, depth + 1);
        let v = match self.node(e) {
            Node::Const(v, _) => v,
            Node::Var(v, w) => of(v)? & mask(w),
            Node::Bin(op, a, b, w) => {
                let (x, y) = (go(a)?, go(b)?);
                fold(op, x, y, w)
            }
            Node::Zext(a, _) => go(a)?,
            Node::Sext(a, w) => signed(go(a)?, self.width(a)) as u64 & mask(w),
            Node::Cut(a, w) => go(a)? & mask(w),
            Node::Cmp(p, a, b) => {
                let (x, y) = (go(a)?, go(b)?);
                u64::from(compare(p, x, y, self.width(a)))
            }
            Node::Not(a) => go(a)? ^ 1,
            Node::AndB(a, b) => go(a)? & go(b)?,
            Node::OrB(a, b) => go(a)? | go(b)?,
            Node::XorB(a, b) => go(a)? ^ go(b)?,
            Node::Ite(c, a, b, _) => {
                if go(c)? == 1 {
                    go(a)?
                } else {
                    go(b)?
                }
            }
        };
        memo.insert(e, v);
        Some(v)
    }

    /// Writes definitions of `e` and all below it as SMT-LIB; variables are named by `name`. Returns `e`'s name.
    pub fn smt(
        &self,
        e: Ex,
        tag: &str,
        out: &mut String,
        done: &mut HashMap<Ex, String>,
        name: &dyn Fn(Var) -> String,
    ) -> String {
        if let Some(n) = done.get(&e) {
            return n.clone();
        }
        let mut stack = vec![(e, false)];
        while let Some((x, ready)) = stack.pop() {
            if done.contains_key(&x) {
                continue;
            }
            if !ready {
                stack.push((x, true));
                stack.extend(self.children(x).into_iter().map(|c| (c, false)));
                continue;
            }
            let get = |k: Ex| done.get(&k).cloned().unwrap_or_default();
            let w = self.width(x);
            let boolean = !matches!(
                self.node(x),
                Node::Const(..)
                    | Node::Var(..)
                    | Node::Bin(..)
                    | Node::Zext(..)
                    | Node::Sext(..)
                    | Node::Cut(..)
                    | Node::Ite(..)
            );
            let body = match self.node(x) {
                Node::Const(v, 1) => {
                    done.insert(
                        x,
                        if v == 1 {
                            "true".into()
                        } else {
                            "false".into()
                        },
                    );
                    continue;
                }
                Node::Const(v, w) => {
                    done.insert(x, format!("(_ bv{v} {w})"));
                    continue;
                }
                Node::Var(v, _) => {
                    done.insert(x, name(v));
                    continue;
                }
                Node::Bin(op, a, b, w) => {
                    let f = match op {
                        Bv::Add => "bvadd",
                        Bv::Sub => "bvsub",
                        Bv::Mul => "bvmul",
                        Bv::And => "bvand",
                        Bv::Or => "bvor",
                        Bv::Xor => "bvxor",
                        Bv::Shl => "bvshl",
                        Bv::LShr => "bvlshr",
                        Bv::AShr => "bvashr",
                        Bv::UDiv => "bvudiv",
                        Bv::URem => "bvurem",
                        Bv::SDiv => "bvsdiv",
                        Bv::SRem => "bvsrem",
                    };
                    let _ = w;
                    format!("({f} {} {})", get(a), get(b))
                }
                Node::Zext(a, w) => format!("((_ zero_extend {}) {})", w - self.width(a), get(a)),
                Node::Sext(a, w) => format!("((_ sign_extend {}) {})", w - self.width(a), get(a)),
                Node::Cut(a, w) => format!("((_ extract {} 0) {})", w - 1, get(a)),
                Node::Cmp(p, a, b) => {
                    let f = match p {
                        Pred::Eq => "=",
                        Pred::Ult => "bvult",
                        Pred::Ule => "bvule",
                        Pred::Slt => "bvslt",
                        Pred::Sle => "bvsle",
                    };
                    format!("({f} {} {})", get(a), get(b))
                }
                Node::Not(a) => format!("(not {})", get(a)),
                Node::AndB(a, b) => format!("(and {} {})", get(a), get(b)),
                Node::OrB(a, b) => format!("(or {} {})", get(a), get(b)),
                Node::XorB(a, b) => format!("(xor {} {})", get(a), get(b)),
                Node::Ite(c, a, b, _) => format!("(ite {} {} {})", get(c), get(a), get(b)),
            };
            let n = format!("{tag}{}", x.0);
            let sort = if boolean || w == 1 {
                "Bool".to_string()
            } else {
                format!("(_ BitVec {w})")
            };
            let _ = writeln!(out, "(define-fun {n} () {sort} {body})");
            done.insert(x, n);
        }
        done.get(&e).cloned().unwrap_or_default()
    }
}

fn compare(p: Pred, a: u64, b: u64, w: u8) -> bool {
    match p {
        Pred::Eq => a == b,
        Pred::Ult => a < b,
        Pred::Ule => a <= b,
        Pred::Slt => signed(a, w) < signed(b, w),
        Pred::Sle => signed(a, w) <= signed(b, w),
    }
}
