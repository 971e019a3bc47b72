// Writes golden.json: small tokenizers of every kind, texts, and the ids of the Rust crate for them.
//
//     node tests/text/tokenizers/make_golden.mjs DIR > tests/text/tokenizers/golden.json
//
// compare.mjs says what to install in DIR.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { added, alphabet, bytes, charsmap, letters, tokenizer, vocab } from './parts.mjs';

const require = createRequire(resolve(process.argv[2], 'index.js'));
const { Tokenizer } = require('@anush008/tokenizers');

const words = ['the', 'new', 'york', 'cafe', 'café', 'hello', 'world', 'it', 's', 'do', 'don', 'unbeliev', 'able', '##able', '##ing', '##s', '##lo', 'a##', '中', '文', '한', '각',
  '123', '1', '2', '3', '##2', '.', ',', '!', '-', "'", '"', '(', ')', '£', '–', '।', 'ß', 'i̇', 'ı', 'σ', 'ς', 'α', 'й', 'и', 'привет', 'क', '\u094d', 'ष', 'क्ष', '①', 'ﬁ', 'fi', 'Å', '½', 'ⅷ', ' ', '\u00a0', '\u00ad'];
const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'];
const pieces = vocab(special, words, letters, letters.map((c) => `##${c}`));
const word_piece = { type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: 20, vocab: pieces };
const word_level = { type: 'WordLevel', unk_token: '[UNK]', vocab: pieces };
const bert = (options = {}) => ({ type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true, ...options });
const around = { type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '[CLS]', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[SEP]', type_id: 0 } }],
  pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: { '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] }, '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] } } };

// Byte-pair encodings.
const merges = ['h e', 'l l', 'he ll', 'hell o', 'o w', 'Ġ w', 'Ġw o', 'r l', 'rl d', 'Ġwo rld', 'a a', 'aa a', 'aa aa', 'Ġ t', 't h', 'Ġ th', 'Ġt h', 'Ġth e', 'Ã ©', '1 2', '12 3', "' s", 'Ġ Ġ', 'n e', 'ne w'].map((m) => m.split(' '));
const byte_pair = (options = {}) => ({ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false,
  byte_fallback: false, ignore_merges: false, vocab: vocab(['<|endoftext|>'], alphabet, merges.map((m) => m.join('')), ['Ġyork', 'wörld']), merges, ...options });
const byte_level = (options = {}) => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true, ...options });
const plain_merges = [['l', 'l'], ['h', 'e'], ['he', 'll'], ['▁', 'he'], ['▁', 'hell'], ['▁hell', 'o'], ['e', 'l'], ['1', '2']];
const plain = (options = {}) => ({ ...byte_pair(), unk_token: '<unk>', vocab: vocab(['<unk>'], letters, ['▁', '1', '2', 'é'], plain_merges.map((m) => m.join(''))), merges: plain_merges, ...options });
const suffixed = { ...byte_pair(), unk_token: '<unk>', continuing_subword_prefix: '##', end_of_word_suffix: '</w>',
  vocab: vocab(['<unk>'], ['h', '##e', '##l', '##o</w>', 'he', '##ll', 'hell', 'hello</w>', 'a</w>', 'a', '##a</w>', '##a']),
  merges: [['h', '##e'], ['##l', '##l'], ['he', '##ll'], ['hell', '##o</w>']] };

// Unigram, with a charsmap of a few characters.
const map = { 'Ａ': 'A', 'é': 'e', 'a\u0301': 'á!', '\u200b': '', '①': '1', 'ﬁ': 'fi', '\u00a0': ' ', '\t': ' ', '\n': ' ', '한': 'han', '\u1161': 'A', 'त': 'ta', 'H': 'h', '\r\n': ' ', '\u0301': '´' };
const precompiled = { type: 'Precompiled', precompiled_charsmap: charsmap(map) };
const scored = [['<unk>', 0], ['<s>', 0], ['</s>', 0], ['▁', -2], ['▁hello', -4], ['hello', -5], ['▁hel', -4.5], ['lo', -4], ['▁world', -6], ['xx', -30], ['1', -3], ['12', -4], ['a', -3], ['aa', -4.5], ['aaa', -6],
  ...letters.filter((c) => c !== 'q' && c !== 'x').map((c) => [c, -7]), ['han', -6], ['ta', -6], ['A', -8], ['´', -9], ['\u094d', -9], ['क', -9], ['é', -9], ['.', -5], [',', -5]];
const unigram = (options = {}) => ({ type: 'Unigram', unk_id: 0, vocab: scored, byte_fallback: false, ...options });
const metaspace = (options = {}) => ({ type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true, ...options });
const sequence = (list, name) => ({ type: 'Sequence', [name]: list });
const replace = (pattern, content) => ({ type: 'Replace', pattern, content });
const split = (pattern, behavior, invert = false) => ({ type: 'Split', pattern, behavior, invert });

