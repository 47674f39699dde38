import type { Bench } from '../bench';
import { percentiles, timeCalls } from '../measure';
import { datasetOf } from './records';

const RECORDS = 100_000;
const POLL_MS = 100;

const TRACES = 1_000_000;
/** Each has as many traces. */
const USERS = 100;
const MIB = 1024 * 1024;

interface Receipt {
  erasure_id: string;
  erasure_status: string;
  counts: Record<string, number>;
}

/** Deletes a dataset of 100,000 records, and compares the time until its erasure has succeeded with one `DELETE`. */
export async function deleteDataset(bench: Bench): Promise<void> {
  const directly = await datasetOf(bench, RECORDS);
  const id = await datasetOf(bench, RECORDS);
  const before = performance.now();
  for (const table of ['record_versions', 'records', 'datasets']) {
    await bench.direct.query(`DELETE FROM ${table} WHERE dataset_id = $1`, [directly]);
  }
  const directMs = performance.now() - before;
  const path = `/eval/v1/datasets/${id}`;
  await bench.http.send('POST', `${path}/archive`, 200);
  const startedAt = performance.now();
  const { erasure_id } = await bench.http.json<Receipt>('DELETE', path, 202);
  const { records } = await receiptOf(bench, erasure_id);
  if (records !== RECORDS) throw new Error(`deleted ${records} records`);
  const ms = performance.now() - startedAt;
  bench.line(
    `a dataset of ${RECORDS} records is deleted in ${(ms / 1000).toFixed(1)} s; DELETE ${(directMs / 1000).toFixed(1)} s; ratio ${(ms / directMs).toFixed(1)}`,
  );
}

/** Waits until an erasure has succeeded, and returns its counts. */
async function receiptOf(bench: Bench, id: string): Promise<Record<string, number>> {
  for (;;) {
    const path = `/registry/v1/erasures/${id}`;
    const { erasure_status, counts } = await bench.http.json<Receipt>('GET', path, 200);
    if (erasure_status === 'succeeded') return counts;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Erases one of 100 users of a million traces, and measures the time, the memory, and the latency of others meanwhile. */
export async function eraseUser(bench: Bench): Promise<void> {
  const { direct, http, scope } = bench;
  await direct.query(
    `WITH new_trace AS (
       INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name, user_id,
                           session_id)
       SELECT $1, 'e' || lpad(to_hex(n), 31, '0'), now() - n * interval '0.8 second', now() - n * interval '0.8 second', 1, 0,
              '{}', 'answer', 'user ' || n % $3::int8, 'session ' || n / 1000 || ' ' || n % $3::int8
       FROM generate_series(1, $2::int8) n RETURNING *)
     INSERT INTO spans (workspace_id, day, trace_no, span_id, started_at, ended_at, source_id, name, kind, status_code, attributes)
     SELECT workspace_id, day, trace_no, trace_no, started_at, ended_at, '00000000-0000-0000-0000-000000000000', 'answer',
            'internal', 'unset', json_build_object('user.id', user_id, 'input.value', repeat('text ', 100))
     FROM new_trace`,
    [scope.workspaceId, TRACES, USERS],
  );
  await direct.query('VACUUM (ANALYZE) traces, spans');
  const readers = async (isOver: () => boolean): Promise<number[]> => {
    const times: number[] = [];
    const list = '/telemetry/v1/traces?limit=20';
    while (!isOver() || times.length < 500) {
      await timeCalls(20, 2, () => http.send('GET', list, 200), times);
    }
    const [p50, , p99] = percentiles(times);
    return [p50!, p99!];
  };
  const before = await readers(() => true);
  const memory = bench.watchMemory();
  const body = { subject: { kind: 'end_user', id: 'user 7' }, workspace_id: scope.workspaceId };
  const startedAt = performance.now();
  const { erasure_id } = await http.json<Receipt>('POST', '/registry/v1/erasures', 202, body);
  let isOver = false;
  const during = readers(() => isOver);
  const counts = await receiptOf(bench, erasure_id).finally(() => (isOver = true));
  const seconds = (performance.now() - startedAt) / 1000;
  const growth = (await memory.stop()) / MIB;
  if (counts.traces !== TRACES / USERS) throw new Error(`erased ${counts.traces} traces`);
  bench.line(`${counts.traces} traces of one user among ${TRACES} are erased in ${seconds.toFixed(1)} s`);
  const meanwhile = await during;
  const ratios = meanwhile.map((ms, index) => (ms / before[index]!).toFixed(2));
  bench.line(`  lists of others: median and p99 ${ratios.join(' and ')} times as long as before`);
  bench.line(`  memory: ${growth.toFixed(0)} MiB more`);
}
