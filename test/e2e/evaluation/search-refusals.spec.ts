import { sharedApp } from '#testing';
import { EvaluationWorkspace, outcome, places } from './evaluation.harness';
import { DATASETS, EXPERIMENTS, search } from './search.fixture';

type Fields = Record<string, unknown>;

describe('an invalid search or list', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const invalidSearches: [string, Fields, number, string | null][] = [
    ...[DATASETS, EXPERIMENTS].flatMap((path): [string, Fields, number, string | null][] => [
      [path, { tagss: ['a'] }, 400, '/tagss'],
      [path, { workspace_id: 'wsp_x' }, 400, '/workspace_id'],
      [path, { workspace_id: null }, 400, '/workspace_id'],
      [path, { q: null }, 400, '/q'],
      [path, { q: 1 }, 400, '/q'],
      [path, { name: ['a'] }, 400, '/name'],
      [path, { tags: 'a' }, 400, '/tags'],
      [path, { metadata: ['a'] }, 400, '/metadata'],
      [path, { metadata: null }, 400, '/metadata'],
      [path, { q: Array.from({ length: 33 }, (_, i) => `w${i}`).join(' ') }, 400, '/q'],
      [path, { since: 'yesterday' }, 400, '/since'],
      [path, { until: 1_700_000_000 }, 400, '/until'],
      [path, { since: '2025-01-02T00:00:00Z', until: '2025-01-01T00:00:00Z' }, 400, '/until'],
      [path, { limit: '5' }, 400, '/limit'],
      [path, { limit: 501 }, 400, '/limit'],
      [path, { limit: 1.5 }, 400, '/limit'],
      [path, { offset: -1 }, 400, '/offset'],
      [path, { include_archived: 'true' }, 400, '/include_archived'],
      [path, { cursor: 'x' }, 400, '/cursor'],
      [path, { cursor: 'x', offset: 1 }, 400, '/cursor'],
      [path, { sort: 'size' }, 422, '/sort'],
    ]),
    [DATASETS, { config: ['a:b'] }, 400, '/config'],
    [EXPERIMENTS, { score: { scorer: 'x', gt: 1 } }, 400, '/score/gt'],
    [EXPERIMENTS, { score: { gte: 1 } }, 400, '/score/scorer'],
    [EXPERIMENTS, { score: { scorer: 'x', gte: '1' } }, 400, '/score/gte'],
    [EXPERIMENTS, { score: { scorer: 'x', gte: null } }, 400, '/score/gte'],
    [EXPERIMENTS, { score: { scorer: 'x', gte: 2, lte: 1 } }, 400, '/score/lte'],
    [EXPERIMENTS, { score: { scorer: '' } }, 400, '/score/scorer'],
    [EXPERIMENTS, { score: [{ scorer: 'x' }] }, 400, '/score'],
    [EXPERIMENTS, { score: 'x' }, 400, '/score'],
    [EXPERIMENTS, { score: null }, 400, '/score'],
    [EXPERIMENTS, { config: 'a:b' }, 400, '/config'],
    [EXPERIMENTS, { config: ['a'] }, 400, '/config'],
    [EXPERIMENTS, { config: [1] }, 400, '/config'],
    [EXPERIMENTS, { config: { a: ['b'] } }, 400, '/config'],
    [EXPERIMENTS, { config: { a: { b: 1 } } }, 400, '/config'],
    [EXPERIMENTS, { config: Array.from({ length: 21 }, (_, i) => `k${i}:v`) }, 400, '/config'],
    [EXPERIMENTS, { experiment_status: 'done' }, 422, '/experiment_status'],
    [EXPERIMENTS, { experiment_status: ['running'] }, 400, '/experiment_status'],
    [EXPERIMENTS, { subject_kind: 'model' }, 422, '/subject_kind'],
  ];
  it.each(invalidSearches)(
    'is rejected at %s for %j with %i and a pointer',
    async (path, body, status, place) => {
      const answer = await search(space, path, body);
      const code = status === 422 ? 'validation_failed' : 'invalid_request';
      expect([...outcome(answer), ...places(answer)]).toEqual([status, code, place]);
    },
  );

  it.each([
    ['since=2025-01-02T00:00:00Z&until=2025-01-01T00:00:00Z', 'until'],
    ['since=2025-01-02', 'since'],
    ['since=2025-01-02T00:00:00Z&since=2025-01-02T00:00:00Z', 'since'],
  ])('returns 400 invalid_query for a list with ?%s', async (query, place) => {
    for (const path of [DATASETS, EXPERIMENTS]) {
      const answer = await space.viewer.get(`${path}?${query}`);
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_query', place]);
    }
  });

  it('returns 400 for too much metadata', async () => {
    for (const path of [DATASETS, EXPERIMENTS]) {
      const answer = await search(space, path, { metadata: { x: 'x'.repeat(16 * 1024) } });
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_request', '/metadata']);
    }
  });
});
