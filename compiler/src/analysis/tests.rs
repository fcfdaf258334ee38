#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use super::*;
use crate::loop_ir::{BinaryOp, Control, build};
use crate::symbol::Sym;

mod linear_logic;
