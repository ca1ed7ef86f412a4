// SPDX-License-Identifier: MIT
// Printed totals are the sums of the printed parts, and what has no rate never costs $0.
#include <cmath>
#include <sstream>

#include "log_builder.hpp"
#include "report/cost.hpp"
#include "report/report.hpp"
#include "support/catch.hpp"

using namespace wb;
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

/// Sums each numeric column of the cost table and compares with its total row, digit by digit.
void check_sums(const std::string& page) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(section(page, "Cost"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) == 0) rows.push_back(cells_of(line));
  }
  REQUIRE(rows.size() >= 3);
  const auto& total = rows.back();
  REQUIRE(total[1] == "**total**");
  int checked = 0;
  for (std::size_t column = 2; column <= 9; ++column) {
    const auto want = digits_of(total[column]);
    if (!want) continue;
    long long sum = 0;
    for (std::size_t row = 1; row + 1 < rows.size(); ++row) {
      const auto part = digits_of(rows[row][column]);
      if (!part) continue;
      CHECK(part->second == want->second);
      sum += part->first;
    }
    INFO("column " << rows[0][column]);
    CHECK(sum == want->first);
    ++checked;
  }
  CHECK(checked >= 2);
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
  CHECK(page.find("| outside iterations |") != std::string::npos);
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
}

TEST_CASE("the first screen spends what the table adds up to", "[report][cost]") {
  const LogBuilder log = whole_session();
  const page::Facts facts(log.view());
  const page::CostGrid grid(facts);
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
