// SPDX-License-Identifier: MIT
#include "analyze/measured_table.hpp"

#include <random>

#include "support/catch.hpp"

using namespace wb;
using namespace wb::analyze;
using namespace wb::measure;
using namespace wb::problem;

namespace {

Result<TableEvidence> reading(std::string_view text, std::string shape = "D=64 f16",
                              std::string_view what = "t.md") {
  TableReading how;
  how.shape = std::move(shape);
  return read_measured_table(text, what, how);
}

std::string refusal(std::string_view text, std::string shape = "D=64 f16") {
  const auto result = reading(text, std::move(shape));
  REQUIRE_FALSE(result.ok());
  return result.error().message();
}

constexpr std::string_view k_document = R"(### Performance
```
Config          | Ours (ms) | PyTorch (ms) | Ratio | GFLOP/s Ours
B=1,H=1,S=128   | 0.579     | 0.085        | 6.8x  | 7.2
B=16,H=8,S=512  | 23.900    | 0.326        | 73.2x | 359.4
```
)";

}  // namespace

TEST_CASE("A table of a document becomes evidence", "[analyze][table]") {
  const auto table = reading(k_document);
  REQUIRE(table.ok());
  CHECK(table->gaps.empty());
  CHECK(table->rows == 2);
  const auto& seen = table->evidence.observations;
  REQUIRE(seen.size() == 4);
  CHECK(to_text(seen[2].problem) == "B=16 Hq=8 Hkv=8 Sq=512 Skv=512 D=64 f16 causal=none");
  CHECK(seen[2].subject == "Ours (ms)");
  CHECK(seen[2].measurement.median_us == Approx(23'900));
  CHECK(seen[3].measurement.median_us == Approx(326));
  REQUIRE(table->evidence.beside.size() == 2);
  CHECK(table->evidence.beside[0].subject == "PyTorch (ms)");
}

TEST_CASE("A size's letter in brackets is no unit of time", "[analyze][table]") {
  const auto table = reading(
      "| Batch (B) | Heads (H) | Seq (S) | ours (ms) |\n|--|--|--|--|\n| 1 | 8 | 512 | 3 |\n");
  REQUIRE(table.ok());
  CHECK(table->gaps.empty());
  REQUIRE(table->evidence.observations.size() == 1);
  const Observation& seen = table->evidence.observations[0];
  CHECK(to_text(seen.problem) == "B=1 Hq=8 Hkv=8 Sq=512 Skv=512 D=64 f16 causal=none");
  CHECK(seen.measurement.median_us == 3000);
  CHECK(refusal("| B | H | Seq (S) |\n|--|--|--|\n| 1 | 8 | 512 |\n").find("is a time") !=
        std::string::npos);
  // Without a size's name before it, it is seconds.
  const auto seconds = reading("| B | H | S | ours (s) |\n|--|--|--|--|\n| 1 | 8 | 512 | 3 |\n");
  REQUIRE(seconds.ok());
  CHECK(seconds->evidence.observations[0].measurement.median_us == 3e6);
}

TEST_CASE("CSV with quotes, np.float64 and sizes in columns", "[analyze][table]") {
  const auto table = reading(
      "batch,heads,seq,\"head dim\",dtype,time_us,sdpa_us\r\n"
      "\"1\",8,512,64,torch.float16,np.float64(6800.0),\"15.4\"\r\n"
      "4.0,16,512,64,fp16,\"45,300.0\",0.0803 ms\r\n",
      "", "t.csv");
  REQUIRE(table.ok());
  CHECK(table->gaps.empty());
  const auto& seen = table->evidence.observations;
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].measurement.median_us == 6800);
  CHECK(seen[2].measurement.median_us == 45'300);
  CHECK(seen[2].problem.B == 4);
  CHECK(seen[3].measurement.median_us == Approx(80.3));
}

TEST_CASE("What is no time is a gap, and never a figure", "[analyze][table]") {
  for (const char* bad : {"nan", "NaN", "inf", "-", "", "0", "-1", "np.float64(nan)", "1,5",
                          "0.5 GB", "6.8x", "1e999", "none"}) {
    const std::string text =
        "| B | H | S | ours (ms) | sdpa (ms) |\n|--|--|--|--|--|\n| 1 | 8 | "
        "512 | " +
        std::string(bad) + " | 0.5 |\n";
    CAPTURE(bad);
    const auto table = reading(text);
    REQUIRE(table.ok());
    CHECK(table->evidence.observations.size() == 1);
    REQUIRE(table->gaps.size() == 1);
    CHECK(table->gaps[0].find("line 3: ") == 0);
    CHECK(table->gaps[0].find("no positive time") != std::string::npos);
  }
}

TEST_CASE("Merged cells leave their row out", "[analyze][table]") {
  const auto table = reading(
      "| B | H | S | ours (ms) |\n|--|--|--|--|\n| 1 | 8 | 512 | 1 |\n|   | 16 | 512 | 2 |\n"
      "| 4 | 16 | 3 |\n| 1.5 | 8 | 64 | 1 |\n| 1 | 8 | 512 | 1.1 |\n");
  REQUIRE(table.ok());
  CHECK(table->rows == 2);
  REQUIRE(table->gaps.size() == 4);
  CHECK(table->gaps[0].find("line 4: the row is left out") == 0);
  CHECK(table->gaps[0].find("merged") != std::string::npos);
  CHECK(table->gaps[1].find("line 5: 3 cells below a header of 4") == 0);
  CHECK(table->gaps[2].find("no whole number") != std::string::npos);
  CHECK(table->gaps[3].find("the problem of line 3 again") != std::string::npos);
}

TEST_CASE("A table that cannot be read says which column it misses", "[analyze][table]") {
  CHECK(refusal("no table here").find("no header with a row") != std::string::npos);
  CHECK(refusal("").find("no header with a row") != std::string::npos);
  CHECK(refusal("B,H,S,time\n1,8,512,3\n").find("no column says in its header that it is a time") !=
        std::string::npos);
  CHECK(refusal("B,H,S,time (GB/s)\n1,8,512,3\n").find("is a time") != std::string::npos);
  CHECK(refusal("name,ours (ms)\nx,3\n").find("no column says the sizes") != std::string::npos);
  CHECK(refusal("B,H,S,a (ms),b (ms)\n1,8,512,3,4\n").find("name one with --ours") !=
        std::string::npos);
  CHECK(refusal("B,B,S,a (ms)\n1,8,512,3\n").find("two columns \"B\"") != std::string::npos);
  CHECK(refusal("B,batch,S,a (ms)\n1,8,512,3\n").find("both are B") != std::string::npos);
  CHECK(refusal("B,H,S,a (ms)\n1,8,512,3\n", "D=64").find("dtype") != std::string::npos);
  CHECK(refusal("B,H,S,a (ms)\n1,8,512,3\n", "f16").find("D") != std::string::npos);
  CHECK(refusal("B,H,S,a (ms)\n1,8,0,3\n").find("no row has a problem and a time") !=
        std::string::npos);
}

TEST_CASE("Columns can be named, and quantiles are no figure of a row", "[analyze][table]") {
  constexpr std::string_view k_two = "B,H,S,v2 (ms),v3 (ms),p90 v3 (ms)\n1,8,512,3,4,5\n";
  TableReading how;
  how.shape = "D=64 f16";
  how.ours = "v3 (ms)";
  how.reference = "v2 (ms)";
  const auto named = read_measured_table(k_two, "t.csv", how);
  REQUIRE(named.ok());
  CHECK(named->evidence.observations[0].measurement.median_us == 4000);
  CHECK(named->evidence.beside[0].measurement.median_us == 3000);
  how.ours = "v4 (ms)";
  const auto none = read_measured_table(k_two, "t.csv", how);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message().find("none of its columns of times") != std::string::npos);
  const auto side = reading("B,H,S,ours (ms),ours p90 (ms),std (ms)\n1,8,512,3,4,5\n");
  REQUIRE(side.ok());
  CHECK(side->evidence.observations.size() == 1);
}

