// SPDX-License-Identifier: MIT
// Which kernels ran: what one call of a rival launched on a GPU, as reported by the subject's own
// process if nothing was timed there.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {

using session::Fact;

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
