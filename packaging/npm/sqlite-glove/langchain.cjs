'use strict';
const { Document } = require('@langchain/core/documents');
const { VectorStore } = require('@langchain/core/vectorstores');

exports.GloveVectorStore = require('./langchain.js')({ VectorStore, Document });
