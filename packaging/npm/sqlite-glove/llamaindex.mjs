import * as core from '@llamaindex/core/vector-store';
import makeStore from './llamaindex.js';

export const GloveVectorStore = makeStore(core);
