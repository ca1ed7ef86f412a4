// SPDX-License-Identifier: MIT
// `report --kind handover`, for the person who continues the work: what was reached and learned,
// what it returned, what to do next and what each choice costs. It uses only the log.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "measure/prediction.hpp"
#include "report/handover_sections.hpp"
#include "report/report.hpp"
#include "report/session_sections.hpp"

namespace wb::report {

using session::IterationView;
using session::SessionView;

namespace {

constexpr std::size_t k_most_lessons = 12;
constexpr double k_hour_s = 3600;

std::string handover_header(const Page& page) {
  const SessionView& view = page.facts.view;
  const std::string title = text(view.opened.payload, "title");
  const std::string configuration =
      page.facts.holder == nullptr
          ? std::string()
          : configuration_text(field(page.facts.holder->opened.payload, "configuration"));
  const std::string holder =
      view.incumbent.empty()
          ? "no incumbent yet"
          : incumbent_name(page, false) +
                (configuration.empty() ? "" : " (" + code(configuration, 400) + ")");
  return fmt::format(
      "# Handover: {}\n\nDate: {}. Session: {}. Holder: {}.\n\n",
      title.empty() ? code(text(view.opened.payload, "session"), 60) : inline_text(title, 120),
      plain(view.last_t.substr(0, 10)), to_string(view.status), holder);
}

std::string technical(const Page& page) {
  std::string out =
      fmt::format("Technical: {} of {} gained.\n\n", page.facts.wins.size(),
                  count(static_cast<std::int64_t>(page.facts.tries.size()), "iteration"));
  for (const IterationView* win : page.facts.wins) {
    out += fmt::format(
        "- iteration {}: {}: {}{}\n", win->number,
        brief(page.facts.words(text(field(win->opened.payload, "hypothesis"), "theory")), 200),
        speedup(ratio(win->incumbent_changed->payload)), cite(win->incumbent_changed->seq));
  }
  return out + (page.facts.wins.empty() ? "" : "\n");
}

/// How the work was done: what was judged and which predictions were right.
std::string process(const Page& page) {
  std::int64_t passed = 0, failed = 0, invalid = 0;
  std::map<measure::Mechanism, std::int64_t> mechanisms;
  std::map<measure::GainSize, std::int64_t> sizes;
  for (const IterationView* iteration : page.facts.tries) {
    for (const session::VerdictFact& verdict : iteration->verdicts) {
      if (page.facts.is_rival(*iteration, text(verdict.payload, "subject"))) continue;
      ++(is_true(verdict.payload, "pass") ? passed : failed);
    }
    invalid += outcome_of(*iteration) == IterationOutcome::invalid ? 1 : 0;
    const auto prediction = session::decided_prediction(*iteration);
    if (!prediction) continue;
    ++mechanisms[prediction->mechanism];
    ++sizes[prediction->size];
  }
  return fmt::format(
      "Process: {} of candidates passed and {} failed before any time was taken; {} ended invalid; "
      "mechanisms: {} confirmed, {} not confirmed, {} undecided; gains: {} within what was "
      "predicted, "
      "{} above, {} below, {} undecided.\n\n",
      count(passed, "verdict"), failed, count(invalid, "iteration"),
      mechanisms[measure::Mechanism::confirmed], mechanisms[measure::Mechanism::not_confirmed],
      mechanisms[measure::Mechanism::undecided], sizes[measure::GainSize::within],
      sizes[measure::GainSize::above], sizes[measure::GainSize::below],
      sizes[measure::GainSize::undecided]);
}

/// Beliefs that measurement contradicted.
std::string lessons(const Page& page) {
  std::string list;
  std::size_t n = 0;
  for (const IterationView* iteration : page.facts.tries) {
    const auto prediction = session::decided_prediction(*iteration);
    const bool is_contradicted =
        prediction && (prediction->mechanism == measure::Mechanism::not_confirmed ||
                       prediction->size == measure::GainSize::below);
    if (!is_contradicted || ++n > k_most_lessons) continue;
    const Json& decided = iteration->hypothesis->payload;
    const auto predicted = number(decided, "predicted_speedup"),
               measured = number(decided, "measured_speedup");
    list += fmt::format(
        "- {}: predicted {}, measured {}{}\n",
        brief(page.facts.words(text(field(iteration->opened.payload, "hypothesis"), "theory")),
              240),
        speedup(predicted), speedup(measured), cite(iteration->hypothesis->seq));
  }
  if (n == 0) return "Learned: no measurement contradicted a prediction.\n\n";
  if (n > k_most_lessons) list += fmt::format("- and {} more\n", n - k_most_lessons);
  return "Learned, where measurements contradicted what was predicted:\n\n" + list + "\n";
}

/// The time of each problem once, by its weight: at the start's speed and now. A gain saves their
/// difference; the mean of the speedups says nothing of it, as most of the time may be in few
/// problems.
struct SuiteTime {
  double start_us = 0, now_us = 0;
  std::size_t known = 0;  ///< problems with a confirmed figure in each step
  std::vector<std::int64_t> events;
};

SuiteTime suite_time(const Page& page) {
  SuiteTime sum;
  for (const SuiteEntry& entry : page.facts.suite) {
    const auto gained = problem_gain(page, entry.problem);
    const Compared* held = page.held.find("", entry.problem, page.facts.plan);
    if (!gained || held == nullptr || !held->candidate_us) continue;
    sum.now_us += entry.weight * *held->candidate_us;
    sum.start_us += entry.weight * *held->candidate_us * *gained->ratio.value;
    sum.events.insert(sum.events.end(), gained->events.begin(), gained->events.end());
    ++sum.known;
  }
  std::sort(sum.events.begin(), sum.events.end());
  return sum;
}

/// After how much use of the kernel the spending is recovered.
std::string returned(const Page& page) {
  const std::string head = "## Return\n\n";
  if (page.facts.wins.empty()) {
    return head + (advises_change(page)
                       ? "What the gain saves is not known: no iteration confirmed it.\n\n"
                       : "Nothing was gained, so nothing of the spend is won back.\n\n");
  }
  const SuiteTime time = suite_time(page);
  if (time.known == 0) {
    return head +
           "What the gain saves is not known: no problem has a confirmed figure in each step.\n\n";
  }
  const std::string of_all =
      time.known == page.facts.suite.size()
          ? std::string()
          : fmt::format("; {} of {} problems, as the others have no confirmed figure in each step",
                        time.known, page.facts.suite.size());
  std::string out =
      head + fmt::format(
                 "- Each problem once, by its weight, takes {} us; at the start's "
                 "speed it would take {} us{}{}.\n",
                 microseconds(time.now_us), microseconds(time.start_us), cite(time.events), of_all);
  const double saved_s = (time.start_us - time.now_us) / 1e6;
  if (!(saved_s > 0)) return out + "- That saves no time, so nothing is won back.\n\n";
  const auto won_back = [&](double seconds) {
    return fmt::format("{} such rounds, {} at the start's speed", with_prefix(seconds / saved_s),
                       duration(seconds / saved_s * time.start_us / 1e6));
  };
  const session::Ledger ledger = page.facts.prices.priced(page.facts.view.ledger);
  const double device_s = ledger.quantity(session::CostItem::device);
  out +=
      fmt::format("- The device time of the session is won back after {}.\n", won_back(device_s));
  const session::Ledger::Total total = ledger.total();
  const auto& rate = page.facts.prices.rates.device_usd_per_hour;
  if (!total.complete || !rate || !(*rate > 0)) {
    return out + "- When the money is won back is not said: rate not given.\n\n";
  }
  return out +
         fmt::format("- The money is won back after {}, on a device at ${:g} an hour{}{}.\n\n",
                     won_back(total.usd / *rate * k_hour_s), *rate,
                     list_mark(page.facts.prices.device.has_value()),
                     cite(page.facts.view.opened.seq));
}

/// The problems on which the recommended choice is slower than the start.
std::string slower_problems(const Page& page) {
  std::string out;
  for (const outcome::Loss& loss : outcome::losses_of(page.conclusion).to_start) {
    out += (out.empty() ? "" : ", ") + inline_text(loss.problem, 60) + cite(loss.figure.events);
  }
  return out;
}

std::string continue_cost(const Page& page) {
  if (!page.facts.view.roadmap) return "not known: this log holds no roadmap";
  const Json& roadmap = page.facts.view.roadmap->payload;
  const auto low = number(roadmap, "hours_low"), high = number(roadmap, "hours_high"),
             seconds = number(roadmap, "measuring_s");
  if (!low || !high) return "not known";
  return fmt::format("{:g} to {:g} h of work{}{}", *low, *high,
                     seconds ? ", measuring " + duration(*seconds) : std::string(),
                     cite(page.facts.view.roadmap->seq));
}

std::string decision_point(const Page& page) {
  const SessionView& view = page.facts.view;
  const Json none;
  const std::string device =
      text(field(view.environment ? view.environment->payload : none, "device"), "name");
  const auto& rate = page.facts.prices.rates.device_usd_per_hour;
  std::string out = fmt::format(
      "## Decision point\n\nDevice: {}; {}.\n\n",
      device.empty() ? "not recorded" : inline_text(device, 80),
      rate ? fmt::format("kept waiting it costs ${:g} an hour{}{}", *rate,
                         list_mark(page.facts.prices.device.has_value()), cite(view.opened.seq))
           : std::string("what it costs while it waits is not known (rate not given)"));
  const std::string slower = slower_problems(page);
  const std::string start = code(page.facts.start, 60);
  Table table({"option", "take it if", "what it costs"});
  const outcome::Recommendation& made = page.conclusion.recommendation;
  if (!made.develop.empty()) {
    table.row({"A: use " + told(outcome::rivals_to_use(page.conclusion)),
               "the time counts now: no variant here is ahead of them", "nothing more to run"});
  } else if (advises_change(page)) {
    table.row({fmt::format("A: {} {}", made.advice == outcome::Advice::adopt ? "adopt" : "dispatch",
                           taken_words(page)),
               slower.empty() ? std::string("the gain is enough: no problem got slower")
                              : "the gain is worth what got slower: " + slower,
               made.confirmation ? "one comparison to confirm it" : "nothing more to run"});
  }
  table.row({"B: go on", "the target is not reached and the next step is worth its effort",
             continue_cost(page)});
  if (advises_change(page)) {
    table.row({"C: go back to the start " + start,
               slower.empty() ? std::string("nothing in this log speaks for it")
                              : "these may not be slower: " + slower,
               "the gain, " + chosen_over_start(page)});
  } else {
    table.row({"C: stay with " + start, "nothing was shown faster", "nothing"});
  }
  return out + table.str() + "\nThe facts advise: " + advice(page) + "\n\n";
}

}  // namespace
}  // namespace wb::report

namespace wb::report {

std::string render_handover(const SessionView& view, const PageSources* sources) {
  const Page page(view);
  std::string out = handover_header(page) + short_section(page) + cure_section(page, sources) +
                    "## Achievements\n\n" + technical(page) + process(page) + lessons(page) +
                    insights_section(page) + execution_section(page) + returned(page);
  const std::string money = gain_per_cost(page);
  if (!money.empty()) out += "## Gain per cost\n\n" + money;
  out += next_iteration_section(page) + next_session_section(page) + decision_point(page);
  return out + fmt::format("---\n\nMade by sdpa-wb {} from {}, log head `{}`.\n",
                           inline_text(text(view.opened.payload, "workbench_version"), 40),
                           count(view.events, "event"), plain(view.log_head.substr(0, 12)));
}

}  // namespace wb::report
