// SPDX-License-Identifier: MIT
#include "variant/builder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/hash.hpp"
#include "kernel_folder.hpp"

using namespace wb;
using wb::test::KernelFolder;

namespace {

/// Writes a file that depends on all it is given, after a pause, and counts its calls.
class FakeToolchain final : public Toolchain {
 public:
  Result<CompilerIdentity> identity() const override {
    ++identities;
    if (!fault.empty()) return Error{ErrorCode::environment, "find", "fake", fault, ""};
    return CompilerIdentity{"/fake", "fake 1.0", signature};
  }
  bool is_installed() const override { return installed; }
  Outcome<BuildRecord> compile(const Variant& variant, const Configuration& configuration,
                               const BuildOptions&, std::string_view build_id,
                               const fs::path& output) const override {
    ++compiles;
    if (!refusal.empty()) return Failure{Invalidity::compile, "fake refused", refusal};
    std::this_thread::sleep_for(pause);
    RealFileSystem file_system;
    const std::string bytes = variant.id + to_text(configuration) + std::string(build_id) + salt;
    REQUIRE(file_system.write_atomic(output, bytes, Durability::none).ok());
    BuildRecord record;
    record.compiler = "fake " + signature;
    record.argv = {"fake", "-o", output.filename().string()};
    record.wall_s = 1.5;
    record.cpu_s = 1.25;
    record.log = "a warning";
    return record;
  }
  std::string signature = "s1", salt, refusal, fault;
  bool installed = true;
  std::chrono::milliseconds pause{0};
  mutable std::atomic<int> compiles{0}, identities{0};
};

struct Fixture {
  KernelFolder folder;
  RealFileSystem file_system;
  FakeToolchain toolchain;
  fs::path cache_root = folder.path() / "cache";
  Fixture() {
    folder.kernel("k", "int x;\n", R"("tune_params": {"TILE": [1, 2, 3]}, "defaults": {"TILE": 1},
                                      "restrictions": ["TILE != 3", "TILE * D < 1000"])");
  }
  [[nodiscard]] Variant variant() const { return folder.must_read("k"); }
  Outcome<Artifact> build(const Configuration& configuration = {}) {
    return ArtifactCache(file_system, cache_root).build(variant(), configuration, {}, &toolchain);
  }
  Artifact must_build(const Configuration& configuration = {}) {
    auto artifact = build(configuration);
    INFO((artifact.ok() ? std::string() : artifact.error().message));
    REQUIRE(artifact.ok());
    return *std::move(artifact);
  }
  [[nodiscard]] std::string text(const fs::path& path) const {
    const auto read = file_system.read(path, 1u << 20);
    REQUIRE(read.ok());
    return *read;
  }
};

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("what a killed builder left is removed, what a living one uses is not",
          "[variant][builder]") {
  Fixture f;
  const fs::path temporary = f.cache_root / "tmp";
  fs::create_directories(temporary / "build-abandoned");
  fs::create_directories(temporary / "build-in-use");
  fs::create_directories(temporary / "build-just-made");
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  fs::last_write_time(temporary / "build-abandoned", old);
  fs::last_write_time(temporary / "build-in-use", old);
  const UniqueFd held(::open((temporary / "build-in-use").c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(::flock(held.get(), LOCK_EX | LOCK_NB) == 0);
  f.must_build();
  CHECK_FALSE(fs::exists(temporary / "build-abandoned"));
  CHECK(fs::exists(temporary / "build-in-use"));
  CHECK(fs::exists(temporary / "build-just-made"));
}

TEST_CASE("the artifact id covers everything the bytes depend on", "[variant][cache]") {
  Fixture f;
  const Variant variant = f.variant();
  const auto id = [&](const Configuration& configuration, const BuildOptions& options = {}) {
    const auto result = artifact_id(variant, configuration, options, &f.toolchain);
    REQUIRE(result.ok());
    return *result;
  };
  const std::string base = id({});
  CHECK(base.size() == 64);
  CHECK(id({{"TILE", 1}}) == base);  // the default, said or not
  CHECK(id({{"TILE", 2}}) != base);
  BuildOptions options;
  options.target = "x86-64-v3";
  CHECK(id({}, options) != base);
  f.toolchain.signature = "s2";
  CHECK(id({}) != base);
  f.toolchain.signature = "s1";
  CHECK(id({}) == base);
  CHECK_FALSE(artifact_id(variant, {{"NOPE", 1}}, {}, &f.toolchain).ok());
  CHECK_FALSE(artifact_id(variant, {}, {}, nullptr).ok());
}

TEST_CASE("the second build comes from the cache", "[variant][cache]") {
  Fixture f;
  const Artifact first = f.must_build();
  CHECK_FALSE(first.record.cached);
  CHECK(first.record.cpu_s == 1.25);
  CHECK(first.content_sha256 == sha256_hex(f.text(first.path)));
  const Artifact second = f.must_build();
  CHECK(second.record.cached);
  CHECK(second.record.cpu_s == 0);
  CHECK(second.record.log == "a warning");
  CHECK(second.id == first.id);
  CHECK(second.path == first.path);
  CHECK(second.content_sha256 == first.content_sha256);
  CHECK(f.toolchain.compiles == 1);
  f.must_build({{"TILE", 2}});
  CHECK(f.toolchain.compiles == 2);
  CHECK(count_entries(f.cache_root / "tmp") == 0);
}

TEST_CASE("a configuration that is not allowed is never compiled", "[variant][cache]") {
  Fixture f;
  for (const Configuration& configuration :
       {Configuration{{"TILE", 3}}, Configuration{{"TILE", 9}}, Configuration{{"TYLE", 1}}}) {
    const auto artifact = f.build(configuration);
    REQUIRE_FALSE(artifact.ok());
    CHECK(artifact.error().invalidity == Invalidity::constraints);
  }
  CHECK(f.toolchain.compiles == 0);
}

TEST_CASE("a failed compile leaves nothing behind", "[variant][cache]") {
  Fixture f;
  f.toolchain.refusal = "k.cpp:1: error";
  const auto artifact = f.build();
  REQUIRE_FALSE(artifact.ok());
  CHECK(artifact.error().invalidity == Invalidity::compile);
  CHECK(artifact.error().untrusted_output == "k.cpp:1: error");
  CHECK(count_entries(f.cache_root / "tmp") == 0);
  f.toolchain.refusal.clear();
  CHECK_FALSE(f.must_build().record.cached);
}

TEST_CASE("a damaged entry is found by its hash and built again", "[variant][cache][hostile]") {
  Fixture f;
  const Artifact first = f.must_build();
  const std::string sound = f.text(first.path);
  const fs::path record = first.path.parent_path() / "build.json";
  const auto damage = [&](const fs::path& path, const std::string& text) {
    REQUIRE(f.file_system.write_atomic(path, text, Durability::none).ok());
  };
  SECTION("one byte of the library") {
    std::string bytes = sound;
    bytes[5] = static_cast<char>(bytes[5] ^ 1);
    damage(first.path, bytes);
  }
  SECTION("an empty library, as after a power cut") {
    damage(first.path, "");
  }
  SECTION("no library") {
    fs::remove(first.path);
  }
  SECTION("no record") {
    fs::remove(record);
  }
  SECTION("a record that is no JSON") {
    damage(record, "{");
  }
  SECTION("a record of another artifact") {
    std::string text = f.text(record);
    text.replace(text.find(first.id), 4, "0000");
    damage(record, text);
  }
  SECTION("a library that is a folder") {
    fs::remove(first.path);
    fs::create_directories(first.path);
  }
  const Artifact again = f.must_build();
  CHECK_FALSE(again.record.cached);
  CHECK(f.text(again.path) == sound);
  CHECK(f.must_build().record.cached);
  CHECK(f.toolchain.compiles == 2);
  CHECK(count_entries(f.cache_root / "tmp") == 0);
}

TEST_CASE("eight processes that build the same thing agree on one", "[variant][cache]") {
  Fixture f;
  const Variant variant = f.variant();
  const bool damaged = GENERATE(false, true);
  if (damaged) {
    const Artifact first = f.must_build();
    REQUIRE(f.file_system.write_atomic(first.path, "broken", Durability::none).ok());
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      // Each would make different bytes, so agreement proves that the losers adopted the winner's.
      FakeToolchain toolchain;
      toolchain.salt = std::to_string(i);
      toolchain.pause = std::chrono::milliseconds(20);
      RealFileSystem file_system;
      ArtifactCache cache(file_system, f.cache_root);
      const auto artifact = cache.build(variant, {}, {}, &toolchain);
      bool good = artifact.ok();
      for (int again = 0; good && again < 20; ++again) {
        const auto library = file_system.read(artifact->path, 1u << 20);
        good = library.ok() && sha256_hex(*library) == artifact->content_sha256;
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  f.toolchain.compiles = 0;
  CHECK(f.must_build().record.cached);
  CHECK(f.toolchain.compiles == 0);
  CHECK(count_entries(f.cache_root / "tmp") == 0);
}

TEST_CASE("eight threads that build different things do not disturb each other",
          "[variant][cache]") {
  Fixture f;
  f.folder.kernel("k", "int x;\n", R"("tune_params": {"TILE": [0,1,2,3,4,5,6,7]},
                                      "defaults": {"TILE": 0})");
  const Variant variant = f.variant();
  ArtifactCache cache(f.file_system, f.cache_root);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 4; ++round) {
        const auto artifact = cache.build(variant, {{"TILE", (i + round) % 8}}, {}, &f.toolchain);
        if (artifact.ok()) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 32);
}

TEST_CASE("a cache that cannot be written is the machine's fault", "[variant][cache][hostile]") {
  Fixture f;
  REQUIRE(f.file_system.write_atomic(f.folder.path() / "file", "x", Durability::none).ok());
  f.cache_root = f.folder.path() / "file" / "cache";
  const auto artifact = f.build();
  REQUIRE_FALSE(artifact.ok());
  CHECK(artifact.error().invalidity == Invalidity::environment);
}

TEST_CASE("leftovers of killed builders are swept", "[variant][cache]") {
  Fixture f;
  const fs::path old = f.cache_root / "tmp" / "build-old", fresh = f.cache_root / "tmp/build-new";
  fs::create_directories(old);
  fs::create_directories(fresh);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(30));
  f.must_build();
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
}

TEST_CASE("a python variant is a folder of its files", "[variant][cache]") {
  Fixture f;
  f.folder.write("rival/kernel.json", R"({"name": "rival", "backend": "python",
    "sources": ["rival.py", "part/x.py"], "entry": "rival:sdpa"})");
  f.folder.write("rival/rival.py", "from common.shared import sdpa\n");
  f.folder.write("common/shared.py", "def sdpa(): pass\n");
  f.folder.write("rival/part/x.py", "x = 1\n");
  const Variant variant = f.folder.must_read("rival");
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto artifact = cache.build(variant, {}, {}, nullptr);
  REQUIRE(artifact.ok());
  CHECK(f.text(artifact->path / "rival.py") == "from common.shared import sdpa\n");
  CHECK(f.text(artifact->path / "common/shared.py") == "def sdpa(): pass\n");
  CHECK(f.text(artifact->path / "part/x.py") == "x = 1\n");
  CHECK(artifact->content_sha256.empty());
  CHECK(cache.build(variant, {}, {}, nullptr)->record.cached);
  // The id does not depend on whether a compiler happens to be at hand.
  CHECK(cache.build(variant, {}, {}, &f.toolchain)->id == artifact->id);

  REQUIRE(f.file_system.write_atomic(artifact->path / "rival.py", "evil", Durability::none).ok());
  const auto again = cache.build(variant, {}, {}, nullptr);
  REQUIRE(again.ok());
  CHECK_FALSE(again->record.cached);
  CHECK(f.text(again->path / "rival.py") == "from common.shared import sdpa\n");

  f.folder.write("rival/rival.py", "from common.missing import sdpa\n");
  const auto missing = f.folder.read("rival");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message().find("kernels/common has no missing.py") != std::string::npos);
}

TEST_CASE("includes and libraries need a grant, which is part of the id", "[variant][cache]") {
  Fixture f;
  f.folder.write("extern/inc/lib_h/a.h", "int a;\n");
  f.folder.write("extern/lib/libfoo.so", "so");
  f.folder.kernel("g", "#include \"lib_h/a.h\"\n",
                  R"("includes": ["lib_h"], "libraries": ["foo"])");
  const Variant variant = f.folder.must_read("g");
  const fs::path external = f.folder.root() / "extern";
  BuildOptions options;
  const auto id = [&] { return artifact_id(variant, {}, options, &f.toolchain); };
  REQUIRE_FALSE(id().ok());
  CHECK(id().error().message().find("--allow-include") != std::string::npos);
  options.allowed_includes = {external / "inc"};
  REQUIRE_FALSE(id().ok());
  CHECK(id().error().message().find("foo") != std::string::npos);
  options.allowed_includes = {external / "inc", external};
  REQUIRE(id().ok());
  const std::string first = *id();
  f.folder.write("extern/inc/lib_h/a.h", "int changed_size;\n");
  CHECK(*id() != first);
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto refused = cache.build(variant, {}, {}, &f.toolchain);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::constraints);
}