TEST_CASE("Further tables with times are told, not mixed", "[analyze][table]") {
  const auto table = reading(
      "| name | x |\n|--|--|\n| a | b |\n\n| B | H | S | ours (ms) |\n|--|--|--|--|\n| 1 | 8 | 512 "
      "| 1 |\n\n| B | H | S | SDPA (us) |\n|--|--|--|--|\n| 1 | 8 | 512 | 1 |\n");
  REQUIRE(table.ok());
  CHECK(table->evidence.observations.size() == 1);
  REQUIRE(table->gaps.size() == 1);
  CHECK(table->gaps[0].find("on lines 9") != std::string::npos);
}

TEST_CASE("Noise in a table never ends the reading", "[analyze][table]") {
  std::mt19937 random(5);
  for (int i = 0; i < 2'000; ++i) {
    std::string noise(k_document);
    for (int k = 0; k < 6; ++k) noise[random() % noise.size()] = static_cast<char>(random());
    const auto table = reading(noise, "D=64 f16", i % 2 == 0 ? "t.md" : "t.csv");
    if (!table.ok()) continue;
    for (const Observation& seen : table->evidence.observations) {
      CHECK(seen.measurement.median_us > 0);
      CHECK(validate(seen.problem).ok());
    }
  }
}

TEST_CASE("Names of sizes as FlashAttention, Triton, FlashInfer and reports write them",
          "[analyze][table]") {
  const auto flash =
      reading("batch_size,nheads,seqlen,headdim,ours (ms)\n4,16,1024,64,0.20\n4,16,2048,64,0.70\n",
              "f16", "t.csv");
  REQUIRE(flash.ok());
  CHECK(flash->gaps.empty());
  REQUIRE(flash->rows == 2);
  CHECK(to_text(flash->evidence.observations[1].problem) ==
        "B=4 Hq=16 Hkv=16 Sq=2048 Skv=2048 D=64 f16 causal=none");
  const auto triton =
      reading("N_CTX,triton (ms),flash2 (ms)\n1024.0,0.112,0.120\n2048.0,0.410,0.433\n",
              "B=4 H=16 D=64 f16", "t.csv");
  REQUIRE(triton.ok());
  CHECK(triton->gaps.empty());
  REQUIRE(triton->evidence.observations.size() == 4);
  CHECK(triton->evidence.beside.size() == 2);
  CHECK(triton->evidence.observations[2].problem.Sq == 2048);
  struct Header {
    std::string_view names;
    std::string_view problem;
  };
  const std::string_view square = "B=2 Hq=8 Hkv=8 Sq=1024 Skv=1024 D=64 f16 causal=none";
  const std::string_view grouped = "B=2 Hq=8 Hkv=2 Sq=1024 Skv=4096 D=64 f16 causal=none";
  for (const Header& one : std::initializer_list<Header>{
           {"BATCH | n_heads | Seq Len | HEAD_DIM | ours (ms)", square},
           {"Batch | Num Heads | Context Length | Head Dim | time_us", square},
           {"Z | H | N_CTX | D_HEAD | triton_ms", square},
           {"bs | num-heads | sequence_length | d (D) | ms", square},
           {"B | H_q | kv_heads | seqlen_q | seqlen_k | headdim | ours (ms)", grouped},
           {"batch | num_qo_heads | num_kv_heads | q_len | kv_len | head_size | ours (ms)",
            grouped},
           {"B | nheads_q | nheads_k | Sq | Skv | D | ours (ms)", grouped}}) {
    const bool is_grouped = one.problem == grouped;
    const auto table = reading(
        "| " + std::string(one.names) + " |\n|" + std::string(is_grouped ? "--|--|" : "") +
            "--|--|--|--|--|\n" +
            (is_grouped ? "| 2 | 8 | 2 | 1k | 4,096 | 64 | 3 |\n" : "| 2 | 8 | 1K | 64 | 3 |\n"),
        "f16");
    CAPTURE(one.names);
    REQUIRE(table.ok());
    CHECK(table->gaps.empty());
    REQUIRE(table->evidence.observations.size() == 1);
    CHECK(to_text(table->evidence.observations[0].problem) == one.problem);
  }
  // What is no size stays none, and a unit in brackets is no letter.
  CHECK(refusal("| B | H | hidden | ours (ms) |\n|--|--|--|--|\n| 1 | 8 | 512 | 3 |\n")
            .find("no row has a problem") != std::string::npos);
}

