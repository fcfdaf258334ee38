//! Shapes of code that single operators are made for, so that schedules get somewhere.

use super::storage::element_of;
use super::{Buffer, Extent, Generator, Runner};

impl Generator<'_> {
    /// A shape that some operator is made for.
    pub(super) fn idiom(&mut self, depth: usize) {
        match self.random.below(26) {
            0 => self.instruction_shape(depth),
            1 => self.dot_product(depth),
            2 => self.neighbours(depth),
            3 => self.two_writes(depth),
            4 => self.self_update(depth),
            5 => self.repeated(depth),
            6 => self.parallel(depth),
            7 => self.counted(depth),
            8 => self.producer(depth),
            9 => self.adjacent_guards(depth),
            10 => self.nest(depth),
            11 => self.unused(depth),
            12 => self.two_lives(depth),
            13 => self.small_array(depth),
            14 => self.decided(depth),
            15 => self.carried(depth),
            16 => self.strided(depth),
            17 => self.aliased(depth),
            18 => self.converted(depth),
            19 => self.register(depth),
            20 => self.window_chain(depth),
            21 => self.stride_branch(depth),
            22 => self.parallel_rows(depth),
            23 | 24 => self.configured(depth),
            _ => {
                self.push(depth, "pass");
                self.write(depth);
            }
        }
    }

    /// The shape for one operator, or any.
    pub(super) fn favoured(&mut self, depth: usize, operator: &str) {
        match operator {
            "set_memory" | "replace" | "replace_all" if self.random.one_in(3) => self.register(depth),
            "replace" | "replace_all" => self.instruction_shape(depth),
            "lift_reduce_constant" => self.dot_product(depth),
            "fuse" | "fission" | "autofission" if self.random.one_in(3) => self.configured(depth),
            "fuse" | "join_loops" => self.neighbours(depth),
            "merge_writes" => self.two_writes(depth),
            "fold_into_reduce" => self.self_update(depth),
            "remove_loop" => self.repeated(depth),
            "sink_alloc" if self.random.one_in(2) => self.carried(depth),
            "stage_mem" if self.random.one_in(3) => self.window_chain(depth),
            "stage_mem" if self.random.one_in(2) => self.aliased(depth),
            "set_precision" if self.random.one_in(2) => self.converted(depth),
            "parallelize_loop" if self.random.one_in(2) => self.parallel_rows(depth),
            "stage_mem" => self.strided(depth),
            "sink_alloc" | "lift_alloc" | "autolift_alloc" | "inline_assign" => self.producer(depth),
            "reorder_loops" | "lift_scope" if self.random.one_in(4) => self.crossing(depth),
            "reorder_loops" | "mult_loops" | "lift_scope" => self.nest(depth),
            "write_config" | "bind_config" | "delete_config" => self.configured(depth),
            "delete_buffer" => self.unused(depth),
            "reuse_buffer" => self.two_lives(depth),
            "unroll_buffer" | "mult_dim" => self.small_array(depth),
            "eliminate_dead_code" => self.decided(depth),
            "call_eqv" | "inline" => self.call(depth),
            "inline_window" if self.random.one_in(2) => self.window_chain(depth),
            "inline_window" => self.window(depth),
            _ => self.idiom(depth),
        }
    }

    /// A loop whose extent would be negative, were there no iteration of the one around it.
    fn crossing(&mut self, depth: usize) {
        let index = self.runners.iter().find(|runner| runner.text == "k" && runner.lo == 0).cloned();
        let Some(Runner { hi, .. }) = index else { return self.nest(depth) };
        let (outer, inner) = (self.name("o"), self.name("b"));
        self.push(depth, format!("for {outer} in seq(0, k):"));
        self.push(depth + 1, format!("for {inner} in seq(0, k - 1):"));
        self.runners.push(Runner { text: inner, lo: 0, hi });
        self.write(depth + 2);
        self.runners.pop();
    }

    /// A buffer that nobody uses.
    fn unused(&mut self, depth: usize) {
        let name = self.name("d");
        self.push(depth, format!("{name}: f32[8] @ DRAM"));
    }

    /// Two temporaries of one type, the second alive when the first is no longer used (mostly).
    fn two_lives(&mut self, depth: usize) {
        let dim = self.shared_extent();
        let extent = self.extent_text(dim);
        let before = self.buffers.len();
        for _ in 0..2 {
            let (name, iter) = (self.name("t"), self.name("f"));
            let value = self.data(1);
            self.push(depth, format!("{name}: f32[{extent}] @ DRAM"));
            self.push(depth, format!("for {iter} in seq(0, {extent}):"));
            self.push(depth + 1, format!("{name}[{iter}] = {value}"));
            let targets: Vec<Buffer> = self.buffers.iter().filter(|buffer| !buffer.raw).cloned().collect();
            if let Some(target) = self.choose(&targets) {
                let place = self.place(&target);
                self.push(depth, format!("{place} += {name}[0]"));
            }
            // Seldom in scope for what follows, so that it dies here.
            if self.chance(15) {
                self.buffers.push(Buffer { name, dims: vec![dim], raw: false });
            }
        }
        self.buffers.truncate(before);
    }

    /// A small array with literal indices only.
    fn small_array(&mut self, depth: usize) {
        let name = self.name("s");
        let (rows, columns) = (self.random.between(1, 3), self.random.between(1, 3));
        let flat = self.chance(50);
        let shape = if flat { rows.to_string() } else { format!("{rows}, {columns}") };
        self.push(depth, format!("{name}: f32[{shape}] @ DRAM"));
        for row in 0..rows {
            for column in 0..if flat { 1 } else { columns } {
                let value = self.data(1);
                let idx = if flat { row.to_string() } else { format!("{row}, {column}") };
                self.push(depth, format!("{name}[{idx}] = {value}"));
            }
        }
        let (row, column) = (self.random.between(0, rows - 1), self.random.between(0, columns - 1));
        let idx = if flat { row.to_string() } else { format!("{row}, {column}") };
        let target = self.buffer();
        let place = self.place(&target);
        self.push(depth, format!("{place} = {name}[{idx}]"));
    }

    /// A temporary that carries a value from one iteration to the next.
    fn carried(&mut self, depth: usize) {
        let (name, iter) = (self.name("run"), self.name("k"));
        let hi = self.shared_extent();
        self.push(depth, format!("{name}: f32 @ DRAM"));
        if self.chance(30) {
            self.push(depth, format!("{name} = 0.0"));
        }
        self.open_loop(depth, &iter, hi);
        self.push(depth + 1, format!("if {iter} == 0:"));
        self.push(depth + 2, format!("{name} = 1.0"));
        self.runners.push(Runner { text: iter, lo: 0, hi });
        let value = self.data(1);
        let op = if self.chance(60) { "+=" } else { "=" };
        self.push(depth + 1, format!("{name} {op} {value}"));
        let target = self.buffer();
        let place = self.place(&target);
        self.push(depth + 1, format!("{place} = {name}"));
        self.runners.pop();
    }

    /// Writes that leave elements out: every second one, or those that a guard admits.
    fn strided(&mut self, depth: usize) {
        let vectors: Vec<Buffer> = self
            .buffers
            .iter()
            .filter(|buffer| {
                buffer.dims.len() == 1 && !buffer.raw && buffer.dims.iter().all(|dim| self.least(*dim) > 1)
            })
            .cloned()
            .collect();
        let Some(buffer) = self.choose(&vectors) else { return self.write(depth) };
        let Some(dim) = buffer.dims.first().copied() else { return };
        let half = self.least(dim) / 2;
        let iter = self.name("h");
        self.push(depth, format!("for {iter} in seq(0, {half}):"));
        self.runners.push(Runner { text: iter.clone(), lo: 0, hi: Extent::literal(half) });
        let value = self.data(1);
        let op = if self.chance(70) { "=" } else { "+=" };
        match self.random.below(3) {
            0 => self.push(depth + 1, format!("{}[2 * {iter}] {op} {value}", buffer.name)),
            1 => self.push(depth + 1, format!("{}[2 * {iter} + 1] {op} {value}", buffer.name)),
            _ => {
                let condition = self.condition().map_or(format!("{iter} == 1"), |(condition, _)| condition);
                self.push(depth + 1, format!("if {condition}:"));
                self.push(depth + 2, format!("{}[{iter}] {op} {value}", buffer.name));
            }
        }
        self.runners.pop();
    }

    /// One loop that writes a buffer under two names.
    fn aliased(&mut self, depth: usize) {
        let vectors: Vec<Buffer> = self
            .buffers
            .iter()
            .filter(|buffer| {
                buffer.dims.len() == 1 && !buffer.raw && buffer.dims.iter().all(|dim| self.least(*dim) > 2)
            })
            .cloned()
            .collect();
        let Some(buffer) = self.choose(&vectors) else { return self.window(depth) };
        let Some(dim) = buffer.dims.first().copied() else { return };
        let (name, iter) = (self.name("w"), self.name("h"));
        let count = self.least(dim) - 2;
        self.push(depth, format!("{name} = {}[1:{}]", buffer.name, self.extent_text(dim)));
        self.push(depth, format!("for {iter} in seq(0, {count}):"));
        let (first, second) = (self.factor(1), self.factor(1));
        self.push(depth + 1, format!("{name}[{iter}] = {first}"));
        let offset = self.random.between(0, 2);
        self.push(depth + 1, format!("{}[{}] += {second}", buffer.name, super::with_offset(&iter, offset)));
    }

    /// A branch or a loop whose condition is decided already.
    fn decided(&mut self, depth: usize) {
        let runners = self.runners.clone();
        match (self.choose(&runners), self.random.below(3)) {
            (Some(runner), 0 | 1) => {
                let condition = match self.random.below(3) {
                    0 => format!("{} >= {}", runner.text, runner.lo),
                    1 => format!("{} < {}", runner.text, self.extent_text(runner.hi)),
                    _ => format!("{} < {}", runner.text, runner.lo),
                };
                self.push(depth, format!("if {condition}:"));
                self.write(depth + 1);
                if self.chance(50) {
                    self.push(depth, "else:");
                    self.write(depth + 1);
                }
            }
            (Some(_) | None, _) => {
                let at = self.random.between(0, 4);
                let iter = self.name("z");
                self.push(depth, format!("for {iter} in seq({at}, {at}):"));
                self.write(depth + 1);
            }
        }
    }

    /// What `replace` finds instructions in.
    fn instruction_shape(&mut self, depth: usize) {
        let found = self.four(&[]).and_then(|(d, own)| Some((d, self.four(&[&own])?.0)));
        let Some((d, s)) = found else { return self.write(depth) };
        let iter = self.name("v");
        let element = |window: &str| element_of(window, &iter);
        let (d, s) = (element(&d), element(&s));
        self.push(depth, format!("for {iter} in seq(0, 4):"));
        let line = match self.random.below(3) {
            0 => format!("{d} = {s}"),
            1 => format!("{d} = 0.0"),
            _ => format!("{d} += {s} * {s}"),
        };
        self.push(depth + 1, line);
    }

    /// `a = 0; for: a += c * x`.
    fn dot_product(&mut self, depth: usize) {
        let scalars: Vec<Buffer> = self.buffers.iter().filter(|b| b.dims.is_empty()).cloned().collect();
        let Some(target) = self.choose(&scalars) else { return self.temporary(depth) };
        let hi = self.shared_extent();
        let iter = self.name("r");
        let start = if self.chance(80) { "0.0".to_string() } else { self.literal() };
        self.push(depth, format!("{} = {start}", target.name));
        self.open_loop(depth, &iter, hi);
        self.runners.push(Runner { text: iter, lo: 0, hi });
        let others: Vec<Buffer> = self.buffers.iter().filter(|b| b.name != target.name && !b.raw).cloned().collect();
        let value = match self.choose(&others) {
            Some(buffer) => self.place(&buffer),
            None => self.literal(),
        };
        let factor = self.reduction_factor(&others);
        let inside = match self.random.below(4) {
            0 => self.condition().map(|(condition, _)| condition),
            _ => None,
        };
        if let Some(condition) = &inside {
            self.push(depth + 1, format!("if {condition}:"));
        }
        let at = depth + 1 + usize::from(inside.is_some());
        self.push(at, format!("{} += {factor} * {value}", target.name));
        self.runners.pop();
    }

    /// What every term of a sum may be multiplied by: a literal, or an element that the loop keeps and may never read.
    fn reduction_factor(&mut self, others: &[Buffer]) -> String {
        match self.choose(others) {
            Some(buffer) if self.chance(60) => {
                let runner = self.runners.pop();
                let place = self.place(&buffer);
                self.runners.extend(runner);
                place
            }
            Some(_) | None => self.literal(),
        }
    }

    /// Two loops over the same range, one behind the other: fusible, sometimes.
    fn neighbours(&mut self, depth: usize) {
        let hi = self.shared_extent();
        let same = self.chance(30);
        let split = hi.size.is_none() && hi.plus > 2 && self.chance(50);
        let text = self.extent_text(hi);
        let from = self.lines.len();
        let iter = self.name("a");
        let first = if split { (hi.plus / 2).to_string() } else { text.clone() };
        self.push(depth, format!("for {iter} in seq(0, {first}):"));
        self.runners.push(Runner { text: iter.clone(), lo: 0, hi });
        self.write(depth + 1);
        if same || split {
            let lines: Vec<String> = self.lines.iter().skip(from + 1).cloned().collect();
            let lo = if split { first } else { "0".to_string() };
            self.push(depth, format!("for {iter} in seq({lo}, {text}):"));
            self.lines.extend(lines);
        } else {
            self.runners.pop();
            let iter = self.name("b");
            self.push(depth, format!("for {iter} in seq(0, {text}):"));
            self.runners.push(Runner { text: iter, lo: 0, hi });
            self.write(depth + 1);
        }
        self.runners.pop();
    }

    fn two_writes(&mut self, depth: usize) {
        let buffer = self.buffer();
        let place = self.place(&buffer);
        let ops = if buffer.raw { ["=", "+="] } else { ["+=", "+="] };
        for op in ops {
            let op = if self.chance(40) { "=" } else { op };
            let value = self.data(1);
            self.push(depth, format!("{place} {op} {value}"));
        }
    }

    fn self_update(&mut self, depth: usize) {
        let ready: Vec<Buffer> = self.buffers.iter().filter(|buffer| !buffer.raw).cloned().collect();
        let Some(buffer) = self.choose(&ready) else { return self.write(depth) };
        let place = self.place(&buffer);
        let value = self.factor(1);
        let line = if self.chance(70) {
            format!("{place} = {place} + {value}")
        } else {
            format!("{place} = {value} + {place}")
        };
        self.push(depth, line);
    }

    /// A loop whose body does not depend on the iterator.
    fn repeated(&mut self, depth: usize) {
        let hi = self.extent();
        let iter = self.name("o");
        self.open_loop(depth, &iter, hi);
        let buffer = self.buffer();
        let place = self.place(&buffer);
        let value = self.data(1);
        self.push(depth + 1, format!("{place} = {value}"));
    }

    pub(super) fn parallel(&mut self, depth: usize) {
        let vectors: Vec<Buffer> = self.buffers.iter().filter(|buffer| !buffer.dims.is_empty()).cloned().collect();
        let Some(buffer) = self.choose(&vectors) else { return self.write(depth) };
        let Some((first, rest)) = buffer.dims.split_first() else { return };
        let iter = self.name("q");
        let mut idx = vec![iter.clone()];
        idx.extend(rest.iter().map(|dim| self.index(*dim)));
        let value = self.literal();
        let hi = self.bound_text(*first);
        self.push(depth, format!("for {iter} in par(0, {hi}):"));
        self.push(depth + 1, format!("{}[{}] = {value}", buffer.name, idx.join(", ")));
    }

    /// A short loop with literal bounds, not from zero now and then.
    fn counted(&mut self, depth: usize) {
        let lo = if self.chance(40) { self.random.between(1, 2) } else { 0 };
        let hi = lo + self.random.between(1, 4);
        let iter = self.name("c");
        self.push(depth, format!("for {iter} in seq({lo}, {hi}):"));
        self.runners.push(Runner { text: iter, lo, hi: Extent::literal(hi) });
        let count = self.inner_count();
        self.block(depth + 1, count);
        self.runners.pop();
    }

    /// A temporary filled by one loop and read by the next.
    fn producer(&mut self, depth: usize) {
        self.temporary(depth);
        let Some(temporary) = self.buffers.last().cloned() else { return };
        let before = self.runners.len();
        let mut at = depth;
        for dim in &temporary.dims {
            let iter = self.name("g");
            self.open_loop(at, &iter, *dim);
            self.runners.push(Runner { text: iter, lo: 0, hi: *dim });
            at += 1;
        }
        let idx: Vec<String> = self.runners.iter().skip(before).map(|runner| runner.text.clone()).collect();
        let read =
            if idx.is_empty() { temporary.name.clone() } else { format!("{}[{}]", temporary.name, idx.join(", ")) };
        let others: Vec<Buffer> = self.buffers.iter().filter(|b| b.name != temporary.name).cloned().collect();
        if let Some(target) = self.choose(&others) {
            let place = self.place(&target);
            let extra = self.factor(1);
            self.push(at, format!("{place} {} {read} * {extra}", if target.raw { "=" } else { "+=" }));
        } else {
            self.push(at, "pass");
        }
        self.runners.truncate(before);
    }

    /// Two branches on one condition.
    fn adjacent_guards(&mut self, depth: usize) {
        let Some((condition, _)) = self.condition() else { return self.write(depth) };
        for _ in 0..2 {
            self.push(depth, format!("if {condition}:"));
            self.write(depth + 1);
        }
    }

    /// Perfectly nested loops over one buffer's dimensions.
    fn nest(&mut self, depth: usize) {
        let matrices: Vec<Buffer> = self.buffers.iter().filter(|buffer| buffer.dims.len() > 1).cloned().collect();
        let Some(buffer) = self.choose(&matrices) else { return self.one_loop(depth) };
        let before = self.runners.len();
        for (at, dim) in buffer.dims.iter().enumerate() {
            let iter = self.name("e");
            self.open_loop(depth + at, &iter, *dim);
            self.runners.push(Runner { text: iter, lo: 0, hi: *dim });
        }
        let idx: Vec<String> = self.runners.iter().skip(before).map(|runner| runner.text.clone()).collect();
        let value = self.data(2);
        let op = if self.chance(50) { "=" } else { "+=" };
        self.push(depth + buffer.dims.len(), format!("{}[{}] {op} {value}", buffer.name, idx.join(", ")));
        self.runners.truncate(before);
    }
}
