import { firstIdAt } from '#platform/ids';
import { DatasetRepository } from '../../src/evaluation/datasets/datasets/dataset.repository';
import { ExperimentRepository } from '../../src/evaluation/experiments/experiments/experiment.repository';
import { RecordExportRepository } from '../../src/evaluation/datasets/transfer/record-export.repository';
import { RecordWriteRepository } from '../../src/evaluation/datasets/records/record-write.repository';
import { RecordRepository } from '../../src/evaluation/datasets/records/record.repository';
import { newRow } from '../../src/evaluation/datasets/records/record-content';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const RECORDS = 100_000;
const IMPORTED = 20_000;
const CLIENTS = 4;
const PAGES = 40;
const PAGE_SIZE = 50;
const MIB = 1024 * 1024;

/** A dataset of records of about 1 KB, made by PostgreSQL itself. */
async function datasetOf(bench: Bench, count: number): Promise<string> {
  const dataset_id = await emptyDataset(bench);
  const content = `json_build_object('question', 'q' || n || repeat(' what is it?', 40)),
    json_build_object('answer', repeat('it is found step by step. ', 15)), json_build_object('row', n), ARRAY['bench'],
    'l' || n % 1000, 'c' || n % 10, 'manual', NULL, $1 || n`;
  const columns = 'input, expected, metadata, tags, label, category, source_kind, source_ref, external_id';
  const id = `'rec_' || substr(md5($1), 1, 12) || lpad(n::text, 14, '0')`;
  await bench.direct.query(
    `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version, version_id, ${columns}, created_revision, created_by)
     SELECT ${id}, $1, $2, 1, 'ver_' || n, ${content}, 2, 'bench' FROM generate_series(1, $3::int) n`,
    [dataset_id, bench.scope.workspaceId, count],
  );
  await bench.direct.query(
    `INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, ${columns}, revision, created_by)
     SELECT dataset_record_id, dataset_id, workspace_id, 1, version_id, ${columns}, 2, 'bench' FROM records WHERE dataset_id = $1`,
    [dataset_id],
  );
  await bench.direct.query('UPDATE datasets SET revision = 2, record_count = $2 WHERE dataset_id = $1', [
    dataset_id,
    count,
  ]);
  await bench.direct.query('VACUUM (ANALYZE) records, record_versions, datasets');
  return dataset_id;
}

/** A page of 50 of 100,000 records: the first, one found by words, and one of a label. */
export async function listRecords(bench: Bench): Promise<void> {
  const id = await datasetOf(bench, RECORDS);
  const records = new RecordRepository(bench.direct.database);
  const pages: [string, Record<string, string>][] = [
    ['first page', {}],
    ['page by label', { label: 'l7' }],
    ['page by words', { q: 'q777 what' }],
  ];
  for (const [title, query] of pages) {
    const parameters = new URLSearchParams({ limit: String(PAGE_SIZE), ...query }).toString();
    await comparePages(bench, `${title} of ${RECORDS} records`, {
      direct: () => records.list(bench.scope, id, { limit: PAGE_SIZE, ...query }),
      service: () => bench.http.send('GET', `/eval/v1/datasets/${id}/records?${parameters}`, 200),
    });
  }
}

/** Searches among 100,000 datasets and 100,000 experiments. */
export async function search(bench: Bench): Promise<void> {
  await fillSearched(bench);
  const datasets = new DatasetRepository(bench.direct.database);
  const experiments = new ExperimentRepository(bench.direct.database);
  for (const body of [{ metadata: { team: 'team 7' } }, { tags: ['t7', 'all'], sort: 'name' }]) {
    await comparePages(bench, `search of ${RECORDS} datasets by ${JSON.stringify(body)}`, {
      direct: () => datasets.list(bench.scope, { limit: PAGE_SIZE, ...body }),
      service: () => bench.http.json('POST', '/eval/v1/datasets/search', 200, { limit: PAGE_SIZE, ...body }),
    });
  }
  for (const body of [
    { config: { model: 'm7' }, experiment_status: 'completed' as const },
    { score: { scorer: 'exact', gte: 0.999 } },
    { score: { scorer: 'exact', gte: 0.5 } },
    { created_before: new Date(Date.now() - 86_400_000).toISOString() },
  ]) {
    const title = JSON.stringify(body).replace(/"2.*"/, '"yesterday"');
    await comparePages(bench, `search of ${RECORDS} experiments by ${title}`, {
      direct: () => experiments.list(bench.scope, { limit: PAGE_SIZE, ...body }),
      service: () =>
        bench.http.json('POST', '/eval/v1/experiments/search', 200, { limit: PAGE_SIZE, ...body }),
    });
  }
}