TEST_CASE("Rows that say whose they are", "[analyze][table]") {
  const std::string rows =
      "provider,S,time_ms\nours,1k,2.0\ntorch,1k,3.0\nours,2k,8.0\ntorch,2k,9.0\n";
  const auto table = reading(rows, "B=1 H=8 D=64 f16", "t.csv");
  REQUIRE(table.ok());
  CHECK(table->gaps.empty());
  REQUIRE(table->evidence.observations.size() == 4);
  REQUIRE(table->evidence.beside.size() == 2);
  CHECK(table->evidence.observations[0].subject == "ours");
  CHECK(table->evidence.beside[1].subject == "torch");
  CHECK(table->evidence.beside[1].measurement.median_us == 9000);
  // Two that may be ours: asked for, not mixed.
  const std::string three = rows + "other,1k,2.5\n";
  const auto mixed = reading(three, "B=1 H=8 D=64 f16", "t.csv");
  REQUIRE_FALSE(mixed.ok());
  CHECK(mixed.error().message().find("name one with --ours") != std::string::npos);
  TableReading how;
  how.shape = "B=1 H=8 D=64 f16";
  how.ours = "other";
  const auto named = read_measured_table(three, "t.csv", how);
  REQUIRE(named.ok());
  CHECK(named->evidence.observations.size() == 3);
  REQUIRE(named->gaps.size() == 1);
  CHECK(named->gaps[0].find("rows of \"ours\" are neither") != std::string::npos);
}
