// SPDX-License-Identifier: MIT
// One run of a compiler: why it failed and with which flags; the files that it reports as read,
// compared with those that an artifact id covers, which shows what the scanner of includes
// overlooked; and the real bubblewrap, where it is installed and works.
#include <algorithm>
#include <csignal>

#include "core/process.hpp"
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "variant/compile_reads.hpp"
#include "variant/compile_run.hpp"
#include "variant/compile_sandbox.hpp"
#include "variant/compiler.hpp"

using namespace wb::variant;
using namespace wb;
using wb::test::KernelFolder;

namespace {

ProcessOutcome failed(const std::string& err) {
  ProcessOutcome outcome;
  outcome.exit_code = 1;
  outcome.err = err;
  return outcome;
}

}  // namespace

TEST_CASE("compiler faults are told apart by their words", "[variant][toolchain]") {
  const auto fault = [](const std::string& err) { return classify_compile_fault(failed(err)); };
  CHECK(fault("k/kernel.cpp:1:1: error: 'x' does not name a type") == CompileFault::source);
  CHECK(
      fault(
          "g++: internal compiler error: File size limit exceeded signal terminated program as") ==
      CompileFault::file_limit);
  CHECK(fault("clang: error: unable to execute command: File size limit exceeded") ==
        CompileFault::file_limit);
  CHECK(fault("cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes") ==
        CompileFault::memory_limit);
  CHECK(fault("LLVM ERROR: out of memory\nPLEASE submit a bug report") ==
        CompileFault::memory_limit);
  CHECK(fault("virtual memory exhausted: Cannot allocate memory") == CompileFault::memory_limit);
  CHECK(fault("fatal error: error writing to /tmp/x.s: No space left on device") ==
        CompileFault::machine);
  CHECK(fault("g++: fatal error: cannot execute 'cc1plus': posix_spawnp: No such file") ==
        CompileFault::machine);
  CHECK(fault("g++: fatal error: Killed signal terminated program cc1plus") ==
        CompileFault::killed);
  CHECK(fault("k.cpp:1: internal compiler error: Segmentation fault") == CompileFault::crashed);
}

TEST_CASE("compiler faults are told apart by how the process ended", "[variant][toolchain]") {
  ProcessOutcome outcome;
  outcome.timed_out = true;
  outcome.signal = SIGKILL;
  CHECK(classify_compile_fault(outcome) == CompileFault::timeout);
  outcome.timed_out = false;
  CHECK(classify_compile_fault(outcome) == CompileFault::killed);
  outcome.signal = SIGXFSZ;
  CHECK(classify_compile_fault(outcome) == CompileFault::file_limit);
  outcome.signal = SIGSEGV;
  CHECK(classify_compile_fault(outcome) == CompileFault::crashed);
}

TEST_CASE("only listed flags pass", "[variant][toolchain][hostile]") {
  for (const std::string flag : {"-O2", "-O3", "-mavx2", "-mfma", "-mf16c", "-mavx512f",
                                 "-funroll-loops", "-march=native", "-fassociative-math"}) {
    INFO(flag);
    CHECK(is_allowed_cpu_flag(flag));
  }
  for (const std::string flag : {"",
                                 "-",
                                 "-Ofast",
                                 "-ffast-math",
                                 "-fopenmp",
                                 "-fplugin=x.so",
                                 "-wrapper",
                                 "-specs=x",
                                 "-B/tmp",
                                 "@file",
                                 "-include",
                                 "-o",
                                 "-I/etc",
                                 "-I..",
                                 "-Wl,-e,x",
                                 "-Wa,x",
                                 "-Wp,x",
                                 "-xassembler",
                                 "-E",
                                 "-M",
                                 "-dumpspecs",
                                 "-save-temps",
                                 "-fdump-tree-all",
                                 "-pipe",
                                 "-mavx2 -o x",
                                 "-O3\n",
                                 " -O3",
                                 "-march=native,x",
                                 "--sysroot=/",
                                 "-ftemplate-depth=9999999",
                                 "-fconstexpr-ops-limit=9999999999",
                                 "kernel2.cpp",
                                 "/etc/passwd",
                                 "-DX=1"}) {
    INFO(flag);
    CHECK_FALSE(is_allowed_cpu_flag(flag));
  }
  CHECK(is_cpu_target("native"));
  CHECK(is_cpu_target("x86-64-v3"));
  for (const std::string target : {"", "-x", "a b", "a,b", "A", "sm_90a;x", "../x"}) {
    INFO(target);
    CHECK_FALSE(is_cpu_target(target));
  }
}

namespace {

using Names = std::vector<std::string>;

/// A variant `k` and the lists that a compiler wrote of it.
struct Lists {
  KernelFolder folder;
  TempDirectory temporary = *TempDirectory::create("wb-test");
  Variant variant;
  ReadLists lists{CompilerKind::gcc, folder.root(), temporary.path()};

