// SPDX-License-Identifier: MIT
// The ptxas output for the candidate's kernels, from the build's event.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_max_kernels = 40;

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
  const std::size_t shown = std::min(kernels.size(), k_max_kernels);
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

}  // namespace wb::report
