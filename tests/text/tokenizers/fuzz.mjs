// Compares the ids of this project's tokenizers with those of the Rust crate, for random tokenizers and texts.
//
//     node tests/text/tokenizers/fuzz.mjs DIR build/release/tests/text/tokenize [ROUNDS [SEED [KIND...]]]
//
// compare.mjs says what to install in DIR; if that is empty, GLOVE_TOKENIZERS names it. Each round makes one tokenizer of each kind
// (WordPiece, WordLevel, BPE, Unigram) with random vocabulary, normalizers, pre-tokenizers, added tokens and truncation, and texts of odd
// characters and broken UTF-8. Prints the seed, which repeats them, and each text with different ids. Ends with 1 if there is one, and
// with 77 if the crate is not there. The crate ends its process for some texts, such as each one with a Prepend of nothing, and where
// added tokens take in the same spaces; those are only counted.
import { fork, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { added, alphabet, bytes, charsmap, id_lists, tokenizer } from './parts.mjs';

const [given_modules, program, rounds = '20', given_seed, ...kinds] = process.argv.slice(2);
const modules = given_modules || process.env.GLOVE_TOKENIZERS || '.';
if (!existsSync(resolve(modules, 'node_modules/@anush008/tokenizers'))) {
  console.log(`skipped: GLOVE_TOKENIZERS must name a folder that has node_modules/@anush008/tokenizers; ${resolve(modules)} has not`);
  process.exit(77);
}
if (process.send) serve();
const first_seed = given_seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given_seed);

// Random choices ----------------------------------------------------------------------------------

let state = 0;
function below(count) {  // mulberry32
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return Math.floor(((t ^ (t >>> 14)) >>> 0) / 2 ** 32 * count);
}
const pick = (list) => list[below(list.length)];
const chance = (percent) => below(100) < percent;
const times = (most, make) => Array.from({ length: below(most + 1) }, make);
const range = (first, last) => String.fromCodePoint(first + below(last - first + 1));

const kOdd = ['\u0301', '\u0327', '\u0308', '\u0345', '\u0344', '\u093c', '\u094d', '\u0e33', '\u0fb2', '\u1161', '\u11a8', '\u1100', '\uac00', '\uac01', '\u200d', '\u200b', '\u200c', '\u200e', '\u2060',
  '\ufeff', '\ufffd', '\ufffe', '\u00ad', '\u0000', '\u0001', '\u0007', '\u001f', '\u007f', '\u0085', '\u009f', '\u00a0', '\u1680', '\u2028', '\u2029', '\u202e', '\u3000', '\t', '\n', '\r', '\r\n', '\v', '\f', ' ', '  ', '\u4e00',
  '\u9fff', '\u3400', '\uf900', '\u{20000}', '\u{2b820}', '\u{2ceb0}', '\u{2f800}', '\u3042', '\u30ab\u3099', '\ufb01', '\u1e9b\u0323', '\u212b', '\u0130', '\u1e9e', '\u03a3', '\u03c2', '\u01c5', '\u0149', '\u00bd', '\u2167', '\u0661', '\u{1d7d8}', '\u2460',
  '\u{1f600}', '\u{1f468}\u200d\u{1f469}', '\u{1f1e9}\u{1f1ea}', '\u{1f44d}\u{1f3fd}', '\u2764\ufe0f', '\u{10ffff}', '\ue000', '\u{e0001}', '\u2581', '_', '-', '\u2013', '.', ',', '!', '$', '^', '`', '\u00a3', '\u3002', '\u0964', "'", "'s", "'ll", '#', '##', '\u0378', '\u08e2', '\u0600',
  '\u1f80', '\u1fbc', '\u03b9\u0308\u0301', '\u0958', '\u2126', '\u{1d15e}', '\ufdfa', '\u{16fe4}', '\u{11935}', '\u0c3c', '\u{1e4ec}'];
const kPlain = [...'aabcdehlost', 'A', 'B', 'T', '1', '2', '\u00e9', '\u00c9', '\u00df', '\u03b1', '\u0438', '\u0439', '\u4e2d', '\u6587', ' ', ' '];
const character = () => (chance(70) ? pick(kPlain) : chance(80) ? pick(kOdd) : pick([() => range(0x20, 0x17f), () => range(0x300, 0x36f), () => range(0x370, 0xd7ff),
  () => range(0xe000, 0xffff), () => range(0x10000, 0x1ffff), () => range(0x20000, 0x10ffff)])());
