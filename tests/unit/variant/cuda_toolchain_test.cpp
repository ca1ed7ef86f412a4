// SPDX-License-Identifier: MIT
// What nvcc may do wrong, with a script in its place; and the real one, where there is one.
#include "core/process.hpp"
#include "kernel_folder.hpp"
#include "variant/builder.hpp"
#include "variant/compile_sandbox.hpp"

using namespace wb;
using namespace wb::variant;
using wb::test::cuda_kernel;
using wb::test::FakeNvcc;
using wb::test::KernelFolder;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string line_of(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += word + " ";
  return line;
}

struct Fixture {
  KernelFolder folder;
  BuildOptions options{.target = "sm_90a"};
  fs::path output = folder.path() / "out.so";

  Outcome<BuildRecord> compile(const CudaToolchain& toolchain,
                               const Configuration& configuration = {}) {
    return toolchain.compile(folder.must_read("k"), configuration, options, "the-id", output);
  }
  Failure refused(const CudaToolchain& toolchain) {
    auto record = compile(toolchain);
    REQUIRE_FALSE(record.ok());
    CHECK_FALSE(fs::exists(output));
    return std::move(record).error();
  }
  Failure refused(const FakeNvcc& nvcc) { return refused(CudaToolchain({.nvcc = nvcc.path()})); }
};

const char* const k_makes = "echo made > \"$library\"";

}  // namespace

TEST_CASE("nvcc gets one exact architecture, and its words become a record", "[variant][cuda]") {
  Fixture f;
  cuda_kernel(f.folder, "", R"("compile_flags": ["--use_fast_math"])");
  const FakeNvcc nvcc(std::string(k_makes) +
                      "\necho \"ptxas info    : Compiling entry function '_Z1kv' for 'sm_90a'\" >&2"
                      "\necho 'ptxas info    : Used 168 registers, used 2 barriers' >&2");
  const auto record = f.compile(CudaToolchain({.nvcc = nvcc.path()}), {{"TILE", 7}});
  INFO((record.ok() ? std::string() : record.error().message + record.error().untrusted_output));
  REQUIRE(record.ok());
  CHECK(record->compiler.starts_with("nvcc 99.1.7, "));
  CHECK(record->target == "sm_90a");
  REQUIRE(record->ptxas.kernels.size() == 1);
  CHECK(record->ptxas.kernels[0] ==
        KernelResources{.kernel = "k", .registers = 168, .barriers = 2});
  const std::string line = line_of(record->argv);
  for (const char* word : {"-gencode=arch=compute_90a,code=sm_90a", "-cudart=static", "-shared",
                           "-fvisibility=hidden", "-DTILE=7", "--use_fast_math", "-ccbin=/"}) {
    INFO(word);
    CHECK(has(line, word));
  }
  CHECK_FALSE(has(line, f.folder.path().string()));
}

TEST_CASE("a missing nvcc is the machine's fault and names the place", "[variant][cuda]") {
  Fixture f;
  cuda_kernel(f.folder, "");
  const Failure failure = f.refused(CudaToolchain({.nvcc = "/nowhere/bin/nvcc"}));
  CHECK(failure.invalidity == Invalidity::environment);
  CHECK(has(failure.message, "/nowhere/bin/nvcc"));
  CHECK(has(failure.message, "CUDA_HOME"));
  const Failure host =
      f.refused(CudaToolchain({.nvcc = FakeNvcc(k_makes).path(), .host_compiler = "no-such-c++"}));
  CHECK(host.invalidity == Invalidity::environment);
}

TEST_CASE("nvcc is looked for where the user says, then where it usually is", "[variant][cuda]") {
  const FakeNvcc one(k_makes), two(k_makes);
  const std::string home = one.bin().parent_path().string();
  CHECK(*find_nvcc({.nvcc = two.path(), .home = home}) == two.path());
  CHECK(*find_nvcc({.cudacxx = two.path(), .home = home}) == two.path());
  CHECK(*find_nvcc({.home = home, .toolkit = two.bin().parent_path().string()}) == one.path());
  // A toolkit for running only has no nvcc: passed over. A program that is named must be there.
  CHECK(*find_nvcc({.home = "/nowhere", .toolkit = home}) == one.path());
  CHECK_FALSE(find_nvcc({.cudacxx = "/nowhere/nvcc", .home = home}).ok());
}

