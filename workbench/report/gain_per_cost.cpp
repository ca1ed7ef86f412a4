// SPDX-License-Identifier: MIT
// What the work returned: the cost of a percent of speed in this session, and gain and cost of the
// sessions that it continues.
#include <fmt/format.h>

#include <cmath>

#include "core/json.hpp"
#include "report/cost.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::CostItem;
using session::IterationView;
using session::Ledger;

// The cost of a percent of speed and of an iteration: confirmed gains beside what was debited for
// them. Without a rate there is no figure in dollars.

namespace {

/// Fewer iterations do not predict the next one.
constexpr std::size_t k_least_tries = 3;
constexpr double k_s_per_h = 3600;

/// Two significant digits and no exponent.
std::string two_digits(double value) {
  if (!(value > 0)) return "0";
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(value)));
  return fixed(value, std::clamp(decimals, 0, 9));
}

std::string so_far(const Page& page, const std::optional<Gain>& gained) {
  if (!gained || !(gained->ratio.value.value_or(1) > 1)) {
    return fmt::format(
        "- No iteration's gain was accepted: {} {}.\n", page.costs.spend(),
        advises_change(page) ? "went into measurements beside them" : "brought none");
  }
  const double percents = (*gained->ratio.value - 1) * 100;
  const Ledger ledger = page.facts.prices.priced(page.facts.view.ledger);
  const Ledger::Total total = ledger.total();
  const double device_s = ledger.quantity(session::CostItem::device);
  std::string out = "- Each percent accepted";
  if (device_s > 0) {
    out +=
        fmt::format(" took {} s of the device ({} device hours) and",
                    two_digits(device_s / percents), two_digits(device_s / percents / k_s_per_h));
  } else {
    out += " took";
  }
  out += total.complete
             ? fmt::format(" ${}{}", two_digits(total.usd / percents), list_mark(total.is_listed))
             : " money at a rate not given";
  return out + fmt::format(": {} over the start{}; spent: {}.\n", speedup(gained->ratio.value),
                           cite(gained->events), page.costs.spend());
}

/// The cost per iteration, over all iterations, with and without a gain.
std::string each_try(const Page& page, const std::vector<const IterationView*>& tries) {
  if (tries.size() < k_least_tries) {
    return fmt::format("- What a try takes is not said: {} of the {} needed closed.\n",
                       tries.size(), k_least_tries);
  }
  double device_s = 0;
  Ledger::Total spent;
  for (const IterationView* iteration : tries) {
    device_s += iteration->ledger.quantity(session::CostItem::device);
    const Ledger::Total total = page.facts.prices.priced(iteration->ledger).total();
    spent.usd += total.usd;
    spent.complete = spent.complete && total.complete;
    spent.is_listed = spent.is_listed || total.is_listed;
  }
  const auto n = static_cast<double>(tries.size());
  std::string out = fmt::format("- A try took {} s of the device", two_digits(device_s / n));
  if (!spent.complete) {
    out += " and money at a rate not given";
  } else if (spent.usd > 0) {
    out += fmt::format(" and ${}{} (a dollar buys {} of them)", two_digits(spent.usd / n),
                       list_mark(spent.is_listed), two_digits(n / spent.usd));
  }
  return out + fmt::format(" on average; {} of {} gained. Later ones tend to gain less.\n",
                           page.facts.wins.size(), tries.size());
}

