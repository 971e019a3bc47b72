#include "sql/index/index_definition.h"

#include <algorithm>
#include <utility>

#include "base/float_from_chars.h"
#include "live/list_maker.h"
#include "live/segment_planes.h"
#include "model/limits.h"
#include "sql/adapter/own_statement.h"
#include "sql/adapter/sql_tokens.h"
#include "sql/values/row_vector.h"

namespace glove::sql {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// Returns what stands in the first parentheses of a statement, split at the commas that stand in no others,
// as SQLite passes it to xConnect: without the spaces and comments around each argument.
std::vector<std::string> split_arguments(std::string_view sql) {
  std::vector<std::string> arguments;
  std::string argument;
  std::string skipped;  // spaces and comments behind it
  int depth = 0;
  for (size_t at = 0, end = 0; at < sql.size(); at = end) {
    end = end_of_token(sql, at);
    const std::string_view token = sql.substr(at, end - at);
    const bool ends = depth == 1 && (token == "," || token == ")");
    if (ends) arguments.push_back(std::exchange(argument, {}));
    if (token == ")" && --depth == 0) return arguments;
    if (ends || depth == 0) {
      skipped.clear();
    } else if (is_blank(token)) {
      skipped += token;
    } else {
      if (!argument.empty()) argument += skipped;
      argument += token;
      skipped.clear();
    }
    if (token == "(") ++depth;
  }
  return arguments;
}

constexpr const char* kExample =
    "USING glove_index(content='doc', rowid='id', vector='embedding'), or text='title, body', model='glove' "
    "in place of vector";

Status set_dims(IndexDefinition& index, const std::string& value) {
  index.dims = number_from<int64_t>(value).value_or(0);
  if (index.dims >= 1 && index.dims <= kMaxDims) return {};
  return index_error(index, "dims must be an integer from 1 to ", kMaxDims, ", but is ", quoted_value(value));
}

Status set_lists(IndexDefinition& index, const std::string& value) {
  index.lists = number_from<int64_t>(value).value_or(0);
  if (index.lists >= 1 && index.lists <= live::kMostLists) return {};
  if (value != "auto" && value != "none")
    return index_error(index, "lists must be 'auto', 'none' or an integer from 1 to ", live::kMostLists,
                       ", but is ", quoted_value(value));
  index.lists = value == "auto" ? IndexDefinition::kAutoLists : 0;
  return {};
}

std::vector<std::string> columns_of(std::string_view list) {
  std::vector<std::string> columns;
  while (true) {
    // A name in quotes may have commas.
    const size_t first = std::min(list.find_first_not_of(' '), list.size());
    const bool is_quoted =
        first < list.size() && std::string_view("\"'`[").find(list[first]) != std::string_view::npos;
    const size_t comma = list.find(',', is_quoted ? end_of_token(list, first) : first);
    columns.push_back(unquoted(trimmed(list.substr(0, comma))));
    if (comma == std::string_view::npos) return columns;
    list.remove_prefix(comma + 1);
  }
}

Status set_argument(IndexDefinition& index, std::string_view key, const std::string& value) {
  if (key == "content") {
    index.content = value;
  } else if (key == "rowid") {
    for (std::string& column : columns_of(value)) index.key.push_back({std::move(column)});
  } else if (key == "vector" || key == "text") {
    if (!index.columns.empty())
      return index_error(index, "vector and text are given more than once; give one of them");
    index.is_text = key == "text";
    index.columns = index.is_text ? columns_of(value) : std::vector<std::string>{value};
  } else if (key == "model") {
    index.model = value;
  } else if (key == "options") {
    index.options = value;
  } else if (key == "dims") {
    return set_dims(index, value);
  } else if (key == "invalid") {
    if (value != "error" && value != "skip")
      return index_error(index, "invalid must be 'error' or 'skip', but is ", quoted_value(value));
    index.skip_invalid = value == "skip";
  } else if (key == "check") {
    if (value != "yes" && value != "no")
      return index_error(index, "check must be 'yes' or 'no', but is ", quoted_value(value));
    index.check = value == "yes";
  } else if (key == "lists") {
    return set_lists(index, value);
  } else if (key == "metric") {
    const auto metric = value == "hamming" ? RowMetric::kHamming : metric_named(value);
    if (!metric)
      return index_error(index, "metric must be 'cosine', 'dot', 'l2' or 'hamming', but is ",
                         quoted_value(value));
    index.metric = *metric;
    index.has_metric = true;
  } else if (key == "type") {
    const auto type = value == "bits" ? ElementType::kBits : vector_type_named(value);
    if (!type)
      return index_error(index, "type must be 'float32', 'float16', 'bfloat16', 'int8' or 'bits', but is ",
                         quoted_value(value));
    index.type = *type;
    index.has_type = true;
  } else if (key == "certainty") {
    index.has_certainty = true;
  } else {
    return index_error(
        index, "there is no argument ", quoted_value(key),
        "; the arguments are: content, rowid, vector, text, model, options, dims, invalid, check, "
        "lists, metric, type (an existing index with another one was made by a newer extension, and needs "
        "it)");
  }
  return {};
}

// The metric 'hamming' and the type 'bits' imply one another.
Status complete_bits(IndexDefinition& index) {
  const bool is_hamming = index.metric == RowMetric::kHamming, is_bits = index.type == ElementType::kBits;
  if (!is_hamming && !is_bits) return {};
  if ((index.has_metric && !is_hamming) || (index.has_type && !is_bits))
    return index_error(index, "metric='hamming' and type='bits' need each other; leave the other one out");
  if (index.has_model())
    return index_error(index,
                       "metric='hamming' compares bits, which no model makes; give vector, without a model");
  if (index.dims % 8 != 0)
    return index_error(index, "dims is a number of bits here and must be a multiple of 8, but is ",
                       index.dims);
  index.metric = RowMetric::kHamming;
  index.type = ElementType::kBits;
  index.dims /= 8;
  return {};
}

Status check_complete(const IndexDefinition& index) {
  const bool no_column =
      index.columns.empty() || std::any_of(index.columns.begin(), index.columns.end(),
                                           [](const std::string& column) { return column.empty(); });
  const bool no_key = index.key.empty() || std::any_of(index.key.begin(), index.key.end(),
                                                       [](const auto& key) { return key.name.empty(); });
  const char* const missing = index.content.empty() ? "content"
                              : no_key              ? "rowid"
                              : no_column           ? "vector or text"
                                                    : nullptr;
  if (missing != nullptr) return index_error(index, missing, " must be given; write ", kExample);
  if (!index.options.empty() && !index.has_model())
    return index_error(index, "options are those of a model; give model as well");
  if (index.check && index.is_text)
    return index_error(index, "check='yes' checks vectors, but every text is a text; leave check out");
  if (index.type != ElementType::kFloat32 && index.is_text)
    return index_error(index, "type is that of vectors, but every text is a text; leave type out");
  if (index.metric != RowMetric::kCosine && index.lists > 0)
    return index_error(index, concat("lists are of rows that are compared by 'cosine', not by '",
                                     metric_name(index.metric), "'; leave lists out"));
  if (index.key.size() > kMostKeyColumns)
    return index_error(index, concat("rowid names ", index.key.size(), " columns; a key may have at most ",
                                     kMostKeyColumns));
  return index.dims > 0 && index.lists > 0 ? check_list_dims(index, index.dims) : Status();
}

}  // namespace

