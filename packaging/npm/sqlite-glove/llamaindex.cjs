'use strict';
exports.GloveVectorStore = require('./llamaindex.js')(require('@llamaindex/core/vector-store'));
