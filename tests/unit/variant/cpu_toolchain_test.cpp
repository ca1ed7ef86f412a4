// SPDX-License-Identifier: MIT
// The real compilers, on small sources.
#include <sys/resource.h>

#include <chrono>

#include "core/process.hpp"
#include "kernel_folder.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::KernelFolder;

namespace {

struct Fixture {
  KernelFolder folder;
  RealFileSystem file_system;
  BuildOptions options;
  fs::path output = folder.path() / "out.so";

  Outcome<BuildRecord> compile(const std::string& source, const Toolchain& toolchain,
                               const std::string& extra = "",
                               const Configuration& configuration = {}) {
    folder.kernel("k", source, extra);
    return toolchain.compile(folder.must_read("k"), configuration, options, "the-id", output);
  }
  Failure refused(const std::string& source, const Toolchain& toolchain,
                  const std::string& extra = "") {
    auto record = compile(source, toolchain, extra);
    REQUIRE_FALSE(record.ok());
    CHECK_FALSE(fs::exists(output));
    INFO(record.error().message);
    return std::move(record).error();
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const k_good = R"(
#include "part.h"
extern "C" __attribute__((visibility("default"))) const char* id() { return WB_BUILD_ID; }
static_assert(TILE == 7);
)";

}  // namespace

TEST_CASE("both compilers build a variant", "[variant][toolchain]") {
  const std::string name = GENERATE("g++", "clang++");
  if (!find_program(name).ok()) {
    WARN(name << " is not installed: skipped");
    return;
  }
  Fixture f;
  f.folder.write("common/part.h", "");
  const CpuToolchain toolchain(name);
  const auto record = f.compile(k_good, toolchain, R"("compile_flags": ["-mfma"])", {{"TILE", 7}});
  INFO((record.ok() ? std::string() : record.error().untrusted_output));
  REQUIRE(record.ok());
  CHECK(fs::file_size(f.output) > 1000);
  CHECK(record->wall_s > 0);
  CHECK(record->cpu_s > 0);
  CHECK(has(record->compiler, name == "g++" ? "g++" : "clang"));
  std::string line;
  for (const std::string& word : record->argv) line += word + " ";
  CHECK(has(line, "-DTILE=7"));
  CHECK(has(line, "-march=native"));
  CHECK(has(line, "-mfma"));
  CHECK_FALSE(has(line, f.folder.path().string()));  // no temporary path in the record
}

TEST_CASE("compiler errors come back in the compiler's words", "[variant][toolchain]") {
  Fixture f;
  const Failure failure = f.refused("int x = nonsense;\n", CpuToolchain("g++"));
  CHECK(failure.invalidity == Invalidity::compile);
  CHECK(has(failure.message, "refused the source"));
  CHECK(has(failure.untrusted_output, "k/kernel.cpp:1"));
  CHECK(has(failure.untrusted_output, "nonsense"));
}

TEST_CASE("a flood of errors is bounded", "[variant][toolchain][hostile]") {
  Fixture f;
  std::string source;
  for (int i = 0; i < 20'000; ++i) source += "undeclared" + std::to_string(i) + ";\n";
  const Failure failure = f.refused(source, CpuToolchain("g++"));
  CHECK(failure.untrusted_output.size() < 66u << 10);
}

TEST_CASE("an endless compile ends at the deadline with its children",
          "[variant][toolchain][hostile]") {
  Fixture f;
  f.options.deadline = std::chrono::seconds(1);
  const Failure failure = f.refused(R"(
template <int N, int M> struct T {
  static constexpr int v = T<N - 1, M>::v + T<N - 1, M + (1 << N)>::v;
};
template <int M> struct T<0, M> { static constexpr int v = M; };
int x = T<26, 0>::v;
)",
                                    CpuToolchain("g++"));
  CHECK(failure.invalidity == Invalidity::timeout);
  CHECK(has(failure.message, "deadline"));
}

TEST_CASE("our limits are named as limits, not as faults of the compiler",
          "[variant][toolchain][hostile]") {
  Fixture f;
  SECTION("a library that is too large") {
    const std::string name = GENERATE("g++", "clang++");
    if (!find_program(name).ok()) return;
    CompileLimits limits;
    limits.file_size_bytes = 4u << 20;
    const Failure failure = f.refused("char big[64 << 20] = {1};\n", CpuToolchain(name, limits));
    CAPTURE(name, failure.message);
    CHECK(failure.invalidity == Invalidity::compile);
    CHECK(has(failure.message, "limit of 4 MiB"));
  }
  SECTION("a source that needs too much memory") {
    CompileLimits limits;
    limits.address_space_bytes = 256u << 20;
    std::string source = "#define A0 0,\n";
    for (int i = 1; i < 27; ++i) {
      const std::string below = "A" + std::to_string(i - 1);
      source += "#define A" + std::to_string(i) + " " + below + " " + below + "\n";
    }
    const Failure failure = f.refused(source + "int x[] = {A26};\n", CpuToolchain("g++", limits));
    CHECK(failure.invalidity == Invalidity::compile);
    CHECK(has(failure.message, "memory limit of 256 MiB"));
  }
}

TEST_CASE("words of a full disk from a source do not blame the machine",
          "[variant][toolchain][hostile]") {
  Fixture f;
  CompileLimits limits;
  limits.file_size_bytes = 64u << 20;  // the free space that the check asks for
  for (const std::string words : {"No space left on device", "cannot execute 'cc1plus'"}) {
    const Failure failure = f.refused("#error " + words + "\n", CpuToolchain("g++", limits));
    CHECK(failure.invalidity == Invalidity::compile);
  }
}

TEST_CASE("a missing compiler is the machine's fault", "[variant][toolchain]") {
  Fixture f;
  const CpuToolchain toolchain("no-such-compiler-here");
  CHECK(f.refused("int x;\n", toolchain).invalidity == Invalidity::environment);
  const auto identity = toolchain.identity();
  REQUIRE_FALSE(identity.ok());
  CHECK(identity.error().code == ErrorCode::environment);
  CHECK(has(identity.error().message(), "--compiler"));
}

TEST_CASE("a compiler that cannot compile anything is the machine's fault",
          "[variant][toolchain][hostile]") {
  Fixture f;
  f.folder.write("bin/cc",
                 "#!/bin/sh\ncase $1 in -*version) echo 'fake 1';; -dumpmachine) echo x;;"
                 " *) echo 'No space left on device' >&2; exit 1;; esac\n");
  const fs::path compiler = f.folder.root() / "bin/cc";
  fs::permissions(compiler, fs::perms::owner_all);
  const Failure failure = f.refused("int x;\n", CpuToolchain(compiler.string()));
  CHECK(failure.invalidity == Invalidity::environment);
}

TEST_CASE("flags and targets outside the lists are refused before anything runs",
          "[variant][toolchain][hostile]") {
  Fixture f;
  const Failure failure =
      f.refused("int x;\n", CpuToolchain("g++"), R"("compile_flags": ["-fplugin=/tmp/x.so"])");
  CHECK(failure.invalidity == Invalidity::constraints);
  CHECK(has(failure.message, "-fplugin=/tmp/x.so"));
  f.options.target = "native -o /tmp/x";
  CHECK(f.refused("int x;\n", CpuToolchain("g++")).invalidity == Invalidity::constraints);
}

TEST_CASE("the caller's environment does not reach the compiler", "[variant][toolchain][hostile]") {
  Fixture f;
  f.folder.write("hidden/secret.h", "int hidden;\n");
  REQUIRE(::setenv("CPATH", (f.folder.root() / "hidden").c_str(), 1) == 0);
  const auto record = f.compile("#include <secret.h>\n", CpuToolchain("g++"));
  ::unsetenv("CPATH");
  CHECK_FALSE(record.ok());
}

TEST_CASE("granted includes and libraries reach the compiler", "[variant][toolchain]") {
  Fixture f;
  f.folder.write("extern/my_lib/a.h", "#define A_VALUE 3\n");
  const std::string source = "#include \"my_lib/a.h\"\n#include <my_lib/a.h>\nint x = A_VALUE;\n";
  const std::string extra = R"("includes": ["my_lib"])";
  CHECK(f.refused(source, CpuToolchain("g++"), extra).invalidity == Invalidity::constraints);
  f.options.allowed_includes = {f.folder.root() / "extern"};
  CHECK(f.compile(source, CpuToolchain("g++"), extra).ok());
}

TEST_CASE("a cache hit starts no compiler", "[variant][cache]") {
  RealFileSystem file_system;
  const KernelFolder folder;
  folder.kernel("k", "int x = 7;\n");
  const Variant variant = folder.must_read("k");
  const CpuToolchain toolchain("g++");
  ArtifactCache cache(file_system, folder.path() / "cache");
  REQUIRE(cache.build(variant, {}, {}, &toolchain).ok());
  // A child that was waited for leaves its page faults here.
  const auto faults_of_children = [] {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_minflt;
  };
  const auto before = faults_of_children();
  REQUIRE(before > 0);
  for (int i = 0; i < 3; ++i) {
    const auto artifact = cache.build(variant, {}, {}, &toolchain);
    REQUIRE(artifact.ok());
    REQUIRE(artifact->record.cached);
  }
  CHECK(faults_of_children() == before);
}
