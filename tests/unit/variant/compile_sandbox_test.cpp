// SPDX-License-Identifier: MIT
// The real bubblewrap, where it is installed and works.
#include "variant/compile_sandbox.hpp"

#include <algorithm>

#include "core/process.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::variant;

namespace {

struct Fixture {
  TempDirectory outside = *TempDirectory::create("wb-test");
  TempDirectory inside = *TempDirectory::create("wb-test");
  fs::path shell = *find_program("sh");
  SandboxFolders folders{{inside.path()}, {}, inside.path()};

  /// What the script prints in the sandbox.
  std::string run(const std::string& script) const {
    ProcessSpec spec;
    spec.argv = compile_sandbox(shell, folders);
    spec.argv.insert(spec.argv.end(), {shell.string(), "-c", script});
    const auto outcome = run_process(spec);
    return outcome.ok() ? outcome->out : "no process";
  }
  /// Words for why there is nothing to test here; empty where there is.
  [[nodiscard]] std::string missing() const {
    if (compile_sandbox_word() != "bubblewrap") return "bubblewrap is not installed";
    return run("echo works") == "works\n" ? "" : "bubblewrap may not make namespaces here";
  }
};

}  // namespace

TEST_CASE("a compiler in the sandbox sees its own folders only", "[variant][sandbox]") {
  const Fixture f;
  if (const std::string why = f.missing(); !why.empty()) {
    WARN("skipped: " + why);
    return;
  }
  const fs::path secret = f.outside.path() / "secret";
  REQUIRE(RealFileSystem().write_atomic(secret, "do not read\n", Durability::none).ok());
  CHECK(f.run("cat " + secret.string() + " /etc/passwd /dev/zero; echo end") == "end\n");
  CHECK(f.run("pwd; echo x > made; cat made") == f.inside.path().string() + "\nx\n");
  CHECK(fs::exists(f.inside.path() / "made"));
  CHECK(f.run("echo x > /usr/wb-made 2>/dev/null || echo refused") == "refused\n");
  Fixture granted;
  granted.folders.readable = {f.outside.path()};
  CHECK(granted.run("cat " + secret.string()) == "do not read\n");
}

TEST_CASE("the working folder can be seen under a fixed name", "[variant][sandbox]") {
  Fixture f;
  if (const std::string why = f.missing(); !why.empty()) {
    WARN("skipped: " + why);
    return;
  }
  f.folders.mounted_as = "/wb-sources";
  CHECK(f.run("pwd; echo x > made") == "/wb-sources\n");
  CHECK(fs::exists(f.inside.path() / "made"));
}

TEST_CASE("CPU time in the sandbox is counted, and strays end with it", "[variant][sandbox]") {
  const Fixture f;
  if (const std::string why = f.missing(); !why.empty()) {
    WARN("skipped: " + why);
    return;
  }
  ProcessSpec spec;
  spec.argv = compile_sandbox(f.shell, f.folders);
  spec.argv.insert(spec.argv.end(), {f.shell.string(), "-c",
                                     "sleep 100 & i=0; while [ $i -lt 200000 ]; do "
                                     "i=$((i+1)); done"});
  const auto outcome = run_process(spec);
  REQUIRE(outcome.ok());
  CHECK(outcome->success());
  CHECK(outcome->cpu_s > 0.01);
}

TEST_CASE("a compiler outside /usr is made visible", "[variant][sandbox]") {
  if (compile_sandbox_word() != "bubblewrap") return;
  const auto words = compile_sandbox("/opt/tools/bin/c++", {{}, {}, "/"});
  CHECK(std::find(words.begin(), words.end(), "/opt/tools") != words.end());
  CHECK(std::find(words.begin(), words.end(), "/") == words.end() - 1);  // --chdir only
  SandboxFolders folders;
  folders.programs = {"/opt/cuda/bin/nvcc", "/usr/bin/g++"};
  const auto more = compile_sandbox("/opt/tools/bin/c++", folders);
  CHECK(std::find(more.begin(), more.end(), "/opt/cuda") != more.end());
}
