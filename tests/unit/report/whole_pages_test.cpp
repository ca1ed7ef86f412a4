// SPDX-License-Identifier: MIT
// Whole pages: those of a realistic session, byte for byte as approved in tests/data/reports (after
// a wanted change, run with WB_APPROVE=1 in the environment, read the difference, and commit it);
// of a suite from a profile; of a very long log.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

const std::filesystem::path k_folder = source_dir() / "tests/data/reports";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void check_approved(const std::string& name, const std::string& text) {
  const char* approve = std::getenv("WB_APPROVE");
  if (approve != nullptr && std::string(approve) == "1") {
    std::ofstream(k_folder / name, std::ios::binary) << text;
  }
  INFO("approved: " << (k_folder / name).string());
  const std::string approved = read_file(k_folder / name);
  REQUIRE_FALSE(approved.empty());
  CHECK(text == approved);
}

}  // namespace

TEST_CASE("the report of a whole session is as approved", "[report][approved]") {
  check_approved("session.md", wb::report::render_session(wb::test::whole_session().view()));
}

TEST_CASE("the pages about causes are as approved", "[report][approved]") {
  const auto log = wb::test::explained_session();
  check_approved("explained_session.md", wb::report::render_session(log.view()));
  check_approved("root_cause.md", wb::report::render_root_cause(log.view()));
  check_approved("bottleneck.md", wb::report::render_bottleneck(log.view()));
  // A log from before causes were kept says so, and how to have them.
  const std::string older = wb::report::render_root_cause(wb::test::whole_session().view());
  CHECK(older.find("no causes were decided in this log") != std::string::npos);
  CHECK(wb::report::render_session(wb::test::whole_session().view()).find("## Causes") ==
        std::string::npos);
}

TEST_CASE("the pages that hand work over are as approved", "[report][approved]") {
  const auto log = wb::test::handed_over_session();
  const wb::session::SessionView& view = log.view();
  check_approved("handover.md", wb::report::render_handover(view));
  check_approved("iteration_1.md", wb::report::render_iteration_report(view, view.iterations[1]));
  check_approved("iteration_3.md", wb::report::render_iteration_report(view, view.iterations[3]));
}

TEST_CASE("pages about causes come out of any causes_decided", "[report][hostile]") {
  for (const wb::Json& payload :
       {wb::Json(), wb::Json::object(), wb::Json{{"causes", 3}}, wb::Json{{"causes", {1, nullptr}}},
        wb::Json{{"causes", {{{"evidence", "x"}, {"needs", {1}}, {"gain", 2}, {"where", {3}}}}},
                 {"start", {{"causes", {{{"state", "supported"}}}}}}}}) {
    auto log = wb::test::whole_session();
    log.view().causes = wb::session::Fact{9, "", payload};
    CHECK_FALSE(wb::report::render_session(log.view()).empty());
    CHECK_FALSE(wb::report::render_root_cause(log.view()).empty());
    CHECK_FALSE(wb::report::render_bottleneck(log.view()).empty());
  }
}

TEST_CASE("iteration pages are as approved", "[report][approved]") {
  const auto log = wb::test::whole_session();
  const wb::session::SessionView& view = log.view();
  for (const wb::session::IterationView& iteration : view.iterations) {
    check_approved("000" + std::to_string(iteration.number) + ".md",
                   wb::report::render_iteration(view, iteration));
  }
  check_approved("0001.json", wb::report::iteration_json(view, view.iterations[1]).dump(2) + "\n");
}

TEST_CASE("the status screen is as approved", "[report][approved]") {
  check_approved("status.txt", wb::report::render_status(wb::test::whole_session().view()));
}

// A suite from a profile: the effect of the kernels' gains on the whole program.

namespace {

/// One confirmed win with these speedups; prefill and decode have these shares of the profile.
std::string page_with_shares(std::optional<double> prefill, std::optional<double> decode,
                             bool decode_confirmed = true) {
  Json opened = opened_payload();
  Json& problems = opened["suite"]["problems"];
  if (prefill) problems[0]["share_frac"] = *prefill;
  if (decode) problems[1]["share_frac"] = *decode;
  LogBuilder log;
  log.add("session_opened", opened);
  open_iteration(log, 0, k_start, "", 0);
  close_iteration(log, 0, "baseline");
  const std::string winner = "cpu_tiled@00000001";
  open_iteration(log, 1, winner, "tiles reuse keys", 1.5);
  Versus versus{.candidate = winner, .against = k_start};
  versus.problem = k_prefill;
  versus.speedup = 2, versus.low = 1.6, versus.high = 2.5;
  compare(log, 1, versus);
  versus.problem = k_decode;
  versus.speedup = versus.low = versus.high = 4;
  if (!decode_confirmed) versus.phase = "selection";
  compare(log, 1, versus);
  versus.phase = "confirmation";
  versus.problem = "";
  compare(log, 1, versus);
  change_incumbent(log, 1, k_start, winner, 2.8, 2.5, 3.1);
  close_iteration(log, 1, "win");
  return render_session(log.view());
}

bool page_says(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("shares and gains make the gain end to end", "[report][profile]") {
  // 1 / (1 - 0.4 (1 - 1/2) - 0.2 (1 - 1/4)) = 1.538; with 1.6 it is 1.429, with 2.5 1.639.
  const std::string line = line_with(page_with_shares(0.4, 0.2), "End to end:");
  INFO(line);
  CHECK(page_says(line, "1.54x [1.43, 1.64]"));
  CHECK(page_says(line, "60.00 % of the profile's GPU span"));
  // Gains are over the start: nothing was compared with what the profile ran.
  CHECK(page_says(line, std::string("for a program that ran `") + k_start));
  CHECK_FALSE(page_says(line, "profiled program"));
  CHECK(page_says(line, "[e"));
  const std::string page = page_with_shares(0.4, 0.2);
  CHECK(page_says(page, "share of the profile"));
  CHECK(page_says(page, "40.00 %"));
}

TEST_CASE("without shares nothing is said of the end to end", "[report][profile]") {
  const std::string page = page_with_shares({}, {});
  CHECK_FALSE(page_says(page, "End to end"));
  CHECK_FALSE(page_says(page, "share of the profile"));
}

TEST_CASE("what is not confirmed counts as unchanged and is named", "[report][profile]") {
  const std::string line = line_with(page_with_shares(0.4, 0.2, false), "End to end:");
  CHECK(page_says(line, "1.25x"));
  CHECK(page_says(line, "counted as unchanged: decode"));
}

TEST_CASE("shares that overlap make no figure", "[report][profile]") {
  CHECK(page_says(page_with_shares(0.8, 0.7), "End to end: not known"));
}

// A log of 100,000 events opens, folds and renders; how fast is measured by tests/bench.

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
