// SPDX-License-Identifier: MIT
// Trimming beside builders: held entries stay, other files are untouched, and each concurrent build
// ends with an existing artifact.
#include "variant/cache.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "kernel_folder.hpp"
#include "support/fake_toolchain.hpp"
#include "variant/builder.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::KernelFolder;

namespace {

using Days = std::chrono::duration<int, std::ratio<86'400>>;

struct Cache {
  KernelFolder folder;
  RealFileSystem file_system;
  testing::FakeToolchain toolchain;
  fs::path root = folder.path() / "cache";
  Cache() {
    std::string values = "1";
    for (int i = 2; i <= 64; ++i) values += ", " + std::to_string(i);
    folder.kernel("k", "int x;\n",
                  R"("tune_params": {"TILE": [)" + values + R"(]}, "defaults": {"TILE": 1})");
  }
  Outcome<Artifact> build(std::int64_t tile) {
    return ArtifactCache(file_system, root)
        .build(folder.must_read("k"), {{"TILE", tile}}, {}, &toolchain);
  }
  /// Builds and lets go; then the entry looks unused for so long.
  fs::path build_aged(std::int64_t tile, int days) {
    const fs::path entry = build(tile)->path.parent_path();
    fs::last_write_time(entry, fs::file_time_type::clock::now() - Days(days));
    return entry;
  }
  TrimResult trim(const TrimRule& rule) const {
    return trim_cache(root, rule, std::chrono::system_clock::now()).value();
  }
};

TrimRule max_bytes(std::uint64_t bytes) {
  TrimRule rule;
  rule.max_bytes = bytes;
  return rule;
}
TrimRule older_than(int days) {
  TrimRule rule;
  rule.older_than = Days(days);
  return rule;
}

}  // namespace

TEST_CASE("the longest unused go first, until enough is gone", "[variant][cache_trim]") {
  Cache cache;
  const fs::path oldest = cache.build_aged(1, 9), newest = cache.build_aged(2, 1),
                 middle = cache.build_aged(3, 5);
  const TrimResult all = cache.trim(max_bytes(1u << 30));
  CHECK(all.entries == 3);
  CHECK(all.removed == 0);
  CHECK(all.bytes > 0);
  const TrimResult trimmed = cache.trim(max_bytes(all.bytes - 1));
  CHECK(trimmed.removed == 1);
  CHECK_FALSE(fs::exists(oldest));
  CHECK(fs::exists(middle));
  const TrimResult rest = cache.trim(max_bytes(all.bytes - trimmed.freed_bytes));
  CHECK(rest.removed == 0);
  CHECK(cache.trim(older_than(3)).removed == 1);
  CHECK_FALSE(fs::exists(middle));
  CHECK(fs::exists(newest));
}

TEST_CASE("what a living artifact names stays; a hit makes an entry young again",
          "[variant][cache_trim]") {
  Cache cache;
  const fs::path entry = cache.build_aged(1, 9);
  {
    auto held = cache.build(1);
    REQUIRE(held.ok());
    REQUIRE(held->lease != nullptr);
    CHECK(cache.trim(max_bytes(0)).recent == 1);  // used just now
    fs::last_write_time(entry, fs::file_time_type::clock::now() - Days(9));
    const Artifact copy = *held;
    const TrimResult kept = cache.trim(max_bytes(0));
    CHECK(kept.in_use == 1);
    CHECK(kept.removed == 0);
    CHECK(fs::exists(copy.path));
  }
  CHECK(cache.trim(max_bytes(0)).removed == 1);
  CHECK_FALSE(fs::exists(entry));
}

TEST_CASE("a dry run removes nothing and counts the same", "[variant][cache_trim]") {
  Cache cache;
  const fs::path entry = cache.build_aged(1, 9);
  TrimRule rule = older_than(3);
  rule.dry_run = true;
  const TrimResult dry = cache.trim(rule);
  CHECK(fs::exists(entry));
  const TrimResult real = cache.trim(older_than(3));
  CHECK(dry.removed == 1);
  CHECK(real.removed == dry.removed);
  CHECK(real.freed_bytes == dry.freed_bytes);
}

TEST_CASE("leftovers of killed builders go after a day", "[variant][cache_trim]") {
  Cache cache;
  cache.build_aged(1, 0);
  for (const char* name : {"build-old", "build-new"}) {
    fs::create_directories(cache.root / "tmp" / name);
    std::ofstream(cache.root / "tmp" / name / "artifact.so") << std::string(1000, 'x');
  }
  fs::last_write_time(cache.root / "tmp" / "build-old", fs::file_time_type::clock::now() - Days(2));
  const TrimResult result = cache.trim(older_than(30));
  CHECK(result.leftovers == 1);
  CHECK(result.freed_bytes == 1000);
  CHECK_FALSE(fs::exists(cache.root / "tmp" / "build-old"));
  CHECK(fs::exists(cache.root / "tmp" / "build-new"));
}

