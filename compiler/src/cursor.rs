//! Places in a procedure, edits to it, and how places move with edits.

pub mod path;
pub mod editor;
pub mod forward;
pub mod moves;

pub use editor::Editor;
pub use forward::{Forward, forward};
pub use path::{BlockPlace, ExprList, GapPlace, Path, Place, Side, Step};