Status check_list_dims(const IndexDefinition& index, int64_t dims) {
  if (dims > live::kMostListDims)
    return index_error(
        index, concat("vectors of ", dims, " dimensions cannot be in lists, only of ", live::kMostListDims,
                      " or fewer; create the index without the argument lists"));
  return {};
}

Status check_name(const IndexDefinition& index) {
  for (const char* const column : kIndexColumns)
    if (sqlite3_stricmp(index.name.c_str(), column) == 0)
      return index_error(index, "the table has a column of this name; choose another name for the table");
  std::vector<const char*> own(kIndexColumns.begin() + 1, kIndexColumns.end());
  own.insert(own.end(), {"distance", index.name.c_str()});
  for (const char* const column : own)
    if (index.has_key_table && index.has_key_column(column))
      return index_error(index, concat("the key has a column '", column,
                                       "', but the index has one of this name itself; rename the column of '",
                                       index.content, "', or choose another key"));
  return {};
}

bool IndexDefinition::has_key_column(const std::string& column) const {
  return std::any_of(key.begin(), key.end(), [&column](const KeyColumn& each) {
    return sqlite3_stricmp(each.name.c_str(), column.c_str()) == 0;
  });
}

std::string IndexDefinition::object(const char* suffix) const {
  return quoted_name(schema) + "." + quoted_name(name + suffix);
}

std::string IndexDefinition::table() const {
  return quoted_name(table_schema()) + "." + quoted_name(name);
}

std::string IndexDefinition::arguments(const std::string& before) const {
  std::string all = "content=" + quoted_text(before + content);
  for (const std::string& other : others) all += ", " + other;
  return all;
}

std::string IndexDefinition::command(const char* command) const {
  const std::string into = table_schema() == "main" || is_attached ? quoted_name(name) : table();
  return "INSERT INTO " + into + "(" + quoted_name(name) + ") VALUES ('" + command + "')";
}

std::string IndexDefinition::content_table() const {
  return quoted_name(schema) + "." + quoted_name(content);
}

Result<IndexDefinition> parse_index_definition(std::span<const char* const> arguments) {
  IndexDefinition index;
  index.schema = arguments[1];
  index.name = arguments[2];
  std::vector<std::string_view> given;
  for (const char* const argument : arguments.subspan(3)) {
    const std::string_view text = argument;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos)
      return index_error(index, quoted_value(trimmed(text)), " is not an argument; write ", kExample);
    const std::string_view key = trimmed(text.substr(0, equals));
    if (std::find(given.begin(), given.end(), key) != given.end())
      return index_error(index, key, " is given more than once; give it once");
    given.push_back(key);
    const std::string value = unquoted(trimmed(text.substr(equals + 1)));
    GLOVE_RETURN_IF_ERROR(set_argument(index, key, value));
    if (key != "content") index.others.push_back(concat(key, "=", quoted_text(value)));
  }
  const size_t point = index.schema == "temp" ? index.content.find('.') : std::string::npos;
  if (point != std::string::npos) {
    index.schema = index.content.substr(0, point);
    index.content.erase(0, point + 1);
    index.is_attached = index.schema != "temp";
  }
  GLOVE_RETURN_IF_ERROR(complete_bits(index));
  GLOVE_RETURN_IF_ERROR(check_complete(index));
  if (index.metric != RowMetric::kCosine) index.lists = 0;
  return index;
}

Result<IndexDefinition> read_index_definition(const std::string& schema, const std::string& name,
                                              std::string_view sql) {
  const std::vector<std::string> own = split_arguments(sql);
  std::vector<const char*> arguments = {"glove_index", schema.c_str(), name.c_str()};
  for (const std::string& argument : own) arguments.push_back(argument.c_str());
  return parse_index_definition(arguments);
}

}  // namespace glove::sql
