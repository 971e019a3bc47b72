// node full-model.js IN.json OUT.txt: converts the JSON of the package to GloVe text, one line "word v1 ... v100" per word,
// in the order of the package (by decreasing frequency, as in GloVe). It drops the numbers after the first 100 of a word,
// which the package has added.
const fs = require('fs');

const [input, output] = process.argv.slice(2);
const model = JSON.parse(fs.readFileSync(input, 'utf8'));
const file = fs.openSync(output, 'w');
let lines = [];
for (const word of model.words) {
  lines.push(word + ' ' + model.vectors[word].slice(0, 100).join(' ') + '\n');
  if (lines.length === 5000) {
    fs.writeSync(file, lines.join(''));
    lines = [];
  }
}
fs.writeSync(file, lines.join(''));
fs.closeSync(file);
