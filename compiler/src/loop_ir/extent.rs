//! How large a tree may become: past that, every walk over it takes too long or overflows the stack.

use crate::loop_ir::procedure::Proc;

/// Statements and expressions that one proc may hold, each counted at every place where it stands.
pub const MOST_NODES: usize = 1 << 20;

/// Levels that one place may be nested: statements and expressions together.
pub const MOST_LEVELS: usize = 1000;

/// The limit that a proc exceeds, in words. Looks at each shared statement once, however often it stands in the tree: a
/// tree of shared nodes can stand for more of them than could ever be visited.
pub fn exceeded(proc: &Proc) -> Option<String> {
    let summary = proc.body.summary();
    if summary.levels > MOST_LEVELS {
        return Some(format!("more than {MOST_LEVELS} levels of nesting"));
    }
    (summary.nodes > MOST_NODES).then(|| format!("more than {MOST_NODES} statements and expressions"))
}
