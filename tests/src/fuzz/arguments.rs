//! Random arguments for any operator, by the kinds of its parameters, with a taste for those that may be accepted.

use exo_compiler::cursor::path;
use exo_compiler::cursor::{BlockPlace, GapPlace, Path, Place, Side, Step};
use exo_compiler::hardware::config::ConfigField;
use exo_compiler::hardware::precision::Precision;
use exo_compiler::interpret::random::Random;
use exo_compiler::loop_ir::configuration::Touched;
use exo_compiler::loop_ir::{
    ArgType, BinaryOp, Block, Control, Expr, ExprKind, Proc, Stmt, StmtKind, Ty, build, visit,
};
use exo_compiler::print::Names;
use exo_compiler::schedule::apply::RawArguments;
use exo_compiler::schedule::argument::RawValue;
use exo_compiler::schedule::{Cursor, Kind, Operator, Procedure};
use exo_compiler::symbol::Sym;

use super::front::{config, memories};
use super::places::{Visible, accesses, expressions, statements, visible};
use super::shape::shape;

/// Chooses the arguments of one call.
pub struct Chooser<'a> {
    procedure: &'a Procedure,
    /// What a `Procedure` parameter may get.
    library: &'a [Procedure],
    random: &'a mut Random,
    operator: &'static str,
    /// Places chosen so far, by parameter.
    places: Vec<(&'static str, Place)>,
    /// Which enclosing loop extent and index of one call refer to.
    paired: usize,
    /// The dimension given last.
    dim: i64,
}

impl<'a> Chooser<'a> {
    pub fn new(procedure: &'a Procedure, library: &'a [Procedure], random: &'a mut Random) -> Self {
        let paired = random.below(8) as usize;
        Chooser { procedure, library, random, operator: "", places: Vec::new(), paired, dim: 0 }
    }

    /// Arguments for a call, all by name. `None` when the proc has nothing of a kind that is needed.
    pub fn arguments(&mut self, operator: &dyn Operator) -> Option<RawArguments> {
        self.operator = operator.name();
        let mut raw = RawArguments::default();
        if self.operator == "partial_eval" && !self.random.one_in(8) {
            return self.fixed_controls();
        }
        for parameter in operator.parameters() {
            // A waived check proves nothing.
            if parameter.default.is_some() && (parameter.name.starts_with("unsafe") || self.random.one_in(2)) {
                continue;
            }
            let value = self.value(&parameter.kind, parameter.name)?;
            raw.named.push((parameter.name.to_string(), value));
        }
        if self.random.one_in(25) {
            self.spoil(&mut raw);
        }
        Some(raw)
    }

    /// Puts something that no operator can use in the place of one argument, or adds an argument.
    fn spoil(&mut self, raw: &mut RawArguments) {
        let elsewhere = Place::Node(Path(vec![Step::Body(99)]));
        let cursor = |place| RawValue::Cursor(Cursor { procedure: self.procedure.clone(), place });
        let nonsense = [
            RawValue::None,
            RawValue::Text("_".into()),
            RawValue::Text("x[".into()),
            RawValue::Int(-3),
            RawValue::List(Vec::new()),
            RawValue::Other("struct".into()),
            cursor(Place::Invalid),
            cursor(elsewhere),
        ];
        let Some(value) = self.random.pick(&nonsense).cloned() else { return };
        let at = self.random.below(raw.named.len() as u64 + 1) as usize;
        match raw.named.get_mut(at) {
            Some((_, slot)) => *slot = value,
            None => raw.named.push(("nonsense".to_string(), value)),
        }
    }

