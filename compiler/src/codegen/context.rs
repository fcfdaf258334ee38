//! The context struct: configuration state as C sees it.

use std::collections::{BTreeMap, BTreeSet};

use crate::codegen::names;
use crate::codegen::problems::Problems;
use crate::codegen::reach::Reach;
use crate::codegen::template;
use crate::cursor::path;
use crate::diagnostic::{Diagnostic, codes};
use crate::hardware::config::{Config, ConfigField};
use crate::loop_ir::configuration::Touched;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::{Expr, ExprKind, StmtKind, visit};
use crate::source::Span;

/// The configs of one compilation, those that only bodies of instructions touch included.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Name of the struct without configs: what it would be called.
    type_name: String,
    /// By name.
    configs: Vec<Config>,
    /// All configs have memory, because bodies of instructions become C too.
    emulate: bool,
}

impl Context {
    pub fn of(reach: &Reach, library: &str, emulate: bool) -> Self {
        let mut fields = BTreeSet::new();
        for function in &reach.functions {
            fields.extend(Touched::by_proc(&function.proc).all());
        }
        Context::of_fields(fields, library, emulate)
    }

    fn of_fields(fields: BTreeSet<ConfigField>, library: &str, emulate: bool) -> Self {
        let mut configs: Vec<Config> = Vec::new();
        for field in fields {
            if !configs.contains(field.config()) {
                configs.push(field.config().clone());
            }
        }
        configs.sort_by(|a, b| a.name().cmp(b.name()));
        Context { type_name: format!("{}_Context", names::identifier(library)), configs, emulate }
    }

    /// The context of a compilation that exports one proc.
    pub fn of_proc(proc: &Proc, library: &str) -> Self {
        Context::of_fields(Touched::by_proc(proc).all(), library, false)
    }

    fn has_memory(&self, config: &Config) -> bool {
        self.emulate || config.is_readwrite()
    }

    /// The type behind the first parameter of every function.
    pub fn type_name(&self) -> &str {
        match self.configs.iter().any(|config| self.has_memory(config)) {
            true => &self.type_name,
            false => "void",
        }
    }

    /// The struct as text of the header; empty when no config has memory.
    pub fn definition(&self) -> String {
        if self.type_name() == "void" {
            return String::new();
        }
        let mut text = format!("typedef struct {} {{ \n\n", self.type_name);
        for config in &self.configs {
            if !self.has_memory(config) {
                text.push_str(&format!("// config '{}' is not materialized\n\n", config.name()));
                continue;
            }
            let name = config_name(config);
            text.push_str(&format!("    struct {name} {{\n"));
            for (field, c_name) in field_names(config) {
                text.push_str(&format!("        {} {c_name};\n", field.ty().c_type()));
            }
            text.push_str(&format!("    }} {name};\n\n"));
        }
        text.push_str(&format!("}} {};\n", self.type_name));
        text
    }

    /// Two configs of one name, and uses outside instructions of configs without memory.
    pub fn check(&self, emitted: &[&Proc], errors: &mut Problems) {
        let mut seen: BTreeMap<&str, &Config> = BTreeMap::new();
        for config in &self.configs {
            if seen.insert(config.name(), config).is_some() {
                let message = format!("two configs are named `{}`", config.name());
                errors.push(Diagnostic::error(codes::CONFIG, message).hint("rename one of them"));
            }
        }
        for proc in emitted {
            self.check_uses(proc, errors);
        }
    }

    /// Macros and structs of user-written C that would take the place of configs. Their names are the caller's to use, so
    /// they are not changed on the quiet.
    pub fn check_text(&self, raw: &[String], errors: &mut Problems) {
        let macros: BTreeSet<&str> = raw.iter().flat_map(|text| template::object_macros(text)).collect();
        let tags: BTreeSet<&str> = raw.iter().flat_map(|text| template::defined_tags(text)).collect();
        for config in self.configs.iter().filter(|config| self.has_memory(config)) {
            let name = config_name(config);
            let members = field_names(config).into_iter().map(|(field, c_name)| (field.to_string(), c_name));
            for (what, c_name) in std::iter::once((config.name().to_string(), name.clone())).chain(members) {
                let kind = if c_name == name && tags.contains(&*c_name) { "a struct" } else { "a macro" };
                if macros.contains(&*c_name) || kind == "a struct" {
                    let message = format!("`{what}` would be `{c_name}` in C, where {kind} has that name");
                    let hint = "the text of an instruction, memory or extern defines it: rename one of the two";
                    errors.push(Diagnostic::error(codes::CONFIG, message).hint(hint));
                }
            }
        }
    }

    /// The names in C that paths of fields consist of.
    pub fn words(&self) -> BTreeSet<String> {
        let configs = self.configs.iter().filter(|config| self.has_memory(config));
        let names = |config: &Config| -> Vec<String> {
            let fields = field_names(config).into_iter().map(|(_, name)| name);
            std::iter::once(config_name(config)).chain(fields).collect()
        };
        configs.flat_map(names).collect()
    }

    fn check_uses(&self, proc: &Proc, errors: &mut Problems) {
        let refuse = |field: &ConfigField, verb: &str, span: &Span, errors: &mut Problems| {
            if !self.has_memory(field.config()) {
                let message = format!("`{}` {verb} `{field}`, which has no memory", proc.name);
                errors.push(Diagnostic::error(codes::CONFIG, message).at(span, "here").hint(
                    "`@config(readwrite = False)` is state that only instructions touch; put this into an instruction",
                ));
            }
        };
        let read = |expr: &Expr, errors: &mut Problems| {
            visit::each_expr(expr, &mut |node| {
                if let ExprKind::ReadConfig(field) = &node.kind {
                    refuse(field, "reads", &node.span, errors);
                }
            });
        };
        proc.preds.iter().for_each(|pred| read(pred, errors));
        errors.settle();
        path::each_stmt_path(proc, &mut |at, stmt| {
            visit::each_own_expr(stmt, &mut |expr| read(expr, errors));
            if let StmtKind::WriteConfig { field, .. } = &stmt.kind {
                refuse(field, "writes", &stmt.span, errors);
            }
            errors.concern(proc, at);
        });
    }

    /// The fields that have memory.
    pub fn fields(&self) -> Vec<ConfigField> {
        self.configs.iter().filter(|config| self.has_memory(config)).flat_map(Config::fields).collect()
    }
}

fn config_name(config: &Config) -> String {
    names::unused(&names::identifier(config.name()), &names::is_reserved_variable)
}

/// The fields with their names in C.
fn field_names(config: &Config) -> Vec<(ConfigField, String)> {
    let mut taken = BTreeSet::new();
    config
        .fields()
        .into_iter()
        .map(|field| {
            let name = names::unused(&names::identifier(field.name()), &|name| {
                names::is_reserved_variable(name) || taken.contains(name)
            });
            taken.insert(name.clone());
            (field, name)
        })
        .collect()
}

/// `C.field`, the path of a field inside the context.
pub fn path(field: &ConfigField) -> String {
    let names = field_names(field.config());
    let name = names.into_iter().find(|(known, _)| known == field).map(|(_, name)| name).unwrap_or_default();
    format!("{}.{name}", config_name(field.config()))
}
