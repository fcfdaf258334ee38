//! Every operator's manual page is true: its example runs as it stands and prints what the page says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use crate::pipeline::{Compilation, Limits};
use crate::schedule::registry;
use crate::source::ModuleId;
use crate::world::MemoryWorld;

/// The bundled AVX2 pack.
const PACK: &[(&str, &str)] = &[
    ("lib", include_str!("../../../packages/avx2/src/lib.exo")),
    ("memory", include_str!("../../../packages/avx2/src/memory.exo")),
    ("f32", include_str!("../../../packages/avx2/src/f32.exo")),
    ("f64", include_str!("../../../packages/avx2/src/f64.exo")),
    ("integer", include_str!("../../../packages/avx2/src/integer.exo")),
    ("convert", include_str!("../../../packages/avx2/src/convert.exo")),
    ("prefix", include_str!("../../../packages/avx2/src/prefix.exo")),
    ("masked", include_str!("../../../packages/avx2/src/masked.exo")),
];

/// What a module prints, with its diagnostics after that.
fn output(text: &str) -> String {
    let main = ModuleId::new("", "main");
    let world = PACK.iter().fold(MemoryWorld::new().with(main.clone(), text), |world, (path, text)| {
        world.with(ModuleId::new("avx2", path), text)
    });
    let world = Arc::new(world);
    let run = move || {
        let mut out = String::new();
        let diagnostics = Compilation::new(world, Limits::default(), None).run(&main, &mut |text| {
            out.push_str(text);
            out.push('\n');
        });
        for diagnostic in &diagnostics {
            out.push_str(&format!("{}\n{}\n", diagnostic.message, diagnostic.notes.join("\n")));
        }
        out
    };
    std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn examples_print_what_the_manual_says() {
    let mut wrong = Vec::new();
    for operator in registry::OPERATORS {
        let help = operator.help();
        let printed = output(help.example);
        if printed.trim_end() != help.prints.trim_end() {
            wrong.push(format!("--- {}\n{printed}\n--- expected\n{}", operator.name(), help.prints));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SYSTOLIC: &str = include_str!("../../../tests/examples/systolic_gemm.exo");
const KERNEL: &str = include_str!("../../../tests/examples/avx2_microkernel.exo");
const REFUSALS: &str = include_str!("../../../tests/examples/refusals.exo");

/// The text after `# prints:` without the comment signs.
fn expected(module: &str) -> String {
    let (_, after) = module.split_once("# prints:\n").expect("a `# prints:` comment");
    let lines = after.lines().map(|line| line.strip_prefix("# ").unwrap_or_else(|| line.trim_start_matches('#')));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn peer_checked_schedules_print_what_exo_prints() {
    for module in [SYSTOLIC, KERNEL, REFUSALS] {
        assert_eq!(output(module).trim_end(), expected(module).trim_end());
    }
}
