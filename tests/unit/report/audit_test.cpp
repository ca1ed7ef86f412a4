// SPDX-License-Identifier: MIT
// Every figure of a page is in the events it cites; and the audit that says so does notice a figure
// or a citation that is wrong.
#include "audit.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/report.hpp"
#include "session/log.hpp"
#include "session/storage.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

EventLookup lookup(const LogBuilder& log) {
  return [&log](std::int64_t seq) {
    const bool exists = seq >= 1 && seq <= log.last();
    return exists ? &log.events()[static_cast<std::size_t>(seq - 1)] : nullptr;
  };
}

void check_page(const std::string& page, const EventLookup& events, int at_least) {
  const Audit result = audit_page(page, events);
  CHECK(result.figures >= at_least);
  for (const std::string& fault : result.faults) FAIL_CHECK(fault);
}

LogBuilder two_wins() {
  LogBuilder log;
  open_session(log);
  record_environment(log);
  run_baseline(log);
  run_win(log, 1);
  run_win(log, 2);
  run_no_gain(log, 3);
  debit(log, std::nullopt, "device", 3.25, 3.25 * 0.20 / 3600);
  close_session(log, "finished");
  return log;
}

/// A recorded session, its pages checked against its own log.
void check_recorded(const std::filesystem::path& archive, int at_least) {
  const RealFileSystem file_system;
  const auto storage = open_storage(file_system, archive);
  REQUIRE(storage.ok());
  auto log = EventLog::open_reader(**storage);
  REQUIRE(log.ok());
  auto view = fold(*log, FoldDepth::full);
  REQUIRE(view.ok());
  std::map<std::int64_t, std::pair<std::string, Json>> read;
  const EventLookup events = [&](std::int64_t seq) -> const std::pair<std::string, Json>* {
    if (const auto found = read.find(seq); found != read.end()) return &found->second;
    auto event = log->event(seq);
    if (!event.ok()) return nullptr;
    return &read.emplace(seq, std::pair(event->type, event->payload)).first->second;
  };
  check_page(render_session(*view), events, at_least);
  for (const IterationView& iteration : view->iterations) {
    check_page(render_iteration(*view, iteration), events, 0);
  }
}

}  // namespace

TEST_CASE("every figure of the session's page is in the events it cites", "[report][audit]") {
  for (const LogBuilder& log : {whole_session(), two_wins()}) {
    check_page(render_session(log.view()), lookup(log), 150);
  }
}

TEST_CASE("every figure of an iteration's page is in the events it cites", "[report][audit]") {
  const LogBuilder log = whole_session();
  const std::vector<int> at_least{20, 60, 9, 1};
  for (std::size_t i = 0; i < log.view().iterations.size(); ++i) {
    check_page(render_iteration(log.view(), log.view().iterations[i]), lookup(log), at_least[i]);
  }
}

TEST_CASE("the report of a recorded session passes the audit", "[report][audit]") {
  check_recorded(source_dir() / "tests/data/session_v1.tar.gz", 3);
}

TEST_CASE("the audit notices a changed figure", "[report][audit]") {
  const LogBuilder log = two_wins();
  const std::string page = render_session(log.view());
  REQUIRE(audit_page(page, lookup(log)).faults.empty());
  std::size_t noticed = 0, tried = 0;
  for (std::size_t start = 0, end = 0; start < page.size(); start = end) {
    end = std::min(page.find("\n## ", start + 1), page.size());
    const std::string section = page.substr(start, end - start);
    for (const std::size_t at : audit_page(section, lookup(log)).offsets) {
      // A sum may be off by the roundings of its parts: nearly all, not all.
      std::string changed = section;
      REQUIRE(std::isdigit(static_cast<unsigned char>(changed[at])) != 0);
      changed[at] = static_cast<char>('0' + (changed[at] - '0' + 5) % 10);
      ++tried;
      if (!audit_page(changed, lookup(log)).faults.empty()) ++noticed;
    }
  }
  CHECK(tried > 150);
  INFO(noticed << " of " << tried);
  CHECK(noticed * 100 >= tried * 95);
}

TEST_CASE("the audit notices a citation of another event", "[report][audit]") {
  const LogBuilder log = whole_session();
  std::string page = render_session(log.view());
  const auto at = page.find("2.65x [2.61, 2.70]");
  REQUIRE(at != std::string::npos);
  const auto cited = page.find("[e", at + 18);
  page.replace(cited, page.find(']', cited) - cited + 1, "[e2]");
  CHECK_FALSE(audit_page(page, lookup(log)).faults.empty());
}

// For any session at hand: WB_AUDIT_SESSION=DIR unit_report "[.audit]".
TEST_CASE("the report of the session named in the environment passes", "[.audit]") {
  const char* folder = std::getenv("WB_AUDIT_SESSION");
  if (folder == nullptr) {
    WARN("WB_AUDIT_SESSION names no session: nothing audited");
    return;
  }
  check_recorded(folder, 100);
}
