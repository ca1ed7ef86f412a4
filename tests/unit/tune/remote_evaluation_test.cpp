// SPDX-License-Identifier: MIT
// Tunes with a remote evaluator: the same search in any order of replies, no trust in a reply's own
// claims, and the same log. The remote side is a second engine beside the same fake worker.
#include <algorithm>
#include <deque>

#include "core/json.hpp"
#include "tune/evaluate.hpp"
#include "tune_bench.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::engine;
using namespace wb::tune;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::search;
using namespace wb::session;
using namespace wb::variant;
using testing::k_best;
using testing::plant_bowl;
using testing::plant_four;
using testing::TuneBench;

namespace {

/// A program with an executor: keeps what it was sent and answers by another engine when asked,
/// the latest first, so that replies come in another order than questions.
struct Program {
  TuneBench bench;
  std::unique_ptr<Engine> other;
  std::int64_t in_flight = 4;
  std::size_t most_away = 0;
  std::vector<Json> requests;
  std::deque<std::pair<std::int64_t, Json>> away;
  int cancelled = 0;
  /// May change a reply, {reply} or {fault}, to the n-th request that is answered, from 1.
  std::function<void(int, Json&)> change = [](int, Json&) {};
  int answered = 0;

  Program() {
    bench.ask_program = [this](const Json& question) { return answer(question); };
    bench.engine = bench.make();
    other = bench.make();
  }

  Result<Json> answer(const Json& question) {
    const auto word = question.at("ask").get<std::string>();
    if (word == "crew_size") return Json{{"in_flight", in_flight}};
    if (word == "evaluate") {
      requests.push_back(question["request"]);
      away.emplace_back(question["number"].get<std::int64_t>(), question["request"]);
      most_away = std::max(most_away, away.size());
      return Json::object();
    }
    if (word == "cancel") {
      ++cancelled;
      for (auto& one : away) one.second = nullptr;
      return Json::object();
    }
    REQUIRE(word == "replies");
    if (away.empty()) return Json{{"replies", Json::array()}};
    const auto [number, request] = away.back();
    away.pop_back();
    Json told{{"number", number}};
    if (request.is_null()) {
      told["fault"] = "cancelled";
      return Json{{"replies", {told}}};
    }
    const auto reply = tune::evaluate(*other, request);
    if (reply) told["reply"] = *reply;
    if (!reply) told["fault"] = reply.error().message();
    change(++answered, told);
    if (told.contains("reply")) told["text"] = told["reply"].dump();
    told.erase("reply");
    return Json{{"replies", {told}}};
  }
};

}  // namespace

TEST_CASE("every strategy finds the planted best by evaluations elsewhere",
          "[engine][tune][elsewhere]") {
  for (const char* strategy : {"exhaustive", "random", "hill_climb", "racing"}) {
    INFO(strategy);
    Program program;
    plant_bowl(program.bench);
    program.bench.open();
    const Json answer = program.bench.tune({{"strategy", strategy}});
    CHECK(answer["outcome"] == "win");
    CHECK(answer["configuration"] == k_best);
    // The figure is the confirmation's, by the session's own device.
    CHECK(answer["speedup"].get<double>() == Approx(8.0).epsilon(0.02));
    const Json& tune = answer["tune"];
    CHECK(tune["elsewhere"]["answers"] == program.requests.size());
    CHECK(tune["elsewhere"]["device_s"].get<double>() > 0);
    CHECK(program.cancelled == 1);
    for (const Event& event : program.bench.events("turn_measured")) {
      CHECK(event.payload["phase"] != "tune");
    }
  }
}

TEST_CASE("the same is asked and found elsewhere as here", "[engine][tune][elsewhere]") {
  TuneBench here;
  plant_bowl(here);
  here.open();
  const Json own = here.tune({{"strategy", "exhaustive"}});
  Program program;
  plant_bowl(program.bench);
  program.bench.open();
  const Json theirs = program.bench.tune({{"strategy", "exhaustive"}});
  CHECK(program.bench.asked() == here.asked());
  CHECK(program.most_away == 4);
  for (const char* key : {"told", "valid", "contenders", "best", "duplicates"}) {
    CHECK(theirs["tune"][key] == own["tune"][key]);
  }
  for (const Event& event : program.bench.events("evaluation")) {
    const Json& there = event.payload["elsewhere"];
    CHECK(there["device"].get<std::string>() != "");
    const auto blob =
        program.bench.engine->session()->read_blob(there["reply_blob"].get<std::string>());
    REQUIRE(blob.ok());
    CHECK(Json::parse(*blob)["lanes"][0]["candidate"]["turns"].size() > 0);
    CHECK(event.payload["events"].is_null());
  }
}

