// SPDX-License-Identifier: MIT
// When the events of a search reach the disk: with its answers, not one by one.
#include <map>

#include "support/forwarding_file_system.hpp"
#include "tune_bench.hpp"

using namespace wb;
using testing::k_best;
using testing::plant_bowl;
using testing::TuneBench;

namespace {

/// Keeps for each line of the log whether it was synced by its own append.
class WatchedFileSystem final : public testing::ForwardingFileSystem {
 public:
  std::vector<std::pair<Json, bool>> lines;  ///< event, synced

  Result<std::unique_ptr<AppendFile>> open_append(const fs::path& path) override {
    WB_TRY_ASSIGN(auto file, m_real.open_append(path));
    return std::unique_ptr<AppendFile>(std::make_unique<File>(*this, std::move(file)));
  }

 private:
  class File final : public AppendFile {
   public:
    File(WatchedFileSystem& files, std::unique_ptr<AppendFile> inner)
        : m_files(files), m_inner(std::move(inner)) {}
    Result<void> append_synced(std::string_view bytes) override {
      m_files.lines.emplace_back(Json::parse(bytes), true);
      return m_inner->append_synced(bytes);
    }
    Result<void> append_unsynced(std::string_view bytes) override {
      m_files.lines.emplace_back(Json::parse(bytes), false);
      return m_inner->append_unsynced(bytes);
    }
    Result<void> truncate(std::uint64_t size) override { return m_inner->truncate(size); }
    [[nodiscard]] std::uint64_t size_bytes() const override { return m_inner->size_bytes(); }

   private:
    WatchedFileSystem& m_files;
    std::unique_ptr<AppendFile> m_inner;
  };
};

}  // namespace

TEST_CASE("an answer of a search is synced once, with all that led to it", "[engine][tune]") {
  WatchedFileSystem files;
  TuneBench bench;
  bench.files = &files;
  bench.engine = bench.make();
  plant_bowl(bench);
  bench.open();
  for (const auto& [event, synced] : files.lines) CHECK(synced);
  files.lines.clear();
  const Json answer = bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["configuration"] == k_best);
  std::map<std::string, int> waiting;
  std::int64_t answers = 0;
  for (const auto& [event, synced] : files.lines) {
    const Json& payload = event["payload"];
    INFO(event.dump());
    if (!synced) {
      ++waiting[event["type"]];
      // Nothing of the confirmation waits.
      if (event["type"] == "turn_measured") CHECK(payload["phase"] == "tune");
      continue;
    }
    if (event["type"] == "turn_measured") CHECK(payload["phase"] != "tune");
    answers += event["type"] == "evaluation" ? 1 : 0;
  }
  CHECK(answers == 12);
  CHECK(waiting["turn_measured"] >= 12);
  CHECK(waiting["verdict_given"] >= 12);
  CHECK(waiting["evaluation"] == 0);
  CHECK(waiting["iteration_closed"] == 0);
  // What a killed process leaves in its log is whole, synced or not.
  bench.engine.reset();
  RealFileSystem real;
  const auto log = EventLog::open_reader(real, bench.session);
  REQUIRE(log.ok());
  CHECK_FALSE(log->recovery());
}

TEST_CASE("what an answer cost is in the log before it", "[engine][tune]") {
  TuneBench bench;
  plant_bowl(bench);
  bench.open();
  bench.tune({{"strategy", "exhaustive"}});
  const EventLog& log = bench.engine->session()->log();
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    if (log.envelope(seq).type == "evaluation") CHECK(log.envelope(seq - 1).type == "cost_debited");
  }
}
