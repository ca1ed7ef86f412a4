// SPDX-License-Identifier: MIT
// build and show of a variant's code; CUDA variants where the device is a CPU.
#include "core/json.hpp"
#include "unit/engine/engine_world.hpp"

using namespace wb;
using namespace wb::device;
using namespace wb::engine;
using namespace wb::measure;
using namespace wb::problem;
using namespace wb::session;
using namespace wb::variant;
using testing::Bench;

namespace {

/// Plays nvcc: says what ptxas would, and lists what it was asked for.
class FakeCuda final : public Toolchain {
 public:
  PtxasRecord ptxas;
  std::string log = "ptxas info";
  bool installed = true;
  bool is_installed() const override { return installed; }
  Result<CompilerIdentity> identity() const override {
    if (!installed)
      return Error{ErrorCode::environment, "find nvcc", "PATH", "it is not there", ""};
    return CompilerIdentity{"nvcc", "nvcc 99.1", "nvcc-signature"};
  }
  Outcome<BuildRecord> compile(const Variant&, const Configuration&, const BuildOptions& options,
                               std::string_view build_id, const fs::path& output) const override {
    if (options.target == "sm_75") return Failure{Invalidity::compile, "nvcc refused", "error: x"};
    std::ofstream(output) << build_id;
    BuildRecord record;
    record.compiler = "nvcc 99.1";
    record.target = options.target;
    record.log = log;
    record.ptxas = ptxas;
    return record;
  }
  Outcome<std::string> listing(Listing kind, const Variant& variant, const Configuration&,
                               const BuildOptions& options, const fs::path&) const override {
    return std::string(to_string(kind)) + " of " + variant.manifest.name + " for " + options.target;
  }
};

/// A bench with a CUDA kernel that any architecture from sm_75 on takes.
struct CudaBench : Bench {
  std::shared_ptr<FakeCuda> cuda = std::make_shared<FakeCuda>();

  CudaBench() {
    const fs::path own = folder.path() / "own" / "kernels" / "cuda_any";
    fs::create_directories(own);
    std::ofstream(own / "kernel.json") << R"({"name": "cuda_any", "backend": "cuda",
      "architectures": ["sm_80", "sm_75"], "sources": ["kernel.cu"]})";
    std::ofstream(own / "kernel.cu") << "// nothing\n";
    roots.push_back(folder.path() / "own");
    cuda->ptxas.kernels = {{.kernel = "flash", .registers = 168, .spill_load_bytes = 12}};
    cuda->ptxas.warnings = {{"C7510", "wgmma instructions are serialized", "flash", 1}};
    cuda_toolchain = cuda;
    restart();
  }
  std::string refusal(std::string_view verb, const Json& args, const fs::path& at = {}) {
    const auto answer = engine->call(verb, args, at);
    return answer.ok() ? "ok" : answer.error().message();
  }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a CUDA variant is built for its first architecture without a GPU", "[engine][cuda]") {
  CudaBench bench;
  const Json built = bench.call("build", {{"variant", "cuda_any"}});
  CHECK(built["target"] == "sm_80");
  CHECK(built["cached"] == false);
  CHECK(built["compiler"] == "nvcc 99.1");
  CHECK(built["kernels"][0]["registers"] == 168);
  CHECK(built["warnings"][0]["code"] == "C7510");
  CHECK(holds(built["text"], "168 registers"));
  // The record comes back with the artifact.
  const Json again = bench.call("build", {{"variant", "cuda_any"}});
  CHECK(again["cached"] == true);
  CHECK(again["artifact_id"] == built["artifact_id"]);
  CHECK(again["kernels"] == built["kernels"]);
  CHECK(again["target"] == "sm_80");
  const Json other = bench.call("build", {{"variant", "cuda_any"}, {"target", "sm_90a"}});
  CHECK(other["target"] == "sm_90a");
  CHECK(other["artifact_id"] != built["artifact_id"]);
  CHECK(holds(bench.refusal("build", {{"variant", "cuda_any"}, {"target", "sm_70"}}),
              "written for sm_80, sm_75, not for sm_70"));
  CHECK(holds(bench.refusal("build", {{"variant", "cuda_any"}, {"target", "sm_75"}}), "error: x"));
}

