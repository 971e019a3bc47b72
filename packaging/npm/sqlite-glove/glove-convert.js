#!/usr/bin/env node
'use strict';
const { spawnSync } = require('child_process');
const done = spawnSync(require('./index.js').convertPath(), process.argv.slice(2), { stdio: 'inherit' });
if (done.error) throw done.error;
if (done.signal) process.kill(process.pid, done.signal);
process.exitCode = done.status;
