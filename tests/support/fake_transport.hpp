// SPDX-License-Identifier: MIT
// FakeTransport answers request lines from a function; FakeWorker is such a function that behaves
// like a healthy worker whose subjects have the speeds and faults a test gives them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "protocol/protocol.hpp"
#include "runner/transport.hpp"

namespace wb::testing {

/// One answer per sent line, in order. `answer` may return an Error: the wire is broken then.
class FakeTransport final : public runner::Transport {
 public:
  using Answer = std::function<Result<std::string>(std::string_view line)>;
  explicit FakeTransport(Answer answer, std::string description = "fake")
      : m_answer(std::move(answer)), m_description(std::move(description)) {}

  Result<void> send(std::string_view line, std::chrono::milliseconds) override {
    if (m_closed) return Error{ErrorCode::canceled, "send to", m_description, "it is closed", ""};
    m_waiting = m_answer(line);
    return {};
  }
  Result<std::string> receive(std::chrono::milliseconds) override {
    if (m_closed || !m_waiting) {
      return Error{ErrorCode::canceled, "read from", m_description, "end of stream", ""};
    }
    Result<std::string> line = *std::move(m_waiting);
    m_waiting.reset();
    return line;
  }
  void close() override { m_closed = true; }
  std::string description() const override { return m_description; }

 private:
  Answer m_answer;
  std::string m_description;
  std::optional<Result<std::string>> m_waiting;
  bool m_closed = false;
};

/// How one subject behaves. Everything has a healthy default.
struct FakeSubject {
  /// True time of one call, in microseconds.
  std::function<double(const problem::Problem&, measure::PlanKind)> time_us =
      [](const problem::Problem&, measure::PlanKind) { return 100.0; };
  /// Of hot turns in that regime; none: as in a burst.
  std::optional<double> sustained_us;
  bool disturbed_when_sustained = false;
  std::optional<Failure> fails_when_sustained;
  double noise_frac = 0.002;          ///< standard deviation of a sample
  double between_instances_frac = 0;  ///< of the bias that each load draws
  std::function<bool(const problem::Problem&)> passes = [](const problem::Problem&) {
    return true;
  };
  std::function<bool(const problem::Problem&)> takes = [](const problem::Problem&) { return true; };
  bool fails_wholly = false;  ///< passes single runs, as screened, but not the whole verdict
  bool spot_passes = true;
  /// Work of a first call on new inputs that timed calls do without, and whether the same inputs,
  /// made again, spare it too.
  double leaves_out_us = 0;
  bool remembers = true;
  std::optional<Failure> first_call_failure;
  std::optional<Failure> load_failure, verdict_failure, turn_failure;
  std::vector<std::string> turn_flags;
  std::optional<measure::GpuConditions> conditions;  ///< of each turn
  std::vector<measure::KernelLaunch> launches;       ///< of each call, as each turn tells
  /// What every tool says of it; a worker without tools unless a test says more.
  Outcome<protocol::ProfileResult> profile =
      protocol::ProfileResult{false, "a fake worker cannot profile", Json::object()};
};

/// What a turn of this plan takes, by a clock that the test moves.
inline std::chrono::nanoseconds time_of(const measure::Plan& plan) {
  return std::chrono::nanoseconds(std::llround(1e3 * (plan.settle_us + plan.timed_us)));
}

class FakeWorker {
 public:
  /// By the subject's label ("cpu_tiled@1f0c44aa") or its name ("cpu_tiled"); else `other`.
  std::map<std::string, FakeSubject> subjects;
  FakeSubject other;
  protocol::HelloResult hello_result = default_hello();
  /// A verb in here fails with the failure, whatever its arguments.
  std::map<protocol::Verb, Failure> verb_failures;
  std::vector<std::string> first_call_flags;
  std::function<void(const protocol::TurnArgs&)> on_turn;  ///< before a turn, when set
  /// The wire breaks at this request (counted from 1); 0: never.
  std::int64_t dies_at_request = 0;

  /// What was asked, for checks.
  std::vector<protocol::Request> requests;
  [[nodiscard]] std::int64_t count(protocol::Verb verb) const {
    std::int64_t n = 0;
    for (const auto& request : requests) n += request.verb == verb ? 1 : 0;
    return n;
  }

