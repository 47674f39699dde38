import type { Bench } from '../bench';
import { datasetOf } from './records';

const RECORDS = 100_000;
const POLL_MS = 100;

/** Deletes a dataset of 100,000 records, and measures the time until its erasure has succeeded. */
export async function deleteDataset(bench: Bench): Promise<void> {
  const id = await datasetOf(bench, RECORDS);
  const path = `/eval/v1/datasets/${id}`;
  await bench.http.send('POST', `${path}/archive`, 200);
  const startedAt = performance.now();
  const erasure = await bench.http.json<{ erasure_id: string }>('DELETE', path, 202);
  for (;;) {
    const receipt = await bench.http.json<{ erasure_status: string; counts: Record<string, number> }>(
      'GET',
      `/registry/v1/erasures/${erasure.erasure_id}`,
      200,
    );
    if (receipt.erasure_status === 'succeeded') {
      if (receipt.counts.records !== RECORDS) throw new Error(`deleted ${receipt.counts.records} records`);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  bench.line(`a dataset of ${RECORDS} records is deleted in ${seconds.toFixed(1)} s`);
}
