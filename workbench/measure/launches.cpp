// SPDX-License-Identifier: MIT
#include "measure/launches.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/json.hpp"

namespace wb::measure {
namespace {

/// Wider than any device, so that a later one is not refused; still products of three sizes fit.
constexpr std::int64_t k_most_blocks_a_side = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t k_most_threads_a_side = 1'024;
constexpr std::int64_t k_most_cluster_side = 1'024;
constexpr std::int64_t k_most_launch_bytes = std::int64_t{1} << 31;
constexpr std::int64_t k_most_launch_registers = 1'024;
constexpr std::int64_t k_most_resident = 1'024;
constexpr std::int64_t k_most_per_call = 1'000'000;
/// At most, for the last hidden character and for the words behind a cut.
constexpr std::size_t k_printable_adds_bytes = 48;

KernelLaunch::Size read_launch_size(ObjectReader& reader, std::string_view key, std::int64_t most) {
  KernelLaunch::Size size{1, 1, 1};
  const Json* list = reader.member(key);
  if (list == nullptr || !list->is_array() || list->size() != size.size()) {
    reader.fail(key, "must be a list of three sizes");
    return size;
  }
  for (std::size_t i = 0; i < size.size(); ++i) {
    const auto side = whole_number((*list)[i]);
    if (!side || *side < 1 || *side > most) {
      reader.fail(key, fmt::format("must have sizes from 1 to {}", most));
      return size;
    }
    size[i] = *side;
  }
  return size;
}

std::optional<std::int64_t> read_launch_figure(ObjectReader& reader, std::string_view key,
                                               std::int64_t most) {
  if (reader.member(key) == nullptr) return std::nullopt;
  return reader.integer(key, 0, most);
}

Result<KernelLaunch> launch_from_json(const Json& json) {
  ObjectReader reader(json, "a launch");
  KernelLaunch launch;
  launch.kernel = printable(reader.string("kernel"), k_launch_name_bytes - k_printable_adds_bytes);
  launch.grid = read_launch_size(reader, "grid", k_most_blocks_a_side);
  launch.block = read_launch_size(reader, "block", k_most_threads_a_side);
  if (reader.member("cluster") != nullptr) {
    launch.cluster = read_launch_size(reader, "cluster", k_most_cluster_side);
  }
  launch.per_call = reader.integer_or("per_call", 1, 1, k_most_per_call);
  launch.dynamic_shared_bytes =
      reader.integer_or("dynamic_shared_bytes", 0, 0, k_most_launch_bytes);
  launch.static_shared_bytes =
      read_launch_figure(reader, "static_shared_bytes", k_most_launch_bytes);
  launch.registers = read_launch_figure(reader, "registers", k_most_launch_registers);
  launch.local_bytes = read_launch_figure(reader, "local_bytes", k_most_launch_bytes);
  launch.blocks_per_sm = read_launch_figure(reader, "blocks_per_sm", k_most_resident);
  WB_TRY(reader.finish());
  return launch;
}

Json launch_to_json(const KernelLaunch& launch) {
  Json json{{"kernel", launch.kernel},
            {"grid", launch.grid},
            {"block", launch.block},
            {"per_call", launch.per_call},
            {"dynamic_shared_bytes", launch.dynamic_shared_bytes}};
  if (launch.cluster) json["cluster"] = *launch.cluster;
  for (const auto& [key, figure] :
       {std::pair{"static_shared_bytes", &launch.static_shared_bytes},
        std::pair{"registers", &launch.registers}, std::pair{"local_bytes", &launch.local_bytes},
        std::pair{"blocks_per_sm", &launch.blocks_per_sm}}) {
    if (*figure) json[key] = **figure;
  }
  return json;
}

}  // namespace

std::string size_text(const KernelLaunch::Size& size) {
  return fmt::format("({}, {}, {})", size[0], size[1], size[2]);
}

Json to_json(const std::vector<KernelLaunch>& launches) {
  Json list = Json::array();
  for (const KernelLaunch& launch : launches) list.push_back(launch_to_json(launch));
  return list;
}

Result<std::vector<KernelLaunch>> launches_from_json(const Json& json) {
  if (!json.is_array() || json.size() > k_most_launches) {
    return Error{ErrorCode::invalid, "read", "the launches of a call",
                 fmt::format("they must be a list of at most {}", k_most_launches), ""};
  }
  std::vector<KernelLaunch> launches;
  for (const Json& item : json) {
    WB_TRY_ASSIGN(KernelLaunch launch, launch_from_json(item));
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace wb::measure
