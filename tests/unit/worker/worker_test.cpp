// SPDX-License-Identifier: MIT
// Honest work through the real worker: the shipped CPU kernels, all plans, and builds by the
// worker.
#include <algorithm>

#include "measure/quantiles.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "variant/builder.hpp"
#include "worker_under_test.hpp"

using namespace wb;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::runner;
using namespace wb::variant;
using namespace wb::testing;

namespace {

Variant read_kernel(const std::string& name) {
  auto variant = read_variant(RealFileSystem(), source_dir() / "kernels", name);
  if (!variant.ok()) FAIL(variant.error().message());
  return *std::move(variant);
}

protocol::LoadResult load_built(WorkerClient& client, const Variant& variant) {
  const auto built = client.build(variant, variant.manifest.defaults, "test-build", {});
  if (!built.ok()) FAIL(built.error().message << "\n" << built.error().untrusted_output);
  Artifact artifact;
  artifact.id = "test-build";
  artifact.content_sha256 = built->artifact_sha256;
  const auto loaded = client.load(variant, artifact);
  if (!loaded.ok()) FAIL(loaded.error().message);
  return *loaded;
}

std::ptrdiff_t with_lse(const protocol::VerdictResult& verdict) {
  return std::count_if(verdict.runs.begin(), verdict.runs.end(),
                       [](const auto& run) { return run.second.lse_judged; });
}

}  // namespace

TEST_CASE("hello describes a machine that can be measured on", "[worker][end]") {
  protocol::HelloResult facts;
  WorkerClient client = open_worker(&facts);
  CHECK(facts.device.backend == "cpu");
  CHECK(facts.threads >= 1);
  CHECK(facts.empty_call_us > 0);
  CHECK(facts.isolation.find("no_new_privs") != std::string::npos);
  CHECK(facts.device.memory_bytes_per_s.has_value());
  CHECK(client.canary()->healthy);
}

TEST_CASE("a kernel built over there passes its verdict and is timed by every plan",
          "[worker][end]") {
  WorkerClient& client = shared_worker();
  const auto loaded = load_built(client, read_kernel("cpu_online"));
  CHECK(loaded.versions["build_id"] == "test-build");
  protocol::VerdictArgs verdict_args;
  verdict_args.handle = loaded.handle;
  for (const char* text : {"B=1 Hq=2 Hkv=1 Sq=33 Skv=65 D=16 f32 causal=bottom_right",
                           "B=2 Hq=2 Sq=17 Skv=40 D=24 Dv=8 bf16 mask=bool:0.7 layout=BSHD",
                           "B=1 Hq=1 Sq=1 Skv=100 D=32 f16 causal=none mask=additive"}) {
    INFO(text);
    verdict_args.problem = *parse_problem(text);
    const auto verdict = client.verdict(verdict_args);
    if (!verdict.ok()) FAIL(verdict.error().message);
    CHECK(verdict->pass);
    // A large draw, a row without keys and at least one normal draw each with and without a
    // log-sum-exp.
    CHECK(verdict->runs.size() == (verdict_args.problem.mask == MaskKind::none ? 5u : 7u));
    CHECK(with_lse(*verdict) >= 2);
    CHECK(with_lse(*verdict) < static_cast<std::ptrdiff_t>(verdict->runs.size()) - 1);
    CHECK(verdict->runs[0].second.seed != verdict->runs[1].second.seed);
  }
  protocol::RunArgs few;  // as a search screens
  few.handle = loaded.handle;
  few.problem = *parse_problem("B=1 Hq=4 Sq=256 D=16 f32");
  few.max_blocks = 3;
  const auto screened = client.run(few);
  if (!screened.ok()) FAIL(screened.error().message);
  CHECK(screened->verdict.pass);
  CHECK(screened->verdict.blocks_judged == 3);
  CHECK(screened->verdict.blocks_total == 16);
  for (const PlanKind kind : {PlanKind::hot, PlanKind::cold, PlanKind::eager}) {
    INFO(to_string(kind));
    protocol::TurnArgs args;
    args.handle = loaded.handle;
    args.problem = *parse_problem("B=1 Hq=4 Sq=64 Skv=128 D=32 f32");
    args.plan = quick_plan(kind);
    args.fresh_calls = false;  // their limits are times of this machine
    const auto turn = client.turn(args);
    if (!turn.ok()) FAIL(turn.error().message);
    CHECK(turn->samples_us.size() >= 3);
    CHECK(turn->samples_us.size() <= 200);
    CHECK(median(turn->samples_us) > 0);
    // How many calls a hot sample has follows from blocks before it (turn_plan_test.cpp).
    CHECK(turn->calls_per_sample >= 1);
    if (kind != PlanKind::hot) CHECK(turn->calls_per_sample == 1);
    REQUIRE(turn->spot.has_value());
    CHECK(turn->spot->pass);
    CHECK(turn->reported_us <= turn->wall_us);  // the same clock, read earlier and later
  }
}

