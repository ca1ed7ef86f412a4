// SPDX-License-Identifier: MIT
#include <limits>
#include <string>

#include "core/json.hpp"
#include "protocol/protocol.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::protocol;

namespace {

const std::string k_hash(64, 'a');

/// Through JSON text and back, as the wire does it; equal JSON means that no field was lost.
template <typename Message>
Message round_trip(const Message& message) {
  Message read;
  const auto json = parse_json(to_json(message).dump(), "a message");
  REQUIRE(json.ok());
  const auto result = from_json(*json, read);
  if (!result.ok()) FAIL(result.error().message());
  CHECK(to_json(read) == to_json(message));
  return read;
}

template <typename Message>
std::string refusal(const Json& json) {
  Message message;
  const auto result = from_json(json, message);
  return result.ok() ? "" : result.error().message();
}

Problem some_problem() {
  return *parse_problem(
      "B=2 Hq=4 Hkv=2 Sq=3 Skv=70 D=32 Dv=16 bf16 causal=bottom_right "
      "mask=bool:0.7 layout=BSHD scale=0.25");
}

OutputVerdict some_verdict() {
  OutputVerdict verdict;
  verdict.reason = "max error beyond its budget";
  verdict.worst = {{1, 2, 64, 128}, "max", 1e-3, 1e-6, 1e3, 70, 5, 0.5, 0.25};
  verdict.blocks_judged = 4;
  verdict.blocks_total = 9;
  return verdict;
}

}  // namespace

TEST_CASE("hello goes both ways", "[protocol][messages]") {
  const auto args = round_trip(HelloArgs{1, "/usr/bin/python3", "0-1", 2, 3});
  CHECK(args.cpu_set == "0-1");
  CHECK(args.gpu == 3);
  CHECK(round_trip(HelloArgs{}).gpu == -1);
  HelloResult result;
  result.worker_version = "0.1.0";
  result.device.backend = "cpu";
  result.device.id = "cpu:x:0-1";
  result.device.name = "x";
  result.device.units = 2;
  result.device.f32_flops_per_s = DeviceFact{2e11, "calibrated at open"};
  result.isolation = "rlimits";
  result.empty_call_us = 0.002;
  result.backends = {"cpu"};
  CHECK(round_trip(result).device.f32_flops_per_s->value == 2e11);
}

TEST_CASE("the small messages go both ways", "[protocol][messages]") {
  CHECK(round_trip(HasArgs{{k_hash}}).sha256.size() == 1);
  CHECK(round_trip(HasResult{{k_hash}}).missing.size() == 1);
  CHECK(round_trip(PutArgs{k_hash, 512, 1024, "Zm9v"}).offset == 512);
  CHECK(round_trip(PutResult{1024, true}).complete);
  CHECK(round_trip(CanaryResult{true, "fine"}).healthy);
  CHECK(round_trip(ProfileResult{false, "none", Json::object()}).reason == "none");
  for (const char* tool : {"ncu", "racecheck", "torch.profiler"}) {
    CHECK(round_trip(ProfileArgs{.handle = 1, .problem = {}, .tool = tool}).tool == tool);
  }
  Json odd = to_json(ProfileArgs{});
  odd["tool"] = "nsys";
  ProfileArgs refused;
  CHECK_FALSE(from_json(odd, refused).ok());
  StatusResult status;
  status.subjects.push_back({1, 42, "cpu_tiled@00000000", 1 << 20});
  status.judge_pid = 43;
  CHECK(round_trip(status).subjects[0].pid == 42);
}

TEST_CASE("build and load go both ways", "[protocol][messages]") {
  BuildArgs build;
  build.variant_name = "cpu_tiled";
  build.build_id = "id";
  build.target = "native";
  build.files = {{"cpu_tiled/kernel.cpp", k_hash}};
  build.configuration = {{"TILE_M", 32}, {"TILE_N", -1}};
  CHECK(round_trip(build).configuration.size() == 2);
  CHECK(round_trip(BuildResult{k_hash, {{"wall_s", 1.5}}}).record["wall_s"] == 1.5);
  LoadArgs load;
  load.subject = "torch";
  load.backend = "python";
  load.entry = "rival:sdpa";
  load.files = {{"rival.py", k_hash}};
  load.python_follows = 2;
  CHECK(round_trip(load).python_follows == 2);
  CHECK(round_trip(load).files[0].path == "rival.py");
  CHECK(round_trip(LoadResult{3, 99, 1.25, {{"torch", "2"}}}).versions["torch"] == "2");
}

