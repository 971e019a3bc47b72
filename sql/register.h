// The interface of sql/ for extension/: one register_* function per SQL object. Each returns an SQLite code.
// The engine must outlive the connection.
#pragma once

struct sqlite3;

namespace glove {
class Engine;
}

namespace glove::sql {

int register_glove_nn(sqlite3* db, Engine& engine);          // glove_nn.cpp: the table-valued search
int register_glove_keys(sqlite3* db, Engine& engine);        // glove_keys.cpp: an aggregate
int register_glove_recall(sqlite3* db, Engine& engine);      // glove_recall.cpp: an aggregate
int register_glove_index(sqlite3* db, Engine& engine);       // index/glove_index.cpp: an index over a table
int register_glove_indexes(sqlite3* db, Engine& engine);     // index/glove_indexes.cpp: the live indexes
int register_glove_repair(sqlite3* db, Engine& engine);      // index/glove_repair.cpp
int register_glove_pairs(sqlite3* db, Engine& engine);       // join/glove_pairs.cpp: pairs of near rows
int register_glove_groups(sqlite3* db, Engine& engine);      // join/glove_groups.cpp: groups of them
int register_glove_models(sqlite3* db, Engine& engine);      // glove_models.cpp: the loaded models
int register_glove_words(sqlite3* db, Engine& engine);       // glove_words.cpp: the vocabulary
int register_glove_stats(sqlite3* db, Engine& engine);       // glove_stats.cpp: the cost of recent searches
int register_glove_kmeans(sqlite3* db, Engine& engine);      // glove_kmeans.cpp: the cluster of each word
int register_glove_clusters(sqlite3* db, Engine& engine);    // glove_clusters.cpp: the clusters themselves
int register_glove_pca(sqlite3* db, Engine& engine);         // glove_pca.cpp: principal components
int register_glove_map(sqlite3* db, Engine& engine);         // glove_map.cpp: places in the plane
int register_glove_mmr(sqlite3* db, Engine& engine);         // glove_mmr.cpp: rows that differ
int register_glove_tokens(sqlite3* db, Engine& engine);      // glove_tokens.cpp: the words of a text
int register_cos_sim(sqlite3* db, Engine& engine);           // cos_sim.cpp
int register_glove_vec(sqlite3* db, Engine& engine);         // glove_vec.cpp
int register_glove_text_vec(sqlite3* db, Engine& engine);    // glove_text_vec.cpp
int register_glove_mean(sqlite3* db, Engine& engine);        // glove_mean.cpp: aggregate and window function
int register_glove_expand(sqlite3* db, Engine& engine);      // glove_expand.cpp
int register_glove_oov(sqlite3* db, Engine& engine);         // glove_oov.cpp
int register_glove_load(sqlite3* db, Engine& engine);        // glove_load.cpp: glove_load and glove_unload
int register_glove_load_table(sqlite3* db, Engine& engine);  // glove_load_table.cpp
int register_glove_atax(sqlite3* db, Engine& engine);        // glove_atax.cpp
int register_glove_convolve(sqlite3* db, Engine& engine);    // glove_convolve.cpp
int register_glove_density(sqlite3* db, Engine& engine);     // glove_density.cpp: an aggregate
int register_glove_svg(sqlite3* db, Engine& engine);         // glove_svg.cpp: an aggregate
int register_glove_derive(sqlite3* db, Engine& engine);      // glove_derive.cpp: a model made of another
int register_glove_types(sqlite3* db, Engine& engine);       // glove_types.cpp: glove_f16 and others
int register_glove_project(sqlite3* db, Engine& engine);     // glove_project.cpp
int register_glove_save(sqlite3* db, Engine& engine);        // glove_save.cpp: writes a model file
int register_glove_config(sqlite3* db, Engine& engine);      // glove_config.cpp
int register_glove_version(sqlite3* db, Engine& engine);     // glove_version.cpp

}  // namespace glove::sql
