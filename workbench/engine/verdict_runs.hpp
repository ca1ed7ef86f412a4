// SPDX-License-Identifier: MIT
// The runs of a verdict as the log keeps them, and the drawn runs, which are judged in batches.
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

/// Judges the drawn runs, a few per request so that others can use the device in between.
class DrawnRuns {
 public:
  /// `drawn` must not be empty; all references must outlive this.
  DrawnRuns(Context& context, const Subject& subject, const std::vector<variant::EdgeDraw>& drawn,
            VerdictExtent extent);

  /// Stops at the first failure. Errors: canceled.
  Result<Judgement> judge(runner::WorkerClient& worker, std::int64_t handle);
  /// The judged runs as the log keeps them.
  [[nodiscard]] const Json& runs() const { return m_runs; }

 private:
  [[nodiscard]] protocol::VerdictArgs request(std::int64_t handle, std::size_t begin,
                                              std::size_t end) const;
  /// Returns the index of the next run.
  std::size_t read(const Outcome<protocol::VerdictResult>& verdict, std::size_t at);
  void fail(std::size_t at, const Failure& failure);

  Context& m_context;
  const Subject& m_subject;
  const std::vector<variant::EdgeDraw>& m_drawn;
  VerdictExtent m_extent;
  Judgement m_judgement;
  Json m_runs = Json::array();
};

}  // namespace wb::engine
