//! The Starlark host: modules are evaluated here, with the prelude in scope and within limits.

pub(crate) mod build;
pub(crate) mod c_failure;
pub(crate) mod c_text;
pub(crate) mod conformance;
pub(crate) mod define;
pub(crate) mod errors;
pub(crate) mod extern_types;
pub(crate) mod foreign_imports;
pub(crate) mod hooks;
pub(crate) mod host;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod manual;
pub(crate) mod offers;
pub(crate) mod prelude;
pub(crate) mod quote;
pub(crate) mod raw_c;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod run_c;
pub(crate) mod testing;
pub(crate) mod testing_run;
pub(crate) mod timing;
pub(crate) mod values;
pub(crate) mod wording;

#[cfg(test)]
mod operator_examples;
#[cfg(test)]
mod tests;
