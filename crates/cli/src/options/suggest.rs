//! "Did you mean ...?": the known name nearest to a mistyped one.

/// The nearest of `names`, unless none is near.
pub fn nearest<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (distance(typed, name), name))
        .filter(|(distance, name)| {
            *distance <= limit || (typed.len() > 2 && name.starts_with(typed))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be changed, added, dropped or swapped with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_not() {
        let names = ["format", "log", "halt-on-error", "source-lines", "color"];
        assert_eq!(nearest("fromat", names), Some("format"));
        assert_eq!(nearest("formt", names), Some("format"));
        assert_eq!(nearest("colour", names), Some("color"));
        assert_eq!(nearest("halt", names), Some("halt-on-error"));
        assert_eq!(nearest("sourcelines", names), Some("source-lines"));
        assert_eq!(nearest("zzz", names), None);
    }
}
