//! LoopIR: the typed, immutable tree of object code. Nodes are shared; an edit copies one path.

pub mod types;
pub mod expression;
pub mod statement;
pub mod block;
pub mod procedure;
pub mod build;
pub mod visit;
pub mod summary;
pub mod substitute;
pub mod declarations;
pub mod computation;
pub mod extent;
pub mod validate;
pub mod revalidate;
pub mod alpha;
pub mod configuration;
pub mod strides;

pub use block::Block;
pub use expression::{Access, BinaryOp, Const, Expr, ExprKind, ExprNode};
pub use procedure::{Arg, ArgType, Committed, Lineage, Proc, Waiver};
pub use statement::{ConfigUse, LoopMode, Stmt, StmtKind, StmtNode};
pub use summary::NameFilter;
pub use types::{Control, DataType, Ty};
