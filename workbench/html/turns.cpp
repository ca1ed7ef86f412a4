// SPDX-License-Identifier: MIT
#include "html/turns.hpp"

#include <cmath>

#include "core/json.hpp"
#include "report/fields.hpp"

namespace wb::html {
namespace {

Result<void> read_into(const session::Session& session, const session::IterationView& iteration,
                       TurnTable& table) {
  for (const std::int64_t seq : iteration.turns) {
    WB_TRY_ASSIGN(const Json payload, session.log().payload(seq));
    TurnRow row;
    row.seq = seq;
    row.iteration = iteration.number;
    row.phase = report::text(payload, "phase");
    row.plan = report::text(payload, "plan");
    row.regime = report::text(payload, "regime");
    row.problem = report::text(payload, "problem");
    row.subject = report::text(payload, "subject");
    row.wall_us = report::number(payload, "wall_us").value_or(0);
    const Json& samples = report::field(payload, "samples_us");
    if (samples.is_array()) {
      for (const Json& sample : samples) {
        if (sample.is_number() && std::isfinite(sample.get<double>())) {
          row.samples_us.push_back(sample.get<double>());
        }
      }
    }
    table.push_back(std::move(row));
  }
  return {};
}

}  // namespace

Result<TurnTable> read_turns(const session::Session& session, const session::SessionView& view) {
  TurnTable table;
  WB_TRY(read_into(session, view.outside, table));
  for (const session::IterationView& iteration : view.iterations) {
    WB_TRY(read_into(session, iteration, table));
  }
  return table;
}

}  // namespace wb::html