TEST_CASE("a form of a call that is none is refused", "[protocol][messages][bad_input]") {
  for (const char* text : {R"({"q": 3})", R"({"q": [1, 2, 3]})", R"({"q": [0, 0, 0, -1]})",
                           R"({"q": [0, 0, 0, 99999]})", R"({"q": [0, 0, 0, 0.5]})",
                           R"({"call": 0})", R"({"call": 4001})", R"({"threads": -1})",
                           R"({"beside": 3})", R"({"surprise": 1})", "[]"}) {
    INFO(text);
    Json json =
        to_json(RunArgs{.handle = 1, .problem = some_problem(), .form = {}, .max_blocks = {}});
    json["form"] = parse_json(text, "a test").value();
    RunArgs run;
    CHECK_FALSE(from_json(json, run).ok());
  }
}

TEST_CASE("run, verdict and turn go both ways", "[protocol][messages]") {
  RunArgs run;
  run.handle = 2;
  run.problem = some_problem();
  run.draw = Draw::edge;
  run.want_lse = false;
  CHECK(round_trip(run).problem == some_problem());
  CHECK_FALSE(round_trip(run).max_blocks.has_value());
  run.max_blocks = 8;
  CHECK(round_trip(run).max_blocks == 8);
  CHECK(round_trip(run).form == CallForm());
  run.form.k = {1, 2, 3, 4};
  run.form.mask.middle = 5;
  run.form.threads = 1;
  run.form.call = 37;
  run.form.beside = some_problem();
  run.form.beside_is_gone = true;
  CHECK(round_trip(run).form == run.form);
  const RunResult result{std::numeric_limits<std::uint32_t>::max(), some_verdict(), true, 0.5};
  CHECK(round_trip(result).seed == std::numeric_limits<std::uint32_t>::max());
  VerdictArgs verdict;
  verdict.problem = some_problem();
  CHECK(round_trip(verdict).drawn.empty());
  verdict.drawn = {run, run};
  CHECK(round_trip(verdict).drawn[1].form == run.form);
  VerdictResult verdict_result;
  verdict_result.runs = {{Draw::normal, result}, {Draw::large, result}};
  CHECK(round_trip(verdict_result).runs[1].first == Draw::large);
  CHECK_FALSE(round_trip(verdict_result).failure.has_value());
  verdict_result.failure = Failure{Invalidity::timeout, "late", std::string("a\0b", 3)};
  CHECK(round_trip(verdict_result).failure->invalidity == Invalidity::timeout);
  CHECK(round_trip(verdict_result).failure->untrusted_output == "a?b");
  TurnArgs turn;
  turn.problem = some_problem();
  turn.plan.kind = PlanKind::cold;
  turn.placement = 4;
  turn.spot_check = false;
  turn.fresh_calls = false;
  CHECK(round_trip(turn).plan == turn.plan);
  TurnResult turn_result;
  turn_result.samples_us = {1.5, 1.25};
  turn_result.calls_per_sample = 100;
  turn_result.wall_us = 280;
  turn_result.reported_us = 275;
  turn_result.flags = {"not_settled"};
  CHECK_FALSE(round_trip(turn_result).spot.has_value());
  turn_result.spot = some_verdict();
  CHECK(round_trip(turn_result).spot->blocks_total == 9);
  CHECK_FALSE(round_trip(turn_result).device.has_value());
  turn_result.device.emplace().backend = "cpu";
  turn_result.device->id = turn_result.device->name = "cpu:x:0-1";
  turn_result.device->units = 2;
  turn_result.device->f32_flops_per_s = DeviceFact{2e11, "calibrated at open"};
  CHECK(round_trip(turn_result).device->f32_flops_per_s->value == 2e11);
}