const string = (most) => Array.from({ length: 1 + below(most) }, character).join('');
const word = (most) => string(most).replace(/\s/gu, '') || 'a';
// What no lone surrogate may be in.
const is_text = (text) => text.isWellFormed();

// Parts of tokenizers -----------------------------------------------------------------------------

const pattern = () => (chance(60) ? { String: chance(60) ? pick(kPlain) : string(3) } : { Regex: pick(['\\s+', ' {2,}', '\\s', 'a+', 'l{2,}', '\\.', '-', '\u00e9+', '\u0301', '\\-{3,}'.replace('\\-', '-')]) });
function random_charsmap() {
  const map = {};
  for (let i = below(12); i >= 0; i--) map[string(2).replaceAll('\0', '') || 'a'] = chance(20) ? '' : string(3).replaceAll('\0', '');
  return charsmap(map);
}
const normalizer = () => pick([
  () => ({ type: 'BertNormalizer', clean_text: chance(70), handle_chinese_chars: chance(70), strip_accents: pick([null, true, false]), lowercase: chance(70) }),
  () => ({ type: pick(['NFC', 'NFD', 'NFKC', 'NFKD']) }), () => ({ type: pick(['NFC', 'NFD', 'NFKC', 'NFKD']) }), () => ({ type: 'Lowercase' }), () => ({ type: 'StripAccents' }), () => ({ type: 'Nmt' }),
  () => ({ type: 'Strip', strip_left: chance(50), strip_right: chance(50) }), () => ({ type: 'Replace', pattern: pattern(), content: chance(30) ? '' : string(3) }),
  () => ({ type: 'Prepend', prepend: string(2) }),  // if it is empty, the crate aborts
  () => ({ type: 'Precompiled', precompiled_charsmap: random_charsmap() }), () => ({ type: 'ByteLevel' })])();
const behavior = () => pick(['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']);
function metaspace() {
  const scheme = pick(['always', 'first', 'never']);
  return { type: 'Metaspace', replacement: chance(80) ? '\u2581' : pick(['_', 'a', '\u00e9']), prepend_scheme: scheme, split: chance(60) };
}
const byte_level = () => ({ type: 'ByteLevel', add_prefix_space: chance(50), trim_offsets: true, use_regex: chance(70) });
const pre_tokenizer = () => pick([() => ({ type: 'BertPreTokenizer' }), () => ({ type: 'Whitespace' }), () => ({ type: 'UnicodeScripts' }), () => ({ type: 'WhitespaceSplit' }), () => ({ type: 'Digits', individual_digits: chance(50) }),
  () => ({ type: 'Punctuation', behavior: behavior() }), () => ({ type: 'Split', pattern: pattern(), behavior: behavior(), invert: chance(30) }), () => ({ type: 'CharDelimiterSplit', delimiter: [...string(1)][0] }),
  metaspace, byte_level])();
function sequence(make, most, name) {
  const list = times(most, make);
  return list.length === 0 ? null : list.length === 1 && chance(50) ? list[0] : { type: 'Sequence', [name]: list };
}

// A vocabulary of random words, of characters, and of the parts of words that `texts` have.
function pieces(count, texts) {
  const list = [];
  for (let i = 0; i < count; i++) {
    const source = chance(50) ? [...pick(texts)] : null;
    const at = source ? below(source.length) : 0;
    const piece = source && source.length > 0 ? source.slice(at, at + 1 + below(4)).join('') : string(3);
    list.push(chance(30) ? piece.toLowerCase() : chance(20) ? piece.normalize(pick(['NFC', 'NFD', 'NFKC', 'NFKD'])) : piece);
  }
  return [...new Set(list.filter((piece) => piece !== '' && is_text(piece)))];
}
function numbered(tokens) {
  const distinct = [...new Set(tokens)];
  return Object.fromEntries(distinct.map((token, id) => [token, id]));
}

