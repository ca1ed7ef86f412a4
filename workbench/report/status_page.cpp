// SPDX-License-Identifier: MIT
// Plain text for terminals: the status screen and single events with their samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "measure/quantiles.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace wb::report {

using session::IterationView;

namespace {

constexpr std::size_t k_samples_a_line = 8;
constexpr int k_max_depth = 16;

std::string left_words(const Page& page, std::size_t evaluations_done) {
  const session::SessionView& view = page.facts.view;
  const Json& budget = field(view.opened.payload, "budget");
  std::vector<std::string> parts;
  if (const auto limit = integer(budget, "evaluations")) {
    const auto left = *limit - static_cast<std::int64_t>(evaluations_done);
    parts.push_back(
        fmt::format("{} of {}", std::max<std::int64_t>(left, 0), count(*limit, "evaluation")));
  }
  const auto spent_s = seconds_between(view.opened.t, view.last_t);
  if (const auto limit = number(budget, "wall_s"); limit && spent_s) {
    parts.push_back(
        fmt::format("{} of {}", duration(std::max(*limit - *spent_s, 0.0)), duration(*limit)));
  }
  if (const auto limit = number(budget, "usd")) {
    double spent = 0;
    bool complete = true, is_listed = false;
    for (const auto& [item, line] : view.ledger.items) {
      spent += line.usd.value_or(0);
      complete = complete && line.usd;
      is_listed = is_listed || line.is_listed;
    }
    parts.push_back(fmt::format("${} of ${}{}{}", fixed(std::max(*limit - spent, 0.0), 4),
                                fixed(*limit, 4), list_mark(is_listed),
                                complete ? "" : " (some rates not given)"));
  }
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out.empty() ? "no budget set" : out;
}

/// Adds values as in the log, one per line, nested ones indented.
void add_value(std::string& out, const std::string& name, const Json& value, int depth) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (depth > k_max_depth) {
    out += indent + name + ": ...\n";
  } else if (value.is_object()) {
    out += indent + name + ":" + (value.empty() ? " none\n" : "\n");
    for (const auto& [key, member] : value.items())
      add_value(out, plain(key, 80), member, depth + 1);
  } else if (value.is_array() && std::any_of(value.begin(), value.end(), [](const Json& item) {
               return item.is_structured();
             })) {
    out += fmt::format("{}{}: {}\n", indent, name,
                       count(static_cast<std::int64_t>(value.size()), "item"));
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_value(out, fmt::format("[{}]", i), value[i], depth + 1);
    }
  } else if (value.is_string()) {
    const std::string words = value.get<std::string>();
    out += words.find('\n') == std::string::npos ? indent + name + ": " + plain(words, 2'000) + "\n"
                                                 : indent + name + ":\n" + indented(words, 400);
  } else {
    out += indent + name + ": " + (value.is_null() ? "none" : value.dump()) + "\n";
  }
}

std::string sample_lines(const Json& samples) {
  std::vector<double> values;
  std::size_t unusable = 0;
  for (const Json& sample : samples) {
    if (sample.is_number() && std::isfinite(sample.get<double>())) {
      values.push_back(sample.get<double>());
    } else {
      ++unusable;
    }
  }
  std::string out = fmt::format("  samples, us per call ({}):\n", samples.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % k_samples_a_line == 0) out += "   ";
    out += fmt::format(" {:>10}", fixed(values[i], 3));
    if ((i + 1) % k_samples_a_line == 0 || i + 1 == values.size()) out += "\n";
  }
  if (unusable > 0) out += fmt::format("    {} are not finite numbers\n", unusable);
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  return out + fmt::format("  median {} us, min {} us, p90 {} us, max {} us\n",
                           fixed(measure::quantile(values, 0.5), 3), fixed(values.front(), 3),
                           fixed(measure::quantile(values, 0.9), 3), fixed(values.back(), 3));
}

}  // namespace
std::string render_status(const session::SessionView& view) {
  const Page page(view);
  const Facts& facts = page.facts;
  std::size_t done = 0;
  const IterationView* last = nullptr;
  for (const IterationView& iteration : view.iterations) {
    if (!iteration.closed) continue;
    last = &iteration;
    const IterationOutcome outcome = outcome_of(iteration);
    if (outcome != IterationOutcome::baseline && outcome != IterationOutcome::abandoned) ++done;
  }
  std::string out;
  const auto line = [&](const char* name, const std::string& words) {
    out += fmt::format("{:<10} {}\n", name, words);
  };
  const std::string title = text(view.opened.payload, "title");
  line("session", plain(text(view.opened.payload, "session"), 80) +
                      (title.empty() ? "" : "  " + plain(title, 120)));
  std::string status(to_string(view.status));
  if (view.closed) status += ": " + plain(text(view.closed->payload, "reason"), 120);
  if (const IterationView* flight = view.in_flight()) {
    status += fmt::format(", iteration {} in flight: {}", flight->number,
                          plain(candidate_label(*flight), 80));
  }
  line("status", status);
  line("iterations", facts.tries.empty()
                         ? std::string(facts.baseline == nullptr     ? "none"
                                       : facts.baseline->is_closed() ? "baseline closed"
                                                                     : "baseline running")
                         : fmt::format("{} closed, {}", page.conclusion.iterations,
                                       count(static_cast<std::int64_t>(facts.wins.size()), "win")));
  line("incumbent", view.incumbent.empty() ? "none yet" : plain(view.incumbent, 80));
  const auto best = gain(page, facts.plan);
  line("best", best ? speedup(best->ratio) + " over the start, confirmed" + cite(best->events)
                    : "no confirmed gain yet");
  line("last",
       last == nullptr
           ? std::string("nothing closed yet")
           : fmt::format(
                 "iteration {}: {}{}{}", last->number, to_string(outcome_of(*last)),
                 invalidity_of(*last).empty() ? "" : " (" + plain(invalidity_of(*last), 40) + ")",
                 cite(last->closed->seq)));
  const auto wall_s = seconds_between(view.opened.t, view.last_t);
  line("spend", page.costs.spend() + (wall_s ? "; wall time " + duration(*wall_s) : ""));
  line("left", left_words(page, done));
  line("log", fmt::format("{}, last {}", count(view.events, "event"), plain(view.last_t, 40)));
  return out;
}

std::string render_event(const session::Event& event) {
  std::string out =
      fmt::format("e{}  {}  {}\n", event.seq, plain(event.type, 60), plain(event.t, 40));
  if (!event.payload.is_object()) {
    add_value(out, "payload", event.payload, 1);
    return out;
  }
  const Json& samples = field(event.payload, "samples_us");
  const bool is_turn = event.type == "turn_measured" && samples.is_array();
  for (const auto& [name, value] : event.payload.items()) {
    if (is_turn && name == "samples_us") continue;
    add_value(out, plain(name, 80), value, 1);
  }
  return is_turn ? out + sample_lines(samples) : out;
}

}  // namespace wb::report
