#include "sql/index/index_query.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "sql/adapter/values.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

// The messages end with what to do about `components`, the length of the query.
Result<std::vector<float>> read_blob(std::string_view bytes, const ContentRows& rows, int64_t dims) {
  const auto components = static_cast<int64_t>(bytes.size() / sizeof(float));
  if (bytes.size() % sizeof(float) != 0 || bytes.empty() || (dims != 0 && components != dims))
    return Error{ErrorCode::kInvalidArgument,
                 "the query is a BLOB of " + counted(static_cast<int64_t>(bytes.size()), "bytes") +
                     ", but a vector of " +
                     (dims == 0 ? "float32 has 4 bytes per component"
                                : std::to_string(dims) + " float32 has " + std::to_string(dims * 4)) +
                     rows.remedy_of_length(dims == 0 ? 0 : components)};
  std::vector<float> vector(static_cast<size_t>(components));
  std::memcpy(vector.data(), bytes.data(), bytes.size());
  return vector;
}

Result<std::vector<float>> read_json(std::string_view text, const ContentRows& rows, int64_t dims,
                                     const InterruptCheck& interrupted) {
  std::vector<float> vector;
  if (const Status read = read_json_vector(text, vector, interrupted); !read.ok())
    return Error{read.error().code, "the query " + read.error().message};
  const auto components = static_cast<int64_t>(vector.size());
  if (dims != 0 && components != dims)
    return Error{ErrorCode::kInvalidArgument, "the query has " + component_count(vector.size()) +
                                                  ", but the index has " + std::to_string(dims) +
                                                  " dimensions" + rows.remedy_of_length(components)};
  return vector;
}

}  // namespace

Result<MaybeQuery> index_query(const IndexDefinition& index, ContentRows& rows, int64_t dims,
                               const nn::ExprValue& query, const InterruptCheck& interrupted) {
  std::vector<float> vector;
  if (query.blob || (index.model.empty() && begins_like_array(query.bytes))) {
    auto given =
        query.blob ? read_blob(query.bytes, rows, dims) : read_json(query.bytes, rows, dims, interrupted);
    const Status status = given.ok() ? check_finite(given.value(), "the query") : given.error();
    if (!status.ok())
      return status.error().code == ErrorCode::kInterrupted ? interrupted_error()
                                                            : named_error(index.name, status.error());
    vector = std::move(given).value();
  } else {
    GLOVE_ASSIGN_OR_RETURN(const bool found, rows.encode_query(query.bytes, vector));
    if (!found) return MaybeQuery();
  }
  return dims == 0 ? MaybeQuery() : make_query(std::move(vector));
}

}  // namespace glove::sql