const kModels = {
  WordPiece(texts) {
    const prefix = pick(['##', '##', '##', '', '@', '\u2581', 'a']);
    const list = pieces(120, texts);
    return { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: prefix, max_input_chars_per_word: pick([1, 3, 20, 100, 100]),
      vocab: numbered(['[UNK]', ...list, ...pieces(120, texts).map((piece) => prefix + piece)]) };
  },
  WordLevel: (texts) => ({ type: 'WordLevel', unk_token: '[UNK]', vocab: numbered(['[UNK]', ...pieces(200, texts)]) }),
  BPE(texts, is_spelled) {
    const prefix = is_spelled || chance(70) ? '' : pick(['##', '@', 'a']), suffix = is_spelled || chance(80) ? '' : '</w>';
    const characters = is_spelled ? alphabet : [...new Set([...texts.join(''), ...kPlain.join('')])].filter((c) => is_text(c) && chance(85));
    const tokens = ['<unk>', ...characters];
    if (prefix !== '') tokens.push(...characters.map((c) => prefix + c));
    if (suffix !== '') tokens.push(...characters.map((c) => prefix + c + suffix), ...characters.map((c) => c + suffix));
    if (chance(40)) tokens.push(...bytes.filter(() => chance(98)));
    const known = new Set(tokens), merges = [];
    const frequent = is_spelled ? [...'aabcdehlost\u0120\u0120\u00c3\u00a9'] : kPlain.filter((c) => known.has(c));
    const symbol = () => (merges.length > 0 && chance(50) ? pick(merges).join('') : chance(70) ? pick(frequent) : pick(tokens));
    for (let i = below(80); i > 0; i--) {
      const left = symbol(), right = prefix !== '' ? pick(tokens.filter((token) => token.startsWith(prefix))) : symbol();
      if (!known.has(left) || !known.has(right) || left === '<unk>' || right === '<unk>') continue;
      const merged = left + right.slice(prefix.length);
      if (!known.has(merged)) tokens.push(merged);
      known.add(merged);
      merges.push(prefix === '' ? [left, right] : [left, right]);
    }
    return { type: 'BPE', dropout: null, unk_token: chance(70) ? '<unk>' : null, continuing_subword_prefix: prefix === '' ? pick([null, '']) : prefix, end_of_word_suffix: suffix === '' ? pick([null, '']) : suffix,
      fuse_unk: chance(50), byte_fallback: chance(40), ignore_merges: chance(30), vocab: numbered([...tokens, ...pieces(20, texts)]), merges };
  },
  Unigram(texts) {
    const score = pick([() => -below(1000) / 64, () => -below(8), () => -1, () => -Math.fround(below(2 ** 31) / 2 ** 27)]);
    let list = ['<unk>', ...pieces(150, texts), '\u2581', ...(chance(40) ? bytes : [])];
    if (chance(30)) list = [...list, ...times(5, () => pick(list))];  // equal tokens
    return { type: 'Unigram', unk_id: chance(85) ? (chance(80) ? 0 : below(list.length)) : null, vocab: list.map((piece) => [piece, score()]), byte_fallback: chance(40) };
  },
};

function random_tokenizer(kind, texts) {
  const spells = kind === 'BPE' && chance(50);
  const model = kModels[kind](texts, spells);
  const normalizers = sequence(normalizer, 3, 'normalizers');
  const pre_tokenizers = spells && chance(90) ? byte_level() : sequence(pre_tokenizer, 3, 'pretokenizers');
  const tokens = times(chance(50) ? 0 : 5, () => added(chance(50) ? pick(pieces(3, texts).concat('x')) : chance(20) ? string(4) : pick(['[UNK]', '<unk>', '<mask>', 'new york', 'a']),
    { single_word: chance(30), lstrip: chance(30), rstrip: chance(30), normalized: chance(50), special: chance(50) }));
  const truncation = chance(80) ? null : { direction: pick(['Left', 'Right']), max_length: 1 + below(12), strategy: 'LongestFirst', stride: 0 };
  return tokenizer(model, normalizers, pre_tokenizers, { added_tokens: tokens, truncation });
}

// Texts -------------------------------------------------------------------------------------------

function random_text() {
  if (chance(3)) return string(4).repeat(1 + below(400));  // one long word
  return times(12, () => (chance(60) ? word(6) : string(6))).join(chance(70) ? ' ' : pick(['', '  ', '-', '\u3000', '\n']));
}
function broken(text) {
  let data = Buffer.from(text);
  for (let i = below(3); i >= 0; i--) {
    const at = below(data.length + 1);
    data = chance(50) ? Buffer.concat([data.subarray(0, at), Buffer.from([pick([0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xe2, 0xed, 0xa0, 0xf0, 0x90, 0xf4, 0xff, below(256)])]), data.subarray(at)])
      : Buffer.concat([data.subarray(0, at), data.subarray(at + 1 + below(2))]);
  }
  return data;
}

