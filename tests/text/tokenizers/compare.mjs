// Compares the ids of this project's tokenizers with those of the references.
//
//     npm install --prefix DIR @huggingface/tokenizers@0.2.0 @anush008/tokenizers@0.6.0 @anush008/tokenizers-linux-x64-gnu@0.6.0
//     tests/text/tokenizers/make_texts.py DIR/texts          # 100,000 texts
//     tests/text/tokenizers/train.py DIR/texts DIR           # tokenizers of 30,000 pieces
//     node tests/text/tokenizers/compare.mjs DIR build/release/tests/text/tokenize DIR/texts DIR/*.json
//
// A file of texts has the length of each, as a 32-bit number, before it. Prints the texts with different ids, and the number of them
// per tokenizer and reference. Ends with 1 if any differ from the Rust crate. The JavaScript package gives other ids than the
// crate, and so than this project, where
// - the normalizer is Precompiled, which it omits: about half of the texts;
// - the pre-tokenizer is Punctuation, which it lets keep runs of punctuation together: a fifth of the texts;
// - BERT's rules meet a character that is newer than Unicode 8.0, or was in another category then (U+166D, U+1734, U+A9BD, U+111C9), or an
//   ideograph beyond U+FFFF, which it does not set apart, or a final sigma, which it makes U+03C2: 2 % of the texts, nearly all of
//   them random;
// - ByteLevel meets U+FEFF, which is white space in JavaScript: 4 texts.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

import { id_lists } from './parts.mjs';

const [modules, program, texts_file, ...tokenizers] = process.argv.slice(2);
const require = createRequire(resolve(modules, 'index.js'));
const native = require('@anush008/tokenizers');
const { Tokenizer: Script } = require('@huggingface/tokenizers');
const kShown = Number(process.env.SHOWN ?? 5);

const bytes = readFileSync(texts_file);
const texts = [];
for (let at = 0; at < bytes.length;) {
  const length = bytes.readUInt32LE(at);
  texts.push(bytes.subarray(at + 4, at + 4 + length));
  at += 4 + length;
}
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strings = texts.map((text) => decoder.decode(text));

function ids_of_project(file) {
  const run = spawnSync(program, [file], { input: bytes, maxBuffer: 2 ** 31 - 1 });
  if (run.status !== 0) throw new Error(`${program} ${file}: ${run.stderr}`);
  return id_lists(run.stdout);
}

async function ids_of_native(file) {
  const tokenizer = native.Tokenizer.fromString(readFileSync(file, 'utf8'));
  const lists = [];
  for (const text of strings) {
    try {
      lists.push((await tokenizer.encode(text)).getIds().join(' '));
    } catch (error) {
      lists.push('error');
    }
  }
  return lists;
}

function ids_of_script(file) {
  const tokenizer = new Script(JSON.parse(readFileSync(file, 'utf8')), {});
  return strings.map((text) => {
    try {
      return tokenizer.encode(text).ids.join(' ');
    } catch (error) {
      return 'error';
    }
  });
}

let differences = 0;
function report(file, reference, ours, theirs) {
  const different = [...theirs.keys()].filter((i) => ours[i] !== theirs[i]);
  console.log(`${file}: ${different.length} of ${theirs.length} texts differ from ${reference}`);
  for (const i of different.slice(0, kShown)) {
    console.log(`  ${i} ${JSON.stringify(strings[i]).slice(0, 200)}\n    ours   ${ours[i].slice(0, 200)}\n    theirs ${theirs[i].slice(0, 200)}`);
  }
  return different.length;
}

for (const file of tokenizers) {
  const ours = ids_of_project(file);
  differences += report(file, '@anush008/tokenizers (the Rust crate)', ours, await ids_of_native(file));
  if (!process.env.NATIVE_ONLY) report(file, '@huggingface/tokenizers (JavaScript)', ours, ids_of_script(file));
}
process.exitCode = differences === 0 ? 0 : 1;
