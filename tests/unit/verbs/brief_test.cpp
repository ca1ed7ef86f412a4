// SPDX-License-Identifier: MIT
// `brief`: never more than 4 KiB, a function of the log alone, silent about held-out shapes.
#include "core/json.hpp"
#include "support/fake_clock.hpp"
#include "support/places.hpp"
#include "unit/engine/engine_world.hpp"
#include "verbs/brief_facts.hpp"

using namespace wb;
using namespace wb::verbs;
using namespace wb::session;
using testing::Bench;

namespace {

/// A log written by hand: what a session of many iterations leaves.
class WrittenSession {
 public:
  explicit WrittenSession(const std::string& held_out = "B=7 Hq=7 Sq=777 D=64 f32") {
    const Json problems{
        {{"name", "plain"}, {"problem", "B=1 Hq=1 Sq=32 D=16 f32"}, {"weight", 1.0}},
        {{"name", ""}, {"problem", held_out}, {"weight", 1.0}, {"held_out", true}}};
    session.emplace(
        Session::create(file_system, clock, folder.path() / "s",
                        {{"session", "s"},
                         {"title", "a long night"},
                         {"start_variant", "cpu_unfused"},
                         {"suite", {{"name", "two"}, {"problems", problems}}},
                         {"budget", {{"evaluations", 400}, {"wall_s", 3600.0}, {"usd", nullptr}}},
                         {"author", {{"name", "a"}, {"email", "a@b"}}}})
            .value());
    add("iteration_opened", {{"iteration", 0},
                             {"parent", nullptr},
                             {"variant", "cpu_unfused"},
                             {"hypothesis", nullptr},
                             {"techniques", Json::array()}});
    add("incumbent_changed", {{"iteration", 0}, {"to", "cpu_unfused@00000000"}});
    close(0, "baseline", nullptr);
  }

  void add(std::string_view type, const Json& payload) {
    clock.advance(std::chrono::seconds(1));
    REQUIRE(session->append(type, payload).ok());
  }

  void close(int number, const std::string& outcome, const Json& speedup,
             const std::string& message = "", const Json& invalidity = nullptr) {
    add("iteration_closed", {{"iteration", number},
                             {"outcome", outcome},
                             {"invalidity", invalidity},
                             {"message", message},
                             {"speedup", speedup},
                             {"interval", nullptr}});
  }

  void open_try(int number, const std::string& theory,
                const std::vector<std::string>& techniques = {"query_tiling"}) {
    add("iteration_opened", {{"iteration", number},
                             {"parent", "cpu_unfused@00000000"},
                             {"variant", "cpu_tiled@" + std::to_string(number)},
                             {"hypothesis", {{"theory", theory}, {"predicted_speedup", 1.5}}},
                             {"techniques", techniques}});
  }

  void refuted_try(int number, const std::string& theory) {
    open_try(number, theory);
    add("hypothesis_decided", {{"iteration", number}, {"state", "refuted"}, {"reason", "slower"}});
    close(number, "no_gain", 0.9);
  }

  Json brief() const {
    auto answer = brief_of(*session);
    if (!answer.ok()) FAIL(answer.error().message());
    CHECK(answer->dump().size() <= k_brief_max_bytes);
    return *answer;
  }

  RealFileSystem file_system;
  testing::FakeClock clock;
  TempDirectory folder = *TempDirectory::create("wb-brief");
  std::optional<Session> session;
};

}  // namespace

TEST_CASE("a small session is told whole", "[engine][brief]") {
  WrittenSession written;
  written.refuted_try(1, "wider tiles reuse keys");
  written.open_try(2, "two rows at once", {"register_tiling"});
  written.close(2, "win", 1.25);
  written.open_try(3, "prefetch hides latency");
  written.add("note", {{"text", "look at the masks"}, {"iteration", nullptr}});
  const Json brief = written.brief();
  CHECK(brief["status"] == "open");
  CHECK(brief["objective"]["held_out"] == 1);
  CHECK(brief["incumbent"]["variant"] == "cpu_unfused@00000000");
  CHECK(brief["budget"]["evaluations"] == 2);
  CHECK(brief["budget"]["evaluations_left"] == 398);
  CHECK(brief["budget"]["wall_s"].get<double>() > 0);
  CHECK(brief["in_flight"]["iteration"] == 3);
  CHECK(brief["in_flight"]["hypothesis"] == "prefetch hides latency");
  REQUIRE(brief["last"].size() == 2);
  CHECK(brief["last"][0]["outcome"] == "win");  // newest first
  REQUIRE(brief["refuted"].size() == 1);
  CHECK(brief["refuted"][0]["hypothesis"] == "wider tiles reuse keys");
  CHECK(brief["refuted"][0]["measured"] == 0.9);
  REQUIRE(brief["techniques"].size() == 2);
  CHECK(brief["techniques"][0]["technique"] == "register_tiling");
  CHECK(brief["techniques"][0]["best"] == 1.25);
  CHECK(brief["notes"][0]["note"] == "look at the masks");
  CHECK_FALSE(brief["next"].empty());
  for (const Json& word : brief["untried"]) CHECK(word != "query_tiling");
}

TEST_CASE("hundreds of iterations fit, and what had no room is counted", "[engine][brief]") {
  WrittenSession written;
  for (int i = 1; i <= 300; ++i) {
    written.refuted_try(i, "theory " + std::to_string(i) + ": " + std::string(400, 'x'));
  }
  const Json brief = written.brief();
  CHECK(brief["last"][0]["iteration"] == 300);
  CHECK(brief["refuted"].size() + brief["left_out"]["refuted"].get<std::size_t>() == 300);
  CHECK(brief["last"].size() + brief["left_out"]["last"].get<std::size_t>() == 300);
  CHECK(brief["last"].size() >= 2);
  CHECK(brief["refuted"].size() >= 2);
  CHECK(brief["budget"]["evaluations_left"] == 100);
}

