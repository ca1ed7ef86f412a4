// SPDX-License-Identifier: MIT
#include "worker/subject_loop.hpp"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "worker/roles.hpp"

namespace wb::worker {
namespace {

std::uint32_t read_seed(ObjectReader& reader) {
  return static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
}

Result<Problem> read_problem(ObjectReader& reader) {
  const Json* json = reader.member("problem");
  return problem_from_json(json != nullptr ? *json : Json(), "the problem");
}

class SubjectLoop {
 public:
  SubjectLoop(const Channel& channel, SubjectBody& body) : m_channel(channel), m_body(body) {}
  int serve();

 private:
  Outcome<Json> handle(const Message& message, const std::string& op);
  Outcome<Json> load(const Json& body);
  Outcome<Json> run(const Message& message);
  Outcome<Json> turn(const Message& message);
  Outcome<Json> prime(const Json& body);
  Outcome<Json> go(const Json& body);
  Outcome<Json> show();
  void reply(const Json& request, const Outcome<Json>& outcome) const;

  const Channel& m_channel;
  SubjectBody& m_body;
  bool m_has_stage = false;
};

Outcome<Json> SubjectLoop::load(const Json& body) {
  ObjectReader reader(body, "load");
  LoadOrder order;
  order.path = reader.string_or("path", "");
  order.builtin = reader.string_or("builtin", "");
  order.build_id = reader.string_or("build_id", "");
  order.threads = static_cast<int>(reader.integer("threads", 1, 4'096));
  if (auto loaded = m_body.load(order); !loaded.ok()) return std::move(loaded).error();
  return Json{{"versions", {{"build_id", order.build_id}}}};
}

Outcome<Json> SubjectLoop::run(const Message& message) {
  ObjectReader reader(message.body, "run");
  const Result<Problem> problem = read_problem(reader);
  const auto draw = parse_draw(reader.string_or("draw", "normal"));
  RunOrder order;
  order.seed = read_seed(reader);
  const bool want_lse = message.fds.size() == 2;
  if (!problem.ok() || !draw || message.fds.empty()) {
    return runtime_failure("a run message is malformed");
  }
  order.problem = *problem;
  order.draw = *draw;
  Result<Mapping> out = Mapping::of(message.fds[0].get(), out_bytes(*problem), true);
  const auto lse_bytes = static_cast<std::size_t>(problem->B * problem->Hq * problem->Sq) * 4;
  Result<Mapping> lse = want_lse ? Mapping::of(message.fds[1].get(), lse_bytes, true) : Mapping();
  if (!out.ok() || !lse.ok()) return runtime_failure("an output file cannot be mapped");
  order.out = *std::move(out);
  if (want_lse) order.lse = *std::move(lse);
  const auto call_us = m_body.run(order);
  if (!call_us.ok()) return call_us.error();
  return Json{{"call_us", *call_us}, {"lse", want_lse}};
}

Outcome<Json> SubjectLoop::turn(const Message& message) {
  ObjectReader reader(message.body, "turn");
  const Result<Problem> problem = read_problem(reader);
  const auto kind = parse_plan_kind(reader.string_or("kind", ""));
  TurnOrder order;
  order.placement = reader.integer("placement", 0, k_max_number);
  order.seed = read_seed(reader);
  order.settle_us = reader.real("settle_us");
  if (!problem.ok() || !kind || message.fds.size() != 1) {
    return runtime_failure("a turn message is malformed");
  }
  order.problem = *problem;
  order.kind = *kind;
  Result<Mapping> shown = Mapping::of(message.fds[0].get(), out_bytes(*problem), true);
  if (!shown.ok()) return runtime_failure("the output file cannot be mapped");
  order.shown = *std::move(shown);
  const auto answer = m_body.turn(std::move(order));
  if (!answer.ok()) return answer.error();
  m_has_stage = true;
  return Json{{"call_us", answer->call_us},
              {"settled", answer->settled},
              {"refill_us", answer->refill_us},
              {"flushes", answer->flushes}};
}

Outcome<Json> SubjectLoop::prime(const Json& body) {
  ObjectReader reader(body, "prime");
  if (!m_has_stage) return runtime_failure("prime without a turn");
  PrimeOrder order;
  order.calls = reader.integer("calls", 1, k_max_number);
  if (reader.member("seed") != nullptr) order.seed = read_seed(reader);
  order.warm = reader.boolean_or("warm", false);
  order.flush = reader.boolean_or("flush", false);
  order.poison = Poison{static_cast<std::uint64_t>(reader.integer("poison", 0, k_max_number))};
  if (auto primed = m_body.prime(order); !primed.ok()) return std::move(primed).error();
  return Json::object();
}

Outcome<Json> SubjectLoop::go(const Json& body) {
  ObjectReader reader(body, "go");
  GoOrder order;
  order.samples = reader.integer("samples", 1, 4'000);
  order.calls = reader.integer("calls", 1, 100'000'000);
  if (!m_has_stage) return runtime_failure("go without a turn");
  const auto block_ns = m_body.go(order, [&] { reply(body, Json{{"started", true}}); });
  if (!block_ns.ok()) return block_ns.error();
  // Short, so that writing and reading it is nothing beside the block; the samples come later.
  return Json{{"block_ns", *block_ns}};
}

Outcome<Json> SubjectLoop::show() {
  const auto sample_ns = m_body.show();
  if (!sample_ns.ok()) return sample_ns.error();
  return Json{{"sample_ns", *sample_ns}};
}

Outcome<Json> SubjectLoop::handle(const Message& message, const std::string& op) {
  try {
    if (op == "ping") return Json::object();
    if (op == "load") return load(message.body);
    if (op == "run") return run(message);
    if (op == "turn") return turn(message);
    if (op == "prime") return prime(message.body);
    if (op == "go") return go(message.body);
    if (op == "show") return show();
    return runtime_failure("unknown message");
  } catch (const std::bad_alloc&) {
    return runtime_failure(fmt::format("ran out of memory (std::bad_alloc) during {}", op));
  } catch (const std::exception& fault) {
    return runtime_failure(fmt::format("threw an exception across the C interface during {}: {}",
                                       op, printable(fault.what(), 400)));
  } catch (...) {
    return runtime_failure(fmt::format("threw an exception across the C interface during {}", op));
  }
}

void SubjectLoop::reply(const Json& request, const Outcome<Json>& outcome) const {
  Json body = outcome.ok() ? *outcome
                           : Json{{"invalidity", to_string(outcome.error().invalidity)},
                                  {"message", outcome.error().message}};
  body["ok"] = outcome.ok();
  body["n"] = request.value("n", std::int64_t{0});
  [[maybe_unused]] const auto sent = m_channel.send(body);
}

int SubjectLoop::serve() {
  while (true) {
    const auto message = m_channel.receive(Deadline::max());
    if (!message.ok()) return message.error() == ChannelFault::closed ? 0 : 1;
    const auto found = message->body.find("op");
    const std::string op = found != message->body.end() && found->is_string()
                               ? found->get<std::string>()
                               : std::string();
    if (op == "bye") return 0;
    const Outcome<Json> outcome = handle(*message, op);
    reply(message->body, outcome);
    if (op == "go" && outcome.ok()) reply(message->body, handle(*message, "show"));
  }
}

}  // namespace

Failure runtime_failure(std::string message) {
  return Failure{Invalidity::runtime, std::move(message), {}};
}

Failure wrote_outside(const char* tensor) {
  return runtime_failure(fmt::format("wrote outside its tensors, beside {}", tensor));
}

int serve_subject(const Channel& channel, SubjectBody& body) {
  return SubjectLoop(channel, body).serve();
}

}  // namespace wb::worker
