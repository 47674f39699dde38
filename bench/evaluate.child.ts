// Evaluates cases that do nothing with the client of this service. Arguments: the number of cases, the concurrency, and a
// directory for files. Prints the milliseconds of a run after a first one that warms up; with `memory` as a further argument,
// evaluates a CSV file once, and prints the peak of the resident memory in bytes.
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { evaluate } from '#client';

const [count, concurrency] = process.argv.slice(2, 4).map(Number) as [number, number];
const directory = process.argv[4]!;
const isMemory = process.argv[5] === 'memory';

async function writeCases(): Promise<string> {
  const file = path.join(directory, `cases-${count}.csv`);
  const stream = createWriteStream(file);
  stream.write('id,input,expected\n');
  for (let index = 0; index < count; index++) stream.write(`${index},case ${index},case ${index}\n`);
  stream.end();
  await finished(stream);
  return file;
}

async function run(name: string): Promise<number> {
  const data = isMemory
    ? await writeCases()
    : Array.from({ length: count }, (_, index) => ({
        id: String(index),
        input: `case ${index}`,
        expected: `case ${index}`,
      }));
  const startedAt = performance.now();
  const summary = await evaluate({
    name,
    data,
    task: ({ input }) => input,
    scorers: [
      function same({ output, expected }) {
        return output === expected;
      },
    ],
    concurrency,
    report: false,
    spoolDir: directory,
  });
  if (summary.cases.done !== count) throw new Error(`Only ${summary.cases.done} cases are done.`);
  return performance.now() - startedAt;
}

async function main(): Promise<void> {
  if (isMemory) {
    await run('bench');
    process.stdout.write(String(process.resourceUsage().maxRSS * 1024));
    return;
  }
  await run('warm-up');
  process.stdout.write(String(await run('bench')));
}

void main();
