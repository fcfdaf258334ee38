//! Configuration state in random procs: writes, reads in conditions, indices and data, and callees that do either.

use super::{Buffer, Generator};

impl Generator<'_> {
    /// A statement or a few that use the config.
    pub(super) fn configured(&mut self, depth: usize) {
        match self.random.below(10) {
            0 | 1 => self.field_write(depth),
            2..=4 => self.field_branches(depth),
            5 => self.field_index(depth),
            6 => {
                let value = self.literal();
                self.push(depth, format!("Cfg.s = {value}"));
            }
            7 => {
                let target = self.buffer();
                let place = self.place(&target);
                let factor = self.factor(1);
                self.push(depth, format!("{place} {} Cfg.s * {factor}", if target.raw { "=" } else { "+=" }));
            }
            8 => self.field_loop(depth),
            _ => {
                let value = self.field_value();
                self.push(depth, format!("set_cfg({value})"));
                if let Some((row, _, extent)) = self.row("") {
                    self.push(depth, format!("use_cfg({}, {row})", self.extent_text(extent)));
                }
            }
        }
    }

    fn index_field(&mut self) -> &'static str {
        if self.chance(70) { "Cfg.i" } else { "Cfg.j" }
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
        let field = self.index_field();
        let other = if field == "Cfg.i" { "Cfg.j" } else { "Cfg.i" };
        let value = if self.chance(20) { other.to_string() } else { self.field_value() };
        self.push(depth, format!("{field} = {value}"));
        if self.chance(20) {
            self.push(depth, format!("{field} = {value}"));
        }
        if self.chance(30) {
            let on = if self.flag && self.chance(50) { "flag" } else { "1 < 2" };
            self.push(depth, format!("Cfg.on = {on}"));
        }
    }

    fn field_condition(&mut self) -> String {
        if self.chance(30) {
            return "Cfg.on".to_string();
        }
        let operator = self.choose(&["<", "==", ">="]).unwrap_or("<");
        format!("{} {operator} {}", self.index_field(), self.random.between(0, 6))
    }

    /// A branch that decides on a field, often with another behind it that decides on the same or on what the first one wrote.
    fn field_branches(&mut self, depth: usize) {
        if self.chance(50) {
            self.field_write(depth);
        }
        let condition = self.field_condition();
        self.field_branch(depth, &condition);
        if self.chance(40) {
            let other = self.field_condition();
            let next = self.choose(&[condition.clone(), other]).unwrap_or(condition);
            self.field_branch(depth, &next);
        }
    }

    fn field_branch(&mut self, depth: usize, condition: &str) {
        self.push(depth, format!("if {condition}:"));
        self.field_side(depth + 1);
        if self.chance(50) {
            self.push(depth, "else:");
            self.field_side(depth + 1);
        }
    }

    /// One side of a branch, which may change what the branch decided on, at its start, in its middle or at its end.
    fn field_side(&mut self, depth: usize) {
        for _ in 0..self.random.between(0, 1) {
            self.field_write(depth);
        }
        self.write(depth);
        if self.chance(25) {
            self.field_write(depth);
            if self.chance(50) {
                self.write(depth);
            }
        }
    }

    /// A loop with a field for a bound, which its body may change.
    fn field_loop(&mut self, depth: usize) {
        let field = self.index_field();
        let (iter, bound) = (self.name("c"), self.random.between(1, 4));
        self.push(depth, format!("if 0 <= {field} and {field} <= {bound}:"));
        self.push(depth + 1, format!("for {iter} in seq(0, {field}):"));
        self.field_side(depth + 2);
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
