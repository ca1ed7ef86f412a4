// SPDX-License-Identifier: MIT
#include "variant/cuda_target.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::variant;

namespace {

using Words = std::vector<std::string>;

/// The choice, or the error's code in brackets.
std::string chosen(const Words& architectures, std::string_view device, std::string_view wanted) {
  const auto target = choose_cuda_target(architectures, device, wanted);
  return target.ok() ? *target : "[" + std::string(to_string(target.error().code)) + "]";
}

}  // namespace

TEST_CASE("architecture words are read exactly", "[variant][cuda]") {
  CHECK(parse_cuda_target("sm_90a") == CudaTarget{90, 'a'});
  CHECK(parse_cuda_target("sm_80") == CudaTarget{80, 0});
  CHECK(parse_cuda_target("sm_103f") == CudaTarget{103, 'f'});
  for (const char* word : {"", "sm_", "sm_9", "sm_9000", "sm_90b", "sm_90aa", "compute_90",
                           "sm_-90", "sm_+90", "x86-64", "sm_90a,code=sm_80", "SM_90"}) {
    INFO(word);
    CHECK_FALSE(parse_cuda_target(word).has_value());
  }
  CHECK(gencode_of({90, 'a'}) == "arch=compute_90a,code=sm_90a");
  CHECK(gencode_of({120, 0}) == "arch=compute_120,code=sm_120");
}

TEST_CASE("the device's own code is built of what the manifest allows", "[variant][cuda]") {
  CHECK(chosen({"sm_90a"}, "sm_90", "native") == "sm_90a");
  CHECK(chosen({"sm_80"}, "sm_90", "native") == "sm_90");
  CHECK(chosen({}, "sm_90", "") == "sm_90");
  CHECK(chosen({"sm_80", "sm_90a"}, "sm_90", "") == "sm_90a");
  CHECK(chosen({"sm_90a", "sm_80"}, "sm_100", "") == "sm_100");
  CHECK(chosen({"sm_100f"}, "sm_103", "") == "sm_103f");
  CHECK(chosen({"sm_100f"}, "sm_110", "") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_80", "") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_100", "") == "[invalid]");  // 'a' goes nowhere else
  CHECK(chosen({"x86-64"}, "sm_90", "") == "[invalid]");
}

TEST_CASE("without a device the manifest's first architecture is built", "[variant][cuda]") {
  CHECK(chosen({"sm_90a", "sm_80"}, "", "native") == "sm_90a");
  CHECK(chosen({"x86-64"}, "", "native") == "[invalid]");
  CHECK(chosen({}, "", "native") == "[environment]");
  CHECK(chosen({}, "", "sm_75") == "sm_75");
}

TEST_CASE("a wish decides over the device, not over the manifest", "[variant][cuda]") {
  CHECK(chosen({"sm_80"}, "sm_90", "sm_80") == "sm_80");
  CHECK(chosen({"sm_80"}, "", "sm_90a") == "sm_90a");
  CHECK(chosen({"sm_90a"}, "sm_80", "sm_90") == "sm_90a");
  CHECK(chosen({"sm_90a"}, "", "sm_80") == "[invalid]");
  CHECK(chosen({"sm_90a"}, "sm_90", "x86-64-v3") == "[invalid]");
  const auto refused = choose_cuda_target({"sm_90a"}, "", "sm_80");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("written for sm_90a, not for sm_80") != std::string::npos);
}
