//! Rank intervals: contenders that cannot be told apart share ranks.

/// The ranks a contender may hold, 1 the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankInterval {
    /// The best possible: one more than the number shown to be better.
    pub best: usize,
    /// The worst possible: the number of contenders less those shown to be worse.
    pub worst: usize,
}

/// Rank intervals of `count` contenders from the ordered pairs (better, worse) that were
/// separated. With family-wise control over all pairs they cover all true ranks at once
/// (Mogstad et al., Rev. Econ. Stud. 91, 2024). Pairs with an index beyond `count` are ignored.
pub fn rank_intervals(count: usize, separated: &[(usize, usize)]) -> Vec<RankInterval> {
    let mut ranks = vec![RankInterval { best: 1, worst: count }; count];
    for (better, worse) in separated {
        if *better < count && *worse < count {
            ranks[*worse].best += 1;
            ranks[*better].worst -= 1;
        }
    }
    ranks
}

/// `2`, or `2–4` if several ranks are possible.
impl std::fmt::Display for RankInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.best == self.worst {
            f.pad(&self.best.to_string())
        } else {
            f.pad(&format!("{}–{}", self.best, self.worst))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_two_that_share_and_a_last() {
        let separated = [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)];
        let shown: Vec<String> =
            rank_intervals(4, &separated).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1", "2–3", "2–3", "4"]);
    }

    #[test]
    fn nothing_separated_shares_everything() {
        assert_eq!(rank_intervals(2, &[]), [RankInterval { best: 1, worst: 2 }; 2]);
        assert!(rank_intervals(0, &[]).is_empty());
        let of_others = [(0, 2), (2, 1), (5, 7)];
        assert_eq!(rank_intervals(2, &of_others), rank_intervals(2, &[]));
    }

    /// Being told apart is not transitive: only the ends differ.
    #[test]
    fn the_middle_may_be_anywhere() {
        let shown: Vec<String> =
            rank_intervals(3, &[(0, 2)]).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1–2", "1–3", "2–3"]);
    }
}
