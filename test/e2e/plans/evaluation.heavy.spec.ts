import { fillResultScores } from '../evaluation/result-scores.fixture';
import { idOf, inEach, LATER, MANY, named, rarely } from './row-copies';
import { describeLists, type RowCopies, type Seeds } from './lists.harness';

const SINCE = ['2020-01-01T00:00:00Z'];
const UNTIL = ['2100-01-01T00:00:00Z'];
const TAGS = rarely("ARRAY['seldom']", "ARRAY['often']");
const WORD = rarely("'rare'", "'common'");
const TRACE_ID = `lpad(to_hex(n), 32, '0')`;
/** The id of one of a few traces. */
const FEW_TRACES = `lpad(to_hex(n % 700 + 1), 32, '0')`;
const SCORES = { scores: `jsonb_build_object('first', n % 3)` };

const copiesOf = (seeds: Seeds, baseline: string): RowCopies[] => [
  ...inEach(seeds, 'datasets', 'dataset_id', {
    dataset_id: idOf('ds'), name: named(), tags: TAGS, metadata: rarely(`'{"a":"rare"}'::json`, `'{"a":"common"}'::json`), updated_at: LATER,
  }),
  ...inEach(seeds, 'dataset_versions', 'dataset_id', {
    version: 'n + 1', version_id: idOf('ver'), content_id: 'n + 1000', sha256: 'n::text',
  }),
  ...inEach(seeds, 'records', 'dataset_record_id', {
    dataset_record_id: idOf('rec'), version_id: idOf('ver'), input: `to_json(${WORD} || ' ' || n)`, tags: TAGS, label: WORD, category: WORD,
    source_kind: rarely("'trace'", "'manual'"), source_ref: WORD, external_id: "'e' || n", updated_at: LATER,
    search: `CASE WHEN n % 50 > 0 THEN record_words('{}', NULL, to_json(${WORD} || ' ' || n)) END`,
  }),
  // the first version of each record above
  ...inEach(seeds, 'record_versions', 'dataset_record_id', { dataset_record_id: idOf('rec'), version_id: idOf('first') }),
  ...inEach(seeds, 'record_versions', 'dataset_record_id', { version: 'n + 1', version_id: idOf('rver') }),
  ...inEach(seeds, 'experiments', 'experiment_id', {
    experiment_id: idOf('exp'), name: named(), experiment_status: rarely("'failed'", "'completed'"), subject_kind: rarely("'skill'", "'agent'"),
    subject_id: WORD, dataset_id: rarely(`'${seeds.ids.dataset_id}'`, 'NULL'), baseline_experiment_id: rarely(`'${seeds.ids.experiment_id}'`, 'NULL'),
    tags: TAGS, run_key: "'run ' || n", updated_at: LATER,
  }),
  ...inEach(seeds, 'experiment_scores', 'experiment_id', { experiment_id: idOf('exp'), mean: 'n' }),
  ...inEach(seeds, 'results', 'result_id', {
    result_id: idOf('res'), case_id: "'case ' || n", trace_id: FEW_TRACES, session_id: "'ses ' || n", tags: TAGS, error: rarely(`'{"message":"m"}'::json`, 'NULL'),
    dataset_record_id: "'rec_' || n", duration_ms: 'n', updated_at: LATER,
  }),
  ...inEach(seeds, 'gate_checks', 'experiment_id', { gate_check_id: idOf('gate') }),
  {
    table: 'results', where: `seed.result_id = '${seeds.ids.result_id}'`, count: MANY,
    values: { experiment_id: `'${baseline}'`, result_id: idOf('res'), case_id: `'case ' || n - 3000`, trace_id: FEW_TRACES },
  },
  ...inEach(seeds, 'traces', 'trace_id', {
    trace_id: TRACE_ID, trace_no: "nextval('trace_numbers')", started_at: `seed.started_at - n * interval '1 s'`,
  }),
  ...inEach(seeds, 'spans', 'workspace_id', { span_id: 'n', started_at: `seed.started_at + n * interval '1 ms'` }).map((copies) => ({
    ...copies, where: `${copies.where} AND seed.name LIKE '% span'`,
  })),
  ...inEach(seeds, 'scorers', 'scorer_id', {
    scorer_id: idOf('scorer'), name: named(), scorer_kind: rarely("'llm_judge'", "'code'"), grain: rarely("'session'", "'trace'"), tags: TAGS, updated_at: LATER,
  }),
  ...inEach(seeds, 'scorer_versions', 'scorer_id', { scorer_version: 'n + 1', version_id: idOf('ver') }),
  ...inEach(seeds, 'scoring_rules', 'rule_id', { rule_id: idOf('rule'), updated_at: LATER }),
  ...inEach(seeds, 'score_batches', 'score_batch_id', {
    score_batch_id: idOf('batch'), batch_status: rarely("'failed'", "'succeeded'"), experiment_id: rarely(`'${seeds.ids.experiment_id}'`, 'NULL'), updated_at: LATER,
  }),
  ...inEach(seeds, 'score_runs', 'score_run_id', {
    score_run_id: idOf('run'), run_status: rarely("'failed'", "'succeeded'"), experiment_id: rarely(`'${seeds.ids.experiment_id}'`, 'NULL'),
    rule_id: rarely("'rule_rare'", 'NULL'), score_batch_id: rarely(`'${seeds.ids.score_batch_id}'`, 'NULL'), updated_at: LATER,
  }),
  ...inEach(seeds, 'score_targets', 'score_run_id', { ordinal: 'n + 10', trace_id: TRACE_ID }),
  ...[seeds.ids, seeds.sibling, seeds.foreign].map((ids, index) => ({
    table: 'target_outcomes', where: 'seed.ordinal = 0', count: index === 0 ? MANY : 500,
    values: {
      score_run_id: `'${ids.score_run_id}'`, workspace_id: `'${ids.workspace_id}'`, scorer_id: `'${ids.scorer_id}'`, ordinal: 'n + 10',
      score_id: idOf('score'), target_id: TRACE_ID,
    },
  })),
  ...inEach(seeds, 'scores', 'score_id', {
    score_id: idOf('score'), target_kind: "'trace'", result_id: 'NULL', experiment_id: 'NULL', result_version: 'NULL', case_id: rarely("'case 7'", 'NULL'), trace_id: TRACE_ID,
    author: WORD, created_by: rarely("'usr_rare'", "'usr_common'"), label: WORD, score: 'n', score_run_id: rarely("'run_rare'", 'NULL'),
  }),
  ...inEach(seeds, 'annotation_queues', 'queue_id', { queue_id: idOf('queue'), name: named(), updated_at: LATER }),
  ...inEach(seeds, 'annotation_items', 'item_id', { item_id: idOf('item'), item_status: rarely("'completed'", "'pending'") }),
  ...inEach(seeds, 'annotation_annotators', 'queue_id', { author: "'author ' || n" }),
]; // oxfmt-ignore

