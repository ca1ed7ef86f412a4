// SPDX-License-Identifier: MIT
// Confirmation on a GPU: a compute-bound problem is timed in both regimes, and a gain in one of
// them only is none.
#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::variant;
using testing::Bench;

namespace {

// At the fake device's peaks (10 TFLOP/s, 1 TB/s): 107 us of products, and memory alone.
constexpr const char* k_prefill = "B=1 Hq=4 Sq=1024 D=64 f16";
constexpr const char* k_decode = "B=8 Hq=8 Sq=1 Skv=1024 D=64 f16";

struct RegimeBench : Bench {
  RegimeBench(double candidate_us, std::optional<double> candidate_sustained_us) {
    play_gpu();
    worker.subjects["triton_flash"] = with_time(200);
    worker.subjects["torch_flash"] = with_time(candidate_us);
    worker.subjects["torch_flash"].sustained_us = candidate_sustained_us;
  }
  void open_with(const std::string& problems, const std::string& regime = "burst",
                 const std::string& plan = "hot") {
    call("open",
         {{"start", "triton_flash"},
          {"problem", problems},
          {"rivals", {"none"}},
          {"plan", plan},
          {"regime", regime},
          {"effort", "quick"}},
         session);
  }
  Json confirm() { return iterate({{"variant", "torch_flash"}, {"confirm", "always"}}); }
  std::int64_t turns_in(const char* regime, const char* problem) const {
    std::int64_t n = 0;
    for (const Event& event : events("turn_measured")) {
      const Json& turn = event.payload;
      n += turn["phase"] == "confirmation" && turn["plan"] == "hot" &&
                   turn.value("regime", "burst") == regime &&
                   turn["problem"] == to_text(*parse_problem(problem))
               ? 1
               : 0;
    }
    return n;
  }
  /// The confirmed hot comparison with the incumbent on that problem.
  Json compared(const char* problem) const {
    Json found;
    for (const Event& event : events("comparison_made")) {
      const Json& made = event.payload;
      const bool is_it = made["phase"] == "confirmation" && made["plan"] == "hot" &&
                         made["problem"] == to_text(*parse_problem(problem));
      if (is_it) found = made;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("a compute-bound problem is confirmed in both regimes", "[engine][regimes]") {
  RegimeBench bench(150, 160);
  bench.open_with(std::string(k_prefill) + ";" + k_decode);
  CHECK(bench.confirm()["outcome"] == "win");
  CHECK(bench.turns_in("burst", k_prefill) == 20);      // 5 processes, 2 subjects, there and back
  CHECK(bench.turns_in("sustained", k_prefill) == 12);  // 3 processes
  CHECK(bench.turns_in("sustained", k_decode) == 0);
  const Json made = bench.compared(k_prefill);
  CHECK(made["outcome"] == "faster");
  CHECK(made["speedup"].get<double>() == Approx(200.0 / 150).epsilon(0.01));
  const Json& regimes = made["regimes"];
  CHECK(regimes["burst"]["speedup"] == made["speedup"]);
  CHECK(regimes["sustained"]["outcome"] == "faster");
  CHECK(regimes["sustained"]["speedup"].get<double>() == Approx(1.25).epsilon(0.01));
  CHECK(regimes["sustained"]["candidate_us"].get<double>() == Approx(160).epsilon(0.01));
  CHECK(regimes["sustained"]["instances"] == 3);
  const auto first = regimes["sustained"]["turns"][0].get<std::int64_t>();
  CHECK(first > made["turns"][1].get<std::int64_t>());
  CHECK_FALSE(bench.compared(k_decode).contains("regimes"));
  const auto report = bench.call("report", {{"kind", "full"}}, bench.session)["text"];
  const auto page = report.get<std::string>();
  INFO(page);
  CHECK(page.find("(burst 1.33") != std::string::npos);
  CHECK(page.find("; sustained 1.2") != std::string::npos);
  CHECK(page.find("bound by compute") != std::string::npos);
}

TEST_CASE("a gain in a burst that lasting load turns round is none", "[engine][regimes]") {
  RegimeBench bench(150, 230);
  bench.open_with(k_prefill);
  const Json answer = bench.confirm();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["incumbent"].get<std::string>().starts_with("triton_flash"));
  const auto message = answer["message"].get<std::string>();
  CHECK(message.find("point opposite ways") != std::string::npos);
  CHECK(answer["problems"][0]["outcome"] == "ambiguous");
  const Json made = bench.compared(k_prefill);
  CHECK(made["outcome"] == "ambiguous");
  CHECK(made["interval"]["low"].get<double>() < 1);
  CHECK(made["interval"]["high"].get<double>() > 1.3);
  CHECK(made["regimes"]["burst"]["outcome"] == "faster");
  CHECK(made["regimes"]["sustained"]["outcome"] == "slower");
  CHECK(bench.events("incumbent_changed").size() == 1);
  CHECK(bench.events("hypothesis_decided").back().payload["state"] != "supported");
}

TEST_CASE("a session of sustained turns is held to bursts", "[engine][regimes]") {
  RegimeBench bench(230, 150);
  bench.worker.subjects["triton_flash"].sustained_us = 200;
  bench.open_with(k_prefill, "sustained");
  const Json answer = bench.confirm();
  CHECK(answer["outcome"] == "no_gain");
  CHECK(answer["message"].get<std::string>().find("sustained (1.3") != std::string::npos);
  CHECK(bench.turns_in("sustained", k_prefill) == 20);
  CHECK(bench.turns_in("burst", k_prefill) == 12);
}

TEST_CASE("without a figure in the other regime nothing is won", "[engine][regimes]") {
  RegimeBench bench(150, 0.001);  // far below the roofline
  bench.open_with(k_prefill);
  const Json answer = bench.confirm();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["message"].get<std::string>().find("refused") != std::string::npos);
  RegimeBench disturbed(150, {});
  testing::FakeSubject& subject = disturbed.worker.subjects["torch_flash"];
  disturbed.open_with(k_prefill);
  subject.disturbed_when_sustained = true;
  const Json other = disturbed.confirm();
  CHECK(other["outcome"] == "no_gain");
  CHECK(other["message"].get<std::string>().find("no figure") != std::string::npos);
  CHECK(disturbed.compared(k_prefill)["regimes"]["sustained"]["speedup"].is_null());
  CHECK(disturbed.compared(k_prefill)["regimes"]["burst"]["outcome"] == "faster");
}

TEST_CASE("memory-bound problems, other objectives and the CPU have one regime",
          "[engine][regimes]") {
  RegimeBench memory(150, 230);
  memory.open_with(k_decode);
  CHECK(memory.confirm()["outcome"] == "win");
  CHECK(memory.turns_in("sustained", k_decode) == 0);
  RegimeBench cold(150, 230);
  cold.open_with(k_prefill, "burst", "cold");
  CHECK(cold.confirm()["outcome"] == "win");
  CHECK(cold.turns_in("sustained", k_prefill) == 0);
  Bench cpu;
  cpu.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  cpu.worker.subjects["cpu_tiled"] = Bench::with_time(150);
  cpu.open({{"problem", "B=1 Hq=4 Sq=1024 D=64 f32"}});
  CHECK(cpu.iterate()["outcome"] == "win");
  for (const Event& event : cpu.events("turn_measured"))
    CHECK_FALSE(event.payload.contains("regime"));
}

TEST_CASE("a candidate that fails under lasting load is invalid", "[engine][regimes]") {
  RegimeBench bench(150, 160);
  bench.open_with(k_prefill);
  bench.worker.subjects["torch_flash"].fails_when_sustained =
      Failure{Invalidity::timeout, "it hung", ""};
  const Json answer = bench.confirm();
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "timeout");
}
