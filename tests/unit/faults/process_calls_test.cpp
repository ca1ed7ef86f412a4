// SPDX-License-Identifier: MIT
// Row A4 of the fault plan. For child processes: the Nth fork, pipe, open, write or mmap of a start
// fails; each time there is a typed error or the child's own answer, no descriptor stays open and
// no child is left. For the cache of built artifacts: the Nth call under a build fails; the build
// then fails as the machine's matter or succeeds all the same, and nothing is left that a later
// build would take for a whole artifact.
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "support/catch.hpp"
#include "support/fault_calls.hpp"
#include "support/processes.hpp"
#include "support/torture.hpp"
#include "unit/variant/kernel_folder.hpp"
#include "variant/builder.hpp"

using namespace wb;
using namespace wb::testing;
using namespace std::chrono_literals;
using namespace wb::problem;
using namespace wb::variant;

namespace {

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Runs `use` under every fault until none fires; `use` answers its error, if any.
template <typename TechniqueCounts>
void fail_each_call(Points& points, TechniqueCounts use) {
  for (const SystemCall call : {SystemCall::fork, SystemCall::pipe, SystemCall::open,
                                SystemCall::write, SystemCall::mmap}) {
    for (const int error_number : {EAGAIN, ENOMEM, EMFILE, EIO, EINTR}) {
      for (const int times : {1, 3}) {
        for (int nth = 1;; ++nth) {
          const std::size_t descriptors = open_descriptors();
          arm_call_fault({.call = call, .nth = nth, .times = times, .error_number = error_number});
          const std::optional<Error> error = use();
          disarm_call_fault();
          if (failed_calls() == 0) {
            REQUIRE_FALSE(error);
            break;
          }
          points.begin();
          INFO(to_string(call) << " " << nth << " x " << times << ": "
                               << std::strerror(error_number));
          if (error) {
            INFO(error->message());
            REQUIRE(error->code != ErrorCode::internal);
            REQUIRE_FALSE(error->cause.empty());
          }
          REQUIRE(open_descriptors() == descriptors);
          REQUIRE(::waitpid(-1, nullptr, WNOHANG) == -1);
          REQUIRE(errno == ECHILD);
          points.pass();
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every failing call under a program run to its end is survived", "[faults][process]") {
  Points points("A4 process");
  fail_each_call(points, []() -> std::optional<Error> {
    ProcessSpec spec = shell("echo out; echo err >&2");
    spec.deadline = 20s;
    const auto done = run_process(spec);
    if (!done.ok()) return done.error();
    REQUIRE(done->success());
    REQUIRE(done->out == "out\n");
    return std::nullopt;
  });
  CHECK(points.passed() > 20);
}

TEST_CASE("every failing call under a child that answers lines is survived", "[faults][process]") {
  Points points("A4 process");
  fail_each_call(points, []() -> std::optional<Error> {
    auto child = ChildProcess::spawn(shell("read line; echo \"$line\""));
    if (!child.ok()) return child.error();
    if (auto said = child->write_line("word", 20s); !said.ok()) return said.error();
    const auto answer = child->read_line(20s, 1000);
    if (!answer.ok()) return answer.error();
    REQUIRE(*answer == "word");
    return std::nullopt;
  });
  CHECK(points.passed() > 20);
}

namespace {

constexpr int k_more_than_enough = 2000;

/// Writes what a compiler would, in two parts, and says so when it cannot.
class WritingToolchain final : public Toolchain {
 public:
  Result<CompilerIdentity> identity() const override {
    return CompilerIdentity{"/fake", "fake 1.0", "signature"};
  }
  Outcome<BuildRecord> compile(const Variant&, const Configuration&, const BuildOptions&,
                               std::string_view build_id, const fs::path& output) const override {
    RealFileSystem files;
    if (const auto done = files.write_atomic(output, build_id, Durability::none); !done.ok()) {
      return Failure{Invalidity::environment, done.error().message(), ""};
    }
    BuildRecord record;
    record.compiler = "fake 1.0";
    return record;
  }
};

std::size_t entries_of(const fs::path& folder) {
  std::error_code ignored;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator()));
}

/// The bytes of a build with nothing in its way.
std::string whole_artifact(const Variant& variant, const fs::path& root) {
  RealFileSystem files;
  const WritingToolchain toolchain;
  const auto built = ArtifactCache(files, root).build(variant, {}, {}, &toolchain);
  INFO((built.ok() ? std::string() : built.error().message));
  REQUIRE(built.ok());
  const auto bytes = files.read(built->path, 1u << 20);
  REQUIRE(bytes.ok());
  return *bytes;
}

/// False when no call met the fault.
bool build_once(const CallFault& fault, const Variant& variant, const std::string& whole,
                Points& points) {
  const TempDirectory folder = *TempDirectory::create("wb-cache-calls");
  RealFileSystem files;
  const WritingToolchain toolchain;
  const std::size_t descriptors = entries_of("/proc/self/fd");
  arm_call_fault(fault);
  {
    const auto built = ArtifactCache(files, folder.path()).build(variant, {}, {}, &toolchain);
    disarm_call_fault();
    if (failed_calls() == 0) {
      REQUIRE(built.ok());
      return false;
    }
    points.begin();
    INFO(to_string(fault.call) << " " << fault.nth << " x " << fault.times << ": "
                               << std::strerror(fault.error_number));
    if (!built.ok()) {
      INFO(built.error().message);
      REQUIRE(built.error().invalidity == Invalidity::environment);
      REQUIRE_FALSE(built.error().message.empty());
    }
    REQUIRE(whole_artifact(variant, folder.path()) == whole);
  }
  REQUIRE(entries_of("/proc/self/fd") == descriptors);
  // A process that can open or unlink nothing any more cannot tidy up; a later build does.
  if (fault.times != k_for_ever) REQUIRE(entries_of(folder.path() / "tmp") == 0);
  points.pass();
  return true;
}

}  // namespace

TEST_CASE("every failing call under a build is survived", "[faults][cache]") {
  Points points("A4 cache");
  const wb::test::KernelFolder kernels;
  kernels.kernel("k", "int x;\n");
  const Variant variant = kernels.must_read("k");
  const TempDirectory model = *TempDirectory::create("wb-cache-calls");
  const std::string whole = whole_artifact(variant, model.path());
  for (const SystemCall call :
       {SystemCall::open, SystemCall::write, SystemCall::sync, SystemCall::rename, SystemCall::link,
        SystemCall::mkdir, SystemCall::unlink}) {
    for (const int error_number : {ENOSPC, EIO, EMFILE, EINTR}) {
      for (const bool stays : {false, true}) {
        const int times = stays ? (error_number == EINTR ? 3 : k_for_ever) : 1;
        for (int nth = 1; nth < k_more_than_enough; ++nth) {
          const CallFault fault{
              .call = call, .nth = nth, .times = times, .error_number = error_number};
          if (!build_once(fault, variant, whole, points)) break;
        }
      }
    }
  }
  CHECK(points.passed() > 50);
}
