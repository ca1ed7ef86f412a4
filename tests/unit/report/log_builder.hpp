// SPDX-License-Identifier: MIT
// LogBuilder: builds a SessionView event by event, numbering events as a log would. For tests of
// the report, which must not depend on how sessions are stored.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "session/view.hpp"

namespace wb::test {

class LogBuilder {
 public:
  /// Appends one event; every event comes a second after the one before it. Returns its seq.
  std::int64_t add(const std::string& type, Json payload);
  [[nodiscard]] const session::SessionView& view() const { return m_view; }
  session::SessionView& view() { return m_view; }
  [[nodiscard]] std::int64_t last() const { return m_view.events; }
  /// All events so far, and the session as it stood after the first `n` of them.
  [[nodiscard]] const std::vector<std::pair<std::string, Json>>& events() const { return m_events; }
  [[nodiscard]] LogBuilder prefix(std::size_t n) const;

 private:
  session::IterationView* target(const Json& payload);
  void close(session::IterationView& iteration, session::Fact fact);
  void add_to_iteration(const std::string& type, session::IterationView& iteration,
                        session::Fact fact);
  session::SessionView m_view;
  std::vector<std::pair<std::string, Json>> m_events;
};

inline Json interval(double low, double high) {
  return {{"low", low}, {"high", high}, {"confidence", 0.99}};
}

// The story that the tests tell in parts. Defaults make sense for two problems, one rival.

inline constexpr const char* k_prefill = "B=1 Hq=8 Hkv=8 Sq=256 Skv=256 D=64 f32 causal=none";
inline constexpr const char* k_decode = "B=4 Hq=8 Hkv=2 Sq=1 Skv=1024 D=64 f32 causal=none";
inline constexpr const char* k_start = "cpu_unfused@5a11ce00";
inline constexpr const char* k_torch = "torch_cpu";

Json opened_payload();
void open_session(LogBuilder& log);
void record_environment(LogBuilder& log);
void open_iteration(LogBuilder& log, std::int64_t number, const std::string& variant,
                    const std::string& theory, double predicted);
void build(LogBuilder& log, std::int64_t iteration, const std::string& subject,
           const std::string& compiler = "g++ (Debian 12.2.0-14) 12.2.0");
void fail_build(LogBuilder& log, std::int64_t iteration, const std::string& subject,
                const std::string& message);
void judge(LogBuilder& log, std::int64_t iteration, const std::string& subject,
           const std::string& problem, double share, const std::string& failure = "",
           const Json& versions = Json::object());
/// `turns` turn_measured events; the view keeps their numbers only.
std::pair<std::int64_t, std::int64_t> turns(LogBuilder& log, std::int64_t iteration, int n);

struct Versus {
  std::string candidate = {}, against = {};
  std::string role = "incumbent", phase = "confirmation", plan = "hot";
  std::string problem = {};  ///< empty: the objective
  double candidate_us = 0, against_us = 0;
  double speedup = 1, low = 1, high = 1;  ///< speedup NaN: the log has no figure
  std::string outcome = "faster", reason = "";
};
std::int64_t compare(LogBuilder& log, std::int64_t iteration, const Versus& versus);
void debit(LogBuilder& log, std::optional<std::int64_t> iteration, const std::string& item,
           double quantity, std::optional<double> usd);
void decide(LogBuilder& log, std::int64_t iteration, const std::string& state,
            const std::string& reason);
void change_incumbent(LogBuilder& log, std::int64_t iteration, const std::string& from,
                      const std::string& to, double speedup, double low, double high);
void find_roofline(LogBuilder& log, std::int64_t iteration, const std::string& problem, double frac,
                   const std::string& unseen = "");
/// What bounds the problem: "compute", "memory", "latency".
void find_regime(LogBuilder& log, std::int64_t iteration, const std::string& problem,
                 const std::string& regime);
void close_iteration(LogBuilder& log, std::int64_t iteration, const std::string& outcome,
                     const std::string& invalidity = "", const std::string& message = "");

/// Iteration 0: start and PyTorch on both problems, hot; torch is faster on decode.
void run_baseline(LogBuilder& log);
/// A confirmed win, hot, cold and eager.
void run_win(LogBuilder& log, std::int64_t number);
/// Measured, not faster: hypothesis refuted.
void run_no_gain(LogBuilder& log, std::int64_t number);
/// The compiler refuses it.
void run_compile_failure(LogBuilder& log, std::int64_t number);
void close_session(LogBuilder& log, const std::string& reason);

/// The whole of it: baseline, win, no gain, compile failure, closed.
LogBuilder whole_session();

/// The same, with causes decided before its end: one supported, one refuted, one undecided, and one
/// supported of the start.
LogBuilder explained_session();

/// The same with a roadmap, minutes planned and a phase by name: what a handover is made from.
LogBuilder handed_over_session();
Json roadmap_payload(std::int64_t predictions = 0);

bool tells(const std::string& page, const std::string& words);
/// The line of the page that starts so, which it must have.
std::string line_with(const std::string& page, const std::string& start);

}  // namespace wb::test
