// SPDX-License-Identifier: MIT
// The sessions that this one continues: the gain and cost of each, and of all together.
// session_opened holds the earlier figures.
#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "report/cost.hpp"
#include "report/sections.hpp"

namespace wb::report {

using session::CostItem;

namespace {

/// A sum that is nothing if one part is unknown.
struct Sum {
  double value = 0;
  bool known = true;
  void add(std::optional<double> part) {
    known = known && part.has_value();
    value += part.value_or(0);
  }
};

struct Totals {
  double gain = 1;  ///< product over the sessions with this task
  std::string task;
  Sum wall_s, usd;
  std::int64_t iterations = 0, wins = 0;

  /// Multiplies a speedup in; another suite or objective starts the product again.
  void add_gain(const std::string& sessions_task, std::optional<double> gained) {
    if (sessions_task != task) gain = 1.0;
    task = sessions_task;
    if (gained) gain *= *gained;
  }
};

std::string seconds_cell(std::optional<double> seconds) {
  return seconds ? duration(*seconds) : "not recorded";
}

std::string usd_cell(std::optional<double> usd) {
  return usd ? "$" + fixed(*usd, 4) : "rate not given";
}

/// The cost of a ledger in the log; nothing if a debited item has no price.
std::optional<double> usd_of(const Json& ledger) {
  return is_true(ledger, "complete") ? number(ledger, "total_usd").value_or(0.0)
                                     : std::optional<double>();
}

std::string used_cell(const Json& ledger) {
  const Json& items = field(ledger, "items");
  std::string out;
  for (const CostItem item : {CostItem::compile_cpu, CostItem::device, CostItem::tokens}) {
    const auto quantity = number(field(items, to_string(item)), "quantity");
    if (!quantity || !(*quantity > 0)) continue;
    out += fmt::format("{}{} {} {}", out.empty() ? "" : ", ", item_name(item),
                       fixed(*quantity, item == CostItem::tokens ? 0 : 1), item_unit(item));
  }
  return out.empty() ? "none" : out;
}

struct Row {
  std::string session, start, incumbent, task;
  std::optional<double> gain, wall_s;
  std::int64_t iterations = 0, wins = 0;
  Json ledger;
  std::int64_t seq = 0;
};

Row row_of(const Json& entry, std::int64_t seq) {
  return {.session = text(entry, "session"),
          .start = text(entry, "start"),
          .incumbent = text(entry, "incumbent"),
          .task = text(entry, "task_sha256"),
          .gain = number(entry, "speedup"),
          .wall_s = number(entry, "wall_s"),
          .iterations = integer(entry, "iterations").value_or(0),
          .wins = integer(entry, "wins").value_or(0),
          .ledger = field(entry, "cost"),
          .seq = seq};
}

Row own_row(const Page& page) {
  const session::SessionView& view = page.facts.view;
  const auto found = gain(page, page.facts.plan);
  return {.session = text(view.opened.payload, "session"),
          .start = page.facts.start,
          .incumbent = view.incumbent,
          .task = text(field(view.opened.payload, "series"), "task_sha256"),
          .gain = found ? found->ratio.value : std::nullopt,
          .wall_s = seconds_between(view.opened.t, view.last_t),
          .iterations = static_cast<std::int64_t>(page.facts.tries.size()),
          .wins = static_cast<std::int64_t>(page.facts.wins.size()),
          .ledger = to_json(view.ledger),
          .seq = view.opened.seq};
}

void add(Table& table, Totals& totals, const Row& row) {
  totals.add_gain(row.task, row.gain);
  totals.wall_s.add(row.wall_s);
  totals.usd.add(usd_of(row.ledger));
  totals.iterations += row.iterations;
  totals.wins += row.wins;
  table.row({code(row.session, 60), code(row.start, 60), code(row.incumbent, 60),
             fmt::format("{} of {}", row.wins, row.iterations),
             row.gain ? speedup(row.gain) : "none confirmed", speedup(totals.gain),
             used_cell(row.ledger), usd_cell(usd_of(row.ledger)), seconds_cell(row.wall_s),
             ref(row.seq)});
}

}  // namespace

std::string series_section(const Page& page) {
  const Json& series = field(page.facts.view.opened.payload, "series");
  const Json& before = field(series, "sessions");
  if (!before.is_array() || before.empty()) return {};
  Table table({"session", "start", "incumbent", "wins>", "gain>", "since the first>", "used",
               "cost>", "wall time>", "event"});
  Totals totals;
  for (const Json& entry : before) add(table, totals, row_of(entry, page.facts.view.opened.seq));
  add(table, totals, own_row(page));
  const auto sum = [](const Sum& part) {
    return part.known ? std::optional<double>(part.value) : std::nullopt;
  };
  return fmt::format(
      "## Series\n\nSession {} of a series; each goes on from the incumbent of the one before. A "
      "gain is confirmed within its own session; \"since the first\" multiplies them, beginning "
      "anew where suite or objective changed.\n\n{}\nTogether: {} in {}, cost {}, wall time "
      "{}.\n\n",
      before.size() + 1, table.str(), count(totals.wins, "win"),
      count(totals.iterations, "iteration"), usd_cell(sum(totals.usd)),
      seconds_cell(sum(totals.wall_s)));
}

}  // namespace wb::report
