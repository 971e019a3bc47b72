#include "sql/index/own_work.h"

#include <algorithm>

namespace glove::sql {

Status may_work(const std::vector<const IndexDefinition*>& at_work, const IndexDefinition& index) {
  constexpr size_t kMostAtWork = 8;
  const bool twice = std::any_of(at_work.begin(), at_work.end(), [&index](const IndexDefinition* other) {
    return other->name == index.name && other->schema == index.schema;
  });
  if (!twice && at_work.size() < kMostAtWork) return {};
  const std::string what =
      twice ? "a statement that the index runs itself has used the index again"
            : std::to_string(kMostAtWork) + " indexes run statements of their own that use one another";
  return {ErrorCode::kInvalidArgument,
          index.name + ": " + what + "; remove the trigger, the function or the view that does so from '" +
              index.content + "' and from the tables of the index"};
}

}  // namespace glove::sql
