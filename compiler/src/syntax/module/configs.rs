//! `@config class Name:` as a call that makes the config.

use ruff_python_ast::{Decorator, Expr, Stmt, StmtClassDef};
use ruff_text_size::Ranged;

use crate::syntax::module::edits::{Edit, Piece};
use crate::syntax::module::host::Host;
use crate::syntax::module::strings::quoted;
use crate::syntax::module::{CONFIG, host_name};

impl Host<'_> {
    pub(crate) fn class(&mut self, class: &StmtClassDef, node: &Stmt) {
        match class.decorator_list.as_slice() {
            [decorator] if is_config(decorator) => self.config(class, decorator),
            [_, second, ..] if class.decorator_list.iter().any(is_config) => {
                self.refuse(second, "a second decorator", "a config has no other decorator than `@config`");
            }
            _ => self.refuse(node, "`class`", "use `struct(...)` or `record(...)`, or `memory(...)` for a memory"),
        }
    }

    fn config(&mut self, class: &StmtClassDef, decorator: &Decorator) {
        if let Some(arguments) = class.arguments.as_ref().filter(|arguments| !arguments.is_empty()) {
            self.refuse(&**arguments, "the base of a config", "a config has fields of its own only");
        }
        let fields: Vec<String> = class.body.iter().filter_map(|stmt| self.config_field(stmt)).collect();
        let text = format!("{} = {CONFIG}({}, [{}], ", host_name(&class.name), quoted(&class.name), fields.join(", "));
        let mut pieces = vec![Piece::Text(text)];
        pieces.push(match self.readwrite(decorator) {
            Some(flag) => {
                let edits = self.nested(|host| host.expr(flag));
                Piece::Source { range: flag.range(), edits }
            }
            None => Piece::Text("True".to_string()),
        });
        pieces.push(Piece::Text(")".to_string()));
        self.edit(Edit { range: class.range(), pieces, tail: "" });
    }

    /// `("field", "type")`.
    fn config_field(&mut self, stmt: &Stmt) -> Option<String> {
        let hint = "a config is a list of fields: `name: f32`";
        let Stmt::AnnAssign(field) = stmt else {
            self.refuse(stmt, "a statement in a config", hint);
            return None;
        };
        if let Some(value) = &field.value {
            self.refuse(
                &**value,
                "the initial value of a field",
                "configuration state starts with any value; write it in a proc",
            );
        }
        match (&*field.target, &*field.annotation) {
            (Expr::Name(name), Expr::Name(word)) => Some(format!("({}, {})", quoted(&name.id), quoted(&word.id))),
            _ => {
                self.refuse(stmt, "this field", hint);
                None
            }
        }
    }

    /// The value of `readwrite` in `@config(readwrite = ...)`.
    fn readwrite<'e>(&mut self, decorator: &'e Decorator) -> Option<&'e Expr> {
        let Expr::Call(call) = &decorator.expression else { return None };
        let hint = "write `@config` or `@config(readwrite = False)`";
        if let Some(first) = call.arguments.args.first() {
            self.refuse(first, "this argument of `@config`", hint);
        }
        let mut value = None;
        for keyword in &*call.arguments.keywords {
            match keyword.arg.as_ref().map(|name| name.as_str()) {
                Some("readwrite") => value = Some(&keyword.value),
                _ => self.refuse(keyword, "this argument of `@config`", hint),
            }
        }
        value
    }
}

fn is_config(decorator: &Decorator) -> bool {
    let head = match &decorator.expression {
        Expr::Call(call) => &*call.func,
        other => other,
    };
    matches!(head, Expr::Name(name) if name.id.as_str() == "config")
}
