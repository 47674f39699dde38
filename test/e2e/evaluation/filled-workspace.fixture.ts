import type { TestApp } from '#testing';
import { EvaluationWorkspace } from './evaluation.harness';
import { fillResultScores } from './result-scores.fixture';

/** A trace with as many spans as there are traces. Each span has its own resource. */
export const LARGE_TRACE = '5'.padStart(32, '0');
/** A session that as many results reference. */
export const SHARED_SESSION = 'shared';

const ID = `lpad(n::text, 26, '0')`;
const TRACE_ID = `lpad(to_hex(n), 32, '0')`;

const CHECKS = { checks: [{ type: 'equals' }] };
const SOURCE = `{"attributes": {}, "dropped_attributes_count": 0, "schema_url": ""}`;
const LIBRARY = `{"name": "s", "version": "", "attributes": {}, "dropped_attributes_count": 0, "schema_url": ""}`;

/** A workspace with many objects of each kind, which are inserted directly into the tables. */
export interface FilledWorkspace {
  space: EvaluationWorkspace;
  /** A running experiment with results that reference each trace and its session. The baseline is like it. */
  experimentId: string;
  baselineId: string;
  datasetId: string;
  scorers: Record<'code' | 'other' | 'human', string>;
}

export const externalId = (n: number): string => `e${n}`;
/** @param ids prefix of the ids, unique per dataset */
export const recordId = (ids: string, n: number): string => `rec_${ids}${String(n).padStart(26, '0')}`;

/** Inserts the records 1 to `count` of a dataset directly into the tables. */
export async function fillRecords(
  app: TestApp,
  { id }: EvaluationWorkspace,
  datasetId: string,
  count: number,
  ids: string,
): Promise<void> {
  await app.database.query(
    `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, tags, external_id,
                          created_revision, created_by, updated_at, search)
     SELECT 'rec_' || $3 || ${ID}, $4, $1, 'ver_' || $3 || n, to_json('question ' || n), '{t}', 'e' || n, 1, 'test', now(),
            record_words('{}', NULL, to_json('question ' || n))
     FROM generate_series(1, $2::int) n`,
    [id, count, ids, datasetId],
  );
  await app.database.query(
    `INSERT INTO record_versions (dataset_record_id, version, version_id, dataset_id, workspace_id, revision, input, metadata,
                                  tags, source_kind, created_by)
     SELECT dataset_record_id, version, version_id, dataset_id, workspace_id, 1, input, metadata, tags, source_kind, 'test'
     FROM records WHERE dataset_id = $1`,
    [datasetId],
  );
}

