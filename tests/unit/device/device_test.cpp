// SPDX-License-Identifier: MIT
#include "device/device.hpp"
#include "core/json.hpp"

#include <algorithm>
#include <fstream>

#include "core/files.hpp"
#include "support/catch.hpp"

using namespace wb;
using namespace wb::device;

namespace {

/// A host's /proc and /sys in a temporary folder.
class FakeHost {
 public:
  FakeHost() : m_root(TempDirectory::create("wb-device-test").value()) {}
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  void add_cpu(int cpu, int core, const std::string& l3_sharers) const {
    const fs::path folder = fs::path("sys/devices/system/cpu") / ("cpu" + std::to_string(cpu));
    write(folder / "topology/core_id", std::to_string(core) + "\n");
    write(folder / "topology/physical_package_id", "0\n");
    add_cache(folder / "cache/index0", "1", "Data", "48K", std::to_string(cpu));
    add_cache(folder / "cache/index1", "1", "Instruction", "32K", std::to_string(cpu));
    add_cache(folder / "cache/index2", "2", "Unified", "2048K", std::to_string(cpu));
    add_cache(folder / "cache/index3", "3", "Unified", "32M", l3_sharers);
  }
  [[nodiscard]] const fs::path& root() const { return m_root.path(); }

 private:
  void add_cache(const fs::path& folder, const std::string& level, const std::string& type,
                 const std::string& size, const std::string& sharers) const {
    write(folder / "level", level + "\n");
    write(folder / "type", type + "\n");
    write(folder / "size", size + "\n");
    write(folder / "shared_cpu_list", sharers + "\n");
  }
  TempDirectory m_root;
};

}  // namespace

TEST_CASE("the CPU of a host is read from proc and sys", "[device][cpu]") {
  FakeHost host;
  host.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 9000\nflags\t: x\n");
  host.write("proc/meminfo", "MemTotal:       16384000 kB\nMemFree: 1 kB\n");
  // Four hardware threads on three cores, two L3 slices.
  host.add_cpu(0, 0, "0-1");
  host.add_cpu(1, 0, "0-1");
  host.add_cpu(2, 1, "2-3");
  host.add_cpu(3, 2, "2-3");
  const Device all = detect_cpu_in(host.root(), {0, 1, 2, 3});
  CHECK(all.backend == "cpu");
  CHECK(all.name == "Test CPU 9000");
  CHECK(all.id == "cpu:Test CPU 9000:0-3");
  CHECK(all.units == 3);
  CHECK(all.l1_bytes->value == 48 * 1024);
  CHECK(all.l2_bytes->value == 2048 * 1024);
  CHECK(all.l3_bytes->value == 64.0 * 1024 * 1024);
  CHECK(all.l3_bytes->source == "sysfs");
  CHECK(all.memory_bytes->value == 16384000.0 * 1024);
  CHECK_FALSE(all.f32_flops_per_s.has_value());

  const Device part = detect_cpu_in(host.root(), {0, 1});
  CHECK(part.units == 1);
  CHECK(part.id == "cpu:Test CPU 9000:0-1");
  CHECK(part.l3_bytes->value == 32.0 * 1024 * 1024);
}

TEST_CASE("what cannot be read stays unknown", "[device][cpu][bad_input]") {
  FakeHost host;
  const Device nothing = detect_cpu_in(host.root(), {0, 5});
  CHECK(nothing.name == "unknown CPU");
  CHECK(nothing.units == 2);
  CHECK_FALSE(nothing.l1_bytes.has_value());
  CHECK_FALSE(nothing.l2_bytes.has_value());
  CHECK_FALSE(nothing.l3_bytes.has_value());
  CHECK_FALSE(nothing.memory_bytes.has_value());
  host.write("sys/devices/system/cpu/cpu0/cache/index0/level", "1");
  host.write("sys/devices/system/cpu/cpu0/cache/index0/type", "Data");
  for (const std::string size : {"", "many", "-3K", "12Q", "99999999999999999999K"}) {
    host.write("sys/devices/system/cpu/cpu0/cache/index0/size", size);
    CHECK_FALSE(detect_cpu_in(host.root(), {0}).l1_bytes.has_value());
  }
}

TEST_CASE("this host has a CPU", "[device][cpu]") {
  const std::vector<int> allowed = allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  CHECK(std::is_sorted(allowed.begin(), allowed.end()));
  const Device device = detect_cpu();
  CHECK(device.backend == "cpu");
  CHECK(device.units >= 1);
  CHECK(device.units <= static_cast<std::int64_t>(allowed.size()));
  CHECK_FALSE(device.name.empty());
  CHECK_FALSE(device.architecture.empty());
  CHECK(device.id.starts_with("cpu:" + device.name));
}

