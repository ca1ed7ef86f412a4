// SPDX-License-Identifier: MIT
// Launches read from the nodes of a recorded graph, by a driver whose answers are written here.
#include "worker/cuda/graph_launches.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "worker_under_test.hpp"

using namespace wb::measure;
using namespace wb::worker::cuda;
using namespace wb;

namespace {

struct WrittenNode {
  int type = k_kernel_node;
  KernelNodeParameters parameters;
  std::array<unsigned, 3> cluster{};
};

/// What the functions below answer from; a test writes it.
struct WrittenGraph {
  std::vector<WrittenNode> nodes;
  std::string name = "_Z5flashILi64EEvPKf";
  int registers = 168, static_bytes = 256, local_bytes = 0, blocks = 2, cluster_width = 0;
  Status status = Status::success;
};

WrittenGraph& written() {
  static WrittenGraph graph;
  return graph;
}

const WrittenNode& node_at(GraphNode node) {
  return written().nodes.at(reinterpret_cast<std::size_t>(node) - 1);
}

KernelHandle function_at(std::size_t number) {
  return reinterpret_cast<KernelHandle>(number);
}

DriverFunctions reading_driver() {
  DriverFunctions driver;
  driver.graph_get_nodes = [](GraphHandle, GraphNode* nodes, std::size_t* count) {
    const std::size_t all = written().nodes.size();
    if (nodes == nullptr) {
      *count = all;
      return written().status;
    }
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < all ? reinterpret_cast<GraphNode>(i + 1) : nullptr;
    }
    *count = std::min(*count, all);
    return written().status;
  };
  driver.graph_node_get_type = [](GraphNode node, int* type) {
    *type = node_at(node).type;
    return Status::success;
  };
  driver.kernel_node_get_parameters = [](GraphNode node, KernelNodeParameters* parameters) {
    *parameters = node_at(node).parameters;
    return Status::success;
  };
  driver.kernel_node_get_attribute = [](GraphNode node, int attribute,
                                        LaunchAttributeValue* value) {
    if (attribute != k_cluster_dimension) return Status::invalid_value;
    std::copy_n(node_at(node).cluster.begin(), 3, value->cluster);
    return Status::success;
  };
  driver.kernel_get_function = [](KernelHandle* to, LibraryKernel) {
    *to = function_at(7);
    return Status::success;
  };
  driver.function_get_name = [](const char** name, KernelHandle) {
    *name = written().name.c_str();
    return Status::success;
  };
  driver.function_get_attribute = [](int* value, FunctionAttribute attribute, KernelHandle) {
    *value = attribute == FunctionAttribute::registers             ? written().registers
             : attribute == FunctionAttribute::static_shared_bytes ? written().static_bytes
             : attribute == FunctionAttribute::local_bytes         ? written().local_bytes
             : attribute == FunctionAttribute::cluster_width       ? written().cluster_width
                                                                   : 0;
    return Status::success;
  };
  driver.most_active_blocks = [](int* blocks, KernelHandle, int, std::size_t) {
    *blocks = written().blocks;
    return Status::success;
  };
  return driver;
}

WrittenNode kernel_node(std::size_t number, std::array<unsigned, 3> grid, unsigned threads = 128,
                        unsigned shared_bytes = 1'024) {
  WrittenNode made;
  made.parameters.function = function_at(number);
  std::copy_n(grid.begin(), 3, made.parameters.grid);
  made.parameters.block[0] = threads;
  made.parameters.block[1] = made.parameters.block[2] = 1;
  made.parameters.dynamic_shared_bytes = shared_bytes;
  return made;
}

const GraphHandle k_graph = nullptr;  // the written driver has one

}  // namespace

