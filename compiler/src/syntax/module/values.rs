//! Expressions of host code.

use ruff_python_ast::{
    Arguments, CmpOp, Comprehension, Expr, ExprBinOp, ExprCompare, ExprDict, ExprGenerator, ExprNumberLiteral,
    ExprTuple, Number, Operator, UnaryOp,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::syntax::module::edits::Edit;
use crate::syntax::module::host::Host;

impl Host<'_> {
    fn exprs<'e>(&mut self, nodes: impl IntoIterator<Item = &'e Expr>) {
        nodes.into_iter().for_each(|node| self.expr(node));
    }

    pub(crate) fn expr(&mut self, node: &Expr) {
        match node {
            Expr::Name(name) => self.rename(node.range(), &name.id),
            Expr::NumberLiteral(literal) => self.number(literal, node),
            Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => {}
            Expr::StringLiteral(string) => self.string(string),
            Expr::BytesLiteral(bytes) => self.bytes(bytes),
            Expr::FString(f_string) => self.f_string(f_string),
            Expr::UnaryOp(unary) => match (unary.op, &*unary.operand) {
                (UnaryOp::Invert, Expr::Set(_) | Expr::Dict(_)) => self.quoted_expression(unary, node),
                (UnaryOp::Invert | UnaryOp::Not | UnaryOp::UAdd | UnaryOp::USub, operand) => self.expr(operand),
            },
            Expr::BoolOp(connective) => self.exprs(&connective.values),
            Expr::BinOp(binary) => self.binary(binary, node),
            Expr::Compare(compare) => self.compare(compare, node),
            Expr::Call(call) => {
                self.expr(&call.func);
                self.arguments(&call.arguments);
            }
            Expr::Attribute(attribute) => {
                self.expr(&attribute.value);
                self.rename(attribute.attr.range(), &attribute.attr);
            }
            Expr::Subscript(subscript) => {
                self.expr(&subscript.value);
                self.right_side(&subscript.slice);
            }
            Expr::Slice(slice) => {
                self.exprs([&slice.lower, &slice.upper, &slice.step].into_iter().flatten().map(|bound| &**bound));
            }
            Expr::If(conditional) => self.exprs([&*conditional.body, &*conditional.test, &*conditional.orelse]),
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.parameters(parameters));
                self.expr(&lambda.body);
            }
            Expr::List(list) => self.exprs(&list.elts),
            Expr::Tuple(tuple) => self.tuple(tuple),
            Expr::Dict(dict) => self.dict(dict),
            Expr::ListComp(comprehension) => {
                self.expr(&comprehension.elt);
                self.clauses(&comprehension.generators);
            }
            Expr::DictComp(comprehension) => {
                comprehension.key.iter().for_each(|key| self.expr(key));
                self.expr(&comprehension.value);
                self.clauses(&comprehension.generators);
            }
            Expr::Generator(generator) => self.generator(generator, node),
            Expr::Starred(_) => {
                self.refuse(node, "unpacking with `*`", "index or slice the list, or add lists with `+`")
            }
            Expr::Set(_) => self.refuse(node, "a set literal", "write `set([...])`"),
            Expr::SetComp(_) => self.refuse(node, "a set comprehension", "write `set([... for ...])`"),
            Expr::Named(_) => self.refuse(node, "`:=`", "assign in a statement of its own"),
            Expr::Await(_) => self.refuse(node, "`await`", "leave it out"),
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.refuse(node, "`yield`", "collect the values in a list and return it");
            }
            Expr::TString(_) => self.refuse(node, "a template string", "use an f-string"),
            Expr::EllipsisLiteral(_) => self.refuse(node, "`...`", "write `pass` for an empty body"),
            Expr::IpyEscapeCommand(_) => self.refuse(node, "an escape command", "leave it out"),
        }
    }

    fn binary(&mut self, binary: &ExprBinOp, node: &Expr) {
        match binary.op {
            Operator::Pow => self.refuse(node, "`**`", "multiply, or shift for powers of two: `1 << n`"),
            Operator::MatMult => self.refuse(node, "`@`", "call a function"),
            Operator::Add
            | Operator::Sub
            | Operator::Mult
            | Operator::Div
            | Operator::Mod
            | Operator::LShift
            | Operator::RShift
            | Operator::BitOr
            | Operator::BitXor
            | Operator::BitAnd
            | Operator::FloorDiv => {}
        }
        self.exprs([&*binary.left, &*binary.right]);
    }

    fn compare(&mut self, compare: &ExprCompare, node: &Expr) {
        if compare.ops.len() > 1 {
            self.refuse(node, "a chained comparison", "join two comparisons with `and`");
        }
        if compare.ops.iter().any(|op| matches!(op, CmpOp::Is | CmpOp::IsNot)) {
            self.refuse(node, "`is`", "use `==` or `!=`");
        }
        self.expr(&compare.left);
        self.exprs(&compare.comparators);
    }

    fn tuple(&mut self, tuple: &ExprTuple) {
        if let Some(slice) = tuple.elts.iter().find(|item| item.is_slice_expr()) {
            self.refuse(slice, "a slice among several indices", "take the slices one after the other");
        }
        self.exprs(&tuple.elts);
    }

    fn dict(&mut self, dict: &ExprDict) {
        for item in &dict.items {
            match &item.key {
                Some(key) => self.expr(key),
                None => self.refuse(&item.value, "`**` in a dict", "merge dicts with `|`: `a | {\"k\": v}`"),
            }
            self.expr(&item.value);
        }
    }

    /// A generator is a list here: everything is finite and without effects.
    fn generator(&mut self, generator: &ExprGenerator, node: &Expr) {
        let (start, end) = (node.start(), node.end());
        let one = TextSize::from(1);
        match generator.parenthesized {
            true => self.edit(Edit::text(TextRange::at(start, one), "[")),
            false => self.insert(start, "["),
        }
        self.expr(&generator.elt);
        self.clauses(&generator.generators);
        match generator.parenthesized {
            true => self.edit(Edit::text(TextRange::new(end - one, end), "]")),
            false => self.insert(end, "]"),
        }
    }

    fn clauses(&mut self, clauses: &[Comprehension]) {
        for clause in clauses {
            if clause.is_async {
                self.refuse(clause, "`async`", "leave it out");
            }
            self.expr(&clause.target);
            self.expr(&clause.iter);
            self.exprs(&clause.ifs);
        }
    }

    pub(crate) fn arguments(&mut self, arguments: &Arguments) {
        let starred = arguments.args.iter().find(|arg| arg.is_starred_expr());
        if let Some(starred) = starred {
            let named_after = arguments.keywords.iter().any(|k| k.arg.is_some() && k.start() > starred.start());
            let plain_after = arguments.args.iter().any(|arg| !arg.is_starred_expr() && arg.start() > starred.start());
            if named_after || plain_after {
                self.refuse(
                    starred,
                    "an argument after `*args`",
                    "put `*args` after all other arguments, before `**kwargs`",
                );
            }
        }
        for arg in &arguments.args {
            match arg {
                Expr::Starred(starred) => self.expr(&starred.value),
                other => self.expr(other),
            }
        }
        for keyword in &arguments.keywords {
            if let Some(name) = &keyword.arg {
                self.rename(name.range(), name);
            }
            self.expr(&keyword.value);
        }
    }

    fn number(&mut self, literal: &ExprNumberLiteral, node: &Expr) {
        let text = self.text(node.range());
        match &literal.value {
            Number::Complex { .. } => self.refuse(node, "a complex number", "use real numbers"),
            _ if text.contains('_') => {
                let plain = text.replace('_', "");
                self.edit(Edit::text(node.range(), plain));
            }
            Number::Int(_) | Number::Float(_) => {}
        }
    }
}
