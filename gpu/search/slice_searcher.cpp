#include "gpu/search/slice_searcher.h"

#include <algorithm>
#include <vector>

namespace glove::gpu {

Query SliceSearcher::query_of_slice(const Query& query) const {
  const auto begin = std::lower_bound(query.excluded.begin(), query.excluded.end(), first_row_);
  const auto end = std::lower_bound(begin, query.excluded.end(), first_row_ + rows_);
  Query own{query.vector, query.norm_squared, {begin, end}};
  for (int32_t& id : own.excluded) id -= static_cast<int32_t>(first_row_);
  return own;
}

Status SliceSearcher::search(std::span<SearchRequest> requests) {
  std::vector<Query> queries;
  queries.reserve(requests.size());
  std::vector<SearchRequest> own(requests.begin(), requests.end());
  for (SearchRequest& request : own) {
    queries.push_back(query_of_slice(*request.query));
    request.query = &queries.back();
  }
  GLOVE_RETURN_IF_ERROR(slice_->search(own));
  for (size_t i = 0; i < own.size(); ++i) {
    requests[i].cost = own[i].cost;
    requests[i].status = own[i].status;
    requests[i].rows = std::move(own[i].rows);
    for (Neighbor& row : requests[i].rows) row.id += static_cast<int32_t>(first_row_);
  }
  return {};
}

}  // namespace glove::gpu
