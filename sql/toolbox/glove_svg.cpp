// glove_svg(x, y, label, group [, options]): an aggregate that draws points in the plane, as an SVG document
// with contours of their density, colours for groups, and labels that do not overlap.
//
//   SELECT writefile('map.svg', glove_svg(m.x, m.y, m.word, c.cluster))
//     FROM glove_map(2000) m JOIN glove_kmeans(12, 2000) c ON c.word = m.word;
//
// option     value                     meaning
// width      an integer, 100 to 8192   of the drawing, in pixels (default 960)
// height     an integer, 100 to 8192   (default 720)
// title      text                      a line above the points (default: none)
// labels     an integer from 0         the maximum number of labels (default 200)
// contours   an integer, 0 to 20       the number of density levels (default 6); 0 means none
// radius     a number, 0.1 to 50       of a point, in pixels (default 2.5)
// font_size  a number, 4 to 72         in pixels (default 11)
//
// Rows whose x or y is NULL are skipped. Returns NULL if there is no point.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "drawing/svg_map.h"
#include "sql/adapter/aggregate.h"
#include "sql/register.h"
#include "sql/values/json_options.h"
#include "sql/values/toolbox_inputs.h"

namespace glove::sql {
namespace {

constexpr std::string_view kSvg = "glove_svg";

bool take_title(const JsonValue& value, SvgMapOptions& options) {
  if (value.kind != JsonKind::kText) return false;
  options.title = value.text;
  return true;
}

constexpr JsonOption<SvgMapOptions> kSvgOptions[] = {
    {"width", &SvgMapOptions::width, 100, 8192},
    {"height", &SvgMapOptions::height, 100, 8192},
    {"title", "text", take_title},
    {"labels", &SvgMapOptions::labels, 0},
    {"contours", &SvgMapOptions::contours, 0, 20},
    {"radius", "a number from 0.1 to 50", &SvgMapOptions::radius, 0.1, 50},
    {"font_size", "a number from 4 to 72", &SvgMapOptions::font_size, 4, 72}};

// Groups in SQL's order: numbers by value, then text by its bytes.
struct GroupKey {
  bool is_text = false;
  double number = 0;
  std::string text;  // of numbers too

  bool operator<(const GroupKey& other) const {
    return std::tie(is_text, number, text) < std::tie(other.is_text, other.number, other.text);
  }
};

struct SvgRows {
  Status step(sqlite3_context* context, Arguments row);
  Status result(sqlite3_context* context);

  bool has_options = false;
  SvgMapOptions options;  // of the first row
  SvgMapPoints points;    // whose groups are the numbers in `groups` until the end
  std::map<GroupKey, int32_t> groups;
};

Result<std::string> read_label(sqlite3_value* value) {
  if (is_blob(value)) return invalid_value(kSvg, "the label must be text, not a BLOB; use CAST(... AS TEXT)");
  return is_null(value) ? std::string() : std::string(text_of(value));
}

Result<int32_t> read_group(sqlite3_value* value, std::map<GroupKey, int32_t>& groups) {
  if (is_null(value)) return -1;
  if (is_blob(value))
    return invalid_value(kSvg, "the group must be text or a number, not a BLOB; use CAST(... AS TEXT)");
  GroupKey key;
  key.is_text = sqlite3_value_type(value) == SQLITE_TEXT;
  if (!key.is_text) key.number = sqlite3_value_double(value);
  key.text = text_of(value);
  return groups.emplace(std::move(key), static_cast<int32_t>(groups.size())).first->second;
}

// Numbers the groups by their order, and gives names to those that are text.
void order_groups(SvgRows& rows) {
  std::vector<int32_t> numbers(rows.groups.size());
  for (const auto& [key, first_number] : rows.groups) {
    numbers[static_cast<size_t>(first_number)] = static_cast<int32_t>(rows.points.group_names.size());
    rows.points.group_names.push_back(key.is_text ? key.text : std::string());
  }
  for (int32_t& group : rows.points.groups)
    if (group >= 0) group = numbers[static_cast<size_t>(group)];
}

Status SvgRows::step(sqlite3_context*, Arguments row) {
  if (!has_options && row.size() > 4) {
    GLOVE_ASSIGN_OR_RETURN(options,
                           read_options<SvgMapOptions>(row[4], kSvg, "{\"width\":800}", kSvgOptions));
  }
  has_options = true;
  GLOVE_ASSIGN_OR_RETURN(const auto place, read_place(row, kSvg));
  if (!place) return {};
  GLOVE_ASSIGN_OR_RETURN(std::string label, read_label(row[2]));
  GLOVE_ASSIGN_OR_RETURN(const int32_t group, read_group(row[3], groups));
  points.x.push_back(place->first);
  points.y.push_back(place->second);
  points.labels.push_back(std::move(label));
  points.groups.push_back(group);
  return {};
}

Status SvgRows::result(sqlite3_context* context) {
  // The last step may have run out of memory between them.
  points.x.resize(points.groups.size());
  points.y.resize(points.groups.size());
  points.labels.resize(points.groups.size());
  if (points.x.empty()) return {};
  order_groups(*this);
  InterruptPoller poller(sqlite3_context_db_handle(context));
  GLOVE_ASSIGN_OR_RETURN(const std::string document, draw_map(points, options, poller));
  return_text(context, document);
  return {};
}

}  // namespace

// INNOCUOUS and DETERMINISTIC, because the result depends on nothing but the arguments and their order.
constexpr SqlObject kGloveSvg =
    Aggregate<SvgRows>::object("glove_svg", 4, 5, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS);

}  // namespace glove::sql