describeLists(['/eval/'], async (seeds) => {
  const { app, ids, owner: by } = seeds;
  const { body } = await by.post('/eval/v1/experiments', { workspace_id: ids.workspace_id, name: 'baseline' });
  const baseline = body.experiment_id as string;
  const { body: pinned } = await by.post('/eval/v1/experiments', { workspace_id: ids.workspace_id, name: 'over records', dataset_id: ids.dataset_id });
  const overRecords = pinned.experiment_id as string;
  await app.database.query(
    `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain, target_id, elapsed_ms)
     SELECT score_run_id, 0, 'score_0', workspace_id, scorer_id, scorer_version, grain, 'a', 1 FROM score_runs WHERE score_run_id = '${ids.score_run_id}'`,
  );
  await app.database.query(
    `INSERT INTO experiment_scores (workspace_id, experiment_id, scorer, mean) VALUES
     ${[ids, seeds.sibling, seeds.foreign].map((of) => `('${of.workspace_id}', '${of.experiment_id}', 'first', 1)`).join(', ')}`,
  );
  const experiment = `/eval/v1/experiments/${ids.experiment_id}`;
  const dataset = `/eval/v1/datasets/${ids.dataset_id}`;
  const created = { since: SINCE, until: UNTIL };
  const words = { q: ['rare', 'common'], tag: ['seldom', 'often'] };
  const bodies = (...filters: object[]): object[] => filters.map((filter) => ({ workspace_id: ids.workspace_id, ...filter }));
  const either = ['common', 'rare'];
  return {
    copies: copiesOf(seeds, baseline),
    afterCopies: async () => {
      await fillResultScores(app.database, ids.experiment_id!, SCORES);
      await fillResultScores(app.database, baseline, SCORES);
      const { status } = await by.patch(`/eval/v1/experiments/${baseline}`, { experiment_status: 'completed' });
      expect(status).toBe(200);
    },
    requests: {
      lists: {
        listDatasets: { path: '/eval/v1/datasets', by, filters: { ...created, name: ['first dataset rare 7'] }, searches: words },
        searchDatasets: {
          path: '/eval/v1/datasets/search', by, rows: MANY,
          bodies: bodies({}, { q: 'rare' }, { tags: ['seldom'] }, { tags: ['often'] }, { metadata: { a: 'rare' } }),
        },
        listDatasetVersions: { path: `${dataset}/versions`, by },
        listDatasetVersionRows: { path: `${dataset}/versions/1/rows`, by, isShort: true },
        listRecords: {
          path: `${dataset}/records`, by,
          filters: { label: either, category: either, source_kind: ['trace', 'manual'], source_ref: either, external_id: ['e7'] },
          searches: words,
        },
        listRecordVersions: { path: `${dataset}/records/${ids.dataset_record_id}/versions`, by },
        listExperiments: {
          path: '/eval/v1/experiments', by,
          filters: {
            ...created, subject_kind: ['agent', 'skill'], experiment_status: ['completed', 'failed'], dataset_id: [ids.dataset_id!],
            subject_id: either, baseline_experiment_id: [ids.experiment_id!], name: ['first experiment rare 7'],
          },
          searches: { ...words, config: ['marker:first', 'marker:nowhere'], run_key: ['run 7'] },
          rare: { q: ['rare'], tag: ['seldom'], config: ['marker:nowhere'] },
        },
        searchExperiments: {
          path: '/eval/v1/experiments/search', by, rows: MANY,
          bodies: bodies({}, { q: 'rare' }, { tags: ['seldom'] }, { score: { scorer: 'first', gte: MANY - 5 } }, { config: { marker: 'nowhere' } }),
        },
        listExperimentCases: {
          path: `/eval/v1/experiments/${overRecords}/cases`, by, searches: { state: ['pending', 'done'] },
        },
        listGates: { path: `${experiment}/gates`, by, filters: created },
        listResults: {
          path: `${experiment}/results`, by, sorts: ['created_at', 'updated_at', 'duration_ms', 'score:first'],
          filters: { dataset_record_id: ['rec_7'], session_id: ['ses 7'], trace_id: ['7'.padStart(32, '0')], has_error: ['true'] },
          searches: { case_id: ['case 7'], tag: ['seldom', 'often'], has_error: ['false'], score: ['first:gte:2', 'first:gte:9'] },
        },
        listExperimentTraces: {
          path: `${experiment}/traces`, by, isComputed: true, rows: MANY,
          searches: { user_id: ['nobody'], environment: ['nowhere'], prompt_name: ['none'], prompt_version: ['1'], tag: ['none'] },
        },
        listExperimentTrials: { path: `${experiment}/trials`, by, fixed: 'scorer=first', isComputed: true, rows: 20 * MANY, searches: { k: ['2'], threshold: ['0.5'] } },
        listExperimentTraceSpans: { path: `${experiment}/traces/${ids.trace_id}/spans`, by },
        listScorers: {
          path: '/eval/v1/scorers', by,
          filters: { scorer_kind: ['code', 'llm_judge'], grain: ['trace', 'session'], name: ['first code rare 7'] },
          searches: words,
        },
        listScorerVersions: { path: `/eval/v1/scorers/${ids.scorer_id}/versions`, by },
        listScorerStarters: { path: '/eval/v1/scorer-starters', by, isShort: true, searches: { scorer_kind: ['code'], grain: ['trace'], tag: ['x'] } },
        listScoreRuns: {
          path: '/eval/v1/score-runs', by,
          filters: {
            run_status: ['failed', 'succeeded'], scorer_id: [ids.scorer_id!], experiment_id: [ids.experiment_id!], rule_id: ['rule_rare'],
            score_batch_id: [ids.score_batch_id!],
          },
        },
        listScoreRunResults: { path: `/eval/v1/score-runs/${ids.score_run_id}/results`, by },
        listScoreBatches: {
          path: '/eval/v1/score-batches', by,
          filters: { batch_status: ['failed', 'succeeded'], scorer_id: [ids.scorer_id!], experiment_id: [ids.experiment_id!] },
        },
        listWorkspaceScoringRules: {
          path: '/eval/v1/scoring-rules', by,
          searches: { scorer_id: [ids.scorer_id!], enabled: ['true', 'false'] },
        },
        listScoringRules: { path: `/eval/v1/scorers/${ids.scorer_id}/rules`, by },
        listScores: {
          path: '/eval/v1/scores', by,
          searches: {
            is_truncated: ['true', 'false'], comment: ['x'], answers: ['{"a": 1}'], metadata: ['{"a": 1}'], result_version: ['1'], span_id: ['x'], model: ['x'],
            judge_digest: ['x'], supersedes_score_id: ['x'], superseded_by_score_id: ['x'],
            scorer_id: [ids.human_scorer_id!], scorer_name: ['first scorer'], trace_id: ['7'.padStart(32, '0')], session_id: [ids.session_id!],
            result_id: [ids.result_id!], experiment_id: [ids.experiment_id!], author: either, score_run_id: ['run_rare'], created_by: ['usr_rare', 'usr_common'],
            since: SINCE, until: UNTIL, scorer_version: ['1'], scorer_kind: ['human'], source: ['human', 'client'], target_kind: ['trace', 'result'],
            min_score: ['5'], max_score: ['5'], case_id: ['case 7'], label: either, include_superseded: ['true'],
          },
        },
        listAnnotationQueues: { path: '/eval/v1/annotation-queues', by, filters: { name: ['first queue rare 7'] }, searches: { q: words.q } },
        listAnnotationItems: {
          path: `/eval/v1/annotation-queues/${ids.queue_id}/items`, by,
          filters: { item_status: ['pending', 'completed', 'skipped'] }, searches: {},
        },
        listAnnotators: { path: `/eval/v1/annotation-queues/${ids.queue_id}/annotators`, by },
      },
      others: {
        exportRecords: { path: `${dataset}/records/export`, by, rows: 10 * MANY },
        'exportRecords of a label': { path: `${dataset}/records/export?label=common`, by, rows: 10 * MANY },
        exportResults: { path: `${experiment}/results/export`, by, rows: 10 * MANY },
        compareExperiments: { path: `${experiment}/compare?baseline_experiment_id=${baseline}`, by, rows: 40 * MANY },
        checkGate: {
          path: `${experiment}/gate`, by, rows: 30 * MANY,
          body: { baseline_experiment_id: baseline, rules: [{ scorer: 'first', min_mean: 0 }] },
        },
        queryScoreStats: { path: '/eval/v1/scores/stats/query', by, body: { workspace_id: ids.workspace_id }, rows: 10 * MANY },
        queryExperimentTraceStats: { path: `${experiment}/traces/stats/query`, by, body: {}, rows: 20 * MANY },
        agreement: { path: `/eval/v1/scorers/${ids.scorer_id}/agreement?reference_scorer_id=${ids.human_scorer_id}`, by, rows: 30 * MANY },
      },
    },
  };
}); // oxfmt-ignore
