// SPDX-License-Identifier: MIT
// The index over a folder of sessions: the result of each, the best of each suite, and the total
// cost.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "html/document.hpp"
#include "html/html.hpp"
#include "html/svg.hpp"
#include "html/text.hpp"
#include "session/storage.hpp"

namespace wb::html {

using session::CostItem;

namespace {

/// A dash for an empty cell.
std::string or_dash(const std::string& safe) {
  return safe.empty() ? "\u2013" : safe;
}

/// The page's address, percent-encoded so that a folder's name cannot be another address.
std::string address(const std::string& name) {
  std::string out = "./";
  for (const char c : session::file_name(name, ".html")) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += is_plain ? std::string(1, c)
                    : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string anchor(const SiteEntry& entry) {
  const std::string shown = words(entry.name, 80);  // breaks at its hyphens
  return fmt::format("<a href=\"{}\">{}</a>{}", address(entry.name), shown,
                     entry.is_redacted ? " (redacted copy)" : "");
}

/// Allows breaks inside long names, so that a table needs less width.
std::string breakable(const std::string& safe) {
  std::string out;
  for (const char c : safe) {
    out += c;
    if (c == ',' || c == '_' || c == ':' || c == '@') out += "<wbr>";
  }
  return out;
}

std::string name_cell(const std::string& untrusted) {
  return or_dash(breakable(words(untrusted, 80)));
}

std::string sessions_table(const std::vector<SiteEntry>& entries) {
  HtmlTable table({"session", "suite", "device", "state", "iterations>", "wins>", "advised",
                   "over the start", "over SDPA", "device s>"});
  for (const SiteEntry& entry : entries) {
    if (!entry.fault.empty()) continue;
    table.row({anchor(entry), name_cell(entry.suite), name_cell(entry.device),
               words(entry.status, 20), fmt::format("{}", entry.iterations),
               fmt::format("{}", entry.wins), name_cell(entry.incumbent), or_dash(entry.gain),
               or_dash(entry.over_sdpa), or_dash(entry.used_device_s)});
  }
  return "<section id=\"sessions\"><h2>Sessions</h2>" + table.str() + "</section>\n";
}

/// Two sessions can be compared only by their ratios to rivals measured in the same session, not by
/// times.
std::string best_table(const std::vector<SiteEntry>& entries) {
  std::map<std::string, const SiteEntry*> best;
  std::map<std::string, std::int64_t> of;
  for (const SiteEntry& entry : entries) {
    if (!entry.fault.empty()) continue;
    const std::string key =
        entry.suite + "\n" + entry.problems_text + "\n" + entry.device + "\n" + entry.plan;
    ++of[key];
    const SiteEntry*& held = best[key];
    if (held == nullptr || entry.over_sdpa_value > held->over_sdpa_value) held = &entry;
  }
  HtmlTable table({"suite", "device", "over SDPA", "slower on>", "advised", "session", "of>"});
  for (const auto& [key, entry] : best) {
    const bool is_known = entry->over_sdpa_value > 0;
    table.row({name_cell(entry->suite), name_cell(entry->device),
               is_known ? or_dash(entry->over_sdpa) + ", " + words(entry->plan, 40)
                        : std::string("not known: no rival stands on every problem"),
               is_known ? fmt::format("{} of {}", entry->lost, entry->problems) : "\u2013",
               is_known ? name_cell(entry->incumbent) : "\u2013", anchor(*entry),
               fmt::format("{}", of[key])});
  }
  return "<section id=\"best\"><h2>Best of each suite</h2><p class=\"soft\">By the mean of "
         "the speedups over the fastest rival of each problem. Rivals were timed in the session of "
         "what is advised; times of different sessions are not compared.</p>" +
         table.str() + "</section>\n";
}

/// The date "2026-11-20" without line breaks.
std::string day(const std::string& t) {
  return "<span class=\"nowrap\">" + words(t.substr(0, 10), 20) + "</span>";
}

/// The total cost of sessions: "$12.30", "$12.30 (list price) and what has no rate", "rate not
/// given".
struct Money {
  double usd = 0;
  int decimals = 2;
  bool is_used = false, is_priced = true, is_listed = false;

  void add(const SiteEntry& entry) {
    usd += entry.usd;
    is_used = is_used || entry.is_used;
    is_priced = is_priced && entry.is_priced;
    is_listed = is_listed || entry.is_listed;
  }
  [[nodiscard]] std::string str() const {
    if (!is_used) return "none";
    if (!is_priced && !(usd > 0)) return "rate not given";
    return fmt::format("${}{}{}", report::fixed(usd, decimals), report::list_mark(is_listed),
                       is_priced ? "" : " and what has no rate");
  }
};

std::string cost_table(const std::vector<const SiteEntry*>& ordered) {
  HtmlTable table({"opened", "session", "device s>", "compiler CPU s>", "tokens>", "cost>",
                   "device s so far>", "cost so far>"});
  double device_s = 0;
  Money money;
  for (const SiteEntry* entry : ordered) {
    money.decimals = std::max(money.decimals, entry->usd_decimals);
  }
  for (const SiteEntry* entry : ordered) {
    device_s += entry->device_s;
    money.add(*entry);
    table.row({day(entry->opened), anchor(*entry), or_dash(entry->used_device_s),
               or_dash(entry->used_compile_cpu_s), or_dash(entry->used_tokens),
               or_dash(entry->cost), report::fixed(device_s, 1), money.str()});
  }
  return table.str();
}

std::string draw_cost(const std::vector<const SiteEntry*>& ordered, double width) {
  const double left = 62, right = width - 12, top = 10, bottom = 150;
  Svg svg(width, bottom + 40, "Device time over the sessions, added up");
  double total = 0;
  for (const SiteEntry* entry : ordered) total += entry->device_s;
  const bool in_minutes = total > 600;
  const double unit = in_minutes ? 60 : 1;
  const Scale y{0, total > 0 ? total / unit * 1.06 : 1, bottom, top, false};
  for (const double value : ticks(y, 4)) {
    svg.line(left, y(value), right, y(value), "grid");
    svg.text(left - 7, y(value) + 4, tick_text(value) + (in_minutes ? " min" : " s"), "s",
             Anchor::end);
  }
  const double step =
      (right - left) / static_cast<double>(std::max<std::size_t>(ordered.size(), 1));
  double sum = 0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const double x = left + step * static_cast<double>(i);
    const double before = sum;
    sum += ordered[i]->device_s / unit;
    svg.open(address(ordered[i]->name),
             fmt::format("{}: {} s of device", words(ordered[i]->name, 80),
                         report::fixed(ordered[i]->device_s, 1)));
    svg.rect(x + 0.5, y(sum), std::max(step - 1, 1.0), y(0) - y(sum), "zone");
    svg.rect(x + 0.5, y(sum), std::max(step - 1, 1.0), std::max(y(before) - y(sum), 0.5),
             "main bar");
    svg.close();
  }
  svg.text((left + right) / 2, bottom + 20, "sessions in the order they were opened", "xs",
           Anchor::middle);
  return svg.str();
}

std::string cost_part(const std::vector<SiteEntry>& entries) {
  std::vector<const SiteEntry*> ordered;
  for (const SiteEntry& entry : entries) {
    if (entry.fault.empty()) ordered.push_back(&entry);
  }
  if (ordered.empty()) return {};
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const SiteEntry* a, const SiteEntry* b) { return a->opened < b->opened; });
  return figure(
      "cost", "Cumulative cost", "Device time of each session on top of those before it.",
      [&](double width) { return draw_cost(ordered, width); }, cost_table(ordered));
}

