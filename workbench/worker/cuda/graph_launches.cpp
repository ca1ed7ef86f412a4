// SPDX-License-Identifier: MIT
#include "worker/cuda/graph_launches.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "variant/ptxas_record.hpp"

namespace wb::worker::cuda {

using measure::KernelLaunch;

namespace {

/// One way in which the graph launches a kernel, and how many of its nodes do.
struct NodeKind {
  GraphNode node = nullptr;  ///< the first of them
  KernelNodeParameters parameters;
  std::int64_t nodes = 0;
};

KernelLaunch::Size size_of(const unsigned (&sides)[3]) {
  return {std::int64_t{sides[0]}, std::int64_t{sides[1]}, std::int64_t{sides[2]}};
}

bool is_same_launch(const KernelNodeParameters& a, const KernelNodeParameters& b) {
  return a.function == b.function && a.kernel == b.kernel && size_of(a.grid) == size_of(b.grid) &&
         size_of(a.block) == size_of(b.block) && a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

std::vector<GraphNode> nodes_of(const DriverFunctions& driver, GraphHandle graph) {
  std::size_t count = 0;
  if (driver.graph_get_nodes(graph, nullptr, &count) != Status::success) return {};
  std::vector<GraphNode> nodes(std::min(count, k_most_read_nodes));
  count = nodes.size();
  if (nodes.empty() || driver.graph_get_nodes(graph, nodes.data(), &count) != Status::success) {
    return {};
  }
  nodes.resize(std::min(count, nodes.size()));
  return nodes;
}

std::vector<NodeKind> kinds_of(const DriverFunctions& driver, const std::vector<GraphNode>& nodes) {
  std::vector<NodeKind> kinds;
  for (GraphNode node : nodes) {
    int type = -1;
    NodeKind kind{node, {}, 1};
    if (driver.graph_node_get_type(node, &type) != Status::success || type != k_kernel_node ||
        driver.kernel_node_get_parameters(node, &kind.parameters) != Status::success) {
      continue;
    }
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const NodeKind& other) {
      return is_same_launch(other.parameters, kind.parameters);
    });
    if (same != kinds.end()) {
      ++same->nodes;
    } else if (kinds.size() < measure::k_most_launches) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

std::optional<std::int64_t> attribute_of(const DriverFunctions& driver, KernelHandle function,
                                         FunctionAttribute attribute) {
  int value = 0;
  if (driver.function_get_attribute == nullptr ||
      driver.function_get_attribute(&value, attribute, function) != Status::success || value < 0) {
    return std::nullopt;
  }
  return value;
}

/// The cluster of the launch, else the one that the kernel was compiled for.
std::optional<KernelLaunch::Size> cluster_of(const DriverFunctions& driver, GraphNode node,
                                             KernelHandle function) {
  LaunchAttributeValue value{};
  if (driver.kernel_node_get_attribute != nullptr &&
      driver.kernel_node_get_attribute(node, k_cluster_dimension, &value) == Status::success &&
      value.cluster[0] > 0 && value.cluster[1] > 0 && value.cluster[2] > 0) {
    const KernelLaunch::Size size = size_of(value.cluster);
    if (size != KernelLaunch::Size{1, 1, 1}) return size;
  }
  KernelLaunch::Size compiled{1, 1, 1};
  constexpr std::array k_sides{FunctionAttribute::cluster_width, FunctionAttribute::cluster_height,
                               FunctionAttribute::cluster_depth};
  for (std::size_t i = 0; i < k_sides.size(); ++i) {
    compiled[i] = std::max<std::int64_t>(attribute_of(driver, function, k_sides[i]).value_or(1), 1);
  }
  if (compiled == KernelLaunch::Size{1, 1, 1}) return std::nullopt;
  return compiled;
}

std::string function_name_of(const DriverFunctions& driver, KernelHandle function) {
  const char* name = nullptr;
  if (driver.function_get_name == nullptr ||
      driver.function_get_name(&name, function) != Status::success || name == nullptr) {
    return measure::k_nameless_launch;
  }
  // A longer symbol is no name that a compiler makes of a kernel's templates.
  constexpr std::size_t k_symbol_bytes = 8'192;
  return variant::kernel_name({name, ::strnlen(name, k_symbol_bytes)});
}

std::optional<KernelLaunch> launch_of(const DriverFunctions& driver, const NodeKind& kind,
                                      std::int64_t calls) {
  KernelHandle function = kind.parameters.function;
  if (function == nullptr &&
      (driver.kernel_get_function == nullptr || kind.parameters.kernel == nullptr ||
       driver.kernel_get_function(&function, kind.parameters.kernel) != Status::success)) {
    return std::nullopt;
  }
  KernelLaunch launch;
  launch.kernel = function_name_of(driver, function);
  launch.grid = size_of(kind.parameters.grid);
  launch.block = size_of(kind.parameters.block);
  launch.cluster = cluster_of(driver, kind.node, function);
  launch.per_call = std::max<std::int64_t>((kind.nodes + calls / 2) / calls, 1);
  launch.dynamic_shared_bytes = kind.parameters.dynamic_shared_bytes;
  launch.static_shared_bytes =
      attribute_of(driver, function, FunctionAttribute::static_shared_bytes);
  launch.registers = attribute_of(driver, function, FunctionAttribute::registers);
  launch.local_bytes = attribute_of(driver, function, FunctionAttribute::local_bytes);
  const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  int blocks = 0;
  if (driver.most_active_blocks != nullptr && threads > 0 && threads <= 1'024 &&
      driver.most_active_blocks(&blocks, function, static_cast<int>(threads),
                                kind.parameters.dynamic_shared_bytes) == Status::success &&
      blocks >= 0) {
    launch.blocks_per_sm = blocks;
  }
  return launch;
}

}  // namespace

std::vector<KernelLaunch> read_launches(const DriverFunctions& driver, GraphHandle graph,
                                        std::int64_t calls) {
  if (driver.graph_get_nodes == nullptr || driver.graph_node_get_type == nullptr ||
      driver.kernel_node_get_parameters == nullptr || calls < 1) {
    return {};
  }
  std::vector<KernelLaunch> launches;
  const std::vector<GraphNode> nodes = nodes_of(driver, graph);
  for (const NodeKind& kind : kinds_of(driver, nodes)) {
    if (auto launch = launch_of(driver, kind, calls)) launches.push_back(*std::move(launch));
  }
  return launches;
}

}  // namespace wb::worker::cuda
