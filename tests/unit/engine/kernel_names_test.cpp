// SPDX-License-Identifier: MIT
// On a GPU the baseline asks which kernels the rivals' calls launch, once for each problem and in
// processes that nothing is timed in.
#include <set>

#include "core/json.hpp"
#include "engine_world.hpp"

using namespace wb;
using namespace wb::session;
using testing::Bench;

namespace {

constexpr const char* k_problems = "B=1 Hq=4 Sq=128 D=64 f16;B=2 Hq=4 Sq=1 Skv=128 D=64 f16";

struct NamesBench : Bench {
  NamesBench() {
    play_gpu();
    worker.subjects["torch_flash"].profile = protocol::ProfileResult{
        true, "", {{"launches", Json::array({{{"kernel", "flash_fwd"}}})}, {"launched", 1}}};
  }
  Json open_with(const std::vector<std::string>& rivals) {
    return call("open",
                {{"start", "triton_flash"},
                 {"problem", k_problems},
                 {"rivals", rivals},
                 {"effort", "quick"}},
                session);
  }
};

}  // namespace

TEST_CASE("the baseline names the kernels of each rival on each problem",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.open_with({"torch_flash", "torch_math"});
  const auto taken = bench.events("profile_taken");
  REQUIRE(taken.size() == 4);
  for (const Event& event : taken) {
    CHECK(event.payload["tool"] == "torch.profiler");
    CHECK(event.payload["iteration"] == 0);
    const bool is_flash = event.payload["subject"] == "torch_flash";
    CHECK(event.payload["available"] == is_flash);
    CHECK(event.payload["records"].contains("launches") == is_flash);
    CHECK(event.payload["reason"].get<std::string>().empty() == is_flash);
  }
  // After its verdict, before any turn, and in a process that no turn has.
  std::set<std::int64_t> looked_into;
  bool timed = false;
  for (const protocol::Request& request : bench.worker.requests) {
    timed = timed || request.verb == protocol::Verb::turn;
    if (request.verb == protocol::Verb::profile) {
      CHECK_FALSE(timed);
      looked_into.insert(request.args["handle"].get<std::int64_t>());
    }
    if (request.verb == protocol::Verb::turn || request.verb == protocol::Verb::verdict) {
      CHECK_FALSE(looked_into.contains(request.args["handle"].get<std::int64_t>()));
    }
  }
  CHECK(looked_into.size() == 2);
}

TEST_CASE("a rival whose kernels cannot be named is a rival all the same",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.worker.subjects["torch_flash"].profile =
      Failure{Invalidity::timeout, "it did not answer before the deadline", ""};
  const Json rows = bench.open_with({"torch_flash"})["baseline"];
  REQUIRE_FALSE(rows.empty());
  for (const Json& row : rows) CHECK(row["rivals_us"]["torch_flash"] > 0);
  const auto taken = bench.events("profile_taken");
  REQUIRE(taken.size() == 1);  // the process is gone: the second problem is not asked for
  CHECK(taken[0].payload["available"] == false);
  CHECK(taken[0].payload["reason"] == "it did not answer before the deadline");
}

TEST_CASE("a Python variant's profile names its kernels, a rival on the CPU has none",
          "[engine][kernel_names]") {
  NamesBench bench;
  bench.open_with({"none"});
  CHECK(bench.events("profile_taken").empty());
  const Json answer = bench.call("profile", {{"variant", "torch_flash"}}, bench.session);
  CHECK(answer["taken"] == true);
  CHECK(answer["problems"][0]["launches"][0]["kernel"] == "flash_fwd");
  CHECK(bench.events("profile_taken").at(0).payload["tool"] == "torch.profiler");
  Bench cpu;
  cpu.open({{"rivals", {"torch_cpu_sdpa"}}});
  CHECK(cpu.worker.count(protocol::Verb::profile) == 0);
}