std::string faults_part(const std::vector<SiteEntry>& entries) {
  std::string items;
  for (const SiteEntry& entry : entries) {
    if (entry.fault.empty()) continue;
    items += fmt::format("<li>{}: {}</li>\n", words(entry.name, 80), words(entry.fault, 400));
  }
  if (items.empty()) return {};
  return "<section id=\"faults\"><h2>Without a page</h2><ul>\n" + items + "</ul></section>\n";
}

std::string copies_part(const std::vector<SiteEntry>& entries) {
  std::string items;
  for (const SiteEntry& entry : entries) {
    if (!entry.copy.empty()) items += fmt::format("<li>{}</li>\n", words(entry.copy, 600));
  }
  if (items.empty()) return {};
  return "<section id=\"copies\"><h2>Copies of one session</h2><ul>\n" + items +
         "</ul></section>\n";
}

}  // namespace
}  // namespace wb::html

namespace wb::html {

namespace {

/// What the session's outcome says of the choice that it advises.
void read_outcome(const report::Page& page, SiteEntry& entry) {
  const outcome::Outcome& made = page.conclusion;
  for (const outcome::Part& part : made.recommendation.parts) {
    entry.incumbent += (entry.incumbent.empty() ? "" : ", ") + part.variant;
  }
  const outcome::Group* group = made.main_group();
  if (group == nullptr) {
    entry.incumbent = page.facts.view.incumbent;
    for (const report::SuiteEntry& problem : page.facts.suite) {
      entry.problems_text += problem.problem + "\n";
    }
    return;
  }
  if (!group->is_suite) {
    entry.plan = group->plan + (group->regime.empty() ? "" : " " + group->regime);
  }
  for (const outcome::ProblemOutcome& problem : group->problems) {
    entry.problems_text += problem.problem + "\n";
  }
  if (made.recommendation.advice != outcome::Advice::keep_start) {
    entry.gain = unmarked(report::chosen_over_start(page));
  }
  const outcome::Total& rivals = group->by_problem.over_rival;
  entry.problems = static_cast<std::int64_t>(rivals.measured());
  entry.lost = static_cast<std::int64_t>(rivals.slower.size());
  // A mean over some of the problems is not the suite's.
  const auto has_figure = [&](std::size_t at) {
    const outcome::ProblemOutcome& problem = group->problems[at];
    return problem.find(group->by_problem.variants[at])->over_rival->speedup > 0;
  };
  const bool is_whole = rivals.missing.empty() &&
                        std::all_of(rivals.undecided.begin(), rivals.undecided.end(), has_figure);
  if (!rivals.mean || !is_whole) return;
  entry.over_sdpa = unmarked(report::chosen_over_rivals(page));
  entry.over_sdpa_value = rivals.mean->value;
}

}  // namespace

Result<SiteEntry> site_entry(const session::Session& session, std::string name) {
  WB_TRY_ASSIGN(const session::SessionView* view, session.current(session::FoldDepth::full));
  const report::Page page(*view);
  const report::Facts& facts = page.facts;
  const Json& opened = view->opened.payload;
  SiteEntry entry;
  entry.name = std::move(name);
  entry.title = report::text(opened, "title");
  entry.suite = report::contest_name(page);
  if (view->environment) {
    entry.device = report::text(report::field(view->environment->payload, "device"), "name");
  }
  entry.plan = facts.plan_label(facts.plan);
  entry.status = std::string(to_string(view->status));
  entry.start = facts.start;
  read_outcome(page, entry);
  entry.iterations = static_cast<std::int64_t>(page.conclusion.iterations);
  entry.wins = static_cast<std::int64_t>(facts.wins.size());
  entry.opened = view->first_t;
  const report::CostRow& total = page.costs.total();
  const auto used = [&](CostItem item) {
    return page.costs.quantity(item, total.cells[static_cast<std::size_t>(item)]);
  };
  entry.used_device_s = used(CostItem::device);
  entry.used_compile_cpu_s = used(CostItem::compile_cpu);
  entry.used_tokens = used(CostItem::tokens);
  entry.cost = html::unmarked(page.costs.usd(total));
  entry.usd = page.costs.known_usd(total);
  entry.usd_decimals = page.costs.usd_decimals();
  for (const report::CostCell& cell : total.cells) {
    entry.is_used = entry.is_used || cell.used;
    entry.is_priced = entry.is_priced && (cell.priced || !cell.used);
    entry.is_listed = entry.is_listed || cell.listed;
  }
  entry.device_s = view->ledger.quantity(CostItem::device);
  entry.is_redacted = report::field(opened, session::k_redacted_key).is_object();
  return entry;
}

std::string site_index(const std::vector<SiteEntry>& entries, const std::string& heading) {
  const auto sessions = std::count_if(entries.begin(), entries.end(),
                                      [](const SiteEntry& entry) { return entry.fault.empty(); });
  const std::string title = html::words(heading, 120);
  return html::document(
      title, fmt::format("<header class=\"first\"><p class=\"kind\">SDPA Workbench</p><h1>{}</h1>"
                         "<p>{}.</p></header>\n<main class=\"index\">\n{}{}{}{}</main>\n",
                         title, report::count(sessions, "session"), html::best_table(entries),
                         html::sessions_table(entries), html::cost_part(entries),
                         html::copies_part(entries) + html::faults_part(entries)));
}

}  // namespace wb::html
