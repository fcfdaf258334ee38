//! How large an archive may be: what stands between a hostile upload and this machine's memory.

/// Limits on an archive. The default is what the registry and the command line both use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The compressed archive, in bytes.
    pub archive_bytes: u64,
    /// The tar inside it, in bytes.
    pub total_bytes: u64,
    /// One file, in bytes.
    pub file_bytes: u64,
    /// The number of files and directories.
    pub entries: u64,
    /// Expanded bytes for each compressed byte. Holds only beyond [`Limits::ratio_floor`].
    pub ratio: u64,
    /// The expanded size, in bytes, up to which any ratio is allowed (short files of zeros compress very well).
    pub ratio_floor: u64,
    /// The base-2 logarithm of the largest window a decoder may be asked to hold.
    pub window_log: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            archive_bytes: 16 << 20,
            total_bytes: 64 << 20,
            file_bytes: 8 << 20,
            entries: 4096,
            ratio: 200,
            ratio_floor: 1 << 20,
            window_log: 23,
        }
    }
}

impl Limits {
    /// The largest expansion allowed for an archive of some compressed size, and whether the ratio is what decides.
    pub(super) fn expansion(&self, compressed: u64) -> (u64, bool) {
        let by_ratio = compressed.saturating_mul(self.ratio).max(self.ratio_floor);
        (by_ratio.min(self.total_bytes), by_ratio < self.total_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_bound_decides() {
        let limits = Limits::default();
        assert_eq!(limits.expansion(10), (1 << 20, true));
        assert_eq!(limits.expansion(100_000), (20_000_000, true));
        assert_eq!(limits.expansion(1 << 20), (64 << 20, false));
        assert_eq!(limits.expansion(u64::MAX), (64 << 20, false));
    }
}