// Comparison --------------------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), 'glove-fuzz-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

// The ids of each text, or the reason why the tokenizer is refused.
function ids_of_project(json, texts) {
  const file = join(folder, 'tokenizer.json');
  writeFileSync(file, json);
  const input = Buffer.concat(texts.flatMap((text) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(text.length);
    return [length, text];
  }));
  const run = spawnSync(program, [file], { input, maxBuffer: 2 ** 30 });
  if (run.status !== 0) return `refused (${run.status ?? run.signal}): ${String(run.stderr).trim()}`;
  return id_lists(run.stdout);
}

// The crate aborts its process for some texts, so it has one of its own. This process answers {json, texts} with 'refused: ...' or with the
// ids of one text after the other.
function serve() {
  const { Tokenizer } = createRequire(resolve(modules, 'index.js'))('@anush008/tokenizers');
  process.on('message', async ({ json, strings }) => {
    let reference;
    try {
      reference = Tokenizer.fromString(json);
    } catch (error) {
      process.send(`refused: ${error.message}`);
      return;
    }
    for (const text of strings) {
      try {
        process.send((await reference.encode(text)).getIds());
      } catch (error) {
        process.send(['error']);
      }
    }
  });
}

let crate;
function ids_of_crate(json, texts) {
  crate ??= fork(fileURLToPath(import.meta.url), [modules], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  return new Promise((answer) => {
    const lists = [];
    const end = (result) => {
      crate?.removeAllListeners();
      answer(result);
    };
    crate.on('message', (ids) => {
      if (typeof ids === 'string') return end(ids);
      lists.push(ids.join(' '));
      if (lists.length === texts.length) end(lists);
    });
    crate.on('exit', () => {
      crate = undefined;
      counts.crashes++;
      end(lists);  // nothing for the text that ended it and those behind it
    });
    crate.send({ json, strings: texts.map((text) => decoder.decode(text)) });
  });
}

const counts = { texts: 0, tokenizers: 0, refused: 0, crashes: 0, differences: 0 };
// Prints what differs; GLOVE_FUZZ_KEEP names a file for the last tokenizer that did.
function difference(kind, seed, json, text, ours, theirs) {
  if (process.env.GLOVE_FUZZ_KEEP) writeFileSync(process.env.GLOVE_FUZZ_KEEP, json);
  if (++counts.differences > 20) return;
  const shown = JSON.stringify({ ...JSON.parse(json), model: { ...JSON.parse(json).model, vocab: undefined, merges: undefined } });
  console.log(`${kind}, seed ${seed}: ${text === undefined ? 'the tokenizer' : JSON.stringify(decoder.decode(text))}\n  ours   ${ours}\n  theirs ${theirs}\n  ${shown}`);
}

async function main() {
  console.log(`fuzz.mjs: ${rounds} rounds from seed ${first_seed}`);
  for (let round = 0; round < Number(rounds); round++) {
    for (const kind of kinds.length > 0 ? kinds : Object.keys(kModels)) {
      state = first_seed + round;
      const strings = Array.from({ length: 16 }, random_text);
      const texts = [...strings.map((text) => Buffer.from(text)), ...Array.from({ length: 4 }, () => broken(pick(strings)))];
      const json = JSON.stringify(random_tokenizer(kind, strings.map((text) => text || ' ')));
      const ours = ids_of_project(json, texts), theirs = await ids_of_crate(json, texts);
      counts.tokenizers++;
      if (typeof ours === 'string' || typeof theirs === 'string') {
        counts.refused++;
        if (typeof ours !== typeof theirs) difference(kind, first_seed + round, json, undefined, typeof ours === 'string' ? ours : 'accepted', typeof theirs === 'string' ? theirs : 'accepted');
        continue;
      }
      counts.texts += theirs.length;
      theirs.forEach((ids, i) => {
        if (ours[i] !== ids) difference(kind, first_seed + round, json, texts[i], ours[i], ids);
      });
    }
  }
  console.log(`${counts.texts} texts with ${counts.tokenizers} tokenizers, of which ${counts.refused} were refused; the crate crashed ${counts.crashes} times; ${counts.differences} differences`);
  process.exitCode = counts.differences > 0 || counts.texts === 0 ? 1 : 0;
  crate?.kill();
}

if (!process.send) main();
