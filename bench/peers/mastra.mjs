// Runs cases that do nothing with the runner of Mastra, which stores no results. Prints the milliseconds of a run after a
// first one that warms up.
import { createScorer, runEvals } from '@mastra/core/evals';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { z } from 'zod';

const [cases, concurrency] = process.argv.slice(2).map(Number);
const schema = z.object({ text: z.string() });
const types = { inputSchema: schema, outputSchema: schema };
const echo = createStep({ id: 'echo', ...types, execute: async ({ inputData }) => inputData });
const target = createWorkflow({ id: 'task', ...types })
  .then(echo)
  .commit();
const same = createScorer({ id: 'same', description: 'same' }).generateScore(({ run }) =>
  run.output.text === run.groundTruth.text ? 1 : 0,
);
const data = Array.from({ length: cases }, (_, index) => {
  const value = { text: `case ${index}` };
  return { input: value, groundTruth: value };
});
const run = () => runEvals({ data, target, scorers: { workflow: [same] }, concurrency });
await run();
const startedAt = performance.now();
await run();
process.stdout.write(String(performance.now() - startedAt), () => process.exit());
