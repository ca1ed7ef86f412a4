// SPDX-License-Identifier: MIT
// RemoteEvaluator: evaluates a search's requests through the executor of the program around the
// engine, in any order. search/program.hpp lists its questions.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "search/program.hpp"
#include "tune/evaluation_exchange.hpp"

namespace wb::tune {

/// The number of evaluations that the program's executor runs at a time; 0 without an executor.
Result<std::int64_t> remote_capacity(const search::AskProgram& ask);

class RemoteEvaluator {
 public:
  struct Sent {
    EvaluationRequest request;
    std::chrono::steady_clock::time_point at;
    std::optional<EvaluationReply> reply;
    std::string text;   ///< text of the reply as received
    std::string fault;  ///< why there is no reply
    bool is_back = false;
  };
  RemoteEvaluator(search::AskProgram ask, const Clock& clock)
      : m_ask(std::move(ask)), m_clock(clock) {}

  [[nodiscard]] bool knows(const search::Ask& ask) const { return m_numbers.contains(key(ask)); }
  [[nodiscard]] bool has_reply(const search::Ask& ask) const;
  [[nodiscard]] std::size_t size() const { return m_sent.size(); }  ///< not taken yet
  [[nodiscard]] std::size_t away() const;                           ///< without a reply
  /// Assigns the request's id. Errors: those of the program.
  Result<void> send(EvaluationRequest request);
  /// Replies since the last call, waiting up to `patience` for the first; also requests given up
  /// long after the slowest one. Valid until taken. Errors: those of the program; canceled.
  Result<std::vector<const Sent*>> collect(std::chrono::milliseconds patience);
  /// Removes a request that has a reply or was given up, so that it can be sent again.
  Sent take(const search::Ask& ask);
  /// Requests that are not running yet return as faults.
  Result<void> cancel();

 private:
  using Key = std::pair<std::int64_t, variant::Configuration>;
  static Key key(const search::Ask& ask) { return {ask.stage, ask.configuration}; }
  search::AskProgram m_ask;
  const Clock& m_clock;
  double m_slowest_s = 0;
  std::int64_t m_next = 1;
  std::map<Key, std::int64_t> m_numbers;
  std::map<std::int64_t, Sent> m_sent;
};

}  // namespace wb::tune