    /// Values for some of the control arguments.
    fn fixed_controls(&mut self) -> Option<RawArguments> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for arg in &self.proc().args {
            let ArgType::Control(control) = &arg.ty else { continue };
            if self.random.one_in(3) {
                continue;
            }
            names.push(RawValue::Text(arg.name.name().to_string()));
            values.push(RawValue::Int(match control {
                Control::Bool => self.random.between(0, 1),
                Control::Size | Control::Index | Control::Int | Control::Stride => self.random.between(0, 12),
            }));
        }
        let named =
            vec![("names".to_string(), RawValue::List(names.clone())), ("values".to_string(), RawValue::List(values))];
        (!names.is_empty()).then(|| RawArguments { named, ..RawArguments::default() })
    }

    fn proc(&self) -> &'a Proc {
        self.procedure.ir()
    }

    /// A configuration field that the proc uses.
    fn config_field(&mut self) -> Option<ConfigField> {
        let used: Vec<ConfigField> = Touched::by_proc(self.proc()).all().into_iter().collect();
        match self.random.pick(&used).cloned() {
            Some(field) if !self.chance(25) => Some(field),
            Some(_) | None => self.random.pick(&config().fields()).cloned(),
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn word(&mut self, words: &[&str]) -> String {
        self.random.pick(words).copied().unwrap_or_default().to_string()
    }

    fn cursor(&mut self, parameter: &'static str, place: Place) -> RawValue {
        self.places.push((parameter, place.clone()));
        RawValue::Cursor(Cursor { procedure: self.procedure.clone(), place })
    }

    fn value(&mut self, kind: &Kind, parameter: &'static str) -> Option<RawValue> {
        match kind {
            Kind::Name => Some(RawValue::Text(self.name())),
            Kind::Int => self.dimension(parameter).map(RawValue::Int),
            Kind::PositiveInt => Some(RawValue::Int(self.random.pick(&[1, 1, 2, 2, 3, 4, 4, 8]).copied()?)),
            Kind::Bool => Some(RawValue::Bool(self.random.one_in(2))),
            Kind::Text => Some(RawValue::Text(self.text())),
            Kind::Word(words) => Some(RawValue::Text(self.word(words))),
            Kind::Optional(inner) => {
                if self.chance(30) {
                    return Some(RawValue::None);
                }
                self.value(inner, parameter)
            }
            Kind::List(inner, length) => self.list(inner, *length, parameter),
            Kind::ListOrOne(inner) => {
                if self.chance(60) {
                    return self.value(inner, parameter);
                }
                self.list(inner, None, parameter)
            }
            Kind::Memory => self.random.pick(&memories()).cloned().map(RawValue::Memory),
            Kind::Precision => self.random.pick(&Precision::ALL).copied().map(RawValue::Precision),
            Kind::Config => self.config_field().map(|field| RawValue::Config(field.config().clone())),
            Kind::ConfigField(_) => self.config_field().map(|field| RawValue::Text(field.name().to_string())),
            Kind::Procedure => self.callee().map(RawValue::Procedure),
            Kind::Stmt => self.statement(parameter, &|_| true),
            Kind::Block(size) => self.block(parameter, *size),
            Kind::Gap => self.gap(parameter),
            Kind::For => self.statement(parameter, &|stmt| matches!(stmt.kind, StmtKind::For { .. })),
            Kind::ForOrIf => {
                self.statement(parameter, &|stmt| matches!(stmt.kind, StmtKind::For { .. } | StmtKind::If { .. }))
            }
            Kind::NestedFor => self.statement(parameter, &|stmt| {
                matches!(&stmt.kind, StmtKind::For { body, .. }
                    if matches!(body.only(), Some(only) if matches!(only.kind, StmtKind::For { .. })))
            }),
            Kind::Alloc => self.alloc(parameter),
            Kind::Arg => self.arg(parameter),
            Kind::ArgOrAlloc => {
                if self.chance(50) {
                    return self.arg(parameter);
                }
                self.statement(parameter, &|stmt| matches!(stmt.kind, StmtKind::Alloc { .. }))
            }
            Kind::Assign => self.write(parameter, false),
            Kind::AssignOrReduce => self.write(parameter, true),
            Kind::Call => self.statement(parameter, &|stmt| matches!(stmt.kind, StmtKind::Call { .. })),
            Kind::WindowStmt => self.statement(parameter, &|stmt| matches!(stmt.kind, StmtKind::Window { .. })),
            Kind::Expr => self.expr(parameter),
            Kind::Exprs(_) => self.exprs(parameter),
            Kind::NewExprOrWindow(context) if self.chance(80) => {
                let at = self.context(context)?;
                self.window(&at).map(RawValue::Text)
            }
            Kind::NewExpr(context) | Kind::NewExprOrWindow(context) => {
                let at = self.context(context)?;
                Some(self.new_expr(parameter, &at))
            }
            Kind::Window(context) => {
                let at = self.context(context)?;
                self.window(&at).map(RawValue::Text)
            }
        }
    }

    fn dimension(&mut self, parameter: &'static str) -> Option<i64> {
        if parameter == "lo_dim_idx" {
            return Some(1 - self.dim % 2);
        }
        self.dim = self.random.pick(&[0, 0, 0, 1, 1, 2, -1]).copied()?;
        Some(self.dim)
    }

    /// An allocation that the operator can do something with, mostly.
    fn alloc(&mut self, parameter: &'static str) -> Option<RawValue> {
        let least = match self.operator {
            "divide_dim" | "resize_dim" | "unroll_buffer" => 1,
            "mult_dim" | "rearrange_dim" => 2,
            _ => 0,
        };
        let least = if self.chance(90) { least } else { 0 };
        let unused = self.operator == "delete_buffer" && self.chance(80);
        let proc = self.proc();
        // The second of two allocations: another one, of the same type mostly.
        let first = match self.chosen_statement().map(|stmt| &stmt.kind) {
            Some(StmtKind::Alloc { name, ty, .. }) => Some((name, ty)),
            _ => None,
        };
        self.statement(parameter, &|stmt| match &stmt.kind {
            StmtKind::Alloc { name, ty, .. } => {
                ty.rank() >= least
                    && !(unused && visit::block_mentions(&proc.body, name))
                    && first.is_none_or(|(other, shape)| other != name && shape == ty)
            }
            _ => false,
        })
    }

    /// A new name; now and then one that is taken.
    fn name(&mut self) -> String {
        if self.chance(15) {
            return self.word(&["x", "n", "i", "t", "copy4"]);
        }
        format!("{}{}", self.word(&["a", "b", "io", "tmp", "sub"]), self.random.below(100))
    }

    fn text(&mut self) -> String {
        let sizes: Vec<String> = visible(self.proc(), &Path::root()).sizes;
        match self.random.pick(&sizes).cloned() {
            Some(size) => {
                let bound = self.random.between(1, 4);
                self.word(&[&format!("{size} >= {bound}"), &format!("{size} % 2 == 0"), &format!("{size} == 8")])
            }
            None => "x();".to_string(),
        }
    }

    fn list(&mut self, inner: &Kind, length: Option<usize>, parameter: &'static str) -> Option<RawValue> {
        if let (Kind::Int, None) = (inner, length) {
            // Dimensions of the buffer chosen before, in some order.
            let rank = self.rank_of_chosen().unwrap_or(2);
            let mut dims: Vec<i64> = (0..rank as i64).collect();
            self.random.shuffle(&mut dims);
            if self.chance(8) {
                dims.pop();
            }
            return Some(RawValue::List(dims.into_iter().map(RawValue::Int).collect()));
        }
        let most = if self.operator == "insert_noop_call" { 1 } else { 2 };
        let length = length.unwrap_or(1 + self.random.below(most) as usize);
        let values: Option<Vec<RawValue>> = (0..length).map(|_| self.value(inner, parameter)).collect();
        values.map(RawValue::List)
    }

    fn chosen_statement(&self) -> Option<&'a Stmt> {
        self.places.iter().rev().find_map(|(_, place)| match place {
            Place::Node(path) => path::stmt(self.proc(), path),
            _ => None,
        })
    }

    fn rank_of_chosen(&self) -> Option<usize> {
        match &self.chosen_statement()?.kind {
            StmtKind::Alloc { ty, .. } => Some(ty.rank()),
            _ => None,
        }
    }

    /// A statement of some kind. Behind an earlier statement argument, mostly the next sibling that fits.
    fn statement(&mut self, parameter: &'static str, fits: &dyn Fn(&Stmt) -> bool) -> Option<RawValue> {
        let earlier = self.places.iter().rev().find_map(|(_, place)| match place {
            Place::Node(path) => Some(path.clone()),
            _ => None,
        });
        if let Some(next) = earlier.and_then(|path| path.sibling(1))
            && path::stmt(self.proc(), &next).is_some_and(fits)
            && self.chance(75)
        {
            return Some(self.cursor(parameter, Place::Node(next)));
        }
        let all = statements(self.proc());
        let mut found: Vec<Path> = all.iter().filter(|(_, stmt)| fits(stmt)).map(|(path, _)| path.clone()).collect();
        if matches!(parameter, "loop1_cursor" | "loop1" | "stmt1") && self.chance(80) {
            // The first of two neighbours.
            found.retain(|path| path.sibling(1).and_then(|next| path::stmt(self.proc(), &next)).is_some_and(fits));
        }
        let at = self.random.pick(&found).cloned()?;
        Some(self.cursor(parameter, Place::Node(at)))
    }

    /// A write that the operator can do something with, mostly.
    fn write(&mut self, parameter: &'static str, or_reduce: bool) -> Option<RawValue> {
        let aimed = self.chance(85);
        let operator = self.operator;
        let allocated: Vec<Sym> = statements(self.proc())
            .iter()
            .filter_map(|(_, stmt)| match &stmt.kind {
                StmtKind::Alloc { name, .. } => Some(name.clone()),
                _ => None,
            })
            .collect();
        self.statement(parameter, &|stmt| {
            let (name, rhs) = match &stmt.kind {
                StmtKind::Assign { name, rhs, .. } => (name, rhs),
                StmtKind::Reduce { name, rhs, .. } if or_reduce => (name, rhs),
                _ => return false,
            };
            let sum = match &rhs.kind {
                ExprKind::Binary { op: BinaryOp::Add, lhs, .. } => Some(lhs),
                _ => None,
            };
            !aimed
                || match operator {
                    "split_write" => sum.is_some(),
                    "fold_into_reduce" => sum.is_some_and(|lhs| visit::named(lhs) == Some(name)),
                    "inline_assign" => allocated.contains(name),
                    _ => true,
                }
        })
    }

    /// What a procedure parameter may get: for `call_eqv` a relative of the callee, for `replace` a proc shaped like the
    /// block, mostly.
    fn callee(&mut self) -> Option<Procedure> {
        let aimed = self.chance(85);
        let fitting: Vec<&Procedure> = match (self.operator, self.places.last()) {
            ("call_eqv", Some((_, Place::Node(at)))) => match path::stmt(self.proc(), at).map(|stmt| &stmt.kind) {
                Some(StmtKind::Call { callee, .. }) => {
                    self.library.iter().filter(|p| p.ir().lineage.family == callee.lineage.family).collect()
                }
                _ => Vec::new(),
            },
            ("replace", Some((_, Place::Block(block)))) => {
                let wanted = shape(&path::block(self.proc(), block)?);
                self.library.iter().filter(|p| shape(&p.ir().body) == wanted).collect()
            }
            ("insert_noop_call", _) => {
                let idle = |p: &&Procedure| matches!(p.ir().body.only(), Some(s) if matches!(s.kind, StmtKind::Pass));
                self.library.iter().filter(idle).collect()
            }
            _ => Vec::new(),
        };
        match self.random.pick(&fitting) {
            Some(procedure) if aimed => Some((*procedure).clone()),
            Some(_) | None => self.random.pick(self.library).cloned(),
        }
    }

    fn block(&mut self, parameter: &'static str, size: Option<usize>) -> Option<RawValue> {
        let all = statements(self.proc());
        let wanted = match (self.operator, size) {
            (_, Some(size)) => size,
            ("replace" | "add_loop", None) if !self.random.one_in(6) => 1,
            (_, None) => self.random.pick(&[1, 1, 1, 2, 2, 3]).copied()?,
        };
        let shapes: Vec<String> = match self.operator {
            "replace" if !self.random.one_in(6) => self.library.iter().map(|p| shape(&p.ir().body)).collect(),
            _ => Vec::new(),
        };
        let pairs = self.operator == "merge_writes" && !self.random.one_in(6);
        let starts: Vec<BlockPlace> = all
            .iter()
            .filter(|(_, stmt)| shapes.is_empty() || shapes.contains(&shape(&Block::one(stmt.clone()))))
            .filter(|(path, stmt)| {
                let next = path.sibling(1).and_then(|next| path::stmt(self.proc(), &next));
                let target = visit::written_by(stmt);
                !pairs || (target.is_some() && next.is_some_and(|next| visit::written_by(next) == target))
            })
            .filter_map(|(path, _)| BlockPlace::of_statement(path))
            .map(|block| BlockPlace { hi: block.lo + wanted, ..block })
            .filter(|block| path::block(self.proc(), block).is_some_and(|run| run.len() == wanted))
            .collect();
        let block = self.random.pick(&starts).cloned()?;
        Some(self.cursor(parameter, Place::Block(block)))
    }

    fn gap(&mut self, parameter: &'static str) -> Option<RawValue> {
        let mut all: Vec<Path> = statements(self.proc()).into_iter().map(|(path, _)| path).collect();
        if self.operator.contains("fission") && self.chance(85) {
            // Inside a loop and not at the edge of its body.
            all.retain(|path| {
                path.0.len() > 1 && path.sibling(1).is_some_and(|p| path::stmt(self.proc(), &p).is_some())
            });
            let anchor = self.random.pick(&all).cloned()?;
            return Some(self.cursor(parameter, Place::Gap(GapPlace { anchor, side: Side::After })));
        }
        let anchor = self.random.pick(&all).cloned()?;
        let side = if self.random.one_in(2) { Side::Before } else { Side::After };
        Some(self.cursor(parameter, Place::Gap(GapPlace { anchor, side })))
    }

    fn arg(&mut self, parameter: &'static str) -> Option<RawValue> {
        let count = self.proc().args.len() as u64;
        if count == 0 {
            return None;
        }
        let at = self.random.below(count) as usize;
        Some(self.cursor(parameter, Place::Arg(at)))
    }

    /// Expressions that the operator is made for, or any.
    fn pool(&mut self) -> Vec<(Path, Expr)> {
        let all = expressions(self.proc());
        let operator = self.operator;
        let fits = |expr: &Expr| match (operator, &expr.kind) {
            ("commute_expr", ExprKind::Binary { op, .. }) => {
                expr.ty == Ty::Data && matches!(op, BinaryOp::Add | BinaryOp::Mul)
            }
            ("left_reassociate_expr", ExprKind::Binary { op, rhs, .. }) => {
                matches!(&rhs.kind, ExprKind::Binary { op: inner, .. } if inner == op) && expr.ty == Ty::Data
            }
            ("commute_expr" | "left_reassociate_expr", _) => false,
            ("bind_expr", _) => expr.ty == Ty::Data,
            ("rewrite_expr", _) => expr.ty != Ty::Data,
            _ => true,
        };
        let fitting: Vec<(Path, Expr)> = all.iter().filter(|(_, expr)| fits(expr)).cloned().collect();
        if fitting.is_empty() || self.chance(10) { all } else { fitting }
    }

    fn expr(&mut self, parameter: &'static str) -> Option<RawValue> {
        let pool = self.pool();
        let (at, _) = self.random.pick(&pool).cloned()?;
        Some(self.cursor(parameter, Place::Node(at)))
    }

    /// One expression, or all that are written alike, or a few.
    fn exprs(&mut self, parameter: &'static str) -> Option<RawValue> {
        let pool = self.pool();
        let (at, expr) = self.random.pick(&pool).cloned()?;
        if self.chance(40) {
            return Some(RawValue::List(vec![self.cursor(parameter, Place::Node(at))]));
        }
        let alike: Vec<Path> = pool.iter().filter(|(_, other)| *other == expr).map(|(path, _)| path.clone()).collect();
        let count = 1 + self.random.below(alike.len() as u64) as usize;
        let values = alike.into_iter().take(count).map(|path| self.cursor(parameter, Place::Node(path))).collect();
        Some(RawValue::List(values))
    }

    /// The statement that a parameter's text is read in front of.
    fn context(&self, parameter: &str) -> Option<Path> {
        let (_, place) = self.places.iter().find(|(name, _)| *name == parameter)?;
        match place {
            Place::Node(path) => path.statement(),
            Place::Block(block) => Some(block.statement(0)),
            Place::Gap(gap) => Some(gap.anchor.clone()),
            Place::Invalid | Place::Arg(_) | Place::ArgList { .. } | Place::Exprs { .. } => None,
        }
    }

    fn new_expr(&mut self, parameter: &str, at: &Path) -> RawValue {
        let scope = visible(self.proc(), at);
        let names = Names::of(self.proc());
        let stmt = path::stmt(self.proc(), at);
        let text = match (self.operator, stmt.map(|stmt| &stmt.kind)) {
            ("specialize" | "add_unsafe_guard", _) => self.condition(&scope),
            ("cut_loop", Some(StmtKind::For { lo, hi, .. })) => match (build::int_value(lo), build::int_value(hi)) {
                (Some(lo), Some(hi)) => self.random.between(lo - 1, hi + 1).to_string(),
                (_, _) => {
                    let (lo, hi) = (names.expr(lo), names.expr(hi));
                    self.word(&[&format!("{lo} + 1"), &format!("{hi} - 1"), &hi, &lo, "1", "2"])
                }
            },
            ("divide_with_recompute", Some(StmtKind::For { hi, .. })) => {
                let hi = names.expr(hi);
                self.word(&[&format!("({hi}) / 2"), &format!("({hi}) / 4"), "1", "2", &hi])
            }
            ("shift_loop", _) => self.word(&["0", "1", "2", "3", "-1"]),
            ("expand_dim", _) => self.paired_text(parameter, &scope),
            ("resize_dim", Some(StmtKind::Alloc { ty, .. })) => {
                let shape: Vec<String> = ty.shape.iter().map(|e| names.expr(e)).collect();
                match (parameter, self.random.pick(&shape).cloned()) {
                    ("offset", _) => self.word(&["0", "0", "0", "1", "-1"]),
                    (_, Some(extent)) => {
                        self.word(&[&extent, &format!("{extent} + 1"), &format!("{extent} - 1"), "4", "8"])
                    }
                    (_, None) => "4".to_string(),
                }
            }
            ("rewrite_expr", _) => return self.rewritten(),
            _ => self.control(&scope),
        };
        match text.parse::<i64>() {
            Ok(value) if self.random.one_in(2) => RawValue::Int(value),
            Ok(_) | Err(_) => RawValue::Text(text),
        }
    }

    /// An extent and an index below it that belong together.
    fn paired_text(&mut self, parameter: &str, scope: &Visible) -> String {
        let is_index = parameter.contains("index");
        if scope.loops.is_empty() || self.chance(15) {
            return if is_index { self.word(&["0", "1"]) } else { self.word(&["1", "2", "4"]) };
        }
        match scope.loops.get(self.paired % scope.loops.len()) {
            Some(outer) if is_index => outer.iter.clone(),
            Some(outer) => outer.hi.clone(),
            None => "1".to_string(),
        }
    }

    /// What might replace the expression that was chosen: mostly something equal.
    fn rewritten(&mut self) -> RawValue {
        let target = self.places.iter().rev().find_map(|(_, place)| match place {
            Place::Node(at) => Some(at.clone()),
            _ => None,
        });
        let Some(at) = target else { return RawValue::Int(0) };
        let Some(expr) = path::expr(self.proc(), &at) else { return RawValue::Int(0) };
        let text = Names::of(self.proc()).expr(expr);
        if self.chance(20) {
            let cursor = Cursor { procedure: self.procedure.clone(), place: Place::Node(at) };
            let text = self.word(&["_ + 0", "1 * _", "_ + 1", "_"]);
            return RawValue::Formatted { text, holes: vec![cursor] };
        }
        let is_bool = expr.ty == Ty::BOOL;
        let choices = if is_bool {
            [format!("{text} and {text}"), format!("{text} or 0 < 0"), text.clone(), "0 < 1".to_string()]
        } else {
            [format!("({text}) + 0"), format!("1 * ({text})"), format!("({text}) + 1 - 1"), format!("({text}) + 1")]
        };
        let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
        RawValue::Text(self.word(&choices))
    }

    fn control(&mut self, scope: &Visible) -> String {
        let mut choices = vec!["0".to_string(), "1".into(), "2".into(), "4".into()];
        for name in scope.sizes.iter().chain(scope.loops.iter().map(|outer| &outer.iter)) {
            choices.extend([name.clone(), name.clone(), format!("{name} + 1"), format!("{name} / 2")]);
        }
        self.random.pick(&choices).cloned().unwrap_or_default()
    }

    fn condition(&mut self, scope: &Visible) -> String {
        let mut choices: Vec<String> = scope.bools.clone();
        for name in scope.sizes.iter().chain(scope.loops.iter().map(|outer| &outer.iter)) {
            let bound = self.random.between(0, 6);
            choices.extend([
                format!("{name} < {bound}"),
                format!("{name} == {bound}"),
                format!("{name} % 2 == 0"),
                format!("{name} > {bound} and {name} < 9"),
            ]);
        }
        self.random.pick(&choices).cloned().unwrap_or_else(|| "0 < 1".into())
    }

    /// A window over a buffer that the block uses, mostly around one of its accesses.
    fn window(&mut self, at: &Path) -> Option<String> {
        let scope = visible(self.proc(), at);
        let used: Vec<(String, Vec<String>)> = accesses(self.proc(), at)
            .into_iter()
            .filter(|(name, _)| scope.buffers.iter().any(|(visible, _)| visible == name))
            .collect();
        let (name, access) = match self.random.pick(&used).cloned() {
            Some(found) if !self.chance(10) => found,
            Some(_) | None => {
                let (name, shape) = self.random.pick(&scope.buffers).cloned()?;
                (name, shape.iter().map(|_| "0".to_string()).collect())
            }
        };
        let (_, shape) = scope.buffers.iter().rev().find(|(visible, _)| *visible == name)?;
        if shape.is_empty() {
            return Some(name);
        }
        let mut pieces = Vec::new();
        for (index, extent) in access.iter().zip(shape) {
            pieces.push(match self.random.below(10) {
                0..=4 => format!("0:{extent}"),
                5 | 6 => index.clone(),
                7 => format!("{index}:{index} + 1"),
                8 => self.word(&["0:1", "0:2", "0:4", "1:3", "0"]),
                _ => format!("{index}:{index} + 4"),
            });
        }
        Some(format!("{name}[{}]", pieces.join(", ")))
    }
}