TEST_CASE("first calls go both ways", "[protocol][messages]") {
  FirstCallsArgs args;
  args.handles = {3, 4, 5};
  args.problem = some_problem();
  args.least = 6;
  args.most = 7;
  args.budget_us = 1.5;
  CHECK(round_trip(args).handles == args.handles);
  CHECK(round_trip(args).most == 7);
  FirstCallsResult result;
  result.sides = {{{1.5, 2}, {1, 2}, {0.5, 1}, 30, 0}, {{3}, {}, {}, 40, 100}};
  result.flags = {"foreign_load"};
  result.chained = true;
  CHECK(round_trip(result).chained);
  CHECK(round_trip(result).sides[1].allowance_us == 100);
  CHECK(round_trip(result).sides[0].fill_us == std::vector<double>{0.5, 1});
  CHECK_FALSE(round_trip(result).failed.has_value());
  result.failed = 1;
  result.failure = Failure{Invalidity::runtime, "it died", "words"};
  CHECK(*round_trip(result).failed == 1);
  CHECK(round_trip(result).failure->untrusted_output == "words");

  Json json = to_json(args);
  for (const Json& odd : {Json::array({3}), Json::array({3, -1}), Json(3), Json()}) {
    json["handles"] = odd;
    CHECK(refusal<FirstCallsArgs>(json).find("handles") != std::string::npos);
  }
  json = to_json(args);
  json["most"] = 5;  // below the least
  CHECK(refusal<FirstCallsArgs>(json).find("most") != std::string::npos);
  json = to_json(args);
  json["budget_us"] = -1;
  CHECK(refusal<FirstCallsArgs>(json).find("budget_us") != std::string::npos);
  json = to_json(result);
  json["failure"]["invalidity"] = "tired";
  CHECK(refusal<FirstCallsResult>(json).find("invalidity") != std::string::npos);
}

TEST_CASE("an infinite error of a verdict survives the wire", "[protocol][messages]") {
  OutputVerdict verdict = some_verdict();
  verdict.worst.error = std::numeric_limits<double>::infinity();
  verdict.worst.got = std::numeric_limits<double>::quiet_NaN();
  const auto back = round_trip(RunResult{1, verdict, false, 0.5});
  CHECK(back.verdict.worst.error == std::numeric_limits<double>::infinity());
}

TEST_CASE("ill-typed arguments are refused by name", "[protocol][messages][hostile]") {
  Json load = to_json(LoadArgs{});
  load["deadline_ms"] = 0;
  CHECK(refusal<LoadArgs>(load).find("deadline_ms") != std::string::npos);
  load["deadline_ms"] = 1e300;
  CHECK(refusal<LoadArgs>(load).find("deadline_ms") != std::string::npos);
  load = to_json(LoadArgs{});
  load["artifact_sha256"] = "../../etc/passwd";
  CHECK(refusal<LoadArgs>(load).find("artifact_sha256") != std::string::npos);
  load = to_json(LoadArgs{});
  load["surprise"] = 1;
  CHECK(refusal<LoadArgs>(load).find("surprise") != std::string::npos);
  for (const std::string path : {"../x.py", "/etc/x.py", "", "a/../../x.py"}) {
    load = to_json(LoadArgs{});
    load["files"] = {{{"path", path}, {"sha256", k_hash}}};
    CHECK(refusal<LoadArgs>(load).find("inside") != std::string::npos);
  }
  Json put = to_json(PutArgs{k_hash, 0, 1, ""});
  put["offset"] = -1;
  CHECK(refusal<PutArgs>(put).find("offset") != std::string::npos);
  Json has = {{"sha256", {"ABC"}}};
  CHECK(refusal<HasArgs>(has).find("sha256") != std::string::npos);
  Json run = to_json(RunArgs{});
  run["problem"]["Hkv"] = 3;
  run["problem"]["Hq"] = 4;
  CHECK(refusal<RunArgs>(run).find("problem") != std::string::npos);
  run = to_json(RunArgs{});
  run["draw"] = "huge";
  CHECK(refusal<RunArgs>(run).find("draw") != std::string::npos);
  Json build = to_json(BuildArgs{"a", "b", "c", {}, {}, 1});
  build["configuration"] = {{"TILE_M", "32"}};
  CHECK(refusal<BuildArgs>(build).find("TILE_M") != std::string::npos);
}

TEST_CASE("what NVML said travels with a turn and with hello, where there is a GPU",
          "[protocol][messages]") {
  TurnResult turn{{1.0}, 1, 1, 1, {"throttled"}, {}};
  CHECK_FALSE(to_json(turn).contains("conditions"));
  turn.conditions.emplace();
  turn.conditions->readings = 2;
  turn.conditions->power_w = ReadingRange{300, 310, 320};
  TurnResult back;
  REQUIRE(from_json(to_json(turn), back).ok());
  CHECK(back.conditions == turn.conditions);
  REQUIRE(from_json(to_json(TurnResult{{1.0}, 1, 1, 1, {}, {}}), back).ok());
  CHECK_FALSE(back.conditions);
  Json json = to_json(turn);
  json["conditions"]["power_w"] = 310;
  CHECK(refusal<TurnResult>(json).find("power_w") != std::string::npos);
  HelloResult hello;
  CHECK_FALSE(to_json(hello).contains("gpu"));
  hello.gpu = GpuSettings{"580.65.06", true, 1'980, 3'201, 700, {}};
  hello.device.backend = "cuda";
  HelloResult greeted;
  const auto read = from_json(to_json(hello), greeted);
  REQUIRE(read.ok());
  CHECK(greeted.gpu == hello.gpu);
}