TEST_CASE("drawn runs are called in their form, and end with the first that fails",
          "[worker][end]") {
  WorkerClient& client = shared_worker();
  const auto loaded = load_built(client, read_kernel("cpu_online"));
  protocol::VerdictArgs args;
  args.handle = loaded.handle;
  args.problem = *parse_problem("B=1 Hq=1 Sq=1 D=8");
  for (const char* text :
       {"B=2 Hq=4 Hkv=2 Sq=9 Skv=21 D=7 Dv=9 f16 causal=top_left mask=additive:finite_min "
        "scale=-0.3 "
        "layout=q:BSHD,k:BHSD,v:BSHD",
        "B=1 Hq=2 Sq=5 Skv=40 D=16 bf16 causal=bottom_right", "B=3 Hq=1 Sq=2 Skv=3 D=1 f32"}) {
    protocol::RunArgs run;
    run.problem = *parse_problem(text);
    run.draw = run.problem.mask == MaskKind::none ? Draw::low : Draw::edge;
    run.form.q = {3, 1, 5, 1};
    run.form.k = {0, 2, 7, 3};
    run.form.v = {1, 0, 0, 5};
    run.form.out = {2, 3, 1, 7};
    run.form.lse_shift = 3;
    run.form.threads = 1;
    run.form.call = 12;
    run.form.beside = *parse_problem("B=1 Hq=2 Sq=8 D=8 f32 causal=top_left");
    args.drawn.push_back(run);
    run.form.beside_is_gone = true;
    args.drawn.push_back(run);
  }
  const auto verdict = client.verdict(args);
  if (!verdict.ok()) FAIL(verdict.error().message);
  CHECK(verdict->pass);
  CHECK_FALSE(verdict->failure.has_value());
  REQUIRE(verdict->runs.size() == args.drawn.size());
  CHECK(verdict->runs[0].second.lse_judged);
  // What is wrong there ends them; so does what fails otherwise, and both are told which it was.
  const auto only_f32 = load_hostile(client, "only_named_shape");
  REQUIRE(only_f32.ok());
  args.handle = only_f32->handle;
  args.drawn.resize(3);
  args.drawn[0].problem = *parse_problem("B=1 Hq=1 Sq=4 D=8 f32");
  args.drawn[1].problem = *parse_problem("B=2 Hq=1 Sq=4 D=8 f32");
  for (protocol::RunArgs& run : args.drawn) {
    run.form = {};
    run.draw = Draw::normal;
  }
  const auto wrong = client.verdict(args);
  REQUIRE(wrong.ok());
  CHECK_FALSE(wrong->pass);
  CHECK(wrong->runs.size() == 2);
  const auto crashes = load_hostile(client, "crash");
  REQUIRE(crashes.ok());
  args.handle = crashes->handle;
  const auto crash = client.verdict(args);
  REQUIRE(crash.ok());
  CHECK_FALSE(crash->pass);
  CHECK(crash->runs.empty());
  REQUIRE(crash->failure.has_value());
  CHECK(crash->failure->invalidity == Invalidity::runtime);
}

