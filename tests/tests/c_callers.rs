//! Generated C in the hands of C programmers: run-time checks, two libraries in one program, CMake and pkg-config.

use std::process::{Command, Output};

use exo_tests::command_line::{Run, Sandbox, finish};

/// Runs a program in the sandbox's `work` and demands that it succeeds.
fn tool(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(sandbox.path("work"))
        .env("EXO_CACHE_DIR", sandbox.path("cache"))
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {}\n{}{}",
        arguments.join(" "),
        said(&output.stdout),
        said(&output.stderr)
    );
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

const LIBRARY: &str = "
@proc
def scale(n: size, x: f32[n], y: f32[n]):
    assert n % 4 == 0
    for i in seq(0, n):
        y[i] = 2.0 * x[i]

@proc
def fill(m: size, w: [f32][m, 4]):
    assert stride(w, 1) == 1
    for i in seq(0, m):
        for j in seq(0, 4):
            w[i, j] = 1.0

@proc
def cube(w: [f32][2, 2, 2]):
    for i in seq(0, 2):
        for j in seq(0, 2):
            for k in seq(0, 2):
                w[i, j, k] = 2.0
";

const CALLER: &str = r#"
#include <stdlib.h>
#include "lib.h"
int main(int argc, char **argv) {
    float x[64], y[64], z[64];
    int what = atoi(argv[1]);
    (void)argc;
    for (int i = 0; i < 64; i++) { x[i] = 3.0f; y[i] = 0.0f; z[i] = 0.0f; }
    switch (what) {
    case 0: scale(0, 8, x, y); fill(0, 4, (struct exo_win_2f32){ z, { 8, 1 } }); return y[7] == 6.0f && z[8] == 1.0f && z[4] == 0.0f ? 0 : 1;
    case 1: scale(0, 0, x, y); break;
    case 2: scale(0, 6, x, y); break;
    case 3: scale(0, 8, x, x + 4); break;
    case 4: scale(0, 8, x, 0); break;
    case 5: fill(0, 4, (struct exo_win_2f32){ z, { 8, 2 } }); break;
    case 6: fill(0, 4, (struct exo_win_2f32){ z, { 3, 1 } }); break;
    case 7: fill(0, 4, (struct exo_win_2f32){ z, { -8, 1 } }); break;
    case 8: cube(0, (struct exo_win_3f32){ z, { 1, 2, 3 } }); break;
    case 9: cube(0, (struct exo_win_3f32){ z, { 2, 1, 4 } }); return z[7] == 2.0f ? 0 : 1;
    }
    return 0;
}
"#;

#[test]
fn broken_preconditions_end_a_checked_program() {
    let sandbox = Sandbox::new();
    sandbox.write("work/lib.exo", LIBRARY);
    sandbox.write("work/main.c", CALLER);
    sandbox.run(&["cc", "--checked", "-o", "out", "lib.exo"]).exits(0);
    tool(&sandbox, "gcc", &["-std=c11", "-Wall", "-Wextra", "-Werror", "-Iout", "main.c", "out/lib.c", "-o", "main"]);
    let run = |what: &str| -> Run {
        let mut command = Command::new(sandbox.path("work/main"));
        command.arg(what);
        finish(command)
    };
    run("0").exits(0);
    run("9").exits(0);
    for (what, message) in [
        ("1", "scale: `n` must be positive"),
        ("2", "scale: `n % 4 == 0` does not hold"),
        ("3", "scale: `x` and `y` overlap"),
        ("4", "scale: `y` is no buffer"),
        ("5", "fill: `stride(w, 1) == 1` does not hold"),
        ("6", "fill: rows of `w` overlap"),
        ("7", "fill: stride 0 of `w` must be positive"),
        // Each pair of strides is apart, but one and two steps make three.
        ("8", "cube: rows of `w` overlap"),
    ] {
        let ended = run(what);
        // Ended by a signal, which has no exit code.
        assert_eq!(ended.code, None, "case {what}");
        assert!(ended.stderr.contains(message), "case {what}: {}", ended.stderr);
    }
    // Without the option nothing is checked.
    sandbox.run(&["cc", "-o", "out", "lib.exo"]).exits(0);
    assert!(!sandbox.read("work/out/lib.c").contains("EXO_CHECK("));
}

#[test]
fn pointers_are_declared_distinct_unless_a_check_was_waived() {
    let sandbox = Sandbox::new();
    sandbox.write("work/lib.exo", LIBRARY);
    sandbox.run(&["cc", "-o", "out", "lib.exo"]).exits(0);
    let c = sandbox.read("work/out/lib.c");
    assert!(c.contains("int_fast32_t n, const float* restrict x, float* restrict y )"), "{c}");
    // C++ reads the header and has no such word.
    assert!(!sandbox.read("work/out/lib.h").contains("restrict"));
}