const several = [added('[PAD]'), added('[UNK]'), added('[CLS]'), added('[SEP]'), added(' new york', { single_word: true, special: false, normalized: true }),
  added('York', { single_word: true, special: false }), added('<mask>', { lstrip: true }), added('<day>', { rstrip: true }), added('Café', { normalized: true, special: false }),
  added('caf', { normalized: true, special: false }), added('##', { special: false }), added('<mask>', { lstrip: true, rstrip: true }), added('same', { special: false }), added('same', { special: true })];
const tokenizers = {
  bert: tokenizer(word_piece, bert(), { type: 'BertPreTokenizer' }, { added_tokens: special.map((t) => added(t)), post_processor: around }),
  bert_cased: tokenizer(word_piece, bert({ lowercase: false }), { type: 'BertPreTokenizer' }),
  bert_accents: tokenizer(word_piece, bert({ lowercase: false, strip_accents: true, clean_text: false, handle_chinese_chars: false }), { type: 'BertPreTokenizer' }),
  bert_lower: tokenizer(word_piece, bert({ strip_accents: false }), { type: 'BertPreTokenizer' }, { truncation: { direction: 'Right', max_length: 6, strategy: 'LongestFirst', stride: 0 },
    post_processor: { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] } }),
  added: tokenizer(word_piece, bert(), { type: 'BertPreTokenizer' }, { added_tokens: several, truncation: { direction: 'Left', max_length: 9, strategy: 'OnlyFirst', stride: 1 } }),
  no_prefix: tokenizer({ ...word_piece, continuing_subword_prefix: '' }, null, { type: 'WhitespaceSplit' }),
  nothing: tokenizer(word_level, null, null),
  scripts: tokenizer(unigram(), null, sequence([{ type: 'UnicodeScripts' }, { type: 'WhitespaceSplit' }], 'pretokenizers')),
  nfd: tokenizer(word_piece, sequence([{ type: 'NFD' }, { type: 'StripAccents' }, { type: 'Lowercase' }], 'normalizers'), { type: 'Whitespace' }),
  nfc: tokenizer(word_piece, { type: 'NFC' }, { type: 'Whitespace' }),
  nfkc: tokenizer(word_piece, sequence([{ type: 'NFKC' }, { type: 'Strip', strip_left: true, strip_right: false }], 'normalizers'), { type: 'Punctuation' }),
  nfkd: tokenizer(word_piece, sequence([{ type: 'NFKD' }, { type: 'Lowercase' }, { type: 'Strip', strip_left: true, strip_right: true }], 'normalizers'), sequence([{ type: 'WhitespaceSplit' }, { type: 'Digits', individual_digits: true }], 'pretokenizers')),
  replaced: tokenizer(word_piece, sequence([{ type: 'Nmt' }, replace({ String: 'll' }, 'l'), replace({ Regex: '\\s+' }, ' '), replace({ String: '!' }, ' ! '), replace({ Regex: 'o{2,}' }, 'o')], 'normalizers'), { type: 'WhitespaceSplit' }),
  isolated: tokenizer(word_level, null, sequence([split({ String: ' ' }, 'Isolated'), { type: 'Digits', individual_digits: false }, { type: 'Punctuation', behavior: 'Contiguous' }], 'pretokenizers')),
  previous: tokenizer(word_level, null, sequence([split({ String: '-' }, 'MergedWithPrevious'), { type: 'CharDelimiterSplit', delimiter: ' ' }], 'pretokenizers')),
  next: tokenizer(word_piece, null, sequence([split({ String: '-' }, 'MergedWithNext'), split({ Regex: ' {2,}' }, 'Removed'), split({ String: 'l' }, 'Contiguous'), split({ String: 'the' }, 'Removed', true)], 'pretokenizers')),
  gpt2: tokenizer(byte_pair(), null, byte_level(), { added_tokens: [added('<|endoftext|>')], post_processor: byte_level() }),
  gpt2_space: tokenizer(byte_pair({ ignore_merges: true }), { type: 'NFC' }, byte_level({ add_prefix_space: true })),
  gpt2_whole: tokenizer(byte_pair({ merges: merges.map((m) => m.join(' ')) }), null, byte_level({ use_regex: false })),
  gpt2_normalizer: tokenizer(byte_pair(), { type: 'ByteLevel' }, { type: 'Digits', individual_digits: true }),
  llama: tokenizer(plain({ byte_fallback: true, vocab: vocab(['<unk>'], letters, bytes, ['▁', '1', '2'], plain_merges.map((m) => m.join(''))) }), sequence([{ type: 'Prepend', prepend: '▁' }, replace({ String: ' ' }, '▁')], 'normalizers'), null),
  unknown: tokenizer(plain(), null, metaspace({ prepend_scheme: 'first' })),
  fused: tokenizer(plain({ fuse_unk: true }), { type: 'Strip', strip_left: true, strip_right: true }, metaspace({ prepend_scheme: 'first' })),
  first: tokenizer(plain(), sequence([{ type: 'NFKC' }, replace({ String: 'he' }, 'el')], 'normalizers'), sequence([{ type: 'WhitespaceSplit' }, metaspace({ prepend_scheme: 'first' })], 'pretokenizers')),
  suffixed: tokenizer(suffixed, null, { type: 'WhitespaceSplit' }),
  unigram: tokenizer(unigram(), sequence([precompiled, replace({ Regex: ' {2,}' }, ' ')], 'normalizers'), metaspace(), { added_tokens: [added('<s>'), added('</s>'), added('<mask>', { lstrip: true })],
    post_processor: { type: 'RobertaProcessing', sep: ['</s>', 2], cls: ['<s>', 1], trim_offsets: true, add_prefix_space: true } }),
  unigram_first: tokenizer(unigram(), precompiled, sequence([{ type: 'WhitespaceSplit' }, metaspace({ prepend_scheme: 'first' })], 'pretokenizers'), { added_tokens: [added('<mask>')] }),
  unigram_spelled: tokenizer(unigram(), sequence([bert(), { type: 'ByteLevel' }], 'normalizers'), sequence([{ type: 'Whitespace' }, byte_level({ add_prefix_space: true, use_regex: false }), metaspace({ prepend_scheme: 'first', split: false })], 'pretokenizers')),
  overlapping: tokenizer(word_level, null, { type: 'Digits', individual_digits: true }, { added_tokens: [added('the', { rstrip: true }), added(' ', { lstrip: true, rstrip: true }), added('hello', { rstrip: true, special: false })] }),
  unigram_bytes: tokenizer(unigram({ byte_fallback: true, vocab: [...scored, ...bytes.map((b) => [b, -20])] }), null, metaspace({ split: false, prepend_scheme: 'never' })),
};

