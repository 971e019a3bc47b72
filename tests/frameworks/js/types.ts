// Compiled, and not run: the types of the stores, of loadEach() and of repair().
import { Document } from "@langchain/core/documents";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import { VectorStore } from "@langchain/core/vectorstores";
import { BaseVectorStore } from "@llamaindex/core/vector-store";
import { load, loadEach, repair } from "sqlite-glove";
import { GloveVectorStore } from "sqlite-glove/langchain";
import { GloveVectorStore as Nodes } from "sqlite-glove/llamaindex";
declare const db: { loadExtension(path: string): unknown; prepare(sql: string): any; exec(sql: string): unknown };
declare class Database { loadExtension(path: string): unknown; }

load(db, { repair: true });
loadEach(Database, { repair: true });
const names: string[] = repair(db);
const store = new GloveVectorStore(new FakeEmbeddings(), { db, table: "doc", indexArguments: { metric: "dot" } });
const general: VectorStore = store;
const nodes: BaseVectorStore = new Nodes({ db, table: "node" });
async function run(): Promise<string[]> {
  const made: GloveVectorStore = await GloveVectorStore.fromTexts(["a"], [{ lang: "en" }], new FakeEmbeddings(), { db, ids: ["1"] });
  await made.delete({ ids: ["1"], filter: { lang: { $in: ["en", null] } } });
  const [[document, score]] = await made.similaritySearchWithScore("a", 1, { year: { $gte: 2020, $lt: new Date() }, $or: [{ lang: "en" }, { $not: { tags: ["a"] } }] });
  const found = await made.asRetriever({ k: 2, searchType: "mmr", searchKwargs: { fetchK: 9 }, filter: { lang: "en" } }).invoke("a");
  const text: string = document.pageContent + score.toFixed(2) + found[0].pageContent;
  // @ts-expect-error: a filter is an object
  await made.similaritySearch("a", 1, "lang = 'en'");
  // @ts-expect-error: a list
  await made.similaritySearch("a", 1, { $or: { lang: "en" } });
  // @ts-expect-error: a connection is needed
  new GloveVectorStore(new FakeEmbeddings(), {});
  // @ts-expect-error: what to delete must be given
  await made.delete();
  return [...(await made.addDocuments([new Document({ pageContent: text })])), ...names];
}
export { general, nodes, run };
