// The arrays of a model that are computed from its vectors, in row order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/require.h"
#include "base/status.h"
#include "model/byte_sink.h"
#include "model/derived_rows.h"
#include "model/model_part.h"

namespace glove {

// One code level: keeps scales and residuals, and passes codes to a sink in tiles. Lays out the tiles for
// models on the heap and in files alike. One thread at a time may use it.
class LevelArrays {
 public:
  // `codes` is not owned.
  explicit LevelArrays(ByteSink& codes) : codes_(codes) {}

  void reserve(int64_t rows);
  // Appends rows [first, last) of a block.
  Status append(const DerivedLevel& rows, int64_t first, int64_t last);
  // Completes the last tile. REQUIRES: nothing is appended afterwards.
  Status finish();

  int64_t rows() const { return static_cast<int64_t>(scales_.size()); }
  std::span<const float> scales() const { return scales_; }
  std::span<const float> residuals() const { return residuals_; }
  // Of codes that are shifted; otherwise empty.
  std::span<const float> along() const { return along_; }
  std::span<const float> lengths() const { return lengths_; }
  // Returns the level with codes that the sink has got.
  CodeLevel level(int bits, const MemorySink& codes) const {
    return {bits, codes.view<int8_t>(), scales_, residuals_, along_, lengths_};
  }

 private:
  Status append_codes(const int8_t* row_codes, int64_t row_bytes, int64_t row);

  ByteSink& codes_;
  std::vector<float> scales_;
  std::vector<float> residuals_;
  std::vector<float> along_, lengths_;
  std::vector<char> tile_;  // the tile that is being filled
};

// Keeps the norms and both code levels. One thread at a time may use it.
class DerivedArrays {
 public:
  // The sinks are those of the codes of 8 and of 4 bits. They are not owned.
  DerivedArrays(ByteSink& codes8, ByteSink& codes4) : level8_(codes8), level4_(codes4) {}

  // Derives no codes of 4 bits from now on; level4() stays empty. REQUIRES: there are no rows, and blocks of
  // append() have none either.
  void omit_level4() {
    GLOVE_REQUIRE(norms_squared_.empty());
    has_level4_ = false;
  }

  // Derives shifted codes by this coding from now on, unless it is null, and then none of 4 bits. REQUIRES:
  // as above.
  void set_coding(CodingPtr coding) {
    coding_ = std::move(coding);
    if (coding_ != nullptr) omit_level4();
  }

  // Reserves memory for the kept arrays of this many rows.
  void reserve(int64_t rows);

  // Appends rows [first, last) of a block. REQUIRES: all blocks have vectors of the same dimensions.
  Status append(const DerivedRows& rows, int64_t first, int64_t last);

  // Derives and appends all rows of vectors [rows, dims], on up to `threads` threads (0 = the cores that this
  // process may use). An error begins with `source` and names the first row with a NaN or an infinity by its
  // 1-based number among all rows.
  Status append_vectors(const std::string& source, std::span<const float> vectors, int64_t dims, int threads,
                        const InterruptCheck& interrupted = {});

  // Completes the last tiles. REQUIRES: nothing is appended afterwards.
  Status finish();

  int64_t rows() const { return static_cast<int64_t>(norms_squared_.size()); }
  std::span<const double> norms_squared() const { return norms_squared_; }
  const LevelArrays& level8() const { return level8_; }
  const LevelArrays& level4() const { return level4_; }

 private:
  std::vector<double> norms_squared_;
  LevelArrays level8_;
  LevelArrays level4_;
  bool has_level4_ = true;
  CodingPtr coding_;
};

}  // namespace glove
