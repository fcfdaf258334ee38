//! `exo cmake-dir`: puts the CMake package beside the cache and prints its folder.

use serde_json::json;

use crate::cache::Cache;
use crate::failure::{Exit, Failure, Outcome};
use crate::filesystem;
use crate::settings::Settings;
use crate::terminal::Terminal;

/// The package: `find_package(Exo)` reads the first, which gives the functions; the second answers for the version.
const CONFIG: &str = include_str!("cmake_dir/ExoConfig.cmake");
const VERSION: &str = include_str!("cmake_dir/ExoConfigVersion.cmake");

pub(super) fn run(settings: &Settings, terminal: &Terminal) -> Outcome<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let folder = Cache::open(settings)?.root.with_file_name("cmake").join(version);
    filesystem::create_directory(&folder)?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("this program's own path is not known: {error}")))?;
    // A bracket argument takes any path as it is.
    let config = CONFIG.replace("@EXO_PROGRAM@", &program.display().to_string());
    for (name, text) in [("ExoConfig.cmake", config), ("ExoConfigVersion.cmake", VERSION.replace("@VERSION@", version))]
    {
        filesystem::write_atomic(&folder.join(name), text.as_bytes())?;
    }
    let shown = folder.display().to_string();
    terminal.answer(|| format!("{shown}\n"), || json!({ "folder": shown }));
    Ok(Exit::Done)
}
