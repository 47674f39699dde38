// Runs cases that do nothing with the runner of promptfoo, which keeps the results in memory. Prints the milliseconds of a run
// after a first one that warms up.
import promptfoo from 'promptfoo';

const [cases, concurrency] = process.argv.slice(2).map(Number);
console.log = console.info = () => undefined; // its log
const tests = Array.from({ length: cases }, (_, index) => {
  const text = `case ${index}`;
  return { vars: { text }, assert: [{ type: 'equals', value: text }] };
});
const suite = {
  prompts: ['{{text}}'],
  providers: [async (prompt) => ({ output: prompt })],
  tests,
  writeLatestResults: false,
};
const run = () =>
  promptfoo.evaluate(suite, { maxConcurrency: concurrency, cache: false, showProgressBar: false });
await run();
const startedAt = performance.now();
await run();
process.stdout.write(`\n${performance.now() - startedAt}`, () => process.exit());
