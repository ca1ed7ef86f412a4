// SPDX-License-Identifier: MIT
// The checks of `doctor` that ask workers: the one that sessions measure with, and one for the GPU.
#pragma once

#include <string>
#include <string_view>

#include "core/json_fwd.hpp"

namespace wb::engine {
struct Context;
}  // namespace wb::engine

namespace wb::verbs {

/// `state`: ok, warning or missing; `next`: the remedy.
Json check_row(std::string_view name, std::string_view state, std::string detail, std::string next);

/// Worker, CPUs, canary, interpreter and PyTorch; starts the worker.
Json worker_rows(engine::Context& context);
/// Checks the GPU, which is optional, through a separate worker, since a worker measures on one
/// device.
Json gpu_rows(const engine::Context& context);

}  // namespace wb::verbs