TEST_CASE("an nvcc that the user names must be there", "[variant][cuda]") {
  CHECK(CudaToolchain({.nvcc = FakeNvcc(k_makes).path()}).is_installed());
  // Not "not installed": then an artifact of another compiler would do.
  CHECK(CudaToolchain({.nvcc = "/nowhere/bin/nvcc"}).is_installed());
  CHECK(CudaToolchain({.cudacxx = "/nowhere/bin/nvcc"}).is_installed());
  CHECK(CudaToolchain({.home = "/nowhere"}).is_installed() == find_nvcc({}).ok());
}

TEST_CASE("a compiler that dies is told from one that refuses", "[variant][cuda][hostile]") {
  Fixture f;
  cuda_kernel(f.folder, "");
  const Failure crash = f.refused(FakeNvcc(
      "echo \"nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)\" >&2; exit "
      "255"));
  CHECK(crash.invalidity == Invalidity::compile);
  CHECK(has(crash.message, "crashed"));
  const Failure refusal = f.refused(FakeNvcc("echo 'kernel.cu(1): error: no' >&2; exit 2"));
  CHECK(refusal.invalidity == Invalidity::compile);
  CHECK(has(refusal.message, "nvcc refused the source"));
  CHECK(has(refusal.untrusted_output, "kernel.cu(1): error"));
  const Failure silent = f.refused(FakeNvcc("exit 0"));  // and no library
  CHECK(silent.invalidity == Invalidity::compile);
}

TEST_CASE("nvcc ends at the deadline", "[variant][cuda][hostile]") {
  Fixture f;
  cuda_kernel(f.folder, "");
  f.options.deadline = std::chrono::seconds(1);
  const Failure failure = f.refused(FakeNvcc("sleep 600"));
  CHECK(failure.invalidity == Invalidity::timeout);
  CHECK(has(failure.message, "deadline of 1 s"));
}

TEST_CASE("an nvcc that cannot build for the target blames the machine, with a remedy",
          "[variant][cuda]") {
  Fixture f;
  cuda_kernel(f.folder, "");
  const std::string words =
      "echo \"nvcc fatal   : Unsupported gpu architecture 'compute_90a'\" >&2";
  const Failure failure = f.refused(FakeNvcc(words + "; exit 1"));
  CHECK(failure.invalidity == Invalidity::environment);
  CHECK(has(failure.message, "nvcc 99.1.7"));
  CHECK(has(failure.message, "does not compile for sm_90a"));
  CHECK(has(failure.message, "--nvcc"));
  const Failure host = f.refused(
      FakeNvcc("echo '#error -- unsupported GNU version! gcc versions later than 15' >&2; exit 1"));
  CHECK(host.invalidity == Invalidity::environment);
  CHECK(has(host.message, "--host-compiler"));
  const FakeNvcc long_words("yes 'a line' | head -n 40000 >&2; " + words + "; exit 1");
  const auto ptx = CudaToolchain({.nvcc = long_words.path()})
                       .listing(Listing::ptx, f.folder.must_read("k"), {}, f.options, "out.so");
  REQUIRE_FALSE(ptx.ok());
  CHECK(ptx.error().invalidity == Invalidity::environment);
  CHECK(has(ptx.error().message, "does not compile for sm_90a"));
  CHECK(ptx.error().untrusted_output.size() <= 64u << 10);
  CHECK(has(ptx.error().untrusted_output, "Unsupported gpu architecture"));
  // The same words of a source, where an empty function compiles.
  const Failure source = f.refused(FakeNvcc(
      "case $source in *wb_probe.cu) echo x > \"$library\"; exit 0;; esac; " + words + "; exit 1"));
  CHECK(source.invalidity == Invalidity::compile);
}

TEST_CASE("PTX is made without the libraries, which nvcc would take for sources",
          "[variant][cuda]") {
  Fixture f;
  cuda_kernel(f.folder, "", R"("libraries": ["extra"])");
  f.folder.write("granted/libextra.a", "");
  f.options.allowed_includes = {f.folder.root() / "granted"};
  const FakeNvcc nvcc(
      "case \"$*\" in *--ptx*libextra*|*--ptx*rpath*) "
      "echo 'A single input file is required' >&2; exit 1;; esac\n" +
      std::string(k_makes));
  const CudaToolchain toolchain({.nvcc = nvcc.path()});
  const auto ptx =
      toolchain.listing(Listing::ptx, f.folder.must_read("k"), {}, f.options, "library.so");
  INFO((ptx.ok() ? std::string() : ptx.error().message + ptx.error().untrusted_output));
  CHECK(ptx.ok());
  const auto record = f.compile(toolchain);
  REQUIRE(record.ok());
  CHECK(has(line_of(record->argv), "libextra.a -Xlinker -rpath -Xlinker /"));
}