TEST_CASE("a budget bounds what is sent", "[engine][tune][elsewhere]") {
  Program program;
  plant_bowl(program.bench);
  program.bench.open();
  const Json answer = program.bench.tune({{"strategy", "random"}, {"evaluations", 6}});
  CHECK(answer["tune"]["told"] == 6);
  CHECK(program.requests.size() == 6);
}

TEST_CASE("what was spent elsewhere is debited", "[engine][tune][elsewhere]") {
  Program program;
  plant_four(program.bench);
  program.bench.open({{"device_usd_per_hour", 3600.0}});
  const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
  double device_s = 0, usd = 0;
  for (const Event& event : program.bench.events("cost_debited")) {
    const Json parts = event.payload.value("parts", Json::object());
    if (!parts.contains("elsewhere")) continue;
    device_s += event.payload["quantity"].get<double>();
    usd += event.payload["usd"].get<double>();
  }
  CHECK(device_s == Approx(answer["tune"]["elsewhere"]["device_s"].get<double>()));
  CHECK(usd == Approx(device_s));
}

using Spoil = std::function<void(Json&)>;

/// Each with words of the reason that it is refused for.
const std::vector<std::pair<std::string, Spoil>>& wrong_replies() {
  static const std::vector<std::pair<std::string, Spoil>> k_wrong{
      {"failed: the process died",
       [](Json& told) {
         told.erase("reply");
         told["fault"] = "the process died";
       }},
      {"answers another request", [](Json& told) { told["reply"]["id"] = "0"; }},
      {"the session measures on", [](Json& told) { told["reply"]["device"] = "Other CPU"; }},
      {"is from version", [](Json& told) { told["reply"]["workbench_version"] = "0.0.1"; }},
      {"is a map", [](Json& told) { told["reply"] = Json::array(); }},
      {"device_s", [](Json& told) { told["reply"].erase("device_s"); }},
      {"is negative", [](Json& told) { told["reply"]["build_s"] = -1.0; }},
      {"more than there was", [](Json& told) { told["reply"]["device_s"] = 1e12; }},
      {"more than there was", [](Json& told) { told["reply"]["compile_cpu_s"] = 1e12; }},
      {"nest",
       [](Json& told) {
         Json deep = 1;
         for (int i = 0; i < 40; ++i) deep = Json::array({deep});
         told["reply"]["surprise"] = deep;
       }},
      {"NUL", [](Json& told) { told["reply"]["artifact_id"] = std::string("a\0b", 3); }},
      {"one row for each problem", [](Json& told) { told["reply"]["lanes"] = Json::array(); }},
      {"is not the suite's",
       [](Json& told) { told["reply"]["lanes"][0]["problem"] = "B=1 Hq=1 Sq=1 D=16 f32"; }},
      {"neither turns nor a failure",
       [](Json& told) { told["reply"]["lanes"][0]["candidate"]["turns"] = Json::array(); }},
      {"one that is no time",
       [](Json& told) {
         told["reply"]["lanes"][0]["candidate"]["turns"][0]["samples_us"][0] = 0.0;
       }},
      {"of another stage",
       [](Json& told) { told["reply"]["lanes"][0]["candidate"]["turns"][0]["instance"] = 7; }},
      {"unknown here",
       [](Json& told) {
         told["reply"]["failure"] = {{"invalidity", "boredom"}, {"message", ""}};
       }},
      {"format", [](Json& told) { told["reply"]["format"] = 2; }},
      {"surprise", [](Json& told) { told["reply"]["surprise"] = true; }},
  };
  return k_wrong;
}

TEST_CASE("a reply is checked and refused by its reason", "[engine][tune][elsewhere]") {
  Program program;
  plant_four(program.bench);
  program.bench.open();
  program.bench.tune({{"strategy", "exhaustive"}});
  const Json& sent = program.requests.front();
  const auto request = request_from_json(sent);
  REQUIRE(request.ok());
  const auto reply = tune::evaluate(*program.other, sent);
  REQUIRE(reply.ok());
  const auto read = [&](const Json& told) {
    auto json = parse_json(told["reply"].dump(), "a reply");
    return json ? reply_from_json(*json, *request, 3600.0)
                : Result<EvaluationReply>(std::move(json).error());
  };
  CHECK(read({{"reply", *reply}}).ok());
  for (const auto& [reason, spoil] : wrong_replies()) {
    Json told{{"reply", *reply}};
    spoil(told);
    if (!told.contains("reply")) continue;  // below
    INFO(reason);
    const auto refused = read(told);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().cause.find(reason) != std::string::npos);
  }
}

