// SPDX-License-Identifier: MIT
// The judge's own process: private copy first, then inputs from the seed, then the comparison.
#include <cstring>
#include <exception>
#include <vector>

#include "worker/judge_process.hpp"
#include "worker/roles.hpp"
#include "worker/secret.hpp"

namespace wb::worker {
namespace {

Result<OutputVerdict> judge_one(const Message& message) {
  WB_TRY_ASSIGN(const JudgeTask task, judge_task_from_json(message.body));
  const bool has_lse = message.fds.size() == 2;
  if (message.fds.empty() || message.fds.size() > 2) {
    return Error{ErrorCode::invalid, "judge", "an output", "one or two descriptors belong to it",
                 ""};
  }
  // The subject may still hold the same memory and write to it: only this copy is judged, and
  // which rows are sampled is drawn after it was made.
  Bytes out(out_bytes(task.problem));
  const auto& p = task.problem;
  std::vector<float> lse(has_lse ? static_cast<std::size_t>(p.B * p.Hq * p.Sq) : 0);
  {
    WB_TRY_ASSIGN(const Mapping out_map, Mapping::of(message.fds[0].get(), out.size(), false));
    std::memcpy(out.data(), out_map.bytes().data(), out.size());
  }
  if (has_lse) {
    const std::size_t lse_bytes = lse.size() * sizeof(float);
    WB_TRY_ASSIGN(const Mapping lse_map, Mapping::of(message.fds[1].get(), lse_bytes, false));
    std::memcpy(lse.data(), lse_map.bytes().data(), lse_bytes);
  }
  JudgeOptions options;
  options.sample_seed = draw_secret<std::uint32_t>();
  options.threads = task.threads;
  options.poison = task.out_poison;
  options.judge_lse = has_lse;
  if (has_lse) options.lse_poison = task.lse_poison;
  if (task.max_blocks) options.max_blocks = static_cast<std::size_t>(*task.max_blocks);
  const Inputs inputs = make_inputs(p, task.seed, task.draw, task.threads);
  return judge_output(p, inputs, out, lse, options);
}

Json answer(const Message& message) {
  try {
    const Result<OutputVerdict> verdict = judge_one(message);
    if (verdict.ok()) return to_json(*verdict);
    return {{"fault", verdict.error().message()}};
  } catch (const std::exception& fault) {
    return {{"fault", fault.what()}};
  }
}

}  // namespace

int run_judge(const Channel& channel) {
  while (true) {
    const auto message = channel.receive(Deadline::max());
    if (!message.ok()) return message.error() == ChannelFault::closed ? 0 : 1;
    if (!channel.send(answer(*message)).ok()) return 1;
  }
}

}  // namespace wb::worker
