// Writes text/tokenizers/unicode_tables.inc: what the reference knows about each code point.
//
//     npm install --prefix DIR @anush008/tokenizers@0.6.0 @anush008/tokenizers-linux-x64-gnu@0.6.0
//     node text/tokenizers/make_unicode_tables.mjs DIR > text/tokenizers/unicode_tables.inc
//
// The crate `tokenizers` 0.22.2 takes its tables from five places, each with a Unicode version of its own: normalization forms and
// combining marks from unicode-normalization-alignments 0.1.12 (Unicode 12.0), punctuation, control characters and
// non-spacing marks from unicode_categories 0.1.1 (8.0), white space, numbers and lower case from Rust's standard library, \w from
// regex-syntax 0.8, \p{L}, \p{N} and \s from Oniguruma, and grapheme clusters from unicode-segmentation 1.12.0 (16.0).
// No Unicode Character Database agrees with all of them, so this asks the reference itself about each code point.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const require = createRequire(resolve(process.argv[2], 'index.js'));
const T = require('@anush008/tokenizers');

const kLast = 0x10ffff;
const text = (...codes) => String.fromCodePoint(...codes);
const codes_of = (string) => Array.from(string, (c) => c.codePointAt(0));
const is_scalar = (code) => code < 0xd800 || code > 0xdfff;

// ---- The reference's rules as functions of strings.
const nfd = T.nfdNormalizer(), nfkd = T.nfkdNormalizer(), nfc = T.nfcNormalizer();
const lower = T.lowercase(), accents = T.stripAccentsNormalizer();
const bert = (options) => T.bertNormalizer({
  cleanText: false, handleChineseChars: false, stripAccents: false, lowercase: false, ...options });
const clean = bert({ cleanText: true }), bert_accents = bert({ stripAccents: true });
const pieces = (splitter, string) => splitter.preTokenizeString(string).length;
const white = T.whitespaceSplitPreTokenizer(), punctuation = T.punctuationPreTokenizer();
const digits = T.digitsPreTokenizer(true), words = T.whitespacePreTokenizer(), bytes = T.byteLevelPreTokenizer(false);

// A charsmap that maps each byte to "Q". The reference applies it to a grapheme cluster of fewer than six bytes as a whole, and
// to each character of a longer one, so the number of Qs shows where clusters end.
function charsmap() {
  const units = new Uint32Array(1024);
  units[0] = 256 << 10;
  for (let byte = 1; byte < 256; byte++) units[256 ^ byte] = ((256 ^ byte ^ (512 + byte)) << 10) | (1 << 8) | byte;
  return [...Buffer.concat([Buffer.from(new Uint32Array([units.length * 4]).buffer), Buffer.from(units.buffer), Buffer.from('Q\0')])];
}
const clusters_of = T.precompiled(charsmap());
const clusters = (...codes) => clusters_of.normalizeString(text(...codes)).length;

// ---- Flags: see unicode.h.
const flag = { white: 1, bert_dropped: 2, punctuation: 4, numeric: 8, mark_nonspacing: 16, mark: 32, word: 64, letter: 128,
  number: 256, space: 512, decomposes: 1024, decomposes_compatibly: 2048, lower: 4096, composes: 8192 };

function flags_of(code) {
  const c = text(code);
  let flags = 0;
  if (pieces(white, `a${c}a`) === 2) flags |= flag.white;
  if (pieces(punctuation, `a${c}a`) === 3) flags |= flag.punctuation;
  if (pieces(digits, `a${c}a`) === 3) flags |= flag.numeric;
  if (pieces(words, `a${c}a`) === 1) flags |= flag.word;
  if (pieces(bytes, `a${c}a`) === 1) flags |= flag.letter;
  else if (pieces(bytes, `1${c}1`) === 1) flags |= flag.number;
  else if (pieces(bytes, `!${c}!`) !== 1) flags |= flag.space;
  const cleaned = clean.normalizeString(c);
  if (cleaned === '') flags |= flag.bert_dropped;
  else if ((cleaned === ' ') !== ((flags & flag.white) !== 0)) throw `white space of BERT: ${code.toString(16)}`;
  if (accents.normalizeString(c) === '') flags |= flag.mark;
  const canonical = nfd.normalizeString(c);
  if (canonical !== c) flags |= flag.decomposes | flag.decomposes_compatibly;
  else if (bert_accents.normalizeString(c) === '') flags |= flag.mark_nonspacing;
  if (nfkd.normalizeString(c) !== c) flags |= flag.decomposes_compatibly;
  if (lower.normalizeString(c) !== c) flags |= flag.lower;
  return flags;
}

