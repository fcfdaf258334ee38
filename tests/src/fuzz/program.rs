//! Random well-typed procs as text: loops, guards, index arithmetic, allocations, windows, calls, reductions.
//!
//! Most of what comes out passes the front end. What does not is thrown away by the caller, so the generator aims at
//! variety rather than at proof: it only keeps enough about ranges to stay in bounds most of the time.

mod configuration;
mod expressions;
mod idioms;
mod library;
mod storage;

pub use library::LIBRARY;

use exo_compiler::interpret::random::Random;

/// An extent or the end of a range: a size plus a number, or a number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    size: Option<usize>,
    plus: i64,
}

impl Extent {
    const fn literal(value: i64) -> Self {
        Extent { size: None, plus: value }
    }
}

#[derive(Clone, Debug)]
struct Size {
    name: &'static str,
    at_least: i64,
    multiple_of: i64,
}

/// Something that runs over `lo..hi`: an iterator, or a sum of iterators.
#[derive(Clone, Debug)]
struct Runner {
    text: String,
    lo: i64,
    hi: Extent,
}

#[derive(Clone, Debug)]
struct Buffer {
    name: String,
    dims: Vec<Extent>,
    /// Whether an uninitialised element may be there.
    raw: bool,
}

/// The text of a random proc `p` that is meant to be correct. `favourite` is an operator that should have something to
/// work on.
pub fn generate(random: &mut Random, favourite: &str) -> String {
    text(random, false, favourite)
}

/// The text of a random proc `p` with an index, an extent or a bound that is off by one here and there.
pub fn generate_careless(random: &mut Random) -> String {
    text(random, true, "")
}

fn text(random: &mut Random, careless: bool, favourite: &str) -> String {
    let mut generator = Generator {
        random,
        lines: Vec::new(),
        sizes: Vec::new(),
        flag: false,
        runners: Vec::new(),
        buffers: Vec::new(),
        others: Vec::new(),
        fresh: 0,
        left: 0,
        careless,
    };
    generator.left = generator.random.between(2, 7);
    generator.definition(favourite)
}

struct Generator<'a> {
    random: &'a mut Random,
    lines: Vec<String>,
    sizes: Vec<Size>,
    /// Whether there is an argument `flag: bool`.
    flag: bool,
    runners: Vec<Runner>,
    /// All of one precision.
    buffers: Vec<Buffer>,
    /// Arguments of other precisions, which only assignments convert.
    others: Vec<Buffer>,
    fresh: usize,
    /// Statements still to be made.
    left: i64,
    careless: bool,
}