TEST_CASE("replies that are always refused end the search", "[engine][tune][elsewhere]") {
  // No reply at all, and one with something else in it: the machine's fault, not the variant's.
  for (const auto& [reason, spoil] : {wrong_replies().front(), wrong_replies().back()}) {
    INFO(reason);
    Program program;
    program.change = [&spoil = spoil](int, Json& told) { spoil(told); };
    plant_four(program.bench);
    program.bench.open();
    const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
    CHECK(answer["outcome"] == "invalid");
    CHECK(answer["invalidity"] == "environment");
    CHECK(answer["tune"]["ended"].get<std::string>().find("3 evaluations in a row") == 0);
    const Event first = program.bench.events("evaluation").front();
    CHECK(first.payload["message"].get<std::string>().find(reason) != std::string::npos);
  }
}

TEST_CASE("a reply that is refused once is asked for again", "[engine][tune][elsewhere]") {
  // No reply at all, and one with something else in it.
  for (const Spoil& spoil : {wrong_replies().front().second, wrong_replies().back().second}) {
    Program program;
    program.change = [&](int n, Json& told) {
      if (n == 2) spoil(told);
    };
    plant_four(program.bench);
    program.bench.open();
    const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
    CHECK(answer["tune"]["valid"] == 4);
    CHECK(program.requests.size() == 5);
  }
}

TEST_CASE("turns that are missing or impossible decide nothing", "[engine][tune][elsewhere]") {
  const auto tune = [](const std::function<void(Json&)>& spoil) {
    Program program;
    program.change = [&](int n, Json& told) {
      if (n == 3) spoil(told["reply"]["lanes"][0]);
    };
    plant_four(program.bench);
    program.bench.open();
    const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
    CHECK(answer["configuration"] == Json{{"M0", 2}, {"N0", 2}});
    std::vector<Json> answers;
    for (const Event& event : program.bench.events("evaluation")) answers.push_back(event.payload);
    return std::pair(program.requests.size(), answers);
  };
  const auto [sent, asked] = tune([](Json& row) { row["against"]["turns"] = Json::array(); });
  CHECK(sent == 5);  // one was asked for again
  CHECK(asked.size() == 4);
  const auto [sent_once, refused] = tune([](Json& row) {
    for (Json& turn : row["candidate"]["turns"]) {
      for (Json& us : turn["samples_us"]) us = 1e-9;
    }
  });
  CHECK(sent_once == 4);
  const auto impossible = std::count_if(refused.begin(), refused.end(), [](const Json& answer) {
    return answer["message"].get<std::string>().find("refused: ") == 0;
  });
  CHECK(impossible == 1);
}

TEST_CASE("what was spent is debited, told or not, and nothing runs at the confirmation",
          "[engine][tune][elsewhere]") {
  Program program;
  plant_bowl(program.bench);
  program.bench.open({{"device_usd_per_hour", 3600.0}});
  const Json answer = program.bench.tune({{"strategy", "exhaustive"}, {"usd", 1e-6}});
  CHECK(answer["tune"]["ended"].get<std::string>().find("budget: $") == 0);
  CHECK(program.away.empty());
  std::size_t debits = 0;
  for (const Event& event : program.bench.events("cost_debited")) {
    debits += event.payload.value("parts", Json::object()).contains("elsewhere") ? 1 : 0;
  }
  CHECK(debits == static_cast<std::size_t>(program.answered));
}

TEST_CASE("who is praised without reason is not confirmed", "[engine][tune][elsewhere]") {
  Program program;
  const Configuration praised{{"M0", 8}, {"N0", 4}};
  program.change = [&](int, Json& told) {
    Json& reply = told["reply"];
    for (Json& turn : reply["lanes"][0]["candidate"]["turns"]) {
      const bool is_it = program.bench.label_of(praised).find(turn["subject"].get<std::string>()) !=
                         std::string::npos;
      for (Json& us : turn["samples_us"]) us = us.get<double>() * (is_it ? 0.1 : 1.0);
    }
  };
  plant_bowl(program.bench);
  program.bench.open();
  const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["configuration"] == to_json(praised));
  // 50 * (1 + 0.3 + 0.4) us: what it really takes, beside the incumbent's 400.
  CHECK(answer["speedup"].get<double>() == Approx(400 / 85.0).epsilon(0.02));
}

