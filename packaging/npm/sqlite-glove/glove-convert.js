#!/usr/bin/env node
'use strict';
const { spawnSync } = require('child_process');

function fail(error) {
  console.error(`glove-convert: ${error.message}`);
  process.exit(1);
}

let program;
try {
  program = require('./index.js').convertPath();
} catch (error) {
  fail(error);
}
const done = spawnSync(program, process.argv.slice(2), { stdio: 'inherit' });
if (done.error) fail(done.error);
if (done.signal) process.kill(process.pid, done.signal);
process.exitCode = done.status;
