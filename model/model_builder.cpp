#include "model/model_builder.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "model/byte_sink.h"
#include "model/limits.h"

namespace glove {

struct ModelBuilder::State {
  int64_t calls = 0;                  // calls of add()
  KeyType key_type = KeyType::kText;  // of the rows so far; any type if there are none
  RowMetric metric = RowMetric::kCosine;
  MemorySink vectors;
  MemorySink codes8;
  MemorySink codes4;
  ModelAssembler assembler{vectors, codes8, codes4};
  std::vector<int32_t> sorted_ids;
};

namespace {

// The error text for a `word` of another type than the earlier words.
std::string fault_of_type(KeyType type, std::string_view word) {
  return type == KeyType::kInteger ? "has the INTEGER word " + std::string(word) +
                                         ", but the rows before have TEXT words; use one type"
                                   : "has the TEXT word " + quoted_value(word) +
                                         ", but the rows before have INTEGER words; use one type";
}

// Returns what is wrong with a row, or an empty string. `dims`: those of the earlier rows, or 0.
std::string fault_of_row(std::string_view word, std::span<const float> vector, int64_t dims) {
  const auto length = static_cast<int64_t>(vector.size());
  if (word.empty()) return "has an empty word";
  if (static_cast<int64_t>(word.size()) > kMaxWordBytes)
    return concat("has a word of ", word.size(), " bytes; the most is ", kMaxWordBytes);
  if (length == 0) return "has a vector without components";
  if (length > kMaxDims) return concat("has a vector of ", length, " components; the most is ", kMaxDims);
  if (dims != 0 && length != dims)
    return concat("has a vector of ", length, length == 1 ? " component" : " components",
                  ", but the rows before have ", dims);
  for (size_t j = 0; j < vector.size(); ++j)
    if (!std::isfinite(vector[j]))
      return concat("has a component, number ", j + 1, ", that is ",
                    std::isnan(vector[j]) ? "NaN" : "infinite");
  return {};
}

}  // namespace

ModelBuilder::ModelBuilder(std::string source)
    : source_(std::move(source)), state_(std::make_shared<State>()) {}
ModelBuilder::~ModelBuilder() = default;
ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder& ModelBuilder::operator=(ModelBuilder&&) noexcept = default;

void ModelBuilder::set_metric(RowMetric metric) {
  state_->metric = metric;
}

ModelAssembler& ModelBuilder::assembler() {
  return state_->assembler;
}

int64_t ModelBuilder::rows() const {
  return state_->assembler.rows();
}

Result<bool> ModelBuilder::add(std::string_view word, std::span<const float> vector) {
  return add_key(KeyType::kText, word, vector);
}

Result<bool> ModelBuilder::add(int64_t key, std::span<const float> vector) {
  return add_key(KeyType::kInteger, integer_word(key), vector);
}

Result<bool> ModelBuilder::add_key(KeyType type, std::string_view word, std::span<const float> vector) {
  State& state = *state_;
  ++state.calls;
  std::string fault = rows() > 0 && type != state.key_type
                          ? fault_of_type(type, word)
                          : fault_of_row(word, vector, state.assembler.dims());
  if (fault.empty() && rows() >= kMaxRows)
    fault = concat("is one too many; a model holds ", kMaxRows, " words at most");
  if (!fault.empty()) return invalid_argument(source_, ": row ", state.calls, " ", fault);
  state.key_type = type;
  return state.assembler.append_row(word, vector);
}

Result<ModelPtr> ModelBuilder::finish(int threads, const InterruptCheck& interrupted) {
  Model::Source source;
  source.path = source_;
  return finish(std::move(source), threads, interrupted);
}

Result<ModelPtr> ModelBuilder::finish(Model::Source source, int threads, const InterruptCheck& interrupted) {
  if (state_->metric != RowMetric::kCosine && rows() > 0) {
    source.coding = coding_of(state_->metric, state_->vectors.view<float>(), state_->assembler.dims());
    state_->assembler.set_coding(source.coding);
  }
  const std::shared_ptr<State> built = std::exchange(state_, std::make_shared<State>());
  ModelAssembler& rows = built->assembler;
  if (rows.rows() == 0) return invalid_argument(source_, ": there is no row to make a model of");
  if (rows.derived().rows() == 0)  // else they came in blocks
    GLOVE_RETURN_IF_ERROR(rows.derive(source_, built->vectors.view<float>(), threads, interrupted));
  GLOVE_RETURN_IF_ERROR(rows.finish());
  GLOVE_ASSIGN_OR_RETURN(built->sorted_ids, rows.words().sorted_ids(threads, interrupted));
  ModelPart part;
  part.rows = rows.rows();
  part.dims = rows.dims();
  part.vectors = built->vectors.view<float>();
  part.norms_squared = rows.derived().norms_squared();
  if (source.coding == nullptr) part.levels.push_back(rows.derived().level4().level(4, built->codes4));
  part.levels.push_back(rows.derived().level8().level(8, built->codes8));
  const Vocabulary vocabulary(rows.words().bytes(), rows.words().offsets(), built->sorted_ids,
                              built->key_type);
  return ModelPtr(std::make_shared<const Model>(std::vector{part}, vocabulary, std::move(source), built));
}

}  // namespace glove
