// SPDX-License-Identifier: MIT
#include "worker/roles.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/process.hpp"

namespace wb::worker {
namespace {

constexpr std::string_view k_gpu_prefix = "--gpu=";

}  // namespace

std::string gpu_argument(int ordinal) {
  return std::string(k_gpu_prefix) + fmt::to_string(ordinal);
}

std::optional<int> parse_gpu_argument(std::string_view argument) {
  if (!argument.starts_with(k_gpu_prefix)) return std::nullopt;
  argument.remove_prefix(k_gpu_prefix.size());
  int ordinal = 0;
  const auto [end, error] =
      std::from_chars(argument.data(), argument.data() + argument.size(), ordinal);
  if (error != std::errc() || end != argument.data() + argument.size()) return std::nullopt;
  return ordinal;
}

std::map<std::string, std::string> gpu_environment() {
  return inherited_environment({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH"});
}

}  // namespace wb::worker