  explicit FakeWorker(std::uint32_t seed = 1) : m_random(seed) {}
  FakeWorker(const FakeWorker&) = delete;
  FakeWorker& operator=(const FakeWorker&) = delete;

  /// A wire to this worker, which must outlive it. Several may be opened one after the other.
  std::unique_ptr<runner::Transport> transport() {
    return std::make_unique<FakeTransport>([this](std::string_view line) { return answer(line); });
  }

  static protocol::HelloResult default_hello() {
    protocol::HelloResult hello;
    hello.worker_version = "fake";
    hello.device.backend = "cpu";
    hello.device.id = "cpu:fake:0-1";
    hello.device.name = "Fake CPU";
    hello.device.architecture = "x86-64-v3";
    hello.device.units = 2;
    hello.device.f32_flops_per_s = device::DeviceFact{1e13, "made up for a test"};
    hello.device.f16_flops_per_s = hello.device.bf16_flops_per_s = hello.device.f32_flops_per_s;
    hello.device.memory_bytes_per_s = device::DeviceFact{1e12, "made up for a test"};
    hello.threads = 2;
    hello.isolation = "none (fake)";
    hello.empty_call_us = 0.002;
    hello.backends = {"cpu", "python"};
    return hello;
  }

 private:
  struct Loaded {
    std::string label;
    double bias = 1;
  };

  FakeSubject& behaviour(const std::string& label) {
    if (const auto found = subjects.find(label); found != subjects.end()) return found->second;
    const auto found = subjects.find(label.substr(0, label.find('@')));
    return found != subjects.end() ? found->second : other;
  }

  Result<std::string> answer(std::string_view line) {
    const auto request = protocol::parse_request(line);
    if (!request.ok()) return request.error();
    requests.push_back(*request);
    if (dies_at_request != 0 && static_cast<std::int64_t>(requests.size()) >= dies_at_request) {
      return Error{ErrorCode::canceled, "read from", "fake", "the fake worker died", ""};
    }
    return to_line(protocol::Reply{request->id, handle(*request)});
  }

  Outcome<Json> handle(const protocol::Request& request) {
    if (const auto found = verb_failures.find(request.verb); found != verb_failures.end()) {
      return found->second;
    }
    switch (request.verb) {
      case protocol::Verb::hello:
        return to_json(hello_result);
      case protocol::Verb::has:
        return read<protocol::HasArgs>(request, &FakeWorker::has);
      case protocol::Verb::put:
        return read<protocol::PutArgs>(request, &FakeWorker::put);
      case protocol::Verb::load:
        return read<protocol::LoadArgs>(request, &FakeWorker::load);
      case protocol::Verb::run:
        return read<protocol::RunArgs>(request, &FakeWorker::run);
      case protocol::Verb::verdict:
        return read<protocol::VerdictArgs>(request, &FakeWorker::verdict);
      case protocol::Verb::turn:
        return read<protocol::TurnArgs>(request, &FakeWorker::turn);
      case protocol::Verb::first_calls:
        return read<protocol::FirstCallsArgs>(request, &FakeWorker::first_calls);
      case protocol::Verb::profile:
        return read<protocol::ProfileArgs>(request, &FakeWorker::profile);
      case protocol::Verb::unload:
        m_loaded.erase(request.args.value("handle", std::int64_t{0}));
        return Json::object();
      case protocol::Verb::canary:
        return to_json(protocol::CanaryResult{true, "fake"});
      case protocol::Verb::status:
        return to_json(status());
      case protocol::Verb::build:
        return Failure{Invalidity::environment, "a fake worker cannot build", {}};
      case protocol::Verb::bye:
        return Json::object();
    }
    return Json::object();
  }

  template <typename Args>
  Outcome<Json> read(const protocol::Request& request, Outcome<Json> (FakeWorker::*body)(Args)) {
    Args args;
    if (const auto parsed = from_json(request.args, args); !parsed.ok()) {
      return Failure{Invalidity::environment, parsed.error().message(), {}};
    }
    return (this->*body)(std::move(args));
  }

  Outcome<Json> has(protocol::HasArgs args) {
    protocol::HasResult result;
    for (const auto& sha256 : args.sha256) {
      if (!m_stored.contains(sha256)) result.missing.push_back(sha256);
    }
    return to_json(result);
  }

