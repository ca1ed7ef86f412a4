// SPDX-License-Identifier: MIT
// A log of 100,000 events opens, folds and renders; how fast is measured by tests/bench.
#include <fstream>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

constexpr std::size_t k_events = 100'000;

/// The events of one whole session after another, iterations renumbered, turns with real payloads.
class LogWriter {
 public:
  explicit LogWriter(const fs::path& path) : m_file(path, std::ios::binary) {}
  void add(const std::string& type, const Json& payload) {
    ++m_seq;
    const std::string line =
        fmt::format(R"({{"seq":{},"prev":"{}","t":"2026-11-20T18:{:02}:{:02}.000Z","type":"{}",)"
                    R"("v":1,"payload":{}}})",
                    m_seq, m_prev, m_seq / 60 % 60, m_seq % 60, type, payload.dump());
    m_prev = sha256_hex(line);
    m_file << line << "\n";
    m_bytes += line.size() + 1;
  }
  [[nodiscard]] std::size_t size() const { return m_seq; }
  [[nodiscard]] std::size_t bytes() const { return m_bytes; }

 private:
  std::ofstream m_file;
  std::string m_prev = std::string(64, '0');
  std::size_t m_seq = 0, m_bytes = 0;
};

Json turn_payload(std::int64_t iteration) {
  Json samples = Json::array();
  for (int i = 0; i < 24; ++i) samples.push_back(101.25 + 0.37 * i);
  return {{"iteration", iteration},
          {"problem", k_prefill},
          {"plan", "hot"},
          {"phase", "confirmation"},
          {"subject", "cpu_tiled@1f0c44aa"},
          {"instance", 1},
          {"placement", 0},
          {"round", 1},
          {"position", 2},
          {"samples_us", samples},
          {"calls_per_sample", 3},
          {"wall_us", 8123.5},
          {"flags", Json::array()},
          {"spot_pass", true}};
}

}  // namespace

TEST_CASE("a log of 100,000 events renders to a page of bounded length", "[report][scale]") {
  auto folder = TempDirectory::create("wb-report-scale");
  REQUIRE(folder.ok());
  const LogBuilder whole = whole_session();
  LogWriter writer(folder->path() / "events.jsonl");
  std::int64_t offset = 0;
  for (bool is_first = true; writer.size() < k_events; is_first = false, offset += 4) {
    for (const auto& [type, payload] : whole.events()) {
      const bool once = type.starts_with("session_") || type == "environment_recorded";
      if (once && (!is_first || type == "session_closed")) continue;
      Json renumbered = payload;
      const bool is_numbered =
          payload.contains("iteration") && payload["iteration"].is_number_integer();
      const std::int64_t number =
          is_numbered ? payload["iteration"].get<std::int64_t>() + offset : 0;
      if (is_numbered) renumbered["iteration"] = number;
      writer.add(type, type == "turn_measured" ? turn_payload(number) : renumbered);
    }
  }
  INFO(writer.size() << " events, " << writer.bytes() / writer.size() << " bytes each");
  CHECK(writer.bytes() / writer.size() >= 500);

  const RealFileSystem file_system;
  auto log = EventLog::open_reader(file_system, folder->path());
  REQUIRE(log.ok());
  auto view = fold(*log, FoldDepth::full);
  REQUIRE(view.ok());
  const std::string page = render_session(*view);
  INFO(page.size() << " bytes");
  CHECK(page.size() < 400'000);
  CHECK(page.find("**total**") != std::string::npos);
}