// ---- Canonical combining classes: characters of known classes show the class of another by their order after it.
const probes = [
  [1, 0x334], [6, 0x16ff0], [7, 0x93c], [8, 0x3099], [9, 0x94d], [10, 0x5b0], [11, 0x5b1], [12, 0x5b2],
  [13, 0x5b3], [14, 0x5b4], [15, 0x5b5], [16, 0x5b6], [17, 0x5b7], [18, 0x5b8], [19, 0x5b9], [20, 0x5bb],
  [21, 0x5bc], [22, 0x5bd], [23, 0x5bf], [24, 0x5c1], [25, 0x5c2], [26, 0xfb1e], [27, 0x64b], [28, 0x64c],
  [29, 0x64d], [30, 0x618], [31, 0x619], [32, 0x61a], [33, 0x651], [34, 0x652], [35, 0x670], [36, 0x711],
  [84, 0xc55], [91, 0xc56], [103, 0xe38], [107, 0xe48], [118, 0xeb8], [122, 0xec8], [129, 0xf71], [130, 0xf72],
  [132, 0xf74], [202, 0x321], [214, 0x1dce], [216, 0x31b], [218, 0x302a], [220, 0x316], [222, 0x59a], [224, 0x302e],
  [226, 0x1d16d], [228, 0x5ae], [230, 0x300], [232, 0x315], [233, 0x35c], [234, 0x35d], [240, 0x345],
].filter(([, code]) => nfd.normalizeString(text(0x61, 0x345, code)) !== text(0x61, 0x345, code) || code === 0x345);

function combining_class(code) {
  const c = text(code);
  if (nfd.normalizeString(c) !== c) return 0;
  const behind = (probe) => probe !== code && nfd.normalizeString(text(0x61, code, probe)) === text(0x61, probe, code);
  const before = nfd.normalizeString(text(0x61, 0x345, code)) === text(0x61, code, 0x345);
  if (!before && !behind(0x334)) return 0;
  return probes[probes.filter(([, probe]) => behind(probe)).length][0];
}

// ---- Grapheme clusters: classes as far as they decide about clusters of fewer than six bytes and their neighbours.
const kinds = ['kOther', 'kCarriageReturn', 'kLineFeed', 'kControl', 'kExtend', 'kJoiner', 'kSpacingMark', 'kPrepend', 'kHangulL',
  'kHangulV', 'kHangulT', 'kHangulLV', 'kHangulLVT', 'kPictograph'];

function cluster_kind(code) {
  if (code === 0x0d) return 'kCarriageReturn';
  if (code === 0x0a) return 'kLineFeed';
  if (code === 0x200d) return 'kJoiner';
  const accent = 0x301, picture = 0xa9;
  if (clusters(0x61, code) === 1) return clusters(picture, code, 0x200d, picture, accent) === 5 ? 'kExtend' : 'kSpacingMark';
  if (clusters(code, 0x61) === 1) return 'kPrepend';
  if (clusters(code, 0x200d, picture, accent) === 4) return 'kPictograph';
  const before_l = clusters(code, 0x1100, accent) === 3, before_v = clusters(code, 0x1161, accent) === 3;
  const before_t = clusters(code, 0x11a8, accent) === 3;
  if (before_l) return 'kHangulL';
  if (before_v && before_t) return code >= 0xac00 && code <= 0xd7a3 ? 'kHangulLV' : 'kHangulV';
  if (before_t) return code >= 0xac00 && code <= 0xd7a3 ? 'kHangulLVT' : 'kHangulT';
  // A control character does not join with what follows. Four bytes and an accent are too long to tell, or to matter.
  const length = Buffer.byteLength(text(code));
  return length < 4 && clusters(code, accent) !== 1 && length + 2 < 6 ? 'kControl' : 'kOther';
}

