import { readFileSync } from 'node:fs';
import { from as copyFrom } from 'pg-copy-streams';
import type { Bench } from '../bench';
import { compare, median, timeCalls } from '../measure';

const MIB = 1024 * 1024;
const FILE_BYTES = 32 * MIB;
const ROWS = 100_000;
const COLUMNS = 'id text, question text, answer text, context text';

const CLIENTS = 4;
const WARM_UP = 2_000;

/** Pinned against unpinned results. */
const PER_CALL = 100;
const CALLS = 60;

/** A file of the largest size with the most rows: quotes, commas and line breaks in some of its cells. */
function fileOf(salt: string): Buffer {
  const header = 'id,question,answer,context\r\n';
  const room = Math.floor((FILE_BYTES - header.length) / ROWS);
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const row = `case-${n},"What is ""${n}"" times 7,\nand why?",${n * 7},${salt}`;
    return `${row}${' it is found step by step.'.repeat(20)}`.slice(0, room - 2);
  });
  return Buffer.from(`${header}${rows.join('\r\n')}\r\n`);
}

/** What the service's process holds in memory, in MiB; known on Linux. */
function memoryOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  } catch {
    return NaN;
  }
}

async function newDataset(bench: Bench): Promise<string> {
  const body = { workspace_id: bench.scope.workspaceId, name: `csv ${Math.random()}` };
  return (await bench.http.json<{ dataset_id: string }>('POST', '/eval/v1/datasets', 201, body)).dataset_id;
}

/**
 * A file of 32 MiB and 100,000 rows as a version, against COPY of the same file into a table of its columns; with what
 * the service's process grows by, and what others wait for theirs meanwhile. Milliseconds: a ratio above 1 is slower.
 */
export async function csvIngest(bench: Bench): Promise<void> {
  const datasetId = await newDataset(bench);
  const upload = (file: Buffer) =>
    bench.http.send('POST', `/eval/v1/datasets/${datasetId}/versions`, 201, file, 'text/csv');
  const read = () => bench.http.send('GET', `/eval/v1/datasets/${datasetId}`, 200);
  // what a process that serves takes anyway is not what a file makes it take
  await timeCalls(WARM_UP, CLIENTS, read);
  const idle = memoryOf(bench.servicePid);
  const growths: number[] = [];
  const waits: number[] = [];
  const result = await compare([
    {
      name: 'COPY',
      measure: async (round) => {
        const file = fileOf(`c${round}`);
        await bench.direct.query(`CREATE TABLE bench_rows (${COLUMNS}, PRIMARY KEY (id))`);
        const startedAt = performance.now();
        await bench.direct.copy(copyFrom('COPY bench_rows FROM STDIN (FORMAT csv, HEADER)'), file);
        const ms = performance.now() - startedAt;
        await bench.direct.query('DROP TABLE bench_rows');
        return ms;
      },
    },
    {
      name: 'service',
      measure: async (round) => {
        const file = fileOf(`s${round}`);
        const before = memoryOf(bench.servicePid);
        let most = before;
        const startedAt = performance.now();
        const uploading = upload(file).then(() => performance.now() - startedAt);
        let isOver = false;
        void uploading.finally(() => (isOver = true));
        while (!isOver) {
          const askedAt = performance.now();
          await read();
          if (round > 0) waits.push(performance.now() - askedAt);
          most = Math.max(most, memoryOf(bench.servicePid));
        }
        growths.push(most - before);
        return uploading;
      },
    },
  ]);
  bench.report('CSV version of 32 MiB and 100,000 rows, against COPY of the file', 'ms', result, [
    'COPY',
    'service',
  ]);
  const mib = (value: number): string => `${value.toFixed(0)} MiB`;
  const worst = Math.max(...waits).toFixed(0);
  bench.line(
    `  another request meanwhile: median ${median(waits).toFixed(1)} ms, worst ${worst} ms of ${waits.length}`,
  );
  bench.line(
    `  memory of the service: ${mib(idle)} before; each file makes it grow by ${growths.map(mib).join(', ')}; ${mib(memoryOf(bench.servicePid))} after`,
  );
}

/** About 1 KB of JSON. */
const resultOf = (caseId: string): object => ({
  case_id: caseId,
  input: { question: `${'What is the sum of these numbers? '.repeat(8)}${caseId}` },
  expected: { answer: 'e'.repeat(50) },
  output: { text: 'The sum is found step by step. '.repeat(13), tokens: 120 },
  scores: { correct: 1, similarity: 0.5 },
  duration_ms: 12.5,
});

/** Results in bulk, of cases that are in a pinned CSV version of 100,000 rows, against an experiment without dataset. */
export async function pinnedResults(bench: Bench): Promise<void> {
  const datasetId = await newDataset(bench);
  await bench.http.send('POST', `/eval/v1/datasets/${datasetId}/versions`, 201, fileOf('p'), 'text/csv');
  const { workspaceId: workspace_id } = bench.scope;
  const measure = (fields: object) => async (): Promise<number> => {
    const body = { workspace_id, name: 'bench', ...fields };
    const { experiment_id: id } = await bench.http.json<{ experiment_id: string }>(
      'POST',
      '/eval/v1/experiments',
      201,
      body,
    );
    const bodies = Array.from({ length: CALLS }, (_, call) => {
      const items = Array.from({ length: PER_CALL }, (__, n) =>
        resultOf(`case-${(call * PER_CALL + n) * 7}`),
      );
      return JSON.stringify({ workspace_id, items });
    });
    const path = `/eval/v1/experiments/${id}/results/bulk`;
    const send = (call: number) => bench.http.send('POST', path, 207, bodies[call]);
    return (CALLS * PER_CALL * 1000) / (await timeCalls(CALLS, CLIENTS, send));
  };
  const result = await compare([
    { name: 'unpinned', measure: measure({}) },
    { name: 'pinned', measure: measure({ dataset_id: datasetId, dataset_version: 1 }) },
  ]);
  const title = `bulk results of a pinned CSV version, ${PER_CALL} of 1 KB a call, ${CLIENTS} clients`;
  bench.report(title, 'results/s', result, ['unpinned', 'pinned']);
}
