//! Configuration state in random procs: writes, reads in conditions, indices and data, and callees that do either.

use super::{Buffer, Generator};

impl Generator<'_> {
    /// A statement or two that use the config.
    pub(super) fn configured(&mut self, depth: usize) {
        match self.random.below(8) {
            0 | 1 => self.field_write(depth),
            2 => {
                let bound = self.random.between(0, 6);
                self.field_branch(depth, &format!("Cfg.i < {bound}"));
            }
            3 => self.field_branch(depth, "Cfg.on"),
            4 => self.field_index(depth),
            5 => {
                let value = self.literal();
                self.push(depth, format!("Cfg.s = {value}"));
            }
            6 => {
                let target = self.buffer();
                let place = self.place(&target);
                let factor = self.factor(1);
                self.push(depth, format!("{place} {} Cfg.s * {factor}", if target.raw { "=" } else { "+=" }));
            }
            _ => {
                let value = self.field_value();
                self.push(depth, format!("set_cfg({value})"));
                if let Some((row, _, extent)) = self.row("") {
                    self.push(depth, format!("use_cfg({}, {row})", self.extent_text(extent)));
                }
            }
        }
    }

    /// What an index field may be set to: nothing that a loop changes.
    fn field_value(&mut self) -> String {
        let sizes: Vec<&str> = self.sizes.iter().map(|size| size.name).collect();
        match self.choose(&sizes) {
            Some(size) if self.chance(40) => format!("{size} - 1"),
            Some(_) | None => self.random.between(0, 4).to_string(),
        }
    }

    fn field_write(&mut self, depth: usize) {
        let value = self.field_value();
        self.push(depth, format!("Cfg.i = {value}"));
        if self.chance(20) {
            self.push(depth, format!("Cfg.i = {value}"));
        }
        if self.chance(30) {
            let on = if self.flag && self.chance(50) { "flag" } else { "1 < 2" };
            self.push(depth, format!("Cfg.on = {on}"));
        }
    }

    fn field_branch(&mut self, depth: usize, condition: &str) {
        if self.chance(50) {
            self.field_write(depth);
        }
        self.push(depth, format!("if {condition}:"));
        self.write(depth + 1);
        if self.chance(25) {
            self.field_write(depth + 1);
        }
        if self.chance(40) {
            self.push(depth, "else:");
            self.write(depth + 1);
        }
    }

    /// An element whose index is a field, guarded or written just before.
    fn field_index(&mut self, depth: usize) {
        let vectors: Vec<Buffer> =
            self.buffers.iter().filter(|buffer| buffer.dims.len() == 1 && !buffer.raw).cloned().collect();
        let Some(buffer) = self.choose(&vectors) else { return self.field_write(depth) };
        let Some(dim) = buffer.dims.first().copied() else { return };
        let value = self.data(1);
        let line = format!("{}[Cfg.i] {} {value}", buffer.name, if self.chance(50) { "=" } else { "+=" });
        if self.chance(50) {
            let at = self.random.between(0, (self.least(dim) - 1).clamp(0, 3));
            self.push(depth, format!("Cfg.i = {at}"));
            self.push(depth, line);
        } else {
            self.push(depth, format!("if Cfg.i >= 0 and Cfg.i < {}:", self.extent_text(dim)));
            self.push(depth + 1, line);
        }
    }
}
