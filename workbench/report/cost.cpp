// SPDX-License-Identifier: MIT
#include "report/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "report/format.hpp"

namespace wb::report {

using session::CostItem;
using session::IterationView;

namespace {

constexpr std::array k_items{CostItem::compile_cpu, CostItem::device, CostItem::tokens};
constexpr int k_max_decimals = 6;
constexpr std::size_t k_max_cost_rows = 60;

std::size_t index(CostItem item) {
  return static_cast<std::size_t>(item);
}

/// The decimals at which rounding the parts changes their sum by at most 0.1 %.
int decimals_for_sum(double total, std::size_t parts, int least) {
  if (!(total > 0)) return least;
  const double step = 0.002 * total / static_cast<double>(std::max(parts, std::size_t{1}));
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step))), least, k_max_decimals);
}

Steps to_steps(double value, int decimals) {
  const double scaled = std::round(value * std::pow(10.0, decimals));
  return {std::abs(scaled) < 9e18 ? static_cast<std::int64_t>(scaled) : 0};
}

std::string print(Steps steps, int decimals) {
  return fixed(static_cast<double>(steps.steps) / std::pow(10.0, decimals), decimals);
}

/// A row before rounding.
struct RawRow {
  std::optional<std::int64_t> iteration;
  session::Ledger ledger;
  std::optional<double> wall_s;
  std::vector<std::int64_t> events;
};

