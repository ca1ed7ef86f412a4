// SPDX-License-Identifier: MIT
// Parts of an iteration's page: the search that it made, what the compiler said of its kernels, and
// which kernels a profiler saw.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/format.hpp"
#include "report/iteration_parts.hpp"

namespace wb::report {

using session::Fact;
using session::IterationView;

// What a search asked, which scores it got, and how its device time
// was spent.

namespace {

constexpr std::size_t k_max_evaluations = 40;

/// The configuration of a tune, or the variant's name in a race.
std::string searched_text(const IterationView& iteration, const Json& configuration) {
  const Json& entrants = field(field(iteration.opened.payload, "tune"), "entrants");
  const auto n = integer(configuration, "entrant").value_or(0);
  if (!entrants.is_array() || n < 1 || n > static_cast<std::int64_t>(entrants.size())) {
    return configuration_text(configuration);
  }
  const Json& entrant = entrants[static_cast<std::size_t>(n - 1)];
  const std::string parameters = configuration_text(field(entrant, "configuration"));
  return text(entrant, "variant") + (parameters.empty() ? "" : " ") + parameters;
}

/// The outcome of one evaluation of a tune; a duplicate has that of its original.
std::string evaluation_outcome(const IterationView& iteration, const Json& evaluation) {
  const std::string twin = searched_text(iteration, field(evaluation, "duplicate_of"));
  const std::string outcome = inline_text(text(evaluation, "outcome"), 40);
  return twin.empty() ? outcome : outcome + ", same code as " + code(twin, 120);
}

/// Counts and times of a tune, from iteration_closed.
std::string tune_lines(const IterationView& iteration) {
  const Json& tune =
      iteration.closed ? field(iteration.closed->payload, "tune") : field(Json(), "tune");
  if (!tune.is_object()) return {};
  const auto n = [&](const char* key) { return integer(tune, key).value_or(0); };
  const auto seconds = [&](const char* key) { return fixed(number(tune, key).value_or(0), 1); };
  std::string out = fmt::format(
      "Strategy {} over a space of {}: {} told, {} valid, {} not found slower than the best, {} "
      "with the code of another, {} stopped early; it ended because: {}. ",
      inline_text(text(tune, "strategy"), 40), count(n("space_size"), "configuration"), n("told"),
      n("valid"), n("contenders"), n("duplicates"), n("stopped_early"),
      inline_text(text(tune, "ended"), 200));
  out += fmt::format(
      "Of {} s the device was measured on for {} s and waited for builds for {} s; {} took {} s of "
      "{} ({}).\n\n",
      seconds("search_s"), seconds("measure_s"), seconds("wait_s"), count(n("builds"), "build"),
      seconds("build_s"), count(n("builders"), "builder"),
      is_true(tune, "overlapped") ? "beside the turns" : "in turns with the measuring");
  if (n("screened") > 0) {
    out += fmt::format(
        "{} on a screening alone, not on the whole verdict; of those that looked best the whole "
        "verdict refused {}.\n\n",
        n("screened") == 1 ? "1 answer rests" : fmt::format("{} answers rest", n("screened")),
        n("retracted"));
  }
  if (is_true(tune, "confirmed")) {
    out += fmt::format(
        "One of {} tries was confirmed, on new samples: of such confirmations {} would be called "
        "faster though nothing differs.\n\n",
        n("tries"), percent(number(tune, "expected_false_wins")));
  }
  return out;
}

}  // namespace

std::string evaluation_section(const IterationView& iteration) {
  const std::string lines = tune_lines(iteration);
  if (iteration.evaluations.size() < 2 && lines.empty()) return {};
  Table table({"#>", "searched", "outcome", "speedup [interval]", "against", "build s>", "event"});
  for (std::size_t i = 0; i < std::min(iteration.evaluations.size(), k_max_evaluations); ++i) {
    const session::Fact& evaluation = iteration.evaluations[i];
    const Json& said = evaluation.payload;
    const auto built = number(said, "build_s");
    const std::string against = searched_text(iteration, field(said, "against"));
    table.row({fmt::format("{}", integer(said, "n").value_or(static_cast<std::int64_t>(i) + 1)),
               code(searched_text(iteration, field(said, "configuration")), 120),
               evaluation_outcome(iteration, said), speedup(ratio(said)),
               against.empty() ? "-" : code(against, 120), built ? fixed(*built, 2) : "-",
               ref(evaluation.seq)});
  }
  std::string out =
      fmt::format("## Evaluations\n\n{} here; these figures selected, they confirm nothing.\n\n",
                  count(static_cast<std::int64_t>(iteration.evaluations.size()), "evaluation"));
  if (!iteration.evaluations.empty()) out += table.str() + "\n";
  if (iteration.evaluations.size() > k_max_evaluations) {
    out += fmt::format("{} more are in the log.\n\n",
                       iteration.evaluations.size() - k_max_evaluations);
  }
  return out + lines;
}

// The ptxas output for the candidate's kernels, from the build's event.

namespace {

constexpr std::size_t k_max_compiled_kernels = 40;

std::string figure_of(const Json& kernel, const char* key) {
  const auto value = integer(kernel, key);
  return value ? fmt::to_string(*value) : std::string("not recorded");
}

}  // namespace

std::string ptxas_table(const session::IterationView& iteration) {
  const session::Fact* built = candidate_build(iteration);
  if (built == nullptr) return {};
  const Json& record = field(built->payload, "ptxas");
  const Json& kernels = field(record, "kernels");
  if (!kernels.is_array() || kernels.empty()) return {};
  Table table({"kernel", "registers>", "stack bytes>", "spill stores, bytes>",
               "spill loads, bytes>", "static shared bytes>", "barriers>"});
  const std::size_t shown = std::min(kernels.size(), k_max_compiled_kernels);
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& kernel = kernels[i];
    table.row({code(text(kernel, "kernel"), 120), figure_of(kernel, "registers"),
               figure_of(kernel, "stack_bytes"), figure_of(kernel, "spill_store_bytes"),
               figure_of(kernel, "spill_load_bytes"), figure_of(kernel, "shared_bytes"),
               figure_of(kernel, "barriers")});
  }
  const auto left_out = static_cast<std::int64_t>(kernels.size() - shown) +
                        integer(record, "kernels_left_out").value_or(0);
  const std::string target = text(built->payload, "target");
  return fmt::format(
      "What ptxas says of {}{}{}, of one thread and for shared memory of one "
      "block:\n\n{}\n{}",
      code(text(built->payload, "subject"), 80), target.empty() ? "" : " for " + code(target, 20),
      cite(built->seq), table.str(),
      left_out > 0 ? fmt::format("{} more were left out.\n\n", count(left_out, "kernel")) : "");
}

