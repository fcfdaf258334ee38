//! What `exo build --emit` and `exo show --trace` write, and what `exo run` hands to a module.

use std::process::Command;

use exo_tests::command_line::finish;

use crate::building::kernel;

fn nm(sandbox: &exo_tests::command_line::Sandbox, file: &str) -> String {
    let output = Command::new("nm").arg(sandbox.path(file)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn only_what_is_asked_for_is_written() {
    let sandbox = kernel("\"plain_a\"");
    let built = sandbox.run(&["build", "--emit", "header"]).exits(0);
    assert_eq!(built.stdout, "build/plain_a/scale.h\nbuild/manifest.json\n");
    assert!(!sandbox.exists("work/build/plain_a/scale.c") && !sandbox.exists("work/build/plain_a/scale.pc"));
    let built = sandbox.run(&["build", "--emit", "depfile,c"]).exits(0);
    assert_eq!(built.stdout, "build/plain_a/scale.c\nbuild/plain_a/scale.d\nbuild/manifest.json\n");
    let rule = sandbox.read("work/build/plain_a/scale.d");
    assert!(rule.starts_with("build/plain_a/scale.c: "), "{rule}");
    sandbox.run(&["build", "--emit", "objekt"]).exits(2).says(&["objekt", "object", "shared"]);
}

#[test]
fn objects_and_libraries_link_into_a_program_that_runs() {
    let sandbox = kernel("\"plain_a\"");
    let built = sandbox.run(&["build", "--emit", "header,object,static,shared,depfile"]).exits(0);
    built.prints(&["plain_a/scale.o\n", "plain_a/libscale.a\n", "plain_a/libscale.so\n"]);
    let rule = sandbox.read("work/build/plain_a/scale.d");
    assert!(rule.contains("build/plain_a/libscale.a build/plain_a/libscale.so: Exo.toml"), "{rule}");
    assert!(nm(&sandbox, "work/build/plain_a/scale.o").contains("T scale"));
    sandbox.write(
        "work/main.c",
        "#include \"scale.h\"\nint main(void) { float x[6] = {1, 2, 3, 4, 5, 6}; scale(0, 6, x); return (int)x[5]; }\n",
    );
    let folder = sandbox.path("work/build/plain_a").display().to_string();
    for library in ["scale.o", "libscale.a", "libscale.so"] {
        let mut cc = Command::new("gcc");
        cc.args(["main.c", &format!("-I{folder}"), &format!("{folder}/{library}"), "-o", "main"]);
        assert!(cc.current_dir(sandbox.path("work")).status().unwrap().success(), "{library}");
        let ran = Command::new(sandbox.path("work/main")).env("LD_LIBRARY_PATH", &folder).status().unwrap();
        assert_eq!(ran.code(), Some(12), "{library}");
    }
    let manifest: serde_json::Value = serde_json::from_str(&sandbox.read("work/build/manifest.json")).unwrap();
    let bytes = std::fs::read(sandbox.path("work/build/plain_a/libscale.so")).unwrap();
    let digest = format!("blake3:{}", exo_index::digest::Blake3::of(&bytes));
    assert_eq!(manifest["outputs"][0]["files"]["build/plain_a/libscale.so"], digest.as_str());
}

#[test]
fn equal_c_gives_equal_objects_and_no_path_of_the_machine() {
    let made = || {
        let sandbox = kernel("\"plain_a\"");
        sandbox.run(&["build", "--emit", "object,static,shared"]).exits(0);
        ["scale.o", "libscale.a", "libscale.so"]
            .map(|file| std::fs::read(sandbox.path("work/build/plain_a").join(file)).unwrap())
    };
    let (first, second) = (made(), made());
    assert!(first == second);
    for bytes in first {
        assert!(!String::from_utf8_lossy(&bytes).contains("exo-c-"));
    }
}

#[test]
fn without_a_compiler_and_where_it_refuses_nothing_is_written() {
    let sandbox = kernel("\"plain_a\"");
    sandbox.run(&["install"]).exits(0);
    let mut command = sandbox.command("", &["build", "--emit", "object"]);
    command.env("PATH", "/nowhere");
    finish(command).exits(3).says(&[
        "no C compiler",
        "apt-get install gcc",
        "in kernel `scale` for `plain_a`",
        "--emit c",
    ]);
    assert!(!sandbox.exists("work/build"));
    let mut command = sandbox.command("", &["build", "--emit", "object,c"]);
    command.env("CC", "gcc -no-such-option");
    let refused = finish(command).exits(1);
    refused.says(&[
        "no library was made of `scale`: gcc refuses it",
        "-no-such-option",
        "set CC",
        "nothing was written",
    ]);
    assert!(!sandbox.exists("work/build"));
}

#[test]
fn a_trace_is_one_page_with_every_step() {
    let sandbox = kernel("\"plain_a\", \"plain_b\"");
    let shown = sandbox.run(&["show", "scale", "--target", "plain_a", "--trace", "out.html"]).exits(0);
    assert_eq!(shown.stdout, "out.html\n");
    let page = sandbox.read("work/out.html");
    for text in [
        "<!DOCTYPE html>",
        "mine 0.1.0",
        "id=\"step-0\"",
        "step 1: divide_loop(",
        "<del>-    for i in seq(0, n):</del>",
        "src/lib.exo:7",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for foreign in ["<script", "http:", "https:", "src=", &sandbox.path("").display().to_string()] {
        assert!(!page.contains(foreign), "{foreign}: {page}");
    }
    let json = sandbox.run(&["show", "scale", "--target", "plain_a", "--trace", "o.html", "--format", "json"]).exits(0);
    assert_eq!(json.json()["file"], "o.html");
    let elsewhere = ["show", "scale", "--target", "plain_a", "--trace", "nowhere/page.html"];
    let unwritable = sandbox.run(&elsewhere).exits(3);
    let unwritable = unwritable.says(&["work/nowhere/page.html`: no such file or directory", "make the folder first"]);
    assert!(!unwritable.stderr.contains("exo-tmp"), "{}", unwritable.stderr);
    sandbox.run(&["show", "scale", "--trace", "a", "--diff"]).exits(2).says(&["--trace", "--diff"]);
    let nowhere = sandbox.run(&["show", "scale", "--target", "plain_a", "--trace", "no/where.html"]).exits(3);
    nowhere.says(&["where.html", "no such file or directory"]);
}

#[test]
fn what_stands_after_two_dashes_goes_to_the_module() {
    let sandbox = exo_tests::command_line::Sandbox::new();
    sandbox.write("work/a.exo", "print(len(arguments()), arguments())\n");
    assert_eq!(sandbox.run(&["run", "a.exo"]).exits(0).stdout, "0 []\n");
    let given = sandbox.run(&["run", "a.exo", "--", "n=4", "--format", "two words"]).exits(0);
    assert_eq!(given.stdout, "3 [\"n=4\", \"--format\", \"two words\"]\n");
    sandbox.run(&["run", "a.exo", "n=4"]).exits(2).says(&["n=4", "[-- <ARGS>...]"]);
}

#[test]
fn no_pack_sees_arguments_where_others_check_it() {
    let sandbox = exo_tests::command_line::Sandbox::new();
    sandbox.project("");
    sandbox.write("work/tests/t.exo", "def test_none():\n    assert_eq(arguments(), [])\n");
    sandbox.run(&["test"]).exits(0).prints(&["1 passed"]);
}