  Lists() {
    folder.kernel("k", "#include \"part.h\"\n");
    folder.write("common/part.h", "");
    variant = folder.must_read("k");
  }
  void write(const std::string& name, const std::string& text) const {
    REQUIRE(RealFileSystem().write_atomic(temporary.path() / name, text, Durability::none).ok());
  }
  [[nodiscard]] std::optional<std::string> found(const std::string& read,
                                                 const std::string& assembled = "") const {
    write("wb_reads.d", "out.o: k/kernel.cpp common/part.h " + read + "\n");
    write("wb_assembled.d", "out.o: kernel.cpp " + assembled + "\n");
    return uncovered_read(lists, variant, {}, {}).value();
  }
};

}  // namespace

TEST_CASE("names are read from a rule of make", "[variant][reads]") {
  CHECK(names_of_rule("out.o: a.cpp b.h\n") == Names{"a.cpp", "b.h"});
  CHECK(names_of_rule("out.o : a.cpp \\\n  b.h\\\n c.h") == Names{"a.cpp", "b.h", "c.h"});
  CHECK(names_of_rule("o: with\\ space.h hash\\#.h money$$.h\n") ==
        Names{"with space.h", "hash#.h", "money$.h"});
  CHECK(names_of_rule("o: a.h\np: b.h\n") == Names{"a.h", "b.h"});
  CHECK(names_of_rule("").empty());
}

TEST_CASE("a file that no id covers is named, whoever read it", "[variant][reads][hostile]") {
  const Lists lists;
  CHECK_FALSE(lists.found(""));
  CHECK_FALSE(lists.found("/usr/include/stdio.h"));
  const TempDirectory outside = *TempDirectory::create("wb-test-outside");
  const std::string secret = (outside.path() / "secret.h").string();
  REQUIRE(RealFileSystem().write_atomic(secret, "secret", Durability::none).ok());
  CHECK(lists.found(secret) == secret);
  CHECK(lists.found("/usr/include/../../etc/passwd") == "/usr/include/../../etc/passwd");
  // In the folder of the sources, but no file of the variant.
  CHECK(lists.found("other/kernel.cpp") == "other/kernel.cpp");
  // The assembler's list: its own temporary file is none of it.
  CHECK_FALSE(lists.found("", (lists.temporary.path() / "cc1.s").string()));
  CHECK(lists.found("", secret) == secret);
  // A link is followed.
  fs::create_symlink(secret, lists.folder.root() / "common" / "link.h");
  CHECK(lists.found("common/link.h") == "common/link.h");
}

TEST_CASE("folders that are granted, and a compiler's own, are covered", "[variant][reads]") {
  const Lists lists;
  const TempDirectory granted = *TempDirectory::create("wb-test-granted");
  const std::string header = (granted.path() / "lib.h").string();
  CHECK(lists.found(header) == header);
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {granted.path()}, {}).value());
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {}, {granted.path()}).value());
}

TEST_CASE("a compiler that wrote no list is the machine's matter", "[variant][reads]") {
  const Lists lists;
  CHECK_FALSE(uncovered_read(lists.lists, lists.variant, {}, {}).ok());
}

TEST_CASE("of a compile that failed -H names the headers", "[variant][reads][hostile]") {
  const Lists lists;
  const auto found = [&](const std::string& printed) {
    return uncovered_header(printed, lists.lists, lists.variant, {}, {});
  };
  CHECK_FALSE(found(". common/part.h\n.. /usr/include/stdio.h\nerror: no such thing\n"));
  CHECK(found(". common/part.h\n.. /etc/passwd\n") == "/etc/passwd");
  CHECK_FALSE(found("./etc/passwd\n...\n"));
}

TEST_CASE("the date is taken away from sources", "[variant][reads]") {
  const Lists lists;
  const auto words = read_list_words(lists.lists);
  std::string line;
  for (const std::string& word : words) line += word + " ";
  for (const std::string macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    CHECK(line.find("-D" + macro + "=") != std::string::npos);
  }
  CHECK(uses_date_macro("error: 'wb_no_date_of_a_build' was not declared"));
  CHECK_FALSE(uses_date_macro(line));  // a compiler that prints its command line
  CHECK_FALSE(uses_date_macro("error: something else"));
}

namespace {

struct SandboxFixture {
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
  const SandboxFixture f;
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
  SandboxFixture granted;
  granted.folders.readable = {f.outside.path()};
  CHECK(granted.run("cat " + secret.string()) == "do not read\n");
}

TEST_CASE("the working folder can be seen under a fixed name", "[variant][sandbox]") {
  SandboxFixture f;
  if (const std::string why = f.missing(); !why.empty()) {
    WARN("skipped: " + why);
    return;
  }
  f.folders.mounted_as = "/wb-sources";
  CHECK(f.run("pwd; echo x > made") == "/wb-sources\n");
  CHECK(fs::exists(f.inside.path() / "made"));
}

TEST_CASE("CPU time in the sandbox is counted, and strays end with it", "[variant][sandbox]") {
  const SandboxFixture f;
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
