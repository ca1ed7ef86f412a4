// SPDX-License-Identifier: MIT
// Python subjects through the real worker: a standard-library one always, PyTorch if it is
// installed.
#include <algorithm>

#include "measure/quantiles.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "worker_under_test.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::runner;
using namespace wb::variant;
using namespace wb::testing;

namespace {

constexpr const char* k_plain = R"(
import math

def sdpa(q, k, v, *, causal, scale, mask, out, lse):
    batch, heads, rows, width = q.shape
    group = heads // k.shape[1]
    for b in range(batch):
        for h in range(heads):
            for i in range(rows):
                keys = k.shape[2] if causal == "none" else i + 1
                scores = [scale * sum(q[b, h, i, d] * k[b, h // group, j, d] for d in range(width))
                          for j in range(keys)]
                top = max(scores)
                weights = [math.exp(s - top) for s in scores]
                total = sum(weights)
                for d in range(v.shape[3]):
                    out[b, h, i, d] = sum(
                        w * v[b, h // group, j, d] for j, w in enumerate(weights)) / total
                if lse is not None:
                    lse[b, h, i] = top + math.log(total)
)";

Variant python_variant(const std::string& source) {
  Variant variant;
  variant.manifest.name = "plain";
  variant.manifest.backend = Backend::python;
  variant.manifest.entry = "plain:sdpa";
  variant.files = {{"plain/plain.py", source}, {"plain/kernel.json", "{}"}};
  variant.id = std::string(64, '0');
  return variant;
}

struct PythonWorker {
  /// python: as in HelloArgs.
  explicit PythonWorker(const std::string& python = "") : client(open_worker(&facts, python)) {}
  bool has_python() const {
    if (!facts.python.empty()) return true;
    WARN("skipped: no Python interpreter was found");
    return false;
  }
  Failure load_failure(const std::string& source) {
    const auto loaded = client.load(python_variant(source), {});
    REQUIRE_FALSE(loaded.ok());
    return loaded.error();
  }
  protocol::HelloResult facts;
  WorkerClient client;
};

protocol::VerdictArgs verdict_args(std::int64_t handle, const std::string& problem) {
  protocol::VerdictArgs args;
  args.handle = handle;
  args.problem = *parse_problem(problem);
  return args;
}

}  // namespace

TEST_CASE("a plain Python function is judged and timed", "[worker][python]") {
  PythonWorker worker;
  if (!worker.has_python()) return;
  CHECK(worker.facts.empty_python_call_us > 0);
  const auto loaded = worker.client.load(python_variant(k_plain), {});
  if (!loaded.ok()) FAIL(loaded.error().message << loaded.error().untrusted_output);
  CHECK(loaded->versions.contains("python"));
  const auto verdict = worker.client.verdict(
      verdict_args(loaded->handle, "B=1 Hq=2 Hkv=1 Sq=5 Skv=7 D=4 f32 causal=top_left"));
  if (!verdict.ok()) FAIL(verdict.error().message << verdict.error().untrusted_output);
  CHECK(verdict->pass);
  CHECK(std::any_of(verdict->runs.begin(), verdict->runs.end(),
                    [](const auto& run) { return run.second.lse_judged; }));
  for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
    protocol::TurnArgs args;
    args.handle = loaded->handle;
    args.problem = *parse_problem("B=1 Hq=1 Sq=4 Skv=6 D=4 f32");
    args.plan = quick_plan(kind);
    args.fresh_calls = false;  // their allowance is a time of this machine
    const auto turn = worker.client.turn(args);
    if (!turn.ok()) FAIL(turn.error().message << turn.error().untrusted_output);
    CHECK(median(turn->samples_us) > 1);
    CHECK(turn->spot->pass);
  }
}

TEST_CASE("a process that a profiler looked into is judged and timed no more", "[worker][python]") {
  PythonWorker worker;
  if (!worker.has_python()) return;
  const auto loaded = worker.client.load(python_variant(k_plain), {});
  REQUIRE(loaded.ok());
  protocol::ProfileArgs inspection;
  inspection.handle = loaded->handle;
  inspection.problem = *parse_problem("B=1 Hq=1 Sq=4 Skv=6 D=4 f32");
  const auto outside = worker.client.profile(inspection);  // ncu, which does not touch the process
  REQUIRE(outside.ok());
  CHECK_FALSE(outside->available);
  protocol::TurnArgs turn;
  turn.handle = loaded->handle;
  turn.problem = inspection.problem;
  turn.plan = quick_plan(PlanKind::hot);
  turn.fresh_calls = false;
  CHECK(worker.client.turn(turn).ok());
  inspection.tool = "torch.profiler";
  for (int i = 0; i < 2; ++i) {
    const auto inside = worker.client.profile(inspection);
    if (!inside.ok()) FAIL(inside.error().message << inside.error().untrusted_output);
    CHECK_FALSE(inside->available);
    CHECK(inside->reason.find("on the CPU") != std::string::npos);
  }
  const auto check_refused = [](const auto& answer) {
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().invalidity == Invalidity::environment);
    CHECK(answer.error().message.find("load it anew") != std::string::npos);
  };
  check_refused(worker.client.turn(turn));
  protocol::VerdictArgs verdict;
  verdict.handle = loaded->handle;
  verdict.problem = inspection.problem;
  check_refused(worker.client.verdict(verdict));
  protocol::RunArgs run;
  run.handle = loaded->handle;
  run.problem = inspection.problem;
  check_refused(worker.client.run(run));
  const auto again = worker.client.load(python_variant(k_plain), {});
  REQUIRE(again.ok());
  verdict.handle = again->handle;
  CHECK(worker.client.verdict(verdict)->pass);
}

TEST_CASE("what can go wrong in Python has its own words", "[worker][python][hostile]") {
  PythonWorker worker;
  if (!worker.has_python()) return;
  Failure failure = worker.load_failure("import no_such_module\n");
  CHECK(failure.invalidity == Invalidity::runtime);
  CHECK(failure.message.find("no_such_module") != std::string::npos);
  CHECK(failure.untrusted_output.find("Traceback") != std::string::npos);
  failure = worker.load_failure("def other(): pass\n");
  CHECK(failure.message.find("sdpa") != std::string::npos);
  failure = worker.load_failure("def sdpa(:\n");
  CHECK(failure.message.find("SyntaxError") != std::string::npos);
  failure = worker.load_failure("import os; os._exit(5)\n");
  CHECK(failure.message.find("exited with code 5") != std::string::npos);
  failure = worker.load_failure("raise SystemExit(0)\n");
  CHECK(failure.message.find("exited with code 0") != std::string::npos);
  const std::string head = "def sdpa(q, k, v, *, causal, scale, mask, out, lse):\n    ";
  const std::pair<std::string, Invalidity> bodies[] = {
      {"raise ValueError('broken')", Invalidity::runtime},
      {"raise NotImplementedError('not this one')", Invalidity::constraints},
      {"raise MemoryError()", Invalidity::runtime},
      {"return 'a string'", Invalidity::runtime},
      {"import os; os.kill(os.getpid(), 11)", Invalidity::runtime},
  };
  for (const auto& [body, expected] : bodies) {
    INFO(body);
    const auto loaded = worker.client.load(python_variant(head + body + "\n"), {});
    REQUIRE(loaded.ok());
    const auto verdict =
        worker.client.verdict(verdict_args(loaded->handle, "B=1 Hq=1 Sq=2 D=4 f32"));
    REQUIRE_FALSE(verdict.ok());
    CHECK(verdict.error().invalidity == expected);
  }
  const auto nothing = worker.client.load(python_variant(head + "return None\n"), {});
  REQUIRE(nothing.ok());
  const auto verdict =
      worker.client.verdict(verdict_args(nothing->handle, "B=1 Hq=1 Sq=2 D=4 f32"));
  REQUIRE(verdict.ok());
  CHECK_FALSE(verdict->pass);
}

TEST_CASE("PyTorch on the CPU is a rival like any other", "[worker][python][torch]") {
  const fs::path python = source_dir() / ".venv" / "bin" / "python";
  PythonWorker worker(fs::exists(python) ? python.string() : "");
  if (!worker.has_python()) return;
  auto variant = read_variant(RealFileSystem(), source_dir() / "kernels", "torch_cpu_sdpa");
  if (!variant.ok()) FAIL(variant.error().message());
  const auto loaded = worker.client.load(*variant, {});
  if (!loaded.ok() && loaded.error().message.find("No module named 'torch'") != std::string::npos) {
    WARN("skipped: torch is not importable by " + worker.facts.python);
    return;
  }
  if (!loaded.ok()) FAIL(loaded.error().message << loaded.error().untrusted_output);
  CHECK(loaded->versions.contains("torch"));
  for (const char* text : {"B=1 Hq=4 Hkv=2 Sq=40 Skv=40 D=32 f32 causal=top_left",
                           "B=2 Hq=2 Sq=17 Skv=40 D=24 bf16 mask=bool:0.7 layout=BSHD",
                           "B=1 Hq=2 Sq=9 Skv=30 D=16 f16 causal=bottom_right",
                           "B=1 Hq=2 Sq=9 Skv=30 D=16 f32 mask=additive"}) {
    INFO(text);
    const auto verdict = worker.client.verdict(verdict_args(loaded->handle, text));
    if (!verdict.ok()) FAIL(verdict.error().message << verdict.error().untrusted_output);
    CHECK(verdict->pass);
    CHECK_FALSE(verdict->runs[0].second.lse_judged);
  }
  for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
    protocol::TurnArgs args;
    args.handle = loaded->handle;
    args.problem = *parse_problem("B=1 Hq=4 Sq=128 D=64 bf16");
    args.plan = quick_plan(kind);
    args.fresh_calls = false;  // their allowance is a time of this machine
    const auto turn = worker.client.turn(args);
    if (!turn.ok()) FAIL(turn.error().message << turn.error().untrusted_output);
    CHECK(turn->spot->pass);
  }
}
