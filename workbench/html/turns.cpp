// SPDX-License-Identifier: MIT
#include "html/turns.hpp"

#include <cmath>

#include "report/fields.hpp"

namespace wb::html {
namespace {

Result<void> read_into(const Session& session, const IterationView& iteration, TurnTable& table) {
  for (const std::int64_t seq : iteration.turns) {
    WB_TRY_ASSIGN(const Json payload, session.log().payload(seq));
    TurnRow row;
    row.seq = seq;
    row.iteration = iteration.number;
    row.phase = page::text(payload, "phase");
    row.plan = page::text(payload, "plan");
    row.regime = page::text(payload, "regime");
    row.problem = page::text(payload, "problem");
    row.subject = page::text(payload, "subject");
    row.wall_us = page::number(payload, "wall_us").value_or(0);
    const Json& samples = page::field(payload, "samples_us");
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

Result<TurnTable> read_turns(const Session& session, const SessionView& view) {
  TurnTable table;
  WB_TRY(read_into(session, view.outside, table));
  for (const IterationView& iteration : view.iterations) {
    WB_TRY(read_into(session, iteration, table));
  }
  return table;
}

}  // namespace wb::html
