// The definition of a live index: the arguments of CREATE VIRTUAL TABLE ... USING glove_index(...).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/status.h"
#include "loader/formats/elements.h"
#include "model/metric.h"

namespace glove::sql {

// A column of the key of an index.
struct KeyColumn {
  std::string name;
  std::string type = "INTEGER";      // a word for its affinity
  std::string collation = "BINARY";  // by which the content compares it
};
constexpr size_t kMostKeyColumns = 16;

// What an index is made of. Names are as the user wrote them, without quotes.
struct IndexDefinition {
  std::string schema;  // of its tables and of its content: "main", "temp" or an attached database
  std::string name;
  bool is_attached = false;          // its virtual table lies in temp, although its tables do not
  std::string content;               // the user's table
  std::vector<KeyColumn> key;        // which identifies its rows
  bool has_key_table = false;        // false: the key is its INTEGER PRIMARY KEY, and is a row's id
  std::vector<std::string> columns;  // `vector`, or those of `text`
  bool is_text = false;
  std::string model;    // empty: none is given; an index of texts then stores the name of its model
  std::string options;  // of glove_text_vec; empty: none are given
  int64_t dims = 0;     // the components of a vector, of bits an eighth of their number; 0: the first row's
  bool check = false;   // triggers refuse what can be seen to be no vector of the index
  bool skip_invalid = false;   // rows with an invalid vector are left out, rather than an error at sync
  int64_t lists = kAutoLists;  // how many; 0: none
  RowMetric metric = RowMetric::kCosine;
  bool has_metric = false;                   // it is given
  ElementType type = ElementType::kFloat32;  // of the components of a BLOB in `vector`
  bool has_type = false;                     // it is given
  bool has_certainty = false;                // an argument of earlier versions, which does nothing
  std::vector<std::string> others;           // the arguments but content, as KEY='VALUE'

  static constexpr int64_t kAutoLists = -1;

  // Whether the key has the column, whatever the case.
  bool has_key_column(const std::string& name) const;
  // Whether a model makes vectors of texts.
  bool has_model() const { return is_text || !model.empty(); }

  // Returns a table of the index, or one of its triggers, as an identifier with its schema.
  std::string object(const char* suffix) const;
  // Returns the virtual table as an identifier with its schema, and that schema.
  std::string table() const;
  std::string table_schema() const { return is_attached ? "temp" : schema; }
  // Returns the arguments as parse_index_definition() reads them, with this text before the content's name.
  std::string arguments(const std::string& before = "") const;
  // Returns the statement that gives the index a command, for messages. It names the schema unless that is
  // main.
  std::string command(const char* command) const;
  // Returns the content as an identifier with its schema.
  std::string content_table() const;
};

// The key of NAME_config under which an index that is_attached keeps its arguments(), for other connections.
constexpr const char* kStoredArguments = "arguments";

// What NAME_config says.
struct IndexConfig {
  int64_t dims = 0;         // 0: not known yet
  std::string fingerprint;  // of the model that made the vectors; empty unless the index is of texts
  // How many lists there are: 0 if there are none yet, kUselessLists if those that were trained did not pay;
  // nullopt in an index that an older version made, which has none until 'rebuild'.
  std::optional<int64_t> lists;
  std::string model;  // the name of that model if the definition names none; otherwise empty
  // The checksum of the calibration of the lists (live::IndexRecall); nullopt if there is none.
  std::optional<uint32_t> recall = std::nullopt;
  // Drawn by each command that empties the log; 0 in an index that an older version wrote last.
  int64_t log = 0;
};

// The columns of an index in declared order, before the one that takes commands, which has the index's name.
// An index that ranks_by_distance() has no similarity; its distance stands in that place.
inline constexpr std::array<const char*, 11> kIndexColumns = {"id",       "similarity", "rank",    "query",
                                                              "k",        "backend",    "recall",  "among",
                                                              "evidence", "rows_read",  "distance"};

// The error of an index whose definition or tables are not as they must be: "NAME: REST".
template <class... Pieces>
Error index_error(const IndexDefinition& index, const Pieces&... pieces) {
  return invalid_argument(index.name, ": ", pieces...);
}

// What an index of bits says about `recall` and calibrations, which it does not have.
inline Error no_recall(const IndexDefinition& index) {
  return index_error(index, "an index of bits has exact answers only; leave recall and 'calibrate' out");
}

// Returns the error of an index whose tables have something impossible. It names 'rebuild'.
template <class... Pieces>
Error damaged_index(const IndexDefinition& index, const Pieces&... pieces) {
  return make_error(ErrorCode::kCorrupt, index.name, " is damaged: ", pieces..., "; run ",
                    index.command("rebuild"));
}

// An error if vectors of `dims` dimensions cannot be in the lists that the index asks for.
Status check_list_dims(const IndexDefinition& index, int64_t dims);

// An error if the index has the name of one of its columns, or the key a column that the index has itself.
Status check_name(const IndexDefinition& index);

// Reads the arguments that SQLite passes to xCreate and xConnect: the module, the schema, the name, and then
// those of the user.
//
// argument  value                        meaning
// content   a table                      whose rows are indexed; of a virtual table in temp also
//                                        SCHEMA.TABLE: then the index lies in that schema, apart from itself
// rowid     columns, with commas         which identify the rows: the INTEGER PRIMARY KEY, or any other key
// vector    a column                     of BLOBs of numbers or JSON arrays
// text      columns, with commas         whose texts the model makes vectors of
// model     a model's name               makes vectors of texts, for `text` and for queries; for `text` it
// may
//                                        be left out while exactly one model is loaded
// options   JSON                         those of glove_text_vec
// dims      1 to 65536                   the dimensions of the vectors; of bits a multiple of 8
// invalid   'error' or 'skip'            what sync does about a row with an invalid vector
// check     'yes' or 'no'                whether an INSERT or UPDATE of a wrong vector is an error
// lists     'auto', 'none' or 1 to 65536 how many lists the rows are put in
// metric    'cosine', 'dot', 'l2' or     how rows are compared; without it by cosine, or as the model of
//           'hamming'                    `text` asks for (find_metric()); 'hamming' if type is 'bits'
// type      'float32', 'float16',        that of the numbers in BLOBs of `vector`; 'bits' if metric is
//           'bfloat16', 'int8' or 'bits' 'hamming'
// certainty of earlier versions          nothing
//
// The message of an error names the offender and what is allowed.
Result<IndexDefinition> parse_index_definition(std::span<const char* const> arguments);

// The same for an index that exists: `sql` is its statement as sqlite_schema has it.
Result<IndexDefinition> read_index_definition(const std::string& schema, const std::string& name,
                                              std::string_view sql);

}  // namespace glove::sql