// Which kernels ran: what one call of a rival launched on a GPU, as reported by the subject's own
// process if nothing was timed there.

namespace {

constexpr std::size_t k_max_kernels = 4;  ///< shown for one call; the log has more
constexpr std::size_t k_max_name_bytes = 120;

/// "pytorch_flash::flash_fwd_kernel" from "void pytorch_flash::flash_fwd_kernel<…>(…)": template
/// and function arguments are long and do not distinguish implementations.
std::string short_kernel_name(std::string name) {
  static constexpr std::string_view k_unnamed = "(anonymous namespace)::";
  for (auto at = name.find(k_unnamed); at != std::string::npos; at = name.find(k_unnamed)) {
    name.erase(at, k_unnamed.size());
  }
  if (name.starts_with("void ")) name.erase(0, 5);
  const std::string whole = name;
  name.resize(std::min(name.size(), name.find_first_of("<(")));
  return name.empty() ? whole : name;
}

/// "`a`, `b` (3 launches)": each kernel once, in order of falling share of time.
std::string launches_words(const Json& records) {
  struct Kernel {
    std::string name;
    std::int64_t launches = 0;
    double share = 0;
  };
  std::vector<Kernel> kernels;
  const Json& launches = field(records, "launches");
  if (!launches.is_array()) return {};
  for (const Json& launch : launches) {
    const std::string name = short_kernel_name(text(launch, "kernel"));
    if (name.empty()) continue;
    auto kernel = std::find_if(kernels.begin(), kernels.end(),
                               [&name](const Kernel& other) { return other.name == name; });
    if (kernel == kernels.end()) kernel = kernels.insert(kernel, Kernel{name});
    ++kernel->launches;
    kernel->share += number(launch, "share_frac").value_or(0);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Kernel& a, const Kernel& b) { return a.share > b.share; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kernels.size(), k_max_kernels); ++i) {
    out += (out.empty() ? "" : ", ") + code(kernels[i].name, k_max_name_bytes);
    if (kernels[i].launches > 1) out += fmt::format(" ({} times)", kernels[i].launches);
  }
  if (kernels.size() > k_max_kernels) {
    out += fmt::format(" and {} more", kernels.size() - k_max_kernels);
  }
  return out;
}

std::string words_of(const Json& payload) {
  const std::string launched =
      is_true(payload, "available") ? launches_words(field(payload, "records")) : std::string();
  if (!launched.empty()) return launched;
  const std::string reason = text(payload, "reason");
  return "unknown" + (reason.empty() ? reason : ": " + inline_text(reason, 200));
}

}  // namespace

std::string kernel_names_line(const Facts& facts, const Fact& fact) {
  return fmt::format("- kernels of one call of {} on {}: {}{}\n",
                     code(std::string(base_name(text(fact.payload, "subject"))), 60),
                     inline_text(facts.title(text(fact.payload, "problem")), 60),
                     words_of(fact.payload), cite(fact.seq));
}

std::string rival_kernels(const Facts& facts, const RivalFacts& rival) {
  // Problems that ran the same kernels form one group, in the order of the suite.
  std::vector<std::pair<std::string, std::vector<const Fact*>>> groups;
  for (const Fact* fact : rival.kernels) {
    const std::string words = words_of(fact->payload);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&words](const auto& other) { return other.first == words; });
    if (group == groups.end()) group = groups.insert(group, {words, {}});
    group->second.push_back(fact);
  }
  std::string out;
  for (const auto& [words, members] : groups) {
    std::string problems;
    std::vector<std::int64_t> events;
    for (const Fact* fact : members) {
      problems += (problems.empty() ? "" : ", ") +
                  inline_text(facts.title(text(fact->payload, "problem")), 60);
      events.push_back(fact->seq);
    }
    out += fmt::format("  - kernels of one call on {}: {}{}\n", problems, words, cite(events));
  }
  return out;
}

}  // namespace wb::report