/// The expected gain per dollar of the roadmap's first step; empty for logs without a roadmap.
std::string next_dollar(const Page& page, const std::vector<const IterationView*>& tries) {
  if (!page.facts.view.roadmap) return "";
  const session::Fact& made = *page.facts.view.roadmap;
  const Json& entries = field(made.payload, "entries");
  const std::string head = "- The next dollar: ";
  if (!entries.is_array() || entries.empty()) {
    const Json& room = field(made.payload, "room");
    if (room.is_array() && !room.empty()) {
      return head + inline_text(text(room.front(), "says"), 400) + cite(made.seq) + ".\n";
    }
    return head + "nothing is expected of it, as the catalogue has no technique left" +
           cite(made.seq) + ".\n";
  }
  const Json& first = entries.front();
  const auto expected = number(first, "expected");
  const Json& calibration = field(made.payload, "calibration");
  const auto known = integer(calibration, "count").value_or(0);
  const std::string basis =
      field(calibration, "families").is_object()
          ? "calibrated by predictions of its kind and by its isolated trials"
      : known < static_cast<std::int64_t>(k_least_tries)
          ? "the middle of its range, as too few predictions were decided here"
          : "calibrated by the predictions that were decided here";
  std::string out =
      head + fmt::format("{} should bring {}{}, {}", code(text(first, "technique"), 40),
                         speedup(expected), cite(made.seq), basis);
  double usd = 0;
  bool is_priced = !tries.empty(), is_listed = false;
  for (const IterationView* iteration : tries) {
    const Ledger::Total total = page.facts.prices.priced(iteration->ledger).total();
    usd += total.usd;
    is_priced = is_priced && total.complete;
    is_listed = is_listed || total.is_listed;
  }
  if (!is_priced || !(usd > 0) || !expected) {
    return out + "; what that is for a dollar is not said: rate not given.\n";
  }
  const double a_try = usd / static_cast<double>(tries.size());
  return out + fmt::format("; at ${}{} a try that is {} % a dollar.\n", two_digits(a_try),
                           list_mark(is_listed), two_digits((*expected - 1) * 100 / a_try));
}

}  // namespace

std::string gain_per_cost(const Page& page) {
  std::vector<const IterationView*> closed;
  for (const IterationView* iteration : page.facts.tries) {
    if (iteration->closed) closed.push_back(iteration);
  }
  if (closed.empty() || page.costs.rows().empty()) return "";
  return so_far(page, gain(page, page.facts.plan)) + each_try(page, closed) +
         next_dollar(page, closed) + "\n";
}

// The sessions that this one continues: the gain and cost of each, and of all together.
// session_opened holds the earlier figures.

namespace {

/// A sum that is nothing if one part is unknown.
struct SeriesSum {
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
  SeriesSum wall_s, usd;
  bool is_listed = false;
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

std::string usd_cell(std::optional<double> usd, bool is_listed) {
  if (!usd) return "rate not given";
  return fmt::format("${}{}", fixed(*usd, 4), list_mark(is_listed));
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
          .ledger = to_json(page.facts.prices.priced(view.ledger)),
          .seq = view.opened.seq};
}

void add(Table& table, Totals& totals, const Row& row) {
  totals.add_gain(row.task, row.gain);
  totals.wall_s.add(row.wall_s);
  totals.usd.add(usd_of(row.ledger));
  totals.is_listed = totals.is_listed || is_true(row.ledger, "list_price");
  totals.iterations += row.iterations;
  totals.wins += row.wins;
  table.row({code(row.session, 60), code(row.start, 60), code(row.incumbent, 60),
             fmt::format("{} of {}", row.wins, row.iterations),
             row.gain ? speedup(row.gain) : "none confirmed", speedup(totals.gain),
             used_cell(row.ledger), usd_cell(usd_of(row.ledger), is_true(row.ledger, "list_price")),
             seconds_cell(row.wall_s), ref(row.seq)});
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
  const auto sum = [](const SeriesSum& part) {
    return part.known ? std::optional<double>(part.value) : std::nullopt;
  };
  return fmt::format(
      "## Series\n\nSession {} of a series; each goes on from the incumbent of the one before. A "
      "gain is confirmed within its own session; \"since the first\" multiplies them, beginning "
      "anew where suite or objective changed.\n\n{}\nTogether: {} in {}, cost {}, wall time "
      "{}.\n\n",
      before.size() + 1, table.str(), count(totals.wins, "win"),
      count(totals.iterations, "iteration"), usd_cell(sum(totals.usd), totals.is_listed),
      seconds_cell(sum(totals.wall_s)));
}

}  // namespace wb::report
