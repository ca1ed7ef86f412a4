// SPDX-License-Identifier: MIT
// The subject's own process: loads one variant, then serves its supervisor's messages. What the
// messages hold is described in docs/worker_protocol.md, "Between supervisor and subject".
#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "worker/buffers.hpp"
#include "worker/caches.hpp"
#include "worker/cpu_timing.hpp"
#include "worker/memory.hpp"
#include "worker/roles.hpp"
#include "worker/variant_api.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_sweep_bytes = 64u << 20;

Failure runtime(std::string message) {
  return Failure{Invalidity::runtime, std::move(message), {}};
}

Failure wrote_outside(const char* tensor) {
  return runtime(fmt::format("wrote outside its tensors, beside {}", tensor));
}

std::uint32_t read_seed(ObjectReader& reader) {
  return static_cast<std::uint32_t>(
      reader.integer("seed", 0, std::numeric_limits<std::uint32_t>::max()));
}

Result<Problem> read_problem(ObjectReader& reader) {
  const Json* json = reader.member("problem");
  return problem_from_json(json != nullptr ? *json : Json(), "the problem");
}

/// A problem whose tensors are in place for timing.
struct Stage {
  Stage(VariantPlan made_plan, const Problem& problem, std::int64_t number)
      : plan(std::move(made_plan)),
        buffers(problem, plan.workspace_bytes(), true, Placing::scattered),
        placement(number) {}
  VariantPlan plan;
  BufferSet buffers;
  std::int64_t placement;
  double refill_us = 0;
};

class Subject {
 public:
  explicit Subject(const Channel& channel) : m_channel(channel) {}
  int serve();

 private:
  Outcome<Json> handle(const Message& message);
  Outcome<Json> load(const Json& body);
  Outcome<Json> run(const Message& message);
  Outcome<Json> turn(const Message& message);
  Outcome<Json> prime(const Json& body);
  Outcome<Json> go(const Json& body);
  void flush_stage();
  void show() const;
  [[nodiscard]] wb_sdpa_args timing_args() const;
  [[nodiscard]] Outcome<Json> checked(int status, Json answer) const;
  void reply(const Json& request, const Outcome<Json>& outcome) const;

  const Channel& m_channel;
  VariantApi m_api;
  int m_threads = 1;
  std::unique_ptr<Stage> m_stage;
  std::vector<std::int64_t> m_sample_ns;  // of the last block
  bool m_args_per_call = false;           // the eager plan: the call as its user makes it
  Mapping m_shown;
  GuardedMemory m_sweep;
};