std::vector<RawRow> raw_rows(const Facts& facts) {
  std::vector<RawRow> rows;
  const IterationView& outside = facts.view.outside;
  if (!outside.ledger.items.empty()) {
    rows.push_back(
        {std::nullopt, facts.prices.priced(outside.ledger), std::nullopt, seqs(outside.costs)});
  }
  for (const IterationView& iteration : facts.view.iterations) {
    RawRow row{iteration.number, facts.prices.priced(iteration.ledger), std::nullopt,
               seqs(iteration.costs)};
    if (iteration.closed) row.wall_s = seconds_between(iteration.opened.t, iteration.closed->t);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Those of a running iteration are debited at its end.
session::UndebitedTurns undebited_turns(const session::SessionView& view) {
  return view.in_flight() == nullptr ? view.undebited : session::UndebitedTurns{};
}

std::string per_hour(const std::optional<double>& rate,
                     const std::optional<session::ListPrice>& listed) {
  if (!rate) return "rate not given";
  std::string out = fmt::format("${:g} an hour", *rate);
  if (!listed) return out;
  return out + fmt::format(", list price of {} on {}", inline_text(listed->of, 40),
                           inline_text(listed->date, 10));
}

}  // namespace

std::string_view item_name(CostItem item) {
  return item == CostItem::compile_cpu ? "compiler"
         : item == CostItem::device    ? "device"
                                       : "tokens";
}

std::string_view list_mark(bool is_listed) {
  return is_listed ? " (list price)" : "";
}

std::string_view item_title(CostItem item) {
  return item == CostItem::tokens ? "agent" : item_name(item);
}

std::string_view item_unit(CostItem item) {
  return item == CostItem::compile_cpu ? "CPU s" : item == CostItem::device ? "s" : "tokens";
}

CostGrid::CostGrid(const Facts& facts) {
  const std::vector<RawRow> raw = raw_rows(facts);
  m_undebited = undebited_turns(facts.view);
  std::array<double, 3> sums{};
  double usd_sum = 0, wall_sum_s = 0;
  for (const RawRow& row : raw) {
    for (const auto& [item, line] : row.ledger.items) {
      sums[index(item)] += line.quantity;
      usd_sum += line.usd.value_or(0);
    }
    wall_sum_s += row.wall_s.value_or(0);
  }
  for (const CostItem item : k_items) {
    m_decimals[index(item)] =
        item == CostItem::tokens ? 0 : decimals_for_sum(sums[index(item)], raw.size(), 1);
  }
  m_usd_decimals = decimals_for_sum(usd_sum, raw.size() * k_items.size(), 2);
  m_wall_decimals = decimals_for_sum(wall_sum_s, raw.size(), 1);
  for (const RawRow& source : raw) {
    CostRow row;
    row.iteration = source.iteration;
    row.events = source.events;
    row.has_wall = source.wall_s.has_value();
    row.wall = to_steps(source.wall_s.value_or(0), m_wall_decimals);
    m_total.wall.steps += row.wall.steps;
    m_total.has_wall = m_total.has_wall || row.has_wall;
    for (const auto& [item, line] : source.ledger.items) {
      CostCell& cell = row.cells[index(item)];
      cell.used = line.quantity > 0;  // a quantity of 0 costs 0 at any rate
      cell.priced = line.usd.has_value();
      cell.listed = cell.used && line.is_listed;
      cell.quantity = to_steps(line.quantity, m_decimals[index(item)]);
      cell.usd = to_steps(line.usd.value_or(0), m_usd_decimals);
      CostCell& sum = m_total.cells[index(item)];
      sum.used = sum.used || cell.used;
      sum.priced = sum.priced && (cell.priced || !cell.used);
      sum.listed = sum.listed || cell.listed;
      sum.quantity.steps += cell.quantity.steps;
      sum.usd.steps += cell.usd.steps;
    }
    m_rows.push_back(std::move(row));
  }
}

std::string CostGrid::quantity(CostItem item, const CostCell& cell) const {
  return cell.used ? print(cell.quantity, m_decimals[index(item)]) : "none";
}

std::string CostGrid::wall(const CostRow& row) const {
  return row.has_wall ? print(row.wall, m_wall_decimals) : "not closed";
}

std::string CostGrid::usd(const CostCell& cell) const {
  if (!cell.used) return "none";
  if (!cell.priced) return "rate not given";
  return fmt::format("${}{}", print(cell.usd, m_usd_decimals), list_mark(cell.listed));
}

double CostGrid::known_usd(const CostRow& row) const {
  Steps sum;
  for (const CostCell& cell : row.cells) {
    if (cell.used && cell.priced) sum.steps += cell.usd.steps;
  }
  return static_cast<double>(sum.steps) / std::pow(10.0, m_usd_decimals);
}

std::string CostGrid::usd(const CostRow& row) const {
  std::string missing;
  bool any_priced = false, any_used = false, is_listed = false;
  for (const CostItem item : k_items) {
    const CostCell& cell = row.cells[index(item)];
    if (!cell.used) continue;
    any_used = true;
    if (cell.priced) {
      any_priced = true;
      is_listed = is_listed || cell.listed;
    } else {
      missing += (missing.empty() ? "" : ", ") + std::string(item_name(item));
    }
  }
  if (!any_used) return "none";
  if (!any_priced) return "rate not given";
  const std::string known =
      fmt::format("${}{}", fixed(known_usd(row), m_usd_decimals), list_mark(is_listed));
  return missing.empty() ? known : known + " + " + missing + " (rate not given)";
}

std::string CostGrid::spend() const {
  std::string out;
  for (const CostItem item : k_items) {
    const CostCell& cell = m_total.cells[index(item)];
    if (!cell.used) continue;
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", item_title(item), quantity(item, cell),
                       fmt::format(" {}", item_unit(item)));
  }
  out = out.empty() ? "nothing debited" : usd(m_total) + " (" + out + ")";
  if (m_undebited.count == 0) return out;
  return out + fmt::format("; not debited: {}, {} s of timing alone",
                           count(m_undebited.count, "turn"), fixed(m_undebited.timed_s, 1));
}

