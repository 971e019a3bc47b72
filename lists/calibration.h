// How many rows a search may ask for so that reading planes pays, decided from the rows themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "lists/planes.h"
#include "model/model_part.h"

namespace glove {

// Reading a row's plane two takes as long as reading this many bytes in order, by measurement.
constexpr int64_t second_read_bytes(int64_t dims) {
  return 150 + 2 * plane2_row_bytes(dims);
}

// For up to how many rows a search for those nearest to one of the part's rows is expected to take less time
// by the part's planes; 0 if for none.
struct PlanesPay {
  int64_t beside_4_bits = 0;  // than by codes of 4 bits: the lists are worth making
  int64_t beside_8_bits = 0;  // than by codes of 8 bits, which is all that a file with planes has besides
};

// What plane one of the row at a position says of its similarity to a query.
struct Plane1Estimate {
  double product;  // <b, v>
  double distance;
};

// What plane one has of a row, unpacked for several queries.
class Plane1Row {
 public:
  // REQUIRES: the part has planes.
  Plane1Row(const ModelPart& part, int64_t position);

  // unit: [dims], the query's unit vector v; centroid_product: of the row's centroid and v.
  Plane1Estimate estimate(const float* unit, double centroid_product) const;

 private:
  std::vector<float> codes_;  // [dims]
  float alpha_;
  float scale_;
  float distance_;
};

// Asks for kCalibrationRows of the rows. The same on every machine and with every number of threads. The only
// error is kInterrupted. REQUIRES: the float environment; the part has planes.
Result<PlanesPay> planes_pay(const ModelPart& part, int threads, const InterruptCheck& interrupted);

constexpr int64_t kMostPlanesK = 1000;  // that planes_pay() returns
constexpr int64_t kCalibrationRows = 256;

}  // namespace glove
