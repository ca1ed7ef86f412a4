// SPDX-License-Identifier: MIT
// Latent attention (FlashMLA and its builds), what SGLang has beside it, and TransformerEngine
// below its autograd functions. The expected work is that of the two products, by hand.
#include "support/catch.hpp"
#include "trace/suite_maker.hpp"
#include "traces.hpp"

using namespace wb;
using namespace wb::trace;
using testing::Call;
using testing::contains;
using testing::with;

namespace {

// 576 wide keys, whose first 512 elements are the values; 128 query heads share one key head.
constexpr double k_pair = 2.0 * (576 + 512);   // FLOPs of one query head and one key
constexpr double k_query = 2.0 * (576 + 512);  // bytes of one query head's q and output, bf16

Call sparse_prefill(const char* name) {
  return {name,
          {{0, "[4096,128,576]"}, {1, "[16384,1,576]"}, {2, "[4096,1,2048]"}},
          {{2, "int"}},
          {{3, "0.04"}, {4, "512"}}};
}

/// 64 sequences with 2 queries each, 2048 keys a query, in pages of 64 tokens of 656 bytes.
Call sparse_decode(const char* name) {
  return {name,
          {{0, "[64,2,128,576]"}, {1, "[9000,64,1,656]"}, {2, "[64,2,2048]"}},
          {{1, "c10::Float8_e4m3fn"}, {2, "int"}},
          {{10, "512"}, {11, "0.04"}}};
}

}  // namespace

TEST_CASE("a list of chosen keys tells the work of latent attention", "[trace][libraries]") {
  for (const char* name :
       {"sgl_kernel::sparse_prefill_fwd", "_flashmla_C::sparse_prefill_fwd",
        "flash_mla::sparse_prefill_fwd", "_flash_mla_1a2b::sparse_prefill_fwd"}) {
    Call call = sparse_prefill(name);
    const OpRow row = call.row();
    CHECK(call.flops() == 4096.0 * 128 * 2048 * k_pair);
    CHECK(*row.work->bytes == 4096.0 * 128 * k_query + 2048.0 * 576 * 2);
    CHECK(row.compute_spec == "matrix_bf16");
    CHECK_FALSE(problem_of(*rule_of(name), *row.sizes).problem);
    call.dims[5] = "[128]";  // a sink of each head: no more products
    CHECK(call.flops() == 4096.0 * 128 * 2048 * k_pair);
    call.dims[6] = "[4096]";
    CHECK(contains(call.why(), "how many of its 2048 chosen keys"));
    call = sparse_prefill(name);
    call.concrete.erase(4);
    CHECK(contains(call.why(), "head dim is not recorded"));
    call.concrete[4] = "577";
    CHECK(contains(call.why(), "head dim is not recorded"));
    call = sparse_prefill(name);
    call.dims.erase(2);
    CHECK(contains(call.why(), "list of the keys that each query sees is not recorded"));
    call.dims[2] = "[4095,1,2048]";
    CHECK(contains(call.why(), "do not fit together"));
  }
}

TEST_CASE("chosen keys in pages count where none of them is left out", "[trace][libraries]") {
  for (const char* name : {"sgl_kernel::sparse_decode_fwd", "_flashmla_C::sparse_decode_fwd"}) {
    Call call = sparse_decode(name);
    const OpRow row = call.row();
    CHECK(call.flops() == 64.0 * 2 * 128 * 2048 * k_pair);
    CHECK(*row.work->bytes == 64.0 * 2 * 128 * k_query + 64.0 * 2048 * 656);
    CHECK(row.attention == Attention::paged);
    CHECK(row.sizes->N_KV == 2048);
    call.dims[7] = "[9000,64,1,656]";
    call.dims[8] = "[64,2,128]";  // 128 keys more, of other pages
    CHECK(call.flops() == 64.0 * 2 * 128 * (2048 + 128) * k_pair);
    call.dims[9] = "[64]";
    CHECK(contains(call.why(), "stands in a tensor"));
    call = sparse_decode(name);
    call.dims[3] = "[64]";
    CHECK(contains(call.why(), "stands in a tensor"));
    // Pages as blocks of bytes: the products are known, the bytes of a key are not.
    call = sparse_decode(name);
    call.dims[1] = "[9000,1,41984]";
    CHECK(call.flops() == 64.0 * 2 * 128 * 2048 * k_pair);
    CHECK_FALSE(call.row().work->bytes);
    CHECK_FALSE(call.row().tb_per_s);
  }
}