TEST_CASE("the device decides where there is one", "[engine][cuda]") {
  CudaBench bench;
  bench.worker.hello_result.device.backend = "cuda";
  bench.worker.hello_result.device.architecture = "sm_90";
  CHECK(bench.call("build", {{"variant", "cuda_any"}})["target"] == "sm_90");
}

TEST_CASE("the answer says why the target is not the device's", "[engine][cuda]") {
  CudaBench bench;
  const Json on_cpu = bench.call("build", {{"variant", "cuda_any"}});
  CHECK(on_cpu["why_target"] == "the device here is Fake CPU");
  CHECK(holds(on_cpu["text"], "target sm_80, its manifest's first: the device here is Fake CPU"));
  // Asked for by its word, the device is asked; by an architecture it is not.
  const int started = bench.workers_started;
  bench.restart();
  const Json named = bench.call("build", {{"variant", "cuda_any"}, {"target", "sm_80"}});
  CHECK(named["why_target"] == "");
  CHECK(bench.workers_started == started);
  bench.restart();
  bench.call("build", {{"variant", "cuda_any"}, {"target", "native"}});
  CHECK(bench.workers_started == started + 1);
  // A machine that is too busy to be asked does not change the target in silence.
  bench.worker.verb_failures[protocol::Verb::hello] =
      Failure{Invalidity::environment, "another session kept CPU 0 busy all the time", ""};
  bench.restart();
  const Json busy = bench.call("build", {{"variant", "cuda_any"}});
  CHECK(holds(busy["why_target"], "kept CPU 0 busy"));
  CHECK(holds(busy["text"], "kept CPU 0 busy"));
  const Json shown = bench.call("show", {{"id", "cuda_any"}, {"ptx", true}});
  CHECK(holds(shown["value"]["why_target"], "kept CPU 0 busy"));
  bench.stop = true;
  const auto canceled = bench.engine->call("build", {{"variant", "cuda_any"}});
  REQUIRE_FALSE(canceled.ok());
  CHECK(canceled.error().code == ErrorCode::canceled);
}

TEST_CASE("native is the device's own architecture, also of a list of one", "[engine][cuda]") {
  CudaBench bench;
  bench.worker.hello_result.device.backend = "cuda";
  bench.worker.hello_result.device.architecture = "sm_90";
  const fs::path own = bench.folder.path() / "own" / "kernels" / "cuda_one";
  fs::create_directories(own);
  std::ofstream(own / "kernel.json") << R"({"name": "cuda_one", "backend": "cuda",
    "architectures": ["sm_100a"], "sources": ["kernel.cu"]})";
  std::ofstream(own / "kernel.cu") << "// nothing\n";
  CHECK(bench.call("build", {{"variant", "cuda_any"}, {"target", "native"}})["target"] == "sm_90");
  CHECK(holds(bench.refusal("build", {{"variant", "cuda_one"}, {"target", "native"}}),
              "written for sm_100a, not for sm_90"));
}

TEST_CASE("without nvcc an artifact that was compiled elsewhere is found", "[engine][cuda]") {
  CudaBench bench;
  const Json built = bench.call("build", {{"variant", "cuda_any"}});
  bench.cuda->installed = false;
  const Json found = bench.call("build", {{"variant", "cuda_any"}});
  CHECK(found["artifact_id"] == built["artifact_id"]);
  CHECK(found["cached"] == true);
  CHECK(found["compiler"] == "nvcc 99.1");
  CHECK(holds(bench.refusal("build", {{"variant", "cuda_any"}, {"target", "sm_90"}}),
              "no artifact of cuda_any for sm_90"));
  const Json checks = bench.call("doctor", Json::object())["checks"];
  CHECK(holds(checks[1]["detail"], "compiled elsewhere"));
}

