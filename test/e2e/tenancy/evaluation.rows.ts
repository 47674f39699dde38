import { filteredBy, FORCED, inWorkspace, NOTHING, OWN, words, type Row } from './row.fixture';

/** Datasets, experiments, scorers and scores. */
export const EVALUATION_ROWS: Readonly<Record<string, Row>> = {
  'POST /eval/v1/datasets': { bodies: inWorkspace({ name: 'x' }) },
  'GET /eval/v1/datasets': { queries: words },
  'POST /eval/v1/datasets/search': {
    bodies: (theirs) => [{ q: theirs.marker }, { workspace_id: theirs.workspace_id }],
  },
  'GET /eval/v1/datasets/{dataset_id}': NOTHING,
  'DELETE /eval/v1/datasets/{dataset_id}': FORCED,
  'PATCH /eval/v1/datasets/{dataset_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /eval/v1/datasets/{dataset_id}/archive': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/restore': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/versions': { type: 'text/csv', bodies: () => ['question\nx\n'] },
  'GET /eval/v1/datasets/{dataset_id}/versions': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}': NOTHING,
  'DELETE /eval/v1/datasets/{dataset_id}/versions/{version}': FORCED,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}/content': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}/rows': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/export': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/records/import': {
    type: 'application/jsonl',
    bodies: () => ['{"input": 1}\n'],
  },
  'POST /eval/v1/datasets/{dataset_id}/records': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, input: 1 }],
  },
  'GET /eval/v1/datasets/{dataset_id}/records': { queries: words },
  'POST /eval/v1/datasets/{dataset_id}/records/bulk': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, items: [{ input: 1 }] }],
  },
  'POST /eval/v1/datasets/{dataset_id}/records/from-traces': {
    bodies: (theirs, own) => [{ workspace_id: own.workspace_id, trace_ids: [theirs.trace_id] }],
  },
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}': NOTHING,
  'DELETE /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}': FORCED,
  'PATCH /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}': { bodies: () => [{ label: 'x' }] },
  'POST /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/archive': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/restore': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/versions': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/versions/{version}': NOTHING,

  'POST /eval/v1/experiments': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x' },
      { workspace_id: own.workspace_id, name: 'x', dataset_id: theirs.dataset_id },
      { workspace_id: own.workspace_id, name: 'x', baseline_experiment_id: theirs.experiment_id },
    ],
  },
  'GET /eval/v1/experiments': {
    queries: (theirs) => [
      ...words(theirs),
      ...filteredBy('dataset_id')(theirs),
      `config=marker:${theirs.marker}`,
    ],
  },
  'POST /eval/v1/experiments/search': {
    bodies: (theirs) => [{ q: theirs.marker }, { score: { scorer: theirs.marker, gte: 0 } }],
  },
  'GET /eval/v1/experiments/{experiment_id}': NOTHING,
  'DELETE /eval/v1/experiments/{experiment_id}': FORCED,
  'PATCH /eval/v1/experiments/{experiment_id}': { bodies: () => [{ experiment_status: 'failed' }] },
  'POST /eval/v1/experiments/{experiment_id}/archive': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/restore': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/cases': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/compare': {
    queries: (theirs) => [`baseline_experiment_id=${theirs.experiment_id}`],
  },
  'POST /eval/v1/experiments/{experiment_id}/gate': {
    bodies: (theirs) => [
      { rules: [{ scorer: 's', min_mean: 0 }], baseline_experiment_id: theirs.experiment_id },
    ],
  },
  'GET /eval/v1/experiments/{experiment_id}/gates': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/results': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, case_id: 'x' }],
  },
  'GET /eval/v1/experiments/{experiment_id}/results': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/results/bulk': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, items: [{ case_id: 'x' }] }],
  },
  'GET /eval/v1/experiments/{experiment_id}/results/export': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/results/{result_id}': NOTHING,
  'DELETE /eval/v1/experiments/{experiment_id}/results/{result_id}': FORCED,
  'PATCH /eval/v1/experiments/{experiment_id}/results/{result_id}': { bodies: () => [{ tags: ['x'] }] },
  'GET /eval/v1/experiments/{experiment_id}/traces': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/traces/{trace_id}': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/traces/{trace_id}/spans': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/score': { bodies: (_, own) => [{ scorers: [own.scorer_id] }] },
  'POST /eval/v1/experiments/{experiment_id}/traces/stats/query': { bodies: () => [{}] },
  'GET /eval/v1/experiments/{experiment_id}/trials': { queries: () => ['scorer=s'] },

  'POST /eval/v1/scorers': {
    bodies: inWorkspace({ name: 'x', scorer_kind: 'code', definition: { checks: [{ type: 'equals' }] } }),
  },
  'GET /eval/v1/scorers': { queries: words },
  'GET /eval/v1/scorers/{scorer_id}': NOTHING,
  'DELETE /eval/v1/scorers/{scorer_id}': FORCED,
  'PATCH /eval/v1/scorers/{scorer_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /eval/v1/scorers/{scorer_id}/archive': NOTHING,
  'POST /eval/v1/scorers/{scorer_id}/restore': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/versions': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/versions/{version}': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/agreement': {
    queries: (theirs) => [`reference_scorer_id=${theirs.scorer_id}`],
  },
  'GET /eval/v1/scorer-starters': OWN,
  'POST /eval/v1/scorers/{scorer_id}/score': {
    bodies: (theirs) =>
      (['trace_id', 'session_id', 'agent_id'] as const)
        .map((one): object => ({ mode: 'test', [`${one}s`]: [theirs[one]] }))
        .concat({ mode: 'test', experiment_id: theirs.experiment_id }),
  },
  'POST /eval/v1/scorers/{scorer_id}/batches': {
    bodies: (theirs) =>
      (['trace_id', 'session_id', 'agent_id'] as const)
        .map((one): object => ({ [`${one}s`]: [theirs[one]] }))
        .concat({ experiment_id: theirs.experiment_id }),
  },
  'GET /eval/v1/score-batches': { queries: filteredBy('scorer_id', 'experiment_id') },
  'GET /eval/v1/score-batches/{score_batch_id}': NOTHING,
  'POST /eval/v1/score-batches/{score_batch_id}/cancel': NOTHING,
  'GET /eval/v1/score-runs': { queries: filteredBy('scorer_id', 'experiment_id', 'score_batch_id') },
  'GET /eval/v1/score-runs/{score_run_id}': NOTHING,
  'GET /eval/v1/score-runs/{score_run_id}/results': NOTHING,
  'POST /eval/v1/score-runs/{score_run_id}/cancel': NOTHING,
  'POST /eval/v1/scorers/{scorer_id}/rules': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, sample_rate: 0.5 }],
  },
  'GET /eval/v1/scorers/{scorer_id}/rules': NOTHING,
  'GET /eval/v1/scoring-rules': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/rules/{rule_id}': NOTHING,
  'DELETE /eval/v1/scorers/{scorer_id}/rules/{rule_id}': FORCED,
  'PATCH /eval/v1/scorers/{scorer_id}/rules/{rule_id}': { bodies: () => [{ enabled: true }] },
  'POST /eval/v1/scorers/{scorer_id}/rules/{rule_id}/archive': NOTHING,
  'POST /eval/v1/scorers/{scorer_id}/rules/{rule_id}/restore': NOTHING,
  // a score may name any trace, as one that may still arrive in the caller's workspace
  'POST /eval/v1/scores': {
    bodies: (theirs, own) => [
      {
        workspace_id: own.workspace_id,
        scorer_id: theirs.scorer_id,
        result_id: theirs.result_id,
        score: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_id: own.human_scorer_id,
        result_id: theirs.result_id,
        score: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_id: own.human_scorer_id,
        session_id: theirs.session_id,
        score: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_name: 'thumbs',
        source: 'end_user',
        session_id: theirs.session_id,
        score: true,
      },
    ],
  },
  'POST /eval/v1/scores/bulk': {
    bodies: (theirs, own) => [
      {
        items: [
          { scorer_id: theirs.scorer_id, result_id: theirs.result_id, score: true },
          { scorer_id: own.human_scorer_id, result_id: theirs.result_id, score: true },
          { scorer_id: own.human_scorer_id, session_id: theirs.session_id, score: true },
        ],
      },
    ],
  },
  'POST /eval/v1/scores/stats/query': {
    bodies: (theirs) => [
      {},
      { scorer_id: theirs.scorer_id, group_by: ['scorer'] },
      { trace_id: theirs.trace_id, group_by: ['model', 'service'] },
      { experiment_id: theirs.experiment_id, group_by: ['tag'] },
    ],
  },
  'GET /eval/v1/scores': {
    queries: filteredBy('scorer_id', 'trace_id', 'session_id', 'result_id', 'experiment_id'),
  },
  'GET /eval/v1/scores/{score_id}': NOTHING,
  'DELETE /eval/v1/scores/{score_id}': NOTHING,
  'POST /eval/v1/annotation-queues': {
    bodies: (theirs, own) => {
      const mine = { workspace_id: own.workspace_id, name: 'x', scores_per_item: 1 };
      const [scorer, foreign] = [own.human_scorer_id, theirs.human_scorer_id];
      return [
        { ...mine, workspace_id: theirs.workspace_id, scorer_ids: [scorer], source: { filters: [] } },
        { ...mine, scorer_ids: [foreign], source: { trace_ids: [own.trace_id] } },
        { ...mine, scorer_ids: [scorer], source: { trace_ids: [theirs.trace_id] } },
        { ...mine, scorer_ids: [scorer], source: { experiment_id: theirs.experiment_id } },
      ];
    },
  },
  'GET /eval/v1/annotation-queues': { queries: words },
  'GET /eval/v1/annotation-queues/{queue_id}': NOTHING,
  'DELETE /eval/v1/annotation-queues/{queue_id}': FORCED,
  'PATCH /eval/v1/annotation-queues/{queue_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /eval/v1/annotation-queues/{queue_id}/archive': NOTHING,
  'POST /eval/v1/annotation-queues/{queue_id}/restore': NOTHING,
  'GET /eval/v1/annotation-queues/{queue_id}/agreement': NOTHING,
  'POST /eval/v1/annotation-queues/{queue_id}/next': { bodies: () => [{}] },
  'GET /eval/v1/annotation-queues/{queue_id}/items': NOTHING,
  'GET /eval/v1/annotation-queues/{queue_id}/annotators': NOTHING,
  'POST /eval/v1/annotation-queues/{queue_id}/items/{item_id}/scores': {
    bodies: (theirs) => [{ scores: [{ scorer_id: theirs.human_scorer_id, score: true }] }],
  },
  'POST /eval/v1/annotation-queues/{queue_id}/items/{item_id}/skip': { bodies: () => [{ reason: 'x' }] },
};
