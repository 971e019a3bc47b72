// The interface of sql/ for extension/: the SQL objects, which register_object() (sql/adapter/arguments.h)
// adds to a connection. Each is defined where its source ends.
#pragma once

namespace glove::sql {

struct SqlObject;

// sql/nn/: the table-valued search, and functions of words, vectors and keys.
extern const SqlObject kGloveNn, kGloveKeys, kCosSim, kDotProduct, kL2Distance, kGloveVec, kGloveOov;
extern const SqlObject kGloveF16, kGloveBf16, kGloveI8, kGloveF32;
// sql/index/: an index over a table, the live indexes, and what repairs and attaches them.
extern const SqlObject kGloveIndex, kGloveIndexes, kGloveRepair, kGloveAttach;
// sql/join/: pairs of near rows, and groups of them.
extern const SqlObject kGlovePairs, kGloveGroups;
// sql/models/: the loaded models, their words, the cost of searches, and what loads and saves models.
extern const SqlObject kGloveModels, kGloveWords, kGloveStats, kGloveLoad, kGloveUnload, kGloveLoadTable;
extern const SqlObject kGloveSave, kGloveConfig, kGloveVersion;
// sql/text/: the words of a text, its vector, and the mean of vectors.
extern const SqlObject kGloveTokens, kGloveTextVec, kGloveEncode, kGloveMean;
// sql/toolbox/: clusters, components, maps, grids, and models made of others.
extern const SqlObject kGloveKmeans, kGloveClusters, kGlovePca, kGloveMap, kGloveMmr, kGloveRecall;
extern const SqlObject kGloveExpand, kGloveAtax, kGloveConvolve, kGloveDensity, kGloveSvg, kGloveDerive;
extern const SqlObject kGloveProject;

}  // namespace glove::sql