TEST_CASE("latent attention over pages has work only by a list of keys", "[trace][libraries]") {
  for (const char* name : {"sgl_kernel::fwd_kvcache_mla", "_flashmla_C::fwd_kvcache_mla"}) {
    Call call{name,
              {{0, "[64,2,128,576]"}, {1, "[9000,64,1,576]"}, {3, "[64]"}, {4, "[64,256]"}},
              {},
              {{2, "512"}, {6, "True"}, {9, "False"}}};
    CHECK(contains(call.why(), "q is (64, 2, 128, 576), the pages are (9000, 64, 1, 576)"));
    CHECK(contains(call.why(), "values are not recorded"));
    call.dims[10] = "[64,2,2048]";
    CHECK(call.flops() == 64.0 * 2 * 128 * 2048 * k_pair);
    CHECK(*call.row().work->bytes == 64.0 * 2 * 128 * k_query + 64.0 * 2048 * 576 * 2);
    call.dims[14] = "[64]";
    CHECK(contains(call.why(), "stands in a tensor"));
  }
  for (const auto& [name, q, k] : {std::tuple{"sgl_kernel::dense_decode_fwd", 0, 1},
                                   {"_flashmla_C::dense_decode_fwd", 0, 1},
                                   {"flash_mla::fwd_kvcache_mla", 0, 1},
                                   {"_flashmla_extension_C::fwd_kvcache_mla_fp8", 0, 1},
                                   {"sgl_kernel::cutlass_mla_decode", 1, 3},
                                   {"_C::sm100_cutlass_mla_decode", 2, 4},
                                   {"aiter::mla_decode_stage1_asm_fwd", 0, 1}}) {
    const Call call{name, {{q, "[8,128,512]"}, {k, "[900,64,576]"}}, {}, {}};
    CHECK(contains(call.why(), "q is (8, 128, 512), the pages are (900, 64, 576)"));
    CHECK(call.row().attention == Attention::paged);
    const Call bare{name, {}, {}, {{2, "512"}}};
    CHECK(contains(bare.why(), "sizes of q, k and v are not recorded"));
  }
}

TEST_CASE("FlashMLA's prefill has keys and values of its own", "[trace][libraries]") {
  // 4 sequences of 1024 tokens, 128 heads; 192 wide keys, 128 wide values.
  const double full = 4.0 * 128 * 1024 * 1024 * 2 * (192 + 128);
  for (const char* name : {"sgl_kernel::dense_prefill_fwd", "_flashmla_C::dense_prefill_fwd"}) {
    Call call{name,
              {{0, "[33554432]"},
               {1, "[4096,128,192]"},
               {2, "[4096,128,192]"},
               {3, "[4096,128,128]"},
               {4, "[5]"},
               {5, "[5]"}},
              {{0, "unsigned char"}},
              {{8, "0"}, {10, "1024"}, {11, "1024"}, {12, "True"}}};
    CHECK(call.flops() == full);
    CHECK(*call.row().work->bytes == 2.0 * 4096 * 128 * 2 * (192 + 128));
    call.concrete[8] = "1";
    CHECK(call.flops() == full / 2);
    call.concrete[10] = "2000";
    CHECK(contains(call.why(), "4 of them, whose lengths are not recorded"));
  }
  const Call backward{
      "flash_mla::dense_prefill_bwd",
      {{2, "[4096,128,192]"}, {3, "[4096,128,192]"}, {4, "[4096,128,128]"}, {7, "[5]"}, {8, "[5]"}},
      {},
      {{12, "0"}, {14, "1024"}, {15, "1024"}}};
  CHECK(backward.row().backward);
  CHECK(backward.flops() == 4.0 * 128 * 1024 * 1024 * 2 * (3 * 192 + 2 * 128));
}

TEST_CASE("what can never be computed says why", "[trace][libraries]") {
  for (const char* name : {"sgl_kernel::fwd_sparse", "_vllm_fa2_C::fwd_sparse",
                           "sgl_kernel::varlen_fwd_sparse", "_vllm_fa2_C::varlen_fwd_sparse"}) {
    const Call call{name, {{0, "[2,1024,16,128]"}, {1, "[2,1024,4,128]"}}, {}, {}};
    CHECK(contains(call.why(), "which blocks and columns of the keys each query sees"));
  }
  const Call linear{"sgl_kernel::lightning_attention_decode", {{0, "[8,64,1,96]"}}, {}, {}};
  CHECK(contains(linear.why(), "linear attention"));
}

