//! The structural laws for a step of a schedule: what the step changed is checked, what both versions share is not.
//!
//! The version before keeps the laws and its declarations are known, so a shared statement keeps them too wherever the
//! names that it uses still mean what they meant. `validate` is the slow twin: both must say the same of every step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::loop_ir::block::Block;
use crate::loop_ir::declarations::Declarations;
use crate::loop_ir::procedure::Proc;
use crate::loop_ir::statement::{Stmt, StmtKind};
use crate::loop_ir::summary::NameFilter;
use crate::loop_ir::validate::{self, Role, Scope, bound_twice, committed, no_dependent_declaration, not_empty};
use crate::loop_ir::visit;
use crate::symbol::{Identity, Sym};

/// Checks the laws of `after`, which a step made of `before`, and remembers its declarations with it. Call it for a
/// version that is finished: both procs are taken not to change any more.
pub fn commit(before: &Proc, after: &Proc) -> Result<(), String> {
    let known = committed(before).filter(|_| before.args == after.args && before.preds == after.preds);
    let Some(known) = known else { return validate::commit(after) };
    let mut step = Comparison {
        scope: Scope { args: &after.args, ..Scope::default() },
        removed: BTreeMap::new(),
        lost: Vec::new(),
        declared: known.clone(),
    };
    not_empty(&after.body, "the proc")?;
    no_dependent_declaration(after)?;
    step.lists(&before.body, &after.body)?;
    let declared = step.declarations(known)?;
    after.committed.set(declared);
    Ok(())
}

struct Comparison<'a> {
    /// Around the place that is being compared, in the new tree; `ever` collects what changed statements bind.
    scope: Scope<'a>,
    /// Statements of the old tree that bind something and do not stand in the new one where they stood.
    removed: BTreeMap<Identity, Sym>,
    /// Names that shared statements after this place may use and that do not mean what they meant.
    lost: Vec<Sym>,
    /// The declarations of the new tree, as far as it was compared.
    declared: Declarations,
}

impl<'a> Comparison<'a> {
    /// What every name of the new tree is declared as, once all of it was compared.
    fn declarations(mut self, before: &Declarations) -> Result<Declarations, String> {
        for symbol in self.scope.ever.values() {
            // A name that a shared statement binds is still bound there.
            if before.get(symbol).is_some() && !self.removed.contains_key(&symbol.identity()) {
                return Err(bound_twice(symbol));
            }
        }
        for (identity, symbol) in &self.removed {
            if !self.scope.ever.contains_key(identity) {
                self.declared.remove(symbol);
            }
        }
        Ok(self.declared)
    }

    fn lists(&mut self, old: &'a Block, new: &'a Block) -> Result<(), String> {
        let depth = self.lost.len();
        let head = old.common_head(new);
        let most = old.len().min(new.len()) - head;
        let tail = old.common_tail(new).min(most);
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        self.scope.around.push((new, 0));
        self.shared(new, 0..head)?;
        let (gone, made) = (slice(old, head, old_end), slice(new, head, new_end));
        if gone.len() == made.len() {
            for (at, (a, b)) in (head..).zip(old.iter().zip(new).skip(head).take(gone.len())) {
                self.pair(a, b, new, at)?;
            }
        } else {
            self.replaced(&gone, new, head..new_end)?;
        }
        self.shared(new, new_end..new.len())?;
        self.scope.around.pop();
        self.lost.truncate(depth);
        Ok(())
    }

    /// Two statements at one position of a list.
    fn pair(&mut self, old: &'a Stmt, new: &'a Stmt, list: &'a Block, at: usize) -> Result<(), String> {
        if Arc::ptr_eq(old, new) {
            return self.shared(list, at..at + 1);
        }
        if !alike(old, new) {
            return self.replaced(&Block::one(old.clone()), list, at..at + 1);
        }
        self.stand_at(at);
        self.scope.own_exprs(new)?;
        let [old_body, old_orelse] = visit::inner_lists(old);
        let [new_body, new_orelse] = visit::inner_lists(new);
        not_empty(new_body, if matches!(new.kind, StmtKind::For { .. }) { "a loop" } else { "an `if`" })?;
        self.lists(old_body, new_body)?;
        self.lists(old_orelse, new_orelse)
    }

    fn stand_at(&mut self, position: usize) {
        if let Some((_, at)) = self.scope.around.last_mut() {
            *at = position;
        }
    }

    /// Statements that stand in both versions, after the same things and within the same scopes.
    fn shared(&mut self, list: &'a Block, range: std::ops::Range<usize>) -> Result<(), String> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let lost = NameFilter::of(&self.lost);
        for at in range {
            let Some(stmt) = list.get(at) else { return Ok(()) };
            if stmt.summary().names.meets(lost) {
                self.remove(&Block::one(stmt.clone()));
                self.add(list, at)?;
            }
        }
        Ok(())
    }

    /// A run of other statements.
    fn replaced(&mut self, gone: &Block, new: &'a Block, made: std::ops::Range<usize>) -> Result<(), String> {
        self.remove(gone);
        let later: BTreeMap<Identity, Role> = slice(new, made.start, made.end)
            .iter()
            .filter_map(Role::of_later)
            .map(|(symbol, role)| (symbol.identity(), role))
            .collect();
        for at in made {
            self.add(new, at)?;
        }
        for (symbol, role) in gone.iter().filter_map(Role::of_later) {
            if later.get(&symbol.identity()) != Some(&role) {
                self.lost.push(symbol.clone());
            }
        }
        Ok(())
    }

    fn remove(&mut self, block: &Block) {
        visit::each_stmt(block, &mut |stmt| {
            if let Some(symbol) = visit::bound_by(stmt) {
                self.removed.insert(symbol.identity(), symbol.clone());
            }
        });
    }

    /// Checks a statement of the new tree in full.
    fn add(&mut self, list: &'a Block, at: usize) -> Result<(), String> {
        let Some(stmt) = list.get(at) else { return Ok(()) };
        self.stand_at(at);
        self.scope.stmt(stmt)?;
        // For the statements after it, the list itself tells.
        self.scope.leave(&Block::one(stmt.clone()));
        self.declared.add_block(&Block::one(stmt.clone()));
        Ok(())
    }
}

fn slice(list: &Block, lo: usize, hi: usize) -> Block {
    list.part(lo..hi).unwrap_or_default()
}

/// Whether the statements themselves bind the same.
fn alike(old: &Stmt, new: &Stmt) -> bool {
    match (&old.kind, &new.kind) {
        (StmtKind::For { iter: a, .. }, StmtKind::For { iter: b, .. }) => a == b,
        (StmtKind::If { .. }, StmtKind::If { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