/// Two generated libraries have helpers, externs and window structs of the same names, and C names of the user's choice.
#[test]
fn two_libraries_link_into_one_program() {
    let sandbox = Sandbox::new();
    for (name, factor) in [("one", "2.0"), ("two", "3.0")] {
        sandbox.write(
            &format!("work/{name}.exo"),
            &format!(
                "@proc
def _helper(n: size, printf: [f32][n]):
    for int in seq(0, n):
        printf[int] = relu(printf[int]) * {factor}

@proc
def {name}(n: size, register: [f32][n], k: index):
    assert k >= -8 and k < 8
    _helper(n, register[0:n])
    while_: f32
    while_ = sigmoid(register[(k % 8) / 8])
    register[0] += while_ * 0.0
"
            ),
        );
        sandbox.run(&["cc", "-o", "out", &format!("{name}.exo")]).exits(0);
    }
    sandbox.write(
        "work/main.c",
        "#include \"one.h\"\n#include \"two.h\"\nint main(void) {\n    float x[4] = { 1, -1, 1, 1 };\n    \
         one(0, 4, (struct exo_win_1f32){ x, { 1 } }, -3);\n    two(0, 2, (struct exo_win_1f32){ x, { 2 } }, 3);\n    \
         return x[0] == 6.0f && x[1] == 0.0f && x[2] == 6.0f && x[3] == 2.0f ? 0 : 1;\n}\n",
    );
    sandbox.write("work/main.cpp", "#include \"one.h\"\n#include \"two.h\"\nint main() { return 0; }\n");
    let flags = ["-Wall", "-Wextra", "-Werror", "-Iout"];
    let mut c = vec!["-std=c11", "main.c", "out/one.c", "out/two.c", "-lm", "-o", "main"];
    c.splice(1..1, flags);
    tool(&sandbox, "gcc", &c);
    finish(Command::new(sandbox.path("work/main"))).exits(0);
    tool(&sandbox, "g++", &[&flags[..], &["-fsyntax-only", "main.cpp"]].concat());
}

#[test]
fn a_cmake_project_uses_modules_and_a_project_and_installs_for_pkg_config() {
    let sandbox = Sandbox::new();
    sandbox.write("work/app/lib.exo", LIBRARY);
    sandbox.write(
        "work/app/main.c",
        "#include <lib.h>\n#include <saxpy.h>\nint main(void) {\n    float x[8], y[8];\n    \
         for (int i = 0; i < 8; i++) { x[i] = 1.0f; y[i] = 0.0f; }\n    scale(0, 8, x, y);\n    return y[3] == 2.0f ? 0 : 1;\n}\n",
    );
    sandbox.write(
        "work/app/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(app VERSION 1.2 LANGUAGES C)\nfind_package(Exo REQUIRED)\n\
         exo_add_library(lib SOURCES lib.exo CHECKED)\n\
         exo_add_library(kernels PROJECT ../fresh TARGET fresh.portable)\n\
         add_executable(main main.c)\ntarget_link_libraries(main PRIVATE lib kernels)\nexo_install_library(lib)\n",
    );
    sandbox.run(&["new", "fresh"]).exits(0);
    let targets = sandbox.read("work/fresh/Exo.toml");
    let target = targets.split("targets = [\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let lists = sandbox.read("work/app/CMakeLists.txt").replace("fresh.portable", target);
    sandbox.write("work/app/CMakeLists.txt", &lists);
    let folder = sandbox.run(&["cmake-dir"]).exits(0).stdout.trim().to_string();
    tool(
        &sandbox,
        "cmake",
        &["-S", "app", "-B", "made", &format!("-DExo_DIR={folder}"), "-DCMAKE_INSTALL_PREFIX=installed"],
    );
    tool(&sandbox, "cmake", &["--build", "made"]);
    finish(Command::new(sandbox.path("work/made/main"))).exits(0);
    // A changed module is compiled again.
    sandbox.write("work/app/lib.exo", &LIBRARY.replace("2.0 *", "4.0 *"));
    tool(&sandbox, "cmake", &["--build", "made"]);
    finish(Command::new(sandbox.path("work/made/main"))).exits(1);
    sandbox.write("work/app/lib.exo", LIBRARY);
    tool(&sandbox, "cmake", &["--build", "made"]);
    tool(&sandbox, "cmake", &["--install", "made", "--prefix", &sandbox.path("work/installed").display().to_string()]);
    let pc = ["work/installed/lib/pkgconfig", "work/installed/lib64/pkgconfig"].map(|path| sandbox.path(path));
    let folders: Vec<String> = pc
        .into_iter()
        .chain([sandbox.path(&format!("work/installed/lib/{}-linux-gnu/pkgconfig", std::env::consts::ARCH))])
        .map(|path| path.display().to_string())
        .collect();
    let query = format!(
        "PKG_CONFIG_PATH={} pkg-config --define-variable=prefix={} --cflags --libs lib",
        folders.join(":"),
        sandbox.path("work/installed").display()
    );
    let flags = text(&tool(&sandbox, "sh", &["-c", &query]));
    sandbox.write("work/use.c", "#include <lib.h>\nint main(void) { float x[4] = { 1, 1, 1, 1 }, y[4]; scale(0, 4, x, y); return (int)y[0] - 2; }\n");
    tool(&sandbox, "sh", &["-c", &format!("gcc use.c {flags} -o use")]);
    finish(Command::new(sandbox.path("work/use"))).exits(0);
}

#[test]
fn a_built_kernel_is_found_by_pkg_config() {
    let sandbox = Sandbox::new();
    sandbox.run(&["new", "fresh"]).exits(0);
    let built = sandbox.run_in("fresh", &["build"]).exits(0);
    let pc = built.stdout.lines().find(|line| line.ends_with(".pc")).unwrap_or_default().to_string();
    let (folder, file) = pc.rsplit_once('/').unwrap_or_default();
    let name = file.trim_end_matches(".pc");
    let query = |what: &str| {
        text(&tool(&sandbox, "sh", &["-c", &format!("PKG_CONFIG_PATH=fresh/{folder} pkg-config {what} {name}")]))
    };
    let (flags, source) = (query("--cflags"), query("--variable=source"));
    tool(&sandbox, "sh", &["-c", &format!("gcc {flags} -c {source} -o kernel.o")]);
    assert_eq!(query("--modversion"), "0.1.0");
}
