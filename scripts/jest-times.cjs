// A reporter of jest that prints where the time of a run went. With CHECK_TIMES=1, the run fails if a file takes longer than
// LIMIT_SECONDS and is not in test/long-files.json, which gives the reason for each file. Otherwise this is only printed, so
// that a slow machine fails nothing.
const path = require('node:path');

const LIMIT_SECONDS = 20;
const SHOWN = 20;
const REASONS = path.resolve(__dirname, '../test/long-files.json');

module.exports = class {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_, { testResults, startTime }) {
    const files = testResults
      .map(({ testFilePath, perfStats, testResults: tests }) => ({
        name: path.relative(path.join(this.rootDir, 'dist'), testFilePath).replace(/\.js$/, '.ts'),
        seconds: (perfStats.end - perfStats.start) / 1000,
        inTests: tests.reduce((sum, { duration }) => sum + (duration ?? 0), 0) / 1000,
      }))
      .sort((a, b) => b.seconds - a.seconds);
    if (files.length < 2) return;
    const lines = files
      .slice(0, SHOWN)
      .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${name}`);
    const sum = (valueOf) => files.reduce((total, file) => total + valueOf(file), 0).toFixed(0);
    const outside = sum(({ seconds, inTests }) => Math.max(0, seconds - inTests));
    print(
      `Longest files:\n${lines.join('\n')}\n` +
        `All ${files.length} files: ${sum(({ seconds }) => seconds)} s, of which ${outside} s outside of tests ` +
        `(starting and stopping applications, hooks). The run: ${((Date.now() - startTime) / 1000).toFixed(0)} s.`,
    );
    if (process.env.TEST_HEAVY !== '1') this.check(files);
  }

  check(files) {
    const reasons = require(REASONS);
    const isChecked = process.env.CHECK_TIMES === '1';
    const long = files.filter(({ name, seconds }) => seconds > LIMIT_SECONDS && !(name in reasons));
    if (long.length === 0) return;
    const names = long.map(({ name }) => name).join(', ');
    const message = `These files take more than ${LIMIT_SECONDS} s and have no reason in test/long-files.json: ${names}`;
    if (isChecked) this.error = new Error(message);
    print(message);
  }

  getLastError() {
    return this.error;
  }
};

function print(text) {
  process.stderr.write(`\n${text}\n`);
}
