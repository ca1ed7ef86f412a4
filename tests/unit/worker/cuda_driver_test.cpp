// SPDX-License-Identifier: MIT
// What the worker reports if CUDA cannot be used; needs no GPU.
#include <string>

#include "libraries.hpp"
#include "support/catch.hpp"
#include "worker/cuda/device_code.hpp"
#include "worker/cuda/driver.hpp"

using namespace wb;
using namespace wb::worker::cuda;

namespace {

Fault fault_of(const char* library) {
  const auto driver = Driver::load(library);
  REQUIRE_FALSE(driver.ok());
  return driver.error();
}

bool says(const Fault& fault, const std::string& words) {
  return fault.message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("no CUDA driver", "[worker][cuda]") {
  const Fault fault = fault_of("libwb_no_such_cuda.so.1");
  CHECK(fault.code == ErrorCode::not_found);
  CHECK(says(fault, "libwb_no_such_cuda.so.1"));
  CHECK(says(fault, "CPU backend"));
  CHECK_FALSE(fault.ends_process());
}

TEST_CASE("a CUDA driver older than the floor", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_old.so").c_str());
  CHECK(fault.code == ErrorCode::environment);
  CHECK(says(fault, "it supports CUDA 12.3, device code needs 12.4"));
}

TEST_CASE("a library that is not a whole CUDA driver", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_partial.so").c_str());
  CHECK(fault.code == ErrorCode::not_found);
  CHECK(says(fault, "it has no function cuInit"));
}

TEST_CASE("a CUDA driver without a device", "[worker][cuda]") {
  const Fault fault = fault_of(library("libfake_cuda_no_device.so").c_str());
  CHECK(fault.status == Status::no_device);
  CHECK(fault.code == ErrorCode::environment);
  CHECK(says(fault, "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"));
  CHECK_FALSE(fault.ends_process());
}

TEST_CASE("statuses that end a process", "[worker][cuda]") {
  for (const Status status : {Status::illegal_address, Status::launch_failed, Status::assertion,
                              Status::misaligned_address, Status::launch_timeout}) {
    CHECK(ends_process(status));
  }
  for (const Status status :
       {Status::success, Status::out_of_memory, Status::no_device, Status::invalid_value,
        Status::not_found, Status::no_binary_for_gpu, Status::unsupported_ptx_version}) {
    CHECK_FALSE(ends_process(status));
  }
}

TEST_CASE("a Fault is an Error where only its message matters", "[worker][cuda]") {
  const auto load = []() -> Result<int> {
    WB_TRY_ASSIGN(const DriverPtr driver, Driver::load("libwb_no_such_cuda.so.1"));
    return driver->version();
  };
  const Result<int> result = load();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().code == ErrorCode::not_found);
}

TEST_CASE("device code is embedded, or the worker says that it is not", "[worker][cuda]") {
  const auto code = device_code();
#if WB_HAS_DEVICE_CODE
  REQUIRE(code.ok());
  CHECK(code->about.find("sm_90") != std::string_view::npos);
  for (const auto image :
       {code->inputs, code->oracle, code->standard, code->errors, code->timing}) {
    // The head of a fat binary, which the driver looks for.
    REQUIRE(image.size() > 1'000);
    CHECK(image[0] == std::byte{0x50});
    CHECK(image[1] == std::byte{0xed});
    CHECK(image[2] == std::byte{0x55});
    CHECK(image[3] == std::byte{0xba});
  }
#else
  REQUIRE_FALSE(code.ok());
  CHECK(says(code.error(), "built without CUDA device code"));
#endif
}
