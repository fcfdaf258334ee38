//! Operators on buffers: their shape, their place, their copies.
