// SPDX-License-Identifier: MIT
// `gc`, the verb; the trimming itself is tested in unit/variant/cache_trim_test.cpp.
#include "core/json.hpp"
#include "support/fake_clock.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using testing::Bench;

namespace {

/// Makes every entry of the cache look unused for so many days.
void age_entries(const fs::path& cache, int days) {
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(24 * days);
  for (const auto& shelf : fs::directory_iterator(cache)) {
    if (shelf.path().filename().string().size() != 2) continue;
    for (const auto& entry : fs::directory_iterator(shelf)) fs::last_write_time(entry, then);
  }
}

}  // namespace

TEST_CASE("gc removes what nobody used for long and says what it freed", "[engine][gc]") {
  Bench bench;
  bench.clock.set_time_of_day(std::chrono::system_clock::now());  // entries have the disk's dates
  bench.open();
  bench.iterate({{"confirm", "never"}});
  const fs::path cache = bench.folder.path() / "cache";
  CHECK(bench.call("gc", {{"max_bytes", 0}})["removed"] == 0);  // all was used just now
  age_entries(cache, 31);
  // The session that runs holds its incumbent: that one stays.
  const Json dry = bench.call("gc", {{"dry_run", true}});
  CHECK(dry["removed"].get<int>() + dry["in_use"].get<int>() == dry["entries"].get<int>());
  CHECK(dry["in_use"].get<int>() >= 1);
  const Json real = bench.call("gc", Json::object());
  CHECK(real["removed"] == dry["removed"]);
  CHECK(real["freed_bytes"] == dry["freed_bytes"]);
  bench.restart();
  const Json rest = bench.call("gc", Json::object());
  CHECK(rest["removed"] == dry["in_use"]);
  CHECK(rest["entries"] == dry["in_use"]);
  CHECK(bench.call("gc", {{"max_bytes", 0}})["entries"] == 0);
  CHECK(rest["text"].get<std::string>().find("removed") == 0);
}

TEST_CASE("without limits a month counts; younger entries stay", "[engine][gc]") {
  Bench bench;
  bench.clock.set_time_of_day(std::chrono::system_clock::now());  // entries have the disk's dates
  bench.open();
  bench.restart();
  const fs::path cache = bench.folder.path() / "cache";
  age_entries(cache, 20);
  CHECK(bench.call("gc", Json::object())["removed"] == 0);
  CHECK(bench.call("gc", {{"older_than", 21}})["removed"] == 0);
  const Json gone = bench.call("gc", {{"older_than", 19}});
  CHECK(gone["removed"] == gone["entries"]);
  CHECK(gone["removed"].get<int>() >= 1);
  // The session's sources are its own: it goes on and builds again.
  bench.restart();
  CHECK(bench.iterate()["outcome"] != "invalid");
}

TEST_CASE("a cache that is not there is empty", "[engine][gc]") {
  Bench bench;
  const Json answer = bench.call("gc", {{"max_bytes", 0}});
  CHECK(answer["entries"] == 0);
  CHECK_FALSE(fs::exists(bench.folder.path() / "cache"));
}
