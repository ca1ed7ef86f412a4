// SPDX-License-Identifier: MIT
// Checks rates against shapes and times: TFLOP/s by 4·B·H·S²·D, and tables in which the work
// implied by the rates changes differently from the size that the rows are named after.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/checks.hpp"

namespace wb::audit {
namespace {

/// The time column that belongs to a rate column: the only one, or the one with the same subject.
std::optional<std::size_t> time_of(const TableFacts& table, std::size_t rate) {
  const std::vector<std::size_t> times = table.of(Role::time);
  if (times.size() == 1) return times[0];
  for (const std::size_t time : times) {
    if (!table.columns[time].name.empty() &&
        has_word(table.columns[rate].name, table.columns[time].name)) {
      return time;
    }
  }
  return std::nullopt;
}

struct Rated {
  const Row* row;
  Shape shape;
  Figure rate, time;
  Interval work;  ///< rate x time
};

std::vector<Rated> rated_rows(const TableFacts& table, std::size_t rate, std::size_t time) {
  std::vector<Rated> rows;
  for (std::size_t n = 0; n < table.table->rows.size(); ++n) {
    const Row& row = table.table->rows[n];
    const auto speed = table.figure(row, rate), taken = table.figure(row, time);
    if (!speed || !taken || speed->unit != Unit::flop_rate || taken->unit != Unit::time ||
        speed->value <= 0 || taken->value <= 0) {
      continue;
    }
    rows.push_back({&row, table.shapes[n], *speed, *taken, speed->whole() * taken->whole()});
  }
  return rows;
}

/// Whether all rows are off by the same factor: the work is counted in another way (backward, one
/// query, grouped heads), which cannot be judged.
bool counts_otherwise(const std::vector<Rated>& rows, Notes& notes) {
  Interval common{0, 1e300};
  for (const Rated& row : rows) {
    const auto rate = divide({row.shape.work(), row.shape.work()}, row.time.whole());
    if (!rate) return false;
    const Interval half = *rate * Interval{0.5, 0.5};
    if (row.rate.result().meets(*rate) || row.rate.result().meets(half)) return false;
    const auto factor = divide(row.rate.result(), *rate);
    if (!factor) return false;
    common = {std::max(common.low, factor->low), std::min(common.high, factor->high)};
  }
  if (common.low > common.high) return false;
  notes.add({.severity = Severity::unknown,
             .line = rows.front().row->line,
             .printed = fmt::format("{} rates", rows.size()),
             .computed = fmt::format("each is {} times 4·B·H·S²·D / time", show(common.middle())),
             .meaning = "the work is counted in another way, which the document does not tell"});
  return true;
}

/// Relative tolerance of a rate: the softmax, a mean of rates or rounded work.
constexpr double k_work = 0.05;
Interval widened(const Interval& rate) {
  return rate * Interval{1 - k_work, 1 + k_work};
}

/// Whether the rate matches all the work or half of it.
bool follows_work(const Rated& row) {
  const auto fair = divide({row.shape.work(), row.shape.work()}, row.time.whole());
  return fair && (row.rate.result().meets(widened(*fair)) ||
                  row.rate.result().meets(widened(*fair * Interval{0.5, 0.5})));
}

/// Whether every row of this shape, also on other GPUs, is off by one factor: then the work is
/// counted in another way, for example by the tiles of a mask.
bool is_off_alike(const std::vector<Rated>& rows, const Rated& row) {
  Interval common{0, 1e300};
  std::size_t alike = 0;
  for (const Rated& one : rows) {
    if (!(one.shape == row.shape)) continue;
    const auto fair = divide({one.shape.work(), one.shape.work()}, one.time.whole());
    const auto factor = fair ? divide(widened(one.rate.result()), *fair) : std::nullopt;
    if (!factor || follows_work(one)) return false;
    common = {std::max(common.low, factor->low), std::min(common.high, factor->high)};
    ++alike;
  }
  return alike >= 2 && common.low <= common.high;
}

/// The rate may have been measured at other sizes than those told around the table.
constexpr std::string_view k_sizes_outside = "; a size is told outside of the table";

void check_complete(const TableFacts& table, const std::vector<Rated>& rows, Notes& notes) {
  if (counts_otherwise(rows, notes)) return;
  const auto fits = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), follows_work));
  if (2 * fits < rows.size()) {
    notes.add({.severity = Severity::unknown,
               .line = rows.front().row->line,
               .printed = fmt::format("{} rates", rows.size()),
               .computed = fmt::format("{} are 4·B·H·S²·D / time, or half of it", fits),
               .meaning = "the work is counted in another way, which the document does not tell"});
    return;
  }
  for (const Rated& row : rows) {
    // Causal masks halve the work; reports seldom say which of the two they count.
    const double work = row.shape.work();
    const auto fair = divide({work, work}, row.time.whole());
    if (!fair) continue;
    const std::string formula =
        fmt::format("4 x {} x {} x {}^2 x {} / {} = {}", show(row.shape.batch),
                    show(row.shape.heads), show(row.shape.sequence), show(row.shape.dim),
                    full(row.time), show(*fair, Unit::flop_rate));
    const Interval half = *fair * Interval{0.5, 0.5};
    if (row.rate.result().meets(widened(*fair))) {
      notes.held(row.row->line, formula + ", printed " + full(row.rate));
    } else if (row.rate.result().meets(widened(half))) {
      notes.held(row.row->line,
                 formula + ", half of it printed, as of a causal mask: " + full(row.rate));
    } else {
      const bool alike = is_off_alike(rows, row);
      const bool sure = !alike && table.shapes_are_own;
      std::string why = alike ? "the rates of all rows of this shape are off alike: their work may "
                                "be counted otherwise"
                              : "the rate does not follow from the shape and the time of its row";
      if (!table.shapes_are_own) why += k_sizes_outside;
      notes.add({.severity = sure ? Severity::contradiction : Severity::doubtful,
                 .line = row.row->line,
                 .printed = full(row.rate),
                 .computed = formula,
                 .meaning = std::move(why),
                 .tolerance = tolerance_of(row.rate) + ", and 5 %"});
    }
  }
}