TEST_CASE("CPU sets have the form of taskset", "[device][cpu]") {
  CHECK(cpu_set_text({}).empty());
  CHECK(cpu_set_text({4}) == "4");
  CHECK(cpu_set_text({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(cpu_set_text({1, 3, 4, 9, 10, 11}) == "1,3-4,9-11");
  CHECK(*parse_cpu_set("1,3-4,9-11") == std::vector<int>{1, 3, 4, 9, 10, 11});
  CHECK(*parse_cpu_set("8,0,0-1") == std::vector<int>{0, 1, 8});
  for (const char* bad : {"", "a", "3-1", "1,", "-1", "0-", "1;2", "0-99999", "1-2-3"}) {
    INFO(bad);
    CHECK_FALSE(parse_cpu_set(bad).ok());
  }
}

TEST_CASE("GPUs are found by the name that their driver gives", "[device][gpu]") {
  const auto name = [](std::string_view driver_name) {
    const auto gpu = known_gpu(driver_name);
    return gpu ? gpu->name : std::string("none");
  };
  CHECK(name("NVIDIA H200") == "NVIDIA H200");
  CHECK(name("nvidia h200") == "NVIDIA H200");
  CHECK(name("NVIDIA H200 NVL") == "NVIDIA H200 NVL");
  CHECK(name("NVIDIA H100 80GB HBM3") == "NVIDIA H100 80GB HBM3");
  CHECK(name("NVIDIA H100 PCIe") == "NVIDIA H100 PCIe");
  CHECK(name("NVIDIA A100-SXM4-40GB") == "NVIDIA A100-SXM4-40GB");
  CHECK(name("NVIDIA A100-PCIE-40GB") == "NVIDIA A100-SXM4-40GB");
  CHECK(name("NVIDIA A100-SXM4-80GB") == "NVIDIA A100-SXM4-80GB");
  CHECK(name("NVIDIA A100 80GB PCIe") == "NVIDIA A100 80GB PCIe");
  CHECK(name("NVIDIA L4") == "NVIDIA L4");
  CHECK(name("NVIDIA RTX 4000 Ada Generation") == "NVIDIA RTX 4000 Ada Generation");
  CHECK(name("NVIDIA B200") == "NVIDIA B200");
  CHECK(name("AMD Instinct MI300X") == "AMD Instinct MI300X");
  // Other devices with similar names have other peaks.
  for (const char* other :
       {"", "NVIDIA L40S", "NVIDIA L40", "NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA A100X",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA RTX 4000 SFF Ada Generation",
        "NVIDIA RTX 4000 Ada Generation Laptop GPU", "Quadro RTX 4000", "NVIDIA H20"}) {
    INFO(other);
    CHECK(name(other) == "none");
  }
}

TEST_CASE("every GPU of the table is complete and names its sources", "[device][gpu]") {
  const std::vector<Device> gpus = known_gpus();
  CHECK(gpus.size() >= 10);
  for (const Device& gpu : gpus) {
    INFO(gpu.name);
    CHECK(known_gpu(gpu.name)->name == gpu.name);
    CHECK((gpu.backend == "cuda" || gpu.backend == "hip"));
    CHECK_FALSE(gpu.architecture.empty());
    CHECK(gpu.units > 0);
    for (const auto& fact :
         {gpu.f32_flops_per_s, gpu.f16_flops_per_s, gpu.bf16_flops_per_s, gpu.memory_bytes_per_s,
          gpu.memory_bytes, gpu.l2_bytes, gpu.shared_bytes_per_unit}) {
      REQUIRE(fact.has_value());
      CHECK(fact->value > 0);
      CHECK(fact->source.size() > 8);
    }
    // Dense matrix rates of these parts are 4 to 30 times their vector rate; twice that would be
    // the figure with sparsity.
    const double ratio = gpu.f16_flops_per_s->value / gpu.f32_flops_per_s->value;
    CHECK(ratio >= 3.9);
    CHECK(ratio <= 29);
  }
  CHECK(peak_flops_per_s(*known_gpu("NVIDIA H200"), Dtype::bf16)->value == Approx(989.5e12));
  CHECK(peak_flops_per_s(*known_gpu("NVIDIA H200"), Dtype::f32)->value == Approx(67e12));
  CHECK(peak_flops_per_s(*known_gpu("NVIDIA A100-SXM4-40GB"), Dtype::f16)->value == Approx(312e12));
}

TEST_CASE("a device survives JSON", "[device][json]") {
  for (const Device& gpu : known_gpus()) {
    const auto parsed = parse_json(to_json(gpu).dump(), "device");
    REQUIRE(parsed.ok());
    const auto back = device_from_json(*parsed);
    REQUIRE(back.ok());
    CHECK(to_json(*back) == to_json(gpu));
  }
  const Device cpu = detect_cpu();
  const auto back = device_from_json(to_json(cpu));
  REQUIRE(back.ok());
  CHECK(to_json(*back) == to_json(cpu));
  CHECK_FALSE(back->f16_flops_per_s.has_value());
}

TEST_CASE("bad device JSON is refused", "[device][json][bad_input]") {
  const Json good = to_json(*known_gpu("NVIDIA L4"));
  REQUIRE(device_from_json(good).ok());
  const auto refused = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return !device_from_json(json).ok();
  };
  CHECK(refused("units", "58"));
  CHECK(refused("units", -1));
  CHECK(refused("name", 3));
  CHECK(refused("surprise", 1));
  CHECK(refused("l2_bytes", 48));
  CHECK(refused("l2_bytes", {{"value", 0}, {"source", "x"}}));
  CHECK(refused("l2_bytes", {{"value", 1}, {"source", ""}}));
  CHECK(refused("l2_bytes", {{"value", "1"}, {"source", "x"}}));
  CHECK_FALSE(device_from_json(Json(nullptr)).ok());
}
