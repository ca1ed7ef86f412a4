// SPDX-License-Identifier: MIT
// Printed totals are the sums of the printed parts, and what has no rate never costs $0.
#include <optional>
#include <sstream>
#include <vector>

#include "core/json.hpp"
#include "log_builder.hpp"
#include "report/cost.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::report;
using namespace wb::session;
using namespace wb::test;

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream parts(line);
  for (std::string cell; std::getline(parts, cell, '|');) {
    const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

std::string section(const std::string& page, const std::string& title) {
  const auto at = page.find("\n## " + title + "\n");
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find("\n## ", at + 4) - at);
}

/// The number in a cell in units of its last digit, and how many decimals it has.
std::optional<std::pair<long long, std::size_t>> digits_of(const std::string& cell) {
  std::string digits;
  std::size_t decimals = 0;
  bool after_point = false;
  for (const char c : cell) {
    if (c == '.') {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      digits += c;
      if (after_point) ++decimals;
    } else if (c != '$') {
      return std::nullopt;
    }
  }
  if (digits.empty()) return std::nullopt;
  return std::pair(std::stoll(digits), decimals);
}

using Rows = std::vector<std::vector<std::string>>;

/// The tables of a section, header first, without the rule below it.
std::vector<Rows> tables_of(const std::string& text) {
  std::vector<Rows> tables;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_row = line.rfind("|", 0) == 0;
    if (is_row && !inside) tables.emplace_back();
    inside = is_row;
    if (is_row && line.rfind("|-", 0) != 0) tables.back().push_back(cells_of(line));
  }
  return tables;
}

/// Sums one column as printed, digit by digit; nothing where its total is no number.
std::optional<long long> check_column(const Rows& rows, std::size_t column) {
  const auto want = digits_of(rows.back().at(column));
  if (!want) return std::nullopt;
  long long sum = 0;
  for (std::size_t row = 1; row + 1 < rows.size(); ++row) {
    const auto part = digits_of(rows[row].at(column));
    if (!part) continue;
    CHECK(part->second == want->second);
    sum += part->first;
  }
  INFO("column " << rows[0].at(column));
  CHECK(sum == want->first);
  return want->first;
}

/// Both tables add up, and they agree: what was used of each item, and what it all cost.
void check_sums(const std::string& page) {
  const std::vector<Rows> tables = tables_of(section(page, "Cost"));
  REQUIRE(tables.size() == 2);
  const Rows &items = tables[0], &parts = tables[1];
  REQUIRE(items.size() == 5);
  REQUIRE(parts.size() >= 3);
  CHECK(items[1][1] == "compiler");
  CHECK(items[2][1] == "device");
  CHECK(items[3][1] == "agent");
  REQUIRE(items.back()[1] == "**total**");
  REQUIRE(parts.back()[1] == "**total**");
  REQUIRE(parts[0].size() == items[0].size() + 2);
  int checked = 0;
  for (std::size_t column = 2; column <= 6; ++column) {
    if (check_column(parts, column)) ++checked;
  }
  CHECK(checked >= 2);
  check_column(items, 5);
  for (std::size_t item = 0; item < 3; ++item) {
    INFO("item " << items[item + 1][1]);
    CHECK(items[item + 1][2] == parts.back()[item + 3]);
  }
  CHECK(items.back()[5] == parts.back()[6]);
}

}  // namespace

TEST_CASE("the cost table adds up as printed", "[report][cost]") {
  check_sums(render_session(whole_session().view()));
}

TEST_CASE("thirds add up as printed, in rows and columns", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  debit(log, std::nullopt, "device", 1.0 / 3, 1.0 / 30000);
  for (int i = 1; i <= 9; ++i) {
    open_iteration(log, i, "v" + std::to_string(i), "theory", 1.1);
    debit(log, i, "device", 1.0 / 3, 1.0 / 30000);
    debit(log, i, "compile_cpu", 2.0 / 3, 2.0 / 70000);
    debit(log, i, "tokens", 1000 + i, 0.001);
    close_iteration(log, i, "no_gain");
  }
  const std::string page = render_session(log.view());
  check_sums(page);
  CHECK(page.find("| outside iterations ") != std::string::npos);
}

TEST_CASE("many rows are folded into one and still add up", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  for (int i = 1; i <= 150; ++i) {
    open_iteration(log, i, "v", "theory", 1.1);
    debit(log, i, "device", 0.123456 * i, 0.000123 * i);
    close_iteration(log, i, "no_gain");
  }
  const std::string page = render_session(log.view());
  check_sums(page);
  CHECK(page.find("the first 91 rows") != std::string::npos);
  CHECK(page.find("| iteration 91 ") != std::string::npos);
  CHECK(page.find("| iteration 90 ") == std::string::npos);
}

TEST_CASE("the first screen spends what the table adds up to", "[report][cost]") {
  const LogBuilder log = whole_session();
  const report::Facts facts(log.view());
  const report::CostGrid grid(facts);
  const std::string page = render_session(log.view());
  const std::string total = grid.usd(grid.total());
  CHECK(page.find("**Spend:** " + total + " (") != std::string::npos);
  CHECK(section(page, "Cost").find(total) != std::string::npos);
  CHECK(render_status(log.view()).find(total) != std::string::npos);
}