TEST_CASE("without its compiler a CUDA variant comes from the cache, whoever compiled it",
          "[variant][cache][cuda]") {
  Fixture f;
  f.folder.write("c/kernel.json", R"({"name": "c", "backend": "cuda", "sources": ["kernel.cu"],
    "tune_params": {"TILE": [1, 2]}, "defaults": {"TILE": 1}})");
  f.folder.write("c/kernel.cu", "int x;\n");
  const Variant variant = f.folder.must_read("c");
  BuildOptions options{.target = "sm_90a"};
  ArtifactCache cache(f.file_system, f.cache_root);
  const auto build = [&](const Configuration& configuration = {}) {
    return cache.build(variant, configuration, options, &f.toolchain);
  };
  const auto older = build();
  REQUIRE(older.ok());
  fs::last_write_time(older->path.parent_path() / "build.json",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  f.toolchain.signature = "s2";
  const auto newer = build();
  REQUIRE(newer.ok());
  REQUIRE(newer->id != older->id);
  f.must_build();

  f.toolchain.fault = "it is nowhere";
  CHECK_FALSE(build().ok());  // a compiler that is there and broken is no missing one
  f.toolchain.installed = false;
  const auto found = build();
  REQUIRE(found.ok());
  CHECK(found->id == newer->id);
  CHECK(found->record.cached);
  CHECK(found->record.compiler == "fake s2");
  CHECK(build({{"TILE", 1}})->id == newer->id);

  // Another configuration or target is another artifact, and a CPU's "native" another machine's.
  const auto missing = build({{"TILE", 2}});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().invalidity == Invalidity::environment);
  CHECK(missing.error().message.find("it is nowhere") != std::string::npos);
  CHECK(missing.error().message.find("no artifact of c for sm_90a") != std::string::npos);
  options.target = "sm_80";
  CHECK_FALSE(build().ok());
  options.target = "sm_90a";
  CHECK_FALSE(f.build().ok());

  // A damaged one is none.
  REQUIRE(f.file_system.write_atomic(newer->path, "evil", Durability::none).ok());
  CHECK(build()->id == older->id);
  f.folder.write("c/kernel.cu", "int y;\n");
  CHECK_FALSE(cache.build(f.folder.must_read("c"), {}, options, &f.toolchain).ok());
}

TEST_CASE("what was compiled elsewhere had the same grants", "[variant][cache][cuda]") {
  Fixture f;
  f.folder.write("extern/lib_h/a.h", "int a;\n");
  f.folder.write("c/kernel.json", R"({"name": "c", "backend": "cuda", "sources": ["kernel.cu"],
    "includes": ["lib_h"]})");
  f.folder.write("c/kernel.cu", "#include \"lib_h/a.h\"\n");
  const BuildOptions options{.target = "sm_90a", .allowed_includes = {f.folder.root() / "extern"}};
  ArtifactCache cache(f.file_system, f.cache_root);
  const Variant variant = f.folder.must_read("c");
  REQUIRE(cache.build(variant, {}, options, &f.toolchain).ok());
  f.toolchain.fault = "it is nowhere";
  f.toolchain.installed = false;
  CHECK(cache.build(variant, {}, options, &f.toolchain).ok());
  const auto refused = cache.build(variant, {}, {.target = "sm_90a"}, &f.toolchain);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().invalidity == Invalidity::constraints);
  f.folder.write("extern/lib_h/a.h", "int changed_size;\n");
  CHECK_FALSE(cache.build(variant, {}, options, &f.toolchain).ok());
}
