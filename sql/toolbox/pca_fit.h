// Principal components of a model's rows for glove_pca, glove_derive and glove_map, which share a cache.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/principal.h"
#include "base/status.h"
#include "search/engine.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {

// option     value           meaning
// center     true, false     subtracts the mean first (default true)
// unit_rows  true, false     divides each row by its length first, and leaves zero rows out (default false)
Result<PrincipalOptions> read_pca_options(sqlite3_value* value, std::string_view table);

// Returns a string that identifies everything that the components depend on.
std::string pca_key(const ToolboxSubject& subject, const PrincipalOptions& options);

// Returns all components of the subject's rows. Computes them unless the process has them in its cache; a
// computation is recorded in glove_stats. `object` begins the messages. REQUIRES: the subject has rows.
Result<std::shared_ptr<const PrincipalComponents>> find_components(Engine& engine, std::string_view object,
                                                                   const ToolboxSubject& subject,
                                                                   const PrincipalOptions& options,
                                                                   const InterruptCheck& interrupted);

}  // namespace glove::sql
