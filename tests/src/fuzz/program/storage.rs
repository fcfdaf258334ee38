//! Where data of random procs lives and how it is reached: precisions, registers, windows of windows, callees that call.

use super::{Buffer, Extent, Generator, Runner, parenthesised, with_offset};

impl Generator<'_> {
    /// Sometimes an argument of another precision.
    pub(super) fn other_argument(&mut self, args: &mut Vec<String>) {
        if !self.chance(15) {
            return;
        }
        let dim = self.extent();
        let precision = self.choose(&["f64", "f64", "i32"]).unwrap_or("f64");
        args.push(format!("other: {precision}[{}] @ DRAM", self.extent_text(dim)));
        self.others.push(Buffer { name: "other".into(), dims: vec![dim], raw: false });
    }

    /// Values that pass through a buffer of another precision.
    pub(super) fn converted(&mut self, depth: usize) {
        let others = self.others.clone();
        let other = match self.choose(&others) {
            Some(other) if self.chance(60) => other,
            Some(_) | None => {
                let dim = self.shared_extent();
                let name = self.name("cv");
                let precision = self.choose(&["f64", "f64", "i32", "R"]).unwrap_or("f64");
                self.push(depth, format!("{name}: {precision}[{}] @ DRAM", self.extent_text(dim)));
                let value = self.data(0);
                let iter = self.name("f");
                self.push(depth, format!("for {iter} in seq(0, {}):", self.extent_text(dim)));
                self.push(depth + 1, format!("{name}[{iter}] = {value}"));
                Buffer { name, dims: vec![dim], raw: false }
            }
        };
        let (first, second) = (self.place(&other), self.place(&other));
        match self.random.below(4) {
            0 => self.push(depth, format!("{first} += 2.0")),
            1 => self.push(depth, format!("{first} = {second} + {second}")),
            2 => {
                let value = self.data(0);
                self.push(depth, format!("{first} = {value}"));
            }
            _ => {}
        }
        let target = self.buffer();
        let place = self.place(&target);
        let read = self.place(&other);
        let op = if target.raw || self.chance(50) { "=" } else { "+=" };
        self.push(depth, format!("{place} {op} {read}"));
    }

    /// Four elements through a register: by instructions, or by the loops that instructions are found in.
    pub(super) fn register(&mut self, depth: usize) {
        let Some((source, own)) = self.four(&[]) else { return self.write(depth) };
        let Some((target, _)) = self.four(&[&own]) else { return self.write(depth) };
        let (a, b) = (self.name("reg"), self.name("reg"));
        for name in [&a, &b] {
            self.push(depth, format!("{name}: f32[4] @ REG"));
            if self.chance(60) {
                self.push(depth, format!("load4({name}[0:4], {source})"));
            } else {
                let iter = self.name("v");
                let element = element_of(&source, &iter);
                self.push(depth, format!("for {iter} in seq(0, 4):"));
                self.push(depth + 1, format!("{name}[{iter}] = {element}"));
            }
        }
        match self.random.below(3) {
            0 => self.push(depth, format!("mac4({a}[0:4], {b}[0:4], {b}[0:4])")),
            1 => {
                let iter = self.name("v");
                self.push(depth, format!("for {iter} in seq(0, 4):"));
                self.push(depth + 1, format!("{a}[{iter}] += {b}[{iter}] * {b}[{iter}]"));
            }
            _ => {}
        }
        self.push(depth, format!("store4({target}, {a}[0:4])"));
    }

    /// A window, a window of it, and accesses through all of their names.
    pub(super) fn window_chain(&mut self, depth: usize) {
        let wide = |generator: &Self, b: &Buffer| b.dims.last().is_some_and(|dim| generator.least(*dim) >= 4);
        let shaped: Vec<Buffer> = self.buffers.iter().filter(|b| wide(self, b) && !b.raw).cloned().collect();
        let Some(base) = self.choose(&shaped) else { return self.window(depth) };
        let Some((last, outer)) = base.dims.split_last() else { return };
        let mut accesses: Vec<String> = outer.iter().map(|dim| self.index(*dim)).collect();
        let lo = self.random.between(0, 2);
        accesses.push(format!("{lo}:{}", self.bound_text(*last)));
        let (first, second) = (self.name("w"), self.name("w"));
        self.push(depth, format!("{first} = {}[{}]", base.name, accesses.join(", ")));
        let inner = Extent { plus: last.plus - lo, ..*last };
        let from = self.random.between(0, (self.least(inner) - 1).clamp(0, 1));
        let hi = self.bound_text(inner);
        self.push(depth, format!("{second} = {first}[{from}:{hi}]"));
        let depth_of = self.buffers.len();
        self.buffers.push(Buffer { name: first, dims: vec![inner], raw: false });
        self.buffers.push(Buffer { name: second, dims: vec![Extent { plus: inner.plus - from, ..inner }], raw: false });
        for _ in 0..self.random.between(1, 3) {
            if self.chance(25) { self.call(depth) } else { self.write(depth) }
        }
        if self.chance(50) {
            self.buffers.truncate(depth_of);
        }
    }

    /// A branch on a stride.
    pub(super) fn stride_branch(&mut self, depth: usize) {
        let shaped: Vec<Buffer> = self.buffers.iter().filter(|b| !b.dims.is_empty()).cloned().collect();
        let Some(buffer) = self.choose(&shaped) else { return self.write(depth) };
        let dim = self.random.below(buffer.dims.len() as u64);
        let value = self.choose(&[1, 1, 2, 4]).unwrap_or(1);
        self.push(depth, format!("if stride({}, {dim}) == {value}:", buffer.name));
        self.write(depth + 1);
        if self.chance(60) {
            self.push(depth, "else:");
            self.write(depth + 1);
        }
    }

    /// A `par` loop over the rows of a matrix, each row reached through a window or a call.
    pub(super) fn parallel_rows(&mut self, depth: usize) {
        let matrices: Vec<Buffer> = self.buffers.iter().filter(|b| b.dims.len() == 2 && !b.raw).cloned().collect();
        let Some(buffer) = self.choose(&matrices) else { return self.parallel(depth) };
        let [rows, columns] = buffer.dims.as_slice() else { return };
        let (iter, inner) = (self.name("q"), self.name("l"));
        let (hi, width) = (self.bound_text(*rows), self.extent_text(*columns));
        self.push(depth, format!("for {iter} in par(0, {hi}):"));
        match self.random.below(4) {
            0 => {
                let name = self.name("w");
                self.push(depth + 1, format!("{name} = {}[{iter}, 0:{width}]", buffer.name));
                self.push(depth + 1, format!("for {inner} in seq(0, {width}):"));
                self.push(depth + 2, format!("{name}[{inner}] += 1.0"));
            }
            1 => self.push(depth + 1, format!("smooth({width}, {}[{iter}, 0:{width}])", buffer.name)),
            2 => {
                self.push(depth + 1, format!("for {inner} in par(0, {width}):"));
                self.push(depth + 2, format!("{}[{iter}, {inner}] = 2.0", buffer.name));
            }
            _ => {
                let name = self.name("t");
                self.push(depth + 1, format!("{name}: f32 @ DRAM"));
                self.push(depth + 1, format!("{name} = {}[{iter}, 0]", buffer.name));
                self.push(depth + 1, format!("for {inner} in seq(0, {width}):"));
                self.push(depth + 2, format!("{}[{iter}, {inner}] = {name}", buffer.name));
            }
        }
    }

    /// A call of a proc that calls, allocates, or works on a matrix.
    pub(super) fn deeper_call(&mut self) -> Option<String> {
        match self.random.below(6) {
            0 => self.row("").map(|(d, _, extent)| format!("smooth({}, {d})", self.extent_text(extent))),
            5 => {
                let matrices: Vec<Buffer> =
                    self.buffers.iter().filter(|b| b.dims.len() == 2 && !b.raw).cloned().collect();
                let matrix = self.choose(&matrices)?;
                let [rows, columns] = matrix.dims.as_slice() else { return None };
                let (n, at) = (self.extent_text(*rows), self.index(*columns));
                let callee = if self.chance(50) { "pitched" } else { "deep_pitched" };
                Some(format!("{callee}({n}, {}[0:{n}, {at}])", matrix.name))
            }
            1 => {
                let flag = if self.flag { "flag" } else { "1 < 2" };
                self.row("").map(|(d, _, extent)| format!("par_scale({}, {d}, {flag})", self.extent_text(extent)))
            }
            2 => {
                let matrices: Vec<Buffer> =
                    self.buffers.iter().filter(|b| b.dims.len() == 2 && !b.raw).cloned().collect();
                let (d, s) = (self.choose(&matrices)?, self.choose(&matrices)?);
                let [rows, columns] = d.dims.as_slice() else { return None };
                let (n, m) = (self.extent_text(*rows), self.extent_text(*columns));
                let whole = |name: &str| format!("{name}[0:{n}, 0:{m}]");
                (d.name != s.name && d.dims == s.dims)
                    .then(|| format!("flip({n}, {m}, {}, {})", whole(&d.name), whole(&s.name)))
            }
            kind => self.row("").and_then(|(d, own, extent)| {
                let (s, _, other) = self.row(&own)?;
                let callee = if kind == 3 { "reverse" } else { "nested" };
                (extent == other).then(|| format!("{callee}({}, {d}, {s})", self.extent_text(extent)))
            }),
        }
    }

    /// Remainders and quotients of an iterator for a dimension of literal extent, of negative values too.
    pub(super) fn wrapped(&mut self, runner: &Runner, extent: i64) -> String {
        let text = parenthesised(&runner.text);
        let by = self.random.between(1, 5);
        match self.random.below(5) {
            0 => format!("({text} - {by}) % {extent}"),
            1 => format!("({text} + {by}) / 2 % {extent}"),
            2 => format!("(3 * {text} - {by}) % {extent}"),
            3 => format!("({by} - {text}) / 3 % {extent}"),
            _ => format!("{text} % {extent}"),
        }
    }
}

/// Element `iter` of a window `name[.., lo:hi]`.
pub(super) fn element_of(window: &str, iter: &str) -> String {
    let (head, lo) = window.rsplit_once(':').map_or((window, "0"), |(head, _)| {
        let at = head.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        head.split_at(at)
    });
    let index = if lo == "0" { iter.to_string() } else { with_offset(iter, lo.parse().unwrap_or(0)) };
    format!("{head}{index}]")
}