TEST_CASE("placements and problems may change from turn to turn", "[worker][end]") {
  WorkerClient& client = shared_worker();
  const auto loaded = load_hostile(client, "honest");
  REQUIRE(loaded.ok());
  protocol::TurnArgs args;
  args.handle = loaded->handle;
  args.plan = quick_plan();
  args.fresh_calls = false;
  for (const std::int64_t placement : {0, 0, 1, 2, 1}) {
    for (const char* text : {"B=1 Hq=1 Sq=8 D=8", "B=1 Hq=2 Sq=16 Skv=9 D=4 causal=top_left"}) {
      args.placement = placement;
      args.problem = *parse_problem(text);
      const auto turn = client.turn(args);
      if (!turn.ok()) FAIL(turn.error().message);
      CHECK(turn->spot->pass);
    }
  }
  args.spot_check = false;
  const auto unchecked = client.turn(args);
  REQUIRE(unchecked.ok());
  CHECK_FALSE(unchecked->spot.has_value());
}

TEST_CASE("two subjects live side by side, and status shows them", "[worker][end]") {
  WorkerClient& client = shared_worker();
  const auto first = load_hostile(client, "honest");
  const auto second = load_hostile(client, "honest");
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->pid != second->pid);
  auto status = client.status();
  REQUIRE(status.ok());
  REQUIRE(status->subjects.size() == 2);
  CHECK(status->subjects[0].subject == "honest@hostile_");
  CHECK(status->subjects[0].rss_bytes > 0);
  CHECK(status->judge_pid > 0);
  REQUIRE(client.unload(first->handle).ok());
  status = client.status();
  REQUIRE(status->subjects.size() == 1);
  CHECK(status->subjects[0].handle == second->handle);
  const auto profile = client.profile({.handle = second->handle, .problem = small_problem()});
  REQUIRE(profile.ok());
  CHECK_FALSE(profile->available);
  CHECK_FALSE(profile->reason.empty());
}

TEST_CASE("a source that does not compile is the variant's fault, with the compiler's words",
          "[worker][end]") {
  WorkerClient& client = shared_worker();
  Variant broken = read_kernel("cpu_online");
  broken.files["cpu_online/kernel.cpp"] += "\nthis is no C++;\n";
  const auto built = client.build(broken, broken.manifest.defaults, "x", {});
  REQUIRE_FALSE(built.ok());
  CHECK(built.error().invalidity == Invalidity::compile);
  CHECK(built.error().untrusted_output.find("error") != std::string::npos);
  CHECK(client.alive());
}

TEST_CASE("a library that is none is a runtime failure of the variant", "[worker][end][hostile]") {
  WorkerClient& client = shared_worker();
  const auto folder = TempDirectory::create("wb-worker-test-");
  Artifact artifact;
  artifact.id = "x";
  artifact.path = folder->path() / "artifact.so";
  RealFileSystem file_system;
  REQUIRE(file_system.write_atomic(artifact.path, "not an ELF file", Durability::none).ok());
  artifact.content_sha256 = sha256_hex("not an ELF file");
  Variant variant;
  variant.manifest.name = "none";
  variant.id = std::string(64, '0');
  const auto loaded = client.load(variant, artifact);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().invalidity == Invalidity::runtime);
  CHECK(loaded.error().message.find("cannot load the shared library") != std::string::npos);
}

TEST_CASE("an unknown backend is outside this worker's reach", "[worker][end]") {
  WorkerClient& client = shared_worker();
  Variant variant;
  variant.manifest.name = "gpu";
  variant.manifest.backend = Backend::cuda;
  variant.id = std::string(64, '0');
  Artifact artifact;
  artifact.id = "x";
  artifact.path = library("hostile/hostile_honest.so");
  artifact.content_sha256 = sha256_hex(*RealFileSystem().read(artifact.path, 64u << 20));
  const auto loaded = client.load(variant, artifact);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().invalidity == Invalidity::constraints);
}