TEST_CASE("a build's text has the warnings of nvcc and of the host compiler", "[engine][cuda]") {
  CudaBench bench;
  bench.cuda->log =
      "kernel.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
      "      int x;\n\n"
      "ptxas info    : 0 bytes gmem\n"
      "    8 bytes stack frame, 0 bytes spill stores\n";
  for (int i = 0; i < 100; ++i)
    bench.cuda->log += "kernel.cu:7: warning: " + std::to_string(i) + "\n";
  bench.cuda->ptxas.kernels_left_out = 9;
  bench.cuda->ptxas.spilling_left_out = 7;
  bench.cuda->ptxas.warnings_left_out = 5;
  bench.cuda->ptxas.codes_left_out = {{"C7510", 5}};
  const Json built = bench.call("build", {{"variant", "cuda_any"}});
  const std::string text = built["text"];
  CHECK(holds(text, "warning #177-D"));
  CHECK(holds(text, "kernel.cu:7: warning: 38\n"));
  CHECK_FALSE(holds(text, "kernel.cu:7: warning: 39\n"));
  CHECK(holds(text, "61 more lines were left out"));
  CHECK_FALSE(holds(text, "int x;"));
  CHECK_FALSE(holds(text, "gmem"));
  CHECK_FALSE(holds(text, "stack frame"));
  CHECK(holds(text, "9 more kernels were left out, of which 7 spill"));
  CHECK(holds(text, "5 more warnings were left out"));
  CHECK(built["kernels_left_out"] == 9);
  CHECK(built["spilling_left_out"] == 7);
  CHECK(built["warnings_left_out"] == 5);
  CHECK(built["codes_left_out"]["C7510"] == 5);
}

TEST_CASE("a CUDA variant is not measured on a CPU", "[engine][cuda]") {
  CudaBench bench;
  for (const char* verb : {"check", "measure"}) {
    const std::string why =
        bench.refusal(verb, {{"variant", "cuda_any"}, {"problem", "B=1 Hq=1 Sq=32 D=16 f16"}});
    CHECK(holds(why, "needs an NVIDIA GPU"));
    CHECK(holds(why, "sdpa-wb build"));
  }
  bench.open();
  const Json answer = bench.iterate({{"variant", "cuda_any"}});
  CHECK(answer["outcome"] == "invalid");
  CHECK(answer["invalidity"] == "environment");  // not held against the variant
}

TEST_CASE("what ptxas says against a build is in the log, with the build as evidence",
          "[engine][cuda]") {
  CudaBench bench;
  bench.open();
  bench.call("build", {{"variant", "cuda_any"}}, bench.session);
  const auto built = bench.events("variant_built");
  REQUIRE_FALSE(built.empty());
  CHECK(built.back().payload["target"] == "sm_80");
  CHECK(built.back().payload["ptxas"]["kernels"][0]["spill_load_bytes"] == 12);
  CHECK(built.back().payload["log_blob"].is_string());
  std::vector<Event> findings;
  for (const Event& event : bench.events("finding_recorded")) {
    if (event.payload["analysis"] == "ptxas") findings.push_back(event);
  }
  REQUIRE(findings.size() == 2);
  CHECK(holds(findings[0].payload["statement"], "1 of 1 kernels"));
  CHECK(holds(findings[1].payload["statement"], "C7510"));
  for (const Event& finding : findings) {
    CHECK(finding.payload["events"] == Json::array({built.back().seq}));
  }
  // Of the same artifact they stand there once, of another one again.
  const std::size_t before = bench.events("finding_recorded").size();
  bench.call("build", {{"variant", "cuda_any"}}, bench.session);
  CHECK(bench.events("variant_built").size() == built.size() + 1);
  CHECK(bench.events("finding_recorded").size() == before);
  bench.call("build", {{"variant", "cuda_any"}, {"target", "sm_90"}}, bench.session);
  CHECK(bench.events("finding_recorded").size() == before + 2);
}

