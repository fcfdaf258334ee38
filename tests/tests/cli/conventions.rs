//! Exit codes, streams, formats: what holds for every command.

use std::fs::File;
use std::process::Stdio;

use exo_tests::command_line::{Sandbox, finish};

#[test]
fn usage_errors_exit_with_2_and_help_with_0() {
    let sandbox = Sandbox::new();
    sandbox.run(&["frobnicate"]).exits(2).says(&["frobnicate"]);
    sandbox.run(&["add"]).exits(2).says(&["PACK"]);
    let help = sandbox.run(&["--help"]).exits(0).prints(&["Usage: exo", "build", "verify"]);
    assert!(!help.stdout.contains("__verify"), "{}", help.stdout);
    sandbox.run(&["--version"]).exits(0).prints(&["exo 0."]);
    let nothing = sandbox.run(&["--locked"]).exits(2).says(&["Usage: exo", "build"]);
    assert!(!nothing.stderr.contains("__verify"), "{}", nothing.stderr);
    sandbox.run(&["-C", "nowhere", "check"]).exits(2).says(&["-C names `nowhere`, which is no folder"]);
    sandbox.run(&["--manifest-path", "x.toml", "check"]).exits(2).says(&["--manifest-path names `x.toml`"]);
}

/// What names nothing is refused, whatever it was to name: the command line as such is right.
#[test]
fn unknown_names_exit_with_1_in_every_command() {
    let sandbox = crate::building::kernel("\"plain_a:target\"");
    sandbox.run(&["install"]).exits(0);
    for (arguments, said) in [
        (&["add", "nothing"][..], "no pack `nothing`"),
        (&["info", "nothing"], "no pack `nothing`"),
        (&["info", "plain-a@9.9.9"], "no version 9.9.9"),
        (&["remove", "nothing"], "nothing"),
        (&["update", "nothing"], "nothing"),
        (&["why", "nothing"], "nothing"),
        (&["tree", "--invert", "nothing"], "nothing"),
        (&["show", "nothing"], "no kernel `nothing`"),
        (&["show", "scale", "--target", "nothing"], "no target `nothing`"),
        (&["show", "scale", "--step", "99"], "no step 99"),
        (&["build", "--kernel", "nothing"], "no kernel `nothing`"),
        (&["build", "--target", "nothing"], "no target `nothing`"),
        (&["bench", "nothing"], "no kernel has `nothing`"),
        (&["test", "nothing"], "no test has `nothing`"),
        (&["help", "nothing"], "no help about `nothing`"),
        (&["explain", "E9999"], "no error code `E9999`"),
        (&["check", "-p", "nothing"], "is in no workspace"),
        (&["add", "base", "--registry", "nothing"], "no registry `nothing`"),
        (&["search", "base", "--registry", "nothing"], "no registry `nothing`"),
        (&["publish", "--registry", "nothing"], "no registry `nothing`"),
        (&["yank", "base@1.0.0", "--registry", "nothing"], "no registry `nothing`"),
    ] {
        sandbox.run(arguments).exits(1).says(&[said]);
    }
}

#[test]
fn without_a_project_the_remedy_is_named() {
    for command in ["check", "build", "test", "install", "tree"] {
        let sandbox = Sandbox::new();
        sandbox.run(&[command]).exits(1).says(&["no Exo.toml in", "exo new NAME"]);
    }
}

#[test]
fn json_is_one_document_also_for_failures() {
    let sandbox = Sandbox::new();
    let failed = sandbox.run(&["check", "--format", "json"]).exits(1);
    assert_eq!(failed.json()["error"]["exit"], 1);
    assert!(failed.json()["error"]["message"].as_str().unwrap().contains("no Exo.toml"));
    assert_eq!(failed.stderr, "");
    let codes = sandbox.run(&["explain", "--format", "json"]).exits(0).json();
    assert!(codes.as_array().unwrap().iter().any(|code| code["code"] == "E0603"));
}

#[test]
fn explain_and_help_answer_or_name_what_is_near() {
    let sandbox = Sandbox::new();
    sandbox.run(&["explain", "e0609"]).exits(0).prints(&["E0609: content differs from its digest", "--repair"]);
    sandbox.run(&["explain", "E9999"]).exits(1).says(&["no error code `E9999`"]);
    sandbox.run(&["help"]).exits(0).prints(&["Usage: exo"]);
    sandbox.run(&["help", "add"]).exits(0).prints(&["PACK[@REQ]", "--dev"]);
    sandbox.run(&["help", "divide_loop"]).exits(0).prints(&["divide_loop(", "tail = ", "must start at 0"]);
    sandbox.run(&["help", "divde_loop"]).exits(1).says(&["no help about `divde_loop`", "did you mean `divide_loop`"]);
    let operators = sandbox.run(&["help", "operators", "--format", "json"]).exits(0).json();
    assert!(operators.as_array().unwrap().iter().any(|operator| operator["name"] == "stage_mem"));
    let lib = "# Tiles.\ndef tile(p, size = 4):\n    \"\"\"Cuts it up.\"\"\"\n    return p\n";
    sandbox.pack("tile-up", "1.0.0", "", &[("src/lib.exo", lib), ("src/more.exo", "X = 3\n")]);
    let page = ["tile-up 1.0.0", "tile_up: Tiles.\n  function     tile(p, size = 4)", "Cuts it up.", "tile_up.more\n"];
    sandbox.run(&["help", "tile_up"]).exits(0).prints(&page);
    let page = sandbox.run(&["help", "tile-up", "--format", "json"]).exits(0).json();
    assert_eq!(page["modules"][1]["items"][0]["name"], "X");
    sandbox.run(&["help", "tile-upp"]).exits(1).says(&["no help about `tile-upp`", "did you mean `tile-up`"]);
    sandbox.run(&["help", "environment"]).exits(0).prints(&["EXO_CACHE_DIR", "NO_COLOR", "EXO_TEST_KILL_AT"]);
}