const conjuncts = ['kNone', 'kConsonant', 'kLinker', 'kExtend'];
function conjunct_kind(code) {
  const ka = 0x915, virama = 0x94d, ta = 0x924, accent = 0x301;
  if (clusters(code, virama, ta, accent) === 4) return 'kConsonant';
  if (clusters(ka, code, ta, accent) === 4) return 'kLinker';
  return clusters(ka, code, virama, ta, accent) === 5 ? 'kExtend' : 'kNone';
}

// ---- All code points.
const records = [], record_of = new Map(), table = new Uint8Array(kLast + 1);
let flags_of_plain = 0;
const canonical = [], compatible = [], lowers = [], compositions = [];
for (let code = 0; code <= kLast; code++) {
  if (!is_scalar(code)) continue;
  const c = text(code);
  // Unassigned, or for private use.
  const plain = ((code >= 0x32000 && code < 0xe0000) || code >= 0xe1000) && (code & 0xffff) < 0xff00;
  const flags = plain && (code & 0xff) !== 0 ? flags_of_plain : flags_of(code);
  flags_of_plain = flags;
  const decomposed = nfd.normalizeString(c), compatibly = nfkd.normalizeString(c);
  const is_syllable = code >= 0xac00 && code <= 0xd7a3;
  if (!is_syllable) {
    if (decomposed !== c) canonical.push([code, decomposed]);
    if (compatibly !== decomposed) compatible.push([code, compatibly]);
    if (decomposed !== c && nfc.normalizeString(c) === c) {
      const parts = codes_of(decomposed), second = parts.pop(), first = codes_of(nfc.normalizeString(text(...parts)));
      if (first.length !== 1 || nfc.normalizeString(text(first[0], second)) !== c) throw `composition: ${code.toString(16)}`;
      compositions.push([first[0], second, code]);
    }
  }
  const lowered = codes_of(lower.normalizeString(c));
  if (lowered.length === 1 ? lowered[0] !== code : code !== 0x130) lowers.push([code, lowered[0]]);
  const order = plain ? 0 : combining_class(code);
  const kind = plain ? 'kOther' : cluster_kind(code), conjunct = plain ? 'kNone' : conjunct_kind(code);
  const key = [flags, order, kinds.indexOf(kind), conjuncts.indexOf(conjunct)].join();
  table[code] = record(key);
}

function record(key) {
  if (!record_of.has(key)) {
    record_of.set(key, records.length);
    records.push(key.split(',').map(Number));
    if (records.length > 255) throw 'too many records';
  }
  return record_of.get(key);
}

// The characters that may be the second of a composition, or a vowel or final consonant of a Hangul syllable.
const seconds = new Set(compositions.map(([, second]) => second));
for (let code = 0x1161; code <= 0x1175; code++) seconds.add(code);
for (let code = 0x11a8; code <= 0x11c2; code++) seconds.add(code);
for (const code of seconds) {
  const [flags, ...rest] = records[table[code]];
  table[code] = record([flags | flag.composes, ...rest].join());
}

