// SPDX-License-Identifier: MIT
// LentOutput: the supervisor's view of device memory that the judge lends for a subject's outputs
// (docs/contracts/worker_protocol.md, "Who owns an output"): descriptors to pass on, and the
// tensors' places. Used by judge_process, turns and runs.
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
  pid_t judge = 0;  ///< another judge process does not know it
  cuda::OutputPlaces places;
  std::vector<UniqueFd> fds;            ///< for each output with a place: out, lse, snap
  std::vector<std::int64_t> map_bytes;  ///< for each descriptor: the size of its memory

  [[nodiscard]] std::vector<int> numbers_of_fds() const;
};

/// The subject's part: {"number", "out": {"bytes", "offset"}}, and lse and snap likewise, if any.
Json to_json(const LentOutput& lent);

/// The memory that a subject has borrowed, and the stage that it is for.
struct Borrowed {
  std::string stage;
  std::shared_ptr<const LentOutput> output;
};

}  // namespace wb::worker