TEST_CASE("flags and targets outside the lists never reach nvcc", "[variant][cuda][hostile]") {
  Fixture f;
  const FakeNvcc nvcc(k_makes);
  for (const std::string flag :
       {"-ccbin=/tmp/x", "-Xcompiler=-fplugin=x", "-run", "-O0", "@file"}) {
    cuda_kernel(f.folder, "", "\"compile_flags\": [\"" + flag + "\"]");
    const Failure failure = f.refused(nvcc);
    CHECK(failure.invalidity == Invalidity::constraints);
    CHECK(has(failure.message, flag));
  }
  cuda_kernel(f.folder, "");
  for (const std::string target : {"native", "x86-64-v3", "sm_90a -run", ""}) {
    f.options.target = target;
    CHECK(f.refused(nvcc).invalidity == Invalidity::constraints);
  }
}

TEST_CASE("nvcc's identity covers ptxas and the host compiler", "[variant][cuda]") {
  const FakeNvcc nvcc(k_makes);
  nvcc.write("host", "#!/bin/sh\necho host-cc 1.0\n");
  const std::string host = (nvcc.bin() / "host").string();
  const CudaToolchain toolchain({.nvcc = nvcc.path(), .host_compiler = host});
  const fs::path memory = nvcc.bin() / "memory";
  const auto signature = [&] {
    const auto identity = toolchain.remembered_identity(memory);
    REQUIRE(identity.ok());
    CHECK(identity->version == "nvcc 99.1.7, host-cc 1.0");
    return identity->signature;
  };
  const std::string first = signature();
  CHECK(signature() == first);
  const auto earlier = [](const fs::path& file) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  };
  earlier(nvcc.bin() / "ptxas");
  const std::string second = signature();
  CHECK(second != first);
  earlier(host);
  CHECK(signature() != second);
  // Remembered: an nvcc that says something else under the same stamp is not asked again.
  const auto size = fs::file_size(nvcc.path());
  const auto time = fs::last_write_time(nvcc.path());
  std::ofstream(nvcc.path()) << std::string(size, '\n');
  fs::last_write_time(nvcc.path(), time);
  CHECK(toolchain.remembered_identity(memory).ok());
}

TEST_CASE("machine code needs cuobjdump, and PTX only nvcc", "[variant][cuda]") {
  Fixture f;
  cuda_kernel(f.folder, "");
  const FakeNvcc nvcc("echo '.version 9.0' > \"$library\"");
  const CudaToolchain toolchain({.nvcc = nvcc.path()});
  const auto listing = [&](Listing kind) {
    return toolchain.listing(kind, f.folder.must_read("k"), {}, f.options, "library.so");
  };
  const auto ptx = listing(Listing::ptx);
  REQUIRE(ptx.ok());
  CHECK(*ptx == ".version 9.0\n");
  if (!find_program("cuobjdump").ok()) {
    const auto missing = listing(Listing::sass);
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().invalidity == Invalidity::environment);
    CHECK(has(missing.error().message, "cuobjdump"));
    CHECK(has(missing.error().message, "--ptx"));
  }
  if (!find_program("cuobjdump").ok()) {
    // Without nvcc nothing lies beside it, the working folder least of all.
    const auto nowhere =
        CudaToolchain({.nvcc = "/nowhere/nvcc"})
            .listing(Listing::sass, f.folder.must_read("k"), {}, f.options, "x.so");
    REQUIRE_FALSE(nowhere.ok());
    CHECK(has(nowhere.error().message, "no nvcc here"));
    CHECK_FALSE(has(nowhere.error().message, "--ptx"));
  }
  nvcc.write("cuobjdump", "#!/bin/sh\necho \"code of $2\"\n");
  const auto sass = listing(Listing::sass);
  REQUIRE(sass.ok());
  CHECK(has(*sass, "library.so"));
  nvcc.write("cuobjdump", "#!/bin/sh\necho 'no such file' >&2; exit 1\n");
  const auto failed = listing(Listing::sass);
  REQUIRE_FALSE(failed.ok());
  CHECK(has(failed.error().untrusted_output, "no such file"));
  const auto of_cpu =
      CpuToolchain("g++").listing(Listing::sass, f.folder.must_read("k"), {}, {}, "library.so");
  CHECK(of_cpu.error().invalidity == Invalidity::constraints);
}