/// If D is not stated, every row implies one, and all must be equal.
void check_implied_dim(const TableFacts& table, const std::vector<Rated>& rows, Notes& notes) {
  std::vector<Interval> dims;
  double best = 0;
  std::size_t most = 0;
  for (const Rated& row : rows) {
    const double per_dim = row.shape.work();
    dims.push_back(Interval{row.rate.result().low, row.rate.result().high} * row.time.whole() *
                   Interval{1 / per_dim, 1 / per_dim});
  }
  const double k_dims[] = {16, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 192, 224, 256, 512};
  for (const double dim : k_dims) {
    const auto fits =
        static_cast<std::size_t>(std::count_if(dims.begin(), dims.end(), [&](auto& one) {
          return one.meets({dim, dim});
        }));
    if (fits > most) {
      most = fits;
      best = dim;
    }
  }
  if (most * 2 <= rows.size()) return;  // no size explains the rows, so nothing is judged
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const auto rate =
        divide({rows[n].shape.work() * best, rows[n].shape.work() * best}, rows[n].time.whole());
    if (!rate) continue;
    const std::string formula =
        fmt::format("4·B·H·S²·D with {} and D={:.0f}, which {} of {} rows imply, / {} = {}",
                    rows[n].shape.text(), best, most, rows.size(), full(rows[n].time),
                    show(*rate, Unit::flop_rate));
    if (dims[n].meets({best, best})) {
      notes.held(rows[n].row->line, formula + ", printed " + full(rows[n].rate));
    } else {
      std::string why = "the rate does not follow from the time as those of the other rows do";
      if (!table.shapes_are_own) why += k_sizes_outside;
      notes.add({.severity = table.shapes_are_own ? Severity::contradiction : Severity::doubtful,
                 .line = rows[n].row->line,
                 .printed = full(rows[n].rate),
                 .computed = formula,
                 .meaning = std::move(why),
                 .tolerance = tolerance_of(rows[n].rate)});
    }
  }
}

/// Checks "0.05 TFLOPS, 0.183 ms" against "FLOPs: … = 8.4M FLOPs" in the same list.
void check_listed(const Facts& facts, std::size_t index, Notes& notes) {
  const auto& lines = facts.document.lines;
  const auto& figures = facts.of(lines[index].number);
  const Figure* rate = nullptr;
  const Figure* time = nullptr;
  for (const Figure& figure : figures) {
    if (figure.unit == Unit::flop_rate && rate == nullptr) rate = &figure;
    if (figure.unit == Unit::time && time == nullptr) time = &figure;
  }
  if (rate == nullptr || time == nullptr || rate->is_range || time->is_range) return;
  for (std::size_t down = index + 1; down < lines.size() && down < index + 4; ++down) {
    const auto& below = facts.of(lines[down].number);
    if (trimmed(lines[down].plain).empty()) return;
    if (below.empty() || below.back().unit != Unit::flops) continue;
    const auto label = label_of(lines[down].plain);
    if (!label || label->label != "flops") continue;
    const auto value = divide(below.back().whole(), time->whole());
    if (!value) return;
    const std::string formula = fmt::format("{} / {} = {}", below.back().printed, time->printed,
                                            show(*value, Unit::flop_rate));
    if (rate->result().meets(*value)) {
      notes.held(lines[index].number, formula + ", printed " + rate->printed);
    } else {
      notes.add({.line = lines[index].number,
                 .printed = rate->printed,
                 .computed = formula,
                 .meaning = "the rate does not follow from the FLOPs and the time beside it",
                 .tolerance = tolerance_of(*rate),
                 .also = {lines[down].number}});
    }
    return;
  }
}