TEST_CASE("launches travel with a turn, and a turn of an older worker has none",
          "[protocol][messages]") {
  TurnResult turn{{1.0}, 1, 1, 1, {}, {}};
  CHECK_FALSE(to_json(turn).contains("launches"));
  CHECK(round_trip(turn).launches.empty());
  KernelLaunch main{.kernel = "flash<__half, 64>", .grid = {8, 4, 2}, .block = {128, 1, 1}};
  main.cluster = {2, 1, 1};
  main.per_call = 3;
  main.dynamic_shared_bytes = 49'152;
  main.static_shared_bytes = 128;
  main.registers = 168;
  main.local_bytes = 0;
  main.blocks_per_sm = 2;
  const KernelLaunch bare{.kernel = "merge", .grid = {1, 1, 1}, .block = {32, 1, 1}};
  turn.launches = {main, bare};
  CHECK(round_trip(turn).launches == turn.launches);
  const Json told = to_json(turn)["launches"];
  CHECK(told[0]["grid"] == Json::array({8, 4, 2}));
  for (const char* absent : {"cluster", "registers", "static_shared_bytes", "blocks_per_sm"}) {
    CHECK_FALSE(told[1].contains(absent));
  }
}

TEST_CASE("launches that no device has are refused, and their names are made fit to print",
          "[protocol][messages][hostile]") {
  TurnResult turn{{1.0}, 1, 1, 1, {}, {}};
  turn.launches = {{.kernel = "flash", .grid = {1, 1, 1}, .block = {32, 1, 1}}};
  const Json good = to_json(turn);
  const auto with = [&](const char* key, const Json& value) {
    Json odd = good;
    odd["launches"][0][key] = value;
    return odd;
  };
  for (const Json& size : {Json::array({1, 1}), Json::array({1, 1, 0}), Json::array({1, 1, 1.5}),
                           Json::array({1, 1, std::int64_t{1} << 40}), Json("(1, 1, 1)"), Json()}) {
    INFO(size.dump());
    CHECK(refusal<TurnResult>(with("grid", size)).find("grid") != std::string::npos);
  }
  CHECK(refusal<TurnResult>(with("block", {2'048, 1, 1})).find("block") != std::string::npos);
  CHECK(refusal<TurnResult>(with("registers", -1)).find("registers") != std::string::npos);
  CHECK(refusal<TurnResult>(with("blocks_per_sm", 1e9)).find("blocks_per_sm") != std::string::npos);
  CHECK(refusal<TurnResult>(with("per_call", 0)).find("per_call") != std::string::npos);
  CHECK(refusal<TurnResult>(with("surprise", 1)).find("surprise") != std::string::npos);
  Json many = good;
  for (std::size_t i = 0; i < k_most_launches; ++i) many["launches"].push_back(good["launches"][0]);
  CHECK(refusal<TurnResult>(many).find("at most 64") != std::string::npos);
  many["launches"] = "all of them";
  CHECK_FALSE(refusal<TurnResult>(many).empty());
  TurnResult read;
  REQUIRE(from_json(with("kernel", std::string(5'000, 'x') + "\n\x1b"), read).ok());
  CHECK(read.launches[0].kernel.size() <= k_launch_name_bytes);
  REQUIRE(from_json(with("kernel", "a\n\x1b[2Jb"), read).ok());
  CHECK(read.launches[0].kernel == "a\\n\\x1b[2Jb");
}

TEST_CASE("samples that are no numbers are refused", "[protocol][messages][hostile]") {
  Json turn = to_json(TurnResult{{1.0}, 1, 1, 1, {}, {}});
  turn["samples_us"] = {1.0, nullptr};
  CHECK(refusal<TurnResult>(turn).find("samples_us") != std::string::npos);
  turn["samples_us"] = "1.0";
  CHECK(refusal<TurnResult>(turn).find("samples_us") != std::string::npos);
}