TEST_CASE("without rates there is no $0", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  log.view().opened.payload["rates"] = {{"compile_cpu_usd_per_hour", nullptr},
                                        {"device_usd_per_hour", nullptr},
                                        {"token_usd_per_million", nullptr}};
  open_iteration(log, 0, k_start, "", 0);
  debit(log, 0, "device", 12.5, std::nullopt);
  debit(log, 0, "tokens", 5000, std::nullopt);
  close_iteration(log, 0, "baseline");
  for (const std::string& page : {render_session(log.view()), render_status(log.view()),
                                  render_iteration(log.view(), log.view().iterations[0])}) {
    CHECK(page.find("$0") == std::string::npos);
    CHECK(page.find("rate not given") != std::string::npos);
  }
}

TEST_CASE("each item says its rate or that none was given", "[report][cost]") {
  const std::string cost = section(render_session(whole_session().view()), "Cost");
  const std::vector<Rows> tables = tables_of(cost);
  REQUIRE(tables.size() == 2);
  CHECK(tables[0][1][4] == "$0.05 an hour [e1]");
  CHECK(tables[0][2][4] == "$0.2 an hour [e1]");
  CHECK(tables[0][3][4] == "rate not given [e1]");
}

TEST_CASE("a debit of nothing needs no rate", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  debit(log, 0, "compile_cpu", 0.0, std::nullopt);  // from the cache
  debit(log, 0, "device", 180.0, 0.01);
  const std::string page = render_session(log.view());
  CHECK(page.find("**Spend:** $0.010000 (device 180.0 s)") != std::string::npos);
  CHECK(page.find("- [x] every cost item has a rate") != std::string::npos);
}

TEST_CASE("a part without a rate is named beside the sum", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  open_iteration(log, 0, k_start, "", 0);
  debit(log, 0, "device", 180.0, 0.01);
  debit(log, 0, "tokens", 5000, std::nullopt);
  const std::string page = render_session(log.view());
  CHECK(page.find("$0.010000 + tokens (rate not given)") != std::string::npos);
  CHECK(page.find("- [ ] every cost item has a rate") != std::string::npos);
}

TEST_CASE("what a percent accepted and a try took, from the ledger", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  run_win(log, 1);
  for (int i = 2; i <= 4; ++i) {
    open_iteration(log, i, "v" + std::to_string(i), "theory", 1.1);
    debit(log, i, "device", 18, 0.001);
    close_iteration(log, i, i == 4 ? "invalid" : "no_gain", i == 4 ? "compile" : "");
  }
  const SessionView& view = log.view();
  const report::Page read(view);
  const double win = report::gain(read, read.facts.plan)->ratio.value.value();
  REQUIRE(win > 1);
  const double percents = (win - 1) * 100;
  const double device_s = view.ledger.items.at(CostItem::device).quantity;
  double tries_s = 0, tries_usd = 0;
  for (std::size_t i = 1; i < view.iterations.size(); ++i) {
    tries_s += view.iterations[i].ledger.items.at(CostItem::device).quantity;
    tries_usd += view.iterations[i].ledger.total().usd;
  }
  const std::string page = render_session(view);
  const std::string percent = line_with(page, "- Each percent accepted took ");
  const std::string each = line_with(page, "- A try took ");
  const auto figure = [](const std::string& line, const std::string& before) {
    const auto at = line.find(before);
    REQUIRE(at != std::string::npos);
    return std::stod(line.substr(at + before.size()));
  };
  CHECK(figure(percent, "took ") == Approx(device_s / percents).epsilon(0.05));
  CHECK(figure(percent, "device (") == Approx(device_s / percents / 3600).epsilon(0.05));
  CHECK(figure(percent, "and $") == Approx(view.ledger.total().usd / percents).epsilon(0.05));
  CHECK(figure(each, "took ") == Approx(tries_s / 4).epsilon(0.05));
  CHECK(figure(each, "and $") == Approx(tries_usd / 4).epsilon(0.05));
  CHECK(figure(each, "buys ") == Approx(4 / tries_usd).epsilon(0.05));
  CHECK(each.find("; 1 of 4 gained") != std::string::npos);
}

TEST_CASE("what was not gained, not priced or not tried often is said", "[report][cost]") {
  LogBuilder log;
  open_session(log);
  run_baseline(log);
  CHECK(render_session(log.view()).find("Each percent") == std::string::npos);
  for (int i = 1; i <= 3; ++i) {
    open_iteration(log, i, "v" + std::to_string(i), "theory", 1.1);
    debit(log, i, "device", 18, i == 3 ? std::nullopt : std::optional(0.001));
    close_iteration(log, i, "no_gain");
    const std::string page = render_session(log.view());
    CHECK(page.find("- No iteration's gain was accepted: ") != std::string::npos);
    CHECK((page.find("is not said: " + std::to_string(i) + " of the 3") != std::string::npos) ==
          (i < 3));
  }
  const std::string each = line_with(render_session(log.view()), "- A try took ");
  CHECK(each.find("took 18 s of the device and money at a rate not given") != std::string::npos);
  CHECK(each.find("; 0 of 3 gained") != std::string::npos);
}
