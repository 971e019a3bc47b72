import { Document } from '@langchain/core/documents';
import { VectorStore } from '@langchain/core/vectorstores';
import makeStore from './langchain.js';

export const GloveVectorStore = makeStore({ VectorStore, Document });
