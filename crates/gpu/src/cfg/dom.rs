//! Dominators of any graph.
//!
//! Paper: Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", 2001.

/// Immediate dominators from `root` (which dominates itself; unreachable nodes have none), and a reverse post-order.
pub fn dominators(n: usize, root: usize, succs: &[Vec<usize>]) -> (Vec<Option<usize>>, Vec<usize>) {
    if n == 0 {
        return (Vec::new(), Vec::new());
    }
    let mut post = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    let mut stack = vec![(root, 0usize)];
    seen[root] = true;
    while let Some((b, k)) = stack.pop() {
        if let Some(&s) = succs[b].get(k) {
            stack.push((b, k + 1));
            if !seen[s] {
                seen[s] = true;
                stack.push((s, 0));
            }
        } else {
            post.push(b);
        }
    }
    let mut number = vec![usize::MAX; n];
    for (k, &b) in post.iter().enumerate() {
        number[b] = k;
    }
    let mut preds = vec![Vec::new(); n];
    for (b, list) in succs.iter().enumerate() {
        for &s in list {
            preds[s].push(b);
        }
    }
    let mut idom: Vec<Option<usize>> = vec![None; n];
    idom[root] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for &b in post.iter().rev() {
            if b == root {
                continue;
            }
            let mut new: Option<usize> = None;
            for &p in &preds[b] {
                if idom[p].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(mut a) => {
                        let mut c = p;
                        while a != c {
                            while number[a] < number[c] {
                                a = idom[a].unwrap_or(root);
                            }
                            while number[c] < number[a] {
                                c = idom[c].unwrap_or(root);
                            }
                        }
                        a
                    }
                });
            }
            if new.is_some() && idom[b] != new {
                idom[b] = new;
                changed = true;
            }
        }
    }
    post.reverse();
    (idom, post)
}
