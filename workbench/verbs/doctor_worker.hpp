// SPDX-License-Identifier: MIT
// What `doctor` asks workers: the one that sessions measure with, and one for the GPU.
#pragma once

#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "engine/call.hpp"

namespace wb::verbs {

/// `state`: ok, warning or missing; `next`: the one thing to do about it.
Json check_row(std::string_view name, std::string_view state, std::string detail, std::string next);

/// Worker, CPUs, canary, interpreter and PyTorch; starts the worker.
Json worker_rows(engine::Context& context);
/// A GPU is no must. A worker of its own is asked: one measures on one device.
Json gpu_rows(const engine::Context& context);

}  // namespace wb::verbs
