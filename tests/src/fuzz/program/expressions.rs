//! Indices, places, data and conditions of random procs.

use super::{Buffer, Extent, Generator, Runner, parenthesised, with_offset};

impl Generator<'_> {
    /// By how much a bound is off.
    pub(super) fn slip(&mut self) -> i64 {
        if self.careless && self.chance(4) { self.random.between(-1, 1) } else { 0 }
    }

    /// An index that stays below `dim`.
    pub(super) fn index(&mut self, dim: Extent) -> String {
        let slip = self.slip();
        with_offset(&self.exact_index(dim), slip)
    }

    pub(super) fn exact_index(&mut self, dim: Extent) -> String {
        let (mut found, mut wrapped) = (Vec::new(), Vec::new());
        for runner in &self.runners {
            let room = if runner.hi.size == dim.size {
                Some(dim.plus - runner.hi.plus)
            } else if runner.hi.size.is_none() {
                Some(self.least(dim) - runner.hi.plus)
            } else {
                None
            };
            match room {
                Some(room) if room >= -runner.lo => {
                    found.push(with_offset(&runner.text, room.clamp(-runner.lo, 2)));
                    found.extend((runner.lo == 0 || room >= 0).then(|| with_offset(&runner.text, room.min(0))));
                    let upper = if room == 0 { with_offset(&self.extent_text(dim), -1) } else { continue };
                    if runner.lo >= 0 {
                        found.push(format!("{upper} - {}", parenthesised(&runner.text)));
                    }
                }
                Some(_) | None => {}
            }
            if dim.size.is_none() && dim.plus > 0 {
                wrapped.push(runner.clone());
            }
            if runner.hi == dim && runner.lo >= 0 {
                found.push(format!("{} / 2", parenthesised(&runner.text)));
            }
        }
        if let Some(runner) = self.choose(&wrapped) {
            found.push(self.wrapped(&runner, dim.plus));
        }
        if found.is_empty() || self.chance(12) {
            let below = self.least(dim).max(1);
            return self.random.between(0, below - 1).min(3).to_string();
        }
        self.choose(&found).unwrap_or_else(|| "0".into())
    }

    /// A random element of a buffer.
    pub(super) fn place(&mut self, buffer: &Buffer) -> String {
        if buffer.dims.is_empty() {
            return buffer.name.clone();
        }
        let idx: Vec<String> = buffer.dims.iter().map(|dim| self.index(*dim)).collect();
        format!("{}[{}]", buffer.name, idx.join(", "))
    }

    pub(super) fn buffer(&mut self) -> Buffer {
        // Recent buffers more often, so that temporaries are used.
        let count = self.buffers.len() as u64;
        let at = if self.chance(50) { count - 1 - self.random.below(count.min(2)) } else { self.random.below(count) };
        self.buffers.get(at as usize).cloned().unwrap_or(Buffer { name: "x".into(), dims: Vec::new(), raw: false })
    }

    pub(super) fn readable(&mut self) -> Option<String> {
        let ready: Vec<Buffer> = self.buffers.iter().filter(|buffer| !buffer.raw).cloned().collect();
        let buffer = self.choose(&ready)?;
        Some(self.place(&buffer))
    }

    pub(super) fn literal(&mut self) -> String {
        self.choose(&["0.0", "1.0", "2.0", "0.5", "-1.0", "3.25"]).unwrap_or("1.0").to_string()
    }

    pub(super) fn data(&mut self, depth: u64) -> String {
        if depth == 0 || self.chance(25) {
            return match self.readable() {
                Some(place) if !self.chance(20) => place,
                Some(_) | None => self.literal(),
            };
        }
        match self.random.below(14) {
            0..=4 => format!("{} + {}", self.data(depth - 1), self.factor(depth - 1)),
            5 | 6 => format!("{} - {}", self.data(depth - 1), self.factor(depth - 1)),
            7..=10 => format!("{} * {}", self.factor(depth - 1), self.factor(depth - 1)),
            11 => format!("{} / {}", self.factor(depth - 1), self.factor(depth - 1)),
            12 => format!("-{}", self.factor(depth - 1)),
            _ => {
                let (a, b) = (self.data(depth - 1), self.data(depth - 1));
                match self.random.below(3) {
                    0 => format!("relu({a})"),
                    1 => format!("fmaxf({a}, {b})"),
                    _ => format!("select({a}, {b}, {b}, 0.0)"),
                }
            }
        }
    }

    /// Data that needs no parentheses inside a product.
    pub(super) fn factor(&mut self, depth: u64) -> String {
        let text = self.data(depth);
        if text.contains(' ') || text.starts_with('-') { format!("({text})") } else { text }
    }

    pub(super) fn condition(&mut self) -> Option<(String, Option<Runner>)> {
        if self.flag && self.chance(30) {
            return Some(("flag".into(), None));
        }
        let runners = self.runners.clone();
        let runner = self.choose(&runners)?;
        let text = runner.text.clone();
        match self.random.below(7) {
            0 => {
                // Inside, one element more may be reached.
                let condition = format!("{} < {}", with_offset(&text, 1), self.extent_text(runner.hi));
                let inside = Runner { hi: Extent { plus: runner.hi.plus - 1, ..runner.hi }, ..runner };
                Some((condition, Some(inside)))
            }
            1 => Some((format!("{text} > {}", runner.lo), Some(Runner { lo: runner.lo + 1, ..runner }))),
            2 => Some((format!("{text} == {}", runner.lo), None)),
            3 => Some((format!("{} % 2 == 0", parenthesised(&text)), None)),
            4 => {
                let other = self.choose(&runners)?;
                Some((format!("{text} <= {}", other.text), None))
            }
            5 => {
                let size = self.choose(&self.sizes.clone())?;
                Some((format!("{} > {}", size.name, self.random.between(1, 6)), None))
            }
            _ => Some((format!("{text} < {}", self.random.between(0, 5)), None)),
        }
    }
}