  Outcome<Json> put(protocol::PutArgs args) {
    const auto bytes = protocol::base64_decode(args.data_base64);
    if (!bytes.ok()) return Failure{Invalidity::environment, bytes.error().message(), {}};
    const auto received = args.offset + static_cast<std::int64_t>(bytes->size());
    if (received == args.total_bytes) m_stored.insert(args.sha256);
    return to_json(protocol::PutResult{received, received == args.total_bytes});
  }

  Outcome<Json> load(protocol::LoadArgs args) {
    const FakeSubject& subject = behaviour(args.subject);
    if (subject.load_failure) return *subject.load_failure;
    const std::int64_t handle = m_next_handle++;
    m_loaded[handle] = {args.subject, 1 + subject.between_instances_frac * gauss()};
    return to_json(protocol::LoadResult{handle, 1000 + handle, 0.5, Json::object()});
  }

  Outcome<Json> missing(std::int64_t handle) const {
    return Failure{Invalidity::environment,
                   "the fake worker has no subject with handle " + std::to_string(handle),
                   {}};
  }

  static problem::OutputVerdict output_verdict(bool pass) {
    problem::OutputVerdict verdict;
    verdict.pass = pass;
    verdict.blocks_judged = verdict.blocks_total = 1;
    verdict.worst = {{0, 0, 0, 64}, "max", pass ? 1e-7 : 1e-3, 1e-6, pass ? 0.1 : 1e3, 3, 5, 1, 1};
    if (!pass) verdict.reason = "max error beyond its budget";
    return verdict;
  }

  protocol::RunResult run_result(bool pass) {
    return {static_cast<std::uint32_t>(m_random()), output_verdict(pass), true, 0.1};
  }

  Outcome<Json> run(protocol::RunArgs args) {
    const auto found = m_loaded.find(args.handle);
    if (found == m_loaded.end()) return missing(args.handle);
    const FakeSubject& subject = behaviour(found->second.label);
    if (subject.verdict_failure) return fail(args.handle, *subject.verdict_failure);
    return to_json(run_result(subject.passes(args.problem)));
  }

  Outcome<Json> verdict(protocol::VerdictArgs args) {
    const auto found = m_loaded.find(args.handle);
    if (found == m_loaded.end()) return missing(args.handle);
    const FakeSubject& subject = behaviour(found->second.label);
    if (subject.verdict_failure) return fail(args.handle, *subject.verdict_failure);
    if (!args.drawn.empty()) return drawn_runs(subject, args);
    if (!subject.takes(args.problem)) {
      return Failure{Invalidity::constraints, "this library does not take the problem", ""};
    }
    protocol::VerdictResult result;
    result.pass = subject.passes(args.problem) && !subject.fails_wholly;
    const std::vector<problem::Draw> draws =
        result.pass ? std::vector<problem::Draw>{problem::Draw::normal, problem::Draw::normal,
                                                 problem::Draw::normal, problem::Draw::large}
                    : std::vector<problem::Draw>{problem::Draw::normal};
    for (const problem::Draw draw : draws) result.runs.emplace_back(draw, run_result(result.pass));
    return to_json(result);
  }

  Outcome<Json> drawn_runs(const FakeSubject& subject, const protocol::VerdictArgs& args) {
    protocol::VerdictResult result;
    for (const protocol::RunArgs& run : args.drawn) {
      if (!subject.takes(run.problem)) {
        result.pass = false;
        result.failure =
            Failure{Invalidity::constraints, "this library does not take the problem", ""};
        break;
      }
      result.pass = subject.passes(run.problem);
      result.runs.emplace_back(run.draw, run_result(result.pass));
      if (!result.pass) break;
    }
    return to_json(result);
  }

