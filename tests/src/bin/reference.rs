//! Writes the reference pages under `docs/reference/`.

use std::process::ExitCode;

use exo_tests::exo::repository;
use exo_tests::reference::pages;

fn main() -> ExitCode {
    for (path, text) in pages() {
        let place = repository().join(path);
        let folder = place.parent().unwrap_or(repository());
        if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&place, text)) {
            eprintln!("{}: {error}", place.display());
            return ExitCode::from(3);
        }
        println!("{path}");
    }
    ExitCode::SUCCESS
}