TEST_CASE("wrong results that an evaluator hides do not become the incumbent",
          "[engine][tune][elsewhere]") {
  Program program;
  plant_bowl(program.bench);
  program.bench.open();
  program.change = [&](int, Json& told) {
    const bool is_best = program.bench.label_of({{"M0", 4}, {"N0", 2}})
                             .find(told["reply"]["artifact_id"].get<std::string>().substr(0, 8)) !=
                         std::string::npos;
    // It passed there; from now on it fails here.
    if (is_best) program.bench.subject({{"M0", 4}, {"N0", 2}}).fails_wholly = true;
  };
  const Json answer = program.bench.tune({{"strategy", "exhaustive"}});
  CHECK(answer["tune"]["retracted"] == 1);
  CHECK(answer["configuration"] != k_best);
}

TEST_CASE("an interrupted tune goes on with what it knows", "[engine][tune][elsewhere]") {
  for (const char* strategy : {"exhaustive", "racing"}) {
    INFO(strategy);
    Program program;
    plant_bowl(program.bench);
    program.bench.open();
    program.change = [&](int n, Json&) { program.bench.stop = n == 7; };
    const auto stopped = program.bench.try_tune({{"strategy", strategy}});
    REQUIRE(!stopped.ok());
    CHECK(stopped.error().code == ErrorCode::canceled);
    const std::size_t known = program.bench.asked().size();
    REQUIRE(known > 0);
    program.bench.stop = false;
    program.change = [](int, Json&) {};
    program.away.clear();
    program.bench.engine = program.bench.make();
    const Json answer = program.bench.tune({{"strategy", strategy}});
    CHECK(answer["tune"]["replayed"] == known);
    CHECK(answer["configuration"] == k_best);
  }
}

TEST_CASE("an engine evaluates what it is asked, and only that", "[engine][tune][elsewhere]") {
  Program program;
  plant_four(program.bench);
  program.bench.open();
  program.bench.tune({{"strategy", "exhaustive"}});
  REQUIRE(program.requests.size() == 4);
  const Json good = program.requests.back();
  const auto refusal = [&](const std::function<void(Json&)>& spoil) {
    Json request = good;
    spoil(request);
    const auto reply = tune::evaluate(*program.other, request);
    return reply ? std::string("answered") : reply.error().message();
  };
  CHECK(refusal([](Json&) {}) == "answered");
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> wrong{
      {"a map", [](Json& r) { r = 7; }},
      {"format", [](Json& r) { r["format"] = 9; }},
      {"version", [](Json& r) { r["workbench_version"] = "9"; }},
      {"measures on", [](Json& r) { r["device"] = "Other CPU"; }},
      {"suite", [](Json& r) { r.erase("suite"); }},
      {"problem", [](Json& r) { r["suite"]["problems"][0]["problem"] = "B=0"; }},
      {"strategy", [](Json& r) { r["terms"]["strategy"] = "guess"; }},
      {"no integer", [](Json& r) { r["candidate"]["configuration"]["M0"] = "1"; }},
      {"no text", [](Json& r) { r["candidate"]["files"]["cpu_space/kernel.json"] = 1; }},
      {"builds by", [](Json& r) { r["compiler"] = "another"; }},
      {"kernel.json", [](Json& r) { r["candidate"]["files"].erase("cpu_space/kernel.json"); }},
      {"not given", [](Json& r) { r["against"] = nullptr; }},
      {"confidence", [](Json& r) { r["ask"]["confidence"] = 1.5; }},
      {"extra", [](Json& r) { r["extra"] = 1; }},
  };
  for (const auto& [word, spoil] : wrong) {
    INFO(word);
    const std::string told = refusal(spoil);
    CHECK(told.find(word) != std::string::npos);
  }
  // It does nothing else meanwhile: a session is another engine's.
  const auto held = tune::evaluate(*program.bench.engine, good);
  REQUIRE(!held.ok());
  CHECK(held.error().message().find("holds a session") != std::string::npos);
}

TEST_CASE("a chain of comparisons says what its links say", "[engine][strategy]") {
  Score first, second;
  first.speedup = 2;
  first.interval = {1.9, 2.1, 0.99};
  second.speedup = 0.25;
  second.interval = {0.2, 0.3, 0.99};
  const Score joined = chained(first, second);
  CHECK(joined.speedup == Approx(0.5));
  CHECK(joined.interval.low == Approx(0.38));
  CHECK(joined.interval.high == Approx(0.63));
  CHECK(joined.outcome == ComparisonOutcome::slower);
  second.interval.low = k_unknown;
  CHECK(chained(first, second).outcome == ComparisonOutcome::ambiguous);
  CHECK(chained(invalid_score(Invalidity::runtime), second).invalidity == Invalidity::runtime);
}