/** Creates a filled workspace. @param name prefix of the ids, unique among workspaces of the same size */
export async function filledWorkspace(app: TestApp, count: number, name = ''): Promise<FilledWorkspace> {
  const space = await EvaluationWorkspace.open(app);
  const baselineId = (await space.experiment()).experiment_id;
  const experimentId = (await space.experiment({ baseline_experiment_id: baselineId })).experiment_id;
  const sharedId = (await space.experiment()).experiment_id;
  const datasetId = (await space.dataset()).dataset_id;
  const scorer = async (called: string, scorer_kind: string, definition: object): Promise<string> => {
    const fields = { name: called, scorer_kind, definition };
    return (await space.post<{ scorer_id: string }>('/eval/v1/scorers', fields)).body.scorer_id;
  };
  const scorers = {
    code: await scorer('code', 'code', CHECKS),
    other: await scorer('other', 'code', CHECKS),
    human: await scorer('human', 'human', { rubric: 'Kind?', output: { type: 'boolean' } }),
  };
  /** Executes a statement. `$1` is the workspace, `$2` the count, and `$3` the prefix of ids. */
  const fill = (statement: string, ...values: unknown[]) =>
    app.database.query(statement, [space.id, count, `${name}${count}_`, ...values]);
  const rows = `FROM generate_series(1, $2::int) n WHERE $3::text IS NOT NULL`;

  await fill(`
    INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name, session_id)
    SELECT $1, ${TRACE_ID}, now() - n * interval '1 s', now(), 1, 0, '{m}', 'root ' || n, 'ses ' || n ${rows}`);
  await fill(`
    INSERT INTO trace_sessions (workspace_id, session_id, last_started_at)
    SELECT $1, 'ses ' || n, now() - n * interval '1 s' ${rows}`);
  await fill(
    `INSERT INTO trace_models (workspace_id, trace_id, model, input_tokens) SELECT $1, ${TRACE_ID}, 'm', n ${rows}`,
  );
  await fill(`INSERT INTO span_sources (workspace_id, source_id, resource, scope)
    SELECT $1, md5(n::text)::uuid, '${SOURCE}', '${LIBRARY}' ${rows}`);
  await fill(`
    INSERT INTO spans (workspace_id, day, trace_no, span_id, name, kind, status_code, started_at, ended_at, source_id, attributes)
    SELECT workspace_id, day, trace_no, n, 'span', 'internal', 'ok', now() + n * interval '1 ms', now(),
           md5(n::text)::uuid, '{}' FROM traces, generate_series(1, $2::int) n
    WHERE workspace_id = $1 AND trace_id = '${LARGE_TRACE}' AND $3::text IS NOT NULL`);
  const named = [baselineId, experimentId, sharedId].map((id) => [id, id === sharedId] as const);
  for (const [side, [id, isShared]] of named.entries()) {
    await fill(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, trace_id, session_id, output, created_at, updated_at, created_by)
       SELECT $4, 'res_' || $3 || $5::text || ${ID}, $1, 'case ' || n,
              CASE WHEN $6 THEN NULL ELSE ${TRACE_ID} END, CASE WHEN $6 THEN '${SHARED_SESSION}' ELSE 'ses ' || n END,
              to_json('answer ' || n), now(), now(), 'test' ${rows}`,
      ...[id, `${side}`, isShared],
    );
    await fillResultScores(app.database, id, {
      scores: `jsonb_build_object('code', n % 2, 'other', n % 3)`,
      details: `jsonb_build_object('code', jsonb_build_object('scorer_id', '${scorers.code}', 'scorer_version', 1),
                                   'other', jsonb_build_object('scorer_id', '${scorers.other}', 'scorer_version', 1))`,
    });
  }
  await fill(
    `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source, target_kind,
                         trace_id, score, output_sha256, min_annotations, created_at, created_by)
     SELECT 'score_' || $3 || ${ID}, $1, $4, 1, 'human', 'human', 'human', 'trace', ${TRACE_ID}, 1, 'o', 1, now(),
            'usr_' || n ${rows}`,
    scorers.human,
  );
  await fillRecords(app, space, datasetId, count, `${name}${count}_`);
  await fill(`
    INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, experiment_status, created_by, updated_at)
    SELECT 'exp_' || $3 || ${ID}, $1, 'many', 'many', 'completed', 'test', now() ${rows}`);
  await fill(`INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean)
    SELECT $1, 'exp_' || $3 || ${ID}, 's', n ${rows}`);
  // Runs have a hundred targets, and half of the targets were scored.
  await fill(
    `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                             concurrency, total, created_at, updated_at, created_by)
     SELECT 'run_' || $3 || n, 'org', $1, $4, 1, 'trace', CASE WHEN n % 2 = 0 THEN 'succeeded' ELSE 'running' END, 4, 100,
            now(), now(), 'test' FROM generate_series(0, $2::int / 100) n`,
    scorers.code,
  );
  await fill(`INSERT INTO score_targets (score_run_id, ordinal, trace_id)
    SELECT 'run_' || $3 || n / 100, n % 100, ${TRACE_ID} ${rows} AND $1::text IS NOT NULL`);
  await fill(
    `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                  target_id, elapsed_ms)
     SELECT 'run_' || $3 || n / 100, n % 100, 'score_run_' || $3 || n, $1, $4, 1, 'trace', ${TRACE_ID}, 1
     ${rows} AND n % 2 = 0`,
    scorers.code,
  );
  await fill(
    `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source, target_kind,
                         trace_id, score, score_run_id, created_at, created_by)
     SELECT 'score_run_' || $3 || n, $1, $4, 1, 'code', 'code', 'hosted', 'trace', ${TRACE_ID}, 1,
            'run_' || $3 || n / 100, now(), 'test' ${rows} AND n % 2 = 0`,
    scorers.code,
  );
  return { space, experimentId, baselineId, datasetId, scorers };
}