TEST_CASE("what does not look like an entry is not touched, links are not followed",
          "[variant][cache_trim]") {
  Cache cache;
  cache.build_aged(1, 9);
  const fs::path mine = cache.folder.path() / "mine";
  fs::create_directories(mine);
  std::ofstream(mine / "precious") << "x";
  const std::string name = "ab" + std::string(62, '0');
  fs::create_directories(cache.root / "ab");
  fs::create_directory_symlink(mine, cache.root / "ab" / name);
  fs::create_directory_symlink(mine, cache.root / "cd");
  fs::create_directories(cache.root / "ef" / "not_hex");
  fs::create_directories(cache.root / "photos");
  std::ofstream(cache.root / "ef" / name) << "a file";
  TrimRule rule = max_bytes(0);
  rule.grace = std::chrono::seconds(0);
  const TrimResult result = cache.trim(rule);
  CHECK(result.removed == 1);
  CHECK(fs::exists(mine / "precious"));
  CHECK(fs::exists(cache.root / "ab" / name));
  CHECK(fs::exists(cache.root / "ef" / "not_hex"));
  CHECK(fs::exists(cache.root / "photos"));
  CHECK(cache.trim(rule).entries == 0);
}

TEST_CASE("an entry that goes away while its lock is waited for is not held",
          "[variant][cache_trim][concurrency]") {
  const bool is_replaced = GENERATE(false, true);
  const KernelFolder folder;
  const fs::path entry = folder.path() / "entry";
  fs::create_directory(entry);
  auto owner = std::make_optional<UniqueFd>(::open(entry.c_str(), O_RDONLY | O_DIRECTORY));
  REQUIRE(::flock(owner->get(), LOCK_EX) == 0);
  int pauses = 0;
  const UniqueFd held = hold_entry(entry, [&] {
    if (++pauses < 3) return;
    fs::rename(entry, folder.path() / "grave");
    if (is_replaced) fs::create_directory(entry);
    owner.reset();
  });
  CHECK(pauses == 3);
  CHECK(held.valid() == is_replaced);
  CHECK(is_held(held, entry) == is_replaced);
}

TEST_CASE("eight builders and a merciless gc: every artifact is there while it is held",
          "[variant][cache_trim][concurrency]") {
  Cache cache;
  const Variant variant = cache.folder.must_read("k");
  std::atomic<bool> done{false};
  std::atomic<int> missing{0}, failed{0}, removed{0};
  std::thread collector([&] {
    TrimRule rule = max_bytes(0);
    rule.grace = std::chrono::seconds(-3600);  // of any age, also what was built this moment
    while (!done) {
      const auto result = trim_cache(cache.root, rule, std::chrono::system_clock::now());
      if (!result.ok()) {
        ++failed;
      } else {
        removed += static_cast<int>(result->removed);
      }
    }
  });
  std::vector<std::thread> builders;
  for (int b = 0; b < 8; ++b) {
    builders.emplace_back([&, b] {
      ArtifactCache own(cache.file_system, cache.root);
      for (int i = 0; i < 150; ++i) {
        auto artifact = own.build(variant, {{"TILE", 1 + (b + i) % 8}}, {}, &cache.toolchain);
        if (!artifact.ok()) {
          ++failed;
          continue;
        }
        // A lease can be missed only when gc took the entry between its publishing and the lock;
        // then the grace, which this test switches off, is what protects it.
        if (artifact->lease == nullptr) continue;
        const auto bytes = cache.file_system.read(artifact->path, 1000);
        if (!bytes.ok() || *bytes != artifact->id) ++missing;
      }
    });
  }
  for (std::thread& builder : builders) builder.join();
  done = true;
  collector.join();
  TrimRule rule = max_bytes(0);  // once more: a collector that got no CPU has removed nothing
  rule.grace = std::chrono::seconds(-3600);
  removed +=
      static_cast<int>(trim_cache(cache.root, rule, std::chrono::system_clock::now())->removed);
  CHECK(failed == 0);
  CHECK(missing == 0);
  CHECK(removed > 0);
}

TEST_CASE("the root may be a link; a file in its place is told", "[variant][cache_trim]") {
  Cache cache;
  cache.build_aged(1, 9);
  const fs::path link = cache.folder.path() / "link";
  fs::create_directory_symlink(cache.root, link);
  const auto now = std::chrono::system_clock::now();
  CHECK(trim_cache(link, max_bytes(0), now)->removed == 1);
  const fs::path file = cache.folder.path() / "file";
  std::ofstream(file) << "x";
  const auto refused = trim_cache(file, max_bytes(0), now);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("it is no folder") != std::string::npos);
  CHECK(fs::exists(file));
}

TEST_CASE("a cache that cannot be locked loses nothing", "[variant][cache_trim]") {
  Cache cache;
  const fs::path entry = cache.build_aged(1, 9);
  fs::create_directories(cache.root / "repair.lock");  // opening it for writing fails, also as root
  const auto refused = trim_cache(cache.root, max_bytes(0), std::chrono::system_clock::now());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("lock the artifact cache") != std::string::npos);
  CHECK(fs::exists(entry));
}
