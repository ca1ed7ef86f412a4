// SPDX-License-Identifier: MIT
// Every wrapper of kernels/common that stands for an instruction, on a device that has them all.
// What each test does and which mistakes it would see: the .cu files beside.
#include "gpu/vocabulary/vocabulary.hpp"

#include "gpu/gpu.hpp"

namespace vocabulary = wb::testing::vocabulary;

namespace {

/// The CUDA runtime, which the .cu files are linked with, stays with the context it first met.
void keep_for_the_runtime(const wb::worker::cuda::ContextPtr& gpu) {
  static const auto* const kept = new wb::worker::cuda::ContextPtr(gpu);
  static_cast<void>(kept);
}

}  // namespace

#define WB_NEED_SM90(gpu)                                                          \
  WB_NEED_GPU(gpu);                                                                \
  if ((gpu)->capability() != 90) {                                                 \
    WARN("skipped: the vocabulary is compiled for sm_90a, and " << (gpu)->name()   \
                                                                << " is another"); \
    return;                                                                        \
  }                                                                                \
  keep_for_the_runtime(gpu)

TEST_CASE("mbarrier: phases end with the last arrival", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::mbarrier_counts_arrivals() == "");
  CHECK(vocabulary::mbarrier_orders_many_phases() == "");
}

TEST_CASE("warpgroup: named barriers, turns, registers given away", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::named_barriers_hand_data_over() == "");
  CHECK(vocabulary::ordered_barrier_keeps_its_order() == "");
  CHECK(vocabulary::registers_move_between_warpgroups() == "");
}

TEST_CASE("ring: more steps than stages, tiles without a step, many tiles a block",
          "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::ring_carries_every_value() == "");
  CHECK(vocabulary::split_ring_carries_every_value() == "");
}

TEST_CASE("tma: boxes arrive, and zeros where the tensor ends", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::boxes_of_four_dimensions_arrive() == "");
  CHECK(vocabulary::boxes_of_whole_rows_arrive() == "");
  CHECK(vocabulary::maps_that_cannot_be_are_refused() == "");
}

TEST_CASE("tma: boxes go out, and nothing beside the tensor is written", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::boxes_go_out() == "");
}

TEST_CASE("wgmma: scores of every width, both operands in shared memory", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::scores_of_every_width() == "");
}

TEST_CASE("wgmma: outputs of every width, P in registers or in shared memory",
          "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::outputs_of_every_width() == "");
  CHECK(vocabulary::outputs_with_a_from_shared_memory() == "");
}

TEST_CASE("wgmma: tf32 products, plain and in three parts", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::tf32_products_of_every_width() == "");
  CHECK(vocabulary::tf32_products_in_three_parts() == "");
}

TEST_CASE("cluster: stores that count their bytes, reads of other blocks", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::asynchronous_stores_count_their_bytes() == "");
  CHECK(vocabulary::cluster_blocks_exchange_by_stores() == "");
  CHECK(vocabulary::cluster_blocks_read_each_other() == "");
}

TEST_CASE("cp_async: copies in groups, zeros, pieces that stay in the L2", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::asynchronous_copies_arrive() == "");
  CHECK(vocabulary::kept_pieces_lie_evenly() == "");
}

TEST_CASE("griddepcontrol: an early start waits for memory", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::early_start_waits_for_memory() == "");
}

TEST_CASE("mma: fragments, products, packing", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::fragments_lie_as_the_manual_draws() == "");
  CHECK(vocabulary::warp_products() == "");
  CHECK(vocabulary::packing_and_powers() == "");
}

TEST_CASE("online softmax: maxima of every sign, rows without a key", "[gpu][vocabulary]") {
  WB_NEED_SM90(gpu);
  CHECK(vocabulary::softmax_over_steps() == "");
  CHECK(vocabulary::softmax_by_threes_over_steps() == "");
  CHECK(vocabulary::softmax_of_masked_scores() == "");
  CHECK(vocabulary::softmax_of_half_a_step() == "");
}
