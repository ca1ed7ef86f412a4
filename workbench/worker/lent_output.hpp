// SPDX-License-Identifier: MIT
// LentOutput: what the supervisor keeps of device memory that the judge lends for a subject's
// outputs (docs/contracts/worker_protocol.md, "Who owns an output"): descriptors to hand on, and
// where the tensors lie. Used by judge_process, turns and runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "worker/cuda/buffer_set.hpp"

namespace wb::worker {

struct LentOutput {
  std::int64_t number = 0;
  pid_t judge = 0;  ///< another judge does not know it
  cuda::OutputPlaces places;
  std::vector<UniqueFd> fds;            ///< of those that have a place: out, lse, snap
  std::vector<std::int64_t> map_bytes;  ///< of each: all that its descriptor stands for

  [[nodiscard]] std::vector<int> numbers_of_fds() const;
};

/// What the subject is told: {"number", "out": {"bytes", "offset"}}, and lse and snap likewise, if
/// any.
Json to_json(const LentOutput& lent);

/// What a subject has borrowed for the stage that stands in it, and for which that is.
struct Borrowed {
  std::string stage;
  std::shared_ptr<const LentOutput> output;
};

}  // namespace wb::worker