Outcome<Json> Subject::load(const Json& body) {
  ObjectReader reader(body, "load");
  const std::string path = reader.string_or("path", "");
  const std::string builtin = reader.string_or("builtin", "");
  const std::string build_id = reader.string_or("build_id", "");
  m_threads = static_cast<int>(reader.integer("threads", 1, 4'096));
  Outcome<VariantApi> api =
      builtin.empty() ? load_library(path, build_id) : builtin_variant(builtin);
  if (!api.ok()) return std::move(api).error();
  m_api = *api;
  return Json{{"versions", {{"build_id", build_id}}}};
}

Outcome<Json> Subject::run(const Message& message) {
  ObjectReader reader(message.body, "run");
  const Result<Problem> problem = read_problem(reader);
  const auto draw = parse_draw(reader.string_or("draw", "normal"));
  const std::uint32_t seed = read_seed(reader);
  const bool want_lse = message.fds.size() == 2;
  if (!problem.ok() || !draw || message.fds.empty()) return runtime("a run message is malformed");
  const auto lse_bytes = static_cast<std::size_t>(problem->B * problem->Hq * problem->Sq) * 4;
  const Result<Mapping> out = Mapping::of(message.fds[0].get(), out_bytes(*problem), true);
  const Result<Mapping> lse =
      want_lse ? Mapping::of(message.fds[1].get(), lse_bytes, true) : Mapping();
  if (!out.ok() || !lse.ok()) return runtime("an output file cannot be mapped");

  auto plan = VariantPlan::create(m_api, *problem, want_lse);
  if (!plan.ok()) return std::move(plan).error();
  BufferSet buffers(*problem, plan->workspace_bytes(), true, Placing::flush_end);
  const GuardedMemory own_lse(want_lse ? lse_bytes : 0, Placing::flush_end);
  // The poison that shows what was never written.
  std::memcpy(buffers.out.bytes().data(), out->bytes().data(), out->bytes().size());
  if (want_lse) std::memcpy(own_lse.bytes().data(), lse->bytes().data(), lse_bytes);
  buffers.refill(seed, *draw, m_threads);
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = buffers.q.bytes().data();
  args.k = buffers.k.bytes().data();
  args.v = buffers.v.bytes().data();
  args.mask = buffers.mask.bytes().data();
  args.out = buffers.out.bytes().data();
  args.lse = want_lse ? reinterpret_cast<float*>(own_lse.bytes().data()) : nullptr;
  args.workspace = buffers.workspace.bytes().data();
  args.threads = m_threads;
  const auto begin = std::chrono::steady_clock::now();
  const int status = m_api.forward(plan->get(), &args);
  const double call_us = us_since(begin);
  std::memcpy(out->bytes().data(), buffers.out.bytes().data(), out->bytes().size());
  if (want_lse) std::memcpy(lse->bytes().data(), own_lse.bytes().data(), lse_bytes);
  const char* overrun = own_lse.margins_intact() ? buffers.overrun() : "lse";
  if (overrun != nullptr) return wrote_outside(overrun);
  return checked(status, {{"call_us", call_us}, {"lse", want_lse}});
}

Outcome<Json> Subject::checked(int status, Json answer) const {
  if (status == WB_OK) return answer;
  return call_failure(m_api, "wb_sdpa_forward", status);
}

wb_sdpa_args Subject::timing_args() const {
  const BufferSet& buffers = m_stage->buffers;
  wb_sdpa_args args{};
  args.struct_size = sizeof args;
  args.q = buffers.q.bytes().data();
  args.k = buffers.k.bytes().data();
  args.v = buffers.v.bytes().data();
  args.mask = buffers.mask.bytes().data();
  args.out = buffers.out.bytes().data();
  args.workspace = buffers.workspace.bytes().data();
  args.threads = m_threads;
  return args;
}

/// Sets the stage for a problem and placement, then settles. Buffers that stand already keep their
/// contents: the timed part begins with fresh inputs in any case.
Outcome<Json> Subject::turn(const Message& message) {
  ObjectReader reader(message.body, "turn");
  const Result<Problem> problem = read_problem(reader);
  const std::int64_t placement = reader.integer("placement", 0, k_max_number);
  const std::uint32_t seed = read_seed(reader);
  const double settle_us = reader.real("settle_us");
  m_args_per_call = reader.boolean_or("args_per_call", false);
  if (!problem.ok() || message.fds.size() != 1) return runtime("a turn message is malformed");
  Result<Mapping> shown = Mapping::of(message.fds[0].get(), out_bytes(*problem), true);
  if (!shown.ok()) return runtime("the output file cannot be mapped");
  m_shown = *std::move(shown);

  if (!m_stage || !(m_stage->buffers.problem == *problem) || m_stage->placement != placement) {
    auto plan = VariantPlan::create(m_api, *problem, false);
    if (!plan.ok()) return std::move(plan).error();
    // The old buffers live until the new ones are made, so that the addresses differ.
    m_stage = std::make_unique<Stage>(*std::move(plan), *problem, placement);
    const auto begin = std::chrono::steady_clock::now();
    m_stage->buffers.refill(seed, Draw::normal, m_threads);
    m_stage->refill_us = us_since(begin);
  }
  int status = WB_OK;
  const wb_sdpa_args args = timing_args();
  wb_sdpa_plan* plan = m_stage->plan.get();
  const Settled settled = settle([&] { return m_api.forward(plan, &args); }, settle_us, status);
  return checked(status, {{"call_us", settled.call_us},
                          {"settled", settled.settled},
                          {"refill_us", m_stage->refill_us},
                          {"flushes", can_flush()}});
}

void Subject::flush_stage() {
  const BufferSet& buffers = m_stage->buffers;
  if (can_flush()) {
    for (const auto* memory : {&buffers.q, &buffers.k, &buffers.v, &buffers.mask, &buffers.out}) {
      flush_from_caches(memory->bytes());
    }
    return;
  }
  if (m_sweep.bytes().empty()) m_sweep = GuardedMemory(k_sweep_bytes, Placing::flush_end);
  for (std::byte& line : m_sweep.bytes()) line ^= std::byte{1};
}

/// Prepares the next timed block: fresh inputs, one untimed call, a poisoned output, cold caches,
/// each as asked.
Outcome<Json> Subject::prime(const Json& body) {
  ObjectReader reader(body, "prime");
  if (!m_stage) return runtime("prime without a turn");
  const bool warm = reader.boolean_or("warm", false), flush = reader.boolean_or("flush", false);
  if (reader.member("seed") != nullptr) {
    m_stage->buffers.refill(read_seed(reader), Draw::normal, m_threads);
    if (!warm && !flush) m_stage->buffers.read_through(m_threads);
  }
  int status = WB_OK;
  if (warm) {
    const wb_sdpa_args args = timing_args();
    status = m_api.forward(m_stage->plan.get(), &args);
  }
  Poison{static_cast<std::uint64_t>(reader.integer("poison", 0, k_max_number))}.fill(
      m_stage->buffers.out.bytes());
  if (flush) flush_stage();
  return checked(status, Json::object());
}

Outcome<Json> Subject::go(const Json& body) {
  ObjectReader reader(body, "go");
  const std::int64_t samples = reader.integer("samples", 1, 4'000);
  const std::int64_t calls = reader.integer("calls", 1, 100'000'000);
  if (!m_stage) return runtime("go without a turn");
  int status = WB_OK;
  wb_sdpa_plan* plan = m_stage->plan.get();
  const auto begin = std::chrono::steady_clock::now();
  reply(body, Json{{"started", true}});  // from here on the supervisor's clock runs too
  if (m_args_per_call) {
    m_sample_ns = take_samples(
        [&] {
          const wb_sdpa_args args = timing_args();
          return m_api.forward(plan, &args);
        },
        samples, calls, status);
  } else {
    const wb_sdpa_args args = timing_args();
    m_sample_ns = take_samples([&] { return m_api.forward(plan, &args); }, samples, calls, status);
  }
  const std::chrono::nanoseconds block = std::chrono::steady_clock::now() - begin;
  // Short, so that writing and reading it is nothing beside the block; the samples come later.
  return checked(status, {{"block_ns", block.count()}});
}

/// Copies the output out at once: work that a variant does after its return comes too late.
void Subject::show() const {
  std::memcpy(m_shown.bytes().data(), m_stage->buffers.out.bytes().data(), m_shown.bytes().size());
}

Outcome<Json> Subject::handle(const Message& message) {
  const auto found = message.body.find("op");
  const std::string op =
      found != message.body.end() && found->is_string() ? found->get<std::string>() : std::string();
  if (op == "ping") return Json::object();
  if (op == "load") return load(message.body);
  if (op == "run") return run(message);
  if (op == "turn") return turn(message);
  if (op == "prime") return prime(message.body);
  if (op == "go") return go(message.body);
  return runtime("unknown message");
}

void Subject::reply(const Json& request, const Outcome<Json>& outcome) const {
  Json body = outcome.ok() ? *outcome
                           : Json{{"invalidity", to_string(outcome.error().invalidity)},
                                  {"message", outcome.error().message}};
  body["ok"] = outcome.ok();
  body["n"] = request.value("n", std::int64_t{0});
  [[maybe_unused]] const auto sent = m_channel.send(body);
}

int Subject::serve() {
  while (true) {
    const auto message = m_channel.receive(Deadline::max());
    if (!message.ok()) return message.error() == ChannelFault::closed ? 0 : 1;
    const std::string op = message->body.value("op", std::string());
    if (op == "bye") return 0;
    Outcome<Json> outcome = Json::object();
    try {
      outcome = handle(*message);
    } catch (const std::bad_alloc&) {
      outcome = runtime(fmt::format("ran out of memory (std::bad_alloc) during {}", op));
    } catch (const std::exception& fault) {
      outcome = runtime(fmt::format("threw an exception across the C interface during {}: {}", op,
                                    printable(fault.what(), 400)));
    } catch (...) {
      outcome = runtime(fmt::format("threw an exception across the C interface during {}", op));
    }
    reply(message->body, outcome);
    if (op == "go" && outcome.ok()) {
      show();
      const char* overrun = m_stage->buffers.overrun();
      reply(message->body, overrun == nullptr ? Outcome<Json>(Json{{"sample_ns", m_sample_ns}})
                                              : Outcome<Json>(wrote_outside(overrun)));
    }
  }
}

}  // namespace

int run_subject(const Channel& channel) {
  return Subject(channel).serve();
}

}  // namespace wb::worker
