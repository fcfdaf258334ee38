//! Embeds the bundled packs as archives with their digests, and the digest of the checker's source text.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use exo_index::archive::{Limits, PackFiles, build, is_pack_file};
use exo_index::manifest::Manifest;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    embed_packs(&root.join("packages"), &out)?;
    let checker = root.join("compiler/src");
    println!("cargo::rerun-if-changed={}", checker.display());
    println!("cargo::rustc-env=EXO_CHECKER_DIGEST={}", digest(&checker)?);
    Ok(())
}

/// Files below a folder by their `/`-separated path relative to it.
fn files_below(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut files = BTreeMap::new();
    let mut open = vec![(folder.to_path_buf(), String::new())];
    while let Some((path, prefix)) = open.pop() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let relative = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                open.push((entry.path(), format!("{relative}/")));
            } else {
                files.insert(relative, fs::read(entry.path())?);
            }
        }
    }
    Ok(files)
}

fn digest(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in files_below(folder)? {
        for piece in [path.as_bytes(), &bytes] {
            hasher.update(&(piece.len() as u64).to_le_bytes());
            hasher.update(piece);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn embed_packs(packages: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", packages.display());
    let mut code = String::from("const EMBEDDED: &[Embedded] = &[\n");
    for folder in pack_folders(packages)? {
        let mut files = files_below(&folder)?;
        files.retain(|path, _| is_pack_file(path));
        let Some(manifest) = files.get("Exo.toml").cloned() else { continue };
        let manifest = String::from_utf8(manifest)?;
        let place = folder.join("Exo.toml");
        let parsed = Manifest::parse(&manifest).map_err(|errors| {
            format!("{}: {}", place.display(), errors.iter().map(|e| e.message.as_str()).collect::<Vec<_>>().join("; "))
        })?;
        let archive = build(&PackFiles { files }, &Limits::default())
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let name = parsed.pack.name.value.as_str().replace(['@', '/'], "_");
        let path = out.join(format!("{name}.tar.zst"));
        fs::write(&path, &archive.bytes)?;
        writeln!(
            code,
            "    Embedded {{ manifest: {manifest:?}, archive: include_bytes!({path:?}), sha256: \"{}\", tree: \"{}\" }},",
            archive.sha256, archive.tree
        )?;
    }
    code.push_str("];\n");
    fs::write(out.join("embedded_packs.rs"), code)?;
    Ok(())
}

/// The folders of `packages/` in the order of their names; none before there is a first pack.
fn pack_folders(packages: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    if !packages.is_dir() {
        return Ok(Vec::new());
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(packages)? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
