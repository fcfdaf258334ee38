//! Exceptions from the house rules, each with its reason. An entry that is no longer needed fails a test.

/// Files over 600 lines: path, reason.
pub(crate) const LONG_FILES: &[(&str, &str)] = &[];

/// Functions over 70 lines: path, function, reason.
pub(crate) const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// Uses of a module that stands below: file, module used, reason.
pub(crate) const UPWARD_USES: &[(&str, &str, &str)] = &[];

/// Files of the compiler with maps that have no order: path, reason why none is iterated.
pub(crate) const UNORDERED_MAPS: &[(&str, &str)] = &[
    ("compiler/src/analysis/callees.rs", "summaries by the address of the callee: only looked up"),
    ("compiler/src/analysis/numbering.rs", "numbers of variables: only looked up; the order is kept in `vars`"),
    ("compiler/src/analysis/solver.rs", "answers by canonical question: only looked up"),
];
