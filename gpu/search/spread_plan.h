// Decides which rows of a model each of several devices holds. Depends on sizes only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace glove::gpu {

// A device joins in holding a model if its share of the 8-bit codes is at least this large: 15 us of an
// H200's time, of which handing out work and merging answers takes 2 to 5.
constexpr int64_t kLeastSliceBytes = int64_t{64} << 20;

// Returns the number of devices, of `devices` equal ones, that gain time by sharing the model.
int64_t worthwhile_devices(const Model& model, int64_t devices, int64_t least_slice_bytes);

// Returns the bytes of device memory that the whole model takes with its vectors.
int64_t resident_bytes(const Model& model);

// Divides the rows among as few of the first devices as hold the model with its vectors, but at least
// `wanted`, or, if all together cannot, among those that hold what a scan reads. Shares are equal unless one
// exceeds the device's room.
//   room  bytes that the model may take on each device
// Returns the row with which each device's rows end: [room.size()], never decreasing, each a tile_start(). A
// device whose rows end where those of the device before do holds none. Returns an empty vector if there is
// too little room.
std::vector<int64_t> divide_rows(const Model& model, std::span<const int64_t> room, int64_t wanted);

// Returns in how many pieces devices that share a model should search a batch at once: several of a large
// one, so that they search some queries while the host packs others and merges the answers to the first,
// unless the lists of all queries together would not fit in a device's scratch memory.
//   rows      of the largest slice
//   top_rows  the most rows that a query needs of a slice
//   threads   that may search each slice at the same time
int64_t batch_pieces(int64_t rows, int64_t dims, int64_t queries, int64_t top_rows, int64_t threads);

}  // namespace glove::gpu