const texts = ['', ' ', 'hello world', 'Hello, World!', '  hello  world  ', 'unbelievable hellos', 'Café CAFÉ cafe\u0301', 'new york New York newyork newyorks', "it's DON'T we'll 'S 're", 'a\u0301a\u0301 \u0301a',
  '中文 hello中文', '한글 각 \u1112\u1161\u11ab \u1161\u0301 \u1100\u1161\u11a8', 'привет Й и\u0306', 'ΑΣ Σας ς', 'İI ıi Straße ẞ', 'क्ष क् त \u0915\u094d\u0924\u0301', '①②½ⅷ ﬁ Å Å 123 12 ١٢', 'x\u0000y\u0007z\u200bw\u00adv\ufeff\ufffd', 'tab\tnew\nline\r\nend\r',
  '\u3000wide\u00a0space\u2028line\u0085next', '£5 – 10% a+b=c ^_^ `$~ «q»', '[CLS] hello[SEP] [ UNK ] [UNK][UNK]', 'the <mask> day<mask>  <day>  today <mask>', 'same ##same', '<|endoftext|>hello<|endoftext|>', '<s>hello</s> <unk>', 'hello--world - the-the l-l the', 'aaaaaaaaaaa aaa aa a',
  'qqq xx qxxq hello xq', '😀👨‍👩‍👧 ❤️🇩🇪', 'ＡＢ Ａ\u0301 é', 'don\'t  stop   12345 3.14', '   ', '\n\n hello \n\n', 'hello ', ' hello', '▁hello ▁▁world ▁', 'll oo ooo ool!l!', 'this is a very long sentence without any point', 'abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrst', '\u{10ffff}\ue000\u{e0001}', 'ﷺ ẛ̣ ṩ s\u0323\u0307 s\u0307\u0323', '𐐀 Ⴀ Ა ꭰ', 'ᾳ ΐ ŉ ǰ', '\u200d\u0301 a\u200d', '\u0600a\u0301', '©\u200d©\u0301', '\u0344\u0340\u0374\u037e\u212b', 'the the\u00a0the', '###abc ##', '  Café  ', '˜x hello', '\u200bhello world', '\u200b\u200b hello', 'ﬁne ﬁne', '\u00a0x'];
const broken = ['61ff62', 'c3', 'e282', 'f09f98', 'eda080', 'c0af', 'f8888080', '68656c6c6f20e2 82'.replaceAll(' ', ''), '80bf20', 'f4908080', 'e0809f', 'f0808080', '61e28261', 'efbfbd', 'f09f9880f09f98'];
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const inputs = [...texts.map((text) => Buffer.from(text)), ...broken.map((hex) => Buffer.from(hex, 'hex'))];

const result = { texts: inputs.map((input) => input.toString('hex')), tokenizers: [] };
for (const [name, json] of Object.entries(tokenizers)) {
  const reference = Tokenizer.fromString(JSON.stringify(json));
  const ids = [];
  for (const input of inputs) ids.push((await reference.encode(decoder.decode(input))).getIds());
  result.tokenizers.push({ name, json, ids });
}
const lines = result.tokenizers.map((entry) => JSON.stringify(entry));
console.log(`{"texts":${JSON.stringify(result.texts)},\n"tokenizers":[\n${lines.join(',\n')}\n]}`);