impl Generator<'_> {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn choose<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        self.random.pick(items).cloned()
    }

    fn name(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    fn push(&mut self, depth: usize, line: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "    ".repeat(depth), line.as_ref()));
    }

    fn definition(mut self, favourite: &str) -> String {
        let mut args = Vec::new();
        let mut asserts = Vec::new();
        for name in ["n", "m"].into_iter().take(self.random.below(3) as usize) {
            let mut size = Size { name, at_least: 1, multiple_of: 1 };
            if self.chance(40) {
                size.multiple_of = if self.chance(50) { 4 } else { 2 };
                size.at_least = size.multiple_of;
                asserts.push(format!("assert {name} % {} == 0", size.multiple_of));
            }
            if self.chance(40) {
                size.at_least = size.at_least.max(self.random.between(2, 8));
                asserts.push(format!("assert {name} >= {}", size.at_least));
            }
            args.push(format!("{name}: size"));
            self.sizes.push(size);
        }
        if self.chance(15) {
            self.flag = true;
            args.push("flag: bool".into());
        }
        if self.chance(20) {
            let hi = self.extent();
            asserts.push("assert k >= 0".into());
            asserts.push(format!("assert k < {}", self.extent_text(hi)));
            args.push("k: index".into());
            self.runners.push(Runner { text: "k".into(), lo: 0, hi });
        }
        for name in ["x", "y", "z", "u"].into_iter().take(1 + self.random.below(4) as usize) {
            let rank = self.random.below(10);
            let rank = if rank < 2 { 0 } else { 1 + usize::from(rank > 6) };
            let dims: Vec<Extent> = (0..rank).map(|_| self.extent()).collect();
            let shape: Vec<String> = dims.iter().map(|dim| self.extent_text(*dim)).collect();
            let text = match (rank, self.chance(25)) {
                (0, _) => format!("{name}: f32"),
                (_, true) => {
                    if self.chance(50) {
                        asserts.push(format!("assert stride({name}, {}) == 1", rank - 1));
                    }
                    format!("{name}: [f32][{}]", shape.join(", "))
                }
                (_, false) => format!("{name}: f32[{}]", shape.join(", ")),
            };
            args.push(format!("{text} @ DRAM"));
            self.buffers.push(Buffer { name: name.into(), dims, raw: false });
        }
        self.other_argument(&mut args);
        self.push(0, format!("def p({}):", args.join(", ")));
        for assertion in asserts {
            self.push(1, assertion);
        }
        let favoured = self.left - self.random.between(0, 2);
        while self.left > 0 {
            if self.left == favoured && self.chance(75) {
                self.favoured(1, favourite);
            }
            self.statement(1);
        }
        self.lines.join("\n") + "\n"
    }

    fn extent(&mut self) -> Extent {
        if !self.sizes.is_empty() && self.chance(60) {
            let size = self.random.below(self.sizes.len() as u64) as usize;
            let plus = if self.chance(15) { 1 } else { 0 };
            return Extent { size: Some(size), plus };
        }
        Extent::literal(self.choose(&[1, 2, 3, 4, 4, 6, 8, 8, 12]).unwrap_or(4))
    }

    /// An extent where it bounds a loop or a window.
    fn bound_text(&mut self, extent: Extent) -> String {
        let slip = self.slip();
        self.extent_text(Extent { plus: extent.plus + slip, ..extent })
    }

    fn extent_text(&self, extent: Extent) -> String {
        let Some(size) = extent.size.and_then(|at| self.sizes.get(at)) else { return extent.plus.to_string() };
        with_offset(size.name, extent.plus)
    }

    /// The smallest value that an extent can have.
    fn least(&self, extent: Extent) -> i64 {
        extent.size.and_then(|at| self.sizes.get(at)).map_or(0, |size| size.at_least) + extent.plus
    }

    fn block(&mut self, depth: usize, count: i64) {
        let (runners, buffers) = (self.runners.len(), self.buffers.len());
        let from = self.lines.len();
        for _ in 0..count {
            if self.left > -4 {
                self.statement(depth);
            }
        }
        if self.lines.len() == from {
            self.push(depth, "pass");
        }
        self.runners.truncate(runners);
        self.buffers.truncate(buffers);
    }

    fn open_loop(&mut self, depth: usize, iter: &str, hi: Extent) {
        let hi = self.bound_text(hi);
        self.push(depth, format!("for {iter} in seq(0, {hi}):"));
    }

    fn inner_count(&mut self) -> i64 {
        self.choose(&[1, 1, 1, 2, 2, 3]).unwrap_or(1)
    }

    fn statement(&mut self, depth: usize) {
        self.left -= 1;
        let deep = depth > 4;
        match self.random.below(100) {
            0..=21 => self.write(depth),
            22..=49 if !deep => self.one_loop(depth),
            50..=55 if !deep => self.tiled(depth),
            56..=63 if !deep => self.guarded(depth),
            64..=71 => self.temporary(depth),
            72..=77 => self.window(depth),
            78..=84 => self.call(depth),
            85..=99 => self.idiom(depth),
            _ => self.write(depth),
        }
    }

    fn write(&mut self, depth: usize) {
        let buffer = self.buffer();
        let place = self.place(&buffer);
        let value = self.data(2);
        let op = if buffer.raw || self.chance(55) { "=" } else { "+=" };
        self.push(depth, format!("{place} {op} {value}"));
    }

    fn one_loop(&mut self, depth: usize) {
        let name = self.choose(&["i", "j", "l"]).unwrap_or("i");
        // A fresh spelling most of the time; shadowing now and then.
        let name = if self.chance(90) { self.name(name) } else { name.to_string() };
        let shadowed = self.runners.iter().any(|runner| runner.text.split(' ').any(|word| word == name));
        let name = if shadowed { self.name("s") } else { name };
        let runners = self.runners.clone();
        let outer = self.choose(&runners);
        let (lo, hi, runner) = match (self.random.below(12), outer) {
            (0, Some(outer)) => ("0".to_string(), with_offset(&outer.text, 1), Runner { lo: 0, ..outer }),
            // It may not run at all.
            (4, Some(outer)) if outer.lo >= 0 => ("0".to_string(), outer.text.clone(), Runner { lo: 0, ..outer }),
            (1, Some(outer)) => (outer.text.clone(), self.extent_text(outer.hi), outer),
            (2, _) => {
                let hi = self.extent();
                let lo = (self.least(hi) - 1).clamp(0, 2);
                (lo.to_string(), self.extent_text(hi), Runner { text: String::new(), lo, hi })
            }
            (3, _) => {
                let hi = self.extent();
                let hi = Extent { plus: hi.plus - i64::from(self.least(hi) > 1), ..hi };
                ("0".to_string(), self.bound_text(hi), Runner { text: String::new(), lo: 0, hi })
            }
            (_, _) => {
                let hi = self.shared_extent();
                ("0".to_string(), self.bound_text(hi), Runner { text: String::new(), lo: 0, hi })
            }
        };
        self.push(depth, format!("for {name} in seq({lo}, {hi}):"));
        self.runners.push(Runner { text: name, ..runner });
        let count = self.inner_count();
        self.block(depth + 1, count);
        self.runners.pop();
    }

    /// An extent of some buffer, so that the iterator can index it.
    fn shared_extent(&mut self) -> Extent {
        let dims: Vec<Extent> = self.buffers.iter().flat_map(|buffer| buffer.dims.iter().copied()).collect();
        match self.choose(&dims) {
            Some(dim) if !self.chance(10) => dim,
            Some(_) | None => self.extent(),
        }
    }

    fn tiled(&mut self, depth: usize) {
        let hi = self.shared_extent();
        let tile = self.choose(&[2, 4]).unwrap_or(4);
        let (outer, inner) = (self.name("io"), self.name("ii"));
        let divides = match hi.size.and_then(|at| self.sizes.get(at)) {
            Some(size) => hi.plus == 0 && size.multiple_of % tile == 0,
            None => hi.plus % tile == 0,
        };
        let whole = self.extent_text(hi);
        let bound = match (hi.size, divides) {
            (None, true) => (hi.plus / tile).to_string(),
            (None, false) => ((hi.plus + tile - 1) / tile).to_string(),
            (Some(_), true) => format!("{} / {tile}", parenthesised(&whole)),
            (Some(_), false) => format!("{} / {tile}", parenthesised(&format!("{whole} + {}", tile - 1))),
        };
        let sum = format!("{tile} * {outer} + {inner}");
        self.push(depth, format!("for {outer} in seq(0, {bound}):"));
        self.push(depth + 1, format!("for {inner} in seq(0, {tile}):"));
        let mut at = depth + 2;
        if !divides {
            self.push(at, format!("if {sum} < {whole}:"));
            at += 1;
        }
        self.runners.push(Runner { text: inner, lo: 0, hi: Extent::literal(tile) });
        self.runners.push(Runner { text: sum, lo: 0, hi });
        let count = self.inner_count();
        self.block(at, count);
        self.runners.truncate(self.runners.len().saturating_sub(2));
    }

    fn guarded(&mut self, depth: usize) {
        let Some((condition, inside)) = self.condition() else { return self.write(depth) };
        self.push(depth, format!("if {condition}:"));
        let narrowed = inside.is_some();
        self.runners.extend(inside);
        let count = self.inner_count();
        self.block(depth + 1, count);
        if narrowed {
            self.runners.pop();
        }
        if self.chance(25) {
            self.push(depth, "else:");
            self.block(depth + 1, 1);
        }
    }

    /// An allocation, filled right away most of the time.
    fn temporary(&mut self, depth: usize) {
        let name = self.name("t");
        let rank = self.random.below(3) as usize;
        let dims: Vec<Extent> = (0..rank).map(|_| self.shared_extent()).collect();
        let shape: Vec<String> = dims.iter().map(|dim| self.extent_text(*dim)).collect();
        let ty = if shape.is_empty() { "f32".to_string() } else { format!("f32[{}]", shape.join(", ")) };
        self.push(depth, format!("{name}: {ty} @ DRAM"));
        let mut idx = Vec::new();
        let before = self.runners.len();
        for (at, (dim, extent)) in dims.iter().zip(&shape).enumerate() {
            let iter = self.name("f");
            self.push(depth + at, format!("for {iter} in seq(0, {extent}):"));
            self.runners.push(Runner { text: iter.clone(), lo: 0, hi: *dim });
            idx.push(iter);
        }
        let place = if idx.is_empty() { name.clone() } else { format!("{name}[{}]", idx.join(", ")) };
        let value = self.data(1);
        self.push(depth + rank, format!("{place} = {value}"));
        self.runners.truncate(before);
        self.buffers.push(Buffer { name, dims, raw: false });
    }

    fn window(&mut self, depth: usize) {
        let shaped: Vec<Buffer> = self.buffers.iter().filter(|buffer| !buffer.dims.is_empty()).cloned().collect();
        let Some(base) = self.choose(&shaped) else { return self.write(depth) };
        let mut dims = Vec::new();
        let mut accesses = Vec::new();
        let last = base.dims.len() - 1;
        for (at, dim) in base.dims.iter().enumerate() {
            if self.chance(40) && !(at == last && dims.is_empty()) {
                accesses.push(self.index(*dim));
                continue;
            }
            let lo = if self.chance(40) { (self.least(*dim) - 1).clamp(0, 1) } else { 0 };
            accesses.push(format!("{lo}:{}", self.bound_text(*dim)));
            dims.push(Extent { plus: dim.plus - lo, ..*dim });
        }
        let name = self.name("w");
        self.push(depth, format!("{name} = {}[{}]", base.name, accesses.join(", ")));
        self.buffers.push(Buffer { name, dims, raw: base.raw });
        self.write(depth);
    }

    /// A row of a buffer: its text as a window, and its extent.
    fn row(&mut self, not: &str) -> Option<(String, String, Extent)> {
        let shaped: Vec<Buffer> =
            self.buffers.iter().filter(|b| !b.dims.is_empty() && b.name != not && !b.raw).cloned().collect();
        let buffer = self.choose(&shaped)?;
        let (last, outer) = buffer.dims.split_last()?;
        let mut accesses: Vec<String> = outer.iter().map(|dim| self.index(*dim)).collect();
        accesses.push(format!("0:{}", self.bound_text(*last)));
        Some((format!("{}[{}]", buffer.name, accesses.join(", ")), buffer.name, *last))
    }

    /// Four neighbouring elements of a buffer as a window.
    fn four(&mut self, not: &[&str]) -> Option<(String, String)> {
        let wide = |generator: &Self, b: &Buffer| b.dims.last().is_some_and(|dim| generator.least(*dim) >= 4);
        let shaped: Vec<Buffer> = self
            .buffers
            .iter()
            .filter(|b| wide(self, b) && !not.contains(&b.name.as_str()) && !b.raw)
            .cloned()
            .collect();
        let buffer = self.choose(&shaped)?;
        let (last, outer) = buffer.dims.split_last()?;
        let mut accesses: Vec<String> = outer.iter().map(|dim| self.index(*dim)).collect();
        let lo = self.random.between(0, self.least(*last) - 4);
        accesses.push(format!("{lo}:{}", lo + 4));
        Some((format!("{}[{}]", buffer.name, accesses.join(", ")), buffer.name))
    }

    fn call(&mut self, depth: usize) {
        let line = match self.random.below(12) {
            0 => self.four(&[]).map(|(d, _)| format!("zero4({d})")),
            1 => self.four(&[]).and_then(|(d, own)| {
                let (s, _) = self.four(&[&own])?;
                Some(format!("copy4({d}, {s})"))
            }),
            2 => self.four(&[]).and_then(|(d, own)| {
                let (a, other) = self.four(&[&own])?;
                let (b, _) = self.four(&[&own, &other])?;
                Some(format!("fma4({d}, {a}, {b})"))
            }),
            3 => self.row("").and_then(|(d, own, extent)| {
                let (s, _, other) = self.row(&own)?;
                (extent == other).then(|| format!("add_row({}, {d}, {s})", self.extent_text(extent)))
            }),
            4 => self.row("").and_then(|(d, own, extent)| {
                let scalars: Vec<Buffer> =
                    self.buffers.iter().filter(|b| b.dims.is_empty() && b.name != own && !b.raw).cloned().collect();
                let c = self.choose(&scalars)?;
                Some(format!("fill_row({}, {d}, {})", self.extent_text(extent), c.name))
            }),
            5 => {
                let runners: Vec<Runner> = self.runners.iter().filter(|r| r.lo >= 0).cloned().collect();
                let w = self.choose(&runners).map_or("2".to_string(), |runner| runner.text);
                self.row("").map(|(d, _, extent)| format!("masked({}, {w}, {d})", self.extent_text(extent)))
            }
            6 => {
                let scalars: Vec<Buffer> =
                    self.buffers.iter().filter(|b| b.dims.is_empty() && !b.raw).cloned().collect();
                self.choose(&scalars).map(|buffer| format!("bump({})", buffer.name))
            }
            _ => self.deeper_call(),
        };
        match line {
            Some(line) => self.push(depth, line),
            None => self.write(depth),
        }
    }
}

/// `text + by`, without adding zero.
fn with_offset(text: &str, by: i64) -> String {
    match by {
        0 => text.to_string(),
        1.. => format!("{text} + {by}"),
        _ => format!("{text} - {}", -by),
    }
}

fn parenthesised(text: &str) -> String {
    if text.contains(' ') { format!("({text})") } else { text.to_string() }
}