TEST_CASE("TransformerEngine's operators number the order of their sizes", "[trace][libraries]") {
  // Batch 2, 1024 queries and keys, 16 query heads over 4 key heads, 128 wide.
  const double full = 2.0 * 16 * 1024 * 1024 * 2 * 256;
  const double bytes = 2.0 * (2 * 1024 * 16 * 256 + 2 * 1024 * 4 * 256);
  const std::string name = "transformer_engine_stable::fused_attn_fwd_noalloc";
  const auto sized = [&](const char* q, const char* k) {
    return Call{name,
                {{12, "[3]"}, {13, "[3]"}, {14, q}, {18, k}, {22, k}, {32, q}},
                {},
                {{4, "0."}, {6, "9"}, {7, "0"}, {8, "0"}, {9, "0"}, {10, "[-1, -1]"}}};
  };
  const char *bshd_q = "[2,1024,16,128]", *bshd_k = "[2,1024,4,128]";
  const char *sbhd_q = "[1024,2,16,128]", *sbhd_k = "[1024,2,4,128]";
  const char *bhsd_q = "[2,16,1024,128]", *bhsd_k = "[2,4,1024,128]";
  for (const auto& [q, k, number] : {std::tuple{bshd_q, bshd_k, "9"},
                                     {bshd_q, bshd_k, "5"},
                                     {sbhd_q, sbhd_k, "4"},
                                     {sbhd_q, sbhd_k, "0"},
                                     {sbhd_q, bshd_k, "15"},
                                     {bshd_q, sbhd_k, "16"},
                                     {bhsd_q, bhsd_k, "25"}}) {
    Call call = sized(q, k);
    call.concrete[6] = number;
    CHECK(call.flops() == full);
    CHECK(*call.row().work->bytes == bytes);
    CHECK(call.row().sizes->B == 2);
    CHECK_FALSE(call.row().sizes->masked);
    for (const char* causal : {"2", "4"}) {
      call.concrete[8] = causal;
      CHECK(call.flops() == full / 2);
    }
    for (const char* padded : {"1", "3", "5"}) {
      call.concrete[8] = padded;
      CHECK(contains(call.why(), "lengths are not recorded"));
    }
  }
  Call call = sized(bshd_q, bshd_k);
  call.concrete[10] = "[511, 0]";
  CHECK(contains(call.why(), "sliding window"));
  for (const int place : {7, 9}) {  // ALiBi; a softmax with a term of its own
    call = sized(bshd_q, bshd_k);
    call.concrete[place] = "2";
    CHECK(call.flops() == full);
    CHECK(call.row().sizes->masked);
  }
  call = sized(bshd_q, bshd_k);
  call.types = {{14, "unsigned char"}, {18, "unsigned char"}, {22, "unsigned char"}};
  CHECK(call.row().compute_spec == "matrix_fp8");
  CHECK(*call.row().work->bytes == 2.0 * 1024 * (16 * 128 + 4 * 256 + 2 * 16 * 128));
  call = sized("[2048,16,128]", "[2048,4,128]");
  call.concrete[6] = "14";
  CHECK(contains(call.why(), "packed sequences"));
  call = sized(bshd_q, "[900,64,4,128]");
  call.concrete[6] = "19";
  call.dims[40] = "[2,64]";
  CHECK(contains(call.why(), "over pages"));
  call.dims.erase(40);
  CHECK(contains(call.why(), "over pages"));
  call = sized(bshd_q, bshd_k);
  call.concrete[6] = "77";
  CHECK(contains(call.why(), "77, which is none"));
  call.concrete.erase(6);
  CHECK(contains(call.why(), "whether batch or length comes first is not recorded"));
}

TEST_CASE("TransformerEngine's backward operator has its work", "[trace][libraries]") {
  Call call{"transformer_engine_stable::fused_attn_bwd_packed",
            {{17, "[2,1024,16,128]"}, {19, "[2,1024,16,128]"}, {21, "[2,1024,16,128]"}},
            {},
            {{3, "0."}, {5, "9"}, {6, "0"}, {7, "2"}, {8, "0"}, {9, "[-1, 0]"}}};
  CHECK(call.row().backward);
  CHECK(call.flops() == 2.0 * 16 * 1024 * 1024 * 2 * 5 * 128 / 2);
  call.types = {{17, "unsigned char"}, {19, "unsigned char"}, {21, "unsigned char"}};
  CHECK_FALSE(call.row().work->bytes);
}

TEST_CASE("an autograd function counts only without the operator inside", "[trace][libraries]") {
  const Call inner{"transformer_engine_stable::fused_attn_fwd_noalloc",
                   {{14, "[2,64,4,32]"}, {18, "[2,64,4,32]"}, {22, "[2,64,4,32]"}},
                   {},
                   {{6, "9"}, {7, "0"}, {8, "0"}, {9, "0"}}};
  using testing::event_text;
  const Trace trace = testing::linked_trace(testing::trace_text(
      {event_text("cpu_op", "FusedAttnFunc", 10, 50, "\"Input Dims\":[[2,64,4,32]]"),
       event_text("cpu_op", inner.name, 12, 40, inner.arguments()),
       event_text("cuda_runtime", "cudaLaunchKernel", 20, 1, "\"correlation\":1"),
       event_text("kernel", "k", 100, 10, "\"stream\":7,\"correlation\":1")}));
  const auto rows = rows_of(trace, find_sdpa_calls(trace));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].name == inner.name);
  REQUIRE(rows[0].work);
  CHECK(rows[0].work->flops == 2.0 * 4 * 64 * 64 * 2 * 64);
}