TEST_CASE("texts made to be large do not make it larger", "[engine][brief]") {
  WrittenSession written;
  const std::string nasty(3000, '\x01'), quotes(3000, '"');
  for (int i = 1; i <= 12; ++i) {
    written.open_try(i, i % 2 == 0 ? nasty : quotes,
                     {quotes, nasty, std::string(2000, '\\'), std::to_string(i) + nasty});
    written.add("hypothesis_decided", {{"iteration", i}, {"state", "refuted"}, {"reason", nasty}});
    written.close(i, "invalid", nullptr, quotes, "runtime");
    written.add("note", {{"text", nasty}, {"iteration", nullptr}});
  }
  written.open_try(13, nasty + quotes);
  const Json brief = written.brief();
  CHECK(brief["in_flight"]["iteration"] == 13);
  CHECK_FALSE(brief["left_out"].empty());
}

TEST_CASE("a change that helped is not listed as refuted, however much was predicted",
          "[engine][brief]") {
  WrittenSession written;
  written.open_try(1, "a larger tile");
  written.add("hypothesis_decided", {{"iteration", 1},
                                     {"state", "refuted"},
                                     {"reason", "faster, and the whole interval is below"},
                                     {"mechanism", "confirmed"},
                                     {"size", "below"}});
  written.close(1, "win", 1.2);
  written.refuted_try(2, "wider tiles reuse keys");
  const Json brief = written.brief();
  REQUIRE(brief["refuted"].size() == 1);
  CHECK(brief["refuted"][0]["hypothesis"] == "wider tiles reuse keys");
}

TEST_CASE("a brief credits and offers techniques only where they can act", "[engine][brief]") {
  WrittenSession written;  // on a CPU, nothing causal
  written.open_try(1, "tiles", {"cache_tiling", "causal_load_balance", "masked_block_skip"});
  written.close(1, "win", 1.5);
  written.open_try(2, "copies", {"tma_copy"});
  written.close(2, "no_gain", 0.9);
  const Json brief = written.brief();
  REQUIRE(brief["techniques"].size() == 1);
  CHECK(brief["techniques"][0]["technique"] == "cache_tiling");
  std::size_t offered = 0;
  for (const Json& word : brief["untried"]) {
    INFO(word.dump());
    CHECK(word != "causal_load_balance");
    CHECK(word != "gqa_packing");
    CHECK(word != "tensor_core_mma");
    offered += word == "simd_vectorization" ? 1 : 0;
  }
  CHECK(offered == 1);
}

TEST_CASE("the same log gives the same bytes, whatever the time is", "[engine][brief]") {
  WrittenSession written;
  written.refuted_try(1, "wider tiles reuse keys");
  const std::string first = written.brief().dump();
  written.clock.advance(std::chrono::hours(5));
  const auto reader = Session::open_reader(written.file_system, written.session->folder());
  REQUIRE(reader.ok());
  CHECK(brief_of(*reader)->dump() == first);
}

TEST_CASE("shapes of held-out problems are not told", "[engine][brief]") {
  const std::string held_out = "B=7 Hq=7 Hkv=7 Sq=777 Skv=777 D=64 f32 causal=none";
  WrittenSession written(held_out);
  written.open_try(1, "tuned for " + held_out);
  written.add("note", {{"text", "it fails on " + held_out}, {"iteration", nullptr}});
  written.close(1, "invalid", nullptr, "a held-out problem: " + held_out + ": row 3",
                "correctness");
  const std::string brief = written.brief().dump();
  CHECK(brief.find("777") == std::string::npos);
  CHECK(brief.find("held-out 1") != std::string::npos);
}

TEST_CASE("a real session has its techniques from the stored manifests", "[engine][brief]") {
  Bench bench;
  bench.worker.subjects["cpu_unfused"] = Bench::with_time(200);
  bench.worker.subjects["cpu_online"] = Bench::with_time(150);
  bench.worker.subjects["cpu_tiled"] = Bench::with_time(100);
  bench.worker.subjects["torch_cpu_sdpa"] = Bench::with_time(90);
  bench.open({{"rivals", {"torch_cpu_sdpa"}}});
  bench.iterate({{"variant", "cpu_online"}});
  bench.iterate();
  const Json brief = bench.call("brief", Json::object());
  CHECK(brief.dump().size() <= k_brief_max_bytes);
  CHECK(brief["incumbent"]["over_start"].get<double>() == Approx(2.0).epsilon(0.03));
  REQUIRE(brief["rivals"].size() == 1);
  CHECK(brief["rivals"][0]["speedup"].get<double>() == Approx(0.9).epsilon(0.03));
  // cpu_tiled has online_softmax from cpu_online: it was new in iteration 1 only.
  bool seen = false;
  for (const Json& row : brief["techniques"]) {
    if (row["technique"] != "online_softmax") continue;
    seen = true;
    CHECK(row["tries"] == 1);
    CHECK(row["best"].get<double>() == Approx(200.0 / 150).epsilon(0.03));
  }
  CHECK(seen);
}

TEST_CASE("a session of format 1 has a brief", "[engine][brief]") {
  Bench bench;
  const Json brief =
      bench.call("brief", Json::object(), source_dir() / "tests" / "data" / "session_v1.tar.gz");
  CHECK(brief["status"] == "closed");
  CHECK(brief["incumbent"]["variant"] == "cpu_tiled@b5763b40");
  CHECK(brief["incumbent"]["over_start"] == 1.6);
}