TEST_CASE("equal launches of a graph's calls are told once, with how often a call has them",
          "[worker][cuda][launches]") {
  written() = {};
  for (int call = 0; call < 5; ++call) {
    written().nodes.push_back(kernel_node(1, {8, 4, 2}));
    written().nodes.push_back(kernel_node(2, {3, 1, 1}, 64, 0));
    written().nodes.push_back(kernel_node(2, {3, 1, 1}, 64, 0));
    written().nodes.push_back({.type = 2, .parameters = {}, .cluster = {}});  // it sets memory
  }
  const auto launches = read_launches(reading_driver(), k_graph, 5);
  REQUIRE(launches.size() == 2);
  CHECK(launches[0] == KernelLaunch{.kernel = "flash<64>",
                                    .grid = {8, 4, 2},
                                    .block = {128, 1, 1},
                                    .cluster = {},
                                    .per_call = 1,
                                    .dynamic_shared_bytes = 1'024,
                                    .static_shared_bytes = 256,
                                    .registers = 168,
                                    .local_bytes = 0,
                                    .blocks_per_sm = 2});
  CHECK(launches[1].per_call == 2);
  CHECK(launches[1].block == KernelLaunch::Size{64, 1, 1});
}

TEST_CASE("a cluster is that of the launch, else the one that the kernel was compiled for",
          "[worker][cuda][launches]") {
  written() = {};
  written().nodes = {kernel_node(1, {8, 1, 1})};
  CHECK_FALSE(read_launches(reading_driver(), k_graph, 1)[0].cluster);
  written().cluster_width = 4;
  CHECK(read_launches(reading_driver(), k_graph, 1)[0].cluster == KernelLaunch::Size{4, 1, 1});
  written().nodes[0].cluster = {2, 2, 1};
  CHECK(read_launches(reading_driver(), k_graph, 1)[0].cluster == KernelLaunch::Size{2, 2, 1});
}

TEST_CASE("a kernel of a library has its function asked for", "[worker][cuda][launches]") {
  written() = {};
  WrittenNode of_library = kernel_node(0, {2, 1, 1});
  of_library.parameters.kernel = reinterpret_cast<LibraryKernel>(std::size_t{9});
  written().nodes = {of_library};
  CHECK(read_launches(reading_driver(), k_graph, 1).size() == 1);
  DriverFunctions older = reading_driver();
  older.kernel_get_function = nullptr;
  CHECK(read_launches(older, k_graph, 1).empty());
}

TEST_CASE("a driver that lacks a function, or refuses, tells less and fails nothing",
          "[worker][cuda][launches]") {
  written() = {};
  written().nodes = {kernel_node(1, {8, 1, 1})};
  CHECK(read_launches(DriverFunctions{}, k_graph, 1).empty());
  DriverFunctions older = reading_driver();
  older.function_get_name = nullptr;
  older.function_get_attribute = nullptr;
  older.most_active_blocks = nullptr;
  older.kernel_node_get_attribute = nullptr;
  const auto launches = read_launches(older, k_graph, 1);
  REQUIRE(launches.size() == 1);
  CHECK(launches[0] == KernelLaunch{.kernel = k_nameless_launch,
                                    .grid = {8, 1, 1},
                                    .block = {128, 1, 1},
                                    .cluster = {},
                                    .per_call = 1,
                                    .dynamic_shared_bytes = 1'024});
  older.kernel_node_get_parameters = nullptr;
  CHECK(read_launches(older, k_graph, 1).empty());
  written().status = Status::unknown;
  CHECK(read_launches(reading_driver(), k_graph, 1).empty());
  // The driver that plays a device has none of them, and is a whole driver all the same.
  const auto played = Driver::load(k_played_cuda);
  REQUIRE(played.ok());
  CHECK((*played)->functions().graph_get_nodes == nullptr);
}

TEST_CASE("a graph of any size gives a bounded answer that can be sent",
          "[worker][cuda][launches][hostile]") {
  written() = {};
  for (unsigned i = 0; i < 5'000; ++i) written().nodes.push_back(kernel_node(1, {i + 1, 1, 1}));
  written().name = std::string(100'000, 'x') + "\x1b";
  const auto launches = read_launches(reading_driver(), k_graph, 1);
  CHECK(launches.size() == k_most_launches);
  CHECK(launches[0].kernel.size() <= k_launch_name_bytes);
  CHECK(launches_from_json(to_json(launches)).ok());
}