  Outcome<Json> turn(protocol::TurnArgs args) {
    const auto found = m_loaded.find(args.handle);
    if (found == m_loaded.end()) return missing(args.handle);
    if (on_turn) on_turn(args);
    const FakeSubject& subject = behaviour(found->second.label);
    if (subject.turn_failure) return fail(args.handle, *subject.turn_failure);
    if (!subject.takes(args.problem)) {
      return Failure{Invalidity::constraints, "this library does not take the problem", ""};
    }
    const bool is_sustained = args.plan.regime == measure::Regime::sustained;
    if (is_sustained && subject.fails_when_sustained) {
      return fail(args.handle, *subject.fails_when_sustained);
    }
    const double true_us =
        found->second.bias * (is_sustained && subject.sustained_us
                                  ? *subject.sustained_us
                                  : subject.time_us(args.problem, args.plan.kind));
    protocol::TurnResult result;
    result.calls_per_sample = args.plan.kind == measure::PlanKind::hot
                                  ? std::max<std::int64_t>(1, std::llround(200 / true_us))
                                  : 1;
    const double sample_us = true_us * static_cast<double>(result.calls_per_sample);
    const auto wanted = static_cast<std::int64_t>(std::ceil(args.plan.timed_us / sample_us));
    const std::int64_t samples = std::clamp(wanted, args.plan.min_samples, args.plan.max_samples);
    for (std::int64_t i = 0; i < samples; ++i) {
      result.samples_us.push_back(true_us * (1 + subject.noise_frac * gauss()));
      result.reported_us += result.samples_us.back() * static_cast<double>(result.calls_per_sample);
    }
    result.wall_us = result.reported_us;
    result.flags = subject.turn_flags;
    if (is_sustained && subject.disturbed_when_sustained) result.flags = {"throttled"};
    result.conditions = subject.conditions;
    result.launches = subject.launches;
    if (args.spot_check) result.spot = output_verdict(subject.spot_passes);
    return to_json(result);
  }

  /// 100 us beyond a timed call, and what the subject's timed calls leave out.
  Outcome<Json> first_calls(protocol::FirstCallsArgs args) {
    protocol::FirstCallsResult result;
    for (std::size_t i = 0; i < args.handles.size(); ++i) {
      const auto found = m_loaded.find(args.handles[i]);
      if (found == m_loaded.end()) return missing(args.handles[i]);
      const FakeSubject& subject = behaviour(found->second.label);
      auto& side = result.sides.emplace_back();
      side.overhead_us = 100;
      if (subject.first_call_failure) {
        m_loaded.erase(args.handles[i]);
        result.failed = static_cast<std::int64_t>(i);
        result.failure = *subject.first_call_failure;
        return to_json(result);
      }
      const bool is_sustained =
          args.plan.regime == measure::Regime::sustained && subject.sustained_us;
      const double us =
          100 + found->second.bias * (is_sustained ? *subject.sustained_us
                                                   : subject.time_us(args.problem, args.plan.kind));
      for (std::int64_t n = 0; n < std::min<std::int64_t>(args.most, 8); ++n) {
        const auto noise = [&] { return std::abs(subject.noise_frac * gauss()) * us; };
        side.fresh_us.push_back(us + subject.leaves_out_us + noise());
        side.again_us.push_back(us + (subject.remembers ? 0 : subject.leaves_out_us) + noise());
      }
    }
    result.flags = first_call_flags;
    return to_json(result);
  }

  Outcome<Json> profile(protocol::ProfileArgs args) {
    const auto found = m_loaded.find(args.handle);
    if (found == m_loaded.end()) return missing(args.handle);
    const FakeSubject& subject = behaviour(found->second.label);
    if (!subject.profile.ok()) return fail(args.handle, subject.profile.error());
    return to_json(*subject.profile);
  }

  protocol::StatusResult status() const {
    protocol::StatusResult result;
    for (const auto& [handle, loaded] : m_loaded) {
      result.subjects.push_back({handle, 1000 + handle, loaded.label, 1 << 20});
    }
    return result;
  }

  /// As the worker does: a subject that failed is gone, unless the problem was outside its reach.
  Outcome<Json> fail(std::int64_t handle, const Failure& failure) {
    if (failure.invalidity != Invalidity::constraints) m_loaded.erase(handle);
    return failure;
  }

  double gauss() { return std::normal_distribution<double>()(m_random); }

  std::mt19937 m_random;
  std::set<std::string> m_stored;
  std::map<std::int64_t, Loaded> m_loaded;
  std::int64_t m_next_handle = 1;
};

}  // namespace wb::testing
