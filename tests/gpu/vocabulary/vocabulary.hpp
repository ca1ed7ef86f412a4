// SPDX-License-Identifier: MIT
// The device vocabulary of kernels/common under test: each function runs kernels that use the
// wrappers on the current device (sm_90) and compares with a plain computation on the CPU. It
// returns nothing, or what was wrong; it throws where CUDA refuses. Called by vocabulary_test.cpp;
// compiled by nvcc, one .cu file a theme.
#pragma once

#include <string>

namespace wb::testing::vocabulary {

// barrier.cu: mbarrier.cuh
std::string mbarrier_counts_arrivals();
std::string mbarrier_orders_many_phases();

// warpgroups.cu: warpgroup.cuh, and the ordered barrier of pipeline.cuh
std::string named_barriers_hand_data_over();
std::string ordered_barrier_keeps_its_order();
std::string registers_move_between_warpgroups();

// ring.cu: mbarrier.cuh, tma.cuh, warpgroup.cuh and pipeline.cuh together
std::string ring_carries_every_value();
std::string split_ring_carries_every_value();

// tma.cu, tma_out.cu: tma.cuh
std::string boxes_of_four_dimensions_arrive();
std::string boxes_of_whole_rows_arrive();
std::string maps_that_cannot_be_are_refused();
std::string boxes_go_out();

// wgmma_scores.cu, wgmma_outputs.cu: wgmma.cuh, wgmma_widths.cuh, wgmma_gemms.cuh; tf32x3.cuh of
// sm90_cluster_large_hdim
std::string scores_of_every_width();
std::string outputs_of_every_width();
std::string outputs_with_a_from_shared_memory();
std::string tf32_products_of_every_width();
std::string tf32_products_in_three_parts();

// cluster.cu: cluster.cuh, and the reads of cluster_pull.cuh
std::string asynchronous_stores_count_their_bytes();
std::string cluster_blocks_exchange_by_stores();
std::string cluster_blocks_read_each_other();

// copies.cu, barrier.cu: cp_async.cuh; griddepcontrol.cuh
std::string asynchronous_copies_arrive();
std::string kept_pieces_lie_evenly();
std::string early_start_waits_for_memory();

// mma.cu: mma.cuh; mma.sync of tf32x3.cuh
std::string fragments_lie_as_the_manual_draws();
std::string warp_products();
std::string packing_and_powers();

// softmax.cu: online_softmax.cuh
std::string softmax_over_steps();
std::string softmax_by_threes_over_steps();
std::string softmax_of_masked_scores();
std::string softmax_of_half_a_step();

}  // namespace wb::testing::vocabulary
