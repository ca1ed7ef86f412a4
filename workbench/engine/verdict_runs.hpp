// SPDX-License-Identifier: MIT
// The runs of a verdict: what the log keeps of one, and the drawn ones, which are judged in
// batches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/json.hpp"
#include "engine/subject.hpp"
#include "engine/verdicts.hpp"
#include "problem/inputs.hpp"
#include "protocol/protocol.hpp"
#include "runner/worker_client.hpp"

namespace wb::engine {

struct Context;

Json run_json(problem::Draw draw, const protocol::RunResult& run);

/// The drawn runs, some with each request: others may want the device too.
class DrawnRuns {
 public:
  /// `drawn` is not empty; what it is given must outlive it.
  DrawnRuns(Context& context, const Subject& subject, const std::vector<variant::EdgeDraw>& drawn,
            Proof extent);

  /// Until the first that fails. Errors: canceled.
  Result<Judgement> judge(runner::WorkerClient& worker, std::int64_t handle);
  /// What the log keeps of those that were judged.
  [[nodiscard]] const Json& runs() const { return m_runs; }

 private:
  [[nodiscard]] protocol::VerdictArgs request(std::int64_t handle, std::size_t begin,
                                              std::size_t end) const;
  /// Returns with which run to go on.
  std::size_t read(const Outcome<protocol::VerdictResult>& verdict, std::size_t at);
  void fail(std::size_t at, const Failure& failure);

  Context& m_context;
  const Subject& m_subject;
  const std::vector<variant::EdgeDraw>& m_drawn;
  Proof m_extent;
  Judgement m_judgement;
  Json m_runs = Json::array();
};

}  // namespace wb::engine