async function fillSearched({ direct, scope }: Bench): Promise<void> {
  const common = `'team ' || n % 1000`;
  const times = Array.from({ length: RECORDS }, (_, n) => Date.now() - (RECORDS - n) * 60_000);
  await direct.query(
    `INSERT INTO datasets (dataset_id, workspace_id, name, metadata, tags, created_by)
     SELECT 'ds_' || lpad(n::text, 26, '0'), $1, 'searched ' || n, json_build_object('team', ${common}, 'stage', 'final'),
            ARRAY['t' || n % 1000, 'all'], 'bench'
     FROM generate_series(1, $2::int) n`,
    [scope.workspaceId, RECORDS],
  );
  await direct.query(
    `INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, config, config_pairs, metadata, tags,
                              experiment_status, created_by, created_at)
     SELECT made.id, $1, 'searched ' || n % 1000, 'run ' || n,
            json_build_object('model', 'm' || n % 1000), ARRAY['model:m' || n % 1000],
            json_build_object('team', ${common}), ARRAY['t' || n % 1000], 'completed', 'bench',
            to_timestamp(made.time / 1000)
     FROM unnest($2::text[], $3::float8[]) WITH ORDINALITY AS made (id, time, n)`,
    [scope.workspaceId, times.map((time) => firstIdAt('exp', time)), times],
  );
  await direct.query(
    `INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
     SELECT workspace_id, experiment_id, scorer, random() FROM experiments
     CROSS JOIN unnest(ARRAY['exact', 'tone']) AS scorer WHERE name LIKE 'searched %'`,
  );
  await direct.query('VACUUM (ANALYZE) datasets, experiments, experiment_scores');
}

/** Exports of 100,000 records, and how much more memory the service holds meanwhile. */
export async function exportRecords(bench: Bench): Promise<void> {
  const id = await datasetOf(bench, RECORDS);
  const records = new RecordExportRepository(bench.direct.database);
  const route = `/eval/v1/datasets/${id}/records/export`;
  for (const format of ['jsonl', 'csv']) {
    let bytes = 0;
    let grown = 0;
    const result = await compare([
      {
        name: 'direct',
        measure: async () => {
          const startedAt = performance.now();
          let count = 0;
          for await (const batch of records.batches(bench.scope, { datasetId: id, revision: 2 }))
            count += batch.length;
          if (count !== RECORDS) throw new Error(`${count} records instead of ${RECORDS}`);
          return (RECORDS * 1000) / (performance.now() - startedAt);
        },
      },
      {
        name: 'service',
        measure: async (round) => {
          const startedAt = performance.now();
          const watched = bench.watchMemory();
          bytes = await bench.http.download(`${route}?format=${format}`);
          const rate = (RECORDS * 1000) / (performance.now() - startedAt);
          const more = await watched.stop();
          if (round > 0) grown = Math.max(grown, more);
          return rate;
        },
      },
    ]);
    bench.report(`export of ${RECORDS} records as ${format}`, 'records/s', result);
    bench.line(
      `  ${(bytes / MIB).toFixed(1)} MiB sent; memory grew by ${(grown / MIB).toFixed(1)} MiB at most`,
    );
  }
}

/** Imports of JSON Lines in one transaction, against the statements that write them alone: no reading, no checks. */
export async function importRecords(bench: Bench): Promise<void> {
  const lines = Array.from({ length: IMPORTED }, (_, n) => ({
    input: { question: `q${n} ${words(60)}` },
    expected: { answer: words(60) },
    metadata: { row: n },
    tags: ['bench'],
    label: `l${n % 1000}`,
    category: null,
    source_kind: 'manual',
    source_ref: null,
    external_id: `e${n}`,
  }));
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const imports = new RecordWriteRepository();
  let grown = 0;
  const result = await compare([
    {
      name: 'direct',
      measure: async () => {
        const id = await emptyDataset(bench);
        const startedAt = performance.now();
        await bench.direct.transaction(async (tx) => {
          for (let at = 0; at < lines.length; at += 500) {
            const rows = lines.slice(at, at + 500).map(newRow);
            await imports.insert(tx, bench.scope, { datasetId: id, revision: 2, at: new Date() }, rows);
          }
        });
        return (IMPORTED * 1000) / (performance.now() - startedAt);
      },
    },
    {
      name: 'service',
      measure: async (round) => {
        const id = await emptyDataset(bench);
        const startedAt = performance.now();
        const watched = bench.watchMemory();
        await bench.http.send(
          'POST',
          `/eval/v1/datasets/${id}/records/import`,
          200,
          body,
          'application/jsonl',
        );
        const rate = (IMPORTED * 1000) / (performance.now() - startedAt);
        const more = await watched.stop();
        if (round > 0) grown = Math.max(grown, more);
        return rate;
      },
    },
  ]);
  bench.report(`import of ${IMPORTED} records as JSON Lines`, 'records/s', result);
  bench.line(
    `  ${(body.length / MIB).toFixed(1)} MiB sent; memory grew by ${(grown / MIB).toFixed(1)} MiB at most`,
  );
}

/** Words as often as in texts: a few very often, most of them seldom. */
const words = (count: number): string =>
  Array.from({ length: count }, () => `w${Math.floor(30_000 * Math.random() ** 4)}`).join(' ');

async function emptyDataset(bench: Bench): Promise<string> {
  const body = { workspace_id: bench.scope.workspaceId, name: `bench ${Date.now()} ${Math.random()}` };
  return (await bench.http.json<{ dataset_id: string }>('POST', '/eval/v1/datasets', 201, body)).dataset_id;
}

async function comparePages(
  bench: Bench,
  title: string,
  sides: { direct: () => Promise<unknown>; service: () => Promise<unknown> },
): Promise<void> {
  const perSecond = (call: () => Promise<unknown>) => async () =>
    (PAGES * 1000) / (await timeCalls(PAGES, CLIENTS, call));
  const result = await compare([
    { name: 'direct', measure: perSecond(sides.direct) },
    { name: 'service', measure: perSecond(sides.service) },
  ]);
  bench.report(`${title}, ${CLIENTS} clients`, 'requests/s', result);
}
