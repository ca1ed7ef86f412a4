// SPDX-License-Identifier: MIT
#include "variant/builder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/hash.hpp"
#include "kernel_folder.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::BuilderWorld;
using wb::test::FakeToolchain;

namespace {

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("what a killed builder left is removed, what a living one uses is not",
          "[variant][builder]") {
  BuilderWorld f;
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
  BuilderWorld f;
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
  BuilderWorld f;
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
  BuilderWorld f;
  for (const Configuration& configuration :
       {Configuration{{"TILE", 3}}, Configuration{{"TILE", 9}}, Configuration{{"TYLE", 1}}}) {
    const auto artifact = f.build(configuration);
    REQUIRE_FALSE(artifact.ok());
    CHECK(artifact.error().invalidity == Invalidity::constraints);
  }
  CHECK(f.toolchain.compiles == 0);
}

TEST_CASE("a failed compile leaves nothing behind", "[variant][cache]") {
  BuilderWorld f;
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
  BuilderWorld f;
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
  BuilderWorld f;
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
  BuilderWorld f;
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
  BuilderWorld f;
  REQUIRE(f.file_system.write_atomic(f.folder.path() / "file", "x", Durability::none).ok());
  f.cache_root = f.folder.path() / "file" / "cache";
  const auto artifact = f.build();
  REQUIRE_FALSE(artifact.ok());
  CHECK(artifact.error().invalidity == Invalidity::environment);
}

TEST_CASE("leftovers of killed builders are swept", "[variant][cache]") {
  BuilderWorld f;
  const fs::path old = f.cache_root / "tmp" / "build-old", fresh = f.cache_root / "tmp/build-new";
  fs::create_directories(old);
  fs::create_directories(fresh);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(30));
  f.must_build();
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
}
