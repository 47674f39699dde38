import type { Bench } from '../bench';
import { compare, timed } from '../measure';
import { datasetOf } from './records';

const RECORDS = 10_000;
const PAGE_SIZE = 500;
/** One of so many cases has no result. */
const PENDING = 1_000;

/**
 * Reads all cases of an experiment over 10,000 records, page by page, beside the list of the records, in milliseconds (a
 * ratio above 1 is slower). The experiment first has no results, and then nearly all.
 */
export async function listCases(bench: Bench): Promise<void> {
  const dataset_id = await datasetOf(bench, RECORDS);
  const body = { workspace_id: bench.scope.workspaceId, name: 'cases', dataset_id };
  const { experiment_id } = await bench.http.json<{ experiment_id: string }>(
    'POST',
    '/eval/v1/experiments',
    201,
    body,
  );
  const records = `/eval/v1/datasets/${dataset_id}/records`;
  const cases = `/eval/v1/experiments/${experiment_id}/cases`;
  const measure = async (title: string): Promise<void> => {
    const result = await compare([
      { name: 'records', measure: () => timed(() => walk(bench, records)) },
      { name: 'cases', measure: () => timed(() => walk(bench, cases)) },
      { name: 'pending', measure: () => timed(() => walk(bench, cases, '&state=pending')) },
    ]);
    bench.report(`${title}, ${RECORDS} by pages of ${PAGE_SIZE}`, 'ms', result, [
      'records',
      'cases',
      'pending cases',
    ]);
  };
  await measure('cases without results');
  await bench.direct.query(
    `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, dataset_record_id, created_at, updated_at, created_by)
     SELECT $1, 'res_' || lpad(n::text, 26, '0'), workspace_id, external_id, dataset_record_id, now(), now(), 'bench'
     FROM (SELECT *, row_number() OVER () AS n FROM records WHERE dataset_id = $2) numbered WHERE n % $3::int > 0`,
    [experiment_id, dataset_id, PENDING],
  );
  await measure('cases with results');
}

/** Reads a list to its end. */
async function walk(bench: Bench, path: string, filter = ''): Promise<void> {
  for (let cursor: string | null = ''; cursor !== null;) {
    const next: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { page } = await bench.http.json<{ page: { next_cursor: string | null } }>(
      'GET',
      `${path}?limit=${PAGE_SIZE}${filter}${next}`,
      200,
    );
    cursor = page.next_cursor;
  }
}