struct Varied {
  std::string_view name;
  double power;
  double Shape::*size;
};
constexpr std::array<Varied, 4> k_varied{{{"the batch", 1, &Shape::batch},
                                          {"the heads", 1, &Shape::heads},
                                          {"the sequence", 2, &Shape::sequence},
                                          {"the head dimension", 1, &Shape::dim}}};

struct Spread {
  double ratio = 1;
  int least_line = 0, most_line = 0;
};

/// How much the work per unit of one size differs between rows, beyond the rounding of the digits.
Spread spread_of(const std::vector<Rated>& rows, double Shape::*size, double power) {
  Interval least{1e300, 1e300}, most{0, 0};
  Spread spread;
  for (const Rated& row : rows) {
    const double per = std::pow(row.shape.*size, power);
    const Interval share = row.work * Interval{1 / per, 1 / per};
    if (share.high < least.high) least = share, spread.least_line = row.row->line;
    if (share.low > most.low) most = share, spread.most_line = row.row->line;
  }
  spread.ratio = std::max(1.0, most.low / least.high);
  return spread;
}

/// Whether the document names a cause for what a table shows.
bool claims_cause(const Document& document) {
  static constexpr std::array<std::string_view, 8> k_words{
      "root cause", "because", "bottleneck", "due to", "caused by", "collapse", "drop", "degrade"};
  return std::any_of(document.lines.begin(), document.lines.end(), [](const Line& line) {
    return std::any_of(k_words.begin(), k_words.end(),
                       [&](auto word) { return line.lower.find(word) != std::string::npos; });
  });
}

}  // namespace

void check_throughput(const Facts& facts, Notes& notes) {
  for (const TableFacts& table : facts.tables) {
    for (const std::size_t rate : table.of(Role::flop_rate)) {
      const auto time = time_of(table, rate);
      if (!time) continue;
      const std::vector<Rated> rows = rated_rows(table, rate, *time);
      if (rows.empty()) continue;
      const auto every = [&](auto has) {
        return std::all_of(rows.begin(), rows.end(), [&](auto& row) { return has(row.shape); });
      };
      const bool sizes = every([](const Shape& shape) {
        return shape.batch > 0 && shape.heads > 0 && shape.sequence > 0;
      });
      if (!sizes) continue;
      if (every([](const Shape& shape) { return shape.dim > 0; })) {
        check_complete(table, rows, notes);
      } else if (every([](const Shape& shape) { return shape.dim == 0; }) && rows.size() >= 3) {
        check_implied_dim(table, rows, notes);
      }
    }
  }
}

void check_listed_rates(const Facts& facts, Notes& notes) {
  for (std::size_t n = 0; n < facts.document.lines.size(); ++n) check_listed(facts, n, notes);
}

void check_confounding(const Facts& facts, Notes& notes) {
  if (!claims_cause(facts.document)) return;
  for (const TableFacts& table : facts.tables) {
    const std::vector<std::size_t> rates = table.of(Role::flop_rate);
    if (rates.size() != 1 || table.table->rows.size() < 3) continue;
    const auto time = time_of(table, rates[0]);
    if (!time) continue;
    const std::vector<Rated> rows = rated_rows(table, rates[0], *time);
    if (rows.size() < 3) continue;
    for (const Varied& varied : k_varied) {
      const auto size = [&](const Rated& row) { return row.shape.*varied.size; };
      // Whether the rows are named after this size alone.
      const bool alone = std::all_of(rows.begin(), rows.end(), [&](const Rated& row) {
        Shape only;
        only.*varied.size = size(row);
        return size(row) > 0 && row.shape == only;
      });
      if (!alone) continue;
      std::string shares;
      for (const Rated& row : rows) {
        shares += fmt::format("{}line {}: {} x {} = {}", shares.empty() ? "" : "; ", row.row->line,
                              full(row.rate), full(row.time), show(row.work.middle(), Unit::flops));
      }
      // With one query, the work is linear in S.
      Spread told = spread_of(rows, varied.size, varied.power);
      const Spread once = spread_of(rows, varied.size, 1);
      if (once.ratio < told.ratio) told = once;
      const double spread = told.ratio;
      if (spread < 1.5) {
        notes.held(
            rows.front().row->line,
            fmt::format("the work behind the rates follows {} alone: {}", varied.name, shares));
        continue;
      }
      notes.add({.severity = Severity::doubtful,
                 .line = rows.front().row->line,
                 .printed = fmt::format("{} rows named after {} alone", rows.size(), varied.name),
                 .computed = fmt::format(
                     "rate x time is the work of a row: {}; by unit of {} the rows differ by {}x "
                     "or more",
                     shares, varied.name, show(spread)),
                 .meaning = fmt::format(
                     "confounded: other sizes change too (fewer heads or rows, so a smaller grid), "
                     "and no cause can be told from these rows; hold all but {} fixed",
                     varied.name),
                 .tolerance = "the printed digits of rate and time",
                 .also = {told.most_line, told.least_line}});
    }
  }
}

}  // namespace wb::audit
