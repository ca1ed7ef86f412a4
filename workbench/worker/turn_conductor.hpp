// SPDX-License-Identifier: MIT
// Private to turn.cpp and fresh_calls.cpp. TurnConductor: the state of one turn between its
// messages.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/conditions_watch.hpp"
#include "worker/hand_over.hpp"
#include "worker/turn.hpp"
#include "worker/turn_plan.hpp"

namespace wb::worker {

class TurnConductor {
 public:
  TurnConductor(SubjectProcess& subject, const protocol::TurnArgs& args, const TurnContext& context,
                const Wait& wait)
      : m_subject(subject), m_args(args), m_context(context), m_wait(wait), m_watch(context.gpu) {}

  Outcome<protocol::TurnResult> conduct();
  /// In the place of conduct(); see time_lone_call_us.
  Outcome<double> lone_call_us();

 private:
  Outcome<void> set_stage();
  Outcome<void> measure_round_trip();
  /// `calls`: of a sample of the block to come.
  Outcome<void> prime(bool fresh_inputs, bool warm, std::int64_t calls);
  Outcome<BlockTime> time_calls(std::int64_t samples, std::int64_t calls);
  Outcome<void> take_block(bool fresh_inputs);
  Outcome<void> take_all_blocks();
  Outcome<bool> spot_fails(std::int64_t block);
  [[nodiscard]] const EmptyCall& empty_call() const;
  /// All but the flags.
  protocol::TurnResult summary() const;
  void add_flag(std::string_view flag);

  // fresh_calls.cpp
  [[nodiscard]] bool draws_fresh_calls() const;
  [[nodiscard]] FreshRecord& fresh_record() const;
  /// One, after other memory was read through.
  Outcome<FreshTimes> time_fresh_call(std::span<const std::byte> read_between);
  /// The fastest of a row.
  Outcome<FreshTimes> time_fresh_calls(const FreshTimes& limits);
  Outcome<void> try_fresh_calls();

  [[nodiscard]] bool cold() const { return m_args.plan.kind == PlanKind::cold; }
  /// Draws a seed for new inputs, and tells the message of it.
  void refill(Json& message);

  SubjectProcess& m_subject;
  const protocol::TurnArgs& m_args;
  const TurnContext& m_context;
  const Wait& m_wait;
  ConditionsWatch m_watch;
  std::optional<HandedInputs> m_inputs;         // Python only
  std::shared_ptr<const SharedMemory> m_shown;  // the output after the last block; the subject's
  BlockPlan m_blocks;
  double m_round_trip_us = 0;
  std::uint32_t m_seed = 0;
  bool m_is_settled_on_inputs = false;  // the settling calls had the inputs of m_seed
  Poison m_poison;
  std::vector<double> m_samples_us;
  std::vector<BlockTime> m_times;
  std::vector<std::string> m_flags;
  std::optional<OutputVerdict> m_spot;
};

}  // namespace wb::worker