#[test]
fn help_knows_the_packs_of_the_project() {
    let sandbox = Sandbox::new();
    let of = |version: &str| format!("# Tiles of {version}.\nX = 1\n");
    for version in ["1.0.0", "2.0.0"] {
        sandbox.pack("tiles", version, "", &[("src/lib.exo", &of(version))]);
    }
    sandbox.project("[dependencies]\ntiles = \"1\"\nnear = { path = \"../near\" }\n");
    sandbox.write("near/Exo.toml", &exo_tests::command_line::manifest("near", "0.3.0", ""));
    sandbox.write("near/src/lib.exo", "# Close by.\ndef go(p):\n    return p\n");
    // The version that the project uses, the packs beside it, and itself.
    sandbox.run(&["help", "tiles"]).exits(0).prints(&["tiles 1.0.0", "Tiles of 1.0.0."]);
    sandbox.run(&["help", "near"]).exits(0).prints(&["near 0.3.0", "near: Close by.", "function     go(p)"]);
    sandbox.run(&["help", "mine"]).exits(0).prints(&["mine 0.1.0", "value        answer"]);
    sandbox.run(&["help", "naer"]).exits(1).says(&["no help about `naer`", "did you mean `near`"]);
    // Where the project has mistakes, what is in the binary is explained nevertheless.
    sandbox.write("work/Exo.toml", "[pack\n");
    sandbox.run(&["help", "tiles"]).exits(0).prints(&["tiles 2.0.0"]);
}

#[test]
fn help_explains_the_functions_of_the_prelude() {
    let sandbox = Sandbox::new();
    let signatures =
        ["alloc(name, prim_type, shape, srcinfo)", "window(basetyp, baseptr, indices, strides, srcinfo)", "global_()"];
    sandbox.run(&["help", "memory"]).exits(0).prints(&signatures);
    sandbox.run(&["help", "extern"]).exits(0).prints(&["c(args, prim_type)", "globals(prim_type)", "pure function"]);
    sandbox.run(&["help", "functions"]).exits(0).prints(&["attempt", "repeat", "target"]);
    let page = sandbox.run(&["help", "repeat", "--format", "json"]).exits(0).json();
    assert_eq!(page["signature"], "repeat(f, times = None)");
    sandbox.run(&["help", "memroy"]).exits(1).says(&["did you mean `memory`"]);
}

#[test]
fn mistakes_of_a_manifest_come_together_with_their_places() {
    let sandbox = Sandbox::new();
    sandbox.project("[dependencies]\nneon = \"1..2\"\n\n[verfy]\nallow-unsafe = []\n");
    let run = sandbox.run(&["tree"]).exits(1);
    let run = run.says(&["`Exo.toml` has 2 mistakes", "error[E0606]", "--> Exo.toml:8:8", "verfy", "--> Exo.toml:10:"]);
    assert_eq!(run.stdout, "");
    let json = sandbox.run(&["tree", "--format", "json"]).exits(1).json();
    assert_eq!(json["error"]["diagnostics"][0]["primary"]["place"]["line"], 8);
}

#[test]
fn a_stdout_that_is_full_is_an_environment_failure() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("", &["explain"]);
    command.stdout(Stdio::from(File::options().write(true).open("/dev/full").unwrap()));
    let output = command.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to stdout"));
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("", &["explain"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn output_that_is_no_terminal_has_no_colour() {
    let sandbox = Sandbox::new();
    sandbox.project("[dependencies]\nneon = 1\n");
    let run = sandbox.run(&["tree"]).exits(1);
    assert!(!run.stderr.contains('\x1b'), "{}", run.stderr);
}

#[test]
fn a_wrong_limit_is_a_usage_error() {
    let mut sandbox = Sandbox::new();
    sandbox.set("EXO_LIMIT_STEPS", "lots");
    sandbox.run(&["explain"]).exits(2).says(&["EXO_LIMIT_STEPS is `lots`", "exo help environment"]);
}

#[test]
fn without_a_cache_folder_the_variables_are_named() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("", &["cache", "dir"]);
    command.env_remove("EXO_CACHE_DIR").env_remove("HOME");
    finish(command).exits(3).says(&["EXO_CACHE_DIR, XDG_CACHE_HOME nor HOME"]);
    let mut command = sandbox.command("", &["cache", "dir"]);
    command.env_remove("EXO_CACHE_DIR").env("XDG_CACHE_HOME", "/x");
    finish(command).exits(0).prints(&["/x/exo/v1\n"]);
}

#[test]
fn the_hidden_child_refuses_what_is_no_request() {
    let sandbox = Sandbox::new();
    sandbox.run(&["__verify"]).exits(2).says(&["stdin is no verification request"]);
}