// ---- Output.
const kPage = 128, pages = [], page_of = new Map(), index = [];
for (let first = 0; first <= kLast; first += kPage) {
  const page = [...table.slice(first, first + kPage)], key = page.join();
  if (!page_of.has(key)) page_of.set(key, pages.push(page) - 1);
  index.push(page_of.get(key));
}
const kBlock = 128, blocks = [], block_of = new Map(), block_index = [];
for (let first = 0; first < index.length; first += kBlock) {
  const block = index.slice(first, first + kBlock), key = block.join();
  if (!block_of.has(key)) block_of.set(key, blocks.push(block) - 1);
  block_index.push(block_of.get(key));
}
const lower_ranges = [];  // [first, last, step, delta]
for (const [code, to] of lowers) {
  const last = lower_ranges.at(-1), gap = last ? code - last[1] : 0;
  if (last && last[3] === to - code && (gap === 1 || gap === 2) && (last[0] === last[1] || last[2] === gap)) {
    last[1] = code;
    last[2] = gap;
  } else lower_ranges.push([code, code, 1, to - code]);
}
function decompositions(name, list) {
  const rows = list.map(([code, string]) => [code, Buffer.byteLength(string)]);
  const bytes = [...Buffer.from(list.map((r) => r[1]).join(''))];
  if (bytes.length > 0xffff) throw 'the offsets are too small';
  return packed(`${name}Rows`, rows) + array('uint8_t', `${name}Text`, bytes);
}
// The runs of at most 255 equal values, as [value, length].
function runs(values) {
  const found = [];
  for (const value of values) {
    const last = found.at(-1);
    if (last && last[0] === value && last[1] < 255) last[1]++;
    else found.push([value, 1]);
  }
  return found;
}
// A table of numbers, as unpack_numbers() of text/packed_numbers.h reads it.
function packed(name, rows) {
  const bytes = [];
  rows.forEach((row, i) => row.forEach((value, column) => {
    const difference = value - (i ? rows[i - 1][column] : 0);
    let rest = difference < 0 ? -2 * difference - 1 : 2 * difference;
    for (; rest >= 128; rest >>= 7) bytes.push(128 | rest & 127);
    bytes.push(rest);
  }));
  return array('uint8_t', name, bytes);
}
// An array in lines of at most 120 characters.
function array(type, name, values) {
  const lines = [''];
  for (const value of values) {
    if (lines.at(-1).length + String(value).length >= 120) lines.push('');
    lines[lines.length - 1] += `${value},`;
  }
  return `constexpr ${type} k${name}[] = {\n${lines.join('\n')}\n};\n`;
}
// ---- Scripts: see unicode.h. Texts of two characters show which ones have the same, and which have none.
const script_splitter = T.Tokenizer.fromString(JSON.stringify({ version: '1.0', truncation: null, padding: null, added_tokens: [],
  normalizer: null, pre_tokenizer: { type: 'UnicodeScripts' }, post_processor: null, decoder: null,
  model: { type: 'WordLevel', vocab: { '?': 0 }, unk_token: '?' } }));
const splits = async (...codes) => (await script_splitter.encode(text(...codes), null, { addSpecialTokens: false })).getIds().length === 2;
const script_rows = [], examples = [0x61];  // the script i + 1 has examples[i]
for (let code = 0; code <= kLast; code++) {
  const last = script_rows.at(-1)?.[1] ?? 0;
  let script = 0;
  if (is_scalar(code) && (await splits(0x61, code) || await splits(0x44f, code))) {
    script = last && !await splits(examples[last - 1], code) ? last : 0;
    for (let other = 1; script === 0; other++) {
      examples[other - 1] ??= code;
      if (!await splits(examples[other - 1], code)) script = other;
    }
  }
  if (!script_rows.length || script !== last) script_rows.push([code, script]);
}

compositions.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
process.stdout.write('// Written by make_unicode_tables.mjs, and included by unicode_tables.cpp only.\n' +
  array('uint8_t', 'Blocks', block_index) + array('uint16_t', 'Pages', blocks.flat()) +
  array('uint8_t', 'RecordRuns', runs(pages.flat()).flat()) +
  array('Character', 'Characters', records.map((r) => `{${r[0]},${r[1]},ClusterKind(${r[2]}),ConjunctKind(${r[3]})}`)) +
  decompositions('Canonical', canonical) + decompositions('Compatible', compatible) +
  packed('Compositions', compositions) + packed('LowerRanges', lower_ranges) + packed('Scripts', script_rows));
console.error(`${records.length} records, ${pages.length} pages, ${canonical.length} + ${compatible.length} decompositions, ` +
  `${compositions.length} compositions, ${lower_ranges.length} lower-case ranges, ${script_rows.length} ranges of scripts`);