namespace {

/// The amount and rate of each kind of spending, and their sum.
std::string item_table(const Facts& facts, const CostGrid& grid) {
  const session::Prices& known = facts.prices;
  const std::string source = cite(facts.view.opened.seq);
  const auto& tokens = known.rates.token_usd_per_million;
  const std::array<std::string, 3> prices{
      per_hour(known.rates.compile_cpu_usd_per_hour, known.compile_cpu),
      per_hour(known.rates.device_usd_per_hour, known.device),
      tokens ? fmt::format("${} a million", *tokens) : std::string("rate not given")};
  Table table({"item", "used>", "unit", "rate>", "cost>"});
  for (const CostItem item : k_items) {
    const CostCell& cell = grid.total().cells[index(item)];
    table.row({std::string(item_title(item)), grid.quantity(item, cell),
               std::string(item_unit(item)), prices[index(item)] + source, grid.usd(cell)});
  }
  table.row({"**total**", "", "", "", grid.usd(grid.total())});
  return table.str() + "\n";
}

/// Merges several rows into one, so that a long table can be cut and its sums still hold.
CostRow folded(const std::vector<CostRow>& rows, std::size_t n) {
  CostRow sum;
  for (std::size_t i = 0; i < n; ++i) {
    sum.wall.steps += rows[i].wall.steps;
    sum.has_wall = sum.has_wall || rows[i].has_wall;
    for (std::size_t c = 0; c < sum.cells.size(); ++c) {
      CostCell& cell = sum.cells[c];
      const CostCell& added = rows[i].cells[c];
      cell.used = cell.used || added.used;
      cell.priced = cell.priced && (added.priced || !added.used);
      cell.listed = cell.listed || added.listed;
      cell.quantity.steps += added.quantity.steps;
      cell.usd.steps += added.usd.steps;
    }
    sum.events.insert(sum.events.end(), rows[i].events.begin(), rows[i].events.end());
  }
  return sum;
}

std::string part_table(const CostGrid& grid) {
  Table table(
      {"part", "wall s>", "compiler CPU s>", "device s>", "agent tokens>", "cost>", "events"});
  const auto add = [&](const std::string& name, const CostRow& row, const std::string& events) {
    std::vector<std::string> cells{name, row.has_wall || row.iteration ? grid.wall(row) : ""};
    for (const CostItem item : k_items) {
      cells.push_back(grid.quantity(item, row.cells[index(item)]));
    }
    cells.push_back(grid.usd(row));
    cells.push_back(events);
    table.row(std::move(cells));
  };
  // A long session shows its last iterations; the others are one line, which keeps the sum.
  const std::vector<CostRow>& rows = grid.rows();
  const std::size_t skipped = rows.size() > k_max_cost_rows ? rows.size() - k_max_cost_rows : 0;
  if (skipped > 0) {
    const CostRow earlier = folded(rows, skipped);
    add(fmt::format("the first {} rows", skipped), earlier, cite(earlier.events));
  }
  for (std::size_t i = skipped; i < rows.size(); ++i) {
    const CostRow& row = rows[i];
    const std::string name = !row.iteration        ? "outside iterations"
                             : *row.iteration == 0 ? "iteration 0 (baseline)"
                                                   : fmt::format("iteration {}", *row.iteration);
    add(name, row, cite(row.events));
  }
  add("**total**", grid.total(), "");
  return table.str() + "\n";
}

}  // namespace

std::string cost_section(const Facts& facts, const CostGrid& grid) {
  std::string out = "## Cost\n\n";
  const session::UndebitedTurns left = undebited_turns(facts.view);
  if (grid.rows().empty() && left.count == 0) return out + "Nothing was debited.\n\n";
  out += item_table(facts, grid) + part_table(grid);
  if (left.count > 0) {
    out += fmt::format(
        "No debit holds {} outside iterations{}: their timed parts alone took {} s, and the device "
        "was in use for longer.\n\n",
        count(left.count, "turn"), cite({left.first_seq, left.last_seq}), fixed(left.timed_s, 1));
  }
  const auto whole_s = seconds_between(facts.view.opened.t, facts.view.last_t);
  out += "Both totals are sums of the parts as printed.";
  if (whole_s && grid.total().has_wall) {
    out += fmt::format(
        " The session's wall time was {}; what the parts do not hold lies between them.",
        duration(*whole_s));
  }
  return out + "\n\n";
}

std::string iteration_cost(const IterationView& iteration) {
  std::string out;
  for (const CostItem item : k_items) {
    const auto found = iteration.ledger.items.find(item);
    if (found == iteration.ledger.items.end() || !(found->second.quantity > 0)) continue;
    const session::CostLine& line = found->second;
    std::vector<std::int64_t> events;
    for (const session::Fact& fact : iteration.costs) {
      const std::string_view word = item == CostItem::compile_cpu ? "compile_cpu"
                                    : item == CostItem::device    ? "device"
                                                                  : "tokens";
      if (text(fact.payload, "item") == word) events.push_back(fact.seq);
    }
    out +=
        fmt::format("- {}: {} {}, {}{}\n", item_title(item),
                    fixed(line.quantity, item == CostItem::tokens ? 0 : 3), item_unit(item),
                    line.usd ? fmt::format("${}{}", fixed(*line.usd, 6), list_mark(line.is_listed))
                             : "rate not given",
                    cite(events));
  }
  return out.empty() ? "Nothing was debited yet.\n" : out;
}

}  // namespace wb::report
