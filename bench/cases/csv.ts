import { from as copyFrom } from 'pg-copy-streams';
import type { Bench } from '../bench';
import { compare, median, timeCalls } from '../measure';

const MIB = 1024 * 1024;
const FILE_BYTES = 32 * MIB;
const ROWS = 100_000;
const COLUMNS = 'id text, input text, expected text, context text';

const CLIENTS = 4;
const WARM_UP = 2_000;

/** Results per request, and requests, of {@link pinnedResults}. */
const PER_CALL = 100;
const CALLS = 60;

/** Returns a file with the maximum size and rows, and with quotes, commas and line breaks in some cells. */
function fileOf(salt: string): Buffer {
  const header = 'id,input,expected,context\r\n';
  const room = Math.floor((FILE_BYTES - header.length) / ROWS);
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const row = `case-${n},"What is ""${n}"" times 7,\nand why?",${n * 7},${salt}`;
    return `${row}${' it is found step by step.'.repeat(20)}`.slice(0, room - 2);
  });
  return Buffer.from(`${header}${rows.join('\r\n')}\r\n`);
}

async function newDataset(bench: Bench): Promise<string> {
  const body = { workspace_id: bench.scope.workspaceId, name: `csv ${Math.random()}` };
  return (await bench.http.json<{ dataset_id: string }>('POST', '/eval/v1/datasets', 201, body)).dataset_id;
}

/**
 * Ingests a file of 32 MiB and 100,000 rows as a version. The baseline is COPY of the same file into a table with its
 * columns. Also measures the memory growth of the service and the latency of other requests. In milliseconds (a ratio above
 * 1 is slower).
 */
export async function csvIngest(bench: Bench): Promise<void> {
  const datasetId = await newDataset(bench);
  const upload = (file: Buffer) =>
    bench.http.send('POST', `/eval/v1/datasets/${datasetId}/versions`, 201, file, 'text/csv');
  const read = () => bench.http.send('GET', `/eval/v1/datasets/${datasetId}`, 200);
  // warms up, because the memory of a serving process grows even without a file
  await timeCalls(WARM_UP, CLIENTS, read);
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
        const memory = bench.watchMemory();
        const startedAt = performance.now();
        const uploading = upload(file).then(() => performance.now() - startedAt);
        let isOver = false;
        void uploading.finally(() => (isOver = true));
        while (!isOver) {
          const readAt = performance.now();
          await read();
          if (round > 0) waits.push(performance.now() - readAt);
        }
        growths.push(await memory.stop());
        return uploading;
      },
    },
  ]);
  bench.report('CSV version of 32 MiB and 100,000 rows, against COPY of the file', 'ms', result, [
    'COPY',
    'service',
  ]);
  const mib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;
  const worst = Math.max(...waits).toFixed(0);
  bench.line(
    `  latency of other requests: median ${median(waits).toFixed(1)} ms, worst ${worst} ms of ${waits.length}`,
  );
  bench.line(`  peak memory growth of the service per file: ${growths.map(mib).join(', ')}`);
}

/** Returns the values of a case. A result with them is about 1 KB of JSON. */
const valuesOf = (caseId: string): object => ({
  input: { question: `${'What is the sum of these numbers? '.repeat(8)}${caseId}` },
  expected: { answer: 'e'.repeat(50) },
});

const resultOf = (caseId: string, sendsValues: boolean): object => ({
  case_id: caseId,
  ...(sendsValues && valuesOf(caseId)),
  output: { text: 'The sum is found step by step. '.repeat(13), tokens: 120 },
  scores: { correct: 1, similarity: 0.5 },
  duration_ms: 12.5,
});

/**
 * Writes results in bulk for cases of a pinned CSV version of 100,000 rows, with and without the values of the cases. The
 * baseline is an experiment without a dataset.
 */
export async function pinnedResults(bench: Bench): Promise<void> {
  const datasetId = await newDataset(bench);
  await bench.http.send('POST', `/eval/v1/datasets/${datasetId}/versions`, 201, fileOf('p'), 'text/csv');
  const { workspaceId: workspace_id } = bench.scope;
  const pinned = { dataset_id: datasetId, dataset_version: 1 };
  const measure = (fields: object, sendsValues: boolean) => async (): Promise<number> => {
    const body = { workspace_id, name: 'bench', ...fields };
    const { experiment_id: id } = await bench.http.json<{ experiment_id: string }>(
      'POST',
      '/eval/v1/experiments',
      201,
      body,
    );
    const bodies = Array.from({ length: CALLS }, (_, call) => {
      const items = Array.from({ length: PER_CALL }, (__, n) =>
        resultOf(`case-${(call * PER_CALL + n) * 7}`, sendsValues),
      );
      return JSON.stringify({ workspace_id, items });
    });
    const path = `/eval/v1/experiments/${id}/results/bulk`;
    const send = (call: number) => bench.http.send('POST', path, 207, bodies[call]);
    return (CALLS * PER_CALL * 1000) / (await timeCalls(CALLS, CLIENTS, send));
  };
  const result = await compare([
    { name: 'unpinned', measure: measure({}, true) },
    { name: 'with the values', measure: measure(pinned, true) },
    { name: 'without the values', measure: measure(pinned, false) },
  ]);
  const title = `bulk results of a pinned CSV version, ${PER_CALL} of 1 KB a call, ${CLIENTS} clients`;
  bench.report(title, 'results/s', result, ['unpinned', 'with the values', 'without the values']);
}
