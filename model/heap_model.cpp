#include "model/heap_model.h"

#include <vector>

namespace glove {
namespace {

class MemorySink final : public ByteSink {
 public:
  Status append(std::span<const char> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  template <class T>
  std::span<const T> view() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  std::vector<char> bytes_;  // operator new aligns it for any T used here
};

}  // namespace

struct HeapModel::State {
  MemorySink vectors;
  MemorySink codes;
  ModelAssembler assembler{vectors, codes};
  std::vector<int32_t> sorted_ids;
};

HeapModel::HeapModel() : state_(std::make_shared<State>()) {}
HeapModel::~HeapModel() = default;
HeapModel::HeapModel(HeapModel&&) noexcept = default;
HeapModel& HeapModel::operator=(HeapModel&&) noexcept = default;

ModelAssembler& HeapModel::assembler() {
  return state_->assembler;
}

ModelPtr HeapModel::finish(Model::Source source, int threads) && {
  ModelAssembler& rows = state_->assembler;
  (void)rows.finish();  // a sink in memory has no errors
  state_->sorted_ids = rows.words().sorted_ids(threads);
  ModelArrays arrays;
  arrays.words = rows.rows();
  arrays.dims = rows.dims();
  arrays.vectors = state_->vectors.view<float>();
  arrays.norms_squared = rows.norms_squared();
  arrays.codes = state_->codes.view<int8_t>();
  arrays.scales = rows.scales();
  arrays.residuals = rows.residuals();
  arrays.vocabulary = Vocabulary(rows.words().bytes(), rows.words().offsets(), state_->sorted_ids);
  return std::make_shared<const Model>(arrays, std::move(source), std::move(state_));
}

}  // namespace glove