TEST_CASE("code is shown without a session, and of a session's variant", "[engine][cuda]") {
  CudaBench bench;
  CHECK(bench.call("show", {{"id", "cuda_any"}, {"ptx", true}})["text"] ==
        "ptx of cuda_any for sm_80");
  CHECK(bench.call("show", {{"id", "cuda_any"}, {"sass", true}, {"target", "sm_90"}})["text"] ==
        "sass of cuda_any for sm_90");
  CHECK(holds(bench.call("show", {{"id", "cpu_tiled"}, {"source", true}})["text"],
              "==> cpu_tiled/kernel.cpp"));
  CHECK(holds(bench.refusal("show", {{"id", "cpu_tiled"}, {"ptx", true}}), "--source"));
  CHECK(holds(bench.refusal("show", {{"id", "torch_cpu_sdpa"}, {"sass", true}}), "--source"));
  CHECK(holds(bench.refusal("show", {{"id", "cuda_any"}, {"ptx", true}, {"sass", true}}),
              "one of them"));
  CHECK(holds(bench.refusal("show", {{"id", "cuda_any"}}), "--session"));
  const std::string start = bench.open()["incumbent"];
  CHECK(holds(bench.call("show", {{"id", start}, {"source", true}}, bench.session)["text"],
              "kernel.cpp"));
}

TEST_CASE("without a CUDA toolchain a build says so", "[engine][cuda]") {
  CudaBench bench;
  bench.cuda_toolchain = nullptr;
  bench.restart();
  CHECK(holds(bench.refusal("build", {{"variant", "cuda_any"}}), "no toolchain for backend cuda"));
  const Json checks = bench.call("doctor", Json::object())["checks"];
  CHECK(checks[1]["name"] == "nvcc");
  CHECK(checks[1]["state"] == "warning");
}

TEST_CASE("doctor says whether kernels can be measured on a GPU", "[engine][cuda]") {
  CudaBench bench;
  const auto row = [&](const std::string& name) {
    const Json answer = bench.call("doctor", Json::object());
    for (const Json& check : answer["checks"]) {
      if (check["name"] == name) return check;
    }
    return Json();
  };
  const auto gpu = [&] { return row("gpu"); };
  CHECK(gpu()["state"] == "warning");
  CHECK(holds(gpu()["next"], "not measured"));
  bench.worker.hello_result.device.backend = "cuda";
  bench.worker.hello_result.device.name = "NVIDIA H200";
  bench.worker.hello_result.device.memory_bytes = DeviceFact{1e11, "driver for CUDA 13.0"};
  bench.restart();
  CHECK(gpu()["state"] == "ok");
  CHECK(holds(gpu()["detail"], "NVIDIA H200"));
  CHECK(holds(gpu()["detail"], "driver for CUDA 13.0"));
  CHECK(gpu()["next"] == "");
  bench.worker.hello_result.gpu = GpuSettings{
      "580.65.06", false, 1'980, std::nullopt, 700, {{"a_figure", "Not Supported (3)"}}};
  bench.restart();
  CHECK(holds(gpu()["detail"],
              ", driver 580.65.06, SM clock up to 1980 MHz, power limit 700 W, "
              "persistence mode off, a_figure unknown (Not Supported (3));"));
  CHECK(holds(gpu()["next"], "persistence mode"));
  bench.worker.hello_result.gpu->persistence_mode = true;
  bench.restart();
  CHECK(gpu()["next"] == "");

  CHECK(row("pytorch on the gpu").is_null());  // no interpreter, no rivals
  bench.worker.hello_result.python = "/usr/bin/python3";
  bench.restart();
  CHECK(row("pytorch on the gpu")["state"] == "ok");
  bench.worker.subjects["torch_default"].load_failure =
      Failure{Invalidity::runtime, "ModuleNotFoundError: No module named 'torch'", ""};
  bench.restart();
  CHECK(row("pytorch on the gpu")["state"] == "warning");
  CHECK(holds(row("pytorch on the gpu")["detail"], "No module named 'torch'"));
  CHECK(holds(row("pytorch on the gpu")["next"], "install it"));
  CHECK(row("pytorch")["state"] == "ok");
  // Without PyTorch not even an empty Python subject runs on a GPU: the worker says which is
  // missing.
  bench.worker.subjects["torch_default"].load_failure =
      Failure{Invalidity::environment, "a Python subject on a GPU needs PyTorch in python3", ""};
  bench.restart();
  CHECK(holds(row("pytorch on the gpu")["detail"], "needs PyTorch"));
  CHECK(holds(row("pytorch on the gpu")["next"], "the interpreter"));
}
