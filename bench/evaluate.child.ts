// Evaluates the cases of a CSV file, which do nothing, with the client of this service. Arguments: the number of cases, the
// concurrency, and a directory for files. Prints the milliseconds of a run after a first one that warms up; with `memory` as
// a further argument, the peak of the resident memory of one run in bytes.
import { createWriteStream, existsSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { evaluate } from '#client';

const [count, concurrency] = process.argv.slice(2, 4).map(Number) as [number, number];
const [directory, mode] = process.argv.slice(4) as [string, string?];
const file = path.join(directory, `cases-${count}.csv`);

async function writeCases(): Promise<void> {
  const stream = createWriteStream(file);
  stream.write('id,input,expected\n');
  for (let index = 0; index < count; index++) stream.write(`${index},case ${index},case ${index}\n`);
  stream.end();
  await finished(stream);
}

async function run(): Promise<number> {
  const startedAt = performance.now();
  const { cases, scores } = await evaluate({
    name: `bench ${count}`,
    data: file,
    task: ({ input }: { input: string }) => input,
    scorers: [{ name: 'same', score: ({ output, expected }) => output === expected }],
    concurrency,
    report: false,
    spoolDir: directory,
  });
  if (cases.done !== count || scores['same']?.mean !== 1) throw new Error('Not all cases are done.');
  return performance.now() - startedAt;
}

async function main(): Promise<void> {
  if (!existsSync(file)) await writeCases();
  await run();
  const printed = mode === 'memory' ? process.resourceUsage().maxRSS * 1024 : await run();
  process.stdout.write(String(printed));
}

void main();
